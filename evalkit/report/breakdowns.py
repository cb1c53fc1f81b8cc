"""What went right and wrong, in the terms of each task kind, counted for each model.

All but entity outcomes and empty answers come from the stored statistics: the text is not read for them. Where several runs
of a model are averaged, its newest one is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from evalkit.comparison.draws import FloatArray
from evalkit.report.entities import OUTCOMES
from evalkit.report.evidence import Evidence, telling
from evalkit.report.model import Breakdown, BreakdownRow, Note

Counted: TypeAlias = "dict[tuple[str, str], int] | None"
"""Counts of one model by (group, outcome), in the order in which they are shown; None where nothing can be counted."""

GROUPS = 40
"""Most types or labels that are listed; the rest is summed up."""
CONFUSIONS = 20
"""Most confusions of labels that are listed."""
SHORT, LONG = 0.8, 1.25
"""Outputs of less or more than this times the reference's length are called short or long."""
_RESPONSES = ("failed", "truncated", "empty", "missing")
_REST = "all other types"


def breakdowns(kind: str, evidence: Sequence[Evidence | None]) -> Iterator[Breakdown]:
    """Give every breakdown of a task page.

    Args:
        kind: Task kind.
        evidence: The newest shown run of each model, in the page's order; None where there is none.
    """
    make = _BY_KIND.get(kind)
    if make is not None:
        yield from make(evidence)
    yield from _responses(evidence)


def _breakdown(title: str, unit: str, counted: Sequence[Counted], notes: Sequence[str] = ()) -> Iterator[Breakdown]:
    """Lay counts out as rows; nothing where no model has any."""
    keys = list(dict.fromkeys(key for one in counted if one is not None for key in one))
    if not keys:
        return
    # Rows of a group stand together, whichever model brought it in.
    groups = {group: place for place, group in enumerate(dict.fromkeys(group for group, _ in keys))}
    keys.sort(key=lambda key: groups[key[0]])
    yield Breakdown(
        title=title,
        unit=unit,
        rows=tuple(
            BreakdownRow(
                group=group,
                outcome=outcome,
                counts=tuple(None if one is None else one.get((group, outcome), 0) for one in counted),
            )
            for group, outcome in keys
        ),
        notes=tuple(Note(kind="reading", text=text) for text in notes),
    )


def _responses(evidence: Sequence[Evidence | None]) -> Iterator[Breakdown]:
    counted: list[Counted] = []
    for one in evidence:
        if one is None:
            counted.append(None)
            continue
        record = one.run.record
        main = record.main()
        counts = {("", name): record.counts.get(name, 0) for name in _RESPONSES}
        counted.append({("", "scored"): main.n, ("", "not scored"): main.unscored, **counts})
    yield from _breakdown("Responses", "responses", counted, ["The last four may overlap."])


def _sums(one: Evidence | None, kind: str) -> tuple[dict[str, int], Mapping[str, FloatArray]] | None:
    """Total and values of each statistic that tells what went wrong."""
    if one is None or one.loaded is None:
        return None
    label = telling(one.run, kind)
    if label is None:
        return None
    statistics = one.loaded.statistics[label]
    total = statistics.total()
    if not np.isfinite(total).all():
        return None
    columns = {name: statistics.rows[:, place] for place, name in enumerate(statistics.columns)}
    return dict(zip(statistics.columns, map(int, total), strict=True)), columns


def _questions(evidence: Sequence[Evidence | None]) -> Iterator[Breakdown]:
    counted: list[Counted] = []
    for one in evidence:
        found = _sums(one, "qa")
        counted.append(None if one is None or found is None else _answers(found[1], one))
    yield from _breakdown("Answers", "questions", counted)


def _answers(columns: Mapping[str, FloatArray], one: Evidence) -> dict[tuple[str, str], int]:
    prefix = "has_answer_" if "has_answer_questions" in columns else ""
    asked = columns[f"{prefix}questions"] > 0
    exact = asked & (columns[f"{prefix}exact_match"] >= 1)
    partly = asked & ~exact & (columns[f"{prefix}f1"] > 0)
    empty = (
        one.empty if one.empty is not None and len(one.empty) == len(asked) else np.zeros(len(asked), dtype=np.bool_)
    )
    silent = asked & ~exact & ~partly & empty
    counts = {
        ("answerable", "exact"): exact,
        ("answerable", "partly right"): partly,
        ("answerable", "wrong"): asked & ~exact & ~partly & ~silent,
        ("answerable", "no answer given"): silent,
    }
    if prefix:
        unanswerable = columns["no_answer_questions"] > 0
        right = unanswerable & (columns["no_answer_exact_match"] >= 1)
        counts["unanswerable", "no answer given"] = right
        counts["unanswerable", "answered all the same"] = unanswerable & ~right
    return {key: int(marked.sum()) for key, marked in counts.items()}


def _entities(evidence: Sequence[Evidence | None]) -> Iterator[Breakdown]:
    tallies = [one.entities if one is not None else None for one in evidence]
    sizes: Counter[str] = Counter()
    for tally in tallies:
        for (name, _), count in (tally or {}).items():
            sizes[name] += count
    # Types of models that make up their own would otherwise fill the page.
    listed = {name for name, _ in sorted(sizes.items(), key=lambda item: (-item[1], item[0]))[:GROUPS]}
    counted: list[Counted] = []
    for tally in tallies:
        if tally is None:
            counted.append(None)
            continue
        own: Counter[tuple[str, str]] = Counter()
        for (name, outcome), count in tally.items():
            own[name if name in listed else _REST, outcome] += count
        groups = [*sorted(listed), *([_REST] if len(sizes) > len(listed) else [])]
        counted.append({(group, outcome): own[group, outcome] for group in groups for outcome in OUTCOMES})
    yield from _breakdown(
        "Entities",
        "entities",
        counted,
        [
            "Gold and predicted entities, read as seqeval reads tags by default, are paired one to one, the closest first."
            " Spurious entities stand at their predicted type, all others at their gold one."
        ],
    )


def _words(evidence: Sequence[Evidence | None]) -> Iterator[Breakdown]:
    counted: list[Counted] = []
    for one in evidence:
        found = _sums(one, "cws")
        counted.append(None if found is None else _vocabulary(found[0]))
    yield from _breakdown("Words", "words", counted)


def _vocabulary(total: Mapping[str, int]) -> dict[tuple[str, str], int]:
    made = {("predicted", "right"): total["correct"], ("predicted", "wrong"): total["pred"] - total["correct"]}
    if not total["iv"] + total["oov"]:
        return {("gold", "right"): total["correct"], ("gold", "missed"): total["gold"] - total["correct"], **made}
    return {
        ("in the training words", "right"): total["iv_correct"],
        ("in the training words", "missed"): total["iv"] - total["iv_correct"],
        ("not in the training words", "right"): total["oov_correct"],
        ("not in the training words", "missed"): total["oov"] - total["oov_correct"],
        **made,
    }


def _labels(evidence: Sequence[Evidence | None]) -> Iterator[Breakdown]:
    """Right and missed examples by label, and the most frequent confusions; from who is predicted and who is gold."""
    matrices = [_confusion(_sums(one, "classification")) for one in evidence]
    counted: list[Counted] = [None if matrix is None else _by_label(matrix) for matrix in matrices]
    yield from _breakdown("Labels", "examples", counted)
    total: Counter[tuple[str, str]] = Counter()
    for matrix in matrices:
        total.update({key: count for key, count in (matrix or {}).items() if key[0] != key[1]})
    listed = [key for key, count in sorted(total.items(), key=lambda item: (-item[1], item[0]))[:CONFUSIONS] if count]
    confused: list[Counted] = [
        None
        if matrix is None
        else {(gold, f"taken for {taken}"): matrix.get((gold, taken), 0) for gold, taken in listed}
        for matrix in matrices
    ]
    yield from _breakdown(
        "Most frequent confusions", "examples", confused, [f"At most {CONFUSIONS}, the most frequent over all models."]
    )


def _confusion(found: tuple[dict[str, int], Mapping[str, FloatArray]] | None) -> Counter[tuple[str, str]] | None:
    if found is None:
        return None
    names = [name[5:-1] for name in found[1] if name.startswith("gold[") and name.endswith("]")]
    gold = np.array([found[1][f"gold[{name}]"] for name in names])
    taken = np.array([found[1][f"pred[{name}]"] for name in names])
    table = (gold @ taken.T).astype(int)
    return Counter({(a, b): int(table[i, j]) for i, a in enumerate(names) for j, b in enumerate(names)})


def _by_label(matrix: Mapping[tuple[str, str], int]) -> dict[tuple[str, str], int]:
    counts: dict[tuple[str, str], int] = {}
    for gold in dict.fromkeys(gold for gold, _ in matrix):
        right = matrix[gold, gold]
        counts[gold, "right"] = right
        counts[gold, "taken for another"] = sum(n for (own, _), n in matrix.items() if own == gold) - right
    return dict(list(counts.items())[: 2 * GROUPS])


def _lengths(evidence: Sequence[Evidence | None]) -> Iterator[Breakdown]:
    counted: list[Counted] = []
    for one in evidence:
        found = _sums(one, "mt")
        counted.append(None if found is None else _by_length(found[1]))
    yield from _breakdown(
        "Length of the output beside the reference's",
        "segments",
        counted,
        ["In tokens of BLEU; with several references, the one that is nearest in length."],
    )


def _by_length(columns: Mapping[str, FloatArray]) -> dict[tuple[str, str], int]:
    output, reference = columns["sys_len"], columns["ref_len"]
    empty = output == 0
    short = ~empty & (output < SHORT * reference)
    long = output > LONG * reference
    return {
        ("", "empty"): int(empty.sum()),
        ("", f"under {SHORT:.0%}"): int(short.sum()),
        ("", f"{SHORT:.0%} to {LONG:.0%}"): int((~empty & ~short & ~long).sum()),
        ("", f"over {LONG:.0%}"): int((long & ~empty).sum()),
    }


_BY_KIND: Mapping[str, Callable[[Sequence[Evidence | None]], Iterator[Breakdown]]] = {
    "qa": _questions,
    "ner": _entities,
    "cws": _words,
    "classification": _labels,
    "mt": _lengths,
}
