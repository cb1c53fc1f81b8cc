"""Which runs are of one model: one row of a leaderboard.

Runs of one name are one model, unless that would mix two: where runs of one task have the name but neither reference nor
digest in common, rows are told apart by reference; where they were set up differently (shots, decoding, number format), by
what differs. `--name` overrules all of this: models that get one label are one row.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from evalkit.errors import InvalidInputError
from evalkit.report.reading import StoredRun

PageKey: TypeAlias = tuple[str, int, str]
"""Task name, task version and data digest."""

NO_SETUP = frozenset(
    {"seed", "limit", "sample_ids", "split", "confidence", "resamples", "batch_size", "device", "decoding.seed"}
)
"""Settings in which runs of one model may differ: seeds, what is scored, and what changes no answer."""


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """One model with its runs."""

    name: str
    runs: tuple[StoredRun, ...]


def page_key(run: StoredRun) -> PageKey:
    """What runs must share to stand on one task page."""
    return str(run.record.task["name"]), int(run.record.task["version"]), str(run.record.data["digest"])


def rows(runs: Sequence[StoredRun], names: Sequence[str]) -> list[Row]:
    """Gather runs by model.

    Args:
        runs: All runs.
        names: ``PATTERN=LABEL`` rules; the first that matches a model's name gives its label.

    Returns:
        Rows in the order of their names.

    Raises:
        InvalidInputError: A rule has no ``=`` or no label, or matches no model.
    """
    rules = [_Rule.read(text) for text in names]
    labelled: dict[str, list[StoredRun]] = {}
    plain: dict[str, list[StoredRun]] = {}
    used: set[str] = set()
    for run in runs:
        name = str(run.record.model["name"])
        rule = next((rule for rule in rules if rule.matches(name)), None)
        if rule is None:
            plain.setdefault(name, []).append(run)
        else:
            used.add(rule.text)
            labelled.setdefault(rule.label_for(name), []).append(run)
    for rule in rules:
        if rule.text not in used:
            known = ", ".join(sorted(plain | labelled)[:10]) or "none"
            raise InvalidInputError(f"--name {rule.text!r} matches no model; models: {known}")
    found = [Row(name, tuple(members)) for name, members in labelled.items()]
    for name, members in plain.items():
        found += _split(name, members, avoid=labelled)
    parts = [part for row in found for part in _by_setup(row)]
    return _numbered(sorted(parts, key=lambda row: (row.name, row.runs[0].record.id)))


def _numbered(rows_of_all: Sequence[Row]) -> list[Row]:
    """Number rows whose names are equal all the same, so that every name stands for one model."""
    seen: dict[str, int] = {}
    result = []
    for row in rows_of_all:
        count = seen[row.name] = seen.get(row.name, 0) + 1
        result.append(row if count == 1 else Row(f"{row.name} #{count}", row.runs))
    return result


@dataclass(frozen=True, slots=True)
class _Rule:
    text: str
    pattern: re.Pattern[str]
    label: str

    @staticmethod
    def read(text: str) -> _Rule:
        pattern, equals, label = text.rpartition("=")
        if not equals or not pattern or not label.strip():
            raise InvalidInputError(f"--name {text!r} is no rule; expected PATTERN=LABEL, such as 'gpt-seed*=GPT'")
        # Each star of the label stands for what the pattern's star of the same place matched.
        parts = map(re.escape, pattern.split("*"))
        return _Rule(text, re.compile("(.*)".join(parts), re.DOTALL), label)

    def matches(self, name: str) -> bool:
        return self.pattern.fullmatch(name) is not None

    def label_for(self, name: str) -> str:
        match = self.pattern.fullmatch(name)
        assert match is not None
        matched = iter(match.groups())
        return re.sub(r"\*", lambda star: next(matched, star[0]), self.label)


def _split(name: str, runs: Sequence[StoredRun], avoid: Mapping[str, object]) -> list[Row]:
    """Tell models of one name apart by reference, where a task has runs of two of them."""
    components = _components(runs)
    pages = [{page_key(run) for run in members} for members in components]
    overlap = len(set().union(*pages)) < sum(map(len, pages))
    if not overlap and name not in avoid:
        return [Row(name, tuple(runs))]
    return [Row(f"{name} ({members[0].record.model['ref']})", tuple(members)) for members in components]


def _components(runs: Sequence[StoredRun]) -> list[list[StoredRun]]:
    """Gather runs that are linked by an equal reference or an equal digest."""
    groups: list[tuple[set[tuple[str, str]], list[StoredRun]]] = []
    for run in runs:
        marks = {(part, str(run.record.model[part])) for part in ("ref", "digest")}
        joined = [group for group in groups if group[0] & marks]
        groups = [group for group in groups if not group[0] & marks]
        members = [member for group in joined for member in group[1]]
        groups.append((marks.union(*(group[0] for group in joined)), [*members, run]))
    return [members for _, members in groups]


def _by_setup(row: Row) -> list[Row]:
    """Tell set-ups of one model apart, where a task was run in several."""
    flat = {run.record.id: dict(_flat(run.record.settings)) for run in row.runs}
    by_page: dict[PageKey, list[dict[str, Any]]] = {}
    for run in row.runs:
        by_page.setdefault(page_key(run), []).append(flat[run.record.id])
    varying = sorted({name for setups in by_page.values() for name in _differing(setups)})
    if not varying:
        return [row]
    parts: dict[str, list[StoredRun]] = {}
    for run in row.runs:
        setup = ", ".join(f"{name} {flat[run.record.id].get(name, 'unset')}" for name in varying)
        parts.setdefault(setup, []).append(run)
    return [Row(f"{row.name} ({setup})", tuple(members)) for setup, members in parts.items()]


def _flat(settings: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, str]]:
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        elif f"{prefix}{name}" not in NO_SETUP:
            yield f"{prefix}{name}", str(value)


def _differing(setups: Sequence[Mapping[str, str]]) -> Iterable[str]:
    for name in {name for setup in setups for name in setup}:
        if len({setup.get(name) for setup in setups}) > 1:
            yield name
