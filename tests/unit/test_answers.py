"""McNemar's exact test and Newcombe's interval."""

import numpy as np
import pytest
from scipy import stats

from evalkit.comparison.answers import Answers, answers, newcombe, wilson
from evalkit.comparison.significance import Measure, Paired
from evalkit.metrics.squad import SquadV1

COLUMNS = ("exact_match", "f1", "questions")


def table_of(values, asked=1.0):
    values = np.asarray(values, dtype=float)
    return np.column_stack([values, values, np.full(len(values), asked)])


def counted(first, second, value="exact_match"):
    return answers(Paired(Measure(SquadV1(), COLUMNS, value), (table_of(first),), (table_of(second),)))


def test_answers_are_counted_by_who_was_right():
    assert counted([1, 1, 0, 0, 1], [1, 0, 1, 0, 0]) == Answers(1, 2, 1, 1, 100.0, 1)


def test_scores_that_are_not_right_or_wrong_are_left_to_the_bootstrap():
    assert counted([0.5, 1], [1, 1], "f1") is None


def test_clusters_of_several_questions_are_left_to_the_bootstrap():
    measure = Measure(SquadV1(), COLUMNS, "exact_match")
    pair = Paired(measure, (table_of([1, 0], asked=2),), (table_of([1, 1], asked=2),))
    assert answers(pair) is None


@pytest.mark.parametrize(("first_only", "second_only"), [(0, 0), (1, 0), (3, 9), (40, 21), (200, 260)])
def test_mcnemar_equals_the_binomial_test(first_only, second_only):
    table = Answers(10, first_only, second_only, 5, 1.0, 1)
    both = first_only + second_only
    expected = stats.binomtest(second_only, both).pvalue if both else 1.0
    assert table.p() == pytest.approx(expected)
    worse = stats.binom.cdf(second_only, both, 0.5) - stats.binom.pmf(second_only, both, 0.5) / 2 if both else 1.0
    assert table.p_worse() == pytest.approx(worse)


@pytest.mark.parametrize(("right", "n"), [(0, 10), (3, 10), (10, 10), (81, 263)])
def test_wilson_equals_scipys(right, n):
    expected = stats.binomtest(right, n).proportion_ci(0.95, method="wilson")
    assert wilson(right / n, n, stats.norm.ppf(0.975)) == pytest.approx((expected.low, expected.high))


def test_newcombe_covers_as_often_as_it_says_near_zero():
    # Shares of right answers 2% and 3%, where intervals from a normal approximation fail.
    generator = np.random.default_rng(0)
    draws = generator.multinomial(100, [0.01, 0.01, 0.02, 0.96], size=3000)
    covered = [low <= 0.01 <= high for low, high in (newcombe(tuple(map(int, row)), 1.959964) for row in draws)]
    assert 0.94 <= np.mean(covered) <= 0.995


def test_newcombe_is_mirrored_when_the_systems_are_exchanged():
    low, high = newcombe((20, 5, 9, 6), 1.96)
    assert newcombe((20, 9, 5, 6), 1.96) == pytest.approx((-high, -low))


def test_bounds_stay_possible_where_no_answer_is_right_or_none_differs():
    assert newcombe((0, 0, 0, 30), 1.96) == pytest.approx((-0.1135, 0.1135), abs=1e-4)
    low, high = newcombe((0, 30, 0, 0), 1.96)
    assert -1.0 <= low <= high < 0.0
