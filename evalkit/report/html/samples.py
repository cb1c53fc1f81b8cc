"""Examples with the outputs of every model, as compressed blocks that the page opens when they are asked for.

A task page has one block of examples (ids, inputs, references) and one for each model (outputs, scores, flags); all lists
of a page have the same order, so that a reader who compares two models loads three blocks, however many there are.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from evalkit.comparison.draws import FloatArray
from evalkit.comparison.loaded import LoadedRun
from evalkit.metrics.base import AnyMetric, weights
from evalkit.metrics.configure import configure
from evalkit.report.html.payload import number
from evalkit.report.model import Report, Run
from evalkit.report.page_model import MetricRow, TaskPage

Loader: TypeAlias = Callable[[str], LoadedRun]
"""Reads a run folder, e.g. `evalkit.comparison.loaded.load_run`."""

MAX_SCORES = 4
"""Scores that an example shows."""

LONG_CHARACTERS = 100
"""Texts of inputs from this length on are kept once."""

_EXACT = "exact_match"
_TAGGED = ("classification", "ner", "cws")
_DIGITS = re.compile(r"(\d+)")


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

    def add(self, rows: Sequence[Mapping[str, Any]]) -> list[int]:
        """The places of the rows' examples; new ones are added."""
        for row in rows:
            if row["id"] not in self.places:
                self.places[row["id"]] = len(self.places)
                self.clusters.append(row.get("cluster"))
                self.references.append(row.get("references") or [])
                self.inputs.append(row.get("inputs") or {})
        return [self.places[row["id"]] for row in rows]


def page_samples(report: Report, page: TaskPage, number_of_page: int, load: Loader) -> PageSamples | None:
    """Read the samples of one task page.

    Args:
        report: The report.
        page: One of its pages.
        number_of_page: Its place; names the blocks.
        load: Reads a run folder.

    Returns:
        None where no run of the page holds any text.

    Raises:
        EvalkitError: A run folder cannot be read any more.
    """
    shown = score_rows(page)
    examples = _Examples()
    sides: list[tuple[int, Run, dict[str, Any]]] = []
    for place, run in _runs(report, page):
        loaded = load(run.place)
        if loaded.lines is not None:
            sides.append((place, run, _side(loaded, page, shown, examples)))
    if not sides or not examples.places:
        return None
    total = len(examples.places)
    blocks = [_block(f"{number_of_page:03d}-examples", _columns(examples))]
    models: dict[str, Any] = {}
    for place, run, side in sides:
        block = _block(f"{number_of_page:03d}-{place:03d}", _padded(side, total))
        blocks.append(block)
        models[str(place)] = [block.key, block.digest, run.id]
    manifest = {
        "n": total,
        "scores": [
            [row.metric, row.value, [row.display.digits, row.display.unit], row.higher_is_better] for row in shown
        ],
        "judged": page.kind in _TAGGED or any(row.value == _EXACT for row in shown),
        "examples": [blocks[0].key, blocks[0].digest],
        "models": models,
    }
    return PageSamples(tuple(blocks), manifest)


def score_rows(page: TaskPage) -> list[MetricRow]:
    """The values that examples are scored and sorted by: the first of each metric, and whether an answer is exact."""
    rows: list[MetricRow] = []
    for row in page.metrics:
        if (
            row.metric not in {one.metric for one in rows}
            or row.value == _EXACT
            or (page.kind == "qa" and row.value == "f1")
        ):
            rows.append(row)
    return rows[:MAX_SCORES]


def _runs(report: Report, page: TaskPage) -> Iterator[tuple[int, Run]]:
    """For each model of the page its place in the report and the newest run that is shown."""
    for place, model in enumerate(report.models):
        runs = [run for run in report.runs if run.page == page.key and run.model == model.key]
        used = [run for run in runs if run.use in ("shown", "averaged")] or runs
        if used:
            yield place, max(used, key=lambda run: (run.created, run.id))


def _side(loaded: LoadedRun, page: TaskPage, shown: Sequence[MetricRow], examples: _Examples) -> dict[str, Any]:
    """What one model said and got, in the order of the run, with the places of its examples."""
    assert loaded.lines is not None
    order = sorted(range(len(loaded.ids)), key=lambda place: natural(loaded.ids[place]))
    rows: list[dict[str, Any]] = json.loads(b"[" + b",".join(loaded.lines[place] for place in order) + b"]")
    places = examples.add(rows)
    return {
        "places": places,
        "out": [_output(row.get("prediction")) for row in rows],
        "right": "".join(map(_verdict(loaded, page, order), range(len(rows)), rows)),
        "scores": [_scores(loaded, row, order) for row in shown],
        "flags": {places[at]: flags for at, row in enumerate(rows) if (flags := _flags(row))},
    }


def natural(text: str) -> list[tuple[int, int | str]]:
    """A key that sorts ``9`` before ``10``."""
    parts = _DIGITS.split(text)
    return [(0, int(part)) if part.isdecimal() and part.isascii() else (1, part) for part in parts if part]


def _output(prediction: object) -> object:
    if isinstance(prediction, Mapping):
        return prediction.get("text")
    return prediction


def _verdict(loaded: LoadedRun, page: TaskPage, order: Sequence[int]) -> Callable[[int, Mapping[str, Any]], str]:
    """How an answer is judged: ``1`` right, ``0`` wrong, ``-`` where the kind knows degrees only."""
    if page.kind in _TAGGED:
        return lambda _, row: "01"[row.get("prediction") in (row.get("references") or ())]
    exact = next((row for row in page.metrics if row.value == _EXACT), None)
    if exact is None:
        return lambda _, __: "-"
    values = _scores(loaded, exact, order)
    return lambda at, _: "-" if values[at] is None else "01"[values[at] > 0]  # type: ignore[operator]


def _scores(loaded: LoadedRun, row: MetricRow, order: Sequence[int]) -> list[float | None]:
    """A value of each example alone; None where it is undefined, or where the example was not scored."""
    import numpy as np

    stored = loaded.record.statistics.get(row.metric)
    if stored is None:
        return [None] * len(order)
    metric = configure(stored.metric, stored.settings)
    table = loaded.statistics[row.metric]
    values = metric.score(table.rows, table.columns).get(row.value)
    if values is None:
        return [None] * len(order)
    known = loaded.scored & np.isfinite(values) & _is_defined(metric, row.value, table.rows, table.columns)
    ordered = np.asarray(order, dtype=int)
    pairs = zip(values[ordered].tolist(), known[ordered].tolist(), strict=True)
    return [number(value, row.display) if is_known else None for value, is_known in pairs]


def _is_defined(metric: AnyMetric, value: str, rows: FloatArray, columns: Sequence[str]) -> Any:  # noqa: ANN401
    """Where a ratio has something to divide by: a sentence without entities has no F1, though a corpus may count it as 0."""
    import numpy as np

    ratio = metric.ratios(columns).get(value)
    if ratio is None:
        return np.ones(len(rows), dtype=np.bool_)
    return rows @ weights(ratio.denominator, columns) != 0


def _flags(row: Mapping[str, Any]) -> list[str]:
    response = row.get("response")
    error = response.get("error") if isinstance(response, Mapping) else None
    return [*(["truncated"] if row.get("truncated") else []), *([f"failed: {error}"] if error else [])]


def _padded(side: Mapping[str, Any], total: int) -> dict[str, Any]:
    """A model's lists with a gap for every example that it was not asked."""
    places = side["places"]
    if places == list(range(total)):
        return {name: value for name, value in side.items() if name != "places"}
    right = [" "] * total
    for at, place in enumerate(places):
        right[place] = side["right"][at]
    return {
        "out": _spread(side["out"], places, total),
        "right": "".join(right),
        "scores": [_spread(values, places, total) for values in side["scores"]],
        "flags": side["flags"],
    }


def _spread(values: Sequence[Any], places: Sequence[int], total: int) -> list[Any]:
    spread: list[Any] = [None] * total
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


def _block(key: str, value: object) -> Block:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # A lone surrogate, which UTF-8 cannot hold, becomes the JSON escape of the same character.
    raw = text.encode("utf-8", "backslashreplace")
    return Block(key, hashlib.sha256(raw).hexdigest()[:16], base64.b64encode(zlib.compress(raw, 6)).decode("ascii"))
