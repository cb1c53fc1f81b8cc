"""Values as their field prints them: BLEU with one decimal, F1 and ROUGE with two in percent, perplexity with two."""

from __future__ import annotations

import re

from evalkit.report.model import Display

_ONE_DECIMAL = frozenset({"bleu", "chrf", "chrf++", "ter"})
_BITS = re.compile(r"bits_per_|nll")
_CORRELATIONS = frozenset({"mcc", "kappa"})


def display_of(metric: str, value: str, scale: float, is_share: bool) -> Display:
    """How a value of a metric is printed.

    Args:
        metric: Name of the metric, not its label.
        value: Name of the value.
        scale: What a full score is on the metric's scale: 100 where its scorer prints percent, else 1.
        is_share: Whether the metric's values lie between 0 and its scale.
    """
    if metric in _ONE_DECIMAL:
        return Display(factor=1.0, digits=1, unit="")
    if scale == 100:
        return Display(factor=1.0, digits=2, unit="%")
    if value in _CORRELATIONS:
        return Display(factor=1.0, digits=4, unit="")
    if is_share:
        return Display(factor=100.0, digits=2, unit="%")
    return Display(factor=1.0, digits=4 if _BITS.search(value) else 2, unit="")


def shown(value: float | None, display: Display, *, signed: bool = False) -> str:
    """A value as text, with an ASCII minus; empty where it is undefined.

    >>> shown(0.87654, Display(factor=100.0, digits=2, unit="%"))
    '87.65'
    """
    if value is None:
        return ""
    text = f"{value * display.factor:{'+' if signed else ''}.{display.digits}f}"
    # A rounded zero has no sign.
    return text.lstrip("+-") if not text.strip("+-0.") else text


def shown_interval(low: float | None, high: float | None, display: Display, *, signed: bool = False) -> str:
    """An interval in brackets; empty where there is none.

    >>> shown_interval(27.13, 28.96, Display(factor=1.0, digits=1, unit=""))
    '[27.1, 29.0]'
    """
    if low is None or high is None:
        return ""
    return f"[{shown(low, display, signed=signed)}, {shown(high, display, signed=signed)}]"


def shown_rank(rank: int | None, low: int | None, high: int | None) -> str:
    """A rank range such as ``1-3``; one number where the range is one, empty where there is no rank.

    >>> shown_rank(2, 1, 3)
    '1-3'
    """
    if rank is None:
        return ""
    if low is None or high is None or low == high:
        return str(rank if low is None else low)
    return f"{low}-{high}"


def shown_p(p: float | None) -> str:
    """A p-value with three decimals, ``<0.001`` below; empty where there is none."""
    if p is None:
        return ""
    return "<0.001" if p < 0.001 else f"{p:.3f}"
