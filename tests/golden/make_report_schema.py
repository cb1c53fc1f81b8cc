"""Write `docs/report.schema.json` from the data classes of a report and their docstrings.

python tests/golden/make_report_schema.py
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
import types
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from evalkit.report import model

SCHEMA = Path(__file__).resolve().parents[2] / "docs" / "report.schema.json"
_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


def schema() -> dict[str, Any]:
    """The JSON schema of a report."""
    classes = list(dict.fromkeys(_classes(model.Report)))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "evalkit report",
        "description": "What `evalkit report --out FILE.json` writes. Numbers are on the metric's own scale.",
        "$ref": "#/$defs/Report",
        "$defs": {one.__name__: _object(one) for one in sorted(classes, key=lambda one: one.__name__)},
    }


def _classes(root: type) -> Iterator[type]:
    yield root
    for hint in typing.get_type_hints(root).values():
        for part in _parts(hint):
            if dataclasses.is_dataclass(part):
                yield from _classes(typing.cast(type, part))


def _parts(hint: Any) -> Iterator[Any]:
    yield hint
    for part in typing.get_args(hint):
        yield from _parts(part)


def _object(one: type) -> dict[str, Any]:
    hints, texts = typing.get_type_hints(one), _docstrings(one)
    names = [field.name for field in dataclasses.fields(one)]
    return {
        "type": "object",
        "description": inspect.cleandoc(one.__doc__ or "").splitlines()[0],
        "properties": {
            name: {**_type(hints[name]), **({"description": texts[name]} if name in texts else {})} for name in names
        },
        "required": names,
        "additionalProperties": False,
    }


def _docstrings(one: type) -> dict[str, str]:
    """The text under each field that has one, as one line."""
    [node] = ast.parse(inspect.getsource(one)).body
    assert isinstance(node, ast.ClassDef)
    found = {}
    for field, text in zip(node.body, node.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
            assert isinstance(field.target, ast.Name)
            found[field.target.id] = " ".join(str(text.value.value).split())
    return found


def _type(hint: Any) -> dict[str, Any]:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        options = [_type(argument) for argument in arguments]
        if all(set(option) == {"type"} for option in options):
            return {"type": [option["type"] for option in options]}
        return {"anyOf": options}
    if origin is tuple:
        return {"type": "array", "items": _type(arguments[0])}
    if origin is Mapping:
        return (
            {"type": "object"}
            if arguments[1] is Any
            else {"type": "object", "additionalProperties": _type(arguments[1])}
        )
    if dataclasses.is_dataclass(hint):
        return {"$ref": f"#/$defs/{typing.cast(type, hint).__name__}"}
    return {"type": _PLAIN[hint]}


def text() -> str:
    """The file."""
    return json.dumps(schema(), ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    SCHEMA.write_text(text(), encoding="utf-8")
