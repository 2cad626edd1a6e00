"""Send ECG to Kafka: recordings and a synthetic ward as live streams.

================ ====================================================================
module           contains
================ ====================================================================
``replay``       the command: recordings -> paced messages on ``ecg.samples``
``blocks``       the schedule in blocks, with faults
``schedule``     which chunk of which stream is sent when
``bundles``      the chunks of many streams in one message, as a gateway sends them
``feeds``        which recording a stream plays, from where, with which planned defects
``encode``       chunks -> Avro messages
``faults``       random faults of devices and networks
``pacing``       real time without drift, or as fast as the reader commits
``devices``      devices as live streams
``ward``         a synthetic ward: streams, planted events, and the ground truth
================ ====================================================================
"""
