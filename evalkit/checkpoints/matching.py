"""Compares the tensors that a checkpoint has with those that its model needs, before any is read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from evalkit.checkpoints.huggingface_names import FAMILIES
from evalkit.errors import InvalidInputError

Shapes = Mapping[str, tuple[int, ...]]

_SHOWN = 8
_OLD_NAMES = {".gamma": ".weight", ".beta": ".bias"}
"""Endings of a layer norm's parameters in files converted from TensorFlow."""
_UNUSED: Mapping[str, tuple[str, ...]] = {"bert": ("pooler.dense.{}",), "roberta": ("pooler.dense.{}",)}
"""What published files hold beside the model that they name: a pooler that its head does not read."""


def _listed(what: str, names: Iterable[str]) -> str:
    found = sorted(names)
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return f"{what} {len(found)}: {', '.join(found[:_SHOWN])}{more}" if found else ""


def check_shapes(found: Shapes, expected: Shapes, optional: Iterable[str] = ()) -> None:
    """Check that the tensors found are those expected.

    Args:
        found: Name to shape in the files.
        expected: Name to shape in the model.
        optional: Names that may be absent.

    Raises:
        InvalidInputError: Some are missing, unexpected or of another shape; all are listed in one line.
    """
    misshapen = [
        f"{name} {list(found[name])} instead of {list(shape)}"
        for name, shape in expected.items()
        if name in found and tuple(found[name]) != tuple(shape)
    ]
    parts = (
        _listed("missing", expected.keys() - found.keys() - set(optional)),
        _listed("unexpected", found.keys() - expected.keys()),
        _listed("misshapen", misshapen),
    )
    if problems := "; ".join(filter(None, parts)):
        raise InvalidInputError(f"the tensors are not those of the model that config.json describes: {problems}")


def _is_ignored(name: str, family: str) -> bool:
    table = FAMILIES[family]
    bare = name.removeprefix(table.their_prefix)
    templates = (*table.ignored, *_UNUSED.get(family, ()))
    return any(
        re.fullmatch(r"[^.]+".join(map(re.escape, template.split("{}"))), text)
        for template in templates
        for text in (bare, name)
    )


def _spelled(name: str, expected: Shapes, prefix: str) -> str:
    """Spell a name of a file as the expected names are: with or without the prefix, without TensorFlow's endings."""
    for old, new in _OLD_NAMES.items():
        if name.endswith(old):
            name = name.removesuffix(old) + new
    return next((text for text in (name, prefix + name, name.removeprefix(prefix)) if text in expected), name)


def match(found: Shapes, expected: Shapes, family: str, *, tie_head: bool) -> dict[str, str]:
    """Find out which tensors of a folder in the layout of transformers are to be read, and under which names.

    Args:
        found: Name to shape in the files.
        expected: Name to shape as transformers would write this model.
        family: One of `FAMILIES`.
        tie_head: Whether the model's head is its token embedding.

    Returns:
        Name as the family's table has it, to the name in the files.

    Raises:
        InvalidInputError: As in `check_shapes`.
    """
    table = FAMILIES[family]
    needed = dict(expected)
    sources: dict[str, str] = {}
    for name in found:
        spelled = _spelled(name, expected, table.their_prefix)
        if spelled in expected or not _is_ignored(name, family):
            sources[spelled] = name
    optional: set[str] = set()
    for alias, first in table.aliases.items():
        is_head = alias == "lm_head.weight"
        first = _spelled(first, expected, table.their_prefix)
        if is_head and not tie_head:
            # An untied T5 whose two tables are equal is written as one.
            optional |= {alias} if family == "t5" else set()
        elif alias in sources and first in expected:
            needed[alias] = expected[first]
            optional.add(first)
    check_shapes({name: found[source] for name, source in sources.items()}, needed, optional)
    return sources
