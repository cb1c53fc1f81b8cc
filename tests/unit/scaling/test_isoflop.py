"""IsoFLOP profiles give the published exponents, the known bias of parabolas, and say where they cannot be trusted."""

import csv
import json

import numpy as np
import pytest
from scipy.interpolate import Akima1DInterpolator

from evalkit.errors import InvalidInputError, UnknownNameError
from evalkit.scaling.isoflop import fit_isoflop
from evalkit.scaling.isoflop_valleys import IsoFlopSettings
from evalkit.scaling.points import PointSettings, make_points
from evalkit.scaling.vertices import FEWEST, curve, minima

CHINCHILLA = (406.4, 410.7, 1.69, 0.34, 0.28)
BUDGETS = 10.0 ** np.arange(17, 22)


def best_size(law, compute):
    """N*(C), the textbook closed form (Hoffmann et al., 2022, equation 4)."""
    a, b, _, alpha, beta = law
    gain = (alpha * a / (beta * b)) ** (1 / (alpha + beta))
    return gain * (compute / 6) ** (beta / (alpha + beta))


def losses(law, sizes, tokens):
    a, b, e, alpha, beta = law
    return e + a * sizes**-alpha + b * tokens**-beta


def sweep(law=CHINCHILLA, factor=4.0, points=15, shift=1.0, budgets=BUDGETS):
    """Sizes log-spaced around `shift` times the best one, C = 6ND, no noise."""
    sizes = np.concatenate([np.geomspace(1 / factor, factor, points) * shift * best_size(law, c) for c in budgets])
    compute = np.repeat(budgets, points)
    tokens = compute / 6 / sizes
    return {"N": sizes, "D": tokens, "C": compute, "loss": losses(law, sizes, tokens)}


def codes(fitted):
    return [warning.code for warning in fitted.warnings]


def marin(data_dir, experiment):
    with (data_dir / "scaling" / "isoflop_marin_comma_nemotron.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["experiment"] == experiment.split("/")[0]]
    if experiment.endswith("outlier_false"):
        rows = [row for row in rows if row["outlier"] == "False"]
    columns = {name: [float(row[name]) for row in rows] for name in ("N", "D", "C", "loss")}
    return make_points(columns, PointSettings(flops="by the model"))


def golden(data_dir):
    return json.loads((data_dir / "scaling" / "golden.json").read_text())


EXPERIMENTS = [
    f"marin_202603__{name}__llama_2/{rows}" for name in ("comma", "nemotron") for rows in ("all", "outlier_false")
]


@pytest.mark.real
@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_exponents_and_vertices_are_those_of_the_reference(data_dir, experiment):
    expected = golden(data_dir)["isoflop"][experiment]["approach2_parabola"]
    fitted = fit_isoflop(marin(data_dir, experiment))
    assert fitted.size_line.exponent == pytest.approx(expected["N_exponent"], rel=1e-6)
    assert fitted.size_line.coefficient == pytest.approx(expected["N_coef"], rel=1e-6)
    assert fitted.tokens_line.exponent == pytest.approx(expected["D_exponent"], rel=1e-6)
    assert fitted.tokens_line.coefficient == pytest.approx(expected["D_coef"], rel=1e-6)
    assert fitted.size_line.n == expected["used_N"]
    used = [valley for valley in fitted.valleys if valley.is_used]
    for valley, vertex in zip(used, expected["optima"], strict=True):
        assert valley.compute == vertex["C"]
        assert valley.by_size.place == pytest.approx(vertex["N_opt"], rel=1e-6)
        assert valley.by_size.loss == pytest.approx(vertex["loss"], rel=1e-6)


@pytest.mark.real
@pytest.mark.parametrize("law", ["symmetric", "chinchilla", "asymmetric"])
def test_a_wide_parabola_places_the_minimum_too_high_by_the_known_share(data_dir, law):
    expected = golden(data_dir)["approach2_parabola_bias_noise_free"][law]
    for factor, error in expected["err"].items():
        fitted = fit_isoflop(make_points(sweep(expected["params"], float(factor))), IsoFlopSettings(resamples=0))
        for valley in fitted.valleys:
            assert valley.by_size.place / best_size(expected["params"], valley.compute) - 1 == pytest.approx(
                error, abs=1e-5
            )
        a, b = expected["params"][3:]
        assert fitted.size_line.exponent == pytest.approx(b / (a + b), abs=1e-9)


@pytest.mark.parametrize("method", ["cubic", "akima"])
def test_cubic_and_spline_are_nearer_to_the_truth_than_a_parabola(method):
    points = make_points(sweep(factor=16.0))
    errors = {
        name: abs(fit_isoflop(points, IsoFlopSettings(method=name, resamples=0)).valleys[0].by_size.place
                  / best_size(CHINCHILLA, BUDGETS[0]) - 1)
        for name in ("parabola", method)
    }  # fmt: skip
    assert errors[method] < errors["parabola"] / 3


def test_size_and_tokens_of_a_narrow_sweep_are_those_of_the_law():
    fitted = fit_isoflop(make_points(sweep(factor=1.5)), IsoFlopSettings(resamples=0))
    size, low, high = fitted.size_line.predict(5.76e23)
    tokens, _, _ = fitted.tokens_line.predict(5.76e23)
    assert (low, high) == (None, None)
    assert size == pytest.approx(best_size(CHINCHILLA, 5.76e23), rel=2e-3)
    assert size * tokens == pytest.approx(5.76e23 / 6, rel=2e-3)


@pytest.mark.parametrize("method", ["parabola", "cubic", "akima"])
@pytest.mark.parametrize("n", [5, 6, 9])
def test_minima_are_those_of_scipys_and_numpys_curves(method, n):
    generator = np.random.default_rng(n)
    x = np.sort(generator.normal(size=n))
    y = x**2 + 0.3 * generator.normal(size=(20, n))
    found = minima(x, y, method)
    at = np.linspace(x[0], x[-1], 2001)
    for row in range(len(y)):
        if method == "akima":
            reference = Akima1DInterpolator(x, y[row])
        else:
            reference = np.poly1d(np.polyfit(x, y[row], {"parabola": 2, "cubic": 3}[method]))
        assert curve(x, y[row], at, method) == pytest.approx(reference(at), abs=1e-9)
        if found.is_inside[row]:
            assert found.y[row] == pytest.approx(float(reference(found.x[row])), abs=1e-12)
            nearby = np.clip(found.x[row] + np.linspace(-1e-3, 1e-3, 21), x[0], x[-1])
            assert (reference(nearby) >= found.y[row] - 1e-12).all()
        if method == "akima":  # the lowest of several minima
            assert found.y[row] <= reference(at).min() + 1e-12


def noisy(generator, sd=0.002, points=9, factor=2.5):
    table = sweep(factor=factor, points=points)
    return {**table, "loss": table["loss"] * np.exp(sd * generator.normal(size=len(table["loss"])))}


@pytest.mark.parametrize("method", ["parabola", "cubic", "akima"])
def test_intervals_hold_the_true_exponent_about_as_often_as_they_promise(method):
    truth = CHINCHILLA[4] / (CHINCHILLA[3] + CHINCHILLA[4])
    generator, held = np.random.default_rng(3), 0
    for seed in range(100):
        settings = IsoFlopSettings(method=method, resamples=200, seed=seed)
        line = fit_isoflop(make_points(noisy(generator, sd=0.001, factor=3.0)), settings).size_line
        held += line.exponent_low <= truth <= line.exponent_high
    # Two standard errors of a share of 95% in 100 trials are 4.4 points; intervals of few points are meant to be wide.
    assert held >= 90


def test_variance_weighting_follows_the_budgets_that_are_known_well():
    truth = CHINCHILLA[4] / (CHINCHILLA[3] + CHINCHILLA[4])
    squares = np.zeros(2)
    for seed in range(10):
        generator = np.random.default_rng(seed)
        table = noisy(generator, sd=0.0005)
        last = table["C"] == BUDGETS[-1]
        table["loss"][last] *= np.exp(0.005 * generator.normal(size=last.sum()))
        for column, weighting in enumerate(("equal", "variance")):
            line = fit_isoflop(make_points(table), IsoFlopSettings(weighting=weighting)).size_line
            squares[column] += (line.exponent - truth) ** 2
    assert squares[1] < squares[0] / 4


def test_same_seed_gives_the_same_digits_and_rows_in_another_order_the_same_fit():
    table = noisy(np.random.default_rng(1))
    first, again = (fit_isoflop(make_points(table)) for _ in range(2))
    assert (first.size_line.exponent_low, first.size_line.exponent_high) == (
        again.size_line.exponent_low,
        again.size_line.exponent_high,
    )
    order = np.random.default_rng(2).permutation(len(table["loss"]))
    shuffled = fit_isoflop(make_points({name: values[order] for name, values in table.items()}))
    assert shuffled.size_line.exponent == pytest.approx(first.size_line.exponent, rel=1e-12)


def test_budgets_that_differ_by_rounding_are_one():
    table = sweep()
    table["C"] = table["C"] * np.tile(np.linspace(0.99, 1.02, 15), 5)
    assert len(fit_isoflop(make_points(table), IsoFlopSettings(resamples=0)).valleys) == 5


def test_two_seeds_at_one_size_count_twice_in_a_parabola_and_as_their_mean_in_a_spline():
    table = sweep(points=7)
    double = {name: np.concatenate((values, values[:3])) for name, values in table.items()}
    double["loss"][-3:] += 0.01
    fitted = {
        method: fit_isoflop(make_points(double), IsoFlopSettings(method=method, resamples=0)).valleys[0]
        for method in ("parabola", "akima")
    }
    sizes, values = double["N"][double["C"] == BUDGETS[0]], double["loss"][double["C"] == BUDGETS[0]]
    slope = np.polyfit(np.log(sizes), values, 2)
    assert fitted["parabola"].by_size.place == pytest.approx(np.exp(-slope[1] / 2 / slope[0]), rel=1e-6)
    assert fitted["akima"].by_size.line_y[0] == pytest.approx(values[np.isclose(sizes, sizes[0])].mean(), rel=1e-12)


def only_falling():
    table = sweep(shift=1.0)
    first = table["C"] == BUDGETS[0]
    table["loss"][first] = 5 - 0.1 * np.log(table["N"][first] / 1e6) - 0.001 * np.log(table["N"][first]) ** 2
    return table


def few_in_a_budget():
    table = sweep()
    keep = np.ones(len(table["loss"]), dtype=bool)
    keep[2:12] = keep[13:15] = False
    return {name: values[keep] for name, values in table.items()}


def scattered():
    table = sweep(factor=2.5)
    shift = np.repeat([1.0, 1.7, 0.6, 1.6, 1.0], 15)
    table["loss"] = losses(CHINCHILLA, table["N"] / shift, table["D"] * shift)
    generator = np.random.default_rng(0)
    return {**table, "loss": table["loss"] * np.exp(1e-4 * generator.normal(size=75))}


def off_centre():
    parts = [sweep(factor=3.5, shift=shift, budgets=BUDGETS[[index]]) for index, shift in enumerate((1, 1, 0.4, 1, 1))]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


@pytest.mark.parametrize(
    ("table", "code", "text"),
    [
        (only_falling, "non-convex", "budget 1e+17: loss only falls or only rises over its 15 sizes"),
        (few_in_a_budget, "few-per-budget", "budget 1e+17 has 3 runs"),
        (lambda: sweep(budgets=BUDGETS[:2]), "few-budgets", "2 budgets carry the exponent"),
        (lambda: sweep(factor=8.0), "parabola-bias", "the widest sweep goes to 8.0 times below and above its middle"),
        (off_centre, "parabola-bias", "are centred alike"),
        (scattered, "uncertain-choice", "no single exponent describes them"),
    ],
    ids=["non-convex", "few-per-budget", "few-budgets", "wide", "off-centre", "scatter"],
)
def test_what_makes_an_exponent_doubtful_is_said(table, code, text):
    fitted = fit_isoflop(make_points(table()), IsoFlopSettings(resamples=100))
    assert any(warning.code == code and text in warning.text for warning in fitted.warnings), fitted.warnings


def test_a_minimum_outside_of_its_sweep_is_named_and_left_out():
    table = sweep(factor=2.0)
    first = table["C"] == BUDGETS[0]
    moved = sweep(factor=2.0, shift=3.0)
    table = {name: np.where(first, moved[name], table[name]) for name in table}
    fitted = fit_isoflop(make_points(table), IsoFlopSettings(resamples=50))
    assert "vertex-outside" in codes(fitted)
    assert fitted.size_line.n == 4
    assert not fitted.valleys[0].is_used


def test_sweeps_that_all_miss_their_minimum_give_no_exponent():
    with pytest.raises(InvalidInputError, match="0 of 5 budgets have their lowest loss inside of the sweep"):
        fit_isoflop(make_points(sweep(shift=9.0)))


def test_a_clean_narrow_sweep_has_nothing_to_warn_of():
    assert codes(fit_isoflop(make_points(noisy(np.random.default_rng(0), sd=0.001)))) == []


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"method": "quartic"}, UnknownNameError, "unknown IsoFLOP method 'quartic'"),
        ({"weighting": "sd"}, UnknownNameError, "unknown weighting 'sd'"),
        ({"resamples": 5}, InvalidInputError, "resamples is 5; expected at least 20, or 0"),
        ({"level": 95}, InvalidInputError, "level is 95; expected a share between 0 and 1"),
        ({"budget_tolerance": -0.1}, InvalidInputError, "budget_tolerance is -0.1"),
    ],
)
def test_settings_that_mean_nothing_are_refused(change, error, message):
    with pytest.raises(error) as caught:
        IsoFlopSettings(**change)
    assert message in str(caught.value)


def test_runs_without_fixed_budgets_are_refused():
    sizes = np.geomspace(1e6, 1e8, 60)
    table = {"N": sizes, "D": 20 * sizes, "loss": losses(CHINCHILLA, sizes, 20 * sizes)}
    with pytest.raises(InvalidInputError, match="expected sweeps over N at a few fixed budgets"):
        fit_isoflop(make_points(table), IsoFlopSettings(budget_tolerance=0.2))


def test_weights_need_variances():
    table = sweep(budgets=BUDGETS[:3], points=3)
    with pytest.raises(InvalidInputError, match="the variance of some budget's minimum is not known"):
        fit_isoflop(make_points(table), IsoFlopSettings(weighting="variance", resamples=50))


@pytest.mark.parametrize("method", FEWEST)
def test_profiles_of_the_fewest_runs_are_read(method):
    table = sweep(points=FEWEST[method], factor=2.0)
    fitted = fit_isoflop(make_points(table), IsoFlopSettings(method=method, resamples=50))
    assert fitted.size_line.n == 5
