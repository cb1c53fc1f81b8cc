"""What a fit has to say: its parameters, how it was reached, what would move it, and a figure's numbers for reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from evalkit.commands.scaling_verbs.saved import saved_json
from evalkit.commands.scaling_verbs.second_step import SecondStep, second_step_table
from evalkit.scaling.tables import Outcome, Table, Value, warnings_json

if TYPE_CHECKING:
    from evalkit.scaling import Fit, Parameter
    from evalkit.scaling.sensitivity import SensitivityRow


def fit_outcome(fitted: Fit, second: SecondStep | None = None, *, has_sensitivity: bool = True) -> Outcome:
    """Lay out a fit, and refit it under other losses and without the points that weigh most where that is asked for."""
    rows = fitted.sensitivity() if has_sensitivity else []
    tables = [_parameters("Parameters", fitted.parameters.values(), fitted)]
    if fitted.derived:
        tables.append(_parameters("Derived", fitted.derived.values(), fitted))
    tables.append(_quality(fitted))
    if rows:
        tables.append(_sensitivity(rows))
    if second is not None:
        tables.append(second_step_table(second.link))
    warnings = fitted.warnings + (() if second is None else second.link.warnings)
    document = fit_document(fitted, second, rows)
    return Outcome({**document, "warnings": warnings_json(warnings)}, tuple(tables), warnings, (_summary(fitted),))


def fit_document(fitted: Fit, second: SecondStep | None, rows: Sequence[SensitivityRow]) -> dict[str, Any]:
    """The JSON of a fit: for programs, for reports (`figure`), and for the verbs that read it again (`fit`)."""
    return {
        "law": {"name": fitted.law.name, "formula": fitted.law.formula, **fitted.law.settings()},
        "loss": asdict(fitted.loss),
        "parameters": {name: parameter_json(one) for name, one in fitted.parameters.items()},
        "derived": {name: parameter_json(one) for name, one in fitted.derived.items()},
        "intervals": {"method": fitted.method, "level": fitted.level},
        "standard_errors": fitted.standard_errors,
        "quality": asdict(fitted.quality),
        "certificate": asdict(fitted.certificate),
        "ranges": _ranges(fitted),
        "sensitivity": [asdict(row) for row in rows],
        "accuracy": None if second is None else _accuracy(second),
        "figure": figure_json(fitted),
        "timing_s": fitted.timing_s,
        **saved_json(fitted, second),
    }


def parameter_json(one: Parameter) -> dict[str, Any]:
    """A parameter with its interval."""
    return {"value": one.value, "low": one.low, "high": one.high, "stderr": one.stderr, "fixed": one.is_fixed}


def figure_json(fitted: Fit) -> dict[str, Any]:
    """Points and lines of the loss over compute, or over the one axis of the law, as reports draw them."""
    from evalkit.scaling.sections import axis_title, axis_values, sections

    axis = fitted.law.predictors[0] if len(fitted.law.predictors) == 1 else "C"
    points = fitted.points
    x = axis_values(fitted, axis)
    names = points.run or ("",) * len(points)
    return {
        "title": f"{fitted.law.formula}",
        "x_title": axis_title(fitted, axis),
        "y_title": f"loss in {points.loss_unit}",
        "points": [
            {"x": float(place), "y": float(loss), "name": name}
            for place, loss, name in zip(x, points.loss, names, strict=True)
        ],
        "lines": [
            {
                "name": line.label,
                "x": line.x.tolist(),
                "y": line.y.tolist(),
                "low": [] if line.low is None else line.low.tolist(),
                "high": [] if line.high is None else line.high.tolist(),
                "observed": list(line.observed),
            }
            for line in sections(fitted, axis)
        ],
    }


def _summary(fitted: Fit) -> str:
    certificate = fitted.certificate
    return (
        f"{fitted.law.formula}; {fitted.loss.name} on {fitted.quality.n} points,"
        f" {certificate.agreed} of {certificate.starts} starts agree; intervals: {fitted.method},"
        f" {100 * fitted.level:g}%."
    )


def _parameters(title: str, parameters: Iterable[Parameter], fitted: Fit) -> Table:
    kinds = list(fitted.standard_errors)
    rows: list[tuple[Value, ...]] = []
    for one in parameters:
        if one.is_fixed:
            rows.append((f"{one.name} (fixed)", one.value, *([None] * (3 + len(kinds)))))
            continue
        errors = [fitted.standard_errors[kind].get(one.name) for kind in kinds]
        rows.append((one.name, one.value, one.low, one.high, one.stderr, *errors))
    header = ("parameter", "value", "low", "high", "se", *(f"se {kind}" for kind in kinds))
    return Table(title, header, tuple(rows))


def _quality(fitted: Fit) -> Table:
    quality = fitted.quality
    rows: tuple[tuple[Value, ...], ...] = (
        ("objective", quality.objective),
        ("rmse of ln L, %", 100 * quality.rmse_log),
        ("largest |residual|, %", 100 * quality.max_residual),
        ("its row", quality.worst_row + 1),
        ("R2", quality.r2),
        ("R2 of ln L", quality.r2_log),
        ("share within delta", quality.quadratic_share),
    )
    return Table("Quality", ("measure", "value"), rows)


def _sensitivity(rows: Sequence[SensitivityRow]) -> Table:
    """One line a loss and number of points left out; the spread of a column is what the interval does not say."""
    names = list(dict.fromkeys(name for row in rows for name in row.values))
    laid: list[tuple[Value, ...]] = []
    for row in rows:
        width = f" {row.loss.delta:g}" if "huber" in row.loss.name else ""
        laid.append((f"{row.loss.name}{width}", row.dropped, *(row.values.get(name) for name in names)))
    title = f"Sensitivity: other losses, and without points ({rows[0].criterion})"
    return Table(title, ("loss", "without", *names), tuple(laid))


def _accuracy(second: SecondStep) -> Mapping[str, Any]:
    link = second.link
    return {
        "form": link.settings.form,
        "parameters": {name: parameter_json(one) for name, one in link.parameters.items()},
        "n": link.n,
        "rmse": link.rmse,
    }


def _ranges(fitted: Fit) -> dict[str, list[float]]:
    points = fitted.points
    columns = {name: getattr(points, name) for name in ("N", "D", "C", "U", "loss")}
    return {name: [float(x.min()), float(x.max())] for name, x in columns.items() if x is not None}
