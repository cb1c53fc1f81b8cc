"""`evalkit scaling arms`: which of several corpora or recipes is better, and whether small runs tell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from evalkit.commands.scaling_verbs.fit import read_intervals
from evalkit.commands.scaling_verbs.inputs import PointFlags, load_points, point_options
from evalkit.commands.scaling_verbs.output import check_output, emit, output_options
from evalkit.errors import InvalidInputError, UnknownNameError
from evalkit.scaling.tables import Outcome, Table, Value, warnings_json

if TYPE_CHECKING:
    from evalkit.scaling import Points
    from evalkit.scaling.arms import ArmComparison
    from evalkit.scaling.decisions import Accuracy, Decisions


@click.command(name="arms")
@point_options
@click.option("--first", metavar="ARM", help="Compare this arm with --second by fits of both.")
@click.option("--second", metavar="ARM", help="The other arm.")
@click.option(
    "--law", default="chinchilla", show_default=True, metavar="LAW", help="Law of the fits and extrapolations."
)
@click.option(
    "--compute", type=float, metavar="FLOPS", help="Budget at which the best losses of two arms are compared."
)
@click.option("--by", default="C", show_default=True, help="What the scale of decisions is: N, D or C.")
@click.option("--cut", "cuts", multiple=True, type=float, metavar="X", help="Decide from runs up to here; repeatable.")
@click.option("--intervals", "method", default="auto", show_default=True, help="Bootstrap of the fits.")
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Level of the intervals.")
@click.option("--resamples", type=int, default=1000, show_default=True, help="Resamples of the bootstrap.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the resampling.")
@output_options
def command(points: PointFlags, first: str | None, second: str | None, law: str, **flags: Any) -> None:  # noqa: ANN401
    """Compare arms, named by the field group: two by their fits, or all by how often small runs order them right.

    \b
    Example:
      evalkit scaling arms runs.csv --column group=corpus --first c4 --second fineweb --compute 1e22
      evalkit scaling arms runs.csv --column group=corpus --by N
    """
    output = {name: flags.pop(name) for name in ("form", "out", "as_json")}
    check_output(output["form"], output["out"], output["as_json"])
    if (first is None) != (second is None):
        raise InvalidInputError("--first and --second go together; expected two arms, or neither to judge decisions")
    runs = load_points(points)
    if first is not None and second is not None:
        emit(_compared(runs, (first, second), law, flags), **output)
        return
    from evalkit.scaling.decisions import decision_accuracy

    emit(decisions_outcome(decision_accuracy(
        runs, by=flags["by"], cuts=flags["cuts"] or None, law=law, level=flags["confidence"]
    )), **output)  # fmt: skip


def _compared(runs: Points, names: tuple[str, str], law: str, flags: dict[str, Any]) -> Outcome:
    from evalkit.scaling.arms import compare_arms

    arms = [arm(runs, name) for name in names]
    intervals = read_intervals(flags)
    return arms_outcome(names, compare_arms(arms[0], arms[1], law, C=flags["compute"], intervals=intervals))


def arm(points: Points, name: str) -> Points:
    """The runs of one arm.

    Raises:
        InvalidInputError: The points have no arms.
        UnknownNameError: None is of that name.
    """
    import numpy as np

    if points.group is None:
        raise InvalidInputError("the points have no arms; name the column of them with --column group=NAME")
    rows = np.array([label == name for label in points.group])
    if not rows.any():
        raise UnknownNameError("arm", name, dict.fromkeys(points.group))
    return points.take(rows)


def arms_outcome(names: tuple[str, str], compared: ArmComparison) -> Outcome:
    """Lay out two arms side by side."""
    rows: tuple[tuple[Value, ...], ...] = tuple(
        (row.name, row.first, row.second, row.difference, row.low, row.high, row.p) for row in compared.rows
    )
    header = ("quantity", *names, "difference", "low", "high", "p")
    how = "same sizes and tokens, resampled together" if compared.is_paired else "resampled apart"
    document = {
        "arms": names,
        "paired": compared.is_paired,
        "rows": [
            {key: getattr(row, key) for key in ("name", "first", "second", "difference", "low", "high", "p")}
            for row in compared.rows
        ],
        "warnings": warnings_json(compared.warnings),
    }
    return Outcome(document, (Table(f"Two arms ({how})", header, rows),), compared.warnings)


def decisions_outcome(found: Decisions) -> Outcome:
    """Lay out how often smaller runs order the arms as the largest do."""
    rows: list[tuple[Value, ...]] = []
    for row in found.rows:
        further = row.extrapolation
        cells: list[Value] = [row.cut, *_parts(row.ranking)]
        cells += [None] * 3 if further is None else _parts(further)
        rows.append((*cells, row.ranking.pairs))
    header = ("runs up to", "by ranking", "low", "high", "by extrapolation", "low", "high", "pairs")
    title = f"Share of pairs of {len(found.arms)} arms ordered as at {found.by} = {found.target:.4g}"
    document = {
        "arms": found.arms,
        "by": found.by,
        "target": found.target,
        "cuts": [
            {
                "cut": row.cut,
                "pairs": row.ranking.pairs,
                "ranking": _parts(row.ranking),
                "extrapolation": None if row.extrapolation is None else _parts(row.extrapolation),
            }
            for row in found.rows
        ],
        "warnings": warnings_json(found.warnings),
    }
    return Outcome(document, (Table(title, header, tuple(rows), left=0),), found.warnings)


def _parts(one: Accuracy) -> list[Value]:
    return [one.value, one.low, one.high]
