"""Grid files: tasks times models, with the flags of `evalkit run`, read from TOML that refuses what it does not know.

tasks = ["mini_cws", "mini_mt_*"]
models = ["baseline:all", "checkpoints/bert-mini-cws"]
exclude = [{ task = "mini_mt_*", model = "checkpoints/bert-*" }]
out = "runs"                   # where run folders are kept

[run]                          # flags of `evalkit run`, by name
limit = 200
batch-size = "auto"

[engine]                       # of the engine that is chosen: settings.py
workers = 2
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from evalkit.errors import InvalidInputError, UnknownNameError
from evalkit.toml_files import read_toml
from evalkit.value_types import check_types, fits, shown

RESERVED = ("task", "model", "out", "json")
"""Flags of `run` that the grid itself settles."""
_KEYS = ("tasks", "models", "exclude", "out", "run", "engine")


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """How an engine runs the cells; what does not concern it is refused when it is chosen."""

    workers: int = 1
    """Cells at once."""
    threads: int | None = None
    """Threads of each cell; None shares the processors out."""
    retries: int = 1
    """How often a cell is repeated that was killed, e.g. for want of memory."""
    cluster: str = "slurm"
    """What submitit submits to: ``slurm``, or ``local`` for processes of this machine."""
    partition: str | None = None
    """Slurm partition."""
    timeout_min: int = 240
    """Minutes after which Slurm ends a cell."""
    cpus: int = 1
    """Processors of a cell (Slurm, Ray)."""
    gpus: int = 0
    """GPUs of a cell (Slurm, Ray)."""
    memory_gb: int | None = None
    """Memory of a cell (Slurm, Ray)."""
    address: str | None = None
    """Address of a Ray cluster; None starts one here."""

    def __post_init__(self) -> None:
        for name in ("workers", "timeout_min", "cpus"):
            if getattr(self, name) < 1:
                raise InvalidInputError(f"[engine] {_dashed(name)} is {getattr(self, name)}; expected 1 or more")
        for name in ("retries", "gpus"):
            if getattr(self, name) < 0:
                raise InvalidInputError(f"[engine] {name} is {getattr(self, name)}; expected 0 or more")
        for name in ("threads", "memory_gb"):
            if getattr(self, name) is not None and getattr(self, name) < 1:
                raise InvalidInputError(f"[engine] {_dashed(name)} is {getattr(self, name)}; expected 1 or more")
        if self.cluster not in ("slurm", "local"):
            raise UnknownNameError("[engine] cluster", self.cluster, ("slurm", "local"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Which runs are wanted."""

    tasks: tuple[str, ...]
    """Task names, patterns or files."""
    models: tuple[str, ...]
    """Model references; ``baseline:all`` stands for all that answer a task."""
    exclude: tuple[Mapping[str, str], ...] = ()
    """Patterns of cells that are left out: ``task``, ``model`` or both."""
    out: str = "runs"
    """Where run folders are kept."""
    flags: Mapping[str, Any] = field(default_factory=dict)
    """Flags of `run`, by name with dashes."""
    engine: EngineSettings = field(default_factory=EngineSettings)
    """How the cells are run."""

    def leaves_out(self, task: str, model: str) -> bool:
        """Whether a cell is excluded."""
        return any(
            fnmatchcase(task, pattern.get("task", "*")) and fnmatchcase(model, pattern.get("model", "*"))
            for pattern in self.exclude
        )

    def arguments(self) -> list[str]:
        """The flags as a command line has them."""
        words: list[str] = []
        for name, value in self.flags.items():
            values = value if isinstance(value, list) else [value]
            words += [word for one in values for word in _words(name, one)]
        return words


def read_grid(path: Path | str, known_flags: Sequence[str]) -> Grid:
    """Read a grid file.

    Args:
        path: A TOML file.
        known_flags: Names of the flags that ``[run]`` may set, with dashes.

    Raises:
        DataError: The file cannot be read.
        InvalidInputError: A key is not known, or a value cannot be what it should be.
    """
    document = read_toml(path, "a grid such as docs/sweep.md shows")
    _known(document, _KEYS, f"{path}: key of a grid")
    for name in ("tasks", "models"):
        if not fits(document.get(name), tuple[str, ...]) or not document[name]:
            raise InvalidInputError(
                f"{path}: {name} is {shown(document.get(name))}; expected a list with one name or more"
            )
    flags = _table(document, "run", path)
    _known(flags, known_flags, f"{path}: [run] flag")
    exclude = document.get("exclude", [])
    if not fits(exclude, tuple[Mapping[str, str], ...]) or not all(exclude):
        raise InvalidInputError(f'{path}: exclude is {shown(exclude)}; expected a list such as [{{ task = "mini_*" }}]')
    for pattern in exclude:
        _known(pattern, ("task", "model"), f"{path}: key of exclude")
    out = document.get("out", "runs")
    if not isinstance(out, str):
        raise InvalidInputError(f"{path}: out is {shown(out)}; expected a folder or an address")
    return Grid(
        tasks=tuple(document["tasks"]),
        models=tuple(document["models"]),
        exclude=tuple(exclude),
        out=out,
        flags=flags,
        engine=_engine(_table(document, "engine", path), path),
    )


def _table(document: Mapping[str, Any], name: str, path: Path | str) -> dict[str, Any]:
    table = document.get(name, {})
    if not isinstance(table, dict):
        raise InvalidInputError(f"{path}: {name} is {shown(table)}; expected a table [{name}]")
    return table


def _engine(table: Mapping[str, Any], path: Path | str) -> EngineSettings:
    settings = {key.replace("-", "_"): value for key, value in table.items()}
    _known(table, [_dashed(name) for name in EngineSettings.__dataclass_fields__], f"{path}: key of [engine]")
    check_types(f"{path}: [engine] ", settings, EngineSettings)
    return EngineSettings(**settings)


def _known(table: Mapping[str, Any], known: Sequence[str], what: str) -> None:
    for key in table:
        if key not in known:
            raise UnknownNameError(what, key, known)


def _dashed(name: str) -> str:
    return name.replace("_", "-")


def _words(name: str, value: object) -> list[str]:
    if isinstance(value, bool):
        return [f"--{name}"] if value else []
    # One word, so that a value may begin with a dash.
    return [f"--{name}={value}"]
