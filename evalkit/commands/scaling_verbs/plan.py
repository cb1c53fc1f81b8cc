"""`evalkit scaling plan`: which runs to train next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from evalkit.commands.scaling_verbs.fit import ends
from evalkit.commands.scaling_verbs.inputs import pairs
from evalkit.commands.scaling_verbs.output import check_output, emit, output_options
from evalkit.errors import InvalidInputError
from evalkit.scaling.tables import Outcome, Table, Value

if TYPE_CHECKING:
    from evalkit.scaling.planning import Plan


@click.command(name="plan")
@click.argument("fit", metavar="FIT.json")
@click.option("--budget", type=float, required=True, metavar="FLOPS", help="Compute for all runs together.")
@click.option("--runs", type=int, default=4, show_default=True, help="How many runs.")
@click.option("--compute", type=float, metavar="FLOPS", help="Make the best size for this budget certain.")
@click.option("--N", "size", type=float, metavar="N", help="Make the loss of a model of this size certain, with --D.")
@click.option("--D", "tokens", type=float, metavar="D", help="And of so many tokens.")
@click.option("--within", multiple=True, metavar="AXIS=LOW:HIGH", help="Limits of N or D of the runs; repeatable.")
@output_options
def command(fit: str, budget: float, runs: int, compute: float | None, **flags: Any) -> None:  # noqa: ANN401
    """Choose runs that make a prediction, or the best size for a budget, most certain for their cost.

    \b
    Example:
      evalkit scaling plan fit.json --budget 1e20 --compute 1e23
      evalkit scaling plan fit.json --budget 1e20 --runs 6 --N 7e10 --D 1.4e12 --within N=1e7:2e9
    """
    output = {name: flags.pop(name) for name in ("form", "out", "as_json")}
    check_output(output["form"], output["out"], output["as_json"])
    from evalkit.commands.scaling_verbs.saved import load_saved
    from evalkit.scaling.planning import suggest_runs

    size, tokens = flags["size"], flags["tokens"]
    if (compute is None) == (size is None and tokens is None) or (size is None) != (tokens is None):
        raise InvalidInputError("expected what shall become certain: --compute FLOPS, or both of --N and --D")
    at = None if size is None else {"N": size, "D": tokens}
    limits = read_limits(flags["within"])
    emit(plan_outcome(suggest_runs(load_saved(fit).fit, budget, runs=runs, at=at, C=compute, within=limits)), **output)


def read_limits(within: tuple[str, ...]) -> dict[str, tuple[float, float]] | None:
    """Limits of the runs' axes; None for none.

    Raises:
        InvalidInputError: One is no pair of numbers.
    """
    found = {}
    for name, text in pairs("--within", within, "N=1e7:1e9").items():
        low, high = ends("--within", text)
        if name not in ("N", "D") or low is None or high is None or not 0 < low < high:
            raise InvalidInputError(f"--within {name}={text}; expected limits of N or D such as N=1e7:1e9")
        found[name] = (low, high)
    return found or None


def plan_outcome(plan: Plan) -> Outcome:
    """Lay out a plan."""
    rows: tuple[tuple[Value, ...], ...] = tuple((run.N, run.D, run.C, run.D / run.N) for run in plan.runs)
    before, after = (100 * width for width in (plan.half_width_before, plan.half_width_after))
    note = f"The interval of the {plan.target}: now +-{before:.3g}%, with these runs +-{after:.3g}% (to first order)."
    document = {
        "target": plan.target,
        "runs": [{"N": run.N, "D": run.D, "C": run.C} for run in plan.runs],
        "spent": plan.spent,
        "half_width_before": plan.half_width_before,
        "half_width_after": plan.half_width_after,
    }
    title = f"Runs to train next, {plan.spent:.4g} FLOPs together"
    return Outcome(document, (Table(title, ("N", "D", "C", "D/N"), rows, left=0),), notes=(note,))
