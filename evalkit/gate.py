"""The gate: is a candidate as good as the baseline? A verdict a check, one for all, and an exit code from it.

    not comparable   something differs that a comparison needs equal; checked first
    incomplete       a task, a metric or a run that the policy asks for is missing
    pass             L > -margin: with confidence 1 - alpha, the loss is within the margin
    regressed        L <= -margin and U < 0: there is a loss, and one beyond the margin cannot be ruled out
    inconclusive     L <= -margin and U >= 0: the test set is too small to tell

L and U are one-sided bounds of candidate minus baseline, oriented so that higher is better. A pass needs no correction for the
number of checks, for each must hold; "regressed" is adjusted by Holm over the primary checks, for any false alarm fails a build.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from evalkit.compare import stored_metric
from evalkit.comparison.bounds import Bounds, effect_bounds
from evalkit.comparison.loaded import LoadedRun
from evalkit.comparison.pairing import Mismatch, Sides, mismatches, signature_mismatches
from evalkit.comparison.significance import Measure, holm
from evalkit.comparison.subsets import Change, changed_samples
from evalkit.errors import InvalidInputError
from evalkit.gating.plan import detectable_drop, examples_needed
from evalkit.gating.policy import FAIL, PRIMARY, Check, Policy, default_margin
from evalkit.metrics.base import AnyMetric

SAMPLES = 3
"""Changed samples that a finding shows."""


class Verdict(StrEnum):
    """What the gate says, the gravest first."""

    NOT_COMPARABLE = "not comparable"
    INCOMPLETE = "incomplete"
    REGRESSED = "regressed"
    INCONCLUSIVE = "inconclusive"
    PASS = "pass"


EXIT_CODES: Mapping[Verdict, int] = {
    Verdict.NOT_COMPARABLE: 4,
    Verdict.INCOMPLETE: 5,
    Verdict.REGRESSED: 1,
    Verdict.INCONCLUSIVE: 3,
    Verdict.PASS: 0,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The verdict of one check, with everything that it rests on."""

    check: Check
    """The check with metric, value and margin filled in as far as they are known."""
    verdict: Verdict
    causes: tuple[Mismatch, ...] = ()
    """Why nothing could be computed."""
    accepted: tuple[Mismatch, ...] = ()
    """Differences between the runs that were allowed."""
    metric: AnyMetric | None = None
    baseline: float | None = None
    candidate: float | None = None
    bounds: Bounds | None = None
    p_holm: float | None = None
    """One-sided p of a loss, adjusted for the number of primary checks."""
    breaks_floor: bool = False
    n: int = 0
    units: int = 0
    runs: tuple[int, int] = (1, 1)
    """Number of baseline and of candidate runs."""
    detectable: float | None = None
    """The loss that this test set shows with the policy's power."""
    needed: int | None = None
    """Examples with which an equally good candidate passes with the policy's power."""
    changed: tuple[Change, ...] = ()
    """Samples that moved the value most; only where the check did not pass."""

    @property
    def name(self) -> str:
        """Task, metric and value."""
        parts = [self.check.task, self.check.metric, self.check.value]
        return " ".join(part for part in dict.fromkeys(parts) if part)

    @property
    def is_primary(self) -> bool:
        """Whether the check decides."""
        return self.check.role == PRIMARY


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """All findings and the one verdict from which the printed word and the exit code come."""

    verdict: Verdict
    findings: tuple[Finding, ...]
    policy: Policy
    ignored: tuple[str, ...] = ()
    """Tasks of the candidate that nothing asks for."""

    @property
    def exit_code(self) -> int:
        """The exit code of the command line."""
        if self.verdict is Verdict.INCONCLUSIVE and self.policy.on_inconclusive != FAIL:
            return 0
        return EXIT_CODES[self.verdict]


def judge(
    baselines: Sequence[LoadedRun],
    candidates: Sequence[LoadedRun],
    policy: Policy,
    allowed: frozenset[str] = frozenset(),
) -> GateResult:
    """Judge candidates by baselines; several candidate runs of a task are runs of one recipe.

    Args:
        baselines: Runs that stand for what was good enough.
        candidates: Runs to judge.
        policy: What to check.
        allowed: Kinds of difference between the runs that are accepted.

    Raises:
        InvalidInputError: There is nothing to check, or a run is named twice.
    """
    before, after = _by_task(baselines), _by_task(candidates)
    checks = policy.checks or tuple(Check(task=task) for task in before)
    if not checks:
        raise InvalidInputError("nothing to check: the baseline holds no run; name one with --baseline")
    by_task: dict[str, list[Check]] = {}
    for check in checks:
        by_task.setdefault(check.task, []).append(check)
    findings: list[Finding] = []
    for task, members in by_task.items():
        findings += _judge_task(members, before.get(task, []), after.get(task, []), policy, allowed)
    findings = [_explained(finding, before, after) for finding in _decide(findings, policy)]
    deciding = {finding.verdict for finding in findings if finding.is_primary}
    return GateResult(
        verdict=next((verdict for verdict in Verdict if verdict in deciding), Verdict.PASS),
        findings=tuple(findings),
        policy=policy,
        ignored=tuple(task for task in after if task not in by_task),
    )


def _by_task(runs: Sequence[LoadedRun]) -> dict[str, list[LoadedRun]]:
    grouped: dict[str, list[LoadedRun]] = {}
    for run in runs:
        members = grouped.setdefault(run.task, [])
        if any(run.record.id == member.record.id for member in members):
            raise InvalidInputError(f"run {run.record.id!r} is named twice; expected each run of a recipe once")
        members.append(run)
    return grouped


def _judge_task(
    checks: Sequence[Check],
    before: Sequence[LoadedRun],
    after: Sequence[LoadedRun],
    policy: Policy,
    allowed: frozenset[str],
) -> list[Finding]:
    missing = [side for side, runs in (("baseline", before), ("candidate", after)) if not runs]
    if missing:
        cause = Mismatch("task", f"no {' and no '.join(missing)} run of task {checks[0].task!r}")
        return [Finding(check=check, verdict=Verdict.INCOMPLETE, causes=(cause,)) for check in checks]
    runs = [*before, *after]
    found = list(dict.fromkeys(one for run in runs[1:] for one in mismatches(runs[0], run)))
    refused = tuple(one for one in found if one.kind not in allowed)
    sides = Sides.of(before, after)
    if not refused and not sides.n:
        refused = (Mismatch("examples", "the runs share no scored example"),)
    if refused:
        return [Finding(check=check, verdict=Verdict.NOT_COMPARABLE, causes=refused) for check in checks]
    accepted = tuple(one for one in found if one.kind in allowed)
    return [replace(_measure(check, sides, policy), accepted=accepted) for check in checks]


def _measure(check: Check, sides: Sides, policy: Policy) -> Finding:
    """Compute the bounds of one check; the verdict follows when all are known."""
    first = sides.first[0]
    main = first.record.main()
    label = check.metric or main.metric
    runs = (*sides.first, *sides.second)
    lacking = [run.place for run in runs if label not in run.statistics]
    if lacking:
        cause = Mismatch(
            "metric", f"metric {label!r} is not in {', '.join(lacking)}; known: {', '.join(first.statistics)}"
        )
        return Finding(check=check, verdict=Verdict.INCOMPLETE, causes=(cause,))
    differing = tuple(dict.fromkeys(one for run in runs[1:] for one in signature_mismatches(first, run, label)))
    if differing:
        return Finding(check=check, verdict=Verdict.NOT_COMPARABLE, causes=differing)
    metric = stored_metric(first, label)
    columns, tables = sides.tables(label)
    value = check.value or (main.name if check.metric is None else metric.headline[0])
    names = metric.score(tables[0].sum(axis=0), columns)
    if value not in names:
        cause = Mismatch("value", f"metric {label!r} has no value {value!r}; known: {', '.join(names)}")
        return Finding(check=check, verdict=Verdict.INCOMPLETE, causes=(cause,))
    margin, is_relative = (check.margin, check.is_relative) if check.margin is not None else default_margin(metric)
    filled = replace(check, metric=label, value=value, margin=margin, is_relative=is_relative)
    [pair] = sides.pairs([Measure(metric, columns, value, is_relative)], tables)
    [bounds] = effect_bounds([pair], sides.n, policy.alpha, policy.resamples, policy.seed)
    before, after = pair.values()
    return Finding(
        check=filled,
        verdict=Verdict.INCONCLUSIVE,
        metric=metric,
        baseline=before if math.isfinite(before) else None,
        candidate=after if math.isfinite(after) else None,
        bounds=bounds,
        breaks_floor=_breaks_floor(filled, after),
        n=sides.n,
        units=pair.units,
        runs=(len(sides.first), len(sides.second)),
    )


def _breaks_floor(check: Check, value: float) -> bool:
    """An undefined value is above no floor."""
    below = check.minimum is not None and not value >= check.minimum
    above = check.maximum is not None and not value <= check.maximum
    return below or above


def _decide(findings: Sequence[Finding], policy: Policy) -> list[Finding]:
    """Turn bounds into verdicts; p-values of primary checks are adjusted together, secondary ones stand for themselves."""
    p_values = [one.bounds.p_worse for one in findings if one.is_primary and one.bounds]
    adjusted = iter(holm(p_values))
    decided = []
    for finding in findings:
        if finding.metric is None:
            decided.append(finding)
            continue
        p_holm = None
        if finding.bounds:
            p_holm = next(adjusted) if finding.is_primary else finding.bounds.p_worse
        decided.append(_verdict(replace(finding, p_holm=p_holm), policy))
    return decided


def _verdict(finding: Finding, policy: Policy) -> Finding:
    bounds, margin = finding.bounds, finding.check.margin
    assert margin is not None
    if finding.breaks_floor:
        return replace(finding, verdict=Verdict.REGRESSED)
    if bounds is None or finding.p_holm is None:
        return replace(finding, verdict=Verdict.INCONCLUSIVE)
    if bounds.lower > -margin:
        return replace(finding, verdict=Verdict.PASS)
    if bounds.upper < 0 and finding.p_holm <= policy.alpha:
        return replace(finding, verdict=Verdict.REGRESSED)
    return replace(
        finding,
        verdict=Verdict.INCONCLUSIVE,
        detectable=detectable_drop(bounds.stderr, margin, policy.alpha, policy.power),
        needed=examples_needed(finding.n, bounds.stderr, margin, policy.alpha, policy.power),
    )


def _explained(
    finding: Finding, before: Mapping[str, Sequence[LoadedRun]], after: Mapping[str, Sequence[LoadedRun]]
) -> Finding:
    """Add the samples that moved the value most, where a check did not pass and each side is one run."""
    check = finding.check
    if finding.metric is None or finding.verdict is Verdict.PASS or finding.runs != (1, 1):
        return finding
    assert check.metric is not None
    assert check.value is not None
    sides = Sides.of(before[check.task], after[check.task])
    columns, _ = sides.tables(check.metric)
    measure = Measure(finding.metric, columns, check.value)
    return replace(finding, changed=tuple(changed_samples(sides, check.metric, measure, SAMPLES)))
