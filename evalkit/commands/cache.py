"""`evalkit cache`: what is kept of models' responses."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from pathlib import Path

PLACE = click.option(
    "--cache", "given", metavar="FILE", help="The cache. [default: .evalkit/cache.sqlite; env: EVALKIT_CACHE]"
)
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group(name="cache")
def command() -> None:
    """Look after the response cache, by which a run that was stopped goes on and nothing is asked twice.

    \b
    Example:
      evalkit cache stats
      evalkit cache verify
      evalkit cache clear
    """


@command.command(name="stats")
@PLACE
@AS_JSON
def stats(given: str | None, as_json: bool) -> None:
    """Show how many responses of which models there are."""
    from evalkit.cache.place import cache_limit_bytes
    from evalkit.cache.upkeep import cache_stats
    from evalkit.table import format_table

    found = cache_stats(_path(given), cache_limit_bytes(), _notice)
    if as_json:
        click.echo(json.dumps(asdict(found), ensure_ascii=False))
        return
    size, limit = _megabytes(found.size_bytes), _megabytes(found.limit_bytes)
    click.echo(f"{found.path}: {found.responses} responses, {size} of at most {limit}")
    rows = [(model.name, model.digest, str(model.responses), _megabytes(model.size_bytes)) for model in found.models]
    if rows:
        click.echo(format_table(("model", "digest", "responses", "size"), rows, right=frozenset({2, 3})))


@command.command(name="verify")
@PLACE
@AS_JSON
def verify(given: str | None, as_json: bool) -> int:
    """Check every response against its seal, and delete those that do not fit; exit 1 where there were any."""
    from evalkit.cache.upkeep import verify_cache

    found = verify_cache(_path(given), _notice)
    if as_json:
        click.echo(json.dumps(asdict(found), ensure_ascii=False))
    else:
        gone = f"; {found.broken} did not and are deleted" if found.broken else ""
        click.echo(f"{found.path}: {found.responses} responses fit their seals{gone}")
    return 1 if found.broken else 0


@command.command(name="clear")
@PLACE
@AS_JSON
def clear(given: str | None, as_json: bool) -> None:
    """Delete all responses."""
    from evalkit.cache.upkeep import clear_cache

    path = _path(given)
    count = clear_cache(path, _notice)
    if as_json:
        click.echo(json.dumps({"path": str(path), "deleted": count}, ensure_ascii=False))
    else:
        click.echo(f"{path}: {count} responses deleted")


def _path(given: str | None) -> Path:
    from evalkit.cache.place import cache_path
    from evalkit.errors import InvalidInputError

    path = cache_path(given)
    if path is None:
        raise InvalidInputError("the cache is off; name its file with --cache")
    return path


def _notice(line: str) -> None:
    click.echo(f"evalkit: {line}", err=True)


def _megabytes(size_bytes: int) -> str:
    return f"{size_bytes / 2**20:.1f} MB"
