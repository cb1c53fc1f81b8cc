"""`evalkit scaling optimal`: the best size and tokens of a budget, the least budget for a loss, and the ways back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from evalkit.commands.scaling_verbs.output import check_output, emit, output_options
from evalkit.errors import InvalidInputError
from evalkit.scaling.tables import Outcome, Table, Value, warnings_json

if TYPE_CHECKING:
    from evalkit.scaling import Fit
    from evalkit.scaling.estimates import Estimate
    from evalkit.scaling.optimal import Optimum
    from evalkit.scaling.warnings import ScalingWarning

_PARTS = ("C", "N", "D", "loss", "tokens_per_parameter", "epochs", "exponent")


@click.command(name="optimal")
@click.argument("fit", metavar="FIT.json")
@click.option("--compute", multiple=True, type=float, metavar="FLOPS", help="Budget; repeatable.")
@click.option("--target-loss", multiple=True, type=float, metavar="LOSS", help="Loss to reach; repeatable.")
@click.option("--N", "size", type=float, metavar="N", help="With --target-loss: tokens that this size needs.")
@click.option("--D", "tokens", type=float, metavar="D", help="With --target-loss: size that reaches it on D tokens.")
@click.option("--unique-tokens", type=float, metavar="U", help="Cap of unique data; the law 'repeated' alone.")
@click.option("--inference-tokens", type=float, default=0.0, metavar="T", help="Tokens to serve, at 2N FLOPs each.")
@click.option("--group", metavar="NAME", help="Group of a law that has an E for each.")
@output_options
def command(
    fit: str,
    compute: tuple[float, ...],
    target_loss: tuple[float, ...],
    size: float | None,
    tokens: float | None,
    **flags: Any,  # noqa: ANN401
) -> None:
    """Allocate a budget by a saved fit, or ask what a loss takes.

    \b
    Example:
      evalkit scaling optimal fit.json --compute 5.76e23
      evalkit scaling optimal fit.json --compute 1e22 --inference-tokens 1e12
      evalkit scaling optimal fit.json --target-loss 2.0 --N 7e9
    """
    output = {name: flags.pop(name) for name in ("form", "out", "as_json")}
    check_output(**output)
    from evalkit.commands.scaling_verbs.saved import load_saved

    if not (compute or target_loss):
        raise InvalidInputError("nothing asked for; expected --compute FLOPS or --target-loss LOSS")
    fitted = load_saved(fit).fit
    if size is not None or tokens is not None:
        emit(_inverse_outcome(fitted, compute, target_loss, (size, tokens), flags["group"]), **output)
        return
    questions: list[dict[str, Any]] = [{"C": budget} for budget in compute] + [{"loss": loss} for loss in target_loss]
    found = [fitted_optimum(fitted, question, flags) for question in questions]
    emit(optimal_outcome(fitted, found), **output)


def fitted_optimum(fitted: Fit, question: dict[str, Any], flags: dict[str, Any]) -> Optimum:
    """The best allocation of one budget, or for one loss."""
    from evalkit.scaling.optimal import optimal

    return optimal(fitted, **question, **flags)


def optimal_outcome(fitted: Fit, found: list[Optimum]) -> Outcome:
    """Allocations as a table with intervals."""
    rows: list[tuple[Value, ...]] = []
    for best in found:
        for name in _PARTS:
            one: Estimate | None = getattr(best, name)
            if one is not None:
                title = "exponent of N* in C" if name == "exponent" else name.replace("_", " ")
                rows.append(
                    (f"{title} at C = {best.C.value:.4g}" if len(found) > 1 else title, one.value, one.low, one.high)
                )
    warnings: tuple[ScalingWarning, ...] = tuple({warning: None for best in found for warning in best.warnings})
    document = {
        "optima": [
            {name: _estimate_json(getattr(best, name)) for name in _PARTS} | {"inference_tokens": best.inference_tokens}
            for best in found
        ],
        "level": fitted.level,
        "warnings": warnings_json(warnings),
    }
    title = f"Best allocation, C = 6ND, intervals at {100 * fitted.level:g}%"
    return Outcome(document, (Table(title, ("quantity", "value", "low", "high"), tuple(rows)),), warnings)


def _inverse_outcome(
    fitted: Fit,
    compute: tuple[float, ...],
    targets: tuple[float, ...],
    fixed: tuple[float | None, float | None],
    group: str | None,
) -> Outcome:
    from evalkit.scaling.optimal import size_for, tokens_for

    size, tokens = fixed
    if compute or not targets or (size is not None and tokens is not None):
        raise InvalidInputError("--N or --D goes with --target-loss; expected one of them, and no --compute")
    name, held = ("D", "N") if size is not None else ("N", "D")
    rows: list[tuple[Value, ...]] = []
    answers = []
    for loss in targets:
        if size is not None:
            found = tokens_for(fitted, loss, size, group)
        else:
            assert tokens is not None
            found = size_for(fitted, loss, tokens, group)
        rows.append((loss, size if size is not None else tokens, found.value, found.low, found.high))
        answers.append({"loss": loss, held: size if size is not None else tokens, name: _estimate_json(found)})
    title = f"{'Tokens' if name == 'D' else 'Parameters'} that reach a loss, intervals at {100 * fitted.level:g}%"
    return Outcome({"answers": answers}, (Table(title, ("loss", held, name, "low", "high"), tuple(rows), left=0),))


def _estimate_json(one: Estimate | None) -> dict[str, float | None] | None:
    return None if one is None else {"value": one.value, "low": one.low, "high": one.high}
