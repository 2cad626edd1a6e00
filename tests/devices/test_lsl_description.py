"""What streams of LSL say of themselves: leads, units, other quantities, and which of them are one device."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from beatwire.errors import UserError
from beatwire_producers.devices.packets import Description
from beatwire_producers.devices.sources import Options
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st

pylsl = pytest.importorskip("pylsl", reason="needs pylsl")
from beatwire_producers.devices.readers.lsl import LslReader, _Inlet  # noqa: E402
from beatwire_producers.devices.readers.lsl_description import describe_stream, stream_of  # noqa: E402

Channel = tuple[str, str, str]  # label, unit, type


def described(channels: list[Channel], *, kind: str = "", **options: Any) -> tuple[Description, list[int], list[str]]:
    info = pylsl.StreamInfo("strap", kind, len(channels), 250.0, pylsl.cf_float32, "s1")
    listed = info.desc().append_child("channels")
    for channel in channels:
        one = listed.append_child("channel")
        for name, value in zip(("label", "unit", "type"), channel, strict=True):
            one.append_child_value(name, value)
    return describe_stream("lsl:strap", info, "strap", Options(**options))


@pytest.mark.parametrize(
    ("unit", "uv"),
    [
        ("microvolts", 1.0), ("uV", 1.0), ("mV", 1000.0), ("volts", 1e6), ("counts", 0.0), ("raw", 0.0), ("none", 0.0),
        ("0.1 uV", 0.0), ("", None),
    ],
)  # fmt: skip
def test_a_unit_is_a_voltage_or_not_calibrated(unit: str, uv: float | None) -> None:
    assert described([("II", unit, "ECG")])[0].uv == uv
    assert described([("II", unit, "ECG")], gain=200.0)[0].uv == 5.0


def test_a_lead_in_a_unit_of_another_quantity_is_refused() -> None:
    with pytest.raises(UserError, match="'strap': expected a unit of voltage; got 'ohm'"):
        described([("II", "ohm", "ECG")])


LEADS = st.sampled_from(
    [("II", "mV", ""), ("ECG", "mV", ""), ("Fp1", "mV", "EEG"), ("3", "mV", "ExG"), ("x", "mV", "")]
)
OTHERS = st.sampled_from(
    [
        ("ACCx", "", ""), ("x", "g", ""), ("chest", "ohm", ""), ("1", "", "RESP"), ("HeartRate", "", ""),
        ("m", "", "Markers"), ("Timestamp", "", ""), ("RESP", "", ""),
    ]
)  # fmt: skip


@settings(max_examples=draws(60), deadline=None)
@given(
    drawn=st.lists(st.tuples(st.booleans(), LEADS, OTHERS), min_size=1, max_size=8),
    kind=st.sampled_from(["", "ECG", "ExG", "EEG", "Biosignals"]),
)  # fmt: skip
def test_channels_of_other_quantities_are_no_leads_and_said(
    drawn: list[tuple[bool, Channel, Channel]], kind: str
) -> None:
    channels = [lead if is_lead else other for is_lead, lead, other in drawn]
    leads = [k for k, (is_lead, _, _) in enumerate(drawn) if is_lead]
    if not leads and kind == "ECG":
        leads = [k for k, (_, _, own) in enumerate(channels) if not own]
        channels = [(label, "", own) for label, _, own in channels]
    if not leads:
        with pytest.raises(UserError, match="expected leads; 'strap' has the channels"):
            described(channels, kind=kind)
        return
    found, rows, notes = described(channels, kind=kind)
    assert rows == leads
    assert found.leads == tuple(channels[k][0] for k in leads)
    assert len(notes) == (len(leads) < len(channels))


def test_a_stream_whose_type_is_another_quantity_is_refused_unless_a_column_is_chosen() -> None:
    with pytest.raises(UserError, match="expected leads; 'strap' has the channels '1', '2'"):
        described([("1", "", ""), ("2", "", "")], kind="Accelerometer")
    assert described([("1", "", ""), ("2", "", "")], kind="Accelerometer", column="2")[1] == [1]


@dataclass
class Listed:
    """A stream as LSL lists it."""

    of_uid: str
    of_source: str = ""
    of_name: str = "ECG"

    def uid(self) -> str:
        return self.of_uid

    def source_id(self) -> str:
        return self.of_source

    def name(self) -> str:
        return self.of_name


def reader_of(**inlets: str) -> LslReader:
    """Return a reader with open streams: source id -> uid."""
    reader = LslReader("type", "ECG", Options())
    for source, uid in inlets.items():
        reader._inlets[source] = _Inlet(uid, None, Description(source), [0], 0.0, 0.0)
    return reader


def test_a_stream_that_began_anew_takes_the_place_of_the_one_that_has_gone() -> None:
    reader = reader_of(s="old")
    for _ in range(6):  # the old one is listed for a while
        assert reader._new([Listed("old", "s"), Listed("new", "s")]) == {}
    assert list(reader._new([Listed("new", "s")])) == ["s"]


def test_a_stream_that_has_ended_and_is_still_listed_is_not_in_the_way_of_the_one_that_began_anew() -> None:
    reader = reader_of(s="old")
    reader._drop("s", reader._inlets["s"])
    assert reader._new([Listed("old", "s"), Listed("new", "s")])["s"].uid() == "new"


def test_two_streams_of_one_source_id_are_both_read_and_told_apart() -> None:
    reader = reader_of(s="a")
    both = [Listed("a", "s"), Listed("b", "s")]
    found = [reader._new(both) for _ in range(10)]
    assert found[:9] == [{}] * 9
    assert list(found[9]) == ["b"]
    reader = LslReader("type", "ECG", Options())
    assert list(reader._new(both)) == ["s"]


def test_a_stream_never_goes_on_as_another_one_of_its_source_id() -> None:
    reader = reader_of(s="a")
    for _ in range(4):
        reader._new([Listed("a", "s"), Listed("b", "s")])
    del reader._inlets["s"]
    assert list(reader._new([Listed("a", "s"), Listed("b", "s")][1:])) == ["b"]


def test_streams_of_one_name_have_ids_that_do_not_depend_on_their_order() -> None:
    a, b = Listed("1", "strap-a"), Listed("2", "strap-b")
    reader = LslReader("type", "ECG", Options())
    assert list(reader._new([b, a])) == list(reader._new([a, b])) == ["strap-a", "strap-b"]
    ids = [stream_of(one, Options(), set(), is_alone=False) for one in (a, b)]
    assert ids == ["ECG-strap-a", "ECG-strap-b"]
    assert stream_of(a, Options(), set(), is_alone=True) == "ECG"
    assert stream_of(b, Options(), {"ECG"}, is_alone=True) == "ECG-strap-b"


SOURCES = st.builds(
    "{}{}".format, st.sampled_from(["", "MuseS-00:55:DA:B0:1A:", "bed-", 40 * "x"]), st.text("12:-", max_size=3)
)


@settings(max_examples=draws(100), deadline=None)
@given(
    listed=st.lists(st.tuples(SOURCES, st.sampled_from(["ECG", "bed/1", "bed 1", 60 * "y"])), min_size=2, max_size=6),
    wanted=st.sampled_from([None, "ward"]), together=st.booleans(),
)  # fmt: skip
def test_no_two_streams_have_one_id_however_alike_their_names_and_source_ids_are(
    listed: list[tuple[str, str]], wanted: str | None, together: bool
) -> None:
    taken: set[str] = set()
    for k, (source, name) in enumerate(listed):
        one = Listed(f"3f9c21aa-77aa-4e12-9c0d-00000000000{k}", source, name)
        stream = stream_of(one, Options(stream=wanted), taken, is_alone=not together)
        assert stream not in taken
        assert 1 <= len(stream.encode()) <= 64
        taken.add(stream)


@settings(max_examples=draws(50), deadline=None)
@given(sources=st.sets(SOURCES.filter(bool), min_size=2, max_size=5))
def test_streams_of_one_name_have_ids_of_their_own_whichever_comes_first(sources: set[str]) -> None:
    ids = {stream_of(Listed("u", one), Options(), set(), is_alone=False) for one in sources}
    assert len(ids) == len(sources)


@pytest.mark.parametrize(("stamp_s", "time_s"), [(5_000.0, 1_790_005_003.0), (1_790_005_003.0, 1_790_005_003.0)])
def test_times_are_those_of_the_clock_of_lsl_or_since_1970(stamp_s: float, time_s: float) -> None:
    reader = reader_of()
    reader._epoch_s = 1_790_000_000.0
    one = _Inlet("a", None, Description("x", rate_hz=250.0, is_epoch=True), [0], 3.0, 0.0, float("inf"))
    packets = list(reader._packets_of(one, np.zeros((2, 1)), np.array([stamp_s, stamp_s + 0.004])))
    assert [packet.time_s for packet in packets] == [pytest.approx(time_s)]
