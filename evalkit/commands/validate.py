"""`evalkit validate`: check a task before anyone runs it."""

from __future__ import annotations

import json
from dataclasses import asdict

import click


@click.command(name="validate")
@click.argument("task")
@click.option("--data-dir", metavar="DIR", help="Folder of data files [env: EVALKIT_DATA_DIR]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(task: str, data_dir: str | None, as_json: bool) -> int:
    """Check a task's data, ids, prompts, metrics and leakage; TASK is a name or a TOML file.

    \b
    Example:
      evalkit validate mini_qa
      evalkit validate my_task.toml
    """
    from pathlib import Path

    from evalkit.resolve import resolve_data_dir, resolve_task
    from evalkit.table import format_table
    from evalkit.validate import PROBLEM, validate

    spec = resolve_task(task)
    folder = resolve_data_dir(task, spec, data_dir)
    findings = validate(spec, Path(folder) if folder else None)
    problems = sum(finding.status == PROBLEM for finding in findings)
    if as_json:
        document = {"task": spec.name, "problems": problems, "findings": [asdict(finding) for finding in findings]}
        click.echo(json.dumps(document, ensure_ascii=False, indent=1))
    else:
        rows = [(finding.check, finding.status, finding.detail) for finding in findings]
        click.echo(format_table(("check", "status", "detail"), rows))
    return 2 if problems else 0
