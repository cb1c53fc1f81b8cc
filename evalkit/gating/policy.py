"""Gate policies: which values are checked, by which margins and floors, read from a TOML file that refuses what it does not know.

alpha = 0.05                   # one-sided level of error
on-inconclusive = "pass"       # or "fail"

[[check]]
task = "mini_cws"
metric = "cws"                 # the task's main metric if left out
value = "f1"                   # the metric's main value if left out
margin = 0.01                  # on the scale that evalkit prints, or "1%" of the baseline's value
min = 0.62                     # floor; max where lower is better
role = "primary"               # or "secondary": warns only
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evalkit.errors import DataError, InvalidInputError, UnknownNameError
from evalkit.metrics.base import AnyMetric
from evalkit.toml_files import read_toml

PRIMARY, SECONDARY = "primary", "secondary"
PASS, FAIL = "pass", "fail"

DEFAULT_POINTS = 0.01
"""Default margin as a share of a bounded scale: 1 point of 100, or 0.01 of 1."""
DEFAULT_RELATIVE = 0.01
"""Default margin where the scale has no end, as for perplexity: 1% of the baseline's value."""

_KEYS = ("alpha", "power", "on-inconclusive", "resamples", "seed", "check")
_CHECK_KEYS = ("task", "metric", "value", "margin", "min", "max", "role")


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One value of one task that must hold."""

    task: str
    metric: str | None = None
    """Label of the metric; None for the task's main one."""
    value: str | None = None
    """Name of the value; None for the metric's main one."""
    margin: float | None = None
    """A fall up to here is accepted; None for the default."""
    is_relative: bool = False
    """Whether the margin is a share of the baseline's value."""
    minimum: float | None = None
    """The candidate's value must not be below."""
    maximum: float | None = None
    """The candidate's value must not be above."""
    role: str = PRIMARY
    """``primary`` checks decide, ``secondary`` ones only warn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What the gate checks, and how strictly."""

    checks: tuple[Check, ...] = ()
    """Empty for the main value of every task, with the default margin."""
    alpha: float = 0.05
    """One-sided level of error of each bound."""
    power: float = 0.8
    """Chance that plans are made for."""
    on_inconclusive: str = PASS
    """Whether an undecided check lets a candidate pass."""
    resamples: int = 10_000
    seed: int = 0
    source: str = field(default="defaults")
    """Where the policy comes from, for messages."""

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 0.5:
            raise InvalidInputError(f"{self.source}: alpha is {self.alpha}; expected between 0 and 0.5, such as 0.05")
        if not 0 < self.power < 1:
            raise InvalidInputError(f"{self.source}: power is {self.power}; expected between 0 and 1, such as 0.8")
        if self.on_inconclusive not in (PASS, FAIL):
            raise InvalidInputError(
                f"{self.source}: on-inconclusive is {self.on_inconclusive!r}; expected 'pass' or 'fail'"
            )
        if self.resamples < 1000:
            raise InvalidInputError(f"{self.source}: resamples is {self.resamples}; expected 1000 or more")
        if self.seed < 0:
            raise InvalidInputError(f"{self.source}: seed is {self.seed}; expected 0 or more")


def read_policy(path: Path | str) -> Policy:
    """Read a policy file.

    Raises:
        DataError: The file cannot be read.
        InvalidInputError: A key is not known, or a value cannot be what it should be.
    """
    document = read_toml(path, "a gate policy such as docs/gate.md shows")
    _known(document, _KEYS, f"{path}: key of a gate policy")
    checks = document.get("check", [])
    if not isinstance(checks, list) or not all(isinstance(check, dict) for check in checks):
        raise DataError(path, "'check' is no list of tables; expected one [[check]] for each value")
    if not checks:
        raise DataError(path, "no [[check]]; expected at least one, with task and margin")
    settings = {key.replace("-", "_"): value for key, value in document.items() if key != "check"}
    _typed(settings, {"alpha": float, "power": float, "on_inconclusive": str, "resamples": int, "seed": int}, path)
    parsed = tuple(_check(check, f"{path}: check {number}") for number, check in enumerate(checks, start=1))
    _unique(parsed, path)
    return Policy(checks=parsed, source=str(path), **settings)


def _known(table: Mapping[str, Any], known: Sequence[str], what: str) -> None:
    for key in table:
        if key not in known:
            raise UnknownNameError(what, key, known)


def _typed(table: Mapping[str, Any], types: Mapping[str, type], place: Path | str) -> None:
    for key, kind in types.items():
        value = table.get(key)
        if value is None and key not in table:
            continue
        is_good = isinstance(value, int | float) if kind is float else isinstance(value, kind)
        if not is_good or isinstance(value, bool) or (isinstance(value, float) and not math.isfinite(value)):
            wanted = {float: "a number", int: "a whole number", str: "a string"}[kind]
            raise InvalidInputError(f"{place}: {key.replace('_', '-')} is {value!r}; expected {wanted}")


def _check(table: Mapping[str, Any], place: str) -> Check:
    _known(table, _CHECK_KEYS, f"{place}: key")
    if "task" not in table:
        raise InvalidInputError(f'{place} names no task; expected task = "NAME"')
    types = {"task": str, "metric": str, "value": str, "min": float, "max": float, "role": str}
    _typed(table, types, place)
    role = table.get("role", PRIMARY)
    if role not in (PRIMARY, SECONDARY):
        raise UnknownNameError(f"{place}: role", role, (PRIMARY, SECONDARY))
    if "value" in table and "metric" not in table:
        raise InvalidInputError(f'{place} names value {table["value"]!r} of no metric; add metric = "NAME"')
    margin, is_relative = _margin(table.get("margin"), place)
    return Check(
        task=table["task"],
        metric=table.get("metric"),
        value=table.get("value"),
        margin=margin,
        is_relative=is_relative,
        minimum=table.get("min"),
        maximum=table.get("max"),
        role=role,
    )


def _margin(value: object, place: str) -> tuple[float | None, bool]:
    if value is None:
        return None, False
    wanted = f'{place}: margin is {value!r}; expected a number above 0, or a percentage such as "1%"'
    is_relative = isinstance(value, str) and value.endswith("%")
    try:
        number = float(value[:-1]) / 100 if isinstance(value, str) and is_relative else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise InvalidInputError(wanted) from error
    if isinstance(value, bool) or (isinstance(value, str) and not is_relative):
        raise InvalidInputError(wanted)
    if not 0 < number < math.inf:
        raise InvalidInputError(wanted)
    return number, is_relative


def _unique(checks: Sequence[Check], path: Path | str) -> None:
    seen: set[tuple[str, str | None, str | None]] = set()
    for check in checks:
        key = (check.task, check.metric, check.value)
        if key in seen:
            named = " ".join(part for part in key if part)
            raise DataError(path, f"two checks of {named}; expected one")
        seen.add(key)


def default_margin(metric: AnyMetric) -> tuple[float, bool]:
    """The margin of a check that states none, and whether it is relative."""
    high = metric.range[1]
    if high is None or not metric.higher_is_better:
        return DEFAULT_RELATIVE, True
    return DEFAULT_POINTS * (metric.scale if metric.scale != 1 else high), False
