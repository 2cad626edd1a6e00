"""Devices as live streams: readers of packets, and what turns packets into messages.

=================== =================================================================================
module              contains
=================== =================================================================================
``packets``         the contract of a reader: `Description`, `Packet`, `Reader`
``sources``         SOURCE of the command -> a reader
``lsl``             streams of the Lab Streaming Layer
``mqtt``            messages of an MQTT broker
``mqtt_connection`` a connection to an MQTT broker, by ``paho-mqtt``
``mqtt_map``        what is in these messages, by the address
``serial_port``     lines of a serial port
``brainflow``       boards that BrainFlow knows
``polar``           chest straps of Polar, over Bluetooth
``places``          packets -> session, first index and device time
``by_time``         the same where a device does not count
``clock_line``      what a clock says about the samples: rate, jitter, how far it is ahead
``scale``           numbers of any unit -> int16
``chunks``          placed packets -> messages
``outbox``          messages that wait for the broker, in memory or on disk
``sending``         from there to the broker
``reading``         one reader: packets of its devices -> messages in the outbox
``feed``            the command: readers -> messages on ``ecg.samples``
``wfdb_files``      keeps what came as WFDB records
=================== =================================================================================
"""
