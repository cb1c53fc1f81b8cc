"""Fits that cannot be made are refused, and fits that can be doubted are warned of, each by its own code."""

from dataclasses import replace

import numpy as np
import pytest

from evalkit.errors import InvalidInputError, UnknownNameError
from evalkit.scaling.bootstrap import bootstrap
from evalkit.scaling.constraints import Constraints
from evalkit.scaling.fit_checks import solution_warnings
from evalkit.scaling.fitting import Intervals, fit
from evalkit.scaling.laws import LAWS
from evalkit.scaling.losses import Loss
from evalkit.scaling.model import build_model
from evalkit.scaling.points import make_points
from evalkit.scaling.sandwich import covariances
from evalkit.scaling.solution import solve
from evalkit.scaling.warnings import CODES, ScalingWarning

GENERATOR = np.random.default_rng(0)
SIZES, TOKENS = np.geomspace(1e6, 1e9, 6), np.geomspace(1e8, 1e11, 6)


def law(sizes, tokens):
    return 1.7 + 400 * sizes**-0.34 + 1500 * tokens**-0.35


def grid(sizes=SIZES, tokens=TOKENS, noise=0.003, formula=law, **more):
    """Every size on every number of tokens, with even noise."""
    n, d = (each.ravel() for each in np.meshgrid(sizes, tokens))
    scatter = np.exp(noise * np.random.default_rng(1).normal(size=len(n)))
    columns = {"N": n, "D": d, "loss": formula(n, d) * scatter}
    return {**columns, **{name: value(n) if callable(value) else value for name, value in more.items()}}


def warned(columns, chosen="chinchilla", **settings) -> set[str]:
    return {warning.code for warning in fit(make_points(columns), chosen, **settings).warnings}


def few(rows=8):
    columns = grid()
    places = np.random.default_rng(3).permutation(36)[:rows]
    return {name: values[places] for name, values in columns.items()}


def spoiled(row=0, factor=1.5, **more):
    columns = grid(**more)
    columns["loss"] = columns["loss"].copy()
    columns["loss"][row] *= factor
    return columns


def uneven():
    columns = grid(noise=0.0)
    noise = np.where(columns["D"] < 2e8, 0.1, 1e-3) * np.random.default_rng(0).normal(size=36)
    return {**columns, "loss": columns["loss"] * np.exp(noise)}


SQUARES = {"loss": "squared_log"}
CASES = [
    ("few points", few(), {}, "few-points"),
    ("two sizes", grid(sizes=SIZES[[0, 5]]), {}, "few-levels"),
    ("two lengths", grid(tokens=TOKENS[[0, 5]]), {}, "few-levels"),
    ("short sizes", grid(sizes=np.geomspace(1e8, 9e8, 6)), {}, "short-range"),
    ("short lengths", grid(tokens=np.geomspace(1e10, 9e10, 6)), {}, "short-range"),
    (
        "one D/N",
        {"N": SIZES, "D": 20 * SIZES * np.array([1, 1.1, 0.9, 1, 1.1, 0.9]), "loss": law(SIZES, 20 * SIZES)},
        {},
        "collinear",
    ),
    ("a loss that rises once", spoiled(14), {}, "non-monotone"),
    ("loss rises with size", grid(formula=lambda n, d: 2 + 0.01 * np.log(n) + 1500 * d**-0.35), {}, "rising-loss"),
    ("loss does not move with size", grid(formula=lambda n, d: 2 + 1500 * d**-0.35), {}, "rising-loss"),
    ("no floor", grid(formula=lambda n, d: 30 * n**-0.3 + 30 * d**-0.3 - 0.02), {}, "at-bound"),
    ("bound reached", grid(), {"constraints": Constraints(bounds={"alpha": (0.5, 1.0)})}, "at-bound"),
    ("a point with leverage", spoiled(0, 2.5), SQUARES, "leverage"),
    ("uneven noise", uneven(), SQUARES, "intervals-disagree"),
    ("one learning rate", grid(lr=lambda n: np.full(len(n), 3e-4)), {}, "constant-lr"),
    ("one warm-up", grid(warmup=lambda n: np.full(len(n), 1e7)), {}, "constant-warmup"),
    ("checkpoints", grid(final=lambda n: np.arange(len(n)) > 3), {}, "mid-schedule"),
    ("a step in depth", grid(layers=lambda n: np.where(n > 1e8, 3, 2)), {}, "depth-change"),
    ("one seed", grid(seed=lambda n: ["0"] * len(n)), {}, "single-seed"),
    ("whole numbers", {**grid(), "N": grid()["N"].astype(int)}, {}, "integer-cast"),
    ("equal rows", {name: np.repeat(values, 2) for name, values in grid().items()}, {}, "identical-rows"),
    ("an offset too high", grid(), {"constraints": Constraints(bounds={"E": (3.0, 4.0)})}, "offset-above-data"),
    ("weak exponents without intervals", grid(noise=0.1), SQUARES, "weakly-identified"),
    ("resamples without a fit", few(7), {"intervals": Intervals(resamples=100)}, "failed-resamples"),
    ("weak exponents", few(9), {"intervals": Intervals(resamples=100)}, "weakly-identified"),
    (
        "an offset that is not needed",
        grid(formula=lambda n, d: 0.05 + 30 * n**-0.3 + 30 * d**-0.3, noise=0.3),
        {"intervals": Intervals(resamples=100)},
        "offset-not-needed",
    ),
]


@pytest.mark.parametrize(("columns", "settings", "code"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_doubtful_fit_is_warned_of(columns, settings, code):
    assert code in warned(columns, **settings)


def test_a_sound_design_is_fitted_without_a_word():
    assert warned(grid(noise=0.0005), loss="squared_log", intervals=Intervals(resamples=200)) == set()


def test_a_warning_has_a_known_code_and_reads_as_a_line():
    assert str(ScalingWarning("leverage", "row 3 moves alpha")) == "leverage: row 3 moves alpha"
    with pytest.raises(UnknownNameError, match="unknown warning code 'levrage'; did you mean 'leverage'"):
        ScalingWarning("levrage", "")
    assert all(code == code.lower() and " " not in code for code in CODES)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"second_objective": 1.009}, "second-basin"),
        ({"second_objective": 1.011}, None),
        ({"agreed": 3}, "starts-disagree"),
        ({"converged": False}, "not-converged"),
        ({"condition": 2e5}, "ill-conditioned"),
    ],
)
def test_what_a_certificate_shows_is_warned_of(change, code):
    solution = solve(build_model(make_points(grid()), LAWS["chinchilla"], Loss(), Constraints()))
    if "second_objective" in change:
        change = {"second_objective": change["second_objective"] * solution.objective}
    shown = replace(solution, certificate=replace(solution.certificate, **change))
    found = {warning.code for warning in solution_warnings(shown, covariances(solution))}
    assert found == (set() if code is None else {code})


def test_parameters_that_the_points_cannot_tell_apart_have_a_large_condition_number():
    tokens = 20 * SIZES * np.array([1, 1.02, 0.98, 1, 1.02, 0.98])
    columns = {"N": SIZES, "D": tokens, "loss": law(SIZES, tokens)}
    assert {"ill-conditioned", "collinear"} <= warned(columns)


def test_a_coupling_that_is_not_needed_is_said_not_to_be():
    assert "term-not-needed" in warned(
        grid(noise=0.02), "coupled", loss="squared_log", intervals=Intervals(method="sandwich")
    )


def test_decay_constants_that_are_not_determined_are_said_not_to_be():
    columns = grid(noise=0.01)
    columns["U"] = columns["D"] / np.where(columns["D"] > 3e10, 2.0, 1.0)
    assert "weakly-identified" in warned(columns, "repeated")


REFUSED = [
    ("one size", {"N": [1e6] * 6, "D": TOKENS, "loss": law(1e6, TOKENS)}, "chinchilla", "column 'N' has one level.*'offset_d'"),
    ("one length", {"N": SIZES, "D": [1e9] * 6, "loss": law(SIZES, 1e9)}, "chinchilla", "column 'D' has one level.*'offset_n'"),
    ("one level alone", {"N": [1e6] * 6, "loss": law(1e6, TOKENS)}, "offset_n", "column 'N' has one level"),
    ("too few points", few(4), "chinchilla", "found 4 points for 5 free parameters"),
    ("no tokens", {"N": SIZES, "loss": law(SIZES, 1e9)}, "chinchilla", "the points have no column 'D'"),
    ("no repeats", grid(U=lambda n: grid()["D"]), "repeated", "no run sees a token twice"),
    ("no groups", grid(), "chinchilla_by_group", "no column 'group'"),
]  # fmt: skip


@pytest.mark.parametrize(("columns", "chosen", "message"), [case[1:] for case in REFUSED], ids=[c[0] for c in REFUSED])
def test_points_that_cannot_carry_a_law_are_refused(columns, chosen, message):
    with pytest.raises(InvalidInputError, match=message):
        fit(make_points(columns), chosen)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p: fit(p, "chincilla"), "unknown law 'chincilla'; did you mean 'chinchilla'"),
        (lambda p: fit(p, loss="hubber"), "unknown loss 'hubber'; did you mean 'huber'"),
        (lambda p: Intervals(method="boot"), "unknown method of intervals 'boot'"),
        (lambda p: fit(p, constraints=Constraints(fixed={"gamma": 1.0})), "unknown parameter of chinchilla 'gamma'"),
        (lambda p: fit(p).quantity("gamma"), "unknown quantity of chinchilla 'gamma'"),
        (lambda p: fit(p).predict_interval(p, kind="median"), "unknown kind of band 'median'"),
    ],
)
def test_unknown_names_are_refused_with_the_nearest(call, message):
    with pytest.raises(UnknownNameError, match=message):
        call(make_points(grid()))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p: fit(make_points(few(6)), intervals=Intervals()), "found 6 points .* intervals need 7 at least"),
        (lambda p: fit(p, delta=0.0), r"delta is 0\.0; expected a number above 0"),
        (lambda p: fit(p, delta=float("nan")), "delta is nan"),
        (lambda p: Intervals(level=1.0), r"level is 1\.0"),
        (lambda p: Intervals(resamples=5), "resamples is 5; expected 100 or more"),
        (lambda p: fit(p, constraints=Constraints(fixed={"A": -1.0})), r"fixed A is -1\.0"),
        (lambda p: fit(p, constraints=Constraints(bounds={"alpha": (0.5, 0.1)})), "bounds of alpha are 0.5 and 0.1"),
        (lambda p: fit(p, constraints=Constraints(priors={"alpha": (0.5, 0.0)})), "column 'prior of alpha'"),
        (lambda p: fit(p, constraints=Constraints(priors={"A": (-5.0, 1.0)})), r"prior of A has the median -5\.0"),
        (lambda p: fit(p, intervals=Intervals(method="cluster")), "found 0 clusters"),
        (lambda p: fit(p).optimal(C=0), "C is 0; expected one finite number above 0"),
        (lambda p: fit(p).optimal(C=-1e20), r"C is -1e\+20"),
        (lambda p: fit(p).optimal(C=float("inf")), "C is inf"),
        (lambda p: fit(p).optimal(C="1e21"), "C is '1e21'"),
        (lambda p: fit(p).optimal(), "expected one of C .* and loss"),
        (lambda p: fit(p).optimal(C=1e20, loss=2.0), "expected one of C .* and loss"),
        (lambda p: fit(p).optimal(loss=1.0), r"loss is 1\.0; expected one above E"),
        (lambda p: fit(p).optimal(C=1e20, unique_tokens=1e9), "fit 'repeated' for a cap"),
        (lambda p: fit(p).optimal(C=1e20, inference_tokens=-1.0), r"inference_tokens is -1\.0"),
        (lambda p: fit(p, "offset_n").optimal(C=1e20), "is no function of N and D"),
    ],
)
def test_settings_that_mean_nothing_are_refused(call, message):
    with pytest.raises(InvalidInputError, match=message):
        call(make_points(grid()))


def test_a_bootstrap_counts_resamples_without_a_fit_and_leaves_them_out():
    model = build_model(make_points(few(7)), LAWS["chinchilla"], Loss(), Constraints())
    drawn = bootstrap(solve(model), "pairs", 200, 0, 0.95)
    assert drawn.failed > 0
    assert len(drawn.values) + drawn.failed == 200
    assert np.isfinite(drawn.values).all()


def test_too_few_fits_of_resamples_fall_back_on_the_sandwich():
    found = fit(make_points(few(7)), intervals=Intervals(resamples=100))
    if found.draws is None:
        assert found.method == "sandwich"
        assert "fallback" in {warning.code for warning in found.warnings}
    assert all(np.isfinite(parameter.value) for parameter in found.parameters.values())
