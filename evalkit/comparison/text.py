"""Comparisons as text for a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from evalkit.compare import CompareOptions, Comparison, ValueComparison
from evalkit.comparison.wording import clip, interval, number, p_value, plain_json
from evalkit.table import format_table, printable


def comparisons_text(comparisons: Sequence[Comparison], options: CompareOptions) -> str:
    """Lay out every task: who is compared, a table of values, and for one pair also subsets and samples."""
    by_task: dict[str, list[Comparison]] = {}
    for comparison in comparisons:
        by_task.setdefault(comparison.task, []).append(comparison)
    return "\n\n".join("\n".join(_task(group, options)) for group in by_task.values())


def _task(group: Sequence[Comparison], options: CompareOptions) -> Iterator[str]:
    good = [comparison for comparison in group if not comparison.not_comparable]
    for comparison in group:
        pair = f"A = {comparison.first.place}, B = {comparison.second.place}"
        for found in comparison.not_comparable:
            yield printable(f"{comparison.task}: not comparable ({found.kind}): {found.detail}; {pair}")
        for found in comparison.accepted:
            yield printable(f"{comparison.task}: accepted ({found.kind}): {found.detail}; {pair}")
    if not good:
        return
    first = good[0]
    clustered = f", {first.units} independent clusters" if first.units != first.n else ""
    yield f"{first.task}: {first.n} examples{clustered}; B - A, {options.resamples} resamples, seed {options.seed}"
    if len(good) == 1:
        yield printable(f"A = {first.first.name} ({first.first.place})")
        yield printable(f"B = {first.second.name} ({first.second.place})")
    yield ""
    yield _values_table(good, options)
    yield ""
    tests = dict.fromkeys(value.test for comparison in good for value in comparison.values)
    yield "p: " + "; ".join(tests)
    if len(good) == 1:
        yield from _details(first)


def _values_table(group: Sequence[Comparison], options: CompareOptions) -> str:
    several = len(group) > 1
    header = [
        *(("A", "B") if several else ()),
        "metric",
        "A value" if several else "A",
        "B value" if several else "B",
        "B - A",
        f"{options.confidence:.0%} interval",
        "p",
        *(("p (Holm)",) if several else ()),
        "test",
    ]
    rows = []
    for comparison in group:
        for value in comparison.values:
            if several and not value.headline:
                continue
            rows.append(_row(comparison, value, several))
    right = frozenset(index for index, name in enumerate(header) if name not in ("A", "B", "metric", "test"))
    return format_table(header, rows, right if several else right | {1, 2})


def _row(comparison: Comparison, value: ValueComparison, several: bool) -> list[str]:
    name = value.value if value.value == value.metric else f"{value.metric} {value.value}"
    return [
        *((comparison.first.name, comparison.second.name) if several else ()),
        name if value.higher_is_better else f"{name} (lower is better)",
        number(value.first, value.scale),
        number(value.second, value.scale),
        number(value.difference, value.scale, signed=True),
        interval(value.low, value.high, value.scale),
        p_value(value.p),
        *((p_value(value.p_holm),) if several else ()),
        value.test.split(",")[0],
    ]


def _details(comparison: Comparison) -> Iterator[str]:
    if comparison.subsets:
        first = comparison.subsets[0]
        scale = _scale(comparison, first.metric)
        rows = [
            (
                f"{subset.by} {subset.group}",
                str(subset.n),
                number(subset.first, scale),
                number(subset.second, scale),
                number(subset.difference, scale, signed=True),
                interval(subset.low, subset.high, scale),
            )
            for subset in comparison.subsets
        ]
        yield ""
        yield f"{first.value} on subsets:"
        yield format_table(("examples", "n", "A", "B", "B - A", "interval"), rows, frozenset({1, 2, 3, 4, 5}))
    if comparison.changed:
        value = comparison.values[0]
        yield ""
        yield f"samples that changed {value.value} most (each alone):"
        for change in comparison.changed:
            yield printable(f"{change.id}: {number(change.effect, value.scale, signed=True)}")
            if change.first is not None or change.second is not None:
                yield printable(f"  A: {clip(change.first)}")
                yield printable(f"  B: {clip(change.second)}")
                yield printable(f"  references: {clip(change.references)}")


def _scale(comparison: Comparison, metric: str) -> float:
    return next(value.scale for value in comparison.values if value.metric == metric)


def comparisons_json(comparisons: Sequence[Comparison], options: CompareOptions) -> dict[str, Any]:
    """One document with everything that the text shows and more."""
    return {
        "confidence": options.confidence,
        "resamples": options.resamples,
        "seed": options.seed,
        "comparisons": [
            {
                "task": comparison.task,
                "first": {"run": comparison.first.record.id, "model": comparison.first.name},
                "second": {"run": comparison.second.record.id, "model": comparison.second.name},
                "n": comparison.n,
                "units": comparison.units,
                "not_comparable": [asdict(found) for found in comparison.not_comparable],
                "accepted": [asdict(found) for found in comparison.accepted],
                "values": [plain_json(asdict(value)) for value in comparison.values],
                "subsets": [plain_json(asdict(subset)) for subset in comparison.subsets],
                "changed": [plain_json(asdict(change)) for change in comparison.changed],
            }
            for comparison in comparisons
        ],
    }
