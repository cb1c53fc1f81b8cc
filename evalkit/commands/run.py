"""`evalkit run`: ask, answer, measure, keep."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import click

from evalkit.errors import EvalkitError, IncompleteError, InvalidInputError

if TYPE_CHECKING:
    from evalkit.record import RunRecord
    from evalkit.requests import ModelSettings
    from evalkit.spec import TaskSpec
    from evalkit.store import RunStore


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The flags of `run`."""

    task: tuple[str, ...]
    """Task names or files; each may be a comma-separated list."""
    model: tuple[str, ...]
    """Model references."""
    metrics: tuple[str, ...]
    """Metrics instead of the tasks' own."""
    data_dir: str | None
    """Folder of data files."""
    split: str | None
    """Split instead of the tasks' own."""
    size: int | None
    """Number of examples of an embedded task."""
    limit: int | None
    """First so many examples."""
    sample_ids: str | None
    """Comma-separated ids, or @FILE with one a line."""
    shots: int
    """Solved examples in a prompt."""
    seed: int
    """Seed of shots, sampled answers and resampling."""
    confidence: float
    """Level of intervals."""
    resamples: int
    """Bootstrap resamples."""
    out: str
    """Store of runs."""
    device: str
    """Device of neural models."""
    dtype: str
    """Floating-point type of neural models."""
    batch_size: str
    """Sequences at once, or auto."""
    on_overflow: str
    """What happens to texts longer than the model."""
    tag_decoding: str
    """How tags are chosen."""
    beams: int
    """Beams of generation."""
    length_penalty: float
    """Exponent of beam search's length penalty."""
    temperature: float
    """Temperature of generation; 0 is greedy."""
    top_k: int
    """Tokens to sample among; 0 for all."""
    top_p: float
    """Probability of the tokens to sample among."""
    repetition_penalty: float
    """Penalty of tokens that are there already; 1 for none."""
    max_new_tokens: int | None
    """Longest generated answer, instead of the tasks' own."""


@click.command(name="run")
@click.option("--task", multiple=True, required=True, metavar="T[,T]", help="Task, pattern or TOML file; repeatable.")
@click.option(
    "--model",
    multiple=True,
    required=True,
    metavar="M",
    help="Checkpoint folder, predictions:FILE or baseline:NAME; repeatable.",
)
@click.option("--metrics", multiple=True, metavar="M[,M]", help="Metrics instead of the task's own.")
@click.option("--data-dir", metavar="DIR", help="Folder of data files, <kind>/<dataset>/... [env: EVALKIT_DATA_DIR]")
@click.option("--split", metavar="NAME", help="Split to score, instead of the task's own.")
@click.option("--size", type=click.IntRange(min=1), metavar="N", help="Number of examples of an embedded task.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Score only the first N examples.")
@click.option("--sample-ids", metavar="ID[,ID]|@FILE", help="Score only these examples.")
@click.option("--shots", type=click.IntRange(min=0), default=0, show_default=True, help="Solved examples in a prompt.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of all drawing.")
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Level of the intervals.")
@click.option(
    "--resamples",
    type=click.IntRange(min=0, max=1_000_000),
    default=1000,
    show_default=True,
    help="Bootstrap resamples; 0 for none.",
)
@click.option("--out", default="runs", show_default=True, metavar="DIR|URL", help="Where run folders are kept.")
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda, cuda:N or mps; neural models only.")
@click.option(
    "--dtype",
    type=click.Choice(["float32", "bfloat16", "float16"]),
    default="float32",
    show_default=True,
    help="Type of weights and arithmetic; neural models only.",
)
@click.option("--batch-size", default="auto", show_default=True, metavar="auto|N", help="Sequences at once.")
@click.option(
    "--on-overflow",
    type=click.Choice(["error", "truncate", "window", "skip"]),
    default="error",
    show_default=True,
    help="What to do with texts longer than the model.",
)
@click.option(
    "--tag-decoding",
    type=click.Choice(["auto", "independent", "constrained"]),
    default="auto",
    show_default=True,
    help="Tags of each word for itself, or only those that the scheme allows; auto: as the checkpoint says.",
)
@click.option("--beams", type=click.IntRange(min=1), default=1, show_default=True, help="Beams of generation.")
@click.option(
    "--length-penalty",
    type=float,
    default=1.0,
    show_default=True,
    metavar="ALPHA",
    help="Exponent of beam search's length penalty; 0 for none.",
)
@click.option("--temperature", type=click.FloatRange(min=0), default=0.0, show_default=True, help="0 is greedy.")
@click.option("--top-k", type=click.IntRange(min=0), default=0, show_default=True, help="Sample among K; 0 for all.")
@click.option(
    "--top-p", type=float, default=1.0, show_default=True, help="Sample among the tokens of this probability."
)
@click.option("--repetition-penalty", type=float, default=1.0, show_default=True, help="Above 1 against repetition.")
@click.option(
    "--max-new-tokens", type=click.IntRange(min=1), metavar="N", help="Longest generated answer, instead of the task's."
)
@click.option("--json", "as_json", is_flag=True, help="Print the run records as JSON.")
def command(as_json: bool, **flags: object) -> int:
    """Score models on tasks, with intervals, and keep each run in a folder.

    \b
    Example:
      evalkit run --task mini_mt_en_zh --model baseline:copy --model baseline:tfidf
      evalkit run --task wmt22_en_zh --model predictions:system.zh.gz --data-dir data
    """
    from evalkit.runner import NotKeptError

    options = RunOptions(**flags)  # type: ignore[arg-type]
    records, failures = run_all(options)
    # What was scored but could not be kept is still shown; its error says that it was not kept.
    shown = [*records, *(error.record for error in failures if isinstance(error, NotKeptError))]
    if as_json:
        click.echo(json.dumps({"runs": [asdict(record) for record in shown]}, ensure_ascii=False, allow_nan=False))
    elif shown:
        click.echo(results_table(shown))
    if not failures:
        return 0
    *others, last = failures
    for failure in failures if records else others:
        click.echo(f"evalkit: {failure}", err=True)
    if not records:
        raise last
    raise IncompleteError(f"{len(failures)} of {len(failures) + len(records)} runs failed; the others were kept")


def run_all(options: RunOptions) -> tuple[list[RunRecord], list[EvalkitError]]:
    """Resolve everything first, then run each task with each model; a run that fails does not stop the others."""
    from evalkit.resolve import expand_tasks, parse_model, resolve_data_dir, resolve_task
    from evalkit.stats import Resampling
    from evalkit.store import RunStore

    names = expand_tasks(split_commas(options.task))
    metrics = split_commas(options.metrics)
    tasks = [resolve_task(name, metrics) for name in names]
    folders = [resolve_data_dir(name, task, options.data_dir) for name, task in zip(names, tasks, strict=True)]
    for model in options.model:
        parse_model(model)
    model_settings(options)
    Resampling(resamples=options.resamples, confidence=options.confidence, seed=options.seed)
    store = RunStore(options.out)
    store.check_writable()
    records: list[RunRecord] = []
    failures: list[EvalkitError] = []
    for task, folder in zip(tasks, folders, strict=True):
        done, failed = run_task(options, task, folder, store)
        records += done
        failures += failed
    return records, failures


def run_task(
    options: RunOptions, task: TaskSpec, folder: str | None, store: RunStore
) -> tuple[list[RunRecord], list[EvalkitError]]:
    """Load a task's data once and run every model on it."""
    from pathlib import Path

    from evalkit.data.load import load
    from evalkit.progress import show_progress, show_waiting
    from evalkit.resolve import expand_models, limit_answers, resize, resolve_model
    from evalkit.runner import run
    from evalkit.spec import RunSpec

    try:
        split = options.split or task.split
        task = resize(task, split, options.size)
        with show_waiting(f"{task.name}: reading {split}"):
            data = load(task, split, Path(folder) if folder else None)
        sample_ids = read_sample_ids(options.sample_ids)
    except EvalkitError as error:
        return [], [error]
    settings = model_settings(options)
    records: list[RunRecord] = []
    failures: list[EvalkitError] = []
    for model in expand_models(options.model, task):
        try:
            reference, adapter = resolve_model(model, settings)
            is_neural = reference.scheme not in ("predictions", "baseline")
            spec = RunSpec(
                task=task.name,
                model=reference,
                split=data.split,
                data_dir=folder,
                limit=options.limit,
                sample_ids=sample_ids,
                shots=options.shots,
                max_new_tokens=options.max_new_tokens,
                seed=options.seed,
                confidence=options.confidence,
                resamples=options.resamples,
                neural=settings if is_neural else None,
            )
            record = run(spec, limit_answers(task, adapter, spec.max_new_tokens), data, adapter, store, show_progress)
        except EvalkitError as error:
            failures.append(error)
        else:
            announce(record, options.out)
            records.append(record)
    return records, failures


def model_settings(options: RunOptions) -> ModelSettings:
    """The flags of neural models.

    Raises:
        InvalidInputError: The batch size is neither ``auto`` nor a positive number, or a setting of generation cannot be.
    """
    from evalkit.adapters.decoding import check_decoding
    from evalkit.requests import Decoding, ModelSettings

    size = options.batch_size
    if size != "auto" and not (size.isdecimal() and int(size) > 0):
        raise InvalidInputError(f"--batch-size {size!r} is neither auto nor a number of 1 or more")
    decoding = Decoding(
        beams=options.beams,
        length_penalty=options.length_penalty,
        temperature=options.temperature,
        top_k=options.top_k,
        top_p=options.top_p,
        repetition_penalty=options.repetition_penalty,
        seed=options.seed,
    )
    check_decoding(decoding)
    return ModelSettings(
        device=options.device,
        dtype=options.dtype,
        batch_size=None if size == "auto" else int(size),
        on_overflow=options.on_overflow,
        decoding=decoding,
        tag_decoding=options.tag_decoding,
    )


def announce(record: RunRecord, out: str) -> None:
    """Say on stderr what a reader of the numbers should know, and where the run is kept, as soon as it is."""
    for warning in record.warnings:
        click.echo(f"warning: {record.task['name']}, {record.model['name']}: {warning}", err=True)
    click.echo(f"kept: {out.rstrip('/')}/{record.id}", err=True)


def split_commas(values: Sequence[str]) -> list[str]:
    """Flatten repeated, comma-separated flags; empty parts are dropped."""
    return [part.strip() for value in values for part in value.split(",") if part.strip()]


def read_sample_ids(given: str | None) -> tuple[str, ...] | None:
    """The ids of ``--sample-ids``, from the flag or from a file.

    Raises:
        InvalidInputError: No id is given.
    """
    if given is None:
        return None
    if given.startswith("@"):
        from evalkit.data.text import open_text

        ids = [line.strip() for _, line in open_text(given[1:]) if line.strip()]
    else:
        ids = split_commas([given])
    if not ids:
        raise InvalidInputError(f"--sample-ids {given!r} holds no id; expected ID[,ID] or @FILE with one id a line")
    return tuple(ids)


def results_table(records: Sequence[RunRecord]) -> str:
    """Headline values of runs with intervals, and the signatures below."""
    from evalkit.table import format_table, printable

    rows: list[tuple[str, ...]] = []
    signatures: dict[str, None] = {}
    for record in records:
        for value in record.metrics:
            if not value.headline:
                continue
            signatures[f"{record.task['name']} {value.metric}: {value.signature}"] = None
            rows.append(
                (
                    record.task["name"],
                    record.model["name"],
                    value.metric if value.metric.startswith(value.name) else f"{value.metric} {value.name}",
                    format_value(value.value, value.scale),
                    format_interval(value.low, value.high, value.scale),
                    str(value.n),
                )
            )
    header = ("task", "model", "metric", "value", f"{100 * records[0].settings['confidence']:.6g}% interval", "n")
    table = format_table(header, rows, right=frozenset({3, 4, 5}))
    notes = "\n".join(printable(line) for line in signatures)
    return f"{table}\n\n{notes}"


def format_value(value: float | None, scale: float) -> str:
    """A value as the field prints it: two decimals in percent, four as a fraction; a dash where undefined."""
    if value is None:
        return "-"
    if abs(value) >= 1e6:
        return f"{value:.4g}"
    return f"{value:.2f}" if scale == 100 or value >= 10 else f"{value:.4f}"


def format_interval(low: float | None, high: float | None, scale: float) -> str:
    """An interval in brackets; a dash where there is none."""
    if low is None or high is None:
        return "-"
    return f"[{format_value(low, scale)}, {format_value(high, scale)}]"
