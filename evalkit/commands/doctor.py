"""`evalkit doctor`: is everything here that the numbers need, and are they right?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

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
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(folder: str | None, fetch: bool, as_json: bool) -> int:
    """Check the environment, or the metrics against the reference scorers' values.

    \b
    Example:
      evalkit doctor
      evalkit doctor --metrics
      evalkit doctor --metrics my_cases --json
    """
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
