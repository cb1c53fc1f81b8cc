"""Error rates in short: the simulations of reports/gate_errors.md with made-up systems and few trials, for every commit."""

import numpy as np
import pytest

from evalkit.comparison.bounds import bounds_of
from evalkit.comparison.significance import Measure, Paired, bootstrap
from evalkit.gating.plan import power_of
from evalkit.metrics.squad import SquadV1

TRIALS, ALPHA = 200, 0.05
F1 = Measure(SquadV1(), ("exact_match", "f1", "questions"), "f1")
THREE_ERRORS = 3 * (ALPHA * (1 - ALPHA) / TRIALS) ** 0.5


def table(values, cluster):
    rows = np.column_stack([np.zeros(len(values)), values, np.ones(len(values))])
    return rows.reshape(-1, cluster, 3).sum(axis=1)


def trials(drop, cluster):
    """Paired skewed scores of 60 units; within a cluster half of the variance is shared."""
    generator = np.random.default_rng(0)
    for index in range(TRIALS):
        shared = np.repeat(generator.normal(size=60), cluster)
        own = generator.normal(size=60 * cluster)
        mixed = (shared + own) / 2**0.5 if cluster > 1 else own
        difficulty = generator.gamma(2, size=60 * cluster) / 10
        first, second = difficulty, difficulty + 0.1 * (np.exp(mixed / 2) - np.exp(0.125)) - drop
        pair = Paired(F1, (table(first, cluster),), (table(second, cluster),))
        [spread] = bootstrap([pair], 300, index)
        bounds = bounds_of(pair, None, spread, ALPHA, 300, index)
        yield spread.lower(0.025) <= -100 * drop <= spread.upper(0.025), bounds


@pytest.mark.parametrize("cluster", [1, 4])
def test_intervals_cover_and_false_alarms_stay_at_alpha(cluster):
    results = list(trials(0.0, cluster))
    assert np.mean([covered for covered, _ in results]) == pytest.approx(0.95, abs=0.04)
    alarms = np.mean([bounds.upper < 0 and bounds.lower <= -0.1 for _, bounds in results])
    assert alarms <= ALPHA + THREE_ERRORS


@pytest.mark.parametrize("cluster", [1, 4])
def test_power_is_as_planned(cluster):
    drop = 0.018
    results = [bounds for _, bounds in trials(drop, cluster)]
    stderr, margin = np.mean([bounds.stderr for bounds in results]), 50 * drop
    power = np.mean([bounds.upper < 0 and bounds.lower <= -margin for bounds in results])
    assert power == pytest.approx(power_of(100 * drop, stderr, margin, ALPHA), abs=0.09)
