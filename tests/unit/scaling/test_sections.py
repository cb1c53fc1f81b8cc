"""Lines through a law go where its closed forms say, and say how far there were runs."""

import numpy as np
import pytest

from evalkit.scaling import Intervals, fit, make_points
from evalkit.scaling.sections import BEYOND, best_split, held_values, places, sections

LAW = {"E": 1.69, "A": 406.4, "alpha": 0.34, "B": 410.7, "beta": 0.28}


def runs(noise=0.002, levels=6):
    sizes, tokens = np.meshgrid(np.geomspace(1e7, 1e9, levels), np.geomspace(1e9, 1e11, levels))
    sizes, tokens = sizes.ravel(), tokens.ravel()
    loss = LAW["E"] + LAW["A"] * sizes ** -LAW["alpha"] + LAW["B"] * tokens ** -LAW["beta"]
    return make_points(
        {"N": sizes, "D": tokens, "loss": loss * np.exp(noise * np.random.default_rng(0).normal(size=len(loss)))}
    )


@pytest.fixture(scope="module")
def fitted():
    return fit(runs(), intervals=Intervals(resamples=100))


def test_the_best_split_is_the_closed_form_of_chinchillas_law():
    exact = fit(runs(noise=0.0))
    budgets = np.geomspace(1e18, 1e22, 9)
    sizes, tokens = best_split(exact, budgets)
    a = LAW["beta"] / (LAW["alpha"] + LAW["beta"])
    gain = (LAW["alpha"] * LAW["A"] / (LAW["beta"] * LAW["B"])) ** (1 / (LAW["alpha"] + LAW["beta"]))
    # 400 places over ln N and a parabola between them: the loss itself is right to many more digits.
    assert sizes == pytest.approx(gain * (budgets / 6) ** a, rel=2e-3)
    assert 6 * sizes * tokens == pytest.approx(budgets, rel=1e-12)


@pytest.mark.parametrize("axis", ["N", "D"])
def test_lines_over_an_axis_are_the_law_with_the_other_axis_held(fitted, axis):
    lines = sections(fitted, axis)
    assert len(lines) == 3
    for line in lines:
        at = {axis: line.x, {"N": "D", "D": "N"}[axis]: np.full_like(line.x, line.held)}
        assert line.y == pytest.approx(fitted.predict(at), rel=1e-12)
        assert ((line.low <= line.y) & (line.y <= line.high)).mean() > 0.9
        assert line.observed == (fitted.points.axis(axis).min(), fitted.points.axis(axis).max())
        assert line.x.max() == pytest.approx(BEYOND * line.observed[1])
        assert set(line.observed) <= set(line.x)


def test_a_line_over_compute_follows_the_best_split(fitted):
    (line,) = sections(fitted, "C")
    assert 6 * line.sizes * line.tokens == pytest.approx(line.x)
    for place in (0, 60, len(line.x) - 1):
        best = fitted.optimal(C=float(line.x[place]))
        assert line.y[place] == pytest.approx(best.loss.value, rel=1e-6)


def test_a_law_of_one_axis_has_one_line_and_no_bands_without_draws():
    points = runs()
    alone = fit(points.take(points.axis("D") == points.axis("D").max()), "offset_n")
    (line,) = sections(alone, "N")
    assert line.held is None
    assert line.low is None


def test_few_levels_are_all_held_and_many_are_sampled():
    points = runs(levels=3)
    assert held_values(points, "D") == pytest.approx([1e9, 1e10, 1e11])
    assert len(held_values(runs(levels=6), "N")) == 3


def test_places_hold_the_ends_of_the_observed_range():
    x = places(np.array([3.0, 7.0]), beyond=2.0, count=11)
    assert (x[0], x[-1]) == (pytest.approx(3.0), pytest.approx(14.0))
    assert 7.0 in x
