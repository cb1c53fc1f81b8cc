"""Accuracy from size and tokens in one step on the command line: fitted, kept, and asked again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from evalkit.commands.scaling_verbs.inputs import PointFlags, is_runs, load_table, named_columns
from evalkit.errors import InvalidInputError
from evalkit.scaling.tables import Outcome, Table, Value, warnings_json

if TYPE_CHECKING:
    from evalkit.scaling.arrays import FloatArray
    from evalkit.scaling.downstream import LinkSettings
    from evalkit.scaling.one_step import OneStep


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SingleStep:
    """A fit with what it was fitted to, so that it can be made again from a file."""

    fitted: OneStep
    """The fit."""
    settings: LinkSettings
    """How it was made."""
    sizes: tuple[float, ...]
    """N of the runs."""
    tokens: tuple[float, ...]
    """D."""
    accuracies: tuple[float, ...]
    """Their accuracies."""

    def to_json(self) -> dict[str, Any]:
        """Everything that makes it again."""
        return {
            "settings": asdict(self.settings),
            "N": self.sizes,
            "D": self.tokens,
            "accuracies": self.accuracies,
        }


def fit_single(sizes: list[float], tokens: list[float], accuracies: list[float], settings: LinkSettings) -> SingleStep:
    """Fit, and keep what was fitted; the same numbers give the same fit."""
    from evalkit.scaling.one_step import fit_one_step

    return SingleStep(
        fitted=fit_one_step(sizes, tokens, accuracies, settings),
        settings=settings,
        sizes=tuple(sizes),
        tokens=tuple(tokens),
        accuracies=tuple(accuracies),
    )


def single_from_json(document: Mapping[str, Any]) -> SingleStep:
    """Fit again what `SingleStep.to_json` wrote."""
    from evalkit.scaling.downstream import LinkSettings

    settings = {name: value for name, value in document["settings"].items() if name != "anchors"}
    return fit_single(list(document["N"]), list(document["D"]), list(document["accuracies"]), LinkSettings(**settings))


def read_single(points: PointFlags, accuracy: str, limits: str, resamples: int, level: float) -> SingleStep:
    """Fit accuracies of a table to its N and D.

    Raises:
        InvalidInputError: Columns cannot be used.
    """
    from evalkit.commands.scaling_verbs.fit import ends
    from evalkit.scaling.downstream import LinkSettings

    if is_runs(points.places):
        raise InvalidInputError("--accuracy goes with a CSV file; stored runs give losses alone")
    low, high = ends("--accuracy-range", limits)
    settings = LinkSettings(
        floor=0.0 if low is None else low, ceiling=1.0 if high is None else high, resamples=resamples, level=level
    )
    table, columns = load_table(points), named_columns(points.column)
    sizes, tokens = (table.numbers(columns.get(name) or name) for name in ("N", "D"))
    return fit_single(sizes, tokens, table.numbers(accuracy), settings)


def single_outcome(single: SingleStep) -> Outcome:
    """Lay out the fit."""
    fitted = single.fitted
    rows: tuple[tuple[Value, ...], ...] = tuple(fitted.values.items())
    note = (
        f"accuracy = ceiling + (floor - ceiling) / (1 + exp(-(A / N^alpha + B / D^beta + E))); {len(single.sizes)} runs,"
        f" rmse {fitted.rmse:.4f}, {fitted.agreed} starts agree."
    )
    document = {
        "law": {"name": "one-step"},
        "parameters": fitted.values,
        "rmse": fitted.rmse,
        "agreed": fitted.agreed,
        "warnings": warnings_json(fitted.warnings),
        "one_step": single.to_json(),
    }
    return Outcome(document, (Table("Accuracy in one step", ("parameter", "value"), rows),), fitted.warnings, (note,))


def single_predictions(single: SingleStep, at: Mapping[str, FloatArray]) -> Outcome:
    """Accuracies at sizes and tokens."""
    fitted = single.fitted
    values, band = fitted.predict(at["N"], at["D"]), fitted.interval(at["N"], at["D"])
    low, high = (None, None) if band is None else band
    rows: list[tuple[Value, ...]] = []
    for place, value in enumerate(values):
        ends = (None, None) if low is None or high is None else (float(low[place]), float(high[place]))
        rows.append((float(at["N"][place]), float(at["D"][place]), float(value), *ends))
    document = {
        "level": fitted.level,
        "at": at,
        "accuracy": {"value": values, "low": low, "high": high},
        "warnings": warnings_json(fitted.warnings),
    }
    title = f"Accuracy in one step, {100 * fitted.level:g}% interval of the mean"
    return Outcome(
        document, (Table(title, ("N", "D", "accuracy", "low", "high"), tuple(rows), left=0),), fitted.warnings
    )
