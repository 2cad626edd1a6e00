"""The look of the interactive figures: size, grid, colours, and an axis of hours, minutes and seconds."""

from typing import Any

WIDTH_PX = 716  # 190 mm, the width of the page on the screen and on paper
HALF_PX = 352  # of two figures side by side
LEFT_PX = 60  # room for the vertical axis, so that axes of time are aligned
PRIORITY_COLOURS = {"high": "#e53935", "medium": "#f5c400", "low": "#00a9b8"}
_GRID = "#e3e7ec"
_TEXT = "#44505d"
_CLOCK = """
const whole = Math.floor(tick + 1e-6), rest = tick - whole;
const two = (value) => String(value).padStart(2, "0");
const text = `${Math.floor(whole / 3600)}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}`;
return rest > 1e-3 ? text + rest.toFixed(2).slice(1).replace(/0$/, "") : text;
"""


def new_figure(
    height: int, x_label: str | None, y_label: str | None, *, tools: str = "pan,box_zoom,wheel_zoom,reset", **kw: Any
) -> Any:
    """Return an empty figure in the look of the report; further arguments are those of ``bokeh.plotting.figure``."""
    from bokeh.plotting import figure

    made = figure(width=WIDTH_PX, height=height, tools=tools, toolbar_location="right", **kw)
    made.min_border_left, made.min_border_right = LEFT_PX, 24
    made.toolbar.logo = None
    made.toolbar.autohide = True
    made.outline_line_color = None
    made.xgrid.grid_line_color = made.ygrid.grid_line_color = _GRID
    for axis, label in ((made.xaxis, x_label), (made.yaxis, y_label)):
        axis.axis_label = label
        axis.axis_label_text_font_style = "normal"
        axis.axis_label_text_color = axis.major_label_text_color = _TEXT
        axis.axis_label_text_font_size = axis.major_label_text_font_size = "11px"
        axis.axis_label_standoff = 4
        axis.axis_line_color = axis.major_tick_line_color = "#9aa5b1"
        axis.minor_tick_line_color = None
    return made


def clock_axis(figure: Any) -> None:
    """Let the horizontal axis, in seconds, show hours, minutes and seconds."""
    from bokeh.models import AdaptiveTicker, CompositeTicker, CustomJSTickFormatter

    figure.xaxis.ticker = CompositeTicker(
        tickers=[
            AdaptiveTicker(base=10, mantissas=[1, 2, 5], min_interval=0.0, max_interval=0.5),
            AdaptiveTicker(base=60, mantissas=[1, 2, 5, 10, 15, 30], min_interval=1.0, max_interval=1800.0),
            AdaptiveTicker(base=60, mantissas=[1, 2, 3, 4, 6, 12], min_interval=3600.0),
        ]
    )
    figure.xaxis.formatter = CustomJSTickFormatter(code=_CLOCK)
