"""Intervals and paired differences, held against closed forms, naive loops and simulation."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.errors import InvalidInputError
from evalkit.metrics.base import Metric, Ratio, Statistics
from evalkit.stats import (
    Resampling,
    count_blocks,
    estimate,
    paired_difference,
    ratio_stderr,
    resampled_sums,
    sum_clusters,
)


class Mean(Metric[float, float]):
    """Mean of numbers, the simplest ratio."""

    name = "mean"
    reference = "arithmetic"
    headline = ("mean",)

    def statistics(self, predictions, references):
        return Statistics(("value", "n"), np.array([[value, 1.0] for value in predictions]))

    def ratios(self, columns):
        return {"mean": Ratio({"value": 1}, {"n": 1})}

    def signature(self, references=None):
        return "mean"


class Geometric(Mean):
    """exp of the mean, so that no closed form applies."""

    def ratios(self, columns):
        return {}

    def score(self, sums, columns):
        return {"mean": np.exp(sums[..., 0] / sums[..., 1])}


def rows(values):
    return Mean().statistics(values, None)


def test_the_standard_error_of_a_mean_is_s_over_root_n():
    values = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0]
    (result,) = estimate([(Mean(), rows(values))], Resampling())[0]
    assert result.value == pytest.approx(np.mean(values), abs=1e-15)
    assert result.stderr == pytest.approx(np.std(values, ddof=1) / math.sqrt(len(values)), rel=1e-12)


def test_the_standard_error_of_a_ratio_follows_cochran_6_3():
    top, bottom = np.array([1.0, 2, 2, 5]), np.array([2.0, 3, 4, 6])
    table = np.stack([top, bottom], axis=1)
    ratio = top.sum() / bottom.sum()
    by_hand = math.sqrt(4 / 3 * ((top - ratio * bottom) ** 2).sum()) / bottom.sum()
    assert ratio_stderr(Ratio({"a": 1}, {"b": 1}, scale=100), table, ("a", "b")) == pytest.approx(100 * by_hand)


def test_bootstrap_interval_equals_a_naive_loop_over_the_same_draws():
    values = np.array([0.0, 1, 1, 0, 1, 1, 1, 0, 1, 0.5])
    resampling = Resampling(resamples=400, seed=7)
    (result,) = estimate([(Mean(), rows(values))], resampling)[0]
    means = [float(counts @ values) / 10 for block in count_blocks(10, resampling) for counts in block]
    assert (result.low, result.high) == pytest.approx(tuple(np.quantile(means, [0.025, 0.975])), abs=1e-12)


def test_counts_of_each_resample_sum_to_the_number_of_units_and_do_not_depend_on_the_block_size(monkeypatch):
    whole = np.concatenate(list(count_blocks(50, Resampling(resamples=30, seed=3))))
    monkeypatch.setattr("evalkit.stats.BLOCK_BYTES", 8 * 50 * 7)
    parts = list(count_blocks(50, Resampling(resamples=30, seed=3)))
    assert [len(part) for part in parts] == [7, 7, 7, 7, 2]
    assert (np.concatenate(parts) == whole).all()
    assert (whole.sum(axis=1) == 50).all()


def test_all_metrics_of_a_run_share_one_draw():
    table = np.arange(20.0).reshape(10, 2)
    first, second = resampled_sums([table, 3 * table], Resampling(resamples=50))
    assert (3 * first == second).all()


def test_the_interval_covers_the_true_mean_about_as_often_as_it_says():
    generator = np.random.default_rng(5)
    hits = 0
    for seed in range(200):
        (result,) = estimate(
            [(Mean(), rows(generator.normal(1.0, 2.0, size=60)))], Resampling(resamples=300, seed=seed)
        )[0]
        hits += result.low <= 1.0 <= result.high
    # 95% nominal; the percentile interval is a little short at n = 60, and 200 trials have a standard error of 1.6 points.
    assert 0.89 <= hits / 200 <= 0.99


def test_clusters_widen_the_interval_of_repeated_examples():
    values = np.repeat([0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0], 20)
    clusters = [str(index) for index in range(8) for _ in range(20)]
    (alone,) = estimate([(Mean(), rows(values))], Resampling())[0]
    (clustered,) = estimate([(Mean(), rows(values))], Resampling(), clusters)[0]
    assert clustered.value == alone.value
    assert clustered.stderr > 4 * alone.stderr
    # The clustered standard error is that of eight means.
    assert clustered.stderr == pytest.approx(np.std([0, 1, 0, 1, 1, 0, 1, 0], ddof=1) / math.sqrt(8))


def test_rows_without_a_cluster_are_units_of_their_own():
    summed = sum_clusters(np.array([[1.0], [2], [4], [8]]), ["a", None, "a", None])
    assert summed.tolist() == [[5.0], [2.0], [8.0]]


@pytest.mark.parametrize("clusters", [None, ["only"] * 5])
def test_one_unit_alone_has_a_value_but_no_interval_and_no_standard_error(clusters):
    values = [2.0] if clusters is None else [1.0, 2, 3, 2, 2]
    (result,) = estimate([(Mean(), rows(values))], Resampling(), clusters)[0]
    assert result.value == 2.0
    assert (result.low, result.high, result.stderr) == (None, None, None)


@given(st.integers(-1000, 1000), st.integers(2, 40))
@settings(max_examples=30, deadline=None)
def test_the_bootstrap_of_n_copies_of_an_example_is_exact(value, copies):
    for metric in (Mean(), Geometric()):
        (result,) = estimate([(metric, rows([value / 64] * copies))], Resampling(resamples=20))[0]
        assert result.low == result.high == result.value
        assert result.stderr == 0.0


def test_an_undefined_value_has_neither_interval_nor_error():
    undefined = Statistics(("value", "n"), np.zeros((4, 2)))
    (result,) = estimate([(Mean(), undefined)], Resampling())[0]
    assert (result.value, result.low, result.high, result.stderr) == (None, None, None, None)


def test_no_resamples_leave_the_closed_form_error_and_no_interval():
    (result,) = estimate([(Mean(), rows([1.0, 2.0]))], Resampling(resamples=0))[0]
    assert (result.low, result.high, result.stderr) == (None, None, 0.5)


def test_equal_outputs_differ_by_nothing_with_p_one():
    same = rows(np.random.default_rng(0).random(100))
    (result,) = paired_difference(Mean(), same, same, Resampling())
    assert (result.value, result.low, result.high, result.p) == (0.0, 0.0, 0.0, 1.0)


def test_a_large_difference_is_significant_and_a_paired_interval_is_tighter_than_two_apart():
    generator = np.random.default_rng(1)
    base = generator.normal(size=300)
    first, second = rows(base), rows(base + 0.2 + generator.normal(scale=0.1, size=300))
    (result,) = paired_difference(Mean(), first, second, Resampling())
    assert result.p == pytest.approx(1 / 1001)
    assert result.low < 0.2 < result.high
    assert result.high - result.low < 0.05


def test_the_paired_test_rejects_a_true_null_about_as_often_as_its_level_says():
    generator = np.random.default_rng(2)
    rejected = 0
    for seed in range(300):
        base = generator.normal(size=80)
        pair = [rows(base + generator.normal(size=80)) for _ in range(2)]
        (result,) = paired_difference(Mean(), *pair, Resampling(resamples=199, seed=seed))
        rejected += result.p <= 0.05
    # 5% nominal, standard error 1.3 points over 300 trials; sacrebleu's paired bootstrap rejects 12%.
    assert 0.015 <= rejected / 300 <= 0.09


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"confidence": 95}, "confidence is 95"),
        ({"confidence": 0}, "confidence is 0"),
        ({"resamples": -1}, "resamples is -1"),
    ],
)
def test_nonsensical_resampling_is_refused(settings, message):
    with pytest.raises(InvalidInputError, match=message):
        Resampling(**settings)


def test_a_paired_test_of_different_examples_is_refused():
    with pytest.raises(InvalidInputError, match="3 and 2 examples"):
        paired_difference(Mean(), rows([1, 2, 3]), rows([1, 2]), Resampling())


def test_merged_statistics_fill_columns_that_a_shard_lacks_with_zero():
    left = Statistics(("n", "a"), np.array([[1.0, 2.0]]))
    right = Statistics(("n", "b"), np.array([[1.0, 5.0]]))
    merged = Statistics.merge([left, right])
    assert merged.columns == ("n", "a", "b")
    assert merged.rows.tolist() == [[1, 2, 0], [1, 0, 5]]
