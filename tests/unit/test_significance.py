"""Effects, bounds and tests on rows of statistics."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evalkit.comparison.significance import Measure, Paired, bootstrap, holm, randomize
from evalkit.metrics.perplexity import Perplexity
from evalkit.metrics.rouge import Rouge
from evalkit.metrics.seqeval import Seqeval
from evalkit.metrics.squad import SquadV1

F1 = Measure(SquadV1(), ("exact_match", "f1", "questions"), "f1")


def answers_table(values):
    values = np.asarray(values, dtype=float)
    return np.column_stack([values, values, np.ones(len(values))])


def pair_of(first, second, measure=F1):
    return Paired(measure, (answers_table(first),), (answers_table(second),))


def spread_of(pair, resamples=4000):
    [spread] = bootstrap([pair], resamples, 0)
    return spread


def test_identical_systems_have_no_effect_no_spread_and_p_one():
    values = np.random.default_rng(0).random(50)
    pair = pair_of(values, values)
    spread, chance = spread_of(pair), randomize(pair, 1000, 0)
    assert (spread.observed, spread.lower(0.05), spread.upper(0.05)) == (0.0, 0.0, 0.0)
    assert (spread.p(), chance.p, chance.p_worse) == (1.0, 1.0, 1.0)


def test_one_changed_sentence_of_eighty_is_not_significant():
    values = np.random.default_rng(0).random(80)
    worse = values.copy()
    worse[7] = 0
    pair = pair_of(values, worse)
    spread, chance = spread_of(pair), randomize(pair, 2000, 0)
    assert spread.observed < 0
    assert spread.upper(0.05) == pytest.approx(0.0, abs=1e-9)
    assert min(spread.p(), chance.p) > 0.3


def test_randomization_p_equals_full_enumeration_on_few_units():
    generator = np.random.default_rng(1)
    first, second = generator.random(9), generator.random(9) + 0.15
    gain = second - first
    observed = gain.sum()
    flips = [sum(s * g for s, g in zip(signs, gain, strict=True)) for signs in itertools.product((-1, 1), repeat=9)]
    exact = sum(abs(flip) >= abs(observed) - 1e-12 for flip in flips) / len(flips)
    assert randomize(pair_of(first, second), 40_000, 0).p == pytest.approx(exact, abs=0.012)


def test_bootstrap_bounds_of_a_mean_are_those_of_students_t():
    generator = np.random.default_rng(2)
    first, second = generator.random(15), generator.random(15)
    gain = 100 * (second - first)
    exact = stats.t.interval(0.9, 14, loc=gain.mean(), scale=gain.std(ddof=1) / math.sqrt(15))
    spread = spread_of(pair_of(first, second), 40_000)
    width = exact[1] - exact[0]
    assert (spread.lower(0.05), spread.upper(0.05)) == pytest.approx(exact, abs=0.05 * width)
    assert spread.p() == pytest.approx(stats.ttest_1samp(gain, 0).pvalue, abs=0.03)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=3, max_size=30))
def test_exchanging_the_systems_mirrors_everything(values):
    first, second = (np.array(side) for side in zip(*values, strict=True))
    there, back = pair_of(first, second), pair_of(second, first)
    ahead, behind = spread_of(there, 400), spread_of(back, 400)
    assert ahead.observed == pytest.approx(-behind.observed, abs=1e-9)
    assert ahead.lower(0.1) == pytest.approx(-behind.upper(0.1), abs=1e-6)
    assert ahead.p() == pytest.approx(behind.p(), abs=1e-9)
    assert randomize(there, 400, 0).p == pytest.approx(randomize(back, 400, 0).p, abs=1e-9)


def test_lower_is_better_turns_the_effect_round_and_relative_effects_are_ratios():
    columns = ("nll_nats", "tokens", "words", "characters", "bytes", "sequence_perplexity", "sequences")
    rows = np.array([[20.0, 10, 2, 10, 10, 7.0, 1], [30.0, 10, 2, 10, 10, 20.0, 1]])
    worse = rows.copy()
    worse[:, 0] += 1
    measure = Measure(Perplexity(), columns, "token_perplexity", is_relative=True)
    pair = Paired(measure, (rows,), (worse,))
    assert pair.observed() == pytest.approx(1 - math.exp(52 / 20) / math.exp(50 / 20))
    assert Paired(Measure(Perplexity(), columns, "token_perplexity"), (rows,), (worse,)).observed() < 0


def test_values_that_are_no_ratio_use_the_metrics_own_score():
    tags = [[["B-PER", "O"]], [["B-LOC", "O"]]]
    statistics = Seqeval().statistics([["B-PER", "O"], ["O", "O"]], tags)
    measure = Measure(Seqeval(), statistics.columns, "macro_f1")
    assert float(measure.score(statistics.total())) == pytest.approx(0.5)
    rouge = Rouge().statistics(["a cat"], [["a cat"]])
    assert float(Measure(Rouge(), rouge.columns, "rougeL").score(rouge.total())) == 1.0


def test_the_smallest_alpha_with_a_bound_below_zero_is_the_one_sided_p():
    generator = np.random.default_rng(3)
    pair = pair_of(generator.random(40) + 0.1, generator.random(40))
    spread = spread_of(pair)
    p = spread.p_worse()
    assert spread.upper(min(0.5, p * 1.1)) < 0 < spread.upper(p / 1.2)


def seeds(scores, n=60):
    generator = np.random.default_rng(4)
    base = generator.random(n)
    return tuple(answers_table(np.clip(base + shift, 0, 1)) for shift in scores)


def test_runs_of_a_recipe_count_by_their_mean_and_widen_the_bounds():
    single = Paired(F1, seeds([0.0]), seeds([-0.05]))
    several = Paired(F1, seeds([0.0]), seeds([-0.15, -0.05, 0.05]))
    assert several.observed() == pytest.approx(single.observed(), abs=1.5)
    one, many = spread_of(single), spread_of(several)
    assert many.upper(0.05) > one.upper(0.05)
    assert many.lower(0.05) < one.lower(0.05)
    assert many.p_worse() > one.p_worse()
    assert randomize(several, 100, 0) is None


def test_equal_runs_of_a_recipe_change_nothing():
    single, repeated = Paired(F1, seeds([0.0]), seeds([-0.05])), Paired(F1, seeds([0.0]), seeds([-0.05, -0.05]))
    assert spread_of(repeated).lower(0.05) == pytest.approx(spread_of(single).lower(0.05))


def test_one_unit_alone_says_nothing():
    assert bootstrap([pair_of([1.0], [0.0])], 100, 0) == [None]


def test_holm_adjusts_as_in_a_worked_example():
    # 4 hypotheses: 4 x 0.005, 3 x 0.011, 2 x 0.02, 1 x 0.04, made non-decreasing.
    assert holm([0.011, 0.02, 0.04, 0.005]) == pytest.approx([0.033, 0.04, 0.04, 0.02])
    assert holm([]) == []
    assert holm([0.9, 0.8]) == pytest.approx([1.0, 1.0])
