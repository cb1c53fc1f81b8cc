"""Fits of Chinchilla's law beside SciPy's L-BFGS-B grid and two public packages: seconds, and the objective each one reaches.

The points are the 240 of the Chinchilla replication where the published data lie beside the checkout (EVALKIT_DATA_DIR), else
240 of a known law with heavy-tailed noise. Every peer's parameters are measured by one objective, the sum of Huber(1e-3) of the
log residuals, whatever the peer itself minimises. The packages need not run in this interpreter: `--peer-python` names one
that has `chinchilla` (Python 3.8) and `simple-scaling-laws` (Python 3.12).
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

import numpy as np  # noqa: E402
from scipy.optimize import minimize  # noqa: E402

from evalkit.scaling.fitting import Intervals, fit  # noqa: E402
from evalkit.scaling.losses import Loss  # noqa: E402
from evalkit.scaling.points import Points, make_points  # noqa: E402

HERE = Path(__file__).resolve().parent
FULL_GRID = 4500
"""Starts of Hoffmann et al. (2022), appendix D.3."""
NAMES = ("E", "A", "alpha", "B", "beta")


def replication() -> tuple[str, Points]:
    """The published points, or points like them."""
    folder = Path(os.environ.get("EVALKIT_DATA_DIR", HERE.parents[1] / "shared" / "data"))
    path = folder / "scaling" / "chinchilla_fig4_epoch.csv"
    if path.is_file():
        with path.open(encoding="utf-8") as file:
            rows = [row for row in csv.DictReader(file) if row["kept_by_epoch"] == "1"]
        return "replication", make_points({name: [float(row[name]) for row in rows] for name in ("N", "D", "loss")})
    generator = np.random.default_rng(0)
    compute, ratio = np.exp(generator.uniform(43, 50, 240)), np.exp(generator.uniform(0.5, 5.5, 240))
    sizes = np.sqrt(compute / 6 / ratio)
    loss = 1.817 + 478 * sizes**-0.347 + 2143 * (ratio * sizes) ** -0.367
    return "synthetic", make_points(
        {"N": sizes, "D": ratio * sizes, "loss": loss * np.exp(0.005 * generator.standard_t(3, 240))}
    )


def objective(points: Points, values: Mapping[str, float]) -> float:
    """Measure parameters by the sum of Huber(1e-3) of the log residuals."""
    predicted = (
        values["E"]
        + values["A"] * points.axis("N") ** -values["alpha"]
        + values["B"] * points.axis("D") ** -values["beta"]
    )
    return float(Loss().rho(np.log(points.loss / predicted)).sum())


def scipy_grid(points: Points, starts: int) -> tuple[float, dict[str, float]]:
    """Run L-BFGS-B with analytic gradients from evenly chosen starts of the published grid, on the sum of Huber losses."""
    log_n, log_d, log_loss = np.log(points.axis("N")), np.log(points.axis("D")), np.log(points.loss)
    axes = [
        np.arange(0, 30, 5),
        np.arange(0, 30, 5),
        np.arange(-1, 1.5, 0.5),
        np.arange(0, 2.5, 0.5),
        np.arange(0, 2.5, 0.5),
    ]
    grid = list(itertools.product(*axes))[:: max(1, FULL_GRID // starts)]

    def value_and_slope(x: np.ndarray) -> tuple[float, np.ndarray]:
        terms = np.stack([x[0] - x[3] * log_n, x[1] - x[4] * log_d, np.full_like(log_n, x[2])])
        top = terms.max(axis=0)
        shares = np.exp(terms - top)
        total = shares.sum(axis=0)
        shares /= total
        rest = log_loss - (top + np.log(total))
        slope = -np.clip(rest, -1e-3, 1e-3)
        columns = (shares[0], shares[1], shares[2], -shares[0] * log_n, -shares[1] * log_d)
        return float(Loss().rho(rest).sum()), np.array([float(slope @ column) for column in columns])

    started = time.process_time()
    found = [minimize(value_and_slope, start, jac=True, method="L-BFGS-B") for start in grid]
    seconds = (time.process_time() - started) * FULL_GRID / len(grid)
    best = min(found, key=lambda result: result.fun).x
    return seconds, dict(
        zip(NAMES, (math.exp(best[2]), math.exp(best[0]), best[3], math.exp(best[1]), best[4]), strict=True)
    )


def timed(work: Callable[[], Any], rounds: int) -> tuple[float, Any]:
    """Give the best processor seconds of some rounds, and the last result."""
    best, result = math.inf, None
    for _ in range(rounds):
        started = time.process_time()
        result = work()
        best = min(best, time.process_time() - started)
    return best, result


def peer(python: str | None, name: str, points: Points) -> tuple[float, dict[str, float]] | None:
    """Run a package in its own interpreter; None where it is not there."""
    if python is None:
        return None
    table = {key: getattr(points, key).tolist() for key in ("N", "D", "loss")}
    command = [python, str(HERE / "peers" / "scaling.py"), name]
    done = subprocess.run(command, input=json.dumps(table), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"{name}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return None
    result = json.loads(done.stdout.splitlines()[-1])
    return result["seconds"], result["values"]


def row(name: str, points: Points, ours: tuple[float, Any], other: tuple[str, Any], target_s: float) -> None:
    """Print one line; values first: no peer may reach a lower objective."""
    seconds, fitted = ours
    lowest = fitted.quality.objective
    line = {
        "benchmark": name,
        "n": len(points),
        "evalkit_s": round(seconds, 4),
        "evalkit_objective": lowest,
        "peer": other[0],
    }
    if other[1] is not None:
        reached = objective(points, other[1][1])
        line |= {"peer_s": round(other[1][0], 3), "ratio": round(other[1][0] / seconds, 1), "peer_objective": reached}
        line["equal"] = lowest <= reached * (1 + 1e-9)
    elif other[0] != "none":
        line["peer"] += ": not here, see --peer-python"
    line |= {"target": f"<= {target_s} s", "met": seconds <= target_s}
    print(json.dumps(line), flush=True)


def main() -> None:
    """Run all rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--scipy-starts", type=int, default=150, help="starts that are run; seconds are scaled to 4,500"
    )
    parser.add_argument("--peer-python", help="an interpreter with chinchilla and simple-scaling-laws")
    options = parser.parse_args()
    source, points = replication()

    fitted = timed(lambda: fit(points), options.rounds)
    grid = scipy_grid(points, options.scipy_starts)
    row(f"certified fit, {source} points", points, fitted, ("scipy L-BFGS-B, 4,500 starts (scaled)", grid), 0.05)
    for name in ("chinchilla", "chinchilla-log-huber", "simple-scaling-laws"):
        row(f"certified fit, {source} points", points, fitted, (name, peer(options.peer_python, name, points)), 0.05)
    for resamples, target in ((1000, 1.5), (4000, 6.0)):
        intervals = Intervals(resamples=resamples)
        drawn = timed(partial(fit, points, intervals=intervals), 2)
        other: tuple[str, Any] = ("none", None)
        if resamples == 1000:
            found = peer(options.peer_python, "simple-scaling-laws-draws", points)
            other = ("simple-scaling-laws, 1,000 draws", found)
        row(f"fit and {resamples} resamples", points, drawn, other, target)


if __name__ == "__main__":
    main()
