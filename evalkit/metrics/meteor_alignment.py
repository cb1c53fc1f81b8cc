"""The word alignment of METEOR, as nltk finds it: greedy, from the right, in three stages.

Each stage walks the words of the hypothesis that are still free from right to left and gives each the rightmost free word of
the reference that is equal to it (exact), that has the same stem (stem), or that is among its synonyms (synonym). The
synonym stage compares stems: the words it gets are already stemmed, so ``big`` and ``large`` never meet in it, because the
stem of ``large`` is ``larg``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

FREE = -1
"""In place of a position: the word has no partner."""

_Places = dict[str, list[int]]


@dataclass(frozen=True, slots=True)
class Aligner:
    """Aligns lowercased words; both tables answer for any word."""

    stems: Mapping[str, str]
    """Word to stem."""
    synonyms: Mapping[str, frozenset[str]]
    """Word to the words that share a meaning with it."""

    def align(self, hypothesis: Sequence[str], reference: Sequence[str]) -> list[int]:
        """Give each hypothesis word the position of its reference word, `FREE` where it has none."""
        partner = [FREE] * len(hypothesis)
        from_right = zip(range(len(hypothesis) - 1, -1, -1), reversed(hypothesis), strict=True)
        free, places = _take_equal(from_right, enumerate(reference), partner)
        if not free or not places:
            return partner
        stems = self.stems
        left = sorted([position for positions in places.values() for position in positions])
        free, places = _take_equal(
            [(index, stems[word]) for index, word in free],
            [(position, stems[reference[position]]) for position in left],
            partner,
        )
        if free and places:
            self._take_synonyms(free, places, partner)
        return partner

    def _take_synonyms(self, free: Sequence[tuple[int, str]], places: _Places, partner: list[int]) -> None:
        for index, word in free:
            synonyms = self.synonyms[word]
            if synonyms.isdisjoint(places):
                continue
            rightmost = max([name for name in places if name in synonyms], key=lambda name: places[name][-1])
            partner[index] = places[rightmost].pop()
            if not places[rightmost]:
                del places[rightmost]


def _take_equal(
    words: Iterable[tuple[int, str]], others: Iterable[tuple[int, str]], partner: list[int]
) -> tuple[list[tuple[int, str]], _Places]:
    """Give each word the rightmost free place of the same word.

    Args:
        words: Index and form of the hypothesis words, from right to left.
        others: Position and form of the reference words, from left to right.
        partner: Where to note the positions taken.

    Returns:
        The words that got no place, in the same order, and the places that are left.
    """
    places: _Places = {}
    for position, word in others:
        if word in places:
            places[word].append(position)
        else:
            places[word] = [position]
    free = []
    for pair in words:
        positions = places.get(pair[1])
        if positions is None:
            free.append(pair)
            continue
        partner[pair[0]] = positions.pop()
        if not positions:
            del places[pair[1]]
    return free, places


def count_matches_and_chunks(partner: Sequence[int]) -> tuple[int, int]:
    """Count the matched words, and the runs of them that are adjacent and in the same order in both texts."""
    matches = chunks = 0
    expected = FREE
    for position in partner:
        if position == FREE:
            expected = FREE
            continue
        matches += 1
        chunks += position != expected
        expected = position + 1
    return matches, chunks
