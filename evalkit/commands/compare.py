"""`evalkit compare`: how two or more stored runs differ."""

from __future__ import annotations

import json

import click


@click.command(name="compare")
@click.argument("runs", nargs=-1, required=True, metavar="RUN RUN [RUN ...]")
@click.option("--against", metavar="RUN", help="Compare every run with this one alone, not all pairs.")
@click.option("--confidence", type=float, default=0.95, show_default=True, help="Level of the intervals.")
@click.option("--resamples", type=int, default=10_000, show_default=True, help="Resamples and trials of the tests.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the resampling.")
@click.option("--samples", type=click.IntRange(min=0), default=5, show_default=True, help="Changed samples to show.")
@click.option(
    "--allow", multiple=True, metavar="KIND", help="Accept one kind of difference between the runs; repeatable."
)
@click.option("--baselines", default="baselines", show_default=True, metavar="DIR", help="Where baselines are kept.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    runs: tuple[str, ...], against: str | None, allow: tuple[str, ...], baselines: str, as_json: bool, **flags: object
) -> int:
    """Compare stored runs of the same task, example by example.

    RUN is a run folder, a folder of run folders, or the name of a baseline. More than two runs of a task are compared in all
    pairs, or with --against. Exit code 4 where runs cannot be compared.

    \b
    Example:
      evalkit compare runs/20260101T000000.000000Z-mini_cws-copy-1a2b3c runs/20260101T000001.000000Z-mini_cws-max-match-4d5e6f
      evalkit compare runs --against main --json
    """
    from evalkit.compare import CompareOptions, compare_runs
    from evalkit.comparison.named_runs import find_runs
    from evalkit.comparison.pairing import check_allowed
    from evalkit.comparison.text import comparisons_json, comparisons_text

    options = CompareOptions(allowed=check_allowed(allow), **flags)  # type: ignore[arg-type]
    loaded = find_runs(runs, baselines)
    if against is None:
        comparisons = compare_runs(loaded, (), options)
    else:
        others = find_runs([against], baselines)
        comparisons = compare_runs(loaded, others, options)
    if as_json:
        click.echo(json.dumps(comparisons_json(comparisons, options), ensure_ascii=False, indent=1, allow_nan=False))
    else:
        click.echo(comparisons_text(comparisons, options))
    return 4 if any(comparison.not_comparable for comparison in comparisons) else 0
