"""IsoFLOP profiles with 1,000 resamples, beside the usual loop of `numpy.polyfit` over the same moved losses.

The exponents and the ends of their intervals must be equal. Data are six budgets of fifteen runs of Chinchilla's law with 0.3% of
noise; read from a file (`--csv`, with columns C, N, D and loss) where one is given.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import os
import time
from collections.abc import Callable
from typing import Any

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

import numpy as np  # noqa: E402

from evalkit.scaling.isoflop import fit_isoflop  # noqa: E402
from evalkit.scaling.isoflop_valleys import IsoFlopSettings, budgets  # noqa: E402
from evalkit.scaling.points import Points, PointSettings, make_points  # noqa: E402

TARGET_S = 0.05
LAW = (406.4, 410.7, 1.69, 0.34, 0.28)
DEGREES = {"parabola": 2, "cubic": 3}


def made_points() -> Points:
    """Six budgets of fifteen runs, from a third to three times the best size."""
    a, b, e, alpha, beta = LAW
    compute = np.repeat(10.0 ** np.arange(17, 23), 15)
    best = (alpha * a / (beta * b)) ** (1 / (alpha + beta)) * (compute / 6) ** (beta / (alpha + beta))
    sizes = best * np.tile(np.geomspace(1 / 3, 3, 15), 6)
    tokens = compute / 6 / sizes
    noise = np.exp(0.003 * np.random.default_rng(0).normal(size=len(sizes)))
    return make_points({"N": sizes, "D": tokens, "loss": (e + a * sizes**-alpha + b * tokens**-beta) * noise})


def read_points(path: str) -> Points:
    """The runs of a file."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    columns = {name: [float(row[name]) for row in rows] for name in ("C", "N", "D", "loss")}
    return make_points(columns, PointSettings(flops="by the model"))


def loop(points: Points, method: str, resamples: int) -> tuple[float, float, float]:
    """Exponent of N* and its interval, one polynomial at a time; the same random signs as evalkit draws."""
    sizes, compute, losses = points.axis("N"), points.compute(), points.loss
    generator, degree = np.random.default_rng(0), DEGREES[method]
    groups = budgets(compute, 0.1)
    moved = []
    for rows in groups:
        signs = np.where(generator.random((resamples, len(rows))) < 0.5, -1.0, 1.0)
        x = np.log(sizes[rows])
        basis = np.vander((x - x.mean()) / (np.ptp(x) / 2), degree + 1)
        hat = np.einsum("np,pn->n", basis, np.linalg.pinv(basis))
        fitted = basis @ np.linalg.lstsq(basis, losses[rows], rcond=None)[0]
        moved.append(fitted + signs * (losses[rows] - fitted) / (1 - hat))
    budget = np.log([compute[rows[0]] for rows in groups])

    def exponent(values: list[Any]) -> float:
        places = [vertex(np.log(sizes[rows]), one, degree) for rows, one in zip(groups, values, strict=True)]
        return float(np.polyfit(budget, places, 1)[0])

    found = exponent([losses[rows] for rows in groups])
    draws = [exponent([one[draw] for one in moved]) for draw in range(resamples)]
    low, high = np.quantile(draws, (0.025, 0.975))
    return found, float(low), float(high)


def vertex(x: Any, y: Any, degree: int) -> float:
    """The minimum of one polynomial in ln N."""
    polynomial = np.poly1d(np.polyfit(x - x.mean(), y, degree))
    roots = [root.real for root in polynomial.deriv().roots if abs(root.imag) < 1e-12]
    return float(min(roots, key=lambda root: -polynomial.deriv(2)(root)) + x.mean())


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """Measure the processor time of one call."""
    started = time.process_time()
    result = work()
    return time.process_time() - started, result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--csv", help="runs with columns C, N, D and loss")
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    points = read_points(given.csv) if given.csv else made_points()
    for method in DEGREES:
        settings = IsoFlopSettings(method=method, resamples=given.resamples)
        best, best_peer = math.inf, math.inf
        for _ in range(given.rounds):
            duration, ours = seconds(lambda settings=settings: fit_isoflop(points, settings).size_line)
            peer_duration, theirs = seconds(lambda method=method: loop(points, method, given.resamples))
            best, best_peer = min(best, duration), min(best_peer, peer_duration)
        pair = (ours.exponent, ours.exponent_low, ours.exponent_high)
        line = {
            "benchmark": f"IsoFLOP profiles, {method}, {given.resamples:,} resamples",
            "n": len(points),
            "evalkit_s": round(best, 4),
            "peer": "numpy.polyfit in a loop, N alone",
            "peer_s": round(best_peer, 4),
            "ratio": round(best_peer / best, 1),
            "target": TARGET_S,
            "equal": all(math.isclose(one, other, rel_tol=1e-6) for one, other in zip(pair, theirs, strict=True)),
        }
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
