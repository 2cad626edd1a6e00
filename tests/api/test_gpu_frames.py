"""Tables on a GPU: cuDF reads what pandas reads; columns, arrays and tensors share their memory."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import test_json_chunks
import test_recordings
from beatwire.backends.cuda.card import missing
from beatwire.backends.cuda.upload import upload_stretches
from beatwire.errors import UserError
from beatwire.pipeline import Pipeline
from beatwire.pipeline.settings import Settings
from beatwire.recordings import read_recording
from beatwire.records import RawTick
from beatwire.tables import arrow, frame, host_array, lines, parse, parse_gpu, rr_statistics
from beatwire.wire import json
from beatwire.wire.json import json_tick_to_avro
from beatwire_producers.replay import read_sources
from test_recordings import LAYOUTS, MESSAGES, MV, write

WHY = missing() or (None if find_spec("cudf") else "cuDF is not installed")
pytestmark = [pytest.mark.gpu, pytest.mark.skipif(WHY is not None, reason=f"needs a GPU and cuDF: {WHY}")]


@pytest.fixture(scope="module")
def cupy(device: Any) -> Any:
    pytest.importorskip("cudf", reason="needs cuDF (pip install 'beatwire[gpu]')")
    return pytest.importorskip("cupy", reason="needs CuPy (pip install 'beatwire[gpu]')")


def pointer(array: Any) -> int:
    return int(array.__cuda_array_interface__["data"][0])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_cudf_reads_what_pyarrow_reads(tmp_path: Path, layout: str, cupy: Any) -> None:
    rows, delimiter, head, kwargs, name = LAYOUTS[layout]
    path = write(tmp_path / name, rows, delimiter, head)
    here, there = read_recording(path, **kwargs), read_recording(path, xp=cupy, **kwargs)  # type: ignore[arg-type]
    assert (here.rate_hz, here.leads, here.uv_per_unit) == (there.rate_hz, there.leads, there.uv_per_unit)
    np.testing.assert_array_equal(here.samples, host_array(there.samples))


@pytest.mark.parametrize("case", MESSAGES)
def test_an_error_in_a_csv_has_the_same_text_as_on_the_cpu(tmp_path: Path, case: str, cupy: Any) -> None:
    text, kwargs, expected = MESSAGES[case]
    path = tmp_path / "x.csv"
    path.write_text(text)
    with pytest.raises(UserError) as error:
        read_recording(path, xp=cupy, **kwargs)
    assert str(error.value).startswith(expected)


ODD_CELLS = (
    "oops", "1.2abc", "", "nan", "NA", "-", "+", ".", "--3", "1-2", "1.2.3", "1e", "e5", "1 2", "0x1F", "1,5", "1e5",
    "+0.5", "inf", "-inf", "Infinity", "1_000", "1d3", "$5", "1%", '"0.25"', " 0.25", "0.25 ", "1e400", "1e-400",
    "123456789012345678901234567890",
)  # fmt: skip


@pytest.mark.parametrize("cell", ODD_CELLS)
def test_an_odd_cell_is_read_as_on_the_cpu(tmp_path: Path, cell: str, cupy: Any) -> None:
    path = write(tmp_path / "x.csv", [[f"{v:.3f}"] for v in MV[:50]] + [[cell]] + [[f"{v:.3f}"] for v in MV[:50]])

    def read(xp: Any) -> Any:
        try:
            return host_array(read_recording(path, fs=250, xp=xp).samples).tolist()
        except UserError as error:
            return str(error)

    assert read(cupy) == read(np)


def test_a_file_that_does_not_fit_is_parsed_in_parts(
    tmp_path: Path, cupy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [[k / 250, v] for k, v in enumerate(np.tile(MV, 20))]
    path = write(tmp_path / "x.csv", rows, head="# made by hand\ntime,II\n")
    whole = read_recording(path)
    real, refused = parse_gpu._in_parts, []

    def small(path: Path, first: int, parts: int, *rest: Any) -> Any:
        if parts < 8:
            refused.append(parts)
            raise MemoryError
        return real(path, first, parts, *rest)

    monkeypatch.setattr(parse_gpu, "_in_parts", small)
    monkeypatch.setattr(parse_gpu, "_SMALLEST_PART", 100)
    np.testing.assert_array_equal(read_recording(path, xp=cupy).samples, whole.samples)
    assert refused == [1, 2, 4]


def test_plain_numbers_are_read_as_text_first_and_others_as_numbers(
    tmp_path: Path, cupy: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [[k / 250, v, -v] for k, v in enumerate(MV)]
    path = write(tmp_path / "x.csv", rows, head="time,II,V1\n")
    expected = parse._read_numbers(path, ",", ".", 1, 3)
    monkeypatch.setattr(parse_gpu, "_as_numbers", lambda *_, **__: None)
    as_text = parse_gpu.read_numbers(path, ",", ".", 1, 3)
    monkeypatch.undo()
    path.write_text(path.read_text().replace(",", ", "))
    assert parse_gpu.read_numbers(path, ",", ".", 1, 3) is not None
    monkeypatch.setattr(parse_gpu, "_from_text", lambda *_: pytest.fail("blanks were read as plain numbers"))
    as_numbers = parse_gpu.read_numbers(path, ",", ".", 1, 3)
    for found in (as_text, as_numbers):
        for here, there in zip(found, expected, strict=True):  # type: ignore[arg-type]
            assert isinstance(here, cupy.ndarray)
            np.testing.assert_allclose(here.get(), there, rtol=1e-15)


def test_a_clean_csv_stays_on_the_device(tmp_path: Path, cupy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parse, "_read_any", lambda *_: pytest.fail("parsed by pandas"))
    path = write(tmp_path / "x.csv", [[k / 250, v] for k, v in enumerate(MV)], head="time,II\n")
    assert isinstance(read_recording(path, xp=cupy).samples, cupy.ndarray)


@pytest.fixture
def by_cudf(monkeypatch: pytest.MonkeyPatch) -> None:
    json.import_in_background("cudf").join(120)
    monkeypatch.setattr(json, "MIN_GPU_MESSAGES", 1)
    monkeypatch.setattr(lines, "_json_arrow", lambda *_: pytest.fail("parsed by pyarrow"))


@pytest.mark.usefixtures("by_cudf")
@pytest.mark.parametrize("odd", test_json_chunks.UNUSUAL)
def test_json_ticks_are_the_same_by_cudf(odd: str, cupy: Any) -> None:
    values = [test_json_chunks.message(k) for k in range(12)]
    values[5] = test_json_chunks.message(5, **test_json_chunks.UNUSUAL[odd])
    assert json_tick_to_avro(values, cupy) == test_json_chunks.singly(values)


@pytest.mark.usefixtures("by_cudf")
def test_a_clean_json_tick_goes_through_cudf(cupy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    nested = [test_json_chunks.message(k, samples=[[k, 2], [4, -5]], leads=["I", "II"]) for k in range(20)]
    flat = [test_json_chunks.message(k, session=3, time=k, uv_per_unit=2) for k in range(20)]
    expected = [test_json_chunks.singly(values) for values in (nested, flat)]
    monkeypatch.setattr("beatwire.wire.json.json_to_avro", lambda _: pytest.fail("parsed one by one"))
    assert [json_tick_to_avro(values, cupy) for values in (nested, flat)] == expected


@pytest.mark.usefixtures("by_cudf", "cupy")
def test_the_graph_on_a_gpu_parses_json_by_cudf(device: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("beatwire.wire.json.json_to_avro", lambda _: pytest.fail("parsed one by one"))
    pipeline, decoded = Pipeline(Settings(), device), []
    pipeline.subscribe(pipeline.decoded, decoded.append)
    pipeline.emit(RawTick.of([test_json_chunks.message(k) for k in range(20)]))
    assert len(decoded[0].message) == 20


def test_rr_statistics_are_the_same_by_cudf(cupy: Any) -> None:
    rng = np.random.default_rng(5)
    stream, rr = np.repeat(np.arange(30), 40), rng.normal(800, 60, 1200)
    rr[rng.random(1200) < 0.1] = np.nan
    here = rr_statistics(stream, rr)
    there = rr_statistics(cupy.asarray(stream), cupy.asarray(rr), cupy).to_pandas()
    np.testing.assert_allclose(here.to_numpy(), there[here.columns].to_numpy(), rtol=1e-9)


def test_conversions_between_libraries_share_memory(tmp_path: Path, cupy: Any) -> None:
    import cudf
    import torch
    from numba import cuda

    path = write(tmp_path / "x.csv", [[v] for v in MV], head="II\n")
    series = cudf.read_csv(str(path), dtype={"II": "float64"})["II"]
    column = cupy.asarray(series)
    assert pointer(column) == pointer(series)
    assert pointer(parse_gpu.cupy_of(series)) == pointer(series)
    assert pointer(cuda.as_cuda_array(column)) == pointer(column)
    tensor = torch.as_tensor(column, device="cuda")
    assert tensor.data_ptr() == pointer(column)
    assert torch.from_dlpack(column).data_ptr() == pointer(column)
    assert pointer(cupy.asarray(tensor)) == pointer(column)
    assert pointer(cupy.from_dlpack(tensor)) == pointer(column)
    assert pointer(cuda.as_cuda_array(tensor)) == pointer(column)
    assert pointer(cudf.Series(cupy.asarray(tensor))) == pointer(column)
    table = frame({"II": cupy.asarray(tensor)}, cupy)
    assert pointer(table["II"]) == pointer(column)
    assert arrow({"II": column}).num_rows == len(MV)


def test_a_replayed_csv_is_parsed_on_the_gpu(tmp_path: Path, cupy: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(write(tmp_path / "x.csv", [[k / 250, v] for k, v in enumerate(MV)], head="time,II\n"))
    (expected,) = read_sources([path])
    monkeypatch.setattr(parse, "_read_any", lambda *_: pytest.fail("parsed by pandas"))
    monkeypatch.setattr(parse, "_read_numbers", lambda *_: pytest.fail("parsed by pyarrow"))
    (found,) = read_sources([path], xp=cupy)
    np.testing.assert_array_equal(found.samples, expected.samples)
    assert type(found.samples) is np.ndarray


def test_stretches_of_a_recording_are_copied_to_their_places(cupy: Any) -> None:
    rng = np.random.default_rng(2)
    samples = rng.integers(-999, 999, (3, 200_000)).astype(np.int16)
    start = np.sort(rng.integers(0, 190_000, 700))
    stop = start + rng.integers(1, 9_000, 700)
    width = int((stop - start).max())
    there = cupy.zeros(700 * 3 * width, np.int16)
    found, arrived = upload_stretches(samples, start, stop, there)
    assert found == width
    arrived.synchronize()
    rows = there.get().reshape(700, 3, width)
    for row, a, b in zip(rows, start, stop, strict=True):
        np.testing.assert_array_equal(row[:, : b - a], samples[:, a:b])


def test_samples_are_the_payload_of_their_placements(cupy: Any) -> None:
    from beatwire.offline.passes import SamplesInPlace, passes
    from beatwire.offline.results.coverage import coverage_of
    from beatwire.offline.shards import cut
    from beatwire.records import Bank

    samples = cupy.asarray(np.rint(MV * 1000).astype(np.int16)[None])
    coverage = coverage_of(samples, 10, 5, 1)
    shards, held = cut(coverage, 300, 100, 20), samples[:, :10].copy()
    placements = [
        fetch()
        for fetch in passes(SamplesInPlace(samples), len(MV), held, coverage, shards, Bank(0, 250.0, 1), 1.0, 100)
    ]
    assert all(pointer(p.payload) == pointer(samples) for p in placements[:-1])
    assert len(MV) == test_recordings.N
