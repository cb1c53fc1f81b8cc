"""Bands, allocations and saved fits: closed forms, brute force, and digits that survive a file."""

import json

import numpy as np
import pytest

from evalkit.errors import InvalidInputError
from evalkit.scaling.constraints import Constraints
from evalkit.scaling.fitting import Intervals, fit
from evalkit.scaling.minimum import crossing, lowest
from evalkit.scaling.optimal import size_for, tokens_for
from evalkit.scaling.points import make_points
from evalkit.scaling.result import Fit

LAW = {"E": 1.69, "A": 406.4, "alpha": 0.34, "B": 410.7, "beta": 0.28}
"""Hoffmann et al., 2022, equation 10."""


def runs(count=80, noise=0.005, **more):
    generator = np.random.default_rng(0)
    sizes, tokens = np.exp(generator.uniform(14, 21, count)), np.exp(generator.uniform(18, 25, count))
    loss = LAW["E"] + LAW["A"] * sizes ** -LAW["alpha"] + LAW["B"] * tokens ** -LAW["beta"]
    scatter = np.exp(noise * generator.normal(size=count))
    return make_points({"N": sizes, "D": tokens, "loss": loss * scatter, **more})


@pytest.fixture(scope="module")
def published():
    """A fit with every parameter held at the published value."""
    return fit(runs(), constraints=Constraints(fixed=LAW))


@pytest.fixture(scope="module")
def fitted():
    return fit(runs(), intervals=Intervals(resamples=400))


def loss(sizes, tokens):
    return LAW["E"] + LAW["A"] * sizes ** -LAW["alpha"] + LAW["B"] * tokens ** -LAW["beta"]


def test_predictions_are_the_formula(published):
    assert published.predict({"N": [1e9, 7e10], "D": 1e11}) == pytest.approx(loss(np.array([1e9, 7e10]), 1e11))


@pytest.mark.parametrize("budget", [1e18, 1e21, 5.76e23])
def test_the_best_size_is_where_no_other_size_is_better(published, budget):
    best = published.optimal(C=budget)
    assert 6 * best.N.value * best.D.value == pytest.approx(budget)
    for factor in (0.9, 0.99, 1.01, 1.1):
        size = best.N.value * factor
        assert loss(size, budget / 6 / size) > best.loss.value
    assert best.exponent.value == pytest.approx(0.28 / 0.62)


def test_the_least_budget_for_a_loss_is_the_inverse_of_the_best_loss_of_a_budget(published):
    there = published.optimal(C=3e22)
    back = published.optimal(loss=there.loss.value)
    assert back.C.value == pytest.approx(3e22, rel=1e-9)
    assert back.N.value == pytest.approx(there.N.value, rel=1e-9)


def test_serving_makes_the_best_model_smaller_and_the_budget_covers_it(published):
    plain, served = published.optimal(C=1e23), published.optimal(C=1e23, inference_tokens=1e12)
    assert served.N.value < plain.N.value
    spent = 6 * served.N.value * served.D.value + 2 * served.N.value * 1e12
    assert spent == pytest.approx(1e23)
    sizes = np.geomspace(1e8, 4.9e10, 20001)
    brute = loss(sizes, (1e23 - 2e12 * sizes) / (6 * sizes))
    assert served.loss.value <= brute.min()
    assert served.N.value == pytest.approx(sizes[brute.argmin()], rel=1e-3)


def test_hardly_any_serving_is_no_serving(published):
    assert published.optimal(C=1e23, inference_tokens=1.0).N.value == pytest.approx(published.optimal(C=1e23).N.value)


def test_the_least_budget_with_serving_is_the_inverse_too(published):
    there = published.optimal(C=1e23, inference_tokens=1e12)
    back = published.optimal(loss=there.loss.value, inference_tokens=1e12)
    assert back.C.value == pytest.approx(1e23, rel=1e-6)


def test_tokens_and_size_for_a_loss_reach_it(published):
    tokens, size = tokens_for(published, 2.2, 7e9), size_for(published, 2.2, 3e11)
    assert loss(7e9, tokens.value) == pytest.approx(2.2)
    assert loss(size.value, 3e11) == pytest.approx(2.2)
    with pytest.raises(InvalidInputError, match="no D reaches it at N = 1e"):
        tokens_for(published, 1.75, 1e6)


def test_other_laws_of_size_and_tokens_are_allocated_by_search():
    points = runs()
    for law in ("coupled", "kaplan", "overtraining"):
        found = fit(points, law)
        best = found.optimal(C=1e22)
        for factor in (0.9, 1.1):
            size = best.N.value * factor
            assert found.predict({"N": size, "D": 1e22 / 6 / size})[0] > best.loss.value


def test_intervals_of_allocations_hold_the_estimate_and_match_the_exponent(fitted):
    best = fitted.optimal(C=1e22)
    for estimate in (best.N, best.D, best.loss, best.tokens_per_parameter):
        assert estimate.low < estimate.value < estimate.high
    assert (best.exponent.low, best.exponent.high) == (fitted.derived["a"].low, fitted.derived["a"].high)


def test_a_curvature_gives_allocations_intervals_of_the_size_of_the_bootstraps(fitted):
    first_order = fit(runs(), intervals=Intervals(method="sandwich")).optimal(C=1e22).N
    drawn = fitted.optimal(C=1e22).N
    assert np.log(first_order.high / first_order.low) == pytest.approx(np.log(drawn.high / drawn.low), rel=0.4)


def test_a_loss_that_some_resamples_never_reach_has_no_upper_budget(fitted):
    target = fitted.parameters["E"].value + 0.3 * (fitted.parameters["E"].high - fitted.parameters["E"].value)
    least = fitted.optimal(loss=target)
    assert least.C.low is not None
    assert least.C.high is None


@pytest.mark.parametrize("method", ["auto", "sandwich"])
def test_a_run_scatters_more_than_the_law_is_uncertain(method):
    found = fit(runs(), intervals=Intervals(method=method, resamples=200))
    at = {"N": [1e8, 1e9], "D": 1e10}
    mean, run = (found.predict_interval(at, kind=kind) for kind in ("mean", "run"))
    assert (run.low < mean.low).all()
    assert (run.high > mean.high).all()
    assert mean.center == pytest.approx(found.predict(at))


def test_a_new_run_band_holds_new_runs_of_the_same_kind(fitted):
    generator = np.random.default_rng(5)
    sizes, tokens = np.exp(generator.uniform(14, 21, 400)), np.exp(generator.uniform(18, 25, 400))
    fresh = loss(sizes, tokens) * np.exp(0.005 * generator.normal(size=400))
    band = fitted.predict_interval({"N": sizes, "D": tokens}, kind="run")
    assert 0.90 < np.mean((fresh > band.low) & (fresh < band.high)) < 0.99


def test_a_wider_level_gives_a_wider_band(fitted):
    at = {"N": 1e9, "D": 1e10}
    narrow, wide = (fitted.predict_interval(at, level=level) for level in (0.5, 0.99))
    assert wide.low[0] < narrow.low[0] < narrow.high[0] < wide.high[0]
    with pytest.raises(InvalidInputError, match=r"level is 1\.5"):
        fitted.predict_interval(at, level=1.5)


def test_predictions_far_beyond_the_points_say_so(fitted):
    near = fitted.predict_interval({"N": 1e8, "D": 1e10})
    far = fitted.predict_interval({"N": 1e12, "D": 1e13})
    assert near.warnings == ()
    assert [warning.code for warning in far.warnings] == ["extrapolation"]
    assert far.reach[0] == pytest.approx(6e25 / fitted.points.C.max())
    assert [warning.code for warning in fitted.optimal(C=1e26).warnings] == ["extrapolation"]


@pytest.mark.parametrize(
    ("law", "intervals"),
    [
        ("chinchilla", Intervals(resamples=100)),
        ("chinchilla_by_group", None),
        ("coupled", Intervals(method="sandwich")),
        ("offset_c", Intervals(method="profile")),
        ("kaplan", None),
    ],
)
def test_a_reloaded_fit_says_the_same_to_the_last_digit(law, intervals):
    labels = {"group": ["a", "b"] * 40, "run": [str(k) for k in range(80)], "final": np.arange(80) > 2}
    found = fit(runs(**labels), law, intervals=intervals)
    text = found.to_json()
    back = Fit.from_json(text)
    at = {"N": [1e9, 1e11], "D": 1e12, "C": [6e21, 6e23], "group": ["b", "a"]}
    assert (back.predict(at) == found.predict(at)).all()
    if intervals is not None:
        for kind in ("mean", "run"):
            assert (back.predict_interval(at, kind=kind).high == found.predict_interval(at, kind=kind).high).all()
    assert back.to_json() == text
    assert back.parameters == found.parameters
    assert back.warnings == found.warnings
    assert back.points.final.dtype == bool


def test_a_saved_fit_is_plain_json_without_nan():
    text = fit(runs()).to_json()
    document = json.loads(text, parse_constant=pytest.fail)
    assert document["law"] == {"name": "chinchilla", "is_tied": False, "by_group": False}
    assert document["parameters"][0]["name"] == "E"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: "{", "not JSON"),
        (lambda d: "[1]", "this is another document"),
        (lambda d: json.dumps({**d, "kind": "run"}), "this is another document"),
        (lambda d: json.dumps({**d, "schema_version": 99}), "schema version 99, this evalkit reads 1"),
        (lambda d: json.dumps({k: v for k, v in d.items() if k != "local"}), "lacks or garbles"),
        (lambda d: json.dumps({**d, "law": {"name": "no_law"}}), "lacks or garbles"),
        (lambda d: json.dumps({**d, "loss": {"name": "no_loss"}}), "unknown loss"),
    ],
)
def test_a_document_that_is_no_fit_is_refused_in_one_line(change, message):
    document = json.loads(fit(runs(20)).to_json())
    with pytest.raises(InvalidInputError, match=message) as caught:
        Fit.from_json(change(document))
    assert "\n" not in str(caught.value)


def test_lowest_points_are_found_to_the_rounding_of_slopes():
    centers = np.array([-3.0, 0.0, 7.5])
    found = lowest(lambda x: np.cosh(x - centers), np.full(3, -20.0), np.full(3, 20.0))
    assert found == pytest.approx(centers, abs=1e-9)


def test_the_deeper_of_two_valleys_is_found():
    found = lowest(lambda x: (x**2 - 4) ** 2 + x, np.array([-5.0]), np.array([5.0]))
    assert found[0] == pytest.approx(-2.0302, abs=1e-3)


def test_crossings_are_found_and_missing_ones_are_nan():
    found = crossing(lambda x: np.array([8.0, -1.0]) - x**3, np.zeros(2), np.full(2, 50.0))
    assert found[0] == pytest.approx(2.0, rel=1e-12)
    assert np.isnan(found[1])
