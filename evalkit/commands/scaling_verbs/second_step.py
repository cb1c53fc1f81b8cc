"""The second step of a downstream prediction on the command line: from flags to accuracy over loss, and back from a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from evalkit.commands.scaling_verbs.inputs import PointFlags, is_runs, load_table, named_columns
from evalkit.errors import InvalidInputError
from evalkit.scaling.tables import Table, Value

if TYPE_CHECKING:
    from evalkit.scaling.downstream import Link


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SecondStep:
    """A fitted second step with what it was fitted to, so that it can be made again from a file."""

    link: Link
    """The fit."""
    items: tuple[float, ...] | None
    """Test items behind each accuracy."""
    clusters: tuple[str, ...] | None
    """Run of each checkpoint."""

    def to_json(self) -> dict[str, Any]:
        """Everything that makes it again."""
        return {
            "settings": asdict(self.link.settings),
            "losses": self.link.losses.tolist(),
            "accuracies": self.link.accuracies.tolist(),
            "items": self.items,
            "clusters": self.clusters,
        }

    @staticmethod
    def from_json(document: Mapping[str, Any]) -> SecondStep:
        """Fit again what `to_json` wrote; the same numbers come out, for draws follow from the seed."""
        from evalkit.scaling.downstream import LinkSettings, fit_link

        settings = dict(document["settings"])
        if settings.get("anchors") is not None:
            settings["anchors"] = tuple(map(tuple, settings["anchors"]))
        items, clusters = document["items"], document["clusters"]
        link = fit_link(
            document["losses"], document["accuracies"], LinkSettings(**settings), items=items, clusters=clusters
        )
        return SecondStep(
            link=link,
            items=None if items is None else tuple(items),
            clusters=None if clusters is None else tuple(clusters),
        )


def read_second_step(
    points: PointFlags,
    *,
    accuracy: str | None,
    accuracy_points: str | None,
    accuracy_form: str,
    accuracy_range: str,
    items: str | None,
) -> SecondStep | None:
    """Fit accuracy to loss where flags ask for it.

    Raises:
        InvalidInputError: Flags do not go together, or columns cannot be used.
    """
    if accuracy is None:
        for name, given in (("--accuracy-points", accuracy_points), ("--items", items)):
            if given is not None:
                raise InvalidInputError(f"{name} goes with --accuracy; name the column of accuracies")
        return None
    from evalkit.commands.scaling_verbs.fit import ends
    from evalkit.scaling.downstream import LinkSettings, fit_link

    if is_runs(points.places):
        raise InvalidInputError("--accuracy goes with a CSV file; stored runs give losses alone")
    low, high = ends("--accuracy-range", accuracy_range)
    settings = LinkSettings(
        form=accuracy_form, floor=0.0 if low is None else low, ceiling=1.0 if high is None else high
    )
    table = load_table(points if accuracy_points is None else replace(points, places=(accuracy_points,)))
    columns = named_columns(points.column)
    counts = None if items is None else table.numbers(items)
    cluster = columns.get("cluster", "cluster" if "cluster" in table.header else "")
    clusters = table.column(cluster) if cluster else None
    link = fit_link(
        table.numbers(columns.get("loss") or "loss"), table.numbers(accuracy), settings, items=counts, clusters=clusters
    )
    return SecondStep(
        link=link,
        items=None if counts is None else tuple(counts),
        clusters=None if clusters is None else tuple(clusters),
    )


def second_step_table(link: Link) -> Table:
    """The parameters of the second step."""
    rows: list[tuple[Value, ...]] = [
        (one.name, one.value, one.low, one.high, one.stderr) for one in link.parameters.values()
    ]
    title = f"Accuracy from loss ({link.settings.form}, {link.n} points, rmse {link.rmse:.4f})"
    return Table(title, ("parameter", "value", "low", "high", "sd"), tuple(rows))
