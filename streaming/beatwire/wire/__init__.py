"""The wire format: messages of each topic, schemas, names.

=================== ================= ============== ========== ===========================================
topic               constant          key            retention  value
=================== ================= ============== ========== ===========================================
``ecg.samples``     ``SAMPLES``       stream id      by age     Avro or JSON ``SampleChunk``, ``SampleBundle``
``ecg.beats``       ``BEATS``         stream id      by age     Avro ``Beat``
``ecg.alerts``      ``ALERTS``        alert id       compacted  JSON, ``schemas/alert.schema.json``
``ecg.acks``        ``ACKS``          alert id       compacted  JSON, ``schemas/ack.schema.json``
``ecg.settings``    ``SETTINGS``      stream id      compacted  JSON, ``schemas/settings.schema.json``
``ecg.audit``       ``AUDIT``         stream id      by age     JSON, ``schemas/audit.schema.json``
``ecg.samples.dlq`` ``DEAD_LETTERS``  as rejected    by age     the rejected message: see ``letters_in``
=================== ================= ============== ========== ===========================================

The Avro and JSON schemas are files in ``schemas/``. Avro values may carry Confluent framing (a zero byte and a 4-byte
schema id). Headers of CloudEvents are in ``cloud_events``. A stream id is pseudonymous: 1-64 bytes of UTF-8 without
patient data.

Nothing here performs I/O. A feed of one's own needs one function and one name:

>>> from beatwire.wire import SAMPLES, decode_chunk, encode_chunk
>>> value = encode_chunk("bed-1", session=1, first=0, time_us=0, rate_hz=250.0, leads=["II"], samples=[1, -2, 3])
>>> SAMPLES, len(value), decode_chunk(value)["leads"]
('ecg.samples', 38, ['II'])
"""

from typing import TYPE_CHECKING

from beatwire.lazy import lazily

if TYPE_CHECKING:
    from beatwire.records.letters import Letter as Letter
    from beatwire.wire.avro import decode_beat as decode_beat
    from beatwire.wire.avro import decode_chunk as decode_chunk
    from beatwire.wire.avro import encode_chunk as encode_chunk
    from beatwire.wire.avro import frame as frame
    from beatwire.wire.avro import schema as schema
    from beatwire.wire.avro import schema_text as schema_text
    from beatwire.wire.bundles import decode_bundle as decode_bundle
    from beatwire.wire.bundles import encode_bundle as encode_bundle
    from beatwire.wire.dead_letters import letters_in as letters_in
    from beatwire.wire.json_chunk import json_to_avro as json_to_avro
    from beatwire.wire.names import ACKS as ACKS
    from beatwire.wire.names import ALERTS as ALERTS
    from beatwire.wire.names import AUDIT as AUDIT
    from beatwire.wire.names import BEATS as BEATS
    from beatwire.wire.names import DEAD_LETTERS as DEAD_LETTERS
    from beatwire.wire.names import SAMPLES as SAMPLES
    from beatwire.wire.names import SETTINGS as SETTINGS
else:
    __getattr__ = lazily(
        __name__,
        avro="decode_beat decode_chunk encode_chunk frame schema schema_text",
        bundles="decode_bundle encode_bundle",
        dead_letters="Letter letters_in",
        json_chunk="json_to_avro",
        names="ACKS ALERTS AUDIT BEATS DEAD_LETTERS SAMPLES SETTINGS",
    )
