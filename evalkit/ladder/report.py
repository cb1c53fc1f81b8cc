"""What a ladder says: laws with their irreducible loss beside the truth, and how far the small would have told the largest."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evalkit.errors import EvalkitError
from evalkit.scaling import Fit, Intervals, Points
from evalkit.scaling.arrays import BoolArray
from evalkit.scaling.fitting import fit_leniently
from evalkit.scaling.tables import Outcome, Table, Value, warnings_json
from evalkit.scaling.warnings import ScalingWarning

_JOINT = ("chinchilla", "coupled")
_ENOUGH = 12
"""Rungs from which the coupled law, with its six parameters, is tried too."""
_TOLERANCE = 0.02
"""Rungs of one nominal length see token counts this near to each other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What is known of the source that wrote the texts."""

    entropy: float
    """Entropy of the source, in the unit of the losses."""
    on_texts: float
    """What a perfect model would lose on exactly the scored texts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderFit:
    """One law, and which points it was fitted to."""

    name: str
    """The law."""
    on: str
    """Which points."""
    fit: Fit | None
    """None where it could not be fitted."""
    problem: str = ""
    """Why not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """What a law fitted to the smaller runs says of the largest ones."""

    on: str
    """Which rungs."""
    by: str
    """N, D or C: what the largest ones are the largest in."""
    law: str
    """The law."""
    trained: int
    """Runs it was fitted to."""
    tested: int
    """Runs that were left out."""
    factor: float
    """How many times larger they are than the largest of the others."""
    mean_error: float | None
    """Mean |predicted / actual - 1|; None where the law could not be fitted."""
    bias: float | None
    """Mean predicted / actual - 1."""
    held: float | None
    """Share of them inside of the band of a new run."""
    problem: str = ""
    """Why there is nothing."""


def fit_ladder(points: Points, resamples: int = 1000) -> list[LadderFit]:
    """Fit the joint laws to all rungs and to those beyond the shortest length, and laws of one axis to one row and column.

    Short trainings end before a model has learnt more than which tokens are frequent; no power law knows that plateau.
    """
    intervals = Intervals(resamples=resamples)
    found = [_attempt(name, on, part, intervals) for on, part in parts(points).items() for name in joint_laws(part)]
    row, length = _fullest(points, "D", "N")
    column, size = _fullest(points, "N", "D")
    found.append(_attempt("offset_n", f"D about {length:.3g}", points.take(row), intervals))
    found.append(_attempt("offset_d", f"N = {size:.3g}", points.take(column), intervals))
    return found


def parts(points: Points) -> dict[str, Points]:
    """All rungs, and those that were trained longer than the shortest; the latter where enough of them are left."""
    lengths = points.axis("D")
    longer = points.take(lengths > float(lengths.min()) * (1 + _TOLERANCE))
    found = {"all rungs": points}
    if len(longer) >= _ENOUGH:
        found[f"D from {float(longer.axis('D').min()):.2g}"] = longer
    return found


def joint_laws(points: Points) -> tuple[str, ...]:
    """The joint laws that a ladder has enough rungs for."""
    return _JOINT if len(points) >= _ENOUGH else _JOINT[:1]


def _attempt(name: str, on: str, points: Points, intervals: Intervals) -> LadderFit:
    try:
        return LadderFit(name=name, on=on, fit=fit_leniently(points, name, intervals=intervals))
    except EvalkitError as error:
        return LadderFit(name=name, on=on, fit=None, problem=str(error))


def _fullest(points: Points, held: str, along: str) -> tuple[BoolArray, float]:
    """The rows of the level of an axis that has the most levels of the other one; the largest of equals."""
    best: tuple[int, float, BoolArray] | None = None
    for level in np.unique(points.axis(held)):
        rows = np.abs(points.axis(held) / level - 1) < _TOLERANCE
        count = len(np.unique(points.axis(along)[rows]))
        if best is None or (count, level) >= best[:2]:
            best = (count, float(level), rows)
    assert best is not None
    return best[2], best[1]


def leave_largest_out(points: Points, resamples: int = 200) -> list[LeftOut]:
    """Fit to all runs but the largest ones, in size, in length and in compute, and predict those."""
    return [
        _left_out(on, part, by, law, resamples)
        for on, part in parts(points).items()
        for by in ("N", "D", "C")
        for law in joint_laws(part)
    ]


def _left_out(on: str, points: Points, by: str, law: str, resamples: int) -> LeftOut:
    values = points.compute() if by == "C" else points.axis(by)
    largest: BoolArray = values >= float(values.max()) * (1 - _TOLERANCE)
    factor = float(values[largest].max() / values[~largest].max())
    known: dict[str, Any] = {"on": on, "by": by, "law": law}
    known |= {"trained": int((~largest).sum()), "tested": int(largest.sum())}
    held_out = points.take(largest)
    try:
        fitted = fit_leniently(points.take(~largest), law, intervals=Intervals(resamples=resamples))
    except EvalkitError as error:
        return LeftOut(**known, factor=factor, mean_error=None, bias=None, held=None, problem=str(error))
    errors = fitted.predict(held_out) / held_out.loss - 1
    known |= {"factor": factor, "mean_error": float(np.abs(errors).mean()), "bias": float(errors.mean())}
    try:
        band = fitted.predict_interval(held_out, kind="run")
    except EvalkitError as error:
        return LeftOut(**known, held=None, problem=str(error))
    inside = (held_out.loss >= band.low) & (held_out.loss <= band.high)
    return LeftOut(**known, held=float(inside.mean()))


def seed_noise(points: Points) -> tuple[float, int] | None:
    """Standard deviation of ln loss between seeds, pooled over groups of equal N and nominal D, and its degrees of freedom."""
    lengths = np.round(np.log(points.axis("D")) / _TOLERANCE)
    rows = list(zip(points.axis("N").tolist(), lengths.tolist(), strict=True))
    total, freedom = 0.0, 0
    for row in dict.fromkeys(rows):
        logs = np.log(points.loss[np.array([other == row for other in rows])])
        if len(logs) > 1:
            total, freedom = total + float(((logs - logs.mean()) ** 2).sum()), freedom + len(logs) - 1
    return (math.sqrt(total / freedom), freedom) if freedom else None


def true_loss(texts: Sequence[str], logprob: Callable[[str], float], unit: str) -> float:
    """What a perfect model loses on texts, in ``nats/byte`` or ``bits/byte``."""
    nats = -math.fsum(map(logprob, texts)) / sum(len(text.encode()) for text in texts)
    return nats if unit == "nats/byte" else nats / math.log(2)


def ladder_outcome(
    points: Points, fits: Sequence[LadderFit], left_out: Sequence[LeftOut], truth: Truth | None
) -> Outcome:
    """Lay out a ladder: rungs, laws, the truth, what would have been foretold, and what the fits warn of."""
    notes = []
    noise = seed_noise(points)
    if noise is not None:
        notes.append(
            f"Seeds differ by {100 * noise[0]:.2f}% of the loss (standard deviation, {noise[1]} degrees of freedom)."
        )
    if truth is not None:
        notes.append(
            f"A perfect model loses {truth.on_texts:.4f} {points.loss_unit} on the scored texts; the entropy of their source"
            f" is {truth.entropy:.4f}."
        )
    notes += [f"No {entry.name} on {entry.on}: {entry.problem}." for entry in fits if entry.problem]
    notes += [
        f"No band of {one.law} on {one.on} without the largest {one.by}: {one.problem}."
        for one in left_out
        if one.problem
    ]
    tables = (_rungs(points), _laws(fits, points, truth), _largest(left_out))
    return Outcome(_document(points, fits, left_out, truth), tables, tuple(_warnings(fits)), tuple(notes))


def _warnings(fits: Sequence[LadderFit]) -> list[ScalingWarning]:
    """The warnings of all laws; one that several have is said once, with their names."""
    laws: dict[ScalingWarning, list[str]] = {}
    for entry in fits:
        for warning in () if entry.fit is None else entry.fit.warnings:
            laws.setdefault(warning, []).append(f"{entry.name} on {entry.on}")
    return [ScalingWarning(warning.code, f"{warning.text} ({'; '.join(names)})") for warning, names in laws.items()]


def _rungs(points: Points) -> Table:
    stderr = points.stderr
    order = np.lexsort((points.axis("D"), points.axis("N")))
    rows: list[tuple[Value, ...]] = [
        (
            round(float(points.axis("N")[row])),
            round(float(points.axis("D")[row])),
            float(points.compute()[row]),
            points.seed[row] if points.seed else None,
            float(points.loss[row]),
            None if stderr is None else float(stderr[row]),
        )
        for row in order
    ]
    header = ("N", "D", "C", "seed", f"loss, {points.loss_unit}", "standard error")
    return Table(f"{len(points)} trainings", header, tuple(rows), left=0)


def _laws(fits: Sequence[LadderFit], points: Points, truth: Truth | None) -> Table:
    rows: list[tuple[Value, ...]] = []
    for entry in fits:
        if entry.fit is None:
            continue
        values = entry.fit.parameters
        offset = values["E"]
        exponents = ", ".join(_with_interval(values[name]) for name in values if name in ("alpha", "beta", "k"))
        held = None
        if truth is not None and offset.low is not None and offset.high is not None:
            held = offset.low <= truth.on_texts <= offset.high
        quality = entry.fit.quality
        rows.append(
            (
                entry.name,
                entry.on,
                quality.n,
                offset.value,
                offset.low,
                offset.high,
                held,
                100 * quality.rmse_log,
                exponents,
            )
        )
    header = ("law", "fitted to", "n", "E", "low", "high", "holds the truth", "rmse %", "exponents")
    return Table(f"Laws, E in {points.loss_unit}", header, tuple(rows), left=2)


def _with_interval(parameter: Any) -> str:  # noqa: ANN401
    interval = "" if parameter.low is None else f" [{parameter.low:.3g}, {parameter.high:.3g}]"
    return f"{parameter.name} {parameter.value:.3g}{interval}"


def _largest(left_out: Sequence[LeftOut]) -> Table:
    rows: list[tuple[Value, ...]] = [
        (
            one.on,
            one.by,
            one.law,
            one.trained,
            one.tested,
            one.factor,
            None if one.mean_error is None else 100 * one.mean_error,
            None if one.bias is None else 100 * one.bias,
            None if one.held is None else 100 * one.held,
        )
        for one in left_out
    ]
    header = (
        "rungs",
        "largest in",
        "law",
        "fitted to",
        "predicted",
        "times larger",
        "mean error %",
        "bias %",
        "in 95% band %",
    )
    return Table("The largest runs, predicted from the others", header, tuple(rows), left=3)


def _document(
    points: Points, fits: Sequence[LadderFit], left_out: Sequence[LeftOut], truth: Truth | None
) -> Mapping[str, Any]:
    noise = seed_noise(points)
    return {
        "points": {name: getattr(points, name) for name in ("N", "D", "C", "loss", "stderr", "run", "seed")},
        "loss_unit": points.loss_unit,
        "truth": None if truth is None else {"entropy": truth.entropy, "on_texts": truth.on_texts},
        "seed_sd_log": None if noise is None else noise[0],
        "laws": [
            {
                "law": entry.name,
                "on": entry.on,
                "problem": entry.problem,
                "parameters": None if entry.fit is None else _parameters(entry.fit),
                "warnings": [] if entry.fit is None else warnings_json(entry.fit.warnings),
            }
            for entry in fits
        ],
        "left_out": [{name: getattr(one, name) for name in LeftOut.__slots__} for one in left_out],
    }


def _parameters(fitted: Fit) -> dict[str, dict[str, float | None]]:
    return {name: {"value": one.value, "low": one.low, "high": one.high} for name, one in fitted.parameters.items()}
