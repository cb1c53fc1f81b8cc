"""Where a difference comes from: subsets by length, and the samples whose outputs moved the score most."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from evalkit.comparison.pairing import Sides
from evalkit.comparison.significance import Measure, bootstrap

RESAMPLES = 500
"""Resamples of the intervals of subsets."""
GROUPS = 4
"""Length groups, about equally large."""
_PLAIN = re.compile(rb',"prediction":"([^"\\]*)","references":\["([^"\\]*)"')
"""Two JSON strings without escapes; the quotes before and after them cannot stand inside a string."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subset:
    """The main value on some of the examples."""

    by: str
    """What the examples are grouped by."""
    group: str
    """Which group, e.g. ``12-20 characters``."""
    n: int
    metric: str
    value: str
    first: float | None
    second: float | None
    difference: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One example, and what its new output alone does to the main value."""

    id: str
    effect: float
    """Change of the first system's value if only this example's output is the second's."""
    first: Any
    """Prediction of the first system; None where no text is stored."""
    second: Any
    references: Any


def subsets(sides: Sides, label: str, measure: Measure, confidence: float, seed: int) -> Iterator[Subset]:
    """Give the main value by length and, of classification, by label; nothing where a baseline holds no text."""
    _, tables = sides.tables(label)
    for by, groups in _groupings(sides):
        for group, members in groups:
            chosen = Sides(sides.first, sides.second, tuple(place[members] for place in sides.places))
            pair = chosen.pairs([measure], [table[members] for table in tables])[0]
            first, second = pair.values()
            [spread] = bootstrap([pair], RESAMPLES, seed)
            bounds = (spread.lower((1 - confidence) / 2), spread.upper((1 - confidence) / 2)) if spread else None
            if bounds and measure.sign < 0:
                bounds = (-bounds[1], -bounds[0])
            yield Subset(
                by=by,
                group=group,
                n=len(members),
                metric=label,
                value=measure.value,
                first=_defined(first),
                second=_defined(second),
                difference=_defined(second - first),
                low=bounds[0] if bounds else None,
                high=bounds[1] if bounds else None,
            )


def _defined(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _groupings(sides: Sides) -> Iterator[tuple[str, Iterator[tuple[str, npt.NDArray[np.int64]]]]]:
    first = sides.first[0]
    if first.lines is None:
        return
    lines = [first.lines[place] for place in sides.places[0].tolist()]
    if first.record.task["kind"] == "classification":
        yield "label", label_groups(lines)
        return
    lengths = text_lengths(lines)
    yield "reference length", length_groups(lengths[:, 1])
    yield "length of the first system's output", length_groups(lengths[:, 0])


def label_groups(lines: Sequence[bytes]) -> Iterator[tuple[str, npt.NDArray[np.int64]]]:
    """Group samples by their first reference, in the order of the labels; yields each label with the places that have it."""
    members: dict[str, list[int]] = {}
    for place, line in enumerate(lines):
        members.setdefault(str(json.loads(line)["references"][0]), []).append(place)
    for label in sorted(members):
        yield label, np.array(members[label], dtype=np.int64)


def text_lengths(lines: Sequence[bytes]) -> npt.NDArray[np.int64]:
    """Lengths of prediction and first reference of samples, shape (n, 2)."""
    return np.array(list(map(_text_lengths, lines)), dtype=np.int64).reshape(len(lines), 2)


def _text_lengths(line: bytes) -> tuple[int, int]:
    """Lengths of the prediction and of the first reference of a sample; plain texts without parsing the line."""
    plain = _PLAIN.search(line)
    if plain is not None:
        return len(plain[1].decode("utf-8")), len(plain[2].decode("utf-8"))
    sample = json.loads(line)
    return _length(sample.get("prediction")), _length(sample.get("references"))


def _length(value: object) -> int:
    """Characters of a text, entries of a sequence of tags, of the first reference where there are several."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return _length(value.get("text", ""))
    if isinstance(value, list) and value and isinstance(value[0], str | list | dict):
        is_tags = all(isinstance(item, str) and len(item) <= 20 for item in value) and len(value) > 1
        return len(value) if is_tags else _length(value[0])
    return 0


def length_groups(lengths: npt.NDArray[np.int64]) -> Iterator[tuple[str, npt.NDArray[np.int64]]]:
    """Cut lengths at their quartiles; fewer groups where many lengths are equal, none where all are."""
    ordered = np.sort(lengths)
    edges = sorted({int(ordered[(len(ordered) - 1) * part // GROUPS]) for part in range(1, GROUPS)})
    codes = np.searchsorted(edges, lengths, side="left")
    groups = [members for code in range(len(edges) + 1) if len(members := np.flatnonzero(codes == code))]
    for members in groups if len(groups) > 1 else []:
        low, high = int(lengths[members].min()), int(lengths[members].max())
        yield (f"{low}" if low == high else f"{low}-{high}"), members


def changed_samples(sides: Sides, label: str, measure: Measure, count: int) -> Iterator[Change]:
    """Find the samples whose outputs move the main value most, the largest effect first."""
    _, (first, second) = sides.tables(label)
    gain = second - first
    total = first.sum(axis=0)
    with np.errstate(all="ignore"):
        effects = np.nan_to_num(measure.score(total + gain) - measure.score(total), posinf=0.0, neginf=0.0)
    # Rounding keeps equal effects equal, so that ties stay in the order of ids.
    sizes = np.round(np.abs(effects), 12)
    order = np.argsort(-sizes, kind="stable")[: min(count, int(np.count_nonzero(sizes)))]
    before = sides.first[0].samples(sides.places[0][order].tolist())
    after = sides.second[0].samples(sides.places[1][order].tolist())
    for index, old, new in zip(order.tolist(), before, after, strict=True):
        yield Change(
            id=sides.first[0].ids[sides.places[0][index]],
            effect=float(effects[index]),
            first=old.get("prediction"),
            second=new.get("prediction"),
            references=old.get("references"),
        )
