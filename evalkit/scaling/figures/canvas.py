"""How figures look, and how they become bytes: SVG and PNG that are the same for the same input.

Figures are made without pyplot, so that neither a display nor state of the process matters.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec

import numpy as np

from evalkit.errors import MissingResourceError, UnknownNameError
from evalkit.scaling.arrays import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

P = ParamSpec("P")

FORMATS = ("svg", "png")
"""What a figure can become."""
INK, GREY, SHADE = "#222222", "#777777", "#eef1f5"
BLUE, ORANGE, GREEN = "#1f5fa8", "#d1701c", "#2f8a57"
"""Colours that people with any colour vision tell apart."""
MAP = "viridis"
"""Colour map of continuous quantities."""
_PNG_DPI = 150
_STYLE = {
    "font.family": ["DejaVu Sans"],
    "font.size": 9.0,
    "axes.titlesize": 10.0,
    "axes.labelsize": 9.0,
    "axes.edgecolor": "#555555",
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.color": "#d9dce1",
    "grid.linewidth": 0.5,
    "legend.fontsize": 8.0,
    "legend.frameon": False,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    # Names of elements are made from this text and not from random numbers.
    "svg.hashsalt": "evalkit",
    "svg.fonttype": "path",
    "path.simplify": True,
}


def panels(rows: int, columns: int, size: tuple[float, float] = (4.2, 3.4)) -> tuple[Figure, list[Axes]]:
    """Make a figure of panels, in the order of reading.

    Args:
        rows: Rows of panels.
        columns: Columns of panels.
        size: Width and height of one panel in inches.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(size[0] * columns, size[1] * rows), layout="constrained")
    axes = np.atleast_1d(figure.subplots(rows, columns)).ravel().tolist()
    for axis in axes:
        axis.grid(True, which="major")
    return figure, axes


def styled(draw: Callable[P, Figure]) -> Callable[P, Figure]:
    """Let a function draw in this module's style, whatever the user's own settings of matplotlib are."""

    @wraps(draw)
    def within(*arguments: P.args, **named: P.kwargs) -> Figure:
        import_matplotlib()
        with _style():
            return draw(*arguments, **named)

    return within


@contextmanager
def _style() -> Iterator[None]:
    from matplotlib import rc_context, rcdefaults, rcParams

    with rc_context():
        rcdefaults()
        rcParams.update(_STYLE)
        yield


def import_matplotlib() -> None:
    """Check that figures can be drawn.

    Raises:
        MissingResourceError: matplotlib is not installed.
    """
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise MissingResourceError("figures need matplotlib; install it with: pip install 'evalkit[plots]'") from error


def to_bytes(figure: Figure, form: str) -> bytes:
    """Draw a figure as SVG or PNG; the same figure gives the same bytes.

    Raises:
        UnknownNameError: There is no such format.
    """
    if form not in FORMATS:
        raise UnknownNameError("format of figures", form, FORMATS)
    buffer = io.BytesIO()
    # Without these the time and the version of matplotlib would be in the file.
    metadata: dict[str, Any] = {"Date": None, "Creator": None} if form == "svg" else {"Software": None}
    # A letter that the font lacks is drawn as a box; that is no reason for a line on stderr.
    with _style(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph ")
        figure.savefig(buffer, format=form, dpi=_PNG_DPI, metadata=metadata)
    return buffer.getvalue()


def log_axes(axis: Axes, x_title: str, y_title: str, *, log_y: bool = True) -> None:
    """Name the axes and make them logarithmic, with few and plain tick labels on y."""
    axis.set_xlabel(x_title)
    axis.set_ylabel(y_title)
    axis.set_xscale("log")
    if log_y:
        axis.set_yscale("log")
        plain_ticks(axis)


def plain_ticks(axis: Axes) -> None:
    """Label a logarithmic y axis that spans less than a decade or two with plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

    low, high = axis.get_ylim()
    if high / low > 30:
        return
    steps = nice_steps(low, high)
    axis.yaxis.set_major_locator(LogLocator(base=10, subs=(1.0,)))
    axis.set_yticks(steps)
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.yaxis.set_minor_locator(NullLocator())
    axis.yaxis.set_minor_formatter(NullFormatter())
    axis.set_ylim(low, high)


def plain_log(axis: Axes, which: str) -> None:
    """Make an axis that spans about a decade logarithmic, with labels at 1, 2 and 5 alone.

    Args:
        axis: The panel.
        which: ``x`` or ``y``.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    getattr(axis, f"set_{which}scale")("log")
    part = getattr(axis, f"{which}axis")
    part.set_major_locator(LogLocator(base=10, subs=(1.0, 2.0, 5.0)))
    part.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    part.set_minor_formatter(NullFormatter())


def nice_steps(low: float, high: float, most: int = 7) -> list[float]:
    """Round numbers between two ends, at most so many.

    >>> nice_steps(1.9, 5.2)
    [2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0]
    """
    span = high - low
    for exponent in range(int(np.floor(np.log10(span))) - 1, int(np.floor(np.log10(span))) + 2):
        for step in (1.0, 2.0, 2.5, 5.0):
            size = step * 10.0**exponent
            first, last = int(np.ceil(low / size - 1e-9)), int(np.floor(high / size + 1e-9))
            if 0 < last - first + 1 <= most:
                return [round(place * size, 12) for place in range(first, last + 1)]
    return [low, high]


def shade_observed(axis: Axes, low: float, high: float) -> None:
    """Shade the range of x in which there are runs."""
    axis.axvspan(low, high, color=SHADE, zorder=0, lw=0)


def split_line(
    axis: Axes, x: FloatArray, y: FloatArray, observed: tuple[float, float], *, color: str, label: str = ""
) -> None:
    """Draw a curve: solid in the observed range of x, dashed beyond it."""
    low, high = observed
    inside = (x >= low * (1 - 1e-9)) & (x <= high * (1 + 1e-9))
    if inside.any():
        axis.plot(x[inside], y[inside], color=color, lw=1.6, label=label or None)
    for part in (x <= low * (1 + 1e-9), x >= high * (1 - 1e-9)):
        if part.sum() > 1:
            axis.plot(x[part], y[part], color=color, lw=1.4, ls=(0, (4, 2.5)))


def with_knots(low: float, high: float, observed: tuple[float, float], count: int = 161) -> FloatArray:
    """Places spread evenly over a logarithmic range, the ends of the observed one among them."""
    places = np.geomspace(low, high, count)
    return np.unique(np.concatenate((places, np.clip(np.array(observed), low, high))))


def colour_scale(axis: Axes, values: FloatArray, title: str) -> Any:  # noqa: ANN401
    """Give a logarithmic colour scale with its bar; the result maps a value to a colour."""
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LogNorm

    low, high = float(values.min()), float(values.max())
    if low == high:
        low, high = low / 2, high * 2
    scale = ScalarMappable(norm=LogNorm(low, high), cmap=colormaps[MAP])
    figure = axis.get_figure()
    assert figure is not None
    bar = figure.colorbar(scale, ax=axis, pad=0.02, aspect=30)
    bar.set_label(title)
    bar.outline.set_visible(False)
    return scale


def legend(axis: Axes, extra: Sequence[Any] = (), **where: Any) -> None:  # noqa: ANN401
    """Add a legend where anything has a name."""
    handles, labels = axis.get_legend_handles_labels()
    handles += list(extra)
    labels += [handle.get_label() for handle in extra]
    if handles:
        axis.legend(handles, labels, **where)
