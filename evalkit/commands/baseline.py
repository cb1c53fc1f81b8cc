"""`evalkit baseline`: which runs the gate measures against."""

from __future__ import annotations

import json
from typing import Any

import click

DIRECTORY = click.option(
    "--dir", "root", default="baselines", show_default=True, metavar="DIR", help="Folder of baselines; commit it."
)
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group(name="baseline")
def command() -> None:
    """Keep runs as baselines, each a small file that can be committed.

    \b
    Example:
      evalkit baseline set main runs/20260101T000000.000000Z-mini_cws-max-match-4d5e6f --why "release 1.2"
      evalkit baseline show main
      evalkit baseline history main
    """


@command.command(name="set")
@click.argument("name")
@click.argument("runs", nargs=-1, required=True, metavar="RUN [RUN ...]")
@click.option("--why", required=True, metavar="TEXT", help="The reason, for whoever reads the history.")
@click.option("--who", metavar="NAME", help="Who sets it; by default git's user name, else the login name.")
@click.option("--with-text", is_flag=True, help="Keep predictions and references too.")
@click.option("--allow", multiple=True, metavar="KIND", help="Accept a difference: task-version.")
@DIRECTORY
@AS_JSON
def set_baseline(
    name: str, runs: tuple[str, ...], allow: tuple[str, ...], root: str, as_json: bool, **said: object
) -> None:
    """Make a run, or each run of a folder, the baseline NAME of its task."""
    from datetime import UTC, datetime

    from evalkit.baseline import BaselineStore, Blessing
    from evalkit.comparison.loaded import load_run, run_folders
    from evalkit.comparison.pairing import check_allowed

    allowed = check_allowed(allow)
    loaded = [load_run(folder) for place in runs for folder in run_folders(place)]
    check_tasks(loaded, allowed)
    when = datetime.now(UTC).isoformat(timespec="seconds")
    blessing = Blessing(name=name, why=str(said["why"]), who=str(said["who"] or current_user()), when=when)
    store = BaselineStore(root)
    lines = [store.set(run, blessing, with_text=bool(said["with_text"]), allowed=allowed) for run in loaded]
    print_lines(lines, as_json)


@command.command(name="show")
@click.argument("name")
@DIRECTORY
@AS_JSON
def show(name: str, root: str, as_json: bool) -> None:
    """Show the current runs of a baseline; files are read and checked."""
    from evalkit.baseline import BaselineStore, current_lines

    store = BaselineStore(root)
    store.load(name)
    print_lines(list(current_lines(store.history(name)).values()), as_json)


@command.command(name="list")
@DIRECTORY
@AS_JSON
def list_baselines(root: str, as_json: bool) -> None:
    """List all baselines with their current runs."""
    from evalkit.baseline import BaselineStore, current_lines

    store = BaselineStore(root)
    lines = [line for name in store.names() for line in current_lines(store.history(name)).values()]
    if not lines and not as_json:
        click.echo(f"no baseline in {root!r}; set one with: evalkit baseline set NAME RUN --why TEXT", err=True)
        return
    print_lines(lines, as_json)


@command.command(name="history")
@click.argument("name")
@DIRECTORY
@AS_JSON
def history(name: str, root: str, as_json: bool) -> None:
    """Show everything that was ever the baseline NAME, oldest first."""
    from evalkit.baseline import BaselineStore

    print_lines(BaselineStore(root).history(name), as_json)


def check_tasks(loaded: list[Any], allowed: frozenset[str]) -> None:
    """Refuse several runs of one task, and runs of another version than this evalkit's task has.

    Raises:
        InvalidInputError: Which run, and what to do.
    """
    from evalkit.catalog import tasks
    from evalkit.comparison.pairing import TASK_VERSION
    from evalkit.errors import InvalidInputError

    known, seen = tasks(), set()
    for run in loaded:
        if run.task in seen:
            raise InvalidInputError(f"several runs of task {run.task!r}; a baseline holds one run a task: name one")
        seen.add(run.task)
        version = run.record.task["version"]
        if run.task in known and known[run.task].version != version and TASK_VERSION not in allowed:
            raise InvalidInputError(
                f"{run.place} is of version {version} of task {run.task!r}, this evalkit has version"
                f" {known[run.task].version}; run it again, or accept it with --allow {TASK_VERSION}"
            )


def current_user() -> str:
    """Name of whoever runs the command."""
    import getpass
    import subprocess

    try:
        done = subprocess.run(["git", "config", "user.name"], capture_output=True, text=True, timeout=5, check=True)
        if done.stdout.strip():
            return done.stdout.strip()
    except (OSError, subprocess.SubprocessError):
        pass
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"


def print_lines(lines: list[dict[str, Any]], as_json: bool) -> None:
    """Print lines of a history."""
    if as_json:
        click.echo(json.dumps({"baselines": lines}, ensure_ascii=False, indent=1))
        return
    from evalkit.comparison.wording import number
    from evalkit.table import format_table

    rows = [
        (
            line["baseline"],
            line["task"],
            str(line["task_version"]),
            line["model"],
            f"{line['metric']} {line['value_name']}",
            number(line["value"], 1),
            line["when"],
            line["who"],
            line["why"],
        )
        for line in lines
    ]
    header = ("baseline", "task", "version", "model", "metric", "value", "when", "who", "why")
    click.echo(format_table(header, rows, right=frozenset({5})))
