"""Which words of a line does ``diff`` leave unchanged?

The SIGHAN bakeoff script calls a word right when it lies on the alignment that GNU diff finds between the two word lists, so
its figures can be reproduced only by aligning as diff does. That alignment is a longest common subsequence of the lines that
remain after three steps: the common beginning and end are set aside; lines without a counterpart are dropped; lines with very
many counterparts are dropped too where they stand inside a run of dropped ones. The last step is why the script may find a few
words fewer than a longest common subsequence has, and which of several longest ones is taken follows from the search order.

References:
    Myers (1986), An O(ND) difference algorithm and its variations: the search from both corners.
    GNU diffutils 3.8, which the tests run beside this module.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

_KEPT, _DROPPED, _DOUBTFUL = 0, 1, 2


def aligned_positions(left: Sequence[str], right: Sequence[str]) -> list[int]:
    """Find the words of one list that diff reports as unchanged.

    Where a changed stretch could be moved along equal words, diff prints it as far down as it goes; that changes positions, never
    words, and is not done here.

    Returns:
        Positions in `left`, in no particular order. The aligned words of `right` are the same words.
    """
    shorter = min(len(left), len(right))
    head = 0
    while head < shorter and left[head] == right[head]:
        head += 1
    tail = 0
    while tail < shorter - head and left[-1 - tail] == right[-1 - tail]:
        tail += 1
    found = [*range(head), *range(len(left) - tail, len(left))]
    left_middle, right_middle = left[head : len(left) - tail], right[head : len(right) - tail]
    if left_middle and right_middle:
        left_kept = _kept_positions(left_middle, Counter(right_middle))
        right_kept = _kept_positions(right_middle, Counter(left_middle))
        common = _common_positions([left_middle[i] for i in left_kept], [right_middle[j] for j in right_kept])
        found.extend(head + left_kept[position] for position in common)
    return found


def _kept_positions(words: Sequence[str], counterparts: Counter[str]) -> list[int]:
    many = 5 * _root_factor(len(words) // 64)
    marks = [_mark(counterparts[word], many) for word in words]
    if _DOUBTFUL in marks:
        _settle_doubtful(marks)
    return [position for position, mark in enumerate(marks) if mark == _KEPT]


def _mark(count: int, many: int) -> int:
    if count == 0:
        return _DROPPED
    return _DOUBTFUL if count > many else _KEPT


def _root_factor(size: int) -> int:
    """Roughly the square root of a quarter of `size`: the power of two that diff scales its limits by."""
    factor = 1
    while (size := size >> 2) > 0:
        factor *= 2
    return factor


def _settle_doubtful(marks: list[int]) -> None:
    """Keep every doubtful word except in the middle of long runs of dropped ones; changes `marks`."""
    position = 0
    while position < len(marks):
        if marks[position] != _DROPPED:
            marks[position] = _KEPT
            position += 1
            continue
        end = position
        while end < len(marks) and marks[end] != _KEPT:
            end += 1
        while marks[end - 1] == _DOUBTFUL:
            end -= 1
            marks[end] = _KEPT
        marks[position:end] = _settled_run(marks[position:end])
        position = end


def _settled_run(run: list[int]) -> list[int]:
    """Decide about the doubtful words of a run whose first and last words are dropped."""
    if run.count(_DOUBTFUL) * 4 > len(run):
        return [_KEPT if mark == _DOUBTFUL else mark for mark in run]
    _keep_long_stretches(run, limit=_root_factor(len(run) >> 2) + 1)
    _keep_near_edge(run, range(len(run)))
    _keep_near_edge(run, range(len(run) - 1, -1, -1))
    return run


def _keep_long_stretches(run: list[int], limit: int) -> None:
    start = 0
    for position, mark in enumerate([*run, _DROPPED]):
        if mark != _DOUBTFUL:
            if position - start >= limit:
                run[start:position] = [_KEPT] * (position - start)
            start = position + 1


def _keep_near_edge(run: list[int], inwards: Iterable[int]) -> None:
    """Keep doubtful words up to the third dropped word in a row, or the first one eight words in."""
    in_a_row = 0
    for distance, position in enumerate(inwards):
        if run[position] == _DROPPED:
            if distance >= 8:
                return
            in_a_row += 1
            if in_a_row == 3:
                return
        else:
            in_a_row = 0
            run[position] = _KEPT


def _common_positions(left: Sequence[str], right: Sequence[str]) -> list[int]:
    """Positions in `left` of the longest common subsequence that Myers' divide and conquer finds."""
    found: list[int] = []
    boxes = [(0, len(left), 0, len(right))]
    while boxes:
        x, x_end, y, y_end = boxes.pop()
        while x < x_end and y < y_end and left[x] == right[y]:
            found.append(x)
            x, y = x + 1, y + 1
        while x < x_end and y < y_end and left[x_end - 1] == right[y_end - 1]:
            x_end, y_end = x_end - 1, y_end - 1
            found.append(x_end)
        if x < x_end and y < y_end:
            x_middle, y_middle = _meeting_point(left, right, (x, x_end, y, y_end))
            boxes.append((x, x_middle, y, y_middle))
            boxes.append((x_middle, x_end, y_middle, y_end))
    return found


class _Front:
    """How far a search has come on each diagonal x - y."""

    __slots__ = ("_least", "_most", "_unreached", "high", "low", "reach")

    def __init__(self, diagonal: int, x: int, limits: tuple[int, int], unreached: int) -> None:
        self.low = self.high = diagonal
        self.reach = {diagonal: x}
        self._least, self._most = limits
        self._unreached = unreached

    def widen(self) -> range:
        """Allow one more edit; returns the diagonals to extend, in diff's order."""
        if self.low > self._least:
            self.low -= 1
            self.reach[self.low - 1] = self._unreached
        else:
            self.low += 1
        if self.high < self._most:
            self.high += 1
            self.reach[self.high + 1] = self._unreached
        else:
            self.high -= 1
        return range(self.high, self.low - 1, -2)

    def covers(self, diagonal: int) -> bool:
        """Whether the search has been on a diagonal."""
        return self.low <= diagonal <= self.high


def _meeting_point(left: Sequence[str], right: Sequence[str], box: tuple[int, int, int, int]) -> tuple[int, int]:
    """Where the searches from both corners of a box meet: a point on a shortest edit path.

    diff gives up optimality past 4,096 edits; no line of text comes near, so the search here is always exact.
    """
    x, x_end, y, y_end = box
    limits = (x - y_end, x_end - y)
    forward = _Front(x - y, x, limits, -1)
    backward = _Front(x_end - y_end, x_end, limits, len(left) + len(right) + 1)
    meets_forward = (x - y - x_end + y_end) % 2 == 1
    while True:
        met = _advance(left, right, box, forward, backward if meets_forward else None)
        if met is None:
            met = _retreat(left, right, box, backward, None if meets_forward else forward)
        if met is not None:
            return met


def _advance(
    left: Sequence[str], right: Sequence[str], box: tuple[int, int, int, int], front: _Front, other: _Front | None
) -> tuple[int, int] | None:
    _, x_end, _, y_end = box
    reach = front.reach
    for diagonal in front.widen():
        below, above = reach[diagonal - 1], reach[diagonal + 1]
        x = above if below < above else below + 1
        y = x - diagonal
        while x < x_end and y < y_end and left[x] == right[y]:
            x, y = x + 1, y + 1
        reach[diagonal] = x
        if other is not None and other.covers(diagonal) and other.reach[diagonal] <= x:
            return x, y
    return None


def _retreat(
    left: Sequence[str], right: Sequence[str], box: tuple[int, int, int, int], front: _Front, other: _Front | None
) -> tuple[int, int] | None:
    x_start, _, y_start, _ = box
    reach = front.reach
    for diagonal in front.widen():
        below, above = reach[diagonal - 1], reach[diagonal + 1]
        x = below if below < above else above - 1
        y = x - diagonal
        while x_start < x and y_start < y and left[x - 1] == right[y - 1]:
            x, y = x - 1, y - 1
        reach[diagonal] = x
        if other is not None and other.covers(diagonal) and x <= other.reach[diagonal]:
            return x, y
    return None
