"""How often intervals of a scaling law hold the truth: coverage by method and number of runs.

    python benchmarks/simulations/scaling_coverage.py --data-dir DATA --out reports/scaling_coverage.md

Each trial takes n of the 240 sizes and token counts of the Chinchilla replication, gives them losses under a known law times
exp(noise), noise Student's t with 3 degrees of freedom scaled to a standard deviation of 0.006, and fits Chinchilla's law by
Huber(1e-3) on the log. Without the published table, sizes and tokens are drawn like it.
"""

from __future__ import annotations

import argparse
import csv
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

import numpy as np  # noqa: E402

from evalkit.scaling.arrays import FloatArray  # noqa: E402
from evalkit.scaling.fitting import Intervals, fit  # noqa: E402
from evalkit.scaling.points import Points, make_points  # noqa: E402

LAW = {"E": 1.8172, "A": 477.83, "alpha": 0.34731, "B": 2143.4, "beta": 0.36717}
TRUTH = LAW | {"a": LAW["beta"] / (LAW["alpha"] + LAW["beta"])}
SHOWN = ("E", "alpha", "beta", "a")
NOISE = 0.006 / np.sqrt(3.0)
"""Scale of t with 3 degrees of freedom, whose standard deviation is the root of 3."""
SIZES = (240, 60, 30, 15, 10)
METHODS = ("pairs", "wild", "residual", "profile", "sandwich", "homoscedastic")


@dataclass(frozen=True)
class Trial:
    """What one fit's intervals held."""

    held: tuple[bool, ...]
    """For each of `SHOWN`."""
    width: float
    """Width of the interval of alpha."""
    runs: float
    """Share of new runs within the range of the points that their band held."""


def design(data_dir: Path | None) -> FloatArray:
    """Sizes and tokens of 240 runs, shape (240, 2)."""
    path = None if data_dir is None else data_dir / "scaling" / "chinchilla_fig4_epoch.csv"
    if path is not None and path.is_file():
        with path.open(encoding="utf-8") as file:
            rows = [row for row in csv.DictReader(file) if row["kept_by_epoch"] == "1"]
        return np.array([[float(row["N"]), float(row["D"])] for row in rows])
    generator = np.random.default_rng(0)
    compute, ratio = np.exp(generator.uniform(43, 50, 240)), np.exp(generator.uniform(0.5, 5.5, 240))
    sizes = np.sqrt(compute / 6 / ratio)
    return np.column_stack([sizes, ratio * sizes])


def losses(places: FloatArray, generator: np.random.Generator) -> FloatArray:
    """Losses of runs at places, shape (n,)."""
    clean = LAW["E"] + LAW["A"] * places[:, 0] ** -LAW["alpha"] + LAW["B"] * places[:, 1] ** -LAW["beta"]
    noisy: FloatArray = clean * np.exp(NOISE * generator.standard_t(3, len(places)))
    return noisy


def trial(places: FloatArray, n: int, number: int, options: argparse.Namespace) -> list[Trial | None]:
    """Run one trial; one result a method, None where the points gave no interval."""
    generator = np.random.default_rng([n, number])
    chosen = places[generator.permutation(len(places))[:n]]
    points = make_points({"N": chosen[:, 0], "D": chosen[:, 1], "loss": losses(chosen, generator)})
    fresh = places[generator.integers(0, len(places), 100)]
    new = losses(fresh, generator)
    return [_trial(points, method, (fresh, new), (options.resamples, number)) for method in options.methods]


def _trial(points: Points, method: str, fresh: tuple[FloatArray, FloatArray], draw: tuple[int, int]) -> Trial | None:
    found = fit(points, intervals=Intervals(method=method, resamples=draw[0], seed=draw[1]))
    known = {**found.parameters, **found.derived}
    if not known.keys() >= set(SHOWN):
        return None
    quantities = [known[name] for name in SHOWN]
    held = tuple(
        (each.low is None or each.low <= TRUTH[each.name]) and (each.high is None or TRUTH[each.name] <= each.high)
        for each in quantities
    )
    alpha = found.parameters["alpha"]
    ends = (alpha.low if alpha.low is not None else 0.0, alpha.high if alpha.high is not None else np.inf)
    band = found.predict_interval({"N": fresh[0][:, 0], "D": fresh[0][:, 1]}, kind="run")
    return Trial(held, ends[1] - ends[0], float(np.mean((fresh[1] >= band.low) & (fresh[1] <= band.high))))


def line(n: int, method: str, found: Sequence[Trial | None]) -> str:
    """One row of the table."""
    kept = [trial for trial in found if trial is not None]
    shares = [np.mean([trial.held[place] for trial in kept]) for place in range(len(SHOWN))]
    cells = [f"{share:.0%}" for share in shares]
    width, runs = np.median([trial.width for trial in kept]), np.mean([trial.runs for trial in kept])
    return f"| {n} | {method} | {' | '.join(cells)} | {width:.3f} | {runs:.0%} | {1 - len(kept) / len(found):.0%} |"


def results(options: argparse.Namespace) -> dict[int, list[list[Trial | None]]]:
    """Run trials of all sizes in turn, so that stopping early leaves as many of each; by number of runs."""
    places = design(options.data_dir)
    found: dict[int, list[list[Trial | None]]] = {n: [] for n in options.sizes}
    started = time.monotonic()
    for number in range(options.trials):
        if options.minutes is not None and time.monotonic() - started > 60 * options.minutes:
            break
        for n in options.sizes:
            found[n].append(trial(places, n, number, options))
    return found


def table(options: argparse.Namespace) -> str:
    """The whole report."""
    found = results(options)
    count = len(found[options.sizes[0]])
    error = np.sqrt(0.95 * 0.05 / count)
    chosen = "" if tuple(options.methods) == METHODS else f" --methods {' '.join(options.methods)}"
    chosen += "" if tuple(options.sizes) == SIZES else f" --sizes {' '.join(map(str, options.sizes))}"
    lines = [
        f"<!-- python benchmarks/simulations/scaling_coverage.py --data-dir DATA --trials {count} --resamples"
        f" {options.resamples}{chosen} --out reports/scaling_coverage.md -->",
        "# How often intervals of a scaling law hold the truth",
        "",
        f"{count} trials a row, {options.resamples} resamples each, fixed seeds, nominal 95%; the standard error of a",
        f"share is {error:.1%}. Sizes and tokens are n of the 240 of the Chinchilla replication, losses follow a known law times",
        "exp(noise), noise Student's t with 3 degrees of freedom scaled to a standard deviation of 0.006; the fit is Huber(1e-3)",
        "on the log. `a` is the exponent of N* in C, the width is the median one of the interval of alpha; then come the share",
        "of new runs within the range of the points that their 95% band held, and the share of trials that gave no interval.",
        "",
        "| n | method | E | alpha | beta | a | width | new runs | none |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for n, rows in found.items():
        columns = zip(*rows, strict=True)
        lines += [line(n, method, column) for method, column in zip(options.methods, columns, strict=True)]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--trials", type=int, default=150)
    parser.add_argument("--minutes", type=float, help="begin no further trial after so long")
    parser.add_argument("--resamples", type=int, default=300)
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    options = parser.parse_args()
    text = table(options)
    print(text)
    if options.out is not None:
        options.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
