"""How often the gate errs: coverage, false alarms and power on exchangeable systems made from real outputs.

    python benchmarks/simulations/gate_errors.py --data-dir DATA --out reports/gate_errors.md

Each trial draws n examples, with or without clusters, from a population of real outputs of two systems (populations.py) and deals
each example's two outputs to baseline and candidate by a fair coin, so that the true difference is 0; for power, a share of the
candidate's outputs is replaced by worse ones, so that the true drop is twice the margin. The margin of a cell is the one with
which the plan promises a power of 80%.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

import numpy as np  # noqa: E402
from populations import POPULATIONS, Population, make  # noqa: E402

from evalkit.comparison.answers import answers  # noqa: E402
from evalkit.comparison.bounds import bounds_of  # noqa: E402
from evalkit.comparison.distributions import normal_quantile  # noqa: E402
from evalkit.comparison.draws import FloatArray  # noqa: E402
from evalkit.comparison.significance import Paired, bootstrap  # noqa: E402
from evalkit.gating.plan import power_of  # noqa: E402

ALPHA, POWER, LEVEL = 0.05, 0.8, 0.95
SIZES = (100, 500, 2000)
CLUSTER = 5
"""Examples of a cluster."""
ICC = 0.5
"""Correlation of two examples of a cluster."""
PILOT, PILOTS = 100, 6
"""Trials from which the standard error of a cell, and with it the margin, is taken, and how often they are repeated."""


@dataclass(frozen=True)
class Trial:
    """What one draw gave."""

    is_covered: bool
    is_regressed: bool
    is_passed: bool
    effect: float
    stderr: float


@dataclass(frozen=True)
class Cell:
    """One row of the table."""

    metric: str
    n: int
    clusters: bool
    coverage: float
    false_alarms: float
    power: float
    planned: float
    covered_drop: float

    @property
    def is_good(self) -> bool:
        """Whether the row keeps what is promised."""
        is_covered = all(0.93 <= share <= 0.97 for share in (self.coverage, self.covered_drop))
        is_planned = abs(self.power - self.planned) <= 0.05
        return self.false_alarms <= ALPHA + 0.01 and is_planned and (is_covered or self.n < 500)


@dataclass(frozen=True)
class Design:
    """How trials of one cell are drawn."""

    population: Population
    n: int
    has_clusters: bool
    resamples: int
    share: float = 0.0
    """Share of the candidate's outputs that are replaced by worse ones."""

    def mean_rows(self) -> tuple[FloatArray, FloatArray]:
        """Expected rows of baseline and candidate."""
        population = self.population
        base = (population.first.mean(axis=0) + population.second.mean(axis=0)) / 2
        return base, (1 - self.share) * base + self.share * population.worse.mean(axis=0)

    def true_effect(self) -> float:
        """The effect in the population."""
        base, candidate = self.mean_rows()
        return float(self.population.measure.effect([base], [candidate]))

    def draw(self, generator: np.random.Generator) -> Paired:
        """Draw one pair of systems on n examples."""
        population = self.population
        places, is_swapped, is_worse = self._examples(generator)
        first, second = population.first[places], population.second[places]
        base = np.where(is_swapped[:, None], second, first)
        candidate = np.where(is_swapped[:, None], first, second)
        candidate = np.where(is_worse[:, None], population.worse[places], candidate)
        if self.has_clusters:
            base, candidate = (table.reshape(-1, CLUSTER, table.shape[1]).sum(axis=1) for table in (base, candidate))
        return Paired(population.measure, (base,), (candidate,))

    def _examples(self, generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Examples with their coins; in a cluster, each member repeats the cluster's own example with chance sqrt(ICC)."""
        size = len(self.population.first)
        drawn = [
            generator.integers(0, size, self.n),
            generator.random(self.n) < 0.5,
            generator.random(self.n) < self.share,
        ]
        if not self.has_clusters:
            return drawn[0], drawn[1], drawn[2]
        groups = self.n // CLUSTER
        own = [
            generator.integers(0, size, groups),
            generator.random(groups) < 0.5,
            generator.random(groups) < self.share,
        ]
        repeats = generator.random(self.n) < ICC**0.5
        mixed = [np.where(repeats, np.repeat(theirs, CLUSTER), ours) for ours, theirs in zip(drawn, own, strict=True)]
        return mixed[0], mixed[1], mixed[2]

    def trials(self, count: int, margin: float, seed: int) -> Iterator[Trial]:
        """Judge so many draws."""
        truth, tail = self.true_effect(), (1 - LEVEL) / 2
        generator = np.random.default_rng(seed)
        for index in range(count):
            pair = self.draw(generator)
            exact = None if self.has_clusters else answers(pair)
            [spread] = bootstrap([pair], self.resamples, index) if exact is None else [None]
            ends = exact or spread
            bounds = bounds_of(pair, exact, spread, ALPHA, self.resamples, index)
            if ends is None or bounds is None:
                continue
            yield Trial(
                is_covered=ends.lower(tail) <= truth <= ends.upper(tail),
                is_regressed=bounds.lower <= -margin and bounds.upper < 0,
                is_passed=bounds.lower > -margin,
                effect=bounds.effect,
                stderr=bounds.stderr,
            )


def share_for(design: Design, drop: float) -> Design:
    """Choose the share of worse outputs that gives a true drop."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        effect = Design(design.population, design.n, design.has_clusters, design.resamples, middle).true_effect()
        low, high = (middle, high) if effect > -drop else (low, middle)
    if high == 1.0:
        raise ValueError(f"even the worse outputs of every example do not lose {drop}")
    return Design(design.population, design.n, design.has_clusters, design.resamples, high)


def simulate(metric: str, design: Design, trials: int, seed: int) -> Cell:
    """Fill one row: find the margin of the cell, then count."""
    factor = (normal_quantile(1 - ALPHA) + normal_quantile(POWER)) / 2
    changed = design
    for step in range(PILOTS):
        # With more worse outputs in it the candidate differs more, and so does the standard error: repeat until both agree.
        stderr = float(np.mean([trial.stderr for trial in changed.trials(PILOT, 1.0, seed=seed + 10 + step)]))
        changed = share_for(design, 2 * factor * stderr)
    margin = factor * stderr
    null = list(design.trials(trials, margin, seed=seed + 3))
    drop = list(changed.trials(trials, margin, seed=seed + 4))
    return Cell(
        metric=metric,
        n=design.n,
        clusters=design.has_clusters,
        coverage=float(np.mean([trial.is_covered for trial in null])),
        false_alarms=float(np.mean([trial.is_regressed for trial in null])),
        power=float(np.mean([trial.is_regressed for trial in drop])),
        planned=power_of(2 * margin, stderr, margin, ALPHA),
        covered_drop=float(np.mean([trial.is_covered for trial in drop])),
    )


PREAMBLE = """<!-- python benchmarks/simulations/gate_errors.py --data-dir DATA --out reports/gate_errors.md -->
# How often the gate errs

{trials:,} trials a row and scenario, {resamples:,} resamples each, fixed seeds; alpha 0.05 one-sided, intervals at 95%. The
standard error of a share from 2,000 trials is 0.5 points at 95%, 0.9 points at 80%. Systems are exchangeable mixtures of the
outputs of two published or simple systems; with clusters, five examples share a correlation of 0.5. "No difference": both
systems are drawn alike. "True drop": a share of the candidate's outputs is replaced by worse ones, so that it loses twice the
margin, and the margin is the one for which the plan promises the power in the column "planned".

"kept" asks of every row that false alarms of `regressed` stay at alpha + 1 point and that power is within 5 points of the plan,
and from n = 500 on that both coverages lie within 93 to 97%.

"""

HEADER = (
    "| metric | n | units | coverage, no difference | coverage, true drop | false alarms | power | planned | kept |"
)


def row(cell: Cell) -> str:
    """One line of the table."""
    units = f"{cell.n // CLUSTER} clusters" if cell.clusters else f"{cell.n} examples"
    shares = (cell.coverage, cell.covered_drop, cell.false_alarms, cell.power, cell.planned)
    cells = (
        cell.metric,
        str(cell.n),
        units,
        *(f"{100 * share:.1f}%" for share in shares),
        "yes" if cell.is_good else "no",
    )
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Run the cells and write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, default=os.environ.get("EVALKIT_DATA_DIR"))
    parser.add_argument("--metrics", default=",".join(POPULATIONS))
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="another number repeats everything with other draws")
    parser.add_argument("--clusters", choices=("with", "without", "both"), default="both")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if options.data_dir is None:
        parser.error("name the folder of published data with --data-dir or EVALKIT_DATA_DIR")
    lines = [HEADER, "|" + "---|" * HEADER.count(" |")]
    print("\n".join(lines), flush=True)
    started = time.monotonic()
    for metric in options.metrics.split(","):
        population = make(metric, Path(options.data_dir))
        for has_clusters in {"with": (True,), "without": (False,), "both": (False, True)}[options.clusters]:
            for n in map(int, options.sizes.split(",")):
                design = Design(population, n, has_clusters, options.resamples)
                lines.append(row(simulate(metric, design, options.trials, options.seed)))
                print(lines[-1], flush=True)
    print(f"{time.monotonic() - started:.0f} s", flush=True)
    if options.out:
        text = PREAMBLE.format(trials=options.trials, resamples=options.resamples) + "\n".join(lines) + "\n"
        options.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
