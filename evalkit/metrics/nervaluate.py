"""Entity scores of nervaluate: strict, exact, partial and type-only matching, as in the MUC and SemEval 2013 evaluations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from evalkit.errors import InvalidInputError, InvalidTypeError
from evalkit.metrics.base import Metric, Ratio, Statistics
from evalkit.metrics.sequences import check_same_lengths, sequence_pairs

if TYPE_CHECKING:
    from evalkit.metrics.base import FloatArray

STRATEGIES = ("strict", "exact", "partial", "ent_type")
OUTCOMES = ("correct", "incorrect", "partial", "missed", "spurious")
_CORRECT, _INCORRECT, _PARTIAL, _MISSED, _SPURIOUS = range(len(OUTCOMES))
_MEASURES = ("f1", "precision", "recall")
_NOT_EXACT = {"strict": _INCORRECT, "exact": _INCORRECT, "partial": _PARTIAL}


class Entity(NamedTuple):
    """A labelled span."""

    label: str
    start: int
    end: int
    """Last position, inclusive."""


@dataclass(frozen=True, kw_only=True)
class Nervaluate(Metric[Sequence[Any], Sequence[Any]]):
    """F1, precision and recall under four ideas of a match.

    ``strict`` wants boundaries and label, ``exact`` boundaries alone, ``partial`` gives half credit for an overlap whatever the
    label, ``ent_type`` wants an overlap and the label. Predictions are matched in their order, and a gold entity is used up by
    its first match. Values by type come from matching each type alone, so they do not add up to the overall ones.

    Examples are lists of ``{"label", "start", "end"}`` with an inclusive end, or lists of IOB tags, one a token.

    References:
        nervaluate 1.2.1; Segura-Bedmar et al. (2013), SemEval-2013 Task 9, section on evaluation.
    """

    name: ClassVar[str] = "nervaluate"
    kinds: ClassVar[tuple[str, ...]] = ("ner",)
    reference: ClassVar[str] = "nervaluate 1.2.1"

    labels: tuple[str, ...] | None = None
    """Labels that count, others are dropped; None means all labels of the data."""
    min_overlap_percentage: float = 1.0
    """Least part of the gold span that an overlap must cover, in percent (1-100)."""

    def __post_init__(self) -> None:
        if not 1.0 <= self.min_overlap_percentage <= 100.0:
            raise InvalidInputError(
                f"min_overlap_percentage is {self.min_overlap_percentage}; expected a number from 1 to 100"
            )
        if isinstance(self.labels, str):
            raise InvalidTypeError(f"labels are the bare string {self.labels!r}; expected a tuple of labels")

    @property
    def headline(self) -> tuple[str, ...]:
        """F1 of each strategy."""
        return tuple(f"{strategy}_f1" for strategy in STRATEGIES)

    def statistics(
        self, predictions: Sequence[Sequence[Any]], references: Sequence[Sequence[Sequence[Any]]]
    ) -> Statistics:
        """Count outcomes by strategy, overall and by type.

        Args:
            predictions: Entities or tags of each example.
            references: The same for the gold standard, one in a list for each example.

        Returns:
            Columns ``STRATEGY.OUTCOME``, and ``STRATEGY.OUTCOME[TYPE]`` for each type that occurs.

        Raises:
            InvalidInputError: A span ends before it starts, a tag is not of IOB, or numbers of tags differ.
            InvalidTypeError: An example is neither a list of entities nor of tags.
        """
        import numpy as np

        golds = sequence_pairs(predictions, references, "entities or tags")
        gold_entities = self._entities(golds, "reference")
        pred_entities = self._entities(predictions, "prediction")
        both_tagged = [
            index for index, pair in enumerate(zip(predictions, golds, strict=True)) if all(map(_is_tagged, pair))
        ]
        check_same_lengths([predictions[i] for i in both_tagged], [golds[i] for i in both_tagged], "tags")
        types = sorted({entity.label for side in (gold_entities, pred_entities) for found in side for entity in found})
        width = len(STRATEGIES) * len(OUTCOMES)
        rows = np.zeros((len(golds), (1 + len(types)) * width))
        for row, gold, pred in zip(rows, gold_entities, pred_entities, strict=True):
            row[:width] = self._tally(gold, pred)
            for label in {entity.label for entity in (*gold, *pred)}:
                start = (1 + types.index(label)) * width
                row[start : start + width] = self._tally(
                    [entity for entity in gold if entity.label == label],
                    [entity for entity in pred if entity.label == label],
                )
        columns = [
            f"{strategy}.{outcome}{suffix}"
            for suffix in ("", *(f"[{label}]" for label in types))
            for strategy in STRATEGIES
            for outcome in OUTCOMES
        ]
        return Statistics(tuple(columns), rows)

    def _entities(self, examples: Sequence[Sequence[Any]], side: str) -> list[list[Entity]]:
        found = []
        for index, example in enumerate(examples):
            place = f"{side} {index}"
            entities = _from_tags(example, place) if _is_tagged(example) else [_from_mapping(e, place) for e in example]
            found.append([entity for entity in entities if self.labels is None or entity.label in self.labels])
        return found

    def _tally(self, golds: list[Entity], preds: list[Entity]) -> list[int]:
        """Outcome counts of one example, strategy by strategy."""
        counts: list[int] = []
        for strategy in STRATEGIES:
            free = dict(enumerate(golds))
            tally = [0] * len(OUTCOMES)
            for pred in preds:
                choose = _by_type if strategy == "ent_type" else _by_boundaries
                outcome, used = choose(pred, free, strategy, self.min_overlap_percentage)
                tally[outcome] += 1
                free.pop(used, None)
            tally[_MISSED] = len(free)
            counts += tally
        return counts

    def ratios(self, columns: Sequence[str]) -> Mapping[str, Ratio]:
        """F1, precision and recall of each strategy, overall and by type."""
        first = f"{STRATEGIES[0]}.{OUTCOMES[0]}"
        suffixes = [name.removeprefix(first) for name in columns if name.startswith(first)]
        return {
            f"{strategy}_{measure}{suffix}": ratio
            for suffix in suffixes
            for strategy in STRATEGIES
            for measure, ratio in _strategy_ratios(strategy, suffix).items()
        }

    def score(self, sums: FloatArray, columns: Sequence[str]) -> dict[str, FloatArray]:
        """The values of `ratios`, the four F1 first."""
        values = super().score(sums, columns)
        return {**{name: values[name] for name in self.headline}, **values}

    def signature(self, references: Sequence[Sequence[Sequence[Any]]] | None = None) -> str:
        """Labels and least overlap."""
        labels = "all" if self.labels is None else ",".join(sorted(self.labels))
        return f"{self.name}|labels:{labels}|min_overlap:{self.min_overlap_percentage:g}"

    def report(
        self,
        predictions: Sequence[Sequence[Any]],
        references: Sequence[Sequence[Sequence[Any]]],
        statistics: Statistics | None = None,
    ) -> dict[str, Any]:
        """As nervaluate: ``overall[strategy]`` and ``per_type[label][strategy]`` with counts and values."""
        statistics = statistics or self.statistics(predictions, references)
        total = dict(zip(statistics.columns, map(int, statistics.total()), strict=True))
        values = {name: float(value) for name, value in self.score(statistics.total(), statistics.columns).items()}

        def table(suffix: str) -> dict[str, Any]:
            result: dict[str, Any] = {}
            for strategy in STRATEGIES:
                counts = {outcome: total[f"{strategy}.{outcome}{suffix}"] for outcome in OUTCOMES}
                matched = counts["correct"] + counts["incorrect"] + counts["partial"]
                result[strategy] = {
                    **counts,
                    "possible": matched + counts["missed"],
                    "actual": matched + counts["spurious"],
                    **{measure: values[f"{strategy}_{measure}{suffix}"] for measure in _MEASURES},
                }
            return result

        labels = [name[len("strict.correct[") : -1] for name in total if name.startswith("strict.correct[")]
        return {"overall": table(""), "per_type": {label: table(f"[{label}]") for label in labels}}


def _strategy_ratios(strategy: str, suffix: str) -> dict[str, Ratio]:
    column = {outcome: f"{strategy}.{outcome}{suffix}" for outcome in OUTCOMES}
    credit = {column["correct"]: 1.0}
    if strategy in ("partial", "ent_type"):
        credit[column["partial"]] = 0.5
    matched = dict.fromkeys((column["correct"], column["incorrect"], column["partial"]), 1.0)
    actual = matched | {column["spurious"]: 1.0}
    possible = matched | {column["missed"]: 1.0}
    both = dict.fromkeys(matched, 2.0) | {column["spurious"]: 1.0, column["missed"]: 1.0}
    return {
        "f1": Ratio({name: 2 * weight for name, weight in credit.items()}, both, when_zero=0.0),
        "precision": Ratio(credit, actual, when_zero=0.0),
        "recall": Ratio(credit, possible, when_zero=0.0),
    }


def _overlaps(pred: Entity, gold: Entity, least_percentage: float) -> bool:
    shared = min(pred.end, gold.end) - max(pred.start, gold.start) + 1
    # Written as the reference writes it: the order of division and multiplication decides at thresholds such as 58 percent.
    return shared > 0 and shared / (gold.end - gold.start + 1) * 100.0 >= least_percentage


def _by_boundaries(pred: Entity, free: Mapping[int, Entity], strategy: str, least: float) -> tuple[int, int]:
    """Outcome and gold entity used up, -1 for none: equal boundaries win, else the first overlap counts as a near miss."""
    near = -1
    for index, gold in free.items():
        if pred[1:] == gold[1:] and (strategy != "strict" or pred.label == gold.label):
            return _CORRECT, index
        if near < 0 and _overlaps(pred, gold, least):
            near = index
    return (_NOT_EXACT[strategy], near) if near >= 0 else (_SPURIOUS, -1)


def _by_type(pred: Entity, free: Mapping[int, Entity], strategy: str, least: float) -> tuple[int, int]:
    """As `_by_boundaries`, but the overlap of equal label with the nearest boundaries is right."""
    overlaps = [index for index, gold in free.items() if _overlaps(pred, gold, least)]
    alike = [index for index in overlaps if free[index].label == pred.label]
    if alike:
        return _CORRECT, min(alike, key=lambda i: abs(pred.start - free[i].start) + abs(pred.end - free[i].end))
    return (_INCORRECT, overlaps[0]) if overlaps else (_SPURIOUS, -1)


def _is_tagged(example: Sequence[Any]) -> bool:
    return bool(example) and isinstance(example[0], str)


def _from_mapping(entity: object, place: str) -> Entity:
    if not isinstance(entity, Mapping):
        raise InvalidTypeError(f"{place}: {entity!r} is not an entity; expected a mapping with label, start and end")
    if missing := [key for key in Entity._fields if key not in entity]:
        raise InvalidInputError(f"{place}: an entity lacks {', '.join(missing)}; expected label, start and end")
    label, start, end = (entity[key] for key in Entity._fields)
    if not isinstance(label, str) or not isinstance(start, int) or not isinstance(end, int):
        raise InvalidTypeError(f"{place}: {dict(entity)!r} must have a string label and whole numbers start and end")
    if end < start:
        raise InvalidInputError(f"{place}: an entity ends at {end}, before its start {start}; ends are inclusive")
    return Entity(label, start, end)


def _from_tags(tags: Sequence[str], place: str) -> list[Entity]:
    """Read IOB tags; an ``I-`` behind ``O`` or another type begins an entity."""
    entities: list[Entity] = []
    running = ""
    for position, tag in enumerate(tags):
        if tag == "O":
            running = ""
            continue
        if not isinstance(tag, str) or tag[:2] not in ("B-", "I-"):
            raise InvalidInputError(f"{place}: tag {tag!r} is not an IOB tag; expected O, B-TYPE or I-TYPE")
        if tag[0] == "I" and running == tag[1:]:
            entities[-1] = entities[-1]._replace(end=position)
        else:
            entities.append(Entity(tag[2:], position, position))
        running = tag[1:]
    return entities
