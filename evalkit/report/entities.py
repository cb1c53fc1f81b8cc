"""What became of every entity: right, wrong type, wrong boundaries, both, missed, or made up.

Entities are those of seqeval's default reading of the tags. Gold and predicted entities are paired one to one, the closest
pairs first: same boundaries, then overlap of one type, then any overlap.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from evalkit.metrics import chunking

CORRECT, TYPE, BOUNDARY, BOTH, MISSED, SPURIOUS = (
    "correct",
    "type error",
    "boundary error",
    "boundary and type error",
    "missed",
    "spurious",
)
OUTCOMES = (CORRECT, TYPE, BOUNDARY, BOTH, MISSED, SPURIOUS)
"""All but the last are of gold entities and add up to their number; the last is of predicted ones."""

Span: TypeAlias = tuple[int, int, int]
"""Start, end behind the last token, and code of the type."""
Tally: TypeAlias = "Counter[tuple[str, str]]"
"""Counts of (type, outcome)."""

_START, _ENDS = b',"prediction":', (b',"inputs":', b',"truncated":')


def tally_entities(lines: Sequence[bytes]) -> Tally | None:
    """Count the outcomes of all entities of a run; None where samples are no tag sequences.

    Args:
        lines: Lines of samples.jsonl.
    """
    try:
        rows = [row for row in _rows(lines) if row["prediction"] is not None]
        return tally([row["references"][0] for row in rows], [row["prediction"] for row in rows])
    except (ValueError, KeyError, IndexError, TypeError):
        return None


def _rows(lines: Sequence[bytes]) -> list[dict[str, Any]]:
    """Predictions and references; of lines in the usual layout nothing else is parsed."""
    try:
        parts = b"},{".join(map(_part, lines))
        rows: list[dict[str, Any]] = json.loads(b"[{" + parts + b"}]") if lines else []
        if len(rows) == len(lines):
            return rows
    except ValueError:
        pass
    return [json.loads(line) for line in lines]


def _part(line: bytes) -> bytes:
    start = line.index(_START) + 1
    end = line.find(_ENDS[0], start)
    return line[start : end if end >= 0 else line.rindex(_ENDS[1])]


def tally(golds: Sequence[Sequence[str]], predictions: Sequence[Sequence[str]]) -> Tally:
    """Count the outcomes of all entities.

    Args:
        golds: Tags of each sentence.
        predictions: As many tags for each.

    Returns:
        Counts by type and outcome; the type is the gold one, of made-up entities the predicted one.

    Raises:
        InvalidInputError: A tag is empty.
        ValueError: Numbers of tags differ.
    """
    if [*map(len, golds)] != [*map(len, predictions)]:
        raise ValueError("numbers of tags differ")
    counts: Tally = Counter()
    if not golds:
        return counts
    pair = chunking.encode(golds, predictions)
    parsed = chunking.parse_all(pair.tags, chunking.ALPHABET, chunking.parse_default(suffix=False))
    gold, predicted = (chunking.default_chunks(codes, parsed) for codes in (pair.gold, pair.pred))
    keys = [(one.ends * (len(pair.gold) + 1) + one.starts) * len(parsed.names) + one.types for one in (gold, predicted)]
    right = np.isin(keys[0], keys[1])
    for code, count in enumerate(np.bincount(gold.types[right], minlength=len(parsed.names)).tolist()):
        if count:
            counts[parsed.names[code], CORRECT] = count
    left, made = _spans(gold, ~right), _spans(predicted, ~np.isin(keys[1], keys[0]))
    for span, outcome in _outcomes(left, made):
        counts[parsed.names[span[2]], outcome] += 1
    return counts


def _spans(chunks: chunking.Chunks, chosen: npt.NDArray[np.bool_]) -> list[Span]:
    parts = (part[chosen].tolist() for part in (chunks.starts, chunks.ends, chunks.types))
    return list(zip(*parts, strict=True))


def _outcomes(gold: Sequence[Span], predicted: Sequence[Span]) -> Iterator[tuple[Span, str]]:
    """Pair what is left once the right ones are gone; both sides are in order, and neither overlaps with itself."""
    free = dict.fromkeys(predicted)
    starts = [span[0] for span in predicted]
    open_gold = dict.fromkeys(gold)
    for outcome in (TYPE, BOUNDARY, BOTH):
        for span in list(open_gold):
            match = next(
                (other for other in _near(span, predicted, starts) if other in free and _is(outcome, span, other)), None
            )
            if match is not None:
                del free[match], open_gold[span]
                yield span, outcome
    yield from ((span, MISSED) for span in open_gold)
    yield from ((span, SPURIOUS) for span in free)


def _is(outcome: str, gold: Span, predicted: Span) -> bool:
    if outcome == TYPE:
        return gold[:2] == predicted[:2]
    return outcome == BOTH or gold[2] == predicted[2]


def _near(span: Span, predicted: Sequence[Span], starts: Sequence[int]) -> Iterator[Span]:
    """The predicted spans that overlap with a span."""
    place = max(0, bisect_right(starts, span[0]) - 1)
    while place < len(predicted) and predicted[place][0] < span[1]:
        if predicted[place][1] > span[0]:
            yield predicted[place]
        place += 1
