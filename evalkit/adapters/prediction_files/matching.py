"""The ids of a file against the ids of a split."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path

from evalkit.errors import DataError

_COMPARED = 100_000
"""Ids that are looked through for one that is spelled nearly so; more would take minutes."""


def check_ids(path: Path, found: Collection[str], expected: Sequence[str], line_of: Callable[[str], int]) -> None:
    """Check that a file has exactly the ids of the split.

    Args:
        path: The file, for messages.
        found: The ids that the file has, each once; a mapping or a set.
        expected: All ids of the split.
        line_of: Gives the line of an id that the file has.

    Raises:
        DataError: An id is unknown or missing.
    """
    if len(found) == len(expected) and all(map(found.__contains__, expected)):
        return
    known = set(expected)
    unknown = [name for name in found if name not in known]
    if unknown:
        raise _unknown(path, unknown, expected, line_of(unknown[0]), all_of_them=len(unknown) == len(found))
    missing = [name for name in expected if name not in found]
    raise DataError(
        path,
        f"{len(missing)} of {len(expected)} ids of the split have no prediction, {first_of(missing)}; expected all:"
        " a file holds predictions for the whole split, also with --limit or --sample-ids",
    )


def known_only(path: Path, found: Sequence[str], expected: Sequence[str]) -> tuple[str, ...]:
    """Warn of unknown and missing ids, for formats whose official scorer goes on without them.

    Raises:
        DataError: None of the ids is known.
    """
    given, known = set(found), set(expected)
    unknown = [name for name in found if name not in known]
    missing = [name for name in expected if name not in given]
    if len(unknown) == len(found):
        raise _unknown(path, unknown, expected, None, all_of_them=True)
    warnings = []
    if unknown:
        warnings.append(
            f"{path}: {len(unknown)} of {len(found)} ids are not in the split, {first_of(unknown)}; left out"
        )
    if missing:
        warnings.append(
            f"{path}: {len(missing)} of {len(expected)} ids of the split have no prediction, {first_of(missing)};"
            " counted as not answered"
        )
    return tuple(warnings)


def first_of(names: Iterable[str]) -> str:
    """The first three names, as a list for messages.

    >>> first_of(["a", "b", "c", "d"])
    "first 'a', 'b', 'c'"
    """
    return f"first {', '.join(repr(name) for name, _ in zip(names, range(3), strict=False))}"


def _unknown(
    path: Path, unknown: Sequence[str], expected: Sequence[str], line: int | None, *, all_of_them: bool
) -> DataError:
    example = f"e.g. {expected[0]!r}" if expected else "which is empty"
    if all_of_them:
        return DataError(
            path,
            f"none of its {len(unknown)} ids is in the split, {first_of(unknown)}; expected ids of the split, {example};"
            " is the file for another task or split?",
        )
    close = difflib.get_close_matches(unknown[0], expected[:_COMPARED], n=3, cutoff=0.6)
    nearest = f"nearest {', '.join(map(repr, close))}" if close else f"expected ids of the split, {example}"
    return DataError(path, f"id {unknown[0]!r} is not in the split ({len(unknown)} such ids); {nearest}", line)
