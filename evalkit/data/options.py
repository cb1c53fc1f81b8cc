"""Settings of readers: known names, right types, clear complaints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import UnionType
from typing import Any, TypeVar

from evalkit.errors import InvalidInputError, UnknownNameError

T = TypeVar("T", bool, int, str)

_EXPECTED = {bool: "true or false", int: "a whole number", str: "a text"}


def check_names(options: Mapping[str, Any], known: Iterable[str], owner: str) -> None:
    """Check that every option is known.

    Raises:
        UnknownNameError: One is not; says the nearest known name.
    """
    names = list(known)
    for name in options:
        if name not in names:
            raise UnknownNameError(f"option of {owner}:", name, names)


def option(options: Mapping[str, Any], name: str, default: T) -> T:
    """The value of an option, or its default, which also gives the type.

    Raises:
        InvalidInputError: The value has another type.
    """
    value = options.get(name, default)
    if type(value) is not type(default):
        raise InvalidInputError(f"option {name!r} is {value!r}; expected {_EXPECTED[type(default)]}")
    return value


def choice(options: Mapping[str, Any], name: str, default: str, known: Iterable[str]) -> str:
    """The value of an option that has a few known values.

    Raises:
        UnknownNameError: The value is not one of them.
    """
    value = option(options, name, default)
    names = list(known)
    if value not in names:
        raise UnknownNameError(name, value, names)
    return value


def texts(options: Mapping[str, Any], name: str) -> list[str] | None:
    """The value of an option that is a list of texts; None where it is not given.

    Raises:
        InvalidInputError: The value is something else, or an empty list.
    """
    value = options.get(name)
    if value is None:
        return None
    if not isinstance(value, list | tuple) or not value or not all(isinstance(item, str) for item in value):
        raise InvalidInputError(f"option {name!r} is {value!r}; expected a list of texts")
    return list(value)


def named(options: Mapping[str, Any], name: str, kind: type[Any] | UnionType, expected: str) -> Mapping[str, Any]:
    """The value of an option that is a table with values of one type; empty where it is not given.

    Raises:
        InvalidInputError: The value is something else.
    """
    value = options.get(name, {})
    if not isinstance(value, Mapping) or not all(isinstance(item, kind) for item in value.values()):
        raise InvalidInputError(f"option {name!r} is {value!r}; expected {expected}")
    return value
