"""The network of doubtful peaks: bodies against machine code and matrices, while it is trained, its files."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from annotated import write_record
from beatwire.errors import UserError
from beatwire.jit import cpu
from beatwire.kernels.intake.holes import NO_VALUE
from beatwire.kernels.peaks import wave_input, wave_network
from beatwire.model.checkpoint import held_out_models
from beatwire.model.waveform import SHIPPED, load_waveform, network_of, save_waveform
from beatwire.records.waveform import WaveNetwork
from beatwire.stages.detection.doubt import grid_for, scratch_of
from draws import draws
from hypothesis import given, settings
from hypothesis import strategies as st
from past import NO_PAST, past_of
from small_network import DEPTH, small_arrays, small_network


def judged(
    compile_body: Any, x: np.ndarray, c: int, base: int, rate_hz: float, recent: int | None = None
) -> tuple[np.ndarray, int]:
    """The channels and the logit of a peak; ``recent`` samples before it are read from the ring."""
    network = small_network()
    grid, scratch = grid_for(rate_hz, DEPTH), scratch_of(network)
    grid = grid if recent is None else grid._replace(recent=recent)
    past = past_of(x[None], grid, base, compile_body)
    gather, channels, judge = map(
        compile_body, (wave_input.gather, wave_input.write_channels, wave_network.judge_waveform)
    )
    early = max(0, gather(x, past[0], base, c, grid, scratch.numbers) - wave_input.BEFORE)
    channels(scratch.numbers, len(grid.offset), network.compressed, early, scratch.frames[0])
    seen = scratch.frames[0, : wave_network.grid_of(DEPTH) * wave_input.CHANNELS].copy()
    return seen, judge(scratch.frames[0], early, network, scratch.frames, scratch.rows)


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 1000), rate_hz=st.sampled_from([100.0, 128.0, 250.0, 333.3, 360.0, 1000.0]))
def test_machine_code_judges_as_python_does(seed: int, rate_hz: float) -> None:
    rng = np.random.default_rng(seed)
    x = np.cumsum(rng.integers(-80, 81, int(8 * rate_hz))).clip(-30_000, 30_000).astype(np.int16)
    x[rng.integers(0, len(x), 20)] = NO_VALUE
    c, base = int(rng.integers(0, len(x) - rate_hz)), int(rng.integers(0, 10))
    python, compiled = (
        judged(lambda body: body, x, max(c, base), base, rate_hz),
        judged(cpu.compiled, x, max(c, base), base, rate_hz),
    )
    np.testing.assert_array_equal(python[0], compiled[0])
    assert python[1] == compiled[1]


def frames_by_matrices(seen: np.ndarray, early: int, network: WaveNetwork) -> int:
    """The logit of a peak by products of whole matrices; all frames are computed, then those before the lane zeroed."""

    def layer(windows: np.ndarray, matrix: np.ndarray, row: int, more: np.ndarray | int = 0) -> np.ndarray:
        sums = windows.astype(np.int64) @ matrix.astype(np.int64) * network.factor[row][: matrix.shape[1]]
        rounded = (sums + network.offset[row][: matrix.shape[1]] + more) >> wave_network.SHIFT
        return rounded.clip(0, network.most[row])

    def windows_of(x: np.ndarray, taps: int) -> np.ndarray:
        return np.stack([x[j : j + taps].ravel() for j in range(0, len(x) - taps + 1, 2)])

    x, end, spacing = seen.reshape(-1, wave_input.CHANNELS).astype(np.int64), 0, 1

    def without_early(x: np.ndarray) -> np.ndarray:
        newest = end - (min(spacing, 4) - 1) + spacing * np.arange(len(x))  # a frame begins up to four points before
        return np.where((newest < early)[:, None], 0, x)

    for row, matrix in enumerate((network.first, network.second)):
        end, spacing = end + (wave_network.TAPS - 1) * spacing, 2 * spacing
        x = without_early(layer(windows_of(x, wave_network.TAPS), matrix, row))
    for deep, (wide, narrow) in enumerate(zip(network.wide, network.narrow, strict=True)):
        end, spacing = end + (wave_network.LOOKS - 1) * spacing, 2 * spacing
        windows, row = windows_of(x, wave_network.LOOKS), wave_network.DEEP + 2 * deep
        hidden = layer(windows, wide, row)
        x = without_early(layer(hidden, narrow, row + 1, windows[:, -narrow.shape[0] :] * network.residual[deep]))
    assert len(x) == 1
    return int(network.head[-1] + network.head[:-1] @ x[0])


@settings(max_examples=draws(30), deadline=None)
@given(seed=st.integers(0, 1000), early=st.integers(0, wave_network.grid_of(DEPTH)))
def test_the_network_is_its_matrices_whatever_is_before_the_lane_and_in_the_scratch(seed: int, early: int) -> None:
    rng, network = np.random.default_rng(seed), small_network(seed)
    seen = rng.integers(-125, 126, wave_network.grid_of(DEPTH) * wave_input.CHANNELS).astype(np.float32)
    expected = frames_by_matrices(seen, early, network)
    for body in (wave_network.judge_waveform, cpu.compiled(wave_network.judge_waveform)):
        scratch = scratch_of(network)
        for rows in (scratch.frames, scratch.rows):
            rows[...] = rng.integers(0, 1000, rows.shape)  # of other peaks
        scratch.frames[0, : len(seen)] = seen
        assert body(scratch.frames[0], early, network, scratch.frames, scratch.rows) == expected


@pytest.mark.parametrize("rate_hz", [125.0, 250.0, 500.0])
def test_an_offset_and_the_polarity_of_the_channels(rate_hz: float) -> None:
    rng = np.random.default_rng(3)
    x = np.cumsum(rng.integers(-9, 10, int(20 * rate_hz))).astype(np.int16)
    c = int(15 * rate_hz)
    seen = judged(cpu.compiled, x, c, 0, rate_hz)[0]
    np.testing.assert_array_equal(seen, judged(cpu.compiled, x + np.int16(5000), c, 0, rate_hz)[0])
    np.testing.assert_allclose(seen, -judged(cpu.compiled, -x, c, 0, rate_hz)[0], atol=3)
    np.testing.assert_allclose(seen, judged(cpu.compiled, 4 * x, c, 0, rate_hz)[0], atol=3)


def test_the_training_sees_what_the_monitor_sees() -> None:
    torch = pytest.importorskip("torch")
    from beatwire.training.network.model import channels

    rng = np.random.default_rng(5)
    x = np.cumsum(rng.integers(-30, 31, 6000)).clip(-30_000, 30_000).astype(np.int16)
    whole = channels(torch.from_numpy(x.astype(np.int64) * 16)).numpy()
    for c in (60, 700, 3000, 5900):
        newest = c + round(wave_input.AHEAD_S * 250)
        seen = judged(cpu.compiled, x, c, 0, 250.0, recent=len(x))[0].reshape(-1, wave_input.CHANNELS)
        n = min(len(seen), newest + 1)
        np.testing.assert_array_equal(seen[-n:], whole[newest + 1 - n : newest + 1])


def test_the_logit_while_it_is_trained_is_that_of_the_integers() -> None:
    torch = pytest.importorskip("torch")
    from beatwire.training.network.model import DEPTH as DEEP
    from beatwire.training.network.model import INPUT_UNIT, WaveModel, channels, quantised

    torch.manual_seed(0)
    x = np.cumsum(np.random.default_rng(7).integers(-30, 31, 5000)).clip(-30_000, 30_000).astype(np.int16)
    model = WaveModel(1, 0)
    seen = channels(torch.from_numpy(x.astype(np.int64) * 16)[None, None]).float() / INPUT_UNIT
    with torch.no_grad():
        model(seen)  # the statistics of a batch
        for k in range(len(model.weight)):
            getattr(model, f"mean{k}").mul_(50)
            getattr(model, f"variance{k}").sub_(0.98).mul_(50)
        model.eval()
        expected = model(seen)[0, 0].numpy()
        tops = [1.2 * float(one.max()) + 1e-6 for one in model.outputs(seen)]
    network = network_of(quantised(model, 0, tops))
    scratch = scratch_of(network)
    gather, write, judge = map(
        cpu.compiled, (wave_input.gather, wave_input.write_channels, wave_network.judge_waveform)
    )
    grid = grid_for(250.0, DEEP)._replace(recent=len(x))
    for frame in (40, 300, 700, 1200):
        c = 4 * frame + 3 - round(wave_input.AHEAD_S * 250)
        early = max(0, gather(x, NO_PAST, 0, c, grid, scratch.numbers) - wave_input.BEFORE)
        write(scratch.numbers, len(grid.offset), network.compressed, early, scratch.frames[0])
        logit = judge(scratch.frames[0], early, network, scratch.frames, scratch.rows) / wave_network.LOGIT_UNIT
        assert logit == pytest.approx(expected[frame], abs=0.02 + 0.05 * float(abs(expected).max()))


def test_the_shipped_network_and_its_companions_are_usable() -> None:
    assert load_waveform().name.startswith("network-1+")
    for fold in range(5):
        assert load_waveform(SHIPPED.with_suffix(f".fold{fold}.safetensors")).network.narrow.shape == (7, 64, 64)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("wide", lambda a: a[:, :-1], "expected wide as finite int8"),
        ("head", lambda a: a[:-1], "expected head as finite int64"),
        ("combination", lambda a: a * np.nan, "expected combination as finite float64"),
        ("most", lambda a: a * 100, "expected sums below 16777216 in layer"),
        ("most", lambda a: a * 0 + 2049, "expected values up to 2048 in layer"),
        ("residual", lambda a: a + (1 << 40), "expected residual below"),
    ],
)
def test_a_damaged_network_is_refused(tmp_path: Path, name: str, change: Any, message: str) -> None:
    arrays = small_arrays(np.random.default_rng(1))
    save_waveform(tmp_path / "good.safetensors", arrays, {})
    with pytest.raises(UserError, match=message):
        save_waveform(tmp_path / "bad.safetensors", arrays | {name: change(arrays[name])}, {})


@pytest.mark.slow
def test_a_network_is_trained_with_companions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    from beatwire.training.network import combination as wave_combination
    from beatwire.training.settings import NetworkSettings
    from beatwire.training.specs import fit

    monkeypatch.setattr(wave_combination, "AUGMENTATIONS", wave_combination.AUGMENTATIONS[2:])

    (tmp_path / "records").mkdir()
    for k in range(5):
        write_record(tmp_path / "records", f"r{k}")
    short = NetworkSettings(steps=2, batch=1, measured=1)
    out, steps = tmp_path / "n.safetensors", []
    metrics = fit("network", [tmp_path / "records"], out, settings=short, progress=lambda done, _: steps.append(done))
    assert metrics["model"] == load_waveform(out).name
    assert metrics["model"] in out.with_suffix(".card.md").read_text()
    assert sum(row["peaks"] for row in metrics["doubtful peaks"]) > 0
    assert steps == sorted(steps)
    held_out = held_out_models(out)
    assert set(held_out) == {(f"r{k}", 90_000) for k in range(5)}
    assert load_waveform(held_out["r3", 90_000]).name != metrics["model"]
    for ending in ("hea", "atr"):
        (tmp_path / "records" / f"r4.{ending}").unlink()
    with pytest.raises(UserError, match="expected at least 5 annotated records; got 4"):
        fit("network", [tmp_path / "records"], out, settings=short)
