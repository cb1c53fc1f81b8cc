"""Whether values that users wrote have the types that dataclasses declare, and what to call those types."""

from __future__ import annotations

import dataclasses
import functools
import math
import types
import typing
from collections.abc import Mapping
from typing import Any

from evalkit.errors import InvalidInputError

_NAMES: Mapping[object, str] = {
    str: "a text",
    bool: "true or false",
    int: "a whole number",
    float: "a finite number",
    type(None): "nothing",
}
_LARGEST_WHOLE = 2**53
"""Whole numbers above it are not exact as floating-point numbers."""
_LISTS = (list, tuple, frozenset)


@functools.lru_cache(maxsize=128)
def field_types(kind: type) -> Mapping[str, Any]:
    """The type of each field of a dataclass, by name."""
    hints = typing.get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


def check_types(what: str, values: Mapping[str, Any], kind: type) -> None:
    """Check values by name against the fields of a dataclass; names that it does not have are passed over.

    Args:
        what: What the values belong to, with its space behind it, e.g. ``"[files] "``; '' for none.
        values: The values; lists stand for tuples and sets.
        kind: The dataclass.

    Raises:
        InvalidInputError: A value has another type; names it, its value and what was expected.
    """
    declared = field_types(kind)
    for name, value in values.items():
        if name in declared and not fits(value, declared[name]):
            raise InvalidInputError(f"{what}{name} is {shown(value)}; expected {type_name(declared[name])}")


def fits(value: object, declared: Any) -> bool:  # noqa: ANN401
    """Whether a value has a type; a list has that of a tuple or set, a whole number that of a float, a bool no other.

    >>> fits(["a"], tuple[str, ...]), fits(1, float), fits(True, int), fits(None, str | None)
    (True, True, False, True)
    """
    origin, arguments = typing.get_origin(declared), typing.get_args(declared)
    if declared is Any:
        return True
    if origin in (types.UnionType, typing.Union):
        return any(fits(value, option) for option in arguments)
    if origin in _LISTS:
        return isinstance(value, list | tuple) and all(fits(item, arguments[0]) for item in value)
    if origin is Mapping:
        key, inner = arguments
        return isinstance(value, Mapping) and all(fits(a, key) and fits(b, inner) for a, b in value.items())
    return _fits_plain(value, declared)


def _fits_plain(value: object, declared: type) -> bool:
    if isinstance(value, bool) or declared is bool:
        return isinstance(value, bool) and declared is bool
    if isinstance(value, int):
        return declared in (int, float) and abs(value) <= _LARGEST_WHOLE
    if declared is float:
        return isinstance(value, float) and math.isfinite(value)
    return isinstance(value, declared)


def type_name(declared: Any) -> str:  # noqa: ANN401
    """What to call a type.

    >>> type_name(str | None), type_name(tuple[str, ...]), type_name(Mapping[str, str])
    ('a text', 'a list, each item a text', 'a table, each value a text')
    """
    origin, arguments = typing.get_origin(declared), typing.get_args(declared)
    if origin in (types.UnionType, typing.Union):
        return " or ".join(type_name(option) for option in arguments if option is not type(None))
    if origin in _LISTS:
        return f"a list, each item {type_name(arguments[0])}"
    if origin is Mapping:
        return "a table" if arguments[1] is Any else f"a table, each value {type_name(arguments[1])}"
    return _NAMES.get(declared, str(declared))


def shown(value: object) -> str:
    """A value as messages show it: as written in TOML where it is true or false, cut where it is long."""
    if isinstance(value, bool):
        return "true" if value else "false"
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # Python prints no number of thousands of digits
        text = "a value too large to show"
    return text if len(text) <= 60 else f"{text[:60]}..."
