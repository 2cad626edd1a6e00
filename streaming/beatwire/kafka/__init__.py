"""Kafka: topics, source, sink, readers and local brokers.

======================== ===========================================================================
module                   contains
======================== ===========================================================================
``cluster``              address, properties and topic prefix of a cluster; makes every client
``source``, ``poller``   the input: a group member that polls in a thread, and the ticks it hands out
``client``               the consumer of that member, replaced when it stops receiving
``handover``             the bounded buffer between the polling thread and the monitor
``batch``                confluent-kafka's message objects -> the columns of a tick
``positions``            a partition's committed offset and the offset where its replay begins
``registry``             a Schema Registry: registers schemas, looks them up by id
``writer_schemas``       the writers' schemas of framed messages, looked up once an id
``holding``              partitions that wait for the registry
``replay``               the start of an epoch: the group's commits, and the replay up to them
``sink``                 the output: a tick's messages and its input offsets, published together
``transactions``         one transactional producer: begin, commit, abort, replace
``sender``               a producer that waits when its buffer is full and reports every failure
``topics``               names, settings and creation of topics; questions to a broker
``commits``              what a group has committed, and how far behind it is
``readers``              readers outside the group: alerts, and topics as they grow
``local``                a Kafka process and librdkafka's mock cluster on this machine
======================== ===========================================================================
"""
