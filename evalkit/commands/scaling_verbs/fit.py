"""`evalkit scaling fit`: a law with its parameters, intervals, sensitivity and warnings."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from evalkit.commands.scaling_verbs.inputs import PointFlags, load_points, pairs, point_options
from evalkit.commands.scaling_verbs.output import check_output, emit, output_options
from evalkit.errors import InvalidInputError
from evalkit.result_files import write_result
from evalkit.scaling.tables import Outcome, render

if TYPE_CHECKING:
    from evalkit.scaling import Constraints, Fit, Intervals, Points

_OPTIONS = (
    click.option("--law", default="chinchilla", show_default=True, metavar="LAW", help="See docs/scaling.md."),
    click.option("--loss", default="huber", show_default=True, metavar="LOSS", help="What is minimised."),
    click.option("--delta", type=float, default=1e-3, show_default=True, help="Width of a Huber loss."),
    click.option("--fix", multiple=True, metavar="NAME=VALUE", help="A parameter that is not fitted; repeatable."),
    click.option("--bound", multiple=True, metavar="NAME=LOW:HIGH", help="Bounds of a parameter; repeatable."),
    click.option("--prior", multiple=True, metavar="NAME=CENTRE:SD", help="Normal prior of a parameter; repeatable."),
    click.option("--intervals", "method", default="auto", show_default=True, help="Method, or none."),
    click.option("--confidence", type=float, default=0.95, show_default=True, help="Level of the intervals."),
    click.option("--resamples", type=int, default=1000, show_default=True, help="Resamples of a bootstrap."),
    click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the resampling."),
)


def law_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the flags that say which law is fitted, and how."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


LAW_FLAGS = ("law", "loss", "delta", "fix", "bound", "prior", "method", "confidence", "resamples", "seed")
"""Names of what `law_options` gives."""


@click.command(name="fit")
@point_options
@law_options
@click.option("--sensitivity/--no-sensitivity", default=True, show_default=True, help="Fit under other losses too.")
@click.option("--accuracy", metavar="COLUMN", help="Also fit accuracy from loss, the second step of two.")
@click.option("--accuracy-points", metavar="FILE", help="CSV with losses and accuracies, where it is another one.")
@click.option("--accuracy-form", default="sigmoid", show_default=True, help="sigmoid, log-sigmoid or exp.")
@click.option("--accuracy-range", default="0:1", show_default=True, metavar="LOW:HIGH", help="Chance and best score.")
@click.option("--one-step", is_flag=True, help="Fit --accuracy to N and D alone, without a loss.")
@click.option("--items", metavar="COLUMN", help="Test items behind each accuracy, for binomial weights.")
@click.option("--save", metavar="FILE", help="Keep the fit as JSON, for predict, optimal and plot.")
@output_options
def command(points: PointFlags, sensitivity: bool, save: str | None, **flags: Any) -> None:  # noqa: ANN401
    """Fit a scaling law to training runs, and say how sure its parameters are.

    \b
    Example:
      evalkit scaling fit runs.csv --column N=params --column D=tokens --save fit.json
      evalkit scaling fit runs --task mini_lm --law offset_n
      evalkit scaling fit ladder.csv --column loss=task_bpb --loss-unit bits/byte --accuracy acc --accuracy-range 0.25:1
    """
    output = {name: flags.pop(name) for name in ("form", "out", "as_json")}
    check_output(output["form"], output["out"], output["as_json"], save)
    law = {name: flags.pop(name) for name in LAW_FLAGS}
    if flags.pop("one_step"):
        outcome = single_step(points, law, **flags)
    else:
        outcome = two_step(points, law, has_sensitivity=sensitivity, **flags)
    if save is not None:
        write_result(save, render(outcome, "json"))
    emit(outcome, **output)


def two_step(points: PointFlags, law: dict[str, Any], *, has_sensitivity: bool, **second: Any) -> Outcome:  # noqa: ANN401
    """Fit a law, and accuracy to its loss where that is asked for."""
    from evalkit.commands.scaling_verbs.fit_outcome import fit_outcome
    from evalkit.commands.scaling_verbs.second_step import read_second_step

    link = read_second_step(points, **second)
    return fit_outcome(fit_points(load_points(points), **law), link, has_sensitivity=has_sensitivity)


def single_step(
    points: PointFlags,
    law: dict[str, Any],
    *,
    accuracy: str | None,
    accuracy_range: str,
    **others: Any,  # noqa: ANN401
) -> Outcome:
    """Fit accuracies to N and D alone.

    Raises:
        InvalidInputError: No column of accuracies is named, or a flag of two steps is given.
    """
    from evalkit.commands.scaling_verbs.single_step import read_single, single_outcome

    if accuracy is None or others["accuracy_points"] is not None or others["items"] is not None:
        raise InvalidInputError("--one-step goes with --accuracy, without --accuracy-points and --items")
    resamples = 0 if law["method"] == "none" else law["resamples"]
    return single_outcome(read_single(points, accuracy, accuracy_range, resamples, law["confidence"]))


def fit_points(points: Points, *, law: str, loss: str, delta: float, **flags: Any) -> Fit:  # noqa: ANN401
    """Fit what the flags of `law_options` say."""
    from evalkit.scaling import fit

    constraints, intervals = read_constraints(flags["fix"], flags["bound"], flags["prior"]), read_intervals(flags)
    return fit(points, law, loss, delta=delta, constraints=constraints, intervals=intervals)


def read_intervals(flags: dict[str, Any]) -> Intervals | None:
    """How intervals are made; None for none."""
    from evalkit.scaling import Intervals

    if flags["method"] == "none":
        return None
    return Intervals(
        method=flags["method"], level=flags["confidence"], resamples=flags["resamples"], seed=flags["seed"]
    )


def read_constraints(fix: tuple[str, ...], bound: tuple[str, ...], prior: tuple[str, ...]) -> Constraints | None:
    """What is known of parameters; None for nothing.

    Raises:
        InvalidInputError: A flag cannot be read.
    """
    from evalkit.scaling import Constraints

    if not (fix or bound or prior):
        return None
    fixed = {name: number("--fix", name, text) for name, text in pairs("--fix", fix, "alpha=0.34").items()}
    bounds = {name: ends("--bound", text) for name, text in pairs("--bound", bound, "E=0:2").items()}
    priors = {}
    for name, text in pairs("--prior", prior, "E=1.7:0.1").items():
        centre, spread = ends("--prior", text)
        if centre is None or spread is None:
            raise InvalidInputError(f"--prior {name}={text}; expected a centre and a standard deviation: E=1.7:0.1")
        priors[name] = (centre, spread)
    return Constraints(fixed=fixed, bounds=bounds, priors=priors)


def ends(flag: str, text: str) -> tuple[float | None, float | None]:
    """Read LOW:HIGH; an end that is left out is None.

    Raises:
        InvalidInputError: It is no such pair.
    """
    low, colon, high = text.partition(":")
    if not colon:
        raise InvalidInputError(f"{flag} has {text!r}; expected two numbers with a colon between them, such as 0:2")
    return tuple(number(flag, text, end) if end.strip() else None for end in (low, high))  # type: ignore[return-value]


def number(flag: str, name: str, text: str) -> float:
    """Read a finite number.

    Raises:
        InvalidInputError: It is none.
    """
    import math

    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InvalidInputError(f"{flag} {name} has {text!r}; expected a finite number")
    return value
