"""The ``server.properties`` of the local node: one for brokers and controllers, with the only replica of everything.

In: nothing. Out: a format string with the fields ``protocol``, ``port``, ``advertised``, ``controller`` and ``logs``.
"""

SERVER_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listeners={protocol}://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners={protocol}://127.0.0.1:{advertised}
listener.security.protocol.map={protocol}:{protocol},CONTROLLER:PLAINTEXT
inter.broker.listener.name={protocol}
log.dirs={logs}
num.partitions=4
# For the keys of compacted topics; by default a quarter of the heap.
log.cleaner.dedupe.buffer.size=16777216
auto.create.topics.enable=false
message.max.bytes=16777216
# One node has the only replica.
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
# Compacted often: a coordinator that starts has read its log before the first member asks.
offsets.topic.segment.bytes=1048576
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
# The end of a worker is detected, and its open transaction aborted, within seconds.
transaction.max.timeout.ms=60000
transaction.abort.timed.out.transaction.cleanup.interval.ms=1000
group.initial.rebalance.delay.ms=0
group.consumer.min.session.timeout.ms=3000
group.consumer.session.timeout.ms=6000
group.consumer.min.heartbeat.interval.ms=500
group.consumer.heartbeat.interval.ms=1000
group.min.session.timeout.ms=3000
# After a kill the node is ready again when its old registration has expired. With a much shorter timeout (600 ms was
# tried) a busy machine sometimes loses its broker for seconds.
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
"""
