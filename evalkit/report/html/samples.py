"""Examples with the outputs of every model, as compressed blocks that the page opens when they are asked for.

A task page has one block of examples (ids, inputs, references) and one for each model (outputs, scores, flags); all lists
of a page have the same order, so that a reader who compares two models loads three blocks, however many there are.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from evalkit.comparison.draws import FloatArray
from evalkit.comparison.loaded import LoadedRun
from evalkit.errors import EvalkitError
from evalkit.metrics.base import AnyMetric, weights
from evalkit.metrics.configure import configure
from evalkit.report.evidence import Taker
from evalkit.report.html.lines import SampleLines, as_json, cut_up
from evalkit.report.page_model import MetricRow

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

T = TypeVar("T")

MAX_SCORES = 4
"""Scores that an example shows."""

LONG_CHARACTERS = 100
"""Texts of inputs from this length on are kept once."""

_LEVEL = 2
"""Of zlib: a third of the time of its default for 8% more bytes."""
_EXACT = "exact_match"
_TAGGED = ("classification", "ner", "cws")


@dataclass(frozen=True, slots=True)
class Block:
    """Part of a page's samples."""

    key: str
    """Unique within the report; a file may have it as its name."""
    digest: str
    """Of the data: a file of another report is not taken for this one's."""
    data: str
    """JSON, compressed by zlib, in base64."""


@dataclass(frozen=True, slots=True)
class PageSamples:
    """The blocks of a page, and what the page must know about them beforehand."""

    blocks: tuple[Block, ...]
    manifest: Mapping[str, Any]

    @property
    def size_bytes(self) -> int:
        """Size of all blocks."""
        return sum(len(block.data) for block in self.blocks)


@dataclass(slots=True)
class _Examples:
    """Examples of all runs of a page, each once."""

    places: dict[str, int] = field(default_factory=dict)
    clusters: list[str | None] = field(default_factory=list)
    references: list[Any] = field(default_factory=list)
    inputs: list[Any] = field(default_factory=list)
    known: dict[tuple[str, ...], list[int]] = field(default_factory=dict)
    """Ids of a run to places: most runs of a page have the same examples in the same order."""

    def add(self, samples: SampleLines) -> list[int]:
        """The places of a run's examples; new ones are added."""
        if samples.ids not in self.known:
            self.known[samples.ids] = self._add(samples)
        return self.known[samples.ids]

    def _add(self, samples: SampleLines) -> list[int]:
        for at, example in enumerate(samples.ids):
            if example not in self.places:
                row = samples.whole(at)
                self.places[example] = len(self.places)
                self.clusters.append(row.get("cluster"))
                self.references.append(row.get("references") or [])
                self.inputs.append(row.get("inputs") or {})
        return [self.places[example] for example in samples.ids]


@dataclass(frozen=True, slots=True)
class _Side:
    """What one model said and got; every list is in the order of its run."""

    places: list[int]
    """Of the examples, among all of the page."""
    outputs: Sequence[bytes]
    """As JSON."""
    verdicts: str
    """``1`` right, ``0`` wrong, ``-`` where the kind knows degrees only."""
    scores: list[list[float | None]]
    flags: dict[int, list[str]]
    """Place of an example to what went other than planned."""


class SamplePages:
    """The samples of all task pages, gathered while a report is built, so that every run is read once."""

    def __init__(self) -> None:
        self.pages: dict[str, PageSamples] = {}
        """By key of the page; those without any text are left out."""
        self._opened = 0

    @contextmanager
    def page(self, key: str, kind: str, metrics: Sequence[MetricRow]) -> Iterator[_PageReader]:
        """Gather the samples of one task page.

        Args:
            key: Key of the page.
            kind: Task kind.
            metrics: All values of its models.

        Yields:
            What takes the runs, one of each model, in the order of the models.
        """
        # Compressing takes a third of the time and leaves the interpreter free to read the next run.
        with ThreadPoolExecutor(max_workers=2) as pool:
            reader = _PageReader(f"{self._opened:03d}", kind, score_rows(kind, metrics), pool)
            self._opened += 1
            yield reader
            found = reader.samples()
        if found is not None:
            self.pages[key] = found


@dataclass(slots=True, eq=False)
class _PageReader:
    """Takes the runs of one page."""

    prefix: str
    """Names the blocks."""
    kind: str
    shown: Sequence[MetricRow]
    """What examples are scored by."""
    pool: ThreadPoolExecutor
    examples: _Examples = field(default_factory=_Examples)
    models: dict[int, tuple[str, Future[Block]]] = field(default_factory=dict)
    """Place of a model in the report to the id of its run, and its block."""

    def taker(self, model: int) -> Taker:
        """Who takes the run of a model, given as its place in the report."""
        return Taker(frozenset(row.metric for row in self.shown), partial(self._take, model))

    def _take(self, model: int, run: LoadedRun) -> None:
        side = _side(run, self.kind, self.shown, self.examples)
        if side is not None:
            block = self.pool.submit(_block, f"{self.prefix}-{model:03d}", _side_json(side))
            self.models[model] = run.record.id, block

    def samples(self) -> PageSamples | None:
        """What was taken; None where no run holds any text."""
        if not self.examples.places:
            return None
        first = _block(f"{self.prefix}-examples", as_json(_columns(self.examples)))
        done = {model: (run, block.result()) for model, (run, block) in self.models.items()}
        manifest = {
            "n": len(self.examples.places),
            "scores": [
                [row.metric, row.value, [row.display.digits, row.display.unit], row.higher_is_better]
                for row in self.shown
            ],
            "judged": self.kind in _TAGGED or any(row.value == _EXACT for row in self.shown),
            "examples": [first.key, first.digest],
            "models": {str(model): [block.key, block.digest, run] for model, (run, block) in done.items()},
        }
        return PageSamples((first, *(block for _, block in done.values())), manifest)


def score_rows(kind: str, metrics: Sequence[MetricRow]) -> list[MetricRow]:
    """The values that examples are scored and sorted by: the first of each metric, and whether an answer is exact."""
    rows: list[MetricRow] = []
    for row in metrics:
        if (
            row.metric not in {one.metric for one in rows}
            or row.value == _EXACT
            or (kind == "qa" and row.value == "f1")
        ):
            rows.append(row)
    return rows[:MAX_SCORES]


def _side(run: LoadedRun, kind: str, shown: Sequence[MetricRow], examples: _Examples) -> _Side | None:
    """Take what is shown of one run; None where it holds no text."""
    samples = cut_up(run)
    if samples is None:
        return None
    places = examples.add(samples)
    scores = [_scores(samples, row) for row in shown]
    odd = (samples.truncated | ~samples.scored).nonzero()[0].tolist()
    return _Side(
        places=places,
        outputs=samples.outputs,
        verdicts=_verdicts(kind, shown, scores, samples),
        scores=scores,
        flags={places[at]: _flags(samples, at) for at in odd},
    )


def _verdicts(
    kind: str, shown: Sequence[MetricRow], scores: Sequence[Sequence[float | None]], samples: SampleLines
) -> str:
    """How each answer is judged."""
    if kind in _TAGGED:
        return "".join("01"[right] for right in map(_is_among, samples.outputs, samples.references))
    for row, values in zip(shown, scores, strict=True):
        if row.value == _EXACT:
            return "".join("-" if value is None else "01"[value > 0] for value in values)
    return "-" * len(samples.ids)


def _is_among(prediction: bytes, references: bytes) -> bool:
    """Whether a prediction is one of the references."""
    return references == b"[" + prediction + b"]" or json.loads(prediction) in (json.loads(references) or ())


def _scores(samples: SampleLines, row: MetricRow) -> list[float | None]:
    """A value of each example alone, as it is shown; None where it is undefined, or where the example was not scored."""
    import numpy as np

    stored = samples.record.statistics.get(row.metric)
    values = None
    if stored is not None:
        try:
            metric, table = configure(stored.metric, stored.settings), samples.statistics[row.metric]
        except EvalkitError:
            # A metric of a newer evalkit; the cell says so.
            return [None] * len(samples.ids)
        values = metric.score(table.rows, table.columns).get(row.value)
    if values is None:
        return [None] * len(samples.ids)
    known = samples.scored & np.isfinite(values) & _is_defined(metric, row.value, table.rows, table.columns)
    rounded = np.round(np.where(known, values, 0.0) * row.display.factor, row.display.digits)
    return [value if is_known else None for value, is_known in zip(rounded.tolist(), known.tolist(), strict=True)]


def _is_defined(metric: AnyMetric, value: str, rows: FloatArray, columns: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Where a ratio has something to divide by: a sentence without entities has no F1, though a corpus may count it as 0."""
    import numpy as np

    ratio = metric.ratios(columns).get(value)
    if ratio is None:
        return np.ones(len(rows), dtype=np.bool_)
    defined: npt.NDArray[np.bool_] = rows @ weights(ratio.denominator, columns) != 0
    return defined


def _flags(samples: SampleLines, at: int) -> list[str]:
    """What went other than planned with one example."""
    flags = ["truncated"] if samples.truncated[at] else []
    if not samples.scored[at]:
        response = samples.whole(at).get("response")
        error = response.get("error") if isinstance(response, Mapping) else None
        flags.append(f"failed: {error}" if error else "not scored")
    return flags


def _side_json(side: _Side) -> bytes:
    """A model's lists in the order of the page's examples, up to the last that it was asked."""
    outputs, verdicts, scores = side.outputs, side.verdicts, side.scores
    length = max(side.places, default=-1) + 1
    if side.places != list(range(length)):
        outputs = _spread(outputs, side.places, length, b"null")
        verdicts = "".join(_spread(verdicts, side.places, length, " "))
        scores = [_spread(values, side.places, length, None) for values in scores]
    rest = as_json({"right": verdicts, "scores": scores, "flags": side.flags})
    return b'{"out":[' + b",".join(outputs) + b"]," + rest[1:]


def _spread(values: Sequence[T], places: Sequence[int], length: int, gap: T) -> list[T]:
    """Values at their places, and a gap for every example that a model was not asked."""
    spread = [gap] * length
    for value, place in zip(values, places, strict=True):
        spread[place] = value
    return spread


def _columns(examples: _Examples) -> dict[str, Any]:
    has_clusters = any(cluster is not None for cluster in examples.clusters)
    pool: dict[str, int] = {}
    inputs = [{name: _pooled(value, pool) for name, value in row.items()} for row in examples.inputs]
    return {
        "ids": list(examples.places),
        "clusters": examples.clusters if has_clusters else None,
        "references": examples.references,
        "inputs": inputs if any(inputs) else None,
        "pool": list(pool),
    }


def _pooled(value: object, pool: dict[str, int]) -> object:
    """A long text as its place in the pool: many questions are asked about one paragraph."""
    if isinstance(value, str) and len(value) >= LONG_CHARACTERS:
        return {"at": pool.setdefault(value, len(pool))}
    return value


def _block(key: str, raw: bytes) -> Block:
    return Block(
        key, hashlib.sha256(raw).hexdigest()[:16], base64.b64encode(zlib.compress(raw, _LEVEL)).decode("ascii")
    )
