"""ROUGE-Lsum: how many tokens of a reference its sentences share with a prediction, over the union of common subsequences.

A longest common subsequence is seldom the only one, and which one is taken changes the union. The rule is rouge-score's:
from the ends of both sentences, take a match where there is one, else drop the last prediction token only if dropping the last
reference token would cost length. Here each row of the usual table is one integer, whose bit j - 1 is 0 where the
length grows from prediction prefix j - 1 to j, so a row costs a few operations on whole words (Hyyrö's recurrence).

References:
    Lin, C.-Y. (2004). ROUGE: A package for automatic evaluation of summaries. Section 3.2.
    Hyyrö, H. (2004). Bit-parallel LCS-length computation revisited.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

Sentence = Sequence[int]


def union_hits(reference: Sequence[Sentence], prediction: Sequence[Sentence]) -> int:
    """Count the tokens of the reference sentences that lie in the union, each at most as often as the prediction has it."""
    places = [(_places(sentence), len(sentence)) for sentence in prediction]
    united: Counter[int] = Counter()
    for sentence in reference:
        taken: set[int] = set()
        for token_places, length in places:
            taken.update(_common(sentence, token_places, length))
        united.update(sentence[index] for index in taken)
    available = Counter(token for sentence in prediction for token in sentence)
    return sum(min(count, available[token]) for token, count in united.items())


def _places(sentence: Sentence) -> dict[int, int]:
    """Map each token to the integer whose bits are its positions."""
    places: dict[int, int] = {}
    for index, token in enumerate(sentence):
        places[token] = places.get(token, 0) | (1 << index)
    return places


def _common(reference: Sentence, places: dict[int, int], length: int) -> list[int]:
    """Reference positions of the longest common subsequence that the back-tracking rule picks, last first."""
    matched = [(index, places[token]) for index, token in enumerate(reference) if token in places]
    everywhere = (1 << length) - 1
    row = everywhere
    rows = [row]
    for _, mask in matched:
        kept = row & mask
        row = ((row + kept) | (row - kept)) & everywhere
        rows.append(row)
    return _backtrack(matched, rows, length)


def _backtrack(matched: Sequence[tuple[int, int]], rows: Sequence[int], length: int) -> list[int]:
    left = length - rows[-1].bit_count()
    column = length
    common: list[int] = []
    for (index, mask), above in zip(reversed(matched), reversed(rows[:-1]), strict=True):
        if not left:
            break
        prefix = (1 << column) - 1
        is_match = (mask >> (column - 1)) & 1
        if not is_match and column - (above & prefix).bit_count() == left:
            continue
        column = column - 1 if is_match else (mask & prefix).bit_length() - 1
        left -= 1
        common.append(index)
    return common
