"""Edits of translation edit rate: word edits plus moves of phrases, with the limits and choices of Tercom.

A word is one character here, so that an edit distance is one call of rapidfuzz and a moved phrase a few slices. Three facts
spare most of the work without changing a result. No order of a hypothesis' words is nearer to the reference than the counts
of its words allow, so one that is that near needs no search. Moving a block past another changes the distance by at most
twice the words of the smaller one, so most moves need not be tried. And the alignment that a round of moves starts from is
read off a bit-parallel table of distances, one integer a row.

sacrebleu fills its table only near the diagonal. That gives another distance only where every best alignment strays far
from there, and then `_beam_search` fills the same cells.

References:
    Snover et al. (2006), "A study of translation edit rate with targeted human annotation".
    Hyyrö (2003), "A bit-vector algorithm for computing Levenshtein and Damerau edit distances".
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice
from math import ceil, floor
from typing import TypeAlias

from rapidfuzz.distance import Levenshtein

_MOST_CANDIDATES = 1000
_LONGEST_MOVE = 10
_FARTHEST_MOVE = 50
_BEAM = 25
_SURELY_WITHIN_BEAM = 46
_UNREACHED = 10**16
_FIRST_SURROGATE, _SURROGATES = 0xD800, 0x800

_Move: TypeAlias = tuple[int, int, int]
"""Length of the phrase, where it starts, and the word before which it is put."""


def fewest_edits(hypothesis: Sequence[str], references: Sequence[Sequence[str]]) -> int:
    """Count the edits that turn a hypothesis into the reference that needs the fewest.

    Args:
        hypothesis: Its words.
        references: The words of each reference; at least one.
    """
    codes = _Codes()
    spelled = codes.spell(hypothesis)
    targets = {codes.spell(reference) for reference in references}
    fewest = _UNREACHED
    for bound, target in sorted((_least_distance(spelled, target), target) for target in targets):
        if bound >= fewest:
            break
        fewest = min(fewest, _Search(target, bound).edits(spelled))
    return fewest


class _Codes(dict[str, str]):
    """Word to character, in the order of first use."""

    def __missing__(self, word: str) -> str:
        code = len(self)
        self[word] = chr(code if code < _FIRST_SURROGATE else code + _SURROGATES)
        return self[word]

    def spell(self, words: Sequence[str]) -> str:
        """Write each word as one character."""
        return "".join(map(self.__getitem__, words))


def _least_distance(hypothesis: str, reference: str) -> int:
    """Bound the distance of any order of the hypothesis' words to the reference from below."""
    left = Counter(reference)
    left.subtract(hypothesis)
    missing = sum(count for count in left.values() if count > 0)
    return max(len(hypothesis), len(reference)) - (len(reference) - missing)


class _Search:
    """The greedy search for moves that bring a hypothesis nearer to one reference.

    Args:
        reference: The reference.
        bound: What no order of the hypothesis' words can undercut.
    """

    def __init__(self, reference: str, bound: int) -> None:
        self._reference = reference
        self._bound = bound
        self._places: dict[str, list[int]] = {}
        for place, word in enumerate(reference):
            self._places.setdefault(word, []).append(place)

    @cached_property
    def _masks(self) -> dict[str, int]:
        """Word to the places where the reference has it, one bit a place."""
        return {word: sum(1 << place for place in places) for word, places in self._places.items()}

    def edits(self, words: str) -> int:
        """Count the moves and the word edits that remain."""
        moves, checked = 0, 0
        distance = self._distance(words)
        while distance > self._bound:
            candidates = list(islice(self._candidates(words), _MOST_CANDIDATES - checked))
            checked += len(candidates)
            if checked >= _MOST_CANDIDATES:
                break
            nearer = self._nearest(words, distance, candidates)
            if nearer is None:
                break
            words = nearer
            moves += 1
            distance = self._distance(words)
        return moves + distance

    def _nearest(self, words: str, distance: int, moves: Sequence[_Move]) -> str | None:
        """Make the move that gains most; of equally good ones the longest, then the first in hypothesis and target.

        Moves are tried in the order of what they could gain at best, until none that is left can win.
        """
        most = distance - self._bound
        slack = distance - Levenshtein.distance(words, self._reference)
        hopes = {
            (min(2 * min(length, _passed(length, start, target)) + slack, most), length, -start, -target)
            for length, start, target in moves
        }
        best, nearest = (0, _LONGEST_MOVE + 1, 0, 0), None
        for hope in sorted(hopes, reverse=True):
            if hope <= best:
                break
            _, length, start, target = hope
            moved = _move(words, length, -start, -target)
            if (distance - Levenshtein.distance(moved, self._reference), *hope[1:]) <= best:
                continue
            found = (distance - self._distance(moved), length, start, target)
            if found > best:
                best, nearest = found, moved
        return nearest

    def _candidates(self, words: str) -> Iterator[_Move]:
        """Yield the moves that put a misplaced phrase where the reference has it, in sacrebleu's order."""
        targets, errors, gaps = _align(self._operations(words))
        for start, place, length in self._common_phrases(words):
            if errors[start + length] == errors[start] or gaps[place + length] == gaps[place]:
                continue
            if start <= targets[place] < start + length:
                continue
            last = -1
            for before in range(place - 1, place + length):
                target = targets[before] + 1 if before >= 0 else 0
                if target != last:
                    yield length, start, target
                last = target

    def _common_phrases(self, words: str) -> Iterator[tuple[int, int, int]]:
        """Yield start, place in the reference and length of each phrase that hypothesis and reference share."""
        reference = self._reference
        for start, word in enumerate(words):
            for place in self._places.get(word, ()):
                if abs(place - start) > _FARTHEST_MOVE:
                    continue
                yield start, place, 1
                longest = min(_LONGEST_MOVE, len(words) - start, len(reference) - place)
                for length in range(1, longest):
                    if words[start + length] != reference[place + length]:
                        break
                    yield start, place, length + 1

    def _distance(self, words: str) -> int:
        """Compute the distance that sacrebleu finds near the diagonal."""
        distance = Levenshtein.distance(words, self._reference)
        if self._is_plain(words, distance) or _is_within_beam(self._trace(words), len(words), len(self._reference)):
            return distance
        return _beam_search(words, self._reference)[0]

    def _operations(self, words: str) -> str:
        """Trace the alignment that sacrebleu finds near the diagonal."""
        operations = self._trace(words)
        distance = len(operations) - operations.count("=")
        if self._is_plain(words, distance) or _is_within_beam(operations, len(words), len(self._reference)):
            return operations
        return _beam_search(words, self._reference)[1]

    def _is_plain(self, words: str, distance: int) -> bool:
        """Whether an alignment of this distance cannot leave the beam."""
        return distance + abs(len(words) - len(self._reference)) <= _SURELY_WITHIN_BEAM

    def _trace(self, words: str) -> str:
        """Trace the best alignment: ``=`` and ``s`` keep and replace a word, ``d`` drops one, ``i`` adds one.

        Of equally good operations at the end of two prefixes the first of this list is taken, as in sacrebleu.
        """
        full = (1 << len(self._reference)) - 1
        rise, fall = full, 0
        diagonals, rises = [], []
        for word in words:
            match = self._masks.get(word, 0)
            diagonal = (((match & rise) + rise) ^ rise) | match | fall
            across = fall | ~(diagonal | rise)
            diagonals.append(diagonal)
            rises.append(across)
            shifted = across << 1 | 1
            rise, fall = ((diagonal & rise) << 1 | ~(diagonal | shifted)) & full, shifted & diagonal & full
        operations = []
        row, column = len(words) - 1, len(self._reference) - 1
        while row >= 0 and column >= 0:
            if words[row] == self._reference[column]:
                operation = "="
            elif not diagonals[row] >> column & 1:
                operation = "s"
            else:
                operation = "d" if rises[row] >> column & 1 else "i"
            operations.append(operation)
            row -= operation != "i"
            column -= operation != "d"
        return "d" * (row + 1) + "i" * (column + 1) + "".join(reversed(operations))


def _passed(length: int, start: int, target: int) -> int:
    """Count the words that a moved phrase passes, at most."""
    if target < start:
        return start - target
    return target - start - length if target > start + length else target - start


def _move(words: str, length: int, start: int, target: int) -> str:
    """Move a phrase; a target within it counts on from its end, as in sacrebleu."""
    end = start + length
    if target < start:
        return words[:target] + words[start:end] + words[target:start] + words[end:]
    stop = target if target > end else length + target
    return words[:start] + words[end:stop] + words[start:end] + words[stop:]


def _align(operations: str) -> tuple[list[int], list[int], list[int]]:
    """Read an alignment.

    Returns:
        For each reference word the last hypothesis word up to it (-1 before the first); for each position of the hypothesis
        how many words before it are wrong; and the same for the reference.
    """
    targets: list[int] = []
    errors, gaps = [0], [0]
    position = -1
    for operation in operations:
        wrong = operation != "="
        if operation != "i":
            position += 1
            errors.append(errors[-1] + wrong)
        if operation != "d":
            targets.append(position)
            gaps.append(gaps[-1] + wrong)
    return targets, errors, gaps


def _beam(rows: int, columns: int) -> tuple[float, int]:
    """Give the slope of the diagonal, and how far around it sacrebleu looks."""
    slope = columns / rows if rows else 1.0
    return slope, ceil(slope / 2 + _BEAM) if slope / 2 > _BEAM else _BEAM


def _is_within_beam(operations: str, rows: int, columns: int) -> bool:
    """Whether an alignment stays near the diagonal all the way."""
    slope, width = _beam(rows, columns)
    row = column = 0
    for operation in operations:
        row += operation != "i"
        column += operation != "d"
        near = floor(row * slope)
        if row and not (near - width <= column and (column < near + width or row == rows)):
            return False
    return True


def _beam_search(hypothesis: str, reference: str) -> tuple[int, str]:
    """Compute distance and operations from the cells near the diagonal only."""
    rows, columns = len(hypothesis), len(reference)
    slope, width = _beam(rows, columns)
    previous = list(range(columns + 1))
    chosen = ["i" * (columns + 1)]
    for row in range(1, rows + 1):
        near = floor(row * slope)
        start = max(0, near - width)
        stop = columns + 1 if row == rows else min(columns + 1, near + width)
        previous, operations = _beam_row(hypothesis[row - 1], reference, previous, (start, stop))
        chosen.append(operations)
    row, column, trace = rows, columns, []
    while row or column:
        operation = chosen[row][column]
        trace.append(operation)
        row -= operation != "i"
        column -= operation != "d"
    return previous[columns], "".join(reversed(trace))


def _beam_row(word: str, reference: str, previous: Sequence[int], span: tuple[int, int]) -> tuple[list[int], str]:
    """Fill one row of the table from the row before, within a span of columns."""
    current = [_UNREACHED] * len(previous)
    operations = ["?"] * len(previous)
    for column in range(*span):
        if column == 0:
            current[0], operations[0] = previous[0] + 1, "d"
            continue
        is_same = word == reference[column - 1]
        options = (
            (previous[column - 1] + (not is_same), "=" if is_same else "s"),
            (previous[column] + 1, "d"),
            (current[column - 1] + 1, "i"),
        )
        cost, operation = min(options, key=lambda option: option[0])
        if cost < _UNREACHED:
            current[column], operations[column] = cost, operation
    return current, "".join(operations)
