"""Parts of a split, as fractions: what training, choosing and scoring can share out among them without cutting a document."""

from __future__ import annotations

from collections.abc import Sequence

from evalkit.errors import InvalidInputError


def part_of(clusters: Sequence[str | None], ends: Sequence[float]) -> range:
    """Places of the examples of a part; parts that meet at a fraction share no example and leave none out.

    Args:
        clusters: Cluster of each example, None for one that stands alone. Examples of one cluster that follow each other stay
            together, in the part in which the first of them lies.
        ends: Where the part begins and ends, from 0 to 1.
    """
    start, end = (_border(clusters, share) for share in ends)
    return range(start, end)


def _border(clusters: Sequence[str | None], share: float) -> int:
    """The place of a fraction, moved on to where the next cluster begins."""
    place = round(share * len(clusters))
    while 0 < place < len(clusters) and clusters[place] is not None and clusters[place] == clusters[place - 1]:
        place += 1
    return place


def parse_part(given: str) -> tuple[float, float]:
    """Read ``FROM:TO``; either may be left out.

    Raises:
        InvalidInputError: They are no fractions in this order.
    """
    start, colon, end = given.partition(":")
    try:
        ends = float(start or 0.0), float(end or 1.0)
    except ValueError:
        ends = 1.0, 0.0
    if not colon or not 0.0 <= ends[0] < ends[1] <= 1.0:
        raise InvalidInputError(
            f"--part {given!r} is no part; expected FROM:TO with 0 <= FROM < TO <= 1, such as 0.8:1"
        )
    return ends
