"""What can go wrong, as types.

Every error that a user can cause derives from `EvalkitError`; its message is one line that says what was found, what was
expected and what to do. The command line prints that line and exits with the error's `exit_code`.

    EvalkitError                      exit 2
    ├── InvalidInputError             a value, row or file that cannot be used (also a ValueError)
    │   ├── UnknownNameError          a name that is not known; says the nearest one
    │   └── DataError                 a data or prediction file, with path and line
    ├── InvalidTypeError              a value of the wrong type (also a TypeError)
    ├── MissingResourceError          WordNet, a tokenizer model, an optional package, a data set (also a LookupError)
    ├── IncompleteError               exit 5: part of what was asked could not be done
    └── StoppedError                  exit 130: someone asked to stop; what was in hand is done and kept
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from pathlib import Path


class EvalkitError(Exception):
    """Base of every error that evalkit raises on purpose."""

    exit_code: ClassVar[int] = 2


class InvalidInputError(EvalkitError, ValueError):
    """A value, row or file that cannot be used."""


class UnknownNameError(InvalidInputError):
    """A name that is not among the known ones.

    Args:
        what: What kind of thing was named, e.g. ``task``.
        name: The name that was given.
        known: All known names, in the order to print them.
    """

    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        import difflib

        names = list(known)
        lowered = {candidate.lower(): candidate for candidate in names}
        close = difflib.get_close_matches(name.lower(), lowered, n=1, cutoff=0.5)
        hint = f" did you mean {lowered[close[0]]!r}?" if close else ""
        shown = ", ".join(names) if names else "none"
        super().__init__(f"unknown {what} {name!r};{hint} known: {shown}")


class DataError(InvalidInputError):
    """A data or prediction file that cannot be read as what it should be.

    Args:
        path: The file.
        problem: What was found, what was expected and what to do.
        line: Line number from 1, if the problem has a place.
    """

    def __init__(self, path: Path | str, problem: str, line: int | None = None) -> None:
        place = f"{path}:{line}" if line is not None else f"{path}"
        super().__init__(f"{place}: {problem}")


class InvalidTypeError(EvalkitError, TypeError):
    """A value of the wrong type."""


class MissingResourceError(EvalkitError, LookupError):
    """Something that has to be installed or fetched first; the message says how."""


class IncompleteError(EvalkitError):
    """Part of what was asked for could not be done; what could be done was kept."""

    exit_code: ClassVar[int] = 5


class StoppedError(EvalkitError):
    """Someone asked to stop; what was in hand is done and kept."""

    exit_code: ClassVar[int] = 130


def reason_of(error: BaseException) -> str:
    """What an error of another library says, in one line of at most 200 characters; its type where it says nothing."""
    return (" ".join(str(error).split()) or type(error).__name__)[:200]
