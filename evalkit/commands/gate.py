"""`evalkit gate`: does a candidate keep what the baseline reached? `evalkit gate plan`: can the test set tell?"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from evalkit.gating.policy import Policy

BASELINE = click.option(
    "--baseline", "baseline", multiple=True, metavar="RUN|NAME", help="Run folder, folder of runs, or baseline name."
)
POLICY = click.option("--policy", metavar="FILE", help="Gate policy, a TOML file; see docs/gate.md.")
BASELINES = click.option(
    "--baselines", default="baselines", show_default=True, metavar="DIR", help="Where baselines are kept."
)
ALPHA = click.option("--alpha", type=float, metavar="A", help="One-sided level of error instead of the policy's.")
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group(name="gate", invoke_without_command=True)
@BASELINE
@click.option(
    "--candidate", multiple=True, metavar="RUN", help="Run folder or folder of runs; several runs of a task are seeds."
)
@POLICY
@ALPHA
@click.option("--on-inconclusive", type=click.Choice(("pass", "fail")), help="Instead of the policy's.")
@click.option(
    "--allow", multiple=True, metavar="KIND", help="Accept one kind of difference between the runs; repeatable."
)
@click.option("--junit", metavar="FILE", help="Write a JUnit file.")
@click.option("--markdown", metavar="FILE", help="Write a Markdown summary, for a pull request.")
@BASELINES
@AS_JSON
@click.pass_context
def command(ctx: click.Context, /, baseline: tuple[str, ...], candidate: tuple[str, ...], **flags: Any) -> int:  # noqa: ANN401
    """Judge a candidate by a baseline: pass, regressed, inconclusive, incomplete or not comparable.

    Exit codes: 0 pass, or inconclusive where that is accepted; 1 regressed; 3 inconclusive; 4 not comparable; 5 incomplete.

    \b
    Example:
      evalkit gate --baseline main --candidate runs/20260101T000001.000000Z-mini_cws-max-match-4d5e6f
      evalkit gate --baseline main --candidate runs --policy gate.toml --junit gate.xml --markdown gate.md
      evalkit gate plan --baseline main --policy gate.toml
    """
    if ctx.invoked_subcommand is not None:
        return 0
    from evalkit.comparison.named_runs import find_runs
    from evalkit.comparison.pairing import check_allowed
    from evalkit.gate import judge
    from evalkit.gating.gate_text import result_json, result_markdown, result_text
    from evalkit.result_files import write_result

    require(baseline=baseline, candidate=candidate)
    policy = choose_policy(flags["policy"], alpha=flags["alpha"], on_inconclusive=flags["on_inconclusive"])
    allowed = check_allowed(flags["allow"])
    runs = [find_runs(names, flags["baselines"]) for names in (baseline, candidate)]
    result = judge(runs[0], runs[1], policy, allowed)
    if flags["junit"]:
        from evalkit.gating.junit import result_junit

        write_result(flags["junit"], result_junit(result))
    if flags["markdown"]:
        write_result(flags["markdown"], result_markdown(result))
    if flags["as_json"]:
        click.echo(json.dumps(result_json(result), ensure_ascii=False, indent=1, allow_nan=False))
    else:
        click.echo(result_text(result))
    return result.exit_code


@command.command(name="plan")
@BASELINE
@click.option(
    "--pilot", multiple=True, metavar="RUN", help="A run about as different from the baseline as candidates will be."
)
@click.option(
    "--correlation",
    type=float,
    metavar="R",
    help="Assumed correlation of baseline and candidate without a pilot [0.5].",
)
@POLICY
@ALPHA
@BASELINES
@AS_JSON
def plan_command(baseline: tuple[str, ...], pilot: tuple[str, ...], correlation: float | None, **flags: Any) -> None:  # noqa: ANN401
    """Say what the baseline's test set can decide: detectable losses, chances to pass, examples needed.

    \b
    Example:
      evalkit gate plan --baseline main --policy gate.toml
      evalkit gate plan --baseline main --pilot runs/20260101T000001.000000Z-mini_cws-max-match-4d5e6f
    """
    from evalkit.comparison.named_runs import find_runs
    from evalkit.gating.gate_plan import CORRELATION, plan, plan_json, plan_text

    require(baseline=baseline)
    policy = choose_policy(flags["policy"], alpha=flags["alpha"], on_inconclusive=None)
    runs, pilots = (find_runs(names, flags["baselines"]) for names in (baseline, pilot))
    planned = plan(runs, pilots, policy, CORRELATION if correlation is None else correlation)
    if flags["as_json"]:
        click.echo(json.dumps(plan_json(planned, policy), ensure_ascii=False, indent=1, allow_nan=False))
    else:
        click.echo(plan_text(planned, policy))


def require(**named: tuple[str, ...]) -> None:
    """Refuse a call without the runs that it is about.

    Raises:
        InvalidInputError: Which option is missing.
    """
    from evalkit.errors import InvalidInputError

    for name, values in named.items():
        if not values:
            raise InvalidInputError(
                f"gate: --{name} is missing; expected a run folder, a folder of runs or a baseline's name"
            )


def choose_policy(path: str | None, alpha: float | None, on_inconclusive: str | None) -> Policy:
    """The policy of a file, or the default one, with what the flags say."""
    from evalkit.gating.policy import Policy, read_policy

    policy = read_policy(path) if path else Policy()
    changes: dict[str, Any] = {}
    if alpha is not None:
        changes["alpha"] = alpha
    if on_inconclusive is not None:
        changes["on_inconclusive"] = on_inconclusive
    return replace(policy, **changes)
