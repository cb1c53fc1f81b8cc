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
from typing import Any, TypeAlias

from evalkit import provenance
from evalkit.data.load import TaskData, lexicon, load, training
from evalkit.digests import digest_json
from evalkit.errors import EvalkitError, InvalidInputError, UnknownNameError
from evalkit.kinds import KINDS
from evalkit.metrics.base import AnyMetric, Statistics
from evalkit.prompts import choose_shots, render, shots_for
from evalkit.record import MetricValue, RunRecord
from evalkit.requests import (
    Example,
    GenerateRequest,
    ModelAdapter,
    Request,
    Response,
    ScoreRequest,
    TaskContext,
)
from evalkit.spec import RunSpec, TaskSpec
from evalkit.stats import Estimate, Resampling, estimate
from evalkit.store import RunStore

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
class Answered:
    """One example with what was asked, what came back, and what was read from it."""

    example: Example
    prompt_digest: str
    response: Response
    prediction: Any
    """None where the response failed or held nothing that could be scored."""


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
) -> RunRecord:
    """Run one task with one model and keep the run.

    Args:
        spec: How the run is set up.
        task: The task, complete.
        data: The split that is scored, loaded whole.
        adapter: The model.
        store: Where the run is kept.
        progress: Shows how far the answers are.

    Returns:
        The record as it was kept.

    Raises:
        EvalkitError: Something cannot be used; nothing was kept.
        NotKeptError: The run could not be kept; its values are in the error's record.
    """
    started, clock = datetime.now(UTC), time.perf_counter()
    examples = select(data.examples, spec)
    context = task_context(spec, task, data, adapter)
    task, changes = KINDS[task.kind].fit(task, adapter.info)
    warnings = [*data.warnings, *changes, *adapter.prepare(context)]
    requests = ask(spec, task, examples, context)
    loaded = time.perf_counter()
    answered = answer(task, adapter, examples, requests, progress)
    replied = time.perf_counter()
    scored = [row for row in answered if row.prediction is not None]
    measured, concerns = measure(spec, task, scored, progress)
    finished = time.perf_counter()
    record = RunRecord(
        id=provenance.run_id(started, spec, adapter.info, [row.prediction for row in answered]),
        created=started.isoformat(timespec="seconds"),
        status="complete",
        task=provenance.describe_task(task),
        data=provenance.describe_data(data, examples),
        model=provenance.describe_model(adapter.info),
        settings=provenance.describe_settings(spec, context.request_kind),
        metrics=tuple(metric_values(measured, len(scored), len(answered) - len(scored))),
        statistics={row.label: provenance.describe_statistics(row.metric, row.statistics) for row in measured},
        details={row.label: row.report for row in measured},
        counts=count(answered),
        timing=provenance.describe_timing(
            answered_tokens(answered), load_s=loaded - clock, answer_s=replied - loaded, measure_s=finished - replied
        ),
        environment=provenance.describe_environment(),
        warnings=tuple(dict.fromkeys([*warnings, *concerns])),
    )
    try:
        store.keep(record, samples(answered, measured))
    except EvalkitError as error:
        raise NotKeptError(str(error), record) from error
    return record


def select(examples: Sequence[Example], spec: RunSpec) -> Sequence[Example]:
    """Take the examples that the run is limited to.

    Raises:
        UnknownNameError: A sample id is not in the split.
        InvalidInputError: The limit is not positive.
    """
    if spec.sample_ids is not None:
        known = {example.id: example for example in examples}
        for wanted in spec.sample_ids:
            if wanted not in known:
                raise UnknownNameError("sample id", wanted, list(known)[:10])
        keep = set(spec.sample_ids)
        examples = [example for example in examples if example.id in keep]
    if spec.limit is not None:
        if spec.limit < 1:
            raise InvalidInputError(f"limit is {spec.limit}; expected at least 1 example")
        examples = examples[: spec.limit]
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
        example_ids=tuple(example.id for example in data.examples),
        request_kind=usable[0],
        training=lambda: training(task, spec.data_dir),
        examples=lambda: data.examples,
        lexicon=lambda: lexicon(task, spec.data_dir),
    )


def ask(spec: RunSpec, task: TaskSpec, examples: Sequence[Example], context: TaskContext) -> list[Request]:
    """Turn examples into requests, with prompts where the request kind shows them.

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
    return [
        kind.request(
            task,
            example,
            context.request_kind,
            render(task, example, shots_for(example, chosen, spec.shots)) if prompted else "",
        )
        for example in examples
    ]


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
    task: TaskSpec,
    adapter: ModelAdapter,
    examples: Sequence[Example],
    requests: Sequence[Request],
    progress: Progress,
) -> list[Answered]:
    """Let the adapter answer all requests and read its responses.

    Raises:
        EvalkitError: The adapter broke its promise: other ids, another order, or another number of responses.
    """
    kind = KINDS[task.kind]
    answered: list[Answered] = []
    for response in progress(adapter.answer(requests), len(requests), f"{task.name} {adapter.info.name}"):
        place = len(answered)
        if place == len(requests) or response.example_id != requests[place].example_id:
            raise EvalkitError(f"adapter {adapter.info.ref!r} answered {response.example_id!r} out of turn")
        prediction = None if response.error else kind.prediction(task, examples[place], response)
        answered.append(Answered(examples[place], request_digest(requests[place]), response, prediction))
    if len(answered) != len(requests):
        raise EvalkitError(f"adapter {adapter.info.ref!r} gave {len(answered)} answers to {len(requests)} requests")
    return answered


def measure(
    spec: RunSpec, task: TaskSpec, scored: Sequence[Answered], progress: Progress
) -> tuple[list[Measured], list[str]]:
    """Score all metrics with intervals from one draw.

    Returns:
        The metrics in the task's order, and warnings about how they read this corpus.

    Raises:
        InvalidInputError: No example could be scored, or a metric cannot take a prediction.
    """
    if not scored:
        raise InvalidInputError(f"task {task.name!r}: no example could be scored; every response failed or was missing")
    predictions = [row.prediction for row in scored]
    references = [row.example.references for row in scored]
    metrics = [metric.with_lexicon(lambda: lexicon(task, spec.data_dir)) for metric in task.metrics]
    pairs = [
        (metric, metric.statistics(predictions, references))
        for metric in progress(metrics, len(metrics), f"{task.name} metrics")
    ]
    resampling = Resampling(resamples=spec.resamples, confidence=spec.confidence, seed=spec.seed)
    estimates = estimate(pairs, resampling, [row.example.cluster for row in scored])
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


def metric_values(measured: Sequence[Measured], n: int, unscored: int) -> Iterator[MetricValue]:
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
                unscored=unscored,
                signature=row.signature,
                higher_is_better=row.metric.higher_is_better,
                scale=row.metric.scale,
                headline=name in headline,
            )


def count(answered: Sequence[Answered]) -> dict[str, int]:
    """How many examples there were, and how many of them went other than planned."""
    responses = [row.response for row in answered]
    return {
        "examples": len(responses),
        "failed": sum(response.error is not None for response in responses),
        "truncated": sum(response.truncated for response in responses),
        "empty": sum(said is not None and not said.strip() for said in map(said_text, responses)),
        "missing": sum(said_text(response) is None and response.error is None for response in responses),
        "cached": 0,
    }


def said_text(response: Response) -> str | None:
    """The text or class of a response, None where there was none; a response of numbers or tags counts as said."""
    for name in ("text", "label", "labels"):
        if hasattr(response, name):
            value = getattr(response, name)
            return value if value is None or isinstance(value, str) else "tags"
    return "numbers"


def answered_tokens(answered: Sequence[Answered]) -> int | None:
    """Tokens that the model generated or scored; None where the adapter does not count them."""
    counts = [getattr(row.response, "token_count", None) for row in answered]
    known = [number for number in counts if number is not None]
    return sum(known) if known else None


def samples(answered: Sequence[Answered], measured: Sequence[Measured]) -> Iterator[dict[str, Any]]:
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
