"""From columns to checked points: every way in which a table can be unusable, by column, row and value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from evalkit.errors import InvalidInputError, UnknownNameError
from evalkit.scaling.arrays import BoolArray, FloatArray, IntArray
from evalkit.scaling.columns import is_whole, read_labels, read_numbers, refuse, rows_text
from evalkit.scaling.points import PREDICTORS, Points, PointSettings
from evalkit.scaling.units import convert, is_per_byte, require_unit
from evalkit.scaling.warnings import ScalingWarning

Column: TypeAlias = "Sequence[Any] | np.ndarray[Any, Any] | str"

_POSITIVE = ("loss", "N", "D", "C", "U", "bytes_per_token")
_NUMBERS = (*_POSITIVE, "stderr", "weights", "lr", "warmup", "layers")
_LABELS = ("run", "cluster", "seed", "group", "loss_unit", "tokenizer", "loss_source", "size_counting")
_FLAGS = ("final",)
_WORST_6ND = 0.5
"""Largest distance of C from 6ND, as a share of 6ND, that needs no explanation."""


def read_points(columns: Mapping[str, Column], settings: PointSettings) -> Points:
    """Check columns and gather them; see `evalkit.scaling.points.make_points`."""
    given = {name: values for name, values in columns.items() if values is not None}
    _check_names(given)
    count = _row_count(given)
    whole = [name for name in _NUMBERS if name in given and name in (*PREDICTORS, "U") and is_whole(given[name])]
    warnings = [_integer_warning(whole)] if whole else []
    numbers = {name: read_numbers(name, given[name], settings.first_row) for name in _NUMBERS if name in given}
    keep = _kept_rows(numbers, count, settings)
    if not keep.all():
        warnings.append(_dropped_warning(keep, settings.first_row))
    rows = np.flatnonzero(keep) + settings.first_row
    numbers = {name: values[keep] for name, values in numbers.items()}
    labels = {name: _labels(name, given[name], keep, settings.first_row) for name in _LABELS if name in given}
    flags = {name: _flag(name, given[name], keep) for name in _FLAGS if name in given}
    _check_numbers(numbers, rows)
    units = labels.get("loss_unit", ("nats/token",) * len(rows))
    unit = _common_unit(numbers, units, settings.loss_unit, rows, warnings)
    texts = _common_texts(labels, is_per_byte(unit), rows, warnings)
    _complete(numbers, rows, warnings)
    _check_compute(numbers, settings.flops, rows)
    _check_unique_tokens(numbers, rows)
    numbers.pop("bytes_per_token", None)
    _check_runs(labels.get("run"), numbers, rows)
    _same_rows(numbers, labels, warnings)
    fields: dict[str, Any] = {name: _freeze(values) for name, values in {**numbers, **flags}.items()}
    fields |= {name: labels[name] for name in ("run", "cluster", "seed", "group") if name in labels}
    fields |= {**texts, "loss_unit": unit, "flops_counting": settings.flops or "6ND"}
    return Points(**fields, warnings=tuple(warnings))


def _check_names(given: Mapping[str, Column]) -> None:
    known = (*_NUMBERS, *_LABELS, *_FLAGS)
    for name in given:
        if name not in known:
            raise UnknownNameError("column", str(name), known)
    if "loss" not in given:
        raise InvalidInputError(
            f"no column 'loss' among {', '.join(map(repr, given)) or 'none'}; expected one, so name the column of losses"
        )
    if not any(name in given for name in PREDICTORS):
        raise InvalidInputError(
            "none of the columns 'N' (parameters), 'D' (tokens), 'C' (FLOPs) is given; expected one at least"
        )


def _row_count(given: Mapping[str, Column]) -> int:
    counts = {name: len(values) for name, values in given.items() if not isinstance(values, str)}
    if not counts:
        raise InvalidInputError("found texts in place of columns; expected one value a row for 'loss' and a predictor")
    count = counts.get("loss", next(iter(counts.values())))
    for name, other in counts.items():
        if other != count:
            raise InvalidInputError(
                f"column {name!r} has {other} rows and 'loss' has {count}; expected the same number in every column"
            )
    if count == 0:
        raise InvalidInputError("the table has no rows; expected one row a training run")
    return count


def _integer_warning(names: Sequence[str]) -> ScalingWarning:
    return ScalingWarning(
        "integer-cast",
        f"column{'s' if len(names) > 1 else ''} {', '.join(names)} of whole numbers taken as floating point:"
        " 6ND above 9.2e18 would wrap around in 64-bit integers",
    )


def _kept_rows(numbers: Mapping[str, FloatArray], count: int, settings: PointSettings) -> BoolArray:
    keep = np.ones(count, dtype=bool)
    for name, values in numbers.items():
        is_finite = np.isfinite(values)
        if settings.dropna:
            keep &= is_finite
            continue
        numbered = np.arange(settings.first_row, settings.first_row + count)
        refuse(
            name,
            values,
            ~is_finite,
            "finite numbers, so mend the rows or leave them out with dropna=True (--dropna)",
            numbered,
        )
    if not keep.any():
        raise InvalidInputError(f"all {count} rows have missing values; expected some without")
    return keep


def _dropped_warning(keep: BoolArray, first_row: int) -> ScalingWarning:
    return ScalingWarning(
        "rows-dropped",
        f"{int((~keep).sum())} of {len(keep)} rows with missing values left out: {rows_text(np.flatnonzero(~keep) + first_row)}",
    )


def _labels(name: str, values: Column, keep: BoolArray, first_row: int) -> tuple[str, ...]:
    if isinstance(values, str):
        return (values,) * int(keep.sum())
    labels = read_labels(name, values, first_row)
    return tuple(label for label, kept in zip(labels, keep, strict=True) if kept)


def _flag(name: str, values: Column, keep: BoolArray) -> BoolArray:
    array = np.asarray(values)
    if array.dtype != np.bool_:
        raise InvalidInputError(f"column {name!r} holds {array.dtype}; expected true or false in every row")
    flags: BoolArray = array[keep]
    return flags


def _check_numbers(numbers: Mapping[str, FloatArray], rows: IntArray) -> None:
    for name in _POSITIVE:
        if name in numbers:
            refuse(name, numbers[name], numbers[name] <= 0, "a number above 0, so mend or remove the row", rows)
    for name in ("stderr", "weights", "lr", "warmup", "layers"):
        if name in numbers:
            refuse(name, numbers[name], numbers[name] < 0, "0 or more", rows)
    if "weights" in numbers and not numbers["weights"].any():
        raise InvalidInputError("column 'weights' is 0 in every row; expected a weight above 0 in some")


def _common_unit(
    numbers: dict[str, FloatArray],
    units: Sequence[str],
    target: str | None,
    rows: IntArray,
    warnings: list[ScalingWarning],
) -> str:
    """Bring losses to one unit where asked, or refuse to mix; returns the unit."""
    for unit in dict.fromkeys(units):
        require_unit(unit)
    if target is not None:
        _convert(numbers, units, require_unit(target), warnings)
        return target
    if len(set(units)) > 1:
        raise _mixed("loss_unit", units, rows, "convert them with loss_unit= (--convert-loss)")
    return units[0]


def _common_texts(
    labels: Mapping[str, tuple[str, ...]], is_per_byte: bool, rows: IntArray, warnings: list[ScalingWarning]
) -> dict[str, str]:
    """What holds for every row alike, or an error where rows cannot be compared."""
    texts = {}
    for name, advice in (("tokenizer", "compare losses per byte"), ("size_counting", "count all sizes the same way")):
        if name not in labels:
            continue
        if len(set(labels[name])) == 1:
            texts[name] = labels[name][0]
        elif name != "tokenizer" or not is_per_byte:
            raise _mixed(name, labels[name], rows, advice)
    if "loss_source" in labels:
        texts["loss_source"] = _loss_source(labels["loss_source"], warnings)
    return texts


def _convert(numbers: dict[str, FloatArray], units: Sequence[str], target: str, warnings: list[ScalingWarning]) -> None:
    different = [unit for unit in dict.fromkeys(units) if unit != target]
    if not different:
        return
    ratio = numbers.get("bytes_per_token")
    for unit in different:
        mask = np.array([each == unit for each in units])
        for name in ("loss", "stderr"):
            if name in numbers:
                part = None if ratio is None else ratio[mask]
                numbers[name] = numbers[name].copy()
                numbers[name][mask] = convert(numbers[name][mask], unit, target, part)
    warnings.append(ScalingWarning("loss-converted", f"losses in {', '.join(different)} converted to {target}"))


def _mixed(name: str, values: Sequence[str], rows: IntArray, advice: str) -> InvalidInputError:
    other = next(value for value in values if value != values[0])
    where = rows_text(rows[np.array([value == other for value in values])])
    return InvalidInputError(
        f"column {name!r}, {where}: found {other!r} beside {values[0]!r};"
        f" expected one value, since such losses cannot be compared; {advice}"
    )


def _loss_source(sources: Sequence[str], warnings: list[ScalingWarning]) -> str:
    distinct = list(dict.fromkeys(sources))
    if len(distinct) == 1:
        return distinct[0]
    warnings.append(
        ScalingWarning("mixed-loss-source", f"losses come from {', '.join(distinct)}; they differ by more than noise")
    )
    return "mixed"


def _complete(numbers: dict[str, FloatArray], rows: IntArray, warnings: list[ScalingWarning]) -> None:
    """Compute the third of N, D and C where two are given."""
    missing = [name for name in PREDICTORS if name not in numbers]
    if len(missing) != 1:
        return
    compute: Mapping[str, Callable[[], FloatArray]] = {
        "C": lambda: 6.0 * numbers["N"] * numbers["D"],
        "D": lambda: numbers["C"] / (6.0 * numbers["N"]),
        "N": lambda: numbers["C"] / (6.0 * numbers["D"]),
    }
    with np.errstate(all="ignore"):
        found = compute[missing[0]]()
    bad = ~np.isfinite(found) | (found <= 0)
    refuse(missing[0], found, bad, "a finite number above 0 from C = 6ND, so check the units of the others", rows)
    numbers[missing[0]] = found
    if missing[0] != "C":
        warnings.append(ScalingWarning("derived-column", f"{missing[0]} computed from C = 6ND"))


def _check_compute(numbers: Mapping[str, FloatArray], flops: str | None, rows: IntArray) -> None:
    if flops is not None or not all(name in numbers for name in PREDICTORS):
        return
    with np.errstate(all="ignore"):
        ratio = numbers["C"] / (6.0 * numbers["N"] * numbers["D"])
    bad = ~(np.abs(ratio - 1) <= _WORST_6ND)
    refuse(
        "C",
        numbers["C"],
        bad,
        "FLOPs within 50% of 6ND; check the units, or say with flops= (--flops) how C was counted",
        rows,
    )


def _check_unique_tokens(numbers: Mapping[str, FloatArray], rows: IntArray) -> None:
    if "U" not in numbers:
        return
    if "D" not in numbers:
        raise InvalidInputError("column 'U' (unique tokens) is given without 'D'; expected the tokens seen too")
    bad = numbers["U"] > numbers["D"]
    refuse("U", numbers["U"], bad, "at most D of the same row: no more unique tokens than tokens seen", rows)


def _check_runs(runs: tuple[str, ...] | None, numbers: Mapping[str, FloatArray], rows: IntArray) -> None:
    if runs is None or len(set(runs)) == len(runs):
        return
    seen: dict[str, int] = {}
    for index, run in enumerate(runs):
        first = seen.setdefault(run, index)
        for name, values in numbers.items():
            if values[index] != values[first]:
                raise InvalidInputError(
                    f"column {name!r}, row {rows[index]}: run {run!r} has {float(values[index])!r} here and"
                    f" {float(values[first])!r} in row {rows[first]}; expected one row a run,"
                    " so give checkpoints names of their own and one cluster"
                )


def _same_rows(
    numbers: Mapping[str, FloatArray], labels: Mapping[str, tuple[str, ...]], warnings: list[ScalingWarning]
) -> None:
    names = [name for name in ("loss", "N", "D", "C", "U") if name in numbers]
    columns: list[Sequence[Any]] = [numbers[name].tolist() for name in names]
    columns += [labels[name] for name in ("group", "seed") if name in labels]
    rows = list(zip(*columns, strict=True))
    equal = len(rows) - len(set(rows))
    if equal:
        warnings.append(
            ScalingWarning("identical-rows", f"{equal} of {len(rows)} rows repeat another in every value; each counts")
        )


def _freeze(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    array = np.ascontiguousarray(values)
    if array.base is not None or not array.flags.owndata:
        array = array.copy()
    array.flags.writeable = False
    return array
