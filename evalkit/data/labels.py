"""Names of numbered tags and labels, and tags in one scheme."""

from __future__ import annotations

from collections.abc import Sequence

from evalkit.data.located import Located
from evalkit.errors import DataError, InvalidInputError
from evalkit.metrics.tag_schemes import convert

NUMBERED_FIELDS = ("tags", "label")
"""Fields that may hold numbers of classes."""


def class_name(value: object, names: Sequence[str], located: Located, column: str) -> object:
    """The name of a class number; anything else stays as it is.

    Raises:
        DataError: The number has no name.
    """
    if not isinstance(value, int):
        return value
    if not 0 <= value < len(names):
        problem = f"field {column!r} holds {value}; expected 0 to {len(names) - 1}, for there are {len(names)} names"
        raise DataError(located.path, problem, located.line)
    return names[value]


def with_names(located: Located, names: Sequence[str]) -> Located:
    """Replace numbers in `NUMBERED_FIELDS`, alone or in lists, by names.

    Raises:
        DataError: A number has no name.
    """
    row = dict(located.row)
    for field in NUMBERED_FIELDS:
        value = row.get(field)
        if isinstance(value, list):
            row[field] = [class_name(item, names, located, field) for item in value]
        elif value is not None:
            row[field] = class_name(value, names, located, field)
    return located._replace(row=row)


def in_iob2(located: Located, scheme: str) -> Located:
    """Rewrite the field ``tags`` from a scheme into IOB2.

    Raises:
        DataError: There are no tags, or they are not of the scheme.
    """
    tags = located.row.get("tags")
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        found = f"is {tags!r:.40}" if "tags" in located.row else "is missing"
        raise DataError(
            located.path, f"field 'tags' {found}; expected a list of texts for option 'scheme'", located.line
        )
    try:
        return located._replace(row={**located.row, "tags": convert(tags, scheme, "IOB2")})
    except InvalidInputError as error:
        raise DataError(located.path, f"field 'tags': {error}", located.line) from error
