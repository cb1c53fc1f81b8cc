"""`evalkit report`: run folders to a leaderboard, as a page, a table of a paper, or data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evalkit.report.html.samples import SamplePages
    from evalkit.report.model import Report

FORMATS = (".html", ".md", ".csv", ".tex", ".json")
"""Extensions of report files."""


@click.command(name="report")
@click.argument("runs", nargs=-1, required=True, metavar="RUNS...")
@click.option(
    "--out", "outs", multiple=True, metavar="FILE", help="Report file; its ending picks the format. Repeatable."
)
@click.option("--title", default="Leaderboard", show_default=True, help="Title of the report.")
@click.option("--task", "tasks", multiple=True, metavar="PATTERN", help="Only tasks of this name; repeatable.")
@click.option(
    "--metric", "metrics", multiple=True, metavar="NAME", help="Show this value where a task has it; repeatable."
)
@click.option(
    "--runs",
    "rule",
    type=click.Choice(("latest", "best", "mean")),
    default="latest",
    show_default=True,
    help="What stands for several complete runs of one model and task.",
)
@click.option(
    "--name", "names", multiple=True, metavar="PATTERN=LABEL", help="Show models under another name; repeatable."
)
@click.option("--allow", "allowed", multiple=True, metavar="KIND", help="Compare runs that differ in this; repeatable.")
@click.option(
    "--confidence", type=float, default=0.95, show_default=True, help="Level of differences, ranks and marks."
)
@click.option("--resamples", type=int, default=10_000, show_default=True, help="Bootstrap resamples.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the resampling.")
@click.option("--scaling", multiple=True, metavar="FIT.json", help="Show a scaling fit; repeatable.")
@click.option("--no-samples", is_flag=True, help="Leave the examples out of an HTML page.")
@click.option("--made-by", default="", metavar="COMMAND", help="First line of the file: how it was made.")
def command(runs: tuple[str, ...], outs: tuple[str, ...], rule: str, **flags: Any) -> None:  # noqa: ANN401
    """Make a leaderboard from run folders: .html, .md, .csv, .tex or .json, by the ending of FILE.

    RUNS are run folders, folders of run folders, patterns, or addresses such as s3://bucket/runs. The same runs give the same
    bytes. Without --out, Markdown is printed.

    \b
    Example:
      evalkit report runs --out report.html --out report.md
      evalkit report runs --task 'wmt*' --metric chrf --name 'gpt-seed*=GPT' --runs mean --out table.tex
    """
    from evalkit.report.build import build_report
    from evalkit.report.model import Settings

    for out in outs:
        check_out(out)
    scaling, no_samples = flags.pop("scaling"), flags.pop("no_samples")
    samples = gathered_samples(outs) if not no_samples else None
    report = build_report(runs, Settings(runs=rule, **flags), scaling, samples)
    if not outs:
        from evalkit.report.markdown import report_markdown

        click.echo(report_markdown(report), nl=False)
    for out in dict.fromkeys(outs):
        write(report, out, samples)
        click.echo(f"written: {out}", err=True)


def check_out(out: str) -> None:
    """Refuse a file name whose format is not known or whose folder cannot be made, before any work.

    Raises:
        InvalidInputError: Says what can be written.
    """
    from evalkit.errors import InvalidInputError

    path = Path(out)
    if path.suffix.lower() not in FORMATS:
        raise InvalidInputError(f"--out {out!r}: expected a file that ends in {', '.join(FORMATS)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        is_folder = path.is_dir()
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"--out {out!r}: its folder cannot be made ({error}); choose another file") from error
    if is_folder:
        raise InvalidInputError(f"--out {out!r} is a folder; expected a file")


def gathered_samples(outs: Sequence[str]) -> SamplePages | None:
    """What gathers samples while the report is built; None where no page is asked for."""
    if not any(out.lower().endswith(".html") for out in outs):
        return None
    from evalkit.report.html.samples import SamplePages

    return SamplePages()


def write(report: Report, out: str, samples: SamplePages | None) -> None:
    """Write a report in the format of a file's ending.

    Raises:
        InvalidInputError: The file cannot be written.
    """
    from evalkit.result_files import write_result

    path = Path(out)
    if path.suffix.lower() != ".html":
        write_result(out, text_of(report, path.suffix.lower()))
        return
    from evalkit.report.html.render import render_html

    for file in render_html(report, path.name, samples.pages if samples else None):
        write_result(path.parent / file.name, file.content)


def text_of(report: Report, ending: str) -> str:
    """A report in one of the text formats."""
    if ending == ".md":
        from evalkit.report.markdown import report_markdown

        return report_markdown(report)
    if ending == ".csv":
        from evalkit.report.rows_csv import report_csv

        return report_csv(report)
    if ending == ".tex":
        from evalkit.report.latex import report_latex

        return report_latex(report)
    from evalkit.report.document import report_json

    return report_json(report)
