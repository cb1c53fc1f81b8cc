"""Gate results in words: one sentence a check that a person understands, tables for terminal and pull request, JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

from evalkit.comparison.bounds import Bounds
from evalkit.comparison.wording import clip, markdown, number, p_value, percent, plain_json
from evalkit.gate import Finding, GateResult, Verdict
from evalkit.gating.policy import FAIL, Check, Policy
from evalkit.table import format_table, printable

_COLUMNS = ("check", "verdict", "baseline", "candidate", "change", "bounds", "margin")


def reason(finding: Finding, policy: Policy) -> str:
    """Say in one sentence why a check has its verdict."""
    if finding.causes:
        return "; ".join(cause.detail for cause in finding.causes)
    if finding.breaks_floor:
        return _floor(finding)
    bounds = finding.bounds
    if bounds is None:
        return "the value is undefined, or there is only one independent unit: nothing can be said about a change"
    return _SENTENCES[finding.verdict](finding, bounds, policy)


def _floor(finding: Finding) -> str:
    check, value = finding.check, _value(finding, finding.candidate)
    if finding.candidate is None:
        return "the candidate's value is undefined, which keeps no floor"
    if check.minimum is not None and finding.candidate < check.minimum:
        return f"the candidate's {value} is below the floor of {_value(finding, check.minimum)}"
    return f"the candidate's {value} is above the limit of {_value(finding, check.maximum)}"


def _passed(finding: Finding, bounds: Bounds, policy: Policy) -> str:
    level = percent(1 - policy.alpha, 0)
    if not bounds.effect and not bounds.lower and not bounds.upper:
        return "no example changed the value"
    margin = f"the margin of {_margin(finding.check, finding)}"
    if bounds.lower >= 0:
        return f"{_change(finding, bounds.effect)}; with {level} confidence it is no worse"
    sentence = (
        f"{_change(finding, bounds.effect)}; with {level} confidence it lost less than {_amount(finding, -bounds.lower)},"
        f" within {margin}"
    )
    return f"{sentence}. Note: lower, inside the margin" if bounds.upper < 0 else sentence


def _regressed(finding: Finding, bounds: Bounds, policy: Policy) -> str:
    assert finding.check.margin is not None
    exceeds = "exceeds" if bounds.upper <= -finding.check.margin else "may exceed"
    return (
        f"{_change(finding, bounds.effect)}; the loss is real (p = {p_value(finding.p_holm)}, at least"
        f" {_amount(finding, -bounds.upper)} with {percent(1 - policy.alpha, 0)} confidence) and {exceeds} the margin of"
        f" {_margin(finding.check, finding)}"
    )


def _undecided(finding: Finding, bounds: Bounds, policy: Policy) -> str:
    assert finding.detectable is not None
    sentence = (
        f"{_change(finding, bounds.effect)}, which may be chance, but a loss of up to {_amount(finding, -bounds.lower)}"
        f" cannot be ruled out with {percent(1 - policy.alpha, 0)} confidence and the margin is"
        f" {_margin(finding.check, finding)}; this test set shows a loss of {_amount(finding, finding.detectable)} with"
        f" {percent(policy.power, 0)} power"
    )
    if finding.p_holm is not None and bounds.upper < 0:
        sentence = (
            f"{_change(finding, bounds.effect)}; alone this would be a loss, but it is not significant among all primary"
            f" checks (p = {p_value(finding.p_holm)} after Holm)"
        )
    return f"{sentence}; about {finding.needed:,} examples like these would decide"


_SENTENCES: dict[Verdict, Callable[[Finding, Bounds, Policy], str]] = {
    Verdict.PASS: _passed,
    Verdict.REGRESSED: _regressed,
    Verdict.INCONCLUSIVE: _undecided,
}


def _scale(finding: Finding) -> float:
    return finding.metric.scale if finding.metric else 1.0


def _value(finding: Finding, value: float | None) -> str:
    return number(value, _scale(finding))


def _amount(finding: Finding, amount: float) -> str:
    """A size on the scale of the margin; never a minus sign."""
    amount = max(0.0, amount)
    return percent(amount, 2) if finding.check.is_relative else number(amount, _scale(finding))


def _margin(check: Check, finding: Finding) -> str:
    return "-" if check.margin is None else _amount(finding, check.margin)


def _change(finding: Finding, effect: float) -> str:
    values = f"{_value(finding, finding.baseline)} to {_value(finding, finding.candidate)}"
    if not effect:
        return f"unchanged at {_value(finding, finding.candidate)}"
    return f"{'better' if effect > 0 else 'worse'} by {_amount(finding, abs(effect))} ({values})"


def _signed(finding: Finding, effect: float) -> str:
    """An effect with a sign, plus where the candidate is better."""
    if finding.check.is_relative:
        text = percent(effect, 2)
        return text.lstrip("-") if float(text.rstrip("%")) == 0 else text if effect < 0 else f"+{text}"
    return number(effect, _scale(finding), signed=True)


def _cells(finding: Finding) -> tuple[str, ...]:
    bounds = finding.bounds
    return (
        finding.name if finding.is_primary else f"{finding.name} (secondary)",
        str(finding.verdict),
        _value(finding, finding.baseline),
        _value(finding, finding.candidate),
        _signed(finding, bounds.effect) if bounds else "-",
        f"[{_signed(finding, bounds.lower)}, {_signed(finding, bounds.upper)}]" if bounds else "-",
        _margin(finding.check, finding),
    )


def headline(result: GateResult) -> str:
    """The one verdict, with what it means for the build."""
    if result.verdict is Verdict.INCONCLUSIVE:
        effect = "fails under" if result.policy.on_inconclusive == FAIL else "accepted by"
        return f"gate: inconclusive ({effect} on-inconclusive = {result.policy.on_inconclusive})"
    return f"gate: {result.verdict}"


def result_text(result: GateResult) -> str:
    """Lay out a result for a terminal; the last line is the verdict."""
    lines = [format_table(_COLUMNS, [_cells(finding) for finding in result.findings], frozenset({2, 3, 4, 5, 6})), ""]
    for finding in result.findings:
        lines.append(
            printable(f"{finding.name}: {_warning(finding)}{finding.verdict}: {reason(finding, result.policy)}.")
        )
        lines += [printable(f"  {line}") for line in _notes(finding)]
    lines += [printable(line) for line in _footer(result)]
    return "\n".join([*lines, "", headline(result)])


def _warning(finding: Finding) -> str:
    return "" if finding.is_primary or finding.verdict is Verdict.PASS else "warning only, "


def _notes(finding: Finding) -> Iterator[str]:
    for one in finding.accepted:
        yield f"accepted ({one.kind}): {one.detail}"
    if finding.bounds:
        units = f", {finding.units} independent clusters" if finding.units != finding.n else ""
        several = finding.runs != (1, 1)
        runs = f", {finding.runs[0]} baseline and {finding.runs[1]} candidate runs, t over runs" if several else ""
        yield f"n = {finding.n}{units}{runs}; {finding.bounds.method}"


def _footer(result: GateResult) -> Iterator[str]:
    policy = result.policy
    yield ""
    yield (
        f"policy: {policy.source}; alpha {policy.alpha:g}, {policy.resamples} resamples, seed {policy.seed};"
        " change and bounds: plus is better; regressed is adjusted by Holm over the primary checks"
    )
    if any(finding.check.margin is not None for finding in result.findings) and not policy.checks:
        yield "margins: defaults, 1 point of 100 (0.01 of 1), or 1% where the scale has no end or lower is better"
    if result.ignored:
        yield f"not checked: {', '.join(result.ignored)}"


def result_markdown(result: GateResult) -> str:
    """Lay out a result for a pull request; whatever data says is escaped."""
    lines = [f"### evalkit {headline(result)}", ""]
    lines += [f"| {' | '.join(_COLUMNS)} |", "|---|---|" + "---:|" * (len(_COLUMNS) - 2)]
    lines += [f"| {' | '.join(map(markdown, _cells(finding)))} |" for finding in result.findings]
    lines.append("")
    for finding in result.findings:
        sentence = f"{_warning(finding)}{finding.verdict}: {reason(finding, result.policy)}."
        lines.append(f"- **{markdown(finding.name)}** {markdown(sentence)}")
        lines += [f"  - {markdown(note)}" for note in _notes(finding)]
        lines += _markdown_changes(finding)
    lines += [markdown(line) for line in _footer(result)]
    return "\n".join(lines) + "\n"


def _markdown_changes(finding: Finding) -> Iterator[str]:
    if not finding.changed:
        return
    yield ""
    yield "  <details><summary>samples that moved it most</summary>"
    yield ""
    yield "  | example | effect | baseline | candidate |"
    yield "  |---|---:|---|---|"
    for change in finding.changed:
        cells = (
            change.id,
            number(change.effect, _scale(finding), signed=True),
            clip(change.first),
            clip(change.second),
        )
        yield f"  | {' | '.join(map(markdown, cells))} |"
    yield ""
    yield "  </details>"
    yield ""


def result_json(result: GateResult) -> dict[str, Any]:
    """One document: the verdict, its exit code, and every number behind it."""
    policy = asdict(result.policy)
    del policy["checks"]
    return {
        "verdict": str(result.verdict),
        "exit_code": result.exit_code,
        "policy": policy,
        "not_checked": list(result.ignored),
        "findings": [_finding_json(finding, result.policy) for finding in result.findings],
    }


def _finding_json(finding: Finding, policy: Policy) -> dict[str, Any]:
    document: dict[str, Any] = {
        **asdict(finding.check),
        "verdict": str(finding.verdict),
        "reason": reason(finding, policy),
        "causes": [asdict(cause) for cause in finding.causes],
        "accepted": [asdict(one) for one in finding.accepted],
        "baseline": finding.baseline,
        "candidate": finding.candidate,
        "higher_is_better": finding.metric.higher_is_better if finding.metric else None,
        "bounds": asdict(finding.bounds) if finding.bounds else None,
        "p_holm": finding.p_holm,
        "breaks_floor": finding.breaks_floor,
        "n": finding.n,
        "units": finding.units,
        "runs": {"baseline": finding.runs[0], "candidate": finding.runs[1]},
        "detectable": finding.detectable,
        "needed": finding.needed,
        "changed": [asdict(change) for change in finding.changed],
    }
    rounded: dict[str, Any] = plain_json(document)
    return rounded
