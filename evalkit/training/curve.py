"""The losses of a training as a picture: an SVG that any browser opens, drawn without a plotting library."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape

_WIDTH, _HEIGHT = 720, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 40, 48
_TRAINING, _HELD_OUT, _INK, _GRID = "#9aa5b1", "#0b6e4f", "#222", "#e4e7eb"

Point = tuple[float, float]


def draw_curve(title: str, entries: Iterable[Mapping[str, Any]]) -> str:
    """Draw the training loss, its smoothed course, and the held-out loss where that was measured.

    Args:
        title: What was trained.
        entries: Lines of `metrics.jsonl`.

    Returns:
        The text of an SVG file.
    """
    rows = list(entries)
    training = [(float(row["step"]), float(row["loss_nats"])) for row in rows if "loss_nats" in row]
    held_out = [
        (float(row["step"]), float(row["evaluation"]["loss"])) for row in rows if "loss" in row.get("evaluation", {})
    ]
    points = training + held_out
    if not points:
        return _page([_text(_WIDTH / 2, _HEIGHT / 2, "no step was taken", "middle")], title)
    frame = _Frame(max(x for x, _ in points), min(y for _, y in points), max(y for _, y in points))
    parts = [
        *frame.axes(),
        _line(frame, training, _TRAINING, 1.0, 0.5),
        _line(frame, _smoothed(training), _TRAINING, 2.0, 1.0),
        _line(frame, held_out, _HELD_OUT, 2.0, 1.0),
        *(f'<circle cx="{frame.x(x):.1f}" cy="{frame.y(y):.1f}" r="3" fill="{_HELD_OUT}"/>' for x, y in held_out),
        _text(_WIDTH - _RIGHT, 24, "training" + (" · held out" if held_out else ""), "end"),
    ]
    return _page(parts, title)


class _Frame:
    """From steps and losses to places on the page."""

    def __init__(self, steps: float, lowest: float, highest: float) -> None:
        self._steps = max(steps, 1.0)
        self._ticks = _round_ticks(lowest, highest)
        self._low, self._high = min(lowest, self._ticks[0]), max(highest, self._ticks[-1])

    def x(self, step: float) -> float:
        """The horizontal place of a step."""
        return _LEFT + step / self._steps * (_WIDTH - _LEFT - _RIGHT)

    def y(self, loss: float) -> float:
        """The vertical place of a loss."""
        share = (loss - self._low) / max(self._high - self._low, 1e-12)
        return _HEIGHT - _BOTTOM - share * (_HEIGHT - _TOP - _BOTTOM)

    def axes(self) -> list[str]:
        """Lines and numbers of both axes."""
        parts = []
        for tick in self._ticks:
            parts.append(
                f'<path d="M{_LEFT} {self.y(tick):.1f}H{_WIDTH - _RIGHT}" stroke="{_GRID}" stroke-width="1" fill="none"/>'
            )
            parts.append(_text(_LEFT - 8, self.y(tick) + 4, f"{tick:g}", "end"))
        for tick in _round_ticks(0.0, self._steps):
            if tick <= self._steps:
                parts.append(_text(self.x(tick), _HEIGHT - _BOTTOM + 20, f"{tick:g}", "middle"))
        parts.append(_text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 8, "step", "middle"))
        parts.append(_text(_LEFT - 8, _TOP - 12, "nats", "end"))
        return parts


def _round_ticks(low: float, high: float) -> list[float]:
    """Choose about five round numbers from at most `low` to at least `high`."""
    raw = max(high - low, abs(high) * 1e-3, 1e-9) / 4
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw)
    first = math.floor(low / step)
    return [round(number * step, 12) for number in range(first, math.ceil(high / step) + 1)] or [first * step]


def _smoothed(points: Sequence[Point]) -> list[Point]:
    """An exponential mean over about a fiftieth of the points, begun with the first."""
    weight = min(1.0, 50 / max(1, len(points)))
    smooth: list[Point] = []
    for x, y in points:
        last = smooth[-1][1] if smooth else y
        smooth.append((x, last + weight * (y - last)))
    return smooth


def _line(frame: _Frame, points: Sequence[Point], colour: str, width: float, opacity: float) -> str:
    if not points:
        return ""
    path = "L".join(f"{frame.x(x):.1f} {frame.y(y):.1f}" for x, y in points)
    return f'<path d="M{path}" stroke="{colour}" stroke-width="{width}" stroke-opacity="{opacity}" fill="none"/>'


def _text(x: float, y: float, content: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{_INK}">{escape(content)}</text>'


def _page(parts: Sequence[str], title: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}"'
        ' font-family="sans-serif" font-size="12">'
        f'<title>{escape(title)}</title><rect width="100%" height="100%" fill="#fff"/>'
        f"{_text(_LEFT, 24, title, 'start')}{''.join(parts)}</svg>\n"
    )
