"""The harness: ask, answer, measure, keep.

    resolve   names and flags -> task, data, adapter          evalkit.resolve, before any model work
    ask       examples -> requests                            the task's kind and templates
    answer    requests -> responses                           the adapter; same ids, same order
    measure   responses -> predictions -> statistics -> values with intervals
    keep      record and samples -> a run folder              evalkit.store

Each step is a function of what the step before returned. A new task, kind, model or metric changes none of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Any, TypeAlias

from evalkit import provenance
from evalkit.answered import ANSWERED, Answered, Columns, View, summarize
from evalkit.asking import Asker, Asking
from evalkit.cache.keys import keys_for
from evalkit.data.load import TaskData, lexicon, load, training
from evalkit.digests import digest_json
from evalkit.encoding import EXAMPLE
from evalkit.errors import EvalkitError, InvalidInputError, StoppedError, UnknownNameError
from evalkit.kinds import KINDS
from evalkit.metrics.base import AnyMetric, Statistics
from evalkit.prompts import choose_shots, render, shots_for
from evalkit.record import COMPLETE, MetricValue, RunRecord
from evalkit.requests import (
    Example,
    GenerateRequest,
    ModelAdapter,
    Request,
    ScoreRequest,
    TaskContext,
)
from evalkit.spec import RunSpec, TaskSpec
from evalkit.spool import spooled
from evalkit.stats import Estimate, Resampling, estimate
from evalkit.store import RunStore
from evalkit.tabulating import block_count, tabulate

Progress: TypeAlias = Callable[[Iterable[Any], int, str], Iterable[Any]]
"""Passes items through and shows how far the work is; called with items, their number and a title."""

PROMPTED: frozenset[str] = frozenset({GenerateRequest.kind, ScoreRequest.kind})
"""Request kinds that show a prompt."""

READABLE_CHARACTERS = 2000
"""Longest text of an input that samples keep: enough to read beside an output; the prompt's digest says what was asked."""


class NotKeptError(InvalidInputError):
    """A run was scored but could not be kept; the record is there, so that its values can still be shown."""

    def __init__(self, problem: str, record: RunRecord) -> None:
        super().__init__(problem)
        self.record = record


@dataclass(frozen=True, slots=True)
class Measured:
    """One metric over the scored examples."""

    metric: AnyMetric
    label: str
    signature: str
    statistics: Statistics
    estimates: list[Estimate]
    report: Mapping[str, Any]


def run(
    spec: RunSpec,
    task: TaskSpec,
    data: TaskData,
    adapter: ModelAdapter,
    store: RunStore,
    progress: Progress = lambda items, total, title: items,
    asking: Asking | None = None,
) -> RunRecord:
    """Run one task with one model and keep the run.

    Args:
        spec: How the run is set up.
        task: The task, complete.
        data: The split that is scored.
        adapter: The model.
        store: Where the run is kept.
        progress: Shows how far the answers are.
        asking: How the model is asked: with a cache, by several ranks, until someone wants to stop; None for plainly.

    Returns:
        The record as it was kept; a run that was stopped says so in its status, and its values are those of what was answered.

    Raises:
        EvalkitError: Something cannot be used; nothing was kept but the responses in the cache.
        NotKeptError: The run could not be kept; its values are in the error's record.
        StoppedError: It was stopped before any example was answered.
    """
    started, clock = datetime.now(UTC), time.perf_counter()
    examples = select(data.examples, spec)
    context = task_context(spec, task, data, adapter)
    task, changes = KINDS[task.kind].fit(task, adapter.info)
    warnings = [*data.warnings, *changes, *adapter.prepare(context)]
    asker = Asker(adapter, keys_for(adapter.info, context, spec.neural), asking or Asking())
    requests = ask(spec, task, examples, context)
    loaded = time.perf_counter()
    answered = answer(task, asker, examples, requests, progress)
    replied = time.perf_counter()
    summary = summarize(answered)
    measured, concerns = measure(spec, task, summary.columns, progress)
    tokens = None if asker.cached else summary.tokens
    record = RunRecord(
        id=provenance.run_id(started, spec, adapter.info, summary.digest),
        created=started.isoformat(timespec="seconds"),
        status=status(len(answered), len(examples)),
        task=provenance.describe_task(task),
        data=provenance.describe_data(data, examples),
        model=provenance.describe_model(adapter.info),
        settings=provenance.describe_settings(spec, context.request_kind),
        metrics=tuple(metric_values(measured, len(summary.columns), len(answered))),
        statistics={row.label: provenance.describe_statistics(row.metric, row.statistics) for row in measured},
        details={row.label: row.report for row in measured},
        counts={**summary.counts, "cached": asker.cached},
        timing=provenance.describe_timing(
            tokens, load_s=loaded - clock, answer_s=replied - loaded, measure_s=time.perf_counter() - replied
        ),
        environment=provenance.describe_environment(adapter.info),
        warnings=tuple(dict.fromkeys([*warnings, *concerns])),
    )
    return keep(store, record, samples(answered, measured))


def select(examples: Sequence[Example], spec: RunSpec) -> Sequence[Example]:
    """Take the examples that the run is limited to.

    Raises:
        UnknownNameError: A sample id is not in the split.
        InvalidInputError: The limit is not positive.
    """
    if spec.sample_ids is not None:
        missing = dict.fromkeys(spec.sample_ids)
        for example in examples:
            missing.pop(example.id, None)
        if missing:
            known = [example.id for example in islice(examples, 10)]
            raise UnknownNameError("sample id", next(iter(missing)), known)
        keep = set(spec.sample_ids)
        examples = spooled((example for example in examples if example.id in keep), EXAMPLE)
    if spec.limit is not None:
        if spec.limit < 1:
            raise InvalidInputError(f"limit is {spec.limit}; expected at least 1 example")
        examples = examples if spec.limit >= len(examples) else spooled(islice(examples, spec.limit), EXAMPLE)
    return examples


def task_context(spec: RunSpec, task: TaskSpec, data: TaskData, adapter: ModelAdapter) -> TaskContext:
    """What the adapter may know about the task; settles the one request kind of the run.

    Raises:
        InvalidInputError: The model answers none of the request kinds that the task allows.
    """
    usable = [kind for kind in task.requests if kind in adapter.supports]
    if not usable:
        raise InvalidInputError(
            f"model {adapter.info.ref!r} answers {', '.join(sorted(adapter.supports))} requests,"
            f" but task {task.name!r} asks by {', '.join(task.requests)}; choose another model for it"
        )
    return TaskContext(
        task=task.name,
        kind=task.kind,
        language=task.language,
        example_ids=View(data.examples, lambda example: example.id),
        request_kind=usable[0],
        training=lambda: training(task, spec.data_dir),
        examples=lambda: data.examples,
        lexicon=lambda: lexicon(task, spec.data_dir),
    )


def ask(spec: RunSpec, task: TaskSpec, examples: Iterable[Example], context: TaskContext) -> Iterator[Request]:
    """Turn examples into requests, with prompts where the request kind shows them, each when it is its turn.

    Raises:
        InvalidInputError: A template fails, or there are too few examples for the shots asked for.
    """
    kind = KINDS[task.kind]
    prompted = context.request_kind in PROMPTED
    if spec.shots and not prompted:
        raise InvalidInputError(
            f"{spec.shots} shots asked for, but {context.request_kind!r} requests show no prompt; leave out --shots"
        )
    chosen = choose_shots(shot_pool(task, spec.data_dir), spec.shots, spec.seed) if spec.shots else ()
    return (
        kind.request(
            task,
            example,
            context.request_kind,
            render(task, example, shots_for(example, chosen, spec.shots)) if prompted else "",
        )
        for example in examples
    )


def shot_pool(task: TaskSpec, data_dir: str | None) -> Sequence[Example]:
    """The examples that shots are drawn from.

    Raises:
        InvalidInputError: The task has no split for that.
        MissingResourceError: The split's data is not to be had here.
    """
    if task.shots_split is None:
        raise InvalidInputError(f"task {task.name!r} has no split to draw shots from; leave out --shots")
    return load(task, task.shots_split, data_dir).examples


def answer(
    task: TaskSpec, asker: Asker, examples: Sequence[Example], requests: Iterator[Request], progress: Progress
) -> Sequence[Answered]:
    """Let the model answer all requests, and read its responses.

    Returns:
        One row an example, in order; fewer where the run was stopped.

    Raises:
        EvalkitError: The adapter broke its promise: other ids, another order, or another number of responses.
        StoppedError: The run was stopped before any example was answered.
    """
    kind = KINDS[task.kind]
    bar = iter(progress(range(len(examples)), len(examples), f"{task.name} {asker.name}"))

    def tick(count: int) -> None:
        for _ in islice(bar, count):
            pass

    def rows() -> Iterator[Answered]:
        pairs = zip(examples, requests, strict=True)
        while not asker.is_stopped and (together := list(islice(pairs, asker.together))):
            responses = asker.ask([request for _, request in together], tick)
            for (example, request), response in zip(together, responses, strict=True):
                if response is not None:
                    prediction = None if response.error else kind.prediction(task, example, response)
                    yield Answered(example, request_digest(request), response, prediction)
        tick(1)  # Behind the last one: the bar ends.

    answered = spooled(rows(), ANSWERED)
    if not answered and asker.is_stopped:
        raise StoppedError(f"task {task.name!r}: stopped before any example was answered; nothing was kept")
    return answered


def status(answered: int, asked: int) -> str:
    """What the record says about the run as a whole."""
    if answered == asked:
        return COMPLETE
    return f"stopped: {answered} of {asked} examples were answered"


def measure(spec: RunSpec, task: TaskSpec, scored: Columns, progress: Progress) -> tuple[list[Measured], list[str]]:
    """Score all metrics with intervals from one draw.

    Returns:
        The metrics in the task's order, and warnings about how they read this corpus.

    Raises:
        InvalidInputError: No example could be scored, or a metric cannot take a prediction.
    """
    if not len(scored):
        raise InvalidInputError(f"task {task.name!r}: no example could be scored; every response failed or was missing")
    predictions, references = scored.predictions, scored.references
    metrics = [metric.with_lexicon(lambda: lexicon(task, spec.data_dir)) for metric in task.metrics]
    steps = len(metrics) * block_count(len(scored))
    bar = iter(progress(range(steps), steps, f"{task.name} metrics"))
    tables = tabulate(metrics, predictions, references, lambda: next(bar, None))
    pairs = list(zip(metrics, tables, strict=True))
    resampling = Resampling(resamples=spec.resamples, confidence=spec.confidence, seed=spec.seed)
    estimates = estimate(pairs, resampling, scored.clusters)
    measured = [
        Measured(
            metric,
            label,
            metric.signature(references),
            statistics,
            values,
            metric.report(predictions, references, statistics),
        )
        for (metric, statistics), label, values in zip(pairs, task.metric_labels, estimates, strict=True)
    ]
    concerns = [line for metric in metrics for line in metric.warnings(predictions, references)]
    return measured, concerns


def metric_values(measured: Sequence[Measured], n: int, answered: int) -> Iterator[MetricValue]:
    """The values of a record, each metric's headline first."""
    for row in measured:
        headline = row.metric.headline
        by_name = {value.name: value for value in row.estimates}
        for name in (*headline, *(name for name in by_name if name not in headline)):
            value = by_name[name]
            yield MetricValue(
                metric=row.label,
                name=name,
                value=value.value,
                low=value.low,
                high=value.high,
                stderr=value.stderr,
                n=n,
                unscored=answered - n,
                signature=row.signature,
                higher_is_better=row.metric.higher_is_better,
                scale=row.metric.scale,
                headline=name in headline,
            )


def keep(store: RunStore, record: RunRecord, rows: Iterable[Mapping[str, Any]]) -> RunRecord:
    """Write the run into the store.

    Raises:
        NotKeptError: It could not be written.
    """
    try:
        store.keep(record, rows)
    except EvalkitError as error:
        raise NotKeptError(str(error), record) from error
    return record


def samples(answered: Iterable[Answered], measured: Sequence[Measured]) -> Iterator[dict[str, Any]]:
    """One mapping an example, as samples.jsonl holds it; unscored examples have no statistics."""
    place = 0
    for row in answered:
        is_scored = row.prediction is not None
        yield {
            "id": row.example.id,
            "cluster": row.example.cluster,
            "prompt_digest": row.prompt_digest,
            "response": provenance.plain(row.response),
            "prediction": provenance.plain(row.prediction),
            "references": provenance.plain(row.example.references),
            "inputs": readable_inputs(row.example),
            "truncated": row.response.truncated,
            "statistics": {part.label: provenance.plain_numbers(part.statistics.rows[place]) for part in measured}
            if is_scored
            else None,
        }
        place += is_scored


def readable_inputs(example: Example) -> dict[str, Any]:
    """What an example asks, for people who read its outputs; long texts are cut, and the reference is not said twice."""
    shown: dict[str, Any] = {}
    for name, value in example.inputs.items():
        if isinstance(value, str):
            if value in example.references:
                continue
            value = value if len(value) <= READABLE_CHARACTERS else f"{value[:READABLE_CHARACTERS]}…"
        shown[name] = provenance.plain(value)
    return shown


def request_digest(request: Request) -> str:
    """Digest of all that a model is shown: two runs with the same digest were asked the same."""
    shown = {name: getattr(request, name) for name in request.__slots__ if name not in ("example_id", "inputs")}
    return digest_json([request.kind, shown])
