"""From a TOML file, bundled or a user's own, to a `Recipe`: strictly, with single values replaced on request.

    summary = "GPT of characters"
    steps = 500
    [model]
    family = "gpt"
    width = 64
    ...

A key or a value that a recipe cannot have is an error that names the nearest one it can.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, asdict, fields, is_dataclass, replace
from importlib.resources import files
from pathlib import Path
from types import NoneType
from typing import Any, TypeVar, cast, get_args

from evalkit.digests import digest_json
from evalkit.errors import DataError, EvalkitError, InvalidInputError, UnknownNameError
from evalkit.toml_files import parse_toml
from evalkit.training.recipe import KeepSection, Recipe
from evalkit.training.recipe_objectives import OBJECTIVE_OPTIONS, ObjectiveOptions
from evalkit.value_types import check_types, field_types, shown

_EXCLUSIVE = (("steps", "epochs"), ("batch.tokens", "batch.examples"), ("data.task", "data.texts"))
"""Keys of which a recipe has one: setting it drops the other."""

T = TypeVar("T")


def recipe_names() -> list[str]:
    """The names of the bundled recipes, in alphabetical order."""
    folder = files("evalkit") / "recipes"
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def find_recipe(name: str, overrides: Sequence[str] = ()) -> Recipe:
    """The bundled recipe of a name, or that of a TOML file's path.

    Args:
        name: A name, or a path that ends in ``.toml``.
        overrides: ``section.key=value`` each, the value written as in TOML; a plain word needs no quotes, and no value at all
            takes the key away.

    Raises:
        UnknownNameError: There is no such recipe.
        InvalidInputError: The file or an override is not valid.
    """
    if name.endswith(".toml"):
        from evalkit.data.text import read_text

        path = Path(name)
        return read_recipe(read_text(path), path.stem, name, overrides)
    known = recipe_names()
    if name not in known:
        raise UnknownNameError("recipe", name, known)
    text = (files("evalkit") / "recipes" / f"{name}.toml").read_text(encoding="utf-8")
    return read_recipe(text, name, f"recipe {name}", overrides)


def is_recipe_file(name: str) -> bool:
    """Whether a path is that of a recipe and not of a task: a recipe has an objective."""
    if not name.endswith(".toml") or not Path(name).is_file():
        return False
    try:
        return "objective" in tomllib.loads(Path(name).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False


def read_recipe(text: str, name: str, source: str, overrides: Iterable[str] = ()) -> Recipe:
    """Read a recipe from the text of its file.

    Args:
        text: The TOML.
        name: The recipe's name.
        source: Where the text comes from, for messages.
        overrides: As for `find_recipe`.

    Raises:
        DataError: The text is not TOML, or not a recipe; begins with the source.
        InvalidInputError: An override is not valid.
    """
    document = parse_toml(text, source, "a recipe such as docs/training.md shows")
    for override in overrides:
        _override(document, override)
    try:
        return _recipe(document, name)
    except EvalkitError as error:
        raise DataError(source, str(error)) from error


def recipe_digest(recipe: Recipe) -> str:
    """Digest of everything in a recipe that can change the weights it makes."""
    decisive = replace(recipe, name="", summary="", hardware="", references=(), keep=KeepSection())
    return digest_json([recipe.objective.kind, asdict(decisive)])


def _override(document: dict[str, Any], override: str) -> None:
    """Put one ``section.key=value`` into a document."""
    key, equals, written = override.partition("=")
    path = key.strip().split(".")
    if not equals or not all(path):
        raise InvalidInputError(f"--set {override!r} is no setting; expected section.key=value, e.g. optimizer.lr=1e-3")
    table = document
    for part in path[:-1]:
        table = table.setdefault(part, {})
        if not isinstance(table, dict):
            raise InvalidInputError(f"--set {override!r}: {part} is a value, not a section")
    for pair in _EXCLUSIVE:
        if ".".join(path) in pair:
            for other in pair:
                table.pop(other.rpartition(".")[2], None)
    if written.strip():
        table[path[-1]] = _value(override, written.strip())
    else:
        table.pop(path[-1], None)


def _value(override: str, written: str) -> object:
    """Read a value as TOML; a plain word or path stands for itself."""
    try:
        return tomllib.loads(f"value = {written}")["value"]
    except (ValueError, RecursionError) as error:
        if all(character.isalnum() or character in "_-./" for character in written):
            return written
        raise InvalidInputError(f"--set {override!r}: the value is not TOML ({error}); quote texts") from error


def _recipe(document: dict[str, Any], name: str) -> Recipe:
    if "name" in document:
        raise InvalidInputError("a recipe is named by its file; remove the key 'name'")
    return _section(Recipe, document | {"name": name}, "")


def _section(kind: type[T], table: Mapping[str, Any], where: str) -> T:
    """Make one dataclass of a table, and those inside it of the tables inside it."""
    known = {field.name: field for field in fields(kind)}  # type: ignore[arg-type]
    for key in table:
        if key not in known:
            raise UnknownNameError(
                f"key of [{where}]" if where else "key", key, [key for key in known if key != "name"]
            )
    for key, field in known.items():
        if field.default is MISSING and field.default_factory is MISSING and key not in table:
            inner = f"[{where}] {key}" if where else _title(kind, key)
            raise InvalidInputError(f"{inner} is missing; expected it in the recipe")
    declared = field_types(cast(Any, kind))
    values = {key: _inner(declared[key], value, f"{where}.{key}" if where else key) for key, value in table.items()}
    check_types(f"[{where}] " if where else "", {k: v for k, v in values.items() if not is_dataclass(v)}, kind)
    return kind(**{key: _plain(declared[key], value) for key, value in values.items()})


def _plain(declared: Any, value: object) -> object:  # noqa: ANN401 (a type)
    """Give lists and whole numbers the types that fields declare for them."""
    options = get_args(declared) or (declared,)
    if float in options and int not in options and isinstance(value, int):
        return float(value)
    if isinstance(value, list):
        return tuple(float(item) if float in options else item for item in value)
    return value


def _title(kind: type, key: str) -> str:
    return f"[{key}]" if _section_class(field_types(kind)[key]) else key


def _section_class(declared: Any) -> Any:  # noqa: ANN401 (a type)
    """The dataclass that a field holds, `ObjectiveOptions` for one of several, or None for a plain value."""
    options = [option for option in get_args(declared) or (declared,) if option is not NoneType]
    if not all(is_dataclass(option) for option in options):
        return None
    return options[0] if len(options) == 1 else ObjectiveOptions


def _inner(declared: Any, value: object, where: str) -> object:  # noqa: ANN401 (a type)
    found = _section_class(declared)
    if found is None:
        return value
    if not isinstance(value, dict):
        raise InvalidInputError(f"{where} is {shown(value)}; expected a table [{where}]")
    if found is not ObjectiveOptions:
        return _section(found, value, where)
    kind = value.get("kind")
    if not isinstance(kind, str):
        raise InvalidInputError(f"[{where}] kind is {shown(kind)}; expected one of {', '.join(OBJECTIVE_OPTIONS)}")
    if kind not in OBJECTIVE_OPTIONS:
        raise UnknownNameError(f"[{where}] kind", kind, OBJECTIVE_OPTIONS)
    return _section(OBJECTIVE_OPTIONS[kind], {key: inner for key, inner in value.items() if key != "kind"}, where)
