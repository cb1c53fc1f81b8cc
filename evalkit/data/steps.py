"""What may be done with rows of any format before they become examples: filling, naming, splitting, joining, grouping."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import Any

from evalkit.data.fields import LIST_FIELDS
from evalkit.data.labels import in_iob2, with_names
from evalkit.data.located import Located
from evalkit.data.options import named, option, texts
from evalkit.errors import DataError, InvalidInputError, UnknownNameError
from evalkit.metrics.tag_schemes import CONVERTIBLE, scheme_name
from evalkit.spec import Row

STEPS: Mapping[str, str] = {
    "constants": "text of fields that the rows lack and that is the same in all of them, e.g. {document = ''}",
    "names": "names of integer tags or labels, in order",
    "values": "for a field, what its texts become, e.g. {label = {0 = 'negative', 1 = 'positive'}}",
    "scheme": "tagging scheme of the tags: IO, IOB1, IOB2, IOBES or BILOU; tags become IOB2",
    "split_by": "field whose hash decides the split of a row, so that equal values never fall into two splits",
    "split_in_order": "true where the splits follow one another in the file, in the order of split_shares",
    "split_shares": "share of each split, e.g. {train = 0.85, dev = 0.05, test = 0.1}; goes with either of the two",
    "join": "separator for each field that holds a list but should be one text, e.g. {document = ' '}",
    "group_by": "field whose equal values make one row with several references, in the order of first sight",
}
"""Options that go with every format, in the order in which they are applied, and what they mean."""

_SPLITTING = frozenset({"split_by", "split_in_order", "split_shares"})
_HASH_BYTES = 6
"""48 bits are exact in a float, so that no text falls on 1."""


def apply_steps(rows: Iterator[Located], options: Mapping[str, Any], split: str | None) -> Iterator[Located]:
    """Apply the steps that the options name.

    Raises:
        InvalidInputError: An option has a wrong value.
        UnknownNameError: The scheme is not known, or the split has no share.
    """
    constants = named(options, "constants", str, "a table of field and text")
    if constants:
        rows = (_filled(located, constants) for located in rows)
    names = texts(options, "names")
    if names:
        rows = (with_names(located, names) for located in rows)
    values = named(options, "values", Mapping, "a table of field and table of texts")
    if values:
        rows = (_replaced(located, values) for located in rows)
    scheme = scheme_name(option(options, "scheme", "IOB2"), CONVERTIBLE)
    if scheme != "IOB2":
        rows = (in_iob2(located, scheme) for located in rows)
    if not _SPLITTING.isdisjoint(options):
        rows = _of_split(rows, options, split or "")
    separators = named(options, "join", str, "a table of field and separator")
    if separators:
        rows = (_joined(located, separators) for located in rows)
    if "group_by" in options:
        rows = _grouped(rows, _field(options, "group_by"))
    return rows


def _field(options: Mapping[str, Any], name: str) -> str:
    field = option(options, name, "")
    if not field:
        raise InvalidInputError(f"option {name!r} is missing; expected the name of a field")
    return field


def _of_split(rows: Iterator[Located], options: Mapping[str, Any], split: str) -> Iterator[Located]:
    if option(options, "split_in_order", False):
        if "split_by" in options:
            raise InvalidInputError("options 'split_by' and 'split_in_order' are both given; expected one of them")
        low, high = _bounds(options, split, in_order=True)
        return _stretch(rows, low, high)
    field = _field(options, "split_by")
    low, high = _bounds(options, split, in_order=False)
    return (located for located in rows if low <= _position(_text(located, field, "split_by")) < high)


def _bounds(options: Mapping[str, Any], split: str, *, in_order: bool) -> tuple[float, float]:
    """The stretch of [0, 1) that belongs to a split; unless in order, splits lie by name, so that a file may name them freely."""
    shares = named(options, "split_shares", int | float, "a table of split and share")
    if not shares or min(shares.values()) <= 0 or not math.isclose(sum(shares.values()), 1.0, abs_tol=1e-9):
        raise InvalidInputError(f"option 'split_shares' is {dict(shares)!r}; expected shares above 0 that add up to 1")
    names = list(shares) if in_order else sorted(shares)
    if split not in shares:
        raise UnknownNameError("split", split, names)
    ends = [*accumulate(shares[name] for name in names)]
    ends[-1] = 1.0
    place = names.index(split)
    return (ends[place - 1] if place else 0.0), ends[place]


def _stretch(rows: Iterable[Located], low: float, high: float) -> Iterator[Located]:
    """The rows from one share of them to another; borders are rounded to whole rows."""
    everything = list(rows)
    yield from everything[round(low * len(everything)) : round(high * len(everything))]


def _position(text: str) -> float:
    """Where a text falls in [0, 1): the same in every process, on every machine."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return int.from_bytes(digest[:_HASH_BYTES], "big") / (1 << 8 * _HASH_BYTES)


def _filled(located: Located, constants: Mapping[str, str]) -> Located:
    for field in constants:
        if field in located.row:
            problem = f"the row has a field {field!r}; expected none, for option 'constants' fills it"
            raise DataError(located.path, problem, located.line)
    return located._replace(row={**located.row, **constants})


def _replaced(located: Located, values: Mapping[str, Mapping[str, Any]]) -> Located:
    row = dict(located.row)
    for field, becomes in values.items():
        value = _text(located, field, "values")
        if value not in becomes:
            known = ", ".join(map(repr, becomes))
            raise DataError(located.path, f"field {field!r} is {value!r:.40}; expected one of {known}", located.line)
        row[field] = becomes[value]
    return located._replace(row=row)


def _joined(located: Located, separators: Mapping[str, str]) -> Located:
    row = dict(located.row)
    for field, separator in separators.items():
        parts = _present(located, field, "join")
        if isinstance(parts, str):
            continue
        if not isinstance(parts, list | tuple) or not all(isinstance(part, str) for part in parts):
            raise DataError(
                located.path, f"field {field!r} is {parts!r:.40}; expected a list of texts to join", located.line
            )
        row[field] = separator.join(parts)
    return located._replace(row=row)


def _grouped(rows: Iterable[Located], field: str) -> Iterator[Located]:
    groups: dict[str, Located] = {}
    for located in rows:
        key = _text(located, field, "group_by")
        group = groups.get(key)
        if group is None:
            groups[key] = located._replace(row=_with_lists(located.row))
            continue
        for name in LIST_FIELDS.intersection(group.row, located.row):
            group.row[name].extend(_as_list(located.row[name]))
    yield from groups.values()


def _with_lists(row: Row) -> dict[str, Any]:
    """The row, with fresh lists in its list fields, which later rows of the group may extend."""
    return {name: _as_list(value) if name in LIST_FIELDS else value for name, value in row.items()}


def _as_list(value: object) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _text(located: Located, field: str, option_name: str) -> str:
    value = _present(located, field, option_name)
    if not isinstance(value, str):
        problem = f"field {field!r} is {value!r:.40}; expected a text for option {option_name!r}"
        raise DataError(located.path, problem, located.line)
    return value


def _present(located: Located, field: str, option_name: str) -> object:
    if field not in located.row:
        found = ", ".join(map(repr, located.row)) or "none"
        problem = f"no field {field!r} for option {option_name!r}; found {found}"
        raise DataError(located.path, problem, located.line)
    return located.row[field]
