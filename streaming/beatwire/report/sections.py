"""The sections of the report that need no drawing: summary, alerts, hours, and how the report was made."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from beatwire.alerts.rule import PRIORITIES
from beatwire.errors import escape
from beatwire.offline.results.clock import clock, length
from beatwire.offline.results.episodes import Episode
from beatwire.offline.results.hum import size_text, where_text
from beatwire.offline.results.share import percent
from beatwire.offline.results.summary import rates
from beatwire.report.events import Kind
from beatwire.report.figures.hours import Hour
from beatwire.report.html import Column, Html, facts, note, program, section, table
from beatwire.report.study import PAUSE_S, Study

HUM_NOTE = (
    "Mains hum was subtracted before beats were found and judged. Strips and figures show the signal as recorded, with "
    "its hum; the response is that of the signal without it. A lead at the limits of its converter keeps it."
)
MOST_ALERTS = 100  # rows of the table of alerts


def summary(
    study: Study, hours: list[Hour], quality: Mapping[str, Any], hum: Sequence[Mapping[str, Any]] | None
) -> str:
    """Return the head of the report: what was recorded, and what was found; ``quality``, ``hum``: of the summary."""
    recording = study.recording
    rr_ms, rate = study.rr_ms, rates(study.beats)
    longest = float(np.nanmax(rr_ms)) if np.isfinite(rr_ms).any() else np.nan
    leads = f"{'lead' if len(recording.leads) == 1 else 'leads'} {', '.join(recording.leads)}"
    figures = [
        ("length", length(recording.seconds), "h:min:s" if recording.seconds >= 60 else "", ""),
        ("beats", f"{len(study.sample):,}", "", ""),
        ("median rate", *_rate(rate["median_rate_bpm"], None, "no rate of good signal")),
        ("lowest rate", *_rate(rate["min_rate_bpm"], rate["min_rate_at_s"])),
        ("highest rate", *_rate(rate["max_rate_bpm"], rate["max_rate_at_s"])),
        (f"pauses longer than {PAUSE_S:g} s", f"{sum(h.pauses for h in hours):,}", "", ""),
        ("longest interval", _number(longest / 1000, 2), "s" if np.isfinite(longest) else "", ""),
        ("time with a value", percent(quality["with_signal"], 1), "", ""),
        ("good signal", *_good(quality["good"])),
    ]
    if hum:
        unit = "not calibrated" if hum[0]["mv"] is None else "mV peak"
        remark = f"{where_text(hum, len(recording.leads))}, {percent(hum[0]['share'])} of the time"
        figures.append(("mains hum", size_text(hum[0]), unit, remark))
    for group in study.groups:
        share = f"{percent(len(group.rows) / len(study.sample), 1)} of the beats"
        figures.append((group.label, f"{len(group.rows):,}", "", share))
    for priority in PRIORITIES:
        own = Counter(e.rule for e in study.episodes if e.priority == priority)
        names = ", ".join(f"{rule} {count}" for rule, count in own.most_common())
        figures.append((f"alerts of {priority} priority", f"{sum(own.values()):,}", "", names))
    return (
        f"<h1>{escape(recording.name)}</h1>"
        f"<p>{escape(leads)}, {recording.rate_hz:g} Hz. Analysed by {program()}, scoring model "
        f"{escape(study.analysis.model)}. Times are from the start of the recording.</p>"
        "<p><strong>Not a medical device.</strong> Beats and alerts were found by a program; no person has checked "
        "them.</p>"
        + (note(f"Remarks on reading: {'; '.join(recording.notes)}.") if recording.notes else "")
        + facts(figures)
        + note(
            "Beats are grouped by class. Median, lowest and highest rate: of the medians of eight intervals where the "
            "signal is good: at most one false or missed beat is expected in ten seconds."
        )
        + (note(HUM_NOTE) if hum else "")
    )


def alerts(study: Study, kinds: list[Kind]) -> str:
    """Return the table of alerts, with links to those that a strip shows."""
    if not study.episodes:
        return section("alerts", "Alerts", "<p>No alert was raised.</p>")
    links, number = {}, 0
    for kind in kinds:
        for event in kind.events:
            if event.episode is not None:
                links[event.episode] = number
            number += 1
    chosen = sorted(study.episodes, key=lambda e: (e not in links, PRIORITIES.index(e.priority)))[:MOST_ALERTS]
    rows = [_alert_row(study, e, links.get(e)) for e in sorted(chosen, key=lambda e: (e.onset, e.rule))]
    columns = [
        Column("onset"), Column("duration"), Column("priority", True), Column("alert", True), Column("strip")
    ]  # fmt: skip
    return section("alerts", "Alerts", _alerts_note(study.episodes, chosen), table(columns, rows))


def _alerts_note(episodes: Sequence[Episode], chosen: Sequence[Episode]) -> str:
    """Return which alerts are left out of the table, by rule; nothing if it has all."""
    left_out = Counter(e.rule for e in episodes) - Counter(e.rule for e in chosen)
    if not left_out:
        return ""
    rules = ", ".join(f"{rule} {count:,}" for rule, count in left_out.most_common())
    return note(
        f"{len(chosen):,} of {len(episodes):,} alerts, those with a strip first, then by priority. Left out: {rules}. "
        "The figure of the whole recording shows all of them."
    )


def _alert_row(study: Study, episode: Episode, strip: int | None) -> list[str]:
    rate_hz = study.recording.rate_hz
    duration = "to the end" if episode.end is None else f"{(episode.end - episode.onset) / rate_hz:,.1f} s"
    technical = ", technical" if episode.technical else ""
    return [
        clock(episode.onset / rate_hz, 1),
        duration,
        Html(f'<span class="priority {episode.priority}">{episode.priority}{technical}</span>'),
        _split_text(episode.text),
        Html(f'<a href="#strip-{strip}">{strip + 1}</a>') if strip is not None else "",
    ]


def _split_text(text: str) -> Html:
    """Return the text of an alert; what follows in parentheses is set smaller."""
    first, bracket, rest = text.partition(" (")
    return Html(escape(first) + (f" <small>{escape(bracket.strip() + rest)}</small>" if bracket else ""))


def hourly(study: Study, hours: list[Hour], quality: Mapping[str, Any]) -> str:
    """Return the hourly table: rates, beats of each group that is not usual, pauses, alerts, signal; see `summary`."""
    groups = [g for g in study.groups if g.name != "N"]
    names = [
        "from",
        "beats",
        "mean /min",
        "least",
        "most",
        *(g.name for g in groups),
        "pauses",
        "longest RR s",
        "alerts",
    ]
    columns = [Column(name) for name in [*names, "signal"]]

    def row(first: str, h: list[Hour], share: float) -> list[str]:
        known = [x for x in h if x.intervals]
        minutes = sum(x.intervals / x.mean_bpm for x in known)
        return [
            first,
            f"{sum(x.beats for x in h):,}",
            _number(sum(x.intervals for x in known) / minutes if known else np.nan),
            _number(_of(min, [x.least_bpm for x in h])),
            _number(_of(max, [x.most_bpm for x in h])),
            *(f"{sum(x.marked[g.name] for x in h):,}" for g in groups),
            f"{sum(x.pauses for x in h):,}",
            _number(_of(max, [x.longest_s for x in h]), 2),
            f"{sum(x.alerts for x in h):,}",
            percent(share, 1),
        ]

    rows = [row(clock(h.first_s), [h], h.with_signal) for h in hours]
    rows.append(row("all", hours, quality["with_signal"]))
    text = (
        "Least and most: of all beats with a rate, those of fewer than eight intervals or of poor signal too, which "
        f"lowest and highest rate leave out. Pauses are intervals longer than {PAUSE_S:g} s. Signal: time with a value."
    )
    return section("hours", "By the hour", table(columns, rows, sums=1), note(text))


def hum_table(hum: Sequence[Mapping[str, Any]] | None) -> str:
    """Return the table of the leads with mains hum; empty without any."""
    if not hum:
        return ""
    columns = [Column("mains hum", True), Column("Hz"), Column("mV peak"), Column("share of the time")]
    rows = [[row["lead"], f"{row['hz']:g}", size_text(row), percent(row["share"])] for row in hum]
    return table(columns, rows) + note("Peak: the median while there is hum. Look at the contacts of these electrodes.")


def how_made(study: Study, finest: str) -> str:
    """Return what was analysed by which model, with which figures."""
    recording, counts = study.recording, study.analysis.counts
    scored = Counter(np.asarray(study.beats["scored_by"]).astype(str).tolist())
    unit = f"{recording.uv_per_unit:g} µV" if study.calibrated else "not calibrated"
    rows = [
        ("recording", recording.name),
        ("leads", ", ".join(recording.leads)),
        ("samples", f"{recording.samples.size:,} at {recording.rate_hz:g} Hz, one unit is {unit}"),
        ("remarks on reading", "; ".join(recording.notes) or "none"),
        ("program", program()),
        ("scoring model", study.analysis.model),
        ("beats scored by", ", ".join(f"{name} {count:,}" for name, count in scored.most_common()) or "none"),
        ("gaps and restarts", _counts(counts)),
        ("annotations", _annotations(study)),
        ("overview", finest),
    ]
    columns = [Column("what", True), Column("value", True)]
    explained = (
        "Score: minus log10 of the share of normal beats that look at least as strange; 3 is one in a thousand. "
        "Quality: probability that a beat is a heartbeat. Expected errors: false or missed beats expected in the ten "
        "seconds up to a beat. Response: output of the filter by which beats are detected."
    )
    return section("made", "How this report was made", table(columns, rows), note(explained))


def _annotations(study: Study) -> str:
    if study.annotations is None:
        return "none"
    classes = Counter(study.annotations.beat_class)
    return f"{len(study.annotations.beat):,} beats: " + ", ".join(f"{k} {n:,}" for k, n in classes.most_common())


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in counts.items() if count > 0) or "none"


def _rate(
    rate_bpm: float | None, at_s: float | None, unknown: str = "no beat with eight intervals and good signal"
) -> tuple[str, str, str]:
    if rate_bpm is None:
        return "-", "", unknown
    return f"{rate_bpm:.0f}", "/min", "" if at_s is None else f"at {clock(at_s)}"


def _good(share: float | None) -> tuple[str, str, str]:
    return ("-", "", "too short to say") if share is None else (percent(share, 1), "", "of the time")


def _of(choose: Any, values: list[float]) -> float:
    known = [v for v in values if np.isfinite(v)]
    return float(choose(known)) if known else np.nan


def _number(value: float, decimals: int = 0) -> str:
    return f"{value:.{decimals}f}" if np.isfinite(value) else "-"
