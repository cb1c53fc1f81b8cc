"""Laws: curves equal the formulas, their derivatives equal differences, and starts lie near the truth."""

import numpy as np
import pytest

from evalkit.errors import InvalidInputError, UnknownNameError
from evalkit.scaling.laws import FAMILIES, LAWS, law_named
from evalkit.scaling.laws.base import Inputs, inputs_at
from evalkit.scaling.laws.chinchilla import Chinchilla
from evalkit.scaling.laws.power import Offset
from evalkit.scaling.points import make_points

VALUES = {
    "power_n": {"A": 20.0, "alpha": 0.1},
    "power_d": {"A": 20.0, "alpha": 0.1},
    "power_c": {"A": 30.0, "alpha": 0.05},
    "offset_n": {"E": 1.7, "A": 400.0, "alpha": 0.3},
    "offset_d": {"E": 1.7, "A": 400.0, "alpha": 0.3},
    "offset_c": {"E": 1.7, "A": 900.0, "alpha": 0.15},
    "kaplan": {"A": 5e10, "gamma": 0.83, "D_c": 3e13, "alpha_D": 0.11},
    "kaplan_offset": {"E": 1.2, "A": 5e10, "gamma": 0.83, "D_c": 3e13, "alpha_D": 0.15},
    "chinchilla": {"E": 1.7, "A": 480.0, "alpha": 0.35, "B": 2100.0, "beta": 0.37},
    "chinchilla_tied": {"E": 1.7, "A": 480.0, "alpha": 0.35, "B": 2100.0, "beta": 0.35},
    "chinchilla_by_group": {"E[a]": 1.7, "E[b]": 2.0, "A": 480.0, "alpha": 0.35, "B": 2100.0, "beta": 0.37},
    "coupled": {"E": 1.7, "A": 2300.0, "alpha": 0.42, "B": 9900.0, "beta": 0.43, "k": 0.77},
    "overtraining": {"E": 1.8, "a": 160.0, "c": 360.0, "eta": 0.27},
    "repeated": {"E": 1.9, "A": 520.0, "alpha": 0.35, "B": 1500.0, "beta": 0.36, "R_D": 15.0, "R_N": 5.0},
}
GENERATOR = np.random.default_rng(0)
COUNT = 9
SIZES, TOKENS = np.exp(GENERATOR.uniform(14, 23, COUNT)), np.exp(GENERATOR.uniform(17, 27, COUNT))
UNIQUE = TOKENS / np.exp(GENERATOR.uniform(0, 4, COUNT))
INPUTS = Inputs(N=SIZES, D=TOKENS, C=6 * SIZES * TOKENS, U=UNIQUE, group=np.arange(COUNT) % 2)


def curve_of(name):
    """A law's curve over random places, and its coordinates at known values, shape (2, P)."""
    law = LAWS[name]
    groups = ("a", "b") if law.groups.__qualname__.startswith("Chinchilla") and law.by_group else ()
    values = VALUES[name] | law.constants()
    coordinates = [each.to_solver(values[each.name]) for each in law.coordinates(groups)]
    return law.curve(INPUTS, groups), np.array([coordinates]) * np.array([[1.0], [1.01]])


def test_every_law_has_a_name_a_family_and_values_here():
    assert set(VALUES) == set(LAWS)
    assert {law.name for law in LAWS.values()} == set(FAMILIES)


@pytest.mark.parametrize("name", LAWS)
def test_a_curve_equals_its_formula(name):
    curve, coordinates = curve_of(name)
    law, values = LAWS[name], VALUES[name]
    found = np.exp(curve.evaluate(coordinates[:1]).log_values[0])
    at = {"N": SIZES, "D": TOKENS, "C": 6 * SIZES * TOKENS, "U": UNIQUE}
    given = {key: np.array(value) for key, value in values.items()}
    if name == "chinchilla_by_group":
        given["E"] = np.where(INPUTS.group == 0, values["E[a]"], values["E[b]"])
    assert found == pytest.approx(law.evaluate(given, at), rel=1e-12)


@pytest.mark.parametrize("name", LAWS)
def test_the_gradient_of_a_curve_equals_differences(name):
    curve, coordinates = curve_of(name)
    weights = np.random.default_rng(1).normal(size=(2, COUNT))
    state = curve.evaluate(coordinates)

    def total(at):
        return (curve.evaluate(at).log_values * weights).sum(axis=1)

    step = 1e-6 * np.eye(curve.size)
    differences = np.column_stack([(total(coordinates + d) - total(coordinates - d)) / 2e-6 for d in step])
    assert curve.gradient(state, weights) == pytest.approx(differences, rel=1e-6, abs=1e-7)
    by_point = np.einsum("sn,snp->sp", weights, curve.slopes(state))
    assert by_point == pytest.approx(curve.gradient(state, weights), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", LAWS)
def test_the_hessian_of_a_curve_equals_differences_of_gradients(name):
    curve, coordinates = curve_of(name)
    outer, second = np.random.default_rng(2).normal(size=(2, 2, COUNT))
    state = curve.evaluate(coordinates)
    slopes = curve.slopes(state)
    expected = np.einsum("sn,snp,snq->spq", outer, slopes, slopes)
    assert curve.hessian(state, outer, None) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    for place, step in enumerate(1e-5 * np.eye(curve.size)):
        above, below = (curve.gradient(curve.evaluate(coordinates + side * step), second) for side in (1, -1))
        expected[:, place] += (above - below) / 2e-5
    scale = np.abs(expected).max()
    assert curve.hessian(state, outer, second) == pytest.approx(expected, abs=1e-5 * scale)


def test_a_state_keeps_rows_apart():
    curve, coordinates = curve_of("coupled")
    state = curve.evaluate(coordinates)
    assert state.take(np.array([1])).log_values == pytest.approx(curve.evaluate(coordinates[1:]).log_values)


def test_a_run_that_repeats_nothing_is_under_chinchillas_law():
    values = {key: np.array(value) for key, value in VALUES["repeated"].items()}
    few = {"N": np.array([1e6]), "D": np.array([1e10]), "U": np.array([1e10])}
    plain = LAWS["chinchilla"].evaluate(values, few)
    assert LAWS["repeated"].evaluate(values, few) == pytest.approx(plain, rel=1e-12)
    assert LAWS["repeated"].evaluate(values, {"N": few["N"], "D": few["D"]}) == pytest.approx(plain, rel=1e-12)


def test_endless_repetition_is_worth_a_limited_number_of_tokens():
    values = {key: np.array(value) for key, value in VALUES["repeated"].items()}
    at = {"N": np.array([1e6]), "D": np.array([1e18]), "U": np.array([1e10])}
    limit = {"N": at["N"], "D": np.array([1e10 * (1 + VALUES["repeated"]["R_D"])])}
    assert LAWS["repeated"].evaluate(values, at) == pytest.approx(LAWS["chinchilla"].evaluate(values, limit))


def test_the_coupled_form_with_k_of_1_is_chinchillas_law():
    values = {key: np.array(value) for key, value in VALUES["chinchilla"].items()}
    at = {"N": SIZES, "D": TOKENS}
    coupled = LAWS["coupled"].evaluate(values | {"k": np.array(1.0)}, at)
    assert coupled == pytest.approx(LAWS["chinchilla"].evaluate(values, at), rel=1e-13)


def test_kaplans_constants_follow_from_the_fitted_ones():
    scale, alpha_n, alpha_d = 8.8e13, 0.076, 0.095
    gamma = alpha_n / alpha_d
    values = {"A": np.array(scale**gamma), "gamma": np.array(gamma), "alpha_D": np.array(alpha_d)}
    derived = LAWS["kaplan"].derived(values)
    assert derived["N_c"] == pytest.approx(scale, rel=1e-9)
    assert derived["alpha_N"] == pytest.approx(alpha_n)
    # With endless data the law is (N_c / N)^alpha_N (Kaplan et al., 2020, equation 1.1).
    at = {"N": np.array([1e9]), "D": np.array([1e60])}
    assert LAWS["kaplan"].evaluate(values | {"D_c": np.array(5.4e13)}, at) == pytest.approx((scale / 1e9) ** alpha_n)


def test_unknown_laws_and_predictors_are_refused():
    with pytest.raises(UnknownNameError, match="unknown law 'chincilla'; did you mean 'chinchilla'"):
        law_named("chincilla")
    with pytest.raises(UnknownNameError, match="unknown predictor 'n'"):
        Offset(axis="n")


def test_a_law_with_an_offset_for_each_group_needs_groups():
    points = make_points({"N": SIZES, "D": TOKENS, "loss": np.ones(COUNT)})
    with pytest.raises(InvalidInputError, match="no column 'group'"):
        Chinchilla(by_group=True).groups(points)


@pytest.mark.parametrize(
    ("at", "message"),
    [
        ({"N": 1e6}, "no 'D' is given"),
        ({}, "found none of 'N', 'D'"),
        ({"N": [1e6, 1e7], "D": [1e8, 1e9, 1e10]}, "'N' has 2 values and others 3"),
        ({"N": -1.0, "D": 1e8}, r"column 'N', row 1: found -1\.0"),
        ({"N": float("nan"), "D": 1e8}, "column 'N', row 1: found nan"),
        ({"N": "1e6", "D": 1e8}, "column 'N', row 1: found '1e6'"),
    ],
)
def test_places_that_are_none_are_refused(at, message):
    with pytest.raises(InvalidInputError, match=message):
        LAWS["chinchilla"].curve(inputs_at(at, (), ("N", "D")), ())


def test_one_value_stands_for_as_many_as_the_others_have():
    inputs = inputs_at({"N": 1e6, "D": [1e8, 1e9]}, (), ("N", "D"))
    assert inputs.get("N").tolist() == [1e6, 1e6]


def test_a_group_must_be_one_of_the_fits():
    with pytest.raises(InvalidInputError, match="unknown group 'z'; expected one of 'a', 'b'"):
        inputs_at({"N": 1e6, "D": 1e8, "group": "z"}, ("a", "b"), ("N", "D"))
    with pytest.raises(InvalidInputError, match="no 'group' is given"):
        inputs_at({"N": 1e6, "D": 1e8}, ("a", "b"), ("N", "D"))
