"""The document: the sections of a report in the order in which a cardiologist reads them, as one HTML page.

In:  Study
Out: HTML with the library of the figures, the samples and the script of the overview inlined
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from beatwire.errors import escape
from beatwire.offline.results.hum import hum_summary
from beatwire.offline.results.quality import quality_table
from beatwire.offline.results.summary import quality_summary
from beatwire.report import sections
from beatwire.report.events import Kind, kinds_of
from beatwire.report.figures import axes as figures
from beatwire.report.figures import overview, plane
from beatwire.report.figures.hours import hours_of
from beatwire.report.figures.paper import Scale, grid_definition, scale_of
from beatwire.report.figures.strips import MOST_LEADS, Strips
from beatwire.report.html import Html, note, page, section
from beatwire.report.html import legend as html_legend
from beatwire.report.study import Study
from beatwire.report.unusual import unusual_beats

SECTIONS = {
    "alerts": "Alerts", "strips": "Strips", "hours": "By the hour", "rate": "Rate", "intervals": "Intervals",
    "overlay": "Beats", "unusual": "Unusual", "plane": "Latent plane", "quality": "Quality",
    "overview": "Whole recording", "made": "How it was made",
}  # fmt: skip


def report_html(study: Study, progress: Callable[[float], None] = lambda _: None) -> str:
    """Return the report as HTML."""
    with ThreadPoolExecutor(1) as pool:  # zlib works beside the interpreter
        packing = pool.submit(overview.signal_of, study.recording.samples)
        scale, kinds, hours = scale_of(study), kinds_of(study), hours_of(study)
        hum = hum_summary(study.recording)
        strips = _strips(study, scale, kinds, with_hum=bool(hum))
        progress(0.2)
        quality = quality_table(study.recording, study.beats)
        plots, shares = _plots(study, quality), quality_summary(quality)
        progress(0.5)
        head, script, divs = _embedded(plots)
        progress(0.8)
        signal = packing.result()

    def plot(*names: str) -> str:
        drawn = "".join(f'<div class="plot">{divs[name]}</div>' for name in names if name in divs)
        return drawn or "<p>There are too few beats for this figure.</p>"

    seconds = signal.factor / study.recording.rate_hz
    finest = "every sample" if signal.factor == 1 else f"minimum and maximum of every {1000 * seconds:.0f} ms"
    body = [
        grid_definition(),
        sections.summary(study, hours, shares, hum),
        _navigation(),
        sections.alerts(study, kinds),
        strips,
        sections.hourly(study, hours, shares),
        section("rate", "Rate", _rate_note(study), plot("rate"), legend(study), plot("tachogram")),
        section("intervals", "Intervals", legend(study), _row(plot("histogram", "poincare")), _intervals_note()),
        section("overlay", "Beats over one another", _overlay_note(study), _row(plot(*_overlays(plots)))),
        unusual_beats(study, scale),
        section("plane", "Latent plane", _plane_note(study), legend(study), plot("plane")),
        section("quality", "Signal quality over time", _quality_note(), plot("quality"), sections.hum_table(hum)),
        section("overview", "The whole recording", _overview_note(finest), plot(*_overview_names(plots))),
        sections.how_made(study, finest),
        overview.holder(signal, study),
        script,
        f"<script>{overview.SCRIPT.read_text(encoding='utf-8')}</script>",
    ]
    return page(f"{study.recording.name} - ECG report", "".join(body), head)


def _plots(study: Study, quality: dict[str, Any]) -> dict[str, Any]:
    """Return the interactive figures by name, those that have content."""
    rate = figures.rate_figure(study)
    made = {
        "rate": rate,
        "tachogram": figures.tachogram_figure(study, None if rate is None else rate.x_range),
        "histogram": figures.histogram_figure(study),
        "poincare": figures.poincare_figure(study),
        **{f"overlay{k}": figures.overlay_figure(study, group) for k, group in enumerate(study.groups)},
        "plane": plane.plane_figure(study, with_decoded=study.model.name == study.analysis.model),
        "quality": figures.quality_figure(study, quality),
        **overview.figures_of(study),
    }
    return {name: figure for name, figure in made.items() if figure is not None}


def _embedded(plots: dict[str, Any]) -> tuple[str, str, dict[str, str]]:
    """Return the library for the head of the page, the script of the figures, and the element of each figure."""
    from bokeh.embed import components
    from bokeh.resources import Resources

    library = Resources(mode="inline", components=["bokeh"]).render()
    script, divs = components(plots)
    return library, script, divs


def _strips(study: Study, scale: Scale, kinds: list[Kind], *, with_hum: bool) -> str:
    """Return the section of strips, by kind of event."""
    events = [event for kind in kinds for event in kind.events]
    drawn = iter(enumerate(Strips(study, scale).draw(events)))
    parts = [note(
        f"{scale.caption}{_leads_shown(study)}{'; with mains hum, as recorded' if with_hum else ''}. A triangle marks "
        "a beat; between beats stands the interval in ms, above a beat that is not N its class"
        + (", and above that, in italics, the annotated class." if study.annotated else ".")
        + " Below: the response of the detection filter, to its own scale."
    )]  # fmt: skip
    for kind in kinds:
        left_out = kind.total - len(kind.events)
        parts.append(f"<h3>{escape(kind.name)}</h3>")
        if left_out:
            verb = "is" if left_out == 1 else "are"
            parts.append(note(f"The first {len(kind.events)} of {kind.total:,} strips; {left_out:,} {verb} left out."))
        for event in kind.events:
            number, drawing = next(drawn)
            parts.append(
                f'<figure id="strip-{number}"><figcaption>{number + 1}. {escape(event.title)}</figcaption>'
                f"{drawing}</figure>"
            )
    return section("strips", "Strips", *parts)


def _leads_shown(study: Study) -> str:
    """Return how many of the leads strips show, if these are not all."""
    leads = len(study.recording.leads)
    return f"; the first {MOST_LEADS} of {leads} leads" if leads > MOST_LEADS else ""


def _navigation() -> str:
    links = " ".join(f'<a href="#{name}">{escape(title)}</a>' for name, title in SECTIONS.items())
    return f"<nav>{links}</nav>"


def legend(study: Study) -> str:
    """Return the colours of the classes of beats."""
    return html_legend((group.colour, group.label) for group in study.groups)


def _rate_note(study: Study) -> str:
    return note(f"Line: median of each {figures.rate_bin_s(study):g} s. Band: the middle 90 % of the intervals.")


def _row(plots: str) -> str:
    """Return figures side by side."""
    return f'<div class="row">{plots}</div>' if plots else ""


def _overlays(plots: dict[str, Any]) -> list[str]:
    return [name for name in plots if name.startswith("overlay")]


def _intervals_note() -> str:
    return note(
        "The last bar of the histogram holds all longer intervals; pairs with a longer interval are left out of the "
        "Poincaré plot. The dotted line is that of equal intervals."
    )


def _overview_names(plots: dict[str, Any]) -> list[str]:
    return [name for name in plots if name.startswith("overview")] + ["timeline"]


def _overlay_note(study: Study) -> str:
    return note(
        f"Lead {study.recording.leads[study.lead]}, aligned at R, without its median. Beats are in the colour of their "
        "class; the black line is their median."
    )


def _plane_note(study: Study) -> str:
    if study.model.name == study.analysis.model:
        return note(
            "Each point is a beat at the place that the scoring model gives it: beats that are close look alike. "
            "Lines: the beat that the model decodes from the middle of each cell, 0.52 s long, each to its own scale."
        )
    return note("Each point is a beat at the place that the scoring model gives it: beats that are close look alike.")


def _quality_note() -> str:
    return html_legend(figures.QUALITY_COLOURS)


def _overview_note(finest: str) -> str:
    return note(
        Html(
            '<span class="screen">Turn the wheel over the figure to zoom, drag to move, and reset at its right. '
            '<span id="overview-scale"></span> </span>' + escape(f"Finest resolution in this file: {finest}.")
        )
    )
