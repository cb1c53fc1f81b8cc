"""Chunked draws: the same distribution as a plain bootstrap, at a cost that does not grow."""

import numpy as np
import pytest

from evalkit.comparison.draws import CHUNK, bootstrap_sums, chunks, spread, swap_sums


def plain_bootstrap(table, resamples, seed):
    generator = np.random.default_rng(seed)
    return np.stack([table[generator.integers(0, len(table), len(table))].sum(axis=0) for _ in range(resamples)])


@pytest.mark.parametrize("units", [7, CHUNK, 2 * CHUNK - 1, 2 * CHUNK, 2000])
def test_resampled_sums_have_the_moments_and_quantiles_of_a_plain_bootstrap(units):
    table = np.random.default_rng(1).gamma(0.5, size=(units, 1))
    ours, plain = bootstrap_sums(table, 8000, 0)[:, 0], plain_bootstrap(table, 8000, 2)[:, 0]
    deviation = plain.std()
    assert ours.mean() == pytest.approx(table.sum(), abs=0.06 * deviation)
    assert ours.std() == pytest.approx(deviation, rel=0.04)
    levels = [0.025, 0.05, 0.5, 0.95, 0.975]
    assert np.quantile(ours, levels) == pytest.approx(np.quantile(plain, levels), abs=0.12 * deviation)


def test_every_resample_draws_as_many_units_as_there_are():
    assert np.array_equal(bootstrap_sums(np.ones((1234, 1)), 300, 5), np.full((300, 1), 1234.0))


@pytest.mark.parametrize("units", [9, 700])
def test_swaps_take_each_unit_by_a_fair_coin(units):
    table = np.random.default_rng(3).normal(size=(units, 2))
    sums = swap_sums(table, 8000, 0)
    expected = 0.5 * np.sqrt((table**2).sum(axis=0))
    assert sums.mean(axis=0) == pytest.approx(table.sum(axis=0) / 2, abs=0.06 * expected.max())
    assert sums.std(axis=0) == pytest.approx(expected, rel=0.04)


def test_draws_depend_on_the_seed_alone():
    table = np.random.default_rng(4).normal(size=(600, 3))
    assert np.array_equal(bootstrap_sums(table, 200, 9), bootstrap_sums(table, 200, 9))
    assert not np.array_equal(bootstrap_sums(table, 200, 9), bootstrap_sums(table, 200, 10))


def test_draws_of_a_part_of_the_columns_are_the_same():
    table = np.random.default_rng(4).integers(0, 9, size=(600, 3)).astype(float)
    assert np.array_equal(bootstrap_sums(table, 200, 9)[:, :1], bootstrap_sums(table[:, :1], 200, 9))


def test_spread_undoes_the_narrowness_of_the_empirical_distribution():
    assert spread(10) == pytest.approx((10 / 9) ** 0.5)
    assert (chunks(CHUNK), chunks(10 * CHUNK)) == (1, 10)
    assert spread(1) == 1.0
