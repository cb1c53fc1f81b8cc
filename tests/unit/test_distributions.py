"""The distributions beside scipy's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evalkit.comparison.distributions import binomial_tail, normal_cdf, normal_quantile, t_cdf, t_quantile


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 5, 19, 99, 100, 101, 102, 499, 9999])
@pytest.mark.parametrize("t", [-30.0, -4.0, -1.5, 0.0, 0.2, 2.5])
def test_student_t_equals_scipys(degrees, t):
    assert t_cdf(t, degrees) == pytest.approx(stats.t.cdf(t, degrees), rel=1e-6, abs=1e-12)


@given(st.floats(1e-6, 1 - 1e-6), st.integers(1, 3000))
def test_quantiles_of_t_invert_its_distribution(probability, degrees):
    assert t_quantile(probability, degrees) == pytest.approx(stats.t.ppf(probability, degrees), rel=1e-6, abs=1e-9)


@given(st.floats(1e-9, 1 - 1e-9))
def test_quantiles_of_the_normal_equal_scipys(probability):
    assert normal_quantile(probability) == pytest.approx(stats.norm.ppf(probability), rel=1e-9, abs=1e-9)
    assert normal_cdf(normal_quantile(probability)) == pytest.approx(probability, rel=1e-9)


@given(st.integers(0, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_binomial_tail_equals_scipys(case):
    successes, trials = case
    assert binomial_tail(successes, trials) == pytest.approx(stats.binom.cdf(successes, trials, 0.5), rel=1e-9)
