"""Several leads: the level of a peak, artefacts on one lead, and the agreement of leads."""

import numpy as np
import pytest
from beatwire.kernels.peaks import peak_features
from beatwire.recordings.synthetic.person import synthesise
from beatwire.records import Ringed
from beatwire.stages.detection import nms, ricker
from beatwire.stages.support.filters import Design, filter_for, half_up
from beatwire.training.detector.candidates import find_candidates
from laws import Signal, cut
from signal_oracles import bounded_response_of, levels_of
from steps import beats_of, fresh_of

RATE_HZ = 250.0
BLOCK = 500


def heart(leads: int = 2, seconds: float = 40.0) -> np.ndarray:
    return synthesise(3, rate_hz=RATE_HZ, leads=leads, seconds=seconds).recording.samples


def with_artefacts(x: np.ndarray, lead: int, every_s: float = 5.3) -> np.ndarray:
    """Add waves to one lead, as narrow as its beats and four times as high."""
    out = x.astype(np.float64)
    t = np.arange(-40, 41) / RATE_HZ
    wave = 4 * np.ptp(x[lead]) * (1 - (t / 0.014) ** 2) * np.exp(-0.5 * (t / 0.014) ** 2)
    for at in np.arange(int(12 * RATE_HZ), x.shape[1] - 100, int(every_s * RATE_HZ)):
        out[lead, at - 40 : at + 41] += wave
    return np.clip(out, -32000, 32000).astype(np.int16)


def test_a_peak_has_the_levels_of_all_leads_in_any_cut() -> None:
    rng = np.random.default_rng(4)
    x, base = with_artefacts(heart(3), 1), int(rng.integers(0, 10**9))
    n = x.shape[1]
    one = filter_for(Design(), RATE_HZ, 3)
    found: list[list[int]] = []
    states = ricker.State(ricker.Settings(6.0, Design())), nms.State(nms.Settings())
    ring = np.zeros((1, 3, 2048), np.int16)
    for a, b in cut(n, rng, 700):
        ring[0][:, np.arange(base + a, base + b) % 2048] = x[:, a:b]
        fresh = fresh_of([base + a], [base + b], [base], rate_hz=RATE_HZ, leads=3)
        peaks = nms.step(states[1], ricker.step(states[0], Ringed(fresh, ring))[1])[1]
        table = peaks.table
        k = int(table.found[0])
        found += np.concatenate([table.peaks[0, :k], table.bounds[0, :k]], axis=1).tolist()
    _, each = bounded_response_of(x, one, base, BLOCK)
    right = half_up(nms.Settings().right_s * RATE_HZ)
    assert len(found) > 40
    for c, _, median, quantile, _, _, _, source, _, least, speaking, muted in found:
        assert (muted, source) == (0, 0)
        levels = [levels_of(f, base, BLOCK, c + right + 1) for f in each]
        if levels[0] is None:
            assert (least, speaking) == (-1, 0)
            continue
        medians, quantiles, recent = zip(*(of_lead for of_lead in levels if of_lead), strict=True)
        assert (median, quantile) == (sum(medians), sum(quantiles))
        assert least == sum(map(min, recent))
        assert speaking == 3


@pytest.mark.parametrize("lead", [0, 1])
def test_artefacts_on_one_lead_do_not_hide_the_beats_of_the_other(lead: int) -> None:
    clean = heart()
    beats = beats_of(Signal("bed", clean, RATE_HZ)).sample
    found = beats_of(Signal("bed", with_artefacts(clean, lead), RATE_HZ)).sample
    nearest = np.abs(found[None] - beats[:, None]).min(axis=1)
    assert len(beats) > 30
    assert (nearest <= 0.04 * RATE_HZ).mean() > 0.9  # R of some is that of the other lead


def test_lead_agreement_is_high_for_beats_and_low_for_an_artefact_on_one_lead() -> None:
    rough = find_candidates(with_artefacts(heart(), 1), RATE_HZ)
    clean = find_candidates(heart(), RATE_HZ)
    late = clean.at > 12 * RATE_HZ
    high = clean.features[late & (clean.features[:, peak_features.HEIGHT] > 0.5)]
    assert np.abs(high[:, peak_features.LOWEST_LEAD] - 1).mean() < 0.2
    assert high[:, peak_features.TURNED].mean() < 0.1
    far = np.abs(rough.at[:, None] - clean.at[None]).min(axis=1) > 0.1 * RATE_HZ
    alone = rough.features[far & (rough.at > 12 * RATE_HZ)]
    assert len(alone) > 3
    assert alone[:, peak_features.LOWEST_LEAD].max() < 0.5 < 2 < alone[:, peak_features.HIGHEST_LEAD].min()
    assert alone[:, peak_features.TURNED].min() > 0.3


def test_lead_agreement_of_a_single_lead_is_neutral() -> None:
    features = find_candidates(heart(1), RATE_HZ).features
    assert (
        features[
            :, [peak_features.FIRST_LEAD, peak_features.LOWEST_LEAD, peak_features.HIGHEST_LEAD, peak_features.EVEN]
        ]
        == 1
    ).all()
    assert not features[:, peak_features.TURNED].any()


@pytest.mark.parametrize("lead", [0, 1])
@pytest.mark.parametrize("level", [-32767, 0, 20_000])
def test_a_lead_that_stands_still_costs_the_other_nothing(lead: int, level: int) -> None:
    still, other = heart(), 1 - lead
    alone = beats_of(Signal("bed", still[other : other + 1], RATE_HZ)).sample
    still[lead] = level
    np.testing.assert_array_equal(beats_of(Signal("bed", still, RATE_HZ)).sample, alone)
