"""Intervals: classical ones where they are exact, the bootstrap's own promises, and profiles that mean what they say."""

import numpy as np
import pytest
from scipy import stats

from evalkit.errors import InvalidInputError
from evalkit.scaling.bootstrap import bootstrap, cluster, leverage, pairs, residual, wild
from evalkit.scaling.constraints import Constraints
from evalkit.scaling.fitting import Intervals, fit
from evalkit.scaling.laws import LAWS
from evalkit.scaling.losses import Loss
from evalkit.scaling.model import build_model
from evalkit.scaling.points import make_points
from evalkit.scaling.profile import profiles
from evalkit.scaling.sandwich import covariances
from evalkit.scaling.solution import solve

SQUARED = Loss(name="squared_log")


def runs(count=20, seed=0, noise=0.02, **more):
    generator = np.random.default_rng(seed)
    sizes = np.geomspace(1e6, 1e9, count)
    loss = 20 * sizes**-0.1 * np.exp(noise * generator.normal(size=count))
    return make_points({"N": sizes, "loss": loss, **more})


def joint(count=60, seed=0, noise=0.005, **more):
    generator = np.random.default_rng(seed)
    sizes, tokens = np.exp(generator.uniform(14, 21, count)), np.exp(generator.uniform(18, 25, count))
    loss = (1.7 + 400 * sizes**-0.34 + 1500 * tokens**-0.35) * np.exp(noise * generator.normal(size=count))
    return make_points({"N": sizes, "D": tokens, "loss": loss, **more})


def solution_of(points, law="chinchilla", loss=SQUARED, **constraints):
    return solve(build_model(points, LAWS[law], loss, Constraints(**constraints)))


def test_a_pure_law_under_squares_has_students_interval():
    points = runs()
    line = stats.linregress(np.log(points.N), np.log(points.loss))
    half = stats.t.ppf(0.975, 18) * line.stderr
    found = fit(points, "power_n", SQUARED, intervals=Intervals(method="homoscedastic")).parameters["alpha"]
    assert (found.low, found.high) == pytest.approx((-line.slope - half, -line.slope + half), rel=1e-8)
    assert found.stderr == pytest.approx(line.stderr, rel=1e-8)


def test_the_profile_of_a_linear_law_is_students_interval_too():
    points = runs()
    line = stats.linregress(np.log(points.N), np.log(points.loss))
    half = stats.t.ppf(0.975, 18) * line.stderr
    profile = profiles(solution_of(points, "power_n"))["alpha"]
    assert (profile.low, profile.high) == pytest.approx((-line.slope - half, -line.slope + half), rel=1e-5)


def test_the_robust_error_of_a_linear_law_is_whites():
    points = runs()
    design = np.column_stack([np.ones(20), -np.log(points.N)])
    rest = np.log(points.loss) - design @ np.linalg.lstsq(design, np.log(points.loss), rcond=None)[0]
    bread = np.linalg.inv(design.T @ design)
    white = bread @ (design.T * rest**2) @ design @ bread * 20 / 18
    assert covariances(solution_of(points, "power_n")).robust == pytest.approx(white, rel=1e-6)


def test_clusters_are_summed_in_the_robust_error():
    labels = [str(k // 4) for k in range(20)]
    points = runs(cluster=labels)
    design = np.column_stack([np.ones(20), -np.log(points.N)])
    rest = np.log(points.loss) - design @ np.linalg.lstsq(design, np.log(points.loss), rcond=None)[0]
    sums = (design * rest[:, None]).reshape(5, 4, 2).sum(axis=1)
    bread = np.linalg.inv(design.T @ design)
    expected = bread @ sums.T @ sums @ bread * 20 / 18
    assert covariances(solution_of(points, "power_n")).robust == pytest.approx(expected, rel=1e-6)


def test_leverages_are_those_of_the_hat_matrix():
    points = runs()
    design = np.column_stack([np.ones(20), np.log(points.N)])
    hat = np.diag(design @ np.linalg.inv(design.T @ design) @ design.T)
    assert leverage(solution_of(points, "power_n")) == pytest.approx(hat, rel=1e-6)
    assert leverage(solution_of(joint())).sum() == pytest.approx(5)


def test_a_profile_holds_one_parameter_and_fits_the_others():
    points = joint()
    profile = profiles(solution_of(points))["beta"]
    place = len(profile.values) // 3
    held = fit(points, loss=SQUARED, constraints=Constraints(fixed={"beta": float(profile.values[place])}))
    free = fit(points, loss=SQUARED)
    scale = 2 * free.quality.objective / (len(points) - 5)
    expected = 2 * (held.quality.objective - free.quality.objective) / scale
    assert profile.statistic[place] == pytest.approx(expected, rel=1e-5)
    assert profile.statistic.min() == pytest.approx(0, abs=1e-6)


def test_ends_of_a_profile_lie_at_the_threshold():
    points = joint()
    solution = solution_of(points)
    for name, profile in profiles(solution, 0.9).items():
        for end in (profile.low, profile.high):
            held = fit(points, loss=SQUARED, constraints=Constraints(fixed={name: end}))
            excess = 2 * (held.quality.objective - solution.objective) / solution.noise
            assert excess == pytest.approx(profile.threshold, rel=2e-3)


def test_a_profile_of_an_offset_that_is_not_there_ends_at_zero():
    points = runs(noise=0.01)
    profile = profiles(solution_of(points, "offset_n", Loss()))["E"]
    assert profile.low == 0.0
    assert profile.high > 0.0


def test_absolute_deviations_have_errors_from_the_density_at_zero():
    # For normal noise the median has pi/2 times the variance of the mean (Huber, 1981, section 1.2).
    points = runs(4000, noise=0.05)
    absolute, squared = (covariances(solution_of(points, "power_n", loss)) for loss in (Loss(name="lad"), SQUARED))
    assert absolute.homoscedastic[1, 1] / squared.homoscedastic[1, 1] == pytest.approx(np.pi / 2, rel=0.25)


@pytest.mark.parametrize("method", ["pairs", "wild", "residual"])
def test_a_bootstrap_of_a_linear_law_spreads_as_its_standard_error(method):
    points = runs(200)
    line = stats.linregress(np.log(points.N), np.log(points.loss))
    drawn = bootstrap(solution_of(points, "power_n"), method, 2000, 0, 0.95)
    assert drawn.failed == 0
    assert drawn.column("alpha").std() == pytest.approx(line.stderr, rel=0.15)
    assert drawn.column("alpha").mean() == pytest.approx(-line.slope, abs=0.2 * line.stderr)


def test_clusters_are_drawn_whole():
    solution = solution_of(joint(cluster=[str(k // 5) for k in range(60)]))
    weights, losses = cluster(solution, 50, np.random.default_rng(0))
    assert losses is None
    blocks = weights.reshape(50, 12, 5)
    assert (blocks == blocks[:, :, :1]).all()
    assert (blocks[:, :, 0].sum(axis=1) == 12).all()


def test_signs_are_turned_for_whole_clusters_and_few_clusters_get_six_values():
    solution = solution_of(joint(cluster=[str(k // 10) for k in range(60)]))
    _, losses = wild(solution, 400, np.random.default_rng(0))
    predicted = np.exp(solution.model.log_predictions(solution.coordinates[None])[0])
    ratio = np.log(losses / predicted) / (solution.residuals / np.sqrt(1 - leverage(solution)))
    assert ratio[:, :10] == pytest.approx(np.repeat(ratio[:, :1], 10, axis=1), rel=1e-6)
    assert np.unique(np.round(ratio, 6)) == pytest.approx(
        np.sqrt([0.5, 1, 1.5])[[2, 1, 0, 0, 1, 2]] * [-1, -1, -1, 1, 1, 1], rel=1e-5
    )


def test_pairs_are_counts_of_rows_times_weights():
    points = joint(weights=np.arange(1.0, 61.0))
    weights, _ = pairs(solution_of(points), 20, np.random.default_rng(0))
    counts = weights / (np.arange(1.0, 61.0) / np.arange(1.0, 61.0).mean())
    assert counts == pytest.approx(np.round(counts), abs=1e-9)
    assert counts.sum(axis=1) == pytest.approx(60)


def test_dealt_residuals_are_centred_and_widened_for_the_fitted_parameters():
    solution = solution_of(joint())
    _, losses = residual(solution, 3000, np.random.default_rng(0))
    logs = np.log(losses) - solution.model.log_predictions(solution.coordinates[None])
    assert logs.mean() == pytest.approx(0, abs=1e-4)
    assert logs.var() == pytest.approx(solution.noise, rel=0.02)


def test_the_same_seed_gives_the_same_draws_and_another_does_not():
    solution = solution_of(joint(), loss=Loss())
    first, again, other = (bootstrap(solution, "pairs", 150, seed, 0.95).values for seed in (0, 0, 1))
    assert (first == again).all()
    assert not (first == other).any()


def test_more_resamples_of_a_seed_begin_with_fewer():
    solution = solution_of(joint(), loss=Loss())
    few, many = (bootstrap(solution, "pairs", count, 0, 0.95).values for count in (100, 1200))
    assert many[:100] == pytest.approx(few, rel=1e-5)


def test_clusters_decide_the_method_that_is_left_open():
    apart, whole = joint(), joint(cluster=[str(k // 5) for k in range(60)])
    assert fit(apart, intervals=Intervals(resamples=100)).method == "pairs"
    assert fit(whole, intervals=Intervals(resamples=100)).method == "cluster"
    with pytest.raises(InvalidInputError, match="found 1 clusters"):
        fit(joint(cluster=["a"] * 60), intervals=Intervals(method="cluster", resamples=100))


@pytest.mark.parametrize("method", ["pairs", "wild", "residual", "profile", "sandwich", "homoscedastic"])
def test_every_method_gives_intervals_that_hold_the_estimate(method):
    found = fit(joint(), intervals=Intervals(method=method, resamples=200))
    for parameter in (*found.parameters.values(), *found.derived.values()):
        assert parameter.low < parameter.value < parameter.high
    assert found.method == method


def test_amplitudes_are_uncertain_by_factors():
    found = fit(joint(), intervals=Intervals(method="sandwich"))
    amplitude = found.parameters["B"]
    assert amplitude.on_log_scale
    assert amplitude.low * amplitude.high == pytest.approx(amplitude.value**2)
    offset = found.parameters["E"]
    assert not offset.on_log_scale
    assert offset.low + offset.high == pytest.approx(2 * offset.value)


def test_a_held_parameter_has_no_interval():
    found = fit(joint(), constraints=Constraints(fixed={"alpha": 0.34}), intervals=Intervals(method="sandwich"))
    assert found.parameters["alpha"].is_fixed
    assert found.parameters["alpha"].low is None


def test_without_intervals_none_are_made_up():
    found = fit(joint())
    assert found.method == "none"
    assert all(parameter.low is None and parameter.stderr is None for parameter in found.parameters.values())
    assert set(found.standard_errors) == {"homoscedastic", "robust"}
