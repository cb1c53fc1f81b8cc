"""Learning curves and scaling fits as SVG, drawn by matplotlib in the colours and type of the page.

The page can be light or dark, so that a figure names colours and leaves them to the style sheet: matplotlib draws in
stand-in colours, which are then replaced by the page's variables.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evalkit.errors import MissingResourceError
from evalkit.report.html.overview import compact
from evalkit.report.html.visible import visible
from evalkit.report.model import Column, Curve, Report, Scaling

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_INK, _QUIET, _LINE = "#010101", "#020202", "#030303"
_SERIES = ("#110101", "#110202", "#110303", "#110404", "#110505", "#110606")
_COLOURS = {
    _INK: "var(--ink)",
    _QUIET: "var(--quiet)",
    _LINE: "var(--line)",
    **{stand_in: f"var(--series-{place})" for place, stand_in in enumerate(_SERIES, start=1)},
}
_DASHES = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (5, 1.5, 1, 1.5)))
_MARKERS = "osD^vP"

_PROLOGUE = re.compile(r"^.*?(?=<svg)", re.DOTALL)
_METADATA = re.compile(r"\s*<metadata>.*?</metadata>", re.DOTALL)
_STYLE = re.compile(r"\s*<defs>\s*<style[^>]*>.*?</style>\s*</defs>", re.DOTALL)
_NUMBERED_ID = re.compile(r'<g id="[A-Za-z2.]+_\d+"')
"""Ids of groups, which would occur in every figure; those of clips and markers have no number behind a line and stay."""

_SETTINGS: dict[str, Any] = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "axes.unicode_minus": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": _QUIET,
    "axes.labelcolor": _INK,
    "axes.grid": True,
    "grid.color": _LINE,
    "grid.linewidth": 0.7,
    "xtick.color": _QUIET,
    "ytick.color": _QUIET,
    "text.color": _INK,
    "font.family": ["DejaVu Sans"],
    "font.size": 10,
    "legend.frameon": False,
}


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of the page."""

    key: str
    """``curve-<column>`` or ``scaling-<place>``."""
    svg: str


def figures(report: Report) -> list[Figure]:
    """Draw all figures of a report.

    Raises:
        MissingResourceError: There is something to draw, and matplotlib is not installed.
    """
    if not report.curves and not report.scaling:
        return []
    try:
        from matplotlib import rc_context, rcdefaults, rcParams
    except ImportError as error:
        raise MissingResourceError(
            "the curves of this report need matplotlib: pip install 'evalkit[plots]', or write .md, .csv, .tex or .json"
        ) from error
    with rc_context():
        # A user's own style would change the bytes.
        rcdefaults()
        rcParams.update(_SETTINGS)
        return list(_drawn(report))


def _drawn(report: Report) -> Iterator[Figure]:
    for column in report.columns:
        lines = [curve for curve in report.curves if curve.column == column.key]
        if lines:
            yield _draw(f"curve-{column.key}", f"{column.value} over training", _curves, column, lines)
    for place, scaling in enumerate(report.scaling):
        yield _draw(f"scaling-{place}", scaling.title, _scaling, scaling)


def _draw(key: str, title: str, plot: Any, *what: Any) -> Figure:  # noqa: ANN401
    import matplotlib
    from matplotlib.figure import Figure as Canvas

    with matplotlib.rc_context({"svg.hashsalt": key}):
        canvas = Canvas(figsize=(7.2, 4.0), layout="constrained")
        plot(canvas.add_subplot(), *what)
        file = io.BytesIO()
        with warnings.catch_warnings():
            # The browser sets the text, in whatever script; matplotlib only measures it.
            warnings.filterwarnings("ignore", message="Glyph .* missing from")
            canvas.savefig(file, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    return Figure(key, _of_the_page(file.getvalue().decode("utf-8"), title))


def _curves(axes: Axes, column: Column, curves: Sequence[Curve]) -> None:
    factor = column.display.factor
    for place, curve in enumerate(curves):
        style = _style(place)
        x = _places(curve)
        y = [point.value * factor for point in curve.points]
        axes.plot(x, y, label=visible(curve.training), **style)
        ends = [(point.low, point.high) for point in curve.points]
        if all(low is not None and high is not None for low, high in ends):
            low, high = ([(end or 0.0) * factor for end in side] for side in zip(*ends, strict=True))
            axes.fill_between(x, low, high, color=style["color"], alpha=0.15, linewidth=0)
    if len({curve.by for curve in curves}) == 1 and all(_spans_decades(curve) for curve in curves):
        axes.set_xscale("log")
    _label_large(axes)
    axes.set_xlabel(" / ".join(dict.fromkeys(curve.by.replace("_", " ") for curve in curves)))
    axes.set_ylabel(f"{visible(column.value)}{' ' + column.display.unit if column.display.unit else ''}")
    axes.legend(loc="best")


def _places(curve: Curve) -> list[int]:
    """How far training had come at each point."""
    return [(point.tokens_seen if curve.by == "tokens_seen" else point.steps) or 0 for point in curve.points]


def _spans_decades(curve: Curve) -> bool:
    """Whether points lie so far apart that a linear axis would crowd the early ones."""
    x = _places(curve)
    return x[0] > 0 and x[-1] / x[0] >= 30


def _scaling(axes: Axes, scaling: Scaling) -> None:
    for place, line in enumerate(scaling.lines):
        style = _style(place)
        axes.plot(line.x, line.y, label=visible(line.name), color=style["color"], linestyle=style["linestyle"])
        if line.low:
            axes.fill_between(line.x, line.low, line.high, color=style["color"], alpha=0.15, linewidth=0)
    if scaling.points:
        axes.scatter([p.x for p in scaling.points], [p.y for p in scaling.points], color=_INK, s=18, zorder=3)
    for point in scaling.points[:40]:
        if point.name:
            axes.annotate(
                visible(point.name),
                (point.x, point.y),
                xytext=(4, 4),
                textcoords="offset points",
                fontsize=8,
                color=_QUIET,
            )
    ends = [x for line in scaling.lines for x in line.x] + [point.x for point in scaling.points]
    if ends and min(ends) > 0:
        axes.set_xscale("log")
    _label_large(axes)
    axes.set_xlabel(visible(scaling.x_title))
    axes.set_ylabel(visible(scaling.y_title))
    if any(line.name for line in scaling.lines):
        axes.legend(loc="best")


def _label_large(axes: Axes) -> None:
    """Write 10M and 1B below the axis, not powers that need mathematical type."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: compact(x)))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _style(place: int) -> dict[str, Any]:
    """Lines differ in colour, marker and, beyond six, in dashes."""
    return {
        "color": _SERIES[place % len(_SERIES)],
        "marker": _MARKERS[place % len(_MARKERS)],
        "markersize": 4,
        "linestyle": _DASHES[place // len(_SERIES) % len(_DASHES)],
    }


def _of_the_page(svg: str, title: str) -> str:
    """Take off what matplotlib adds for a file of its own, and name the page's colours."""
    from markupsafe import escape

    svg = _STYLE.sub("", _METADATA.sub("", _PROLOGUE.sub("", svg)))
    svg = _NUMBERED_ID.sub("<g", svg)
    svg = re.sub(r"font: ([\d.]+)px 'DejaVu Sans'", r"font: \1px var(--sans), var(--han), sans-serif", svg)
    for stand_in, name in _COLOURS.items():
        svg = svg.replace(stand_in, name)
    label = escape(visible(title))
    return svg.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)
