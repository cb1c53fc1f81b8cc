"""`gate plan`: for each check of a policy, what the baseline's test set can decide before anyone relies on it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from evalkit.compare import stored_metric
from evalkit.comparison.bounds import effect_bounds
from evalkit.comparison.draws import bootstrap_sums, spread
from evalkit.comparison.loaded import LoadedRun
from evalkit.comparison.pairing import Sides
from evalkit.comparison.significance import Measure, Paired
from evalkit.comparison.wording import number, percent, plain_json
from evalkit.errors import InvalidInputError, UnknownNameError
from evalkit.gating.plan import chance_to_pass, detectable_drop, examples_needed, power_of
from evalkit.gating.policy import Check, Policy, default_margin
from evalkit.table import format_table, printable

CORRELATION = 0.5
"""Assumed correlation of baseline and candidate where no second run shows it.

Pairs of published systems on the same test sets have 0.25 (exact match of two unlike readers) to 0.96 (two segmenters with the
same word list), half of them above 0.6; checkpoints of one recipe are more alike.
"""

FEW_UNITS = 30
"""Below, plans are warned about: reports/gate_errors.md shows what happens on 20 clusters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCheck:
    """What one check can decide; amounts are on the scale of the margin."""

    check: Check
    scale: float
    n: int
    units: int
    stderr: float | None
    """Standard error of the effect; None where it cannot be known."""
    basis: str
    """What the standard error was taken from."""
    detectable: float | None
    """The true loss that is called regressed with the policy's power."""
    power_at_twice: float | None
    """How often a true loss of twice the margin is called regressed."""
    chance_to_pass: float | None
    """How often a candidate that is exactly as good passes."""
    needed: int | None
    """Examples with which it would pass with the policy's power."""

    @property
    def can_decide(self) -> bool:
        """Whether a candidate that is exactly as good passes often enough."""
        return self.needed is not None and self.needed <= self.n


def plan(
    baselines: Sequence[LoadedRun], pilots: Sequence[LoadedRun], policy: Policy, correlation: float
) -> list[PlannedCheck]:
    """Plan every check of a policy, or the main value of every task.

    Args:
        baselines: Runs that will be the baseline.
        pilots: Runs of the same tasks that are as different from the baseline as candidates will be, if there are any.
        policy: Checks, alpha and power.
        correlation: Assumed where a task has no pilot.

    Raises:
        InvalidInputError: A task, metric or value of the policy is not in the baseline, or the correlation is none.
    """
    if not -1 <= correlation < 1:
        raise InvalidInputError(f"correlation is {correlation}; expected from -1 to below 1, such as {CORRELATION}")
    tasks = {run.task: run for run in reversed(baselines)}
    others = {run.task: run for run in reversed(pilots)}
    for run in baselines:
        if run is not tasks[run.task]:
            others.setdefault(run.task, run)
    checks = policy.checks or tuple(Check(task=task) for task in tasks)
    planned = []
    for check in checks:
        if check.task not in tasks:
            raise UnknownNameError("task of the policy", check.task, tasks)
        planned.append(_plan(check, tasks[check.task], others.get(check.task), policy, correlation))
    return planned


def _plan(
    check: Check, baseline: LoadedRun, pilot: LoadedRun | None, policy: Policy, correlation: float
) -> PlannedCheck:
    main = baseline.record.main()
    label = check.metric or main.metric
    for run in (baseline, *([pilot] if pilot else [])):
        if label not in run.statistics:
            raise UnknownNameError(f"metric of {run.place}", label, run.statistics)
    metric = stored_metric(baseline, label)
    sides = Sides.of([baseline], [pilot or baseline])
    columns, tables = sides.tables(label)
    value = check.value or (main.name if check.metric is None else metric.headline[0])
    names = metric.score(tables[0].sum(axis=0), columns)
    if value not in names:
        raise UnknownNameError(f"value of metric {label!r}", value, names)
    margin, is_relative = (check.margin, check.is_relative) if check.margin is not None else default_margin(metric)
    [pair] = sides.pairs([Measure(metric, columns, value, is_relative)], tables)
    if pilot is None:
        stderr, basis = _own(pair, policy) * math.sqrt(2 * (1 - correlation)), f"assumed correlation {correlation:g}"
    else:
        [bounds] = effect_bounds([pair], sides.n, policy.alpha, policy.resamples, policy.seed)
        stderr, basis = (bounds.stderr if bounds else math.nan), f"paired with {pilot.name}"
    known = math.isfinite(stderr)
    return PlannedCheck(
        check=replace(check, metric=label, value=value, margin=margin, is_relative=is_relative),
        scale=metric.scale,
        n=sides.n,
        units=pair.units,
        stderr=stderr if known else None,
        basis=basis,
        detectable=detectable_drop(stderr, margin, policy.alpha, policy.power) if known else None,
        power_at_twice=power_of(2 * margin, stderr, margin, policy.alpha) if known else None,
        chance_to_pass=chance_to_pass(stderr, margin, policy.alpha) if known else None,
        needed=examples_needed(sides.n, stderr, margin, policy.alpha, policy.power) if known else None,
    )


def _own(pair: Paired, policy: Policy) -> float:
    """Standard error of one system's value, relative to it where the margin is."""
    table, measure = pair.first[0], pair.measure
    if len(table) < 2:
        return math.nan
    values = measure.score(bootstrap_sums(table, policy.resamples, policy.seed))
    values = values[np.isfinite(values)]
    if len(values) < 2:
        return math.nan
    deviation = float(values.std(ddof=1)) * spread(len(table))
    if not measure.is_relative:
        return deviation
    value = abs(float(measure.score(table.sum(axis=0))))
    return deviation / value if value else math.nan


def plan_text(planned: Sequence[PlannedCheck], policy: Policy) -> str:
    """Lay out a plan; the last lines warn of margins that cannot be decided."""
    header = (
        "check",
        "n",
        "margin",
        "stderr",
        "shows a loss of",
        "sees 2 margins",
        "equal passes",
        "n needed",
        "stderr from",
    )
    rows = [
        (
            _name(one.check),
            str(one.n),
            _amount(one, one.check.margin),
            _amount(one, one.stderr),
            _amount(one, one.detectable),
            "-" if one.power_at_twice is None else percent(one.power_at_twice, 0),
            "-" if one.chance_to_pass is None else percent(one.chance_to_pass, 0),
            "-" if one.needed is None else f"{one.needed:,}",
            one.basis,
        )
        for one in planned
    ]
    lines = [
        f"alpha {policy.alpha:g}, power {percent(policy.power, 0)}; 'shows a loss of': called regressed with this power;"
        " 'sees 2 margins': how often a true loss of twice the margin is called so; 'equal passes': how often"
        " a candidate that is exactly as good passes",
        "",
        format_table(header, rows, frozenset({1, 2, 3, 4, 5, 6, 7})),
    ]
    warnings = [printable(warning) for warning in plan_warnings(planned, policy)]
    return "\n".join([*lines, *([""] if warnings else []), *warnings])


def plan_warnings(planned: Sequence[PlannedCheck], policy: Policy) -> list[str]:
    """Say which margins this test set cannot decide, and what would help."""
    return [
        f"warning: {_name(one.check)}: {concern}" for one in planned if (concern := _concern(one, policy)) is not None
    ]


def _concern(one: PlannedCheck, policy: Policy) -> str | None:
    if one.needed is None:
        return "nothing can be planned, for the value is undefined or there is one independent unit only"
    if not one.can_decide:
        return (
            f"a margin of {_amount(one, one.check.margin)} cannot be decided with {one.n} examples: an equally good candidate"
            f" passes {percent(one.chance_to_pass or 0, 0)} of the time; take a margin of"
            f" {_amount(one, _decidable(one, policy))} or {one.needed:,} examples"
        )
    if one.units < FEW_UNITS:
        return (
            f"planned with {one.units} independent units; with so few, the true power can be ten points above or below"
            " the planned one"
        )
    return None


def _decidable(one: PlannedCheck, policy: Policy) -> float:
    """The smallest margin that an equally good candidate keeps with the policy's power, rounded up to two digits."""
    assert one.check.margin is not None
    assert one.needed is not None
    margin = one.check.margin * math.sqrt(one.needed / one.n)
    step = 10.0 ** (math.floor(math.log10(margin)) - 1)
    return float(math.ceil(margin / step) * step)


def _name(check: Check) -> str:
    return " ".join(part for part in dict.fromkeys([check.task, check.metric, check.value]) if part)


def _amount(one: PlannedCheck, amount: float | None) -> str:
    if amount is None:
        return "-"
    return percent(amount, 2) if one.check.is_relative else number(amount, one.scale)


def plan_json(planned: Sequence[PlannedCheck], policy: Policy) -> dict[str, Any]:
    """One document with all numbers and warnings."""
    rows = [{**asdict(one.check), **asdict(one), "can_decide": one.can_decide} for one in planned]
    for row in rows:
        del row["check"]
    document: dict[str, Any] = plain_json(
        {"alpha": policy.alpha, "power": policy.power, "checks": rows, "warnings": plan_warnings(planned, policy)}
    )
    return document
