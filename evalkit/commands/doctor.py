"""`evalkit doctor`: is everything here that the numbers need, and are they right?"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from evalkit.invariance import Invariance

SHIPPED = ":shipped:"


@click.command(name="doctor")
@click.option(
    "--metrics",
    "folder",
    is_flag=False,
    flag_value=SHIPPED,
    metavar="[DIR]",
    help="Run the conformance cases of DIR, or those that come with evalkit.",
)
@click.option("--fetch", is_flag=True, help="Fetch WordNet and the sentence splitter through nltk (needs a network).")
@click.option(
    "--batch-invariance",
    "measures_batches",
    is_flag=True,
    help="Ask --model the same in batches of 1, 3, 16 and auto, in three orders, and compare the answers.",
)
@click.option("--model", metavar="M", help="The model to measure: a checkpoint folder, hf:PATH or openai:MODEL@URL.")
@click.option("--device", default="auto", show_default=True, help="auto, cpu, cuda, cuda:N or mps.")
@click.option(
    "--dtype",
    type=click.Choice(["float32", "bfloat16", "float16"]),
    default="float32",
    show_default=True,
    help="Its type.",
)
@click.option(
    "--limit", type=click.IntRange(min=1), default=20, show_default=True, metavar="N", help="Requests of each kind."
)
@click.option("--store", metavar="DIR|URL", help="Find cut, foreign or edited folders in a store of runs.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    folder: str | None,
    fetch: bool,
    measures_batches: bool,
    store: str | None,
    as_json: bool,
    **model: Any,  # noqa: ANN401
) -> int:
    """Check the environment, the metrics against the reference scorers' values, a model's batches, or a store of runs.

    \b
    Example:
      evalkit doctor
      evalkit doctor --metrics
      evalkit doctor --metrics my_cases --json
      evalkit doctor --batch-invariance --model checkpoints/my-model
      evalkit doctor --store runs
    """
    check_choice(folder is not None, fetch, measures_batches, store is not None, model["model"])
    if store is not None:
        return check_runs(store, as_json)
    if measures_batches:
        return check_batches(model["model"], model["device"], model["dtype"], model["limit"], as_json)
    if folder is not None:
        return check_metrics(folder, as_json)
    from evalkit.doctor import examine, fetch_resources

    if fetch:
        for line in fetch_resources():
            click.echo(line, err=True)
    findings = examine()
    if as_json:
        click.echo(json.dumps({"findings": findings}, ensure_ascii=False, indent=1))
        return 0
    from evalkit.table import format_table

    rows = [(finding["what"], finding["status"], finding["detail"]) for finding in findings]
    click.echo(format_table(("what", "status", "detail"), rows))
    return 0


def check_metrics(folder: str, as_json: bool) -> int:
    """Run conformance cases; exit code 1 if one fails."""
    from evalkit.conformance import check_case, read_folder, shipped_folder
    from evalkit.conformance.check import FAILED, PASSED, SKIPPED
    from evalkit.errors import InvalidInputError
    from evalkit.progress import show_progress

    if not folder:
        raise InvalidInputError("--metrics names an empty folder; expected a folder of conformance files, or no value")
    cases = read_folder(shipped_folder() if folder == SHIPPED else Path(folder))
    outcomes = [check_case(case) for case in show_progress(cases, len(cases), "conformance cases")]
    counts = {status: sum(outcome.status == status for outcome in outcomes) for status in (PASSED, FAILED, SKIPPED)}
    if as_json:
        listed = [
            {"id": outcome.id, "metric": outcome.metric, "reason": outcome.reason, "status": outcome.status}
            for outcome in outcomes
            if outcome.status != PASSED
        ]
        document: dict[str, Any] = {**counts, "metrics": by_metric(outcomes), "not_passed": listed}
        click.echo(json.dumps(document, ensure_ascii=False, indent=1))
    else:
        click.echo(conformance_text(outcomes, counts))
    return 1 if counts[FAILED] else 0


def check_choice(has_metrics: bool, fetch: bool, measures_batches: bool, has_store: bool, model: str | None) -> None:
    """Refuse flags that do not go together.

    Raises:
        InvalidInputError: Two things are asked for at once, or a model is named for nothing, or none for its batches.
    """
    from evalkit.errors import InvalidInputError

    if has_metrics + fetch + measures_batches + has_store > 1:
        raise InvalidInputError(
            "--metrics, --fetch, --batch-invariance and --store are different checks; name one at a time"
        )
    if measures_batches and not model:
        raise InvalidInputError("--batch-invariance measures a model; name it with --model FOLDER")
    if model is not None and not measures_batches:
        raise InvalidInputError(
            f"--model {model!r} is measured by --batch-invariance only; add it, or leave out --model"
        )


def check_batches(model: str, device: str, dtype: str, count: int, as_json: bool) -> int:
    """Measure whether a model's answers depend on the batch; exit code 1 if they do."""
    from evalkit.errors import InvalidInputError
    from evalkit.invariance import BATCH_SIZES, ORDERS, TOLERANCE, measure_invariance
    from evalkit.progress import show_progress
    from evalkit.requests import ModelAdapter, ModelSettings
    from evalkit.resolve import parse_model, resolve_model

    if parse_model(model).scheme in ("predictions", "baseline"):
        raise InvalidInputError(f"{model!r} computes nothing in batches; name a checkpoint folder or hf:PATH")

    def open_model(size: int | None, policy: str) -> ModelAdapter:
        settings = ModelSettings(device=device, dtype=dtype, batch_size=size, on_overflow=policy)
        return resolve_model(model, settings)[1]

    found = measure_invariance(open_model, count=count, progress=show_progress)
    is_invariant = all(one.is_invariant for one in found)
    if as_json:
        document = {
            "model": model,
            "dtype": dtype,
            "batch_sizes": [size or "auto" for size in BATCH_SIZES],
            "orders": list(ORDERS),
            "tolerance": TOLERANCE,
            "invariant": is_invariant,
            "kinds": [{**asdict(one), "invariant": one.is_invariant} for one in found],
        }
        click.echo(json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False))
    else:
        click.echo(batches_text(found, dtype, is_invariant))
    return 0 if is_invariant else 1


def batches_text(found: Sequence[Invariance], dtype: str, is_invariant: bool) -> str:
    """A table by request kind, the first answer of each that differs, and the verdict."""
    from evalkit.invariance import BATCH_SIZES, ORDERS, TOLERANCE
    from evalkit.table import format_table

    rows = [
        (
            one.kind,
            str(one.asked),
            str(one.failed),
            str(one.different),
            "-" if one.largest_difference is None else f"{one.largest_difference:.1e} {one.unit}",
            "yes" if one.is_invariant else "no",
        )
        for one in found
    ]
    header = ("requests", "asked", "failed", "different", "largest difference", "invariant")
    lines = [format_table(header, rows, right=frozenset({1, 2, 3}))]
    lines += [f"{one.kind}: first seen at {one.where}" for one in found if one.where is not None]
    sizes = ", ".join(str(size or "auto") for size in BATCH_SIZES)
    what = f"batch sizes {sizes}, each in {len(ORDERS)} orders, {dtype}, numbers within {TOLERANCE:g}"
    advice = "" if dtype == "float32" else "; half precision rounds by the shape of the batch: use --dtype float32"
    lines.append(f"{'invariant' if is_invariant else 'not invariant'}: {what}{'' if is_invariant else advice}")
    return "\n".join(lines)


def check_runs(root: str, as_json: bool) -> int:
    """Check a store of runs; exit code 1 if something is wrong in it."""
    from evalkit.progress import show_progress
    from evalkit.store_lint import check_store

    sound, findings = check_store(root, show_progress)
    if as_json:
        document = {"sound": sound, "findings": [asdict(finding) for finding in findings]}
        click.echo(json.dumps(document, ensure_ascii=False, indent=1))
        return 1 if findings else 0
    from evalkit.table import format_table

    if findings:
        rows = [(finding.name, finding.kind, finding.problem) for finding in findings]
        click.echo(format_table(("entry", "kind", "problem"), rows) + "\n")
    click.echo(f"{sound} sound runs, {len(findings)} findings")
    return 1 if findings else 0


def by_metric(outcomes: list[Any]) -> dict[str, dict[str, int]]:
    """Passed, failed and skipped of each metric."""
    table: dict[str, dict[str, int]] = {}
    for outcome in outcomes:
        row = table.setdefault(outcome.metric, {"passed": 0, "failed": 0, "skipped": 0})
        row[outcome.status] += 1
    return table


def conformance_text(outcomes: list[Any], counts: dict[str, int]) -> str:
    """A table by metric, then every case that did not pass with its reason, then the sums."""
    from evalkit.table import format_table

    rows = [
        (metric, *(str(row[status]) for status in ("passed", "failed", "skipped")))
        for metric, row in by_metric(outcomes).items()
    ]
    lines = [format_table(("metric", "passed", "failed", "skipped"), rows, right=frozenset({1, 2, 3}))]
    lines += [f"{outcome.status} {outcome.id}: {outcome.reason}" for outcome in outcomes if outcome.status != "passed"]
    lines.append(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return "\n".join(lines)
