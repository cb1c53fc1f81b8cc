"""`evalkit run`: ask, answer, measure, keep."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from evalkit.errors import IncompleteError, StoppedError
from evalkit.running import Outcome, RunOptions, assist, model_settings, run_all

if TYPE_CHECKING:
    from evalkit.record import RunRecord

__all__ = ["RunOptions", "command", "format_interval", "format_value", "model_settings"]


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
@click.option("--part", metavar="FROM:TO", help="Score only this part of the split, as fractions; no document is cut.")
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
@click.option(
    "--cache",
    metavar="FILE|off",
    help="Responses by all that they depend on: a run that was stopped goes on, nothing is asked twice."
    " [default: .evalkit/cache.sqlite; env: EVALKIT_CACHE]",
)
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda, cuda:N or mps; neural models only.")
@click.option(
    "--dtype",
    type=click.Choice(["float32", "bfloat16", "float16"]),
    default="float32",
    show_default=True,
    help="Type of weights and arithmetic; neural models only.",
)
@click.option("--batch-size", default="auto", show_default=True, metavar="auto|N", help="Sequences at once.")
@click.option("--compile", is_flag=True, help="Let torch's compiler fuse kernels; changes values in their last digits.")
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
    from evalkit.ranks import is_leader
    from evalkit.table import printable

    options = RunOptions(**flags)  # type: ignore[arg-type]
    if not is_leader():
        assist(options)
        return 0
    outcome = run_all(options, lambda line: click.echo(printable(line), err=True))
    show(outcome, as_json)
    return conclude(outcome)


def show(outcome: Outcome, as_json: bool) -> None:
    """Print the values of all runs; what was scored but could not be kept is shown too: its error says that it was not kept."""
    from evalkit.runner import NotKeptError

    shown = [*outcome.records, *(error.record for error in outcome.failures if isinstance(error, NotKeptError))]
    if as_json:
        click.echo(json.dumps({"runs": [asdict(record) for record in shown]}, ensure_ascii=False, allow_nan=False))
    elif shown:
        click.echo(results_table(shown))


def conclude(outcome: Outcome) -> int:
    """Say what is missing.

    Raises:
        StoppedError: Someone stopped the command.
        IncompleteError: Some runs failed.
        EvalkitError: All of them did.
    """
    from evalkit.table import printable

    failures, done = outcome.failures, len(outcome.records)
    alone = failures[-1:] if not done and not outcome.is_stopped else []
    for failure in failures[: len(failures) - len(alone)]:
        click.echo(printable(f"evalkit: {' '.join(str(failure).split())}"), err=True)
    if outcome.is_stopped:
        advice = "goes on from there" if outcome.is_resumable else "begins anew, since responses are not cached"
        raise StoppedError(f"stopped, with {done} runs kept; the same command {advice}")
    for failure in alone:
        raise failure
    if failures:
        raise IncompleteError(f"{len(failures)} of {len(failures) + done} runs failed; the others were kept")
    return 0


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
