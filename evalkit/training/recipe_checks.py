"""What is said of a recipe's value that cannot be."""

from __future__ import annotations

from collections.abc import Iterable

from evalkit.errors import InvalidInputError, UnknownNameError


def check_choice(what: str, value: str, choices: Iterable[str]) -> None:
    """Check that a value is one of a few.

    Raises:
        UnknownNameError: It is none of them; says the nearest.
    """
    known = tuple(choices)
    if value not in known:
        raise UnknownNameError(what, value, known)


def check_range(what: str, value: float | None, low: float, high: float, *, is_open: bool = False) -> None:
    """Check that a number lies in ``[low, high]``, or above `low` where that end is open; None is passed over.

    Raises:
        InvalidInputError: It lies outside.
    """
    if value is None or (low < value <= high) or (value == low and not is_open):
        return
    least = f"a number above {low:g}" if is_open else f"a number of at least {low:g}"
    most = "" if high == float("inf") else f" and at most {high:g}"
    raise InvalidInputError(f"{what} is {value!r}; expected {least}{most}")


def check_part(what: str, part: tuple[float, ...]) -> None:
    """Check the two ends of a part of a split.

    Raises:
        InvalidInputError: They are not two fractions in order.
    """
    if len(part) != 2 or not 0.0 <= part[0] < part[1] <= 1.0:
        raise InvalidInputError(f"{what} is {list(part)}; expected two fractions in order, such as [0.0, 0.9]")
