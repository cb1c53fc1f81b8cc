"""Learning curves: a value over the checkpoints of one training run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evalkit.record import RunRecord
from evalkit.report.columns import Place
from evalkit.report.model import Curve, CurvePoint
from evalkit.report.reading import StoredRun
from evalkit.report.selection import is_partial

STEPS, TOKENS = "steps", "tokens_seen"
_SHOWN = 8
"""Digits of a recipe's digest in a name."""


def curves(places: Sequence[Place], runs: Sequence[StoredRun]) -> Iterator[Curve]:
    """Give every curve of at least two checkpoints, by column and training run.

    A record names the training run, or its recipe, and how far it had come in steps or tokens. Of several complete runs of one
    checkpoint the newest counts.
    """
    for place in places:
        trainings: dict[str, list[RunRecord]] = {}
        for run in place.page.runs:
            name = training_of(run.record)
            if name and place.of(run.record) is not None and not is_partial(run.record):
                trainings.setdefault(name, []).append(run.record)
        for name in sorted(trainings):
            curve = _curve(place, name, trainings[name])
            if curve is not None:
                yield curve


def training_of(record: RunRecord) -> str:
    """Name of the training run that a model's weights are a checkpoint of; empty where the record names none.

    Those of one recipe, by its digest, and one seed are one; records that lack these name the run or the recipe alone.
    """
    recipe, training = _text(record.model.get("recipe")), record.model.get("training")
    digest = _text(training.get("recipe_digest")) if isinstance(training, Mapping) else ""
    if digest:
        assert isinstance(training, Mapping)
        return f"{recipe or 'recipe'} {digest[:_SHOWN]}, seed {training.get('seed', 0)}"
    return _text(record.model.get("training_run")) or recipe


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _curve(place: Place, name: str, records: Sequence[RunRecord]) -> Curve | None:
    by = next((by for by in (TOKENS, STEPS) if all(_is_count(record.model.get(by)) for record in records)), None)
    if by is None:
        return None
    newest = sorted(records, key=lambda record: (record.created, record.id))
    points = {int(record.model[by]): _point(place, record) for record in newest}
    known = {position: point for position, point in points.items() if point is not None}
    if len(known) < 2:
        return None
    return Curve(training=name, column=place.key, by=by, points=tuple(known[position] for position in sorted(known)))


def _point(place: Place, record: RunRecord) -> CurvePoint | None:
    found = place.of(record)
    if found is None or found.value is None:
        return None
    steps, tokens = record.model.get(STEPS), record.model.get(TOKENS)
    return CurvePoint(
        run=record.id,
        steps=steps if _is_count(steps) else None,
        tokens_seen=tokens if _is_count(tokens) else None,
        value=found.value,
        low=found.low,
        high=found.high,
    )


def _is_count(value: Any) -> bool:  # noqa: ANN401
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
