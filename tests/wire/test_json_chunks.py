"""A tick of JSON messages parsed as a table gives the same bytes and reasons as the messages parsed singly."""

import json
import subprocess
import sys
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest
from beatwire import tables
from beatwire.wire import decode_chunk
from beatwire.wire import json as json_chunks
from beatwire.wire.json import json_tick_to_avro
from beatwire.wire.json_chunk import json_to_avro
from hypothesis import given
from hypothesis import strategies as st


def singly(values: list[bytes]) -> list[bytes | str]:
    out: list[bytes | str] = []
    for value in values:
        try:
            out.append(json_to_avro(value))
        except ValueError as error:
            out.append(str(error))
    return out


def message(k: int, **changed: Any) -> bytes:
    given = {"stream": f"bed-{k}", "first": 10 * k, "rate_hz": 250, "samples": [k, -k, 7]} | changed
    return json.dumps({name: value for name, value in given.items() if value is not ...}).encode()


UNUSUAL = {
    "a field of the wrong type": {"first": "12"},
    "a fraction where an integer belongs": {"first": 1.0},
    "true": {"first": True},
    "null": {"session": None},
    "null among the samples": {"samples": [1, None, 3]},
    "an unknown field": {"patient": "x"},
    "no first sample": {"first": ...},
    "no samples": {"samples": ...},
    "empty samples": {"samples": []},
    "samples beyond int16": {"samples": [1, 40_000]},
    "an integer beyond 64 bits": {"first": 2**70},
    "several leads": {"samples": [[1, 2], [3, 4]], "leads": ["I", "II"]},
    "uneven leads": {"samples": [[1, 2], [3]]},
    "more names than leads": {"leads": ["I", "II"]},
    "an escaped name": {"stream": "bed\n1 \u00e9"},
    "an empty name": {"stream": ""},
    "a long name": {"stream": "x" * 70},
    "every field": {"session": 5, "time": 3, "lead_off": 1, "uv_per_unit": 2.5, "rate_hz": 360.5, "leads": ["V1"]},
    "a rate out of range": {"rate_hz": 1e9},
}


@pytest.mark.parametrize("unusual", UNUSUAL)
def test_an_unusual_message_and_its_neighbours_give_the_same_results_as_singly(unusual: str) -> None:
    values = [message(k) for k in range(12)]
    values[5] = message(5, **UNUSUAL[unusual])
    assert json_tick_to_avro(values) == singly(values)


@pytest.mark.parametrize(
    "bad",
    [
        b"{",
        b'{"samples',
        b' { "samples": [1 }',
        b'{"samples": [1]}{"a": 1}',
        b'{"a": 1} x',
        b"{}{}",
        b'{"stream": "\xff"}',
        b"{" * 5000,
    ],
)
def test_invalid_json_is_rejected_with_the_same_reason(bad: bytes) -> None:
    values = [message(k) for k in range(12)]
    values[3] = bad
    assert json_tick_to_avro(values) == singly(values)


@given(st.sets(st.sampled_from(["session", "time", "uv_per_unit", "lead_off", "leads", "battery"])), st.booleans())
def test_an_optional_field_that_is_null_is_absent(names: set[str], several: bool) -> None:
    samples = [[1, 2], [3, 4]] if several else [1, None]
    nulls = message(1, samples=samples, **dict.fromkeys(names))
    assert json_tick_to_avro([nulls]) == json_tick_to_avro([message(1, samples=samples)])
    assert isinstance(json_to_avro(nulls), bytes)


# Values of a field of a message of one lead that can be used, and others.
FIELDS: dict[str, tuple[list[Any], list[Any]]] = {
    "first": ([0, 7.0, 2**53], [-1, 2**53 + 1, 1.5, True, "1"]),
    "session": ([-(2**63), 0.0, 2**63 - 1], [-(2**63) - 1, 2**63, True]),
    "time": ([-(2**53), 2**53], [-(2**53) - 1, 2**53 + 1, False]),
    "rate_hz": ([50, 250.5, 4000], [49.9, 4000.1, True, "250", [250]]),
    "uv_per_unit": ([0, 1e6], [-0.1, 1e6 + 1, True]),
    "lead_off": ([0, 1], [-1, 2, True]),
    "samples": ([[-32768, 32767], [[1.0]], [None]], [[-32769], [32768], [True], [1.5], ["1"], [[1], 2], [[]], 3]),
    "leads": ([["I"]], [[], ["I", "II"], [1], "I"]),
    "stream": (["x", "x" * 64], ["", "x" * 65, True]),
}


@pytest.mark.parametrize("field", FIELDS)
def test_a_field_is_refused_by_its_name_if_it_is_not_what_it_has_to_be(field: str) -> None:
    good, bad = FIELDS[field]
    for value in good:
        found = decode_chunk(json_to_avro(message(1, **{field: value})))[field]
        assert field in ("samples", "time") or found == value
    for value in bad:
        with pytest.raises(ValueError, match=f"JSON: field '{field}': expected .*; got "):
            json_to_avro(message(1, **{field: value}))


@pytest.mark.parametrize("name", ["stream", "first", "rate_hz", "samples"])
def test_a_required_field_that_is_null_is_missing(name: str) -> None:
    assert json_tick_to_avro([message(1, **{name: None})]) == [f"JSON: field {name!r} is missing"]


def test_a_clean_tick_goes_through_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    nested = [message(k, samples=[[k, 2, 3], [4, 5, -32768]], leads=["I", "II"], uv_per_unit=1) for k in range(20)]
    spread = [json.dumps(json.loads(message(k)), indent=2).encode() for k in range(20)]
    expected = [singly(values) for values in (nested, spread)]
    monkeypatch.setattr(json_chunks, "json_to_avro", lambda _: pytest.fail("parsed singly"))
    assert [json_tick_to_avro(values) for values in (nested, spread)] == expected


@pytest.mark.parametrize("bad", [b'{"stream": 3}', b"{\xff", b'{"a": [1, 2', b'{"samples": [1'])
def test_what_can_be_no_row_leaves_the_others_in_the_table(bad: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    values = [message(k) for k in range(20)]
    values[7] = bad
    expected, read_singly = singly(values), []
    monkeypatch.setattr(json_chunks, "json_to_avro", lambda value: read_singly.append(value) or json_to_avro(value))
    assert json_tick_to_avro(values) == expected
    assert read_singly == [bad]


def test_few_messages_are_parsed_singly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "read_json_lines", lambda *_: pytest.fail("a table"))
    values = [message(k) for k in range(json_chunks.MIN_TABLE_MESSAGES - 1)]
    assert json_tick_to_avro(values) == singly(values)


def test_random_ticks_give_the_same_results_as_singly() -> None:
    rng = np.random.default_rng(8)
    for _ in range(20):
        values = []
        for k in range(30):
            samples = rng.integers(-32768, 32768, int(rng.integers(1, 20))).tolist()
            changed: dict[str, Any] = {"samples": samples, "rate_hz": float(rng.choice([128, 250.5, 1e3]))}
            values.append(message(k, **changed))
        assert json_tick_to_avro(values) == singly(values)


def test_until_the_table_parser_is_imported_messages_are_parsed_singly_with_the_same_results() -> None:
    program = """
import sys
from beatwire.wire import decode_chunk
from beatwire.wire import json as json_chunks
values = [b'{"stream": "a", "first": %d, "rate_hz": 250, "samples": [1, 2]}' % k for k in range(9)]
before = json_chunks.json_tick_to_avro(values)
json_chunks.import_in_background("beatwire.tables").join(60)
assert "beatwire.tables" in sys.modules
json_chunks.json_to_avro = None
assert json_chunks.json_tick_to_avro(values) == before and len(before) == 9
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_without_cudf_messages_are_parsed_by_pyarrow_on_a_gpu_too(monkeypatch: pytest.MonkeyPatch) -> None:
    if find_spec("cudf") is not None:
        pytest.skip("cuDF is installed; tests/api/test_gpu_frames.py covers this case")
    monkeypatch.setattr(json_chunks, "MIN_GPU_MESSAGES", 1)
    monkeypatch.setattr(json_chunks, "json_to_avro", lambda _: pytest.fail("parsed singly"))
    json_chunks.import_in_background("cudf").join(60)
    values = [message(k) for k in range(12)]
    assert json_tick_to_avro(values, object()) == json_tick_to_avro(values)
