"""Bundles of the producers: every chunk is sent, with those of its gateway, in the order of its stream."""

import numpy as np
import pytest
from beatwire.errors import UserError
from beatwire.kafka.cluster import Cluster
from beatwire.records import I64, U8
from beatwire.wire import decode_bundle, decode_chunk
from beatwire.wire.bundles import BUNDLE_MARK
from beatwire_producers import replay
from beatwire_producers.bundles import bundles_of, check_bundle
from beatwire_producers.encode import Encoder
from beatwire_producers.replay import play
from beatwire_producers.schedule import Schedule
from beatwire_producers.ward import ward


class Kept:
    """A sender that keeps what it is given, with the times at which it was."""

    def __init__(self) -> None:
        self.cluster, self.sent, self.now_s = Cluster("localhost:9092"), list[tuple[float, bytes, bytes]](), 0.0

    def send(self, topic: str, keys: list[bytes], values: list[bytes]) -> None:
        self.sent += [(self.now_s, *one) for one in zip(keys, values, strict=True)]

    def check(self) -> None: ...

    def flush(self) -> None: ...

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


def sent_with(bundle: int, schema_id: int | None = None) -> tuple[Kept, int]:
    sender = Kept()
    feeds = ward(7, 3, seed=1, events=()).feeds
    summary = play(
        feeds, sender, bundle=bundle, seconds=1.0, start_us=0, schema_id=schema_id,  # type: ignore[arg-type]
        clock=lambda: sender.now_s, sleep=sender.sleep,
    )  # fmt: skip
    assert summary.messages == len(sender.sent)
    return sender, summary.chunks


@pytest.mark.parametrize(("bundle", "schema_id"), [(2, None), (3, 5), (7, None), (50, 7)])
def test_a_gateway_sends_the_chunks_of_its_streams_together(bundle: int, schema_id: int | None) -> None:
    alone, chunks = sent_with(1)
    sender, as_many = sent_with(bundle, schema_id)
    assert as_many == chunks == len(alone.sent)
    inner = [(key, one) for _, key, value in sender.sent for one in decode_bundle(value)]
    assert sorted(one for _, one in inner) == sorted(value for _, _, value in alone.sent)
    assert {key for key, _ in inner} == {b"gateway-%d" % k for k in range(-(-7 // bundle))}
    assert len({(key, decode_chunk(one)["stream"]) for key, one in inner}) == 7
    for _, _, value in sender.sent:
        streams = [decode_chunk(one)["stream"] for one in decode_bundle(value)]
        assert len(set(streams)) == len(streams) <= bundle
    framing = b"" if schema_id is None else b"\0\0\0\0%c" % schema_id
    assert all(value.startswith(framing + BUNDLE_MARK) for _, _, value in sender.sent)
    times = [at for at, _, _ in sender.sent]
    assert times == sorted(times)


def test_a_bundle_that_would_be_too_long_becomes_several() -> None:
    values = [b"%d" % (k % 10) * 60_000 for k in range(40)] + [b"x"] * 2_100
    found = [decode_bundle(value) for _, value in bundles_of(np.zeros(len(values), np.int64), values, 3)]
    assert [one for chunks in found for one in chunks] == values
    assert max(map(len, found)) == 1000


def test_the_size_of_a_bundle_is_checked() -> None:
    with pytest.raises(UserError, match="expected 1-1000 streams; got 1001"):
        check_bundle(1001)


@pytest.mark.parametrize("compiling_s", [0.0, 1.5])
def test_the_device_time_of_the_first_sample_is_when_the_replay_begins_and_not_when_it_compiles(
    compiling_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    sender, encode, compiled = Kept(), Encoder.encode, list[float]()

    def slow_at_first(self: Encoder, rows: Schedule) -> tuple[U8, I64]:
        sender.now_s += 0.0 if compiled else compiling_s
        compiled.append(sender.now_s)
        return encode(self, rows)

    monkeypatch.setattr(Encoder, "encode", slow_at_first)
    monkeypatch.setattr(replay.time, "time_ns", lambda: round(1e9 * sender.now_s))
    play(
        ward(2, 3, seed=1, events=()).feeds, sender, seconds=1.0,  # type: ignore[arg-type]
        clock=lambda: sender.now_s, sleep=sender.sleep,
    )  # fmt: skip
    begins = [(at_s, decode_chunk(value)) for at_s, _, value in sender.sent]
    assert {chunk["first"] for _, chunk in begins} > {0}
    for at_s, chunk in begins:
        end_s = chunk["time"].timestamp() + len(chunk["samples"]) / 2 / len(chunk["leads"]) / chunk["rate_hz"]
        assert -1e-5 < at_s - end_s < 0.25
