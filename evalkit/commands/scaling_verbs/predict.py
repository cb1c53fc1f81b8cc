"""`evalkit scaling predict`: losses, and accuracies where the fit has a second step, at sizes and tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from evalkit.commands.scaling_verbs.output import check_output, emit, output_options
from evalkit.errors import InvalidInputError
from evalkit.scaling.tables import Outcome, Table, Value, warnings_json

if TYPE_CHECKING:
    from evalkit.commands.scaling_verbs.saved import Saved
    from evalkit.scaling.arrays import FloatArray
    from evalkit.scaling.bands import Band

_AXES = ("N", "D", "C", "U")
_MOST = 1e60
"""Beyond it products leave the range of floating point."""


@click.command(name="predict")
@click.argument("fit", metavar="FIT.json")
@click.option("--N", "sizes", multiple=True, type=float, metavar="N", help="Parameters; repeatable.")
@click.option("--D", "tokens", multiple=True, type=float, metavar="D", help="Training tokens; repeatable.")
@click.option("--C", "compute", multiple=True, type=float, metavar="C", help="Training FLOPs; repeatable.")
@click.option("--U", "unique", multiple=True, type=float, metavar="U", help="Unique tokens; repeatable.")
@click.option("--group", metavar="NAME", help="Group of a law that has an E for each.")
@click.option("--kind", default="run", show_default=True, help="Band of the mean, or of one new run.")
@click.option("--confidence", type=float, metavar="LEVEL", help="Level of the band.  [default: the fit's]")
@output_options
def command(fit: str, group: str | None, kind: str, confidence: float | None, **flags: Any) -> None:  # noqa: ANN401
    """Predict losses of a saved fit, with a band and how far they lie beyond the runs.

    Of each flag there may be one value, or as many as of the others.

    \b
    Example:
      evalkit scaling predict fit.json --N 7e10 --D 1.4e12
      evalkit scaling predict fit.json --N 1e9 --N 1e10 --D 2e11 --kind mean --json
    """
    output = {name: flags.pop(name) for name in ("form", "out", "as_json")}
    check_output(**output)
    from evalkit.commands.scaling_verbs.saved import load_saved, load_single
    from evalkit.commands.scaling_verbs.single_step import single_predictions

    given = dict(zip(_AXES, (flags["sizes"], flags["tokens"], flags["compute"], flags["unique"]), strict=True))
    single = load_single(fit)
    if single is not None:
        emit(single_predictions(single, places("one step", ("N", "D"), (), given)), **output)
        return
    saved = load_saved(fit)
    law = saved.fit.law
    at = places(law.formula, law.predictors, law.optional, given)
    emit(predict_outcome(saved, at, group, kind, confidence), **output)


def places(
    formula: str, wanted: tuple[str, ...], optional: tuple[str, ...], given: Mapping[str, tuple[float, ...]]
) -> dict[str, FloatArray]:
    """Values of a law's axes, `(m,)` each.

    Args:
        formula: The law, for messages.
        wanted: Axes that it needs.
        optional: Axes that it can use.
        given: Axis to the values of its flag.

    Raises:
        InvalidInputError: An axis of the law is missing, another one is given, or numbers of values do not fit.
    """
    import numpy as np

    allowed = (*wanted, *optional)
    named = {name: values for name, values in given.items() if values}
    if wanted == ("C",):
        allowed = (*allowed, "N", "D")  # C = 6ND
    missing = [name for name in wanted if name not in named and not (name == "C" and {"N", "D"} <= set(named))]
    if missing:
        raise InvalidInputError(f"--{missing[0]} is missing; the law {formula} is a function of {', '.join(wanted)}")
    if others := [name for name in named if name not in allowed]:
        raise InvalidInputError(f"--{others[0]} is given; the law {formula} is a function of {', '.join(wanted)} alone")
    for name, values in named.items():
        if max(values) > _MOST:
            raise InvalidInputError(f"--{name} is {max(values)!r}; expected at most {_MOST:g}")
    count = max(map(len, named.values()))
    for name, values in named.items():
        if len(values) not in (1, count):
            raise InvalidInputError(f"--{name} has {len(values)} values and others {count}; expected one, or as many")
    return {name: np.broadcast_to(np.array(values), (count,)).copy() for name, values in named.items()}


def predict_outcome(
    saved: Saved, at: Mapping[str, FloatArray], group: str | None, kind: str, level: float | None
) -> Outcome:
    """Predictions as a table."""
    where: dict[str, Any] = {**at, **({"group": group} if group is not None else {})}
    band = saved.fit.predict_interval(where, kind=kind, level=level)
    accuracies = None if saved.second is None else _accuracies(saved, where, band)
    names = [name for name in _AXES if name in at]
    rows: list[tuple[Value, ...]] = []
    for place, center in enumerate(band.center):
        row: list[Value] = [float(at[name][place]) for name in names]
        row += [float(center), float(band.low[place]), float(band.high[place])]
        row.append(None if band.reach is None else float(band.reach[place]))
        if accuracies is not None:
            row += [accuracies[part][place] for part in ("value", "low", "high")]
        rows.append(tuple(row))
    unit = saved.fit.points.loss_unit
    header = [*names, f"loss, {unit}", "low", "high", "times the largest C"]
    header += ["accuracy", "low", "high"] if accuracies is not None else []
    warnings = band.warnings
    if saved.second is not None:
        warnings += tuple(saved.second.link.warn_at(band.center))
    title = f"{100 * band.level:g}% band of {'one new run' if band.kind == 'run' else 'the mean'}"
    document = {
        "kind": band.kind,
        "level": band.level,
        "loss_unit": unit,
        "at": at,
        "loss": {"value": band.center, "low": band.low, "high": band.high},
        "times_largest_compute": band.reach,
        "accuracy": accuracies,
        "warnings": warnings_json(warnings),
    }
    return Outcome(document, (Table(title, tuple(header), tuple(rows), left=0),), warnings)


def _accuracies(saved: Saved, where: Mapping[str, Any], band: Band) -> dict[str, list[float | None]]:
    """Accuracies of the mean loss, with the interval of both steps."""
    import numpy as np

    from evalkit.scaling.bands import inputs_of, log_curve

    assert saved.second is not None
    link, fit = saved.second.link, saved.fit
    values: list[float | None] = [float(value) for value in link.predict(band.center)]
    nothing: list[float | None] = [None] * len(values)
    if fit.draws is None:
        return {"value": values, "low": nothing, "high": nothing}
    losses = np.exp(log_curve(fit, inputs_of(fit, where), fit.draws.coordinates))
    ends = link.interval(losses)
    if ends is None:
        return {"value": values, "low": nothing, "high": nothing}
    low, high = ([float(value) for value in end] for end in ends)
    return {"value": values, "low": [*low], "high": [*high]}
