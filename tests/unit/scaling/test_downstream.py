"""From loss to accuracy: the published second steps, closed forms, bounds, weights, and draws of both steps together."""

import csv
import json

import numpy as np
import pytest
from scipy.optimize import least_squares

from evalkit.errors import InvalidInputError, UnknownNameError
from evalkit.scaling.downstream import LinkSettings, fit_link
from evalkit.scaling.link_solver import FORMS
from evalkit.scaling.one_step import fit_one_step

LOSSES = np.linspace(0.6, 1.9, 40)


def sigmoid(x, ceiling, floor, k, middle):
    return ceiling + (floor - ceiling) / (1 + np.exp(-k * (x - middle)))


def golden(data_dir):
    return json.loads((data_dir / "scaling" / "golden.json").read_text())


def checkpoints(data_dir, task, role="train"):
    with (data_dir / "scaling" / "olmo_ladder_step2.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["task"] == task and row["role"] == role]
    return rows, *(np.array([float(row[name]) for row in rows]) for name in ("task_bpb", "accuracy"))


@pytest.mark.real
@pytest.mark.parametrize("task", ["mmlu_avg_test_5shot", "hellaswag_val_5shot"])
def test_the_sigmoid_is_that_of_the_olmo_ladder(data_dir, task):
    expected = golden(data_dir)["olmo_ladder"][task]
    _, losses, accuracies = checkpoints(data_dir, task)
    link = fit_link(losses, accuracies, LinkSettings(resamples=0))
    values = {name: parameter.value for name, parameter in link.parameters.items()}
    step = expected["step2"]
    assert values["ceiling"] == pytest.approx(step["b"], abs=2e-6)
    assert values["floor"] == pytest.approx(step["b"] + step["a"], abs=2e-6)
    assert values["k"] == pytest.approx(step["k"], rel=2e-5)
    assert values["L0"] == pytest.approx(step["x0"], rel=2e-5)
    actual = expected["step1"]["actual_13B"]
    assert link.predict([actual])[0] == pytest.approx(step["pred_13B_from_actual_bpb"], abs=2e-5)
    chained = expected["step1"]["pred_13B"]
    assert link.predict([chained])[0] == pytest.approx(expected["chained_pred_13B"], abs=2e-5)


@pytest.mark.real
@pytest.mark.parametrize(("corpus", "errors"), [("rpj", "err_avg17"), ("rpj", "err_avg46")])
def test_the_exponential_is_that_of_gadre_et_al(data_dir, corpus, errors):
    expected = golden(data_dir)["gadre_overtraining"][corpus][f"downstream_{errors}"]
    with (data_dir / "scaling" / "gadre_overtraining_c4_rpj.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["train_set"] == corpus]
    # Their grid: 20 tokens a parameter up to 1.4B, and the smallest model at 320.
    used = [
        row
        for row in rows
        if (row["token_multiplier"] == "20" and float(row["N"]) < 2e9)
        or (row["token_multiplier"] == "320" and float(row["N"]) < 2e7)
    ]
    link = fit_link(
        [float(row["loss_c4_val"]) for row in used],
        [1 - float(row[errors]) for row in used],
        LinkSettings(form="exp", resamples=0),
    )
    values = {name: parameter.value for name, parameter in link.parameters.items()}
    assert 1 - values["floor"] == pytest.approx(expected["eps"], rel=1e-4)
    assert values["ceiling"] - values["floor"] == pytest.approx(expected["k"], rel=1e-4)
    assert values["rate"] == pytest.approx(expected["gamma"], rel=1e-4)


def direct(form, x, y, weights, start, bounds):
    """The same least squares by scipy, all parameters at once, without projection."""
    value = FORMS[form].shape

    def residuals(p):
        s, _ = value(x, p[None, 2:])
        return np.sqrt(weights) * (p[0] + (p[1] - p[0]) * s[0] - y)

    return least_squares(residuals, start, bounds=bounds, xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=5000)


@pytest.mark.parametrize("seed", range(4))
def test_a_noisy_sigmoid_is_fitted_as_scipy_fits_it(seed):
    generator = np.random.default_rng(seed)
    y = np.clip(sigmoid(LOSSES, 0.93, 0.26, 6.0, 1.1) + 0.02 * generator.normal(size=40), 0, 1)
    link = fit_link(LOSSES, y, LinkSettings(anchors=(), resamples=0))
    found = direct("sigmoid", LOSSES, y, np.ones(40), [0.9, 0.3, 1.5, 1.1], ([0, 0, -5, -5], [1, 1, 8, 8]))
    objective = ((link.predict(LOSSES) - y) ** 2).sum()
    assert objective == pytest.approx(2 * found.cost, rel=1e-8)
    assert link.predict([0.5, 1.0]) == pytest.approx(
        sigmoid(np.array([0.5, 1.0]), found.x[0], found.x[1], np.exp(found.x[2]), found.x[3]), abs=1e-5
    )


@pytest.mark.parametrize("form", FORMS)
def test_a_curve_of_its_own_form_is_found_exactly(form):
    shape = np.array([[0.7, 1.0]]) if FORMS[form].size == 2 else np.array([[0.2]])
    s, _ = FORMS[form].shape(LOSSES, shape)
    ceiling, floor = {"sigmoid": (0.95, 0.25), "log-sigmoid": (1.0, 0.8), "exp": (1.9, 0.1)}[form]
    y = ceiling + (floor - ceiling) * s[0]
    link = fit_link(LOSSES, y, LinkSettings(form=form, anchors=(), resamples=0))
    assert link.rmse < 1e-7
    assert link.predict([2.2, 0.5]) == pytest.approx(
        (ceiling + (floor - ceiling) * FORMS[form].shape(np.array([2.2, 0.5]), shape)[0])[0], abs=1e-5
    )


def test_ceiling_and_floor_stay_within_the_tasks_bounds():
    y = sigmoid(LOSSES, 1.3, -0.2, 3.0, 1.1)
    inside = (y > 0) & (y < 1)
    free = fit_link(LOSSES[inside], y[inside], LinkSettings(floor=0.25, ceiling=0.9, anchors=(), resamples=0))
    assert free.parameters["ceiling"].value == 0.9
    assert free.parameters["floor"].value == 0.25


def test_an_anchor_pulls_the_curve_to_full_marks_at_loss_0():
    y = sigmoid(LOSSES[20:], 0.6, 0.25, 6.0, 1.2)
    anchored = fit_link(LOSSES[20:], y, LinkSettings(resamples=0)).predict([1e-6])[0]
    free = fit_link(LOSSES[20:], y, LinkSettings(anchors=(), resamples=0)).predict([1e-6])[0]
    assert free == pytest.approx(0.6, abs=1e-3)
    assert anchored > 0.9


def test_points_weigh_by_the_binomial_variance_of_their_items():
    generator = np.random.default_rng(0)
    items = np.where(np.arange(40) % 2, 5000, 50)
    y = generator.binomial(items, sigmoid(LOSSES, 0.9, 0.25, 5.0, 1.1)) / items
    link = fit_link(LOSSES, y, LinkSettings(anchors=(), resamples=0), items=items)
    smoothed = (y * items + 1) / (items + 2)
    weights = items / (smoothed * (1 - smoothed))
    found = direct("sigmoid", LOSSES, y, weights, [0.9, 0.3, 1.5, 1.1], ([0, 0, -5, -5], [1, 1, 8, 8]))
    assert link.predict(LOSSES) == pytest.approx(
        sigmoid(LOSSES, found.x[0], found.x[1], np.exp(found.x[2]), found.x[3]), abs=1e-5
    )


def test_draws_are_fits_of_the_resampled_clusters():
    generator = np.random.default_rng(1)
    clusters = np.repeat(np.arange(8), 5)
    y = np.clip(sigmoid(LOSSES, 0.93, 0.26, 6.0, 1.1) + 0.02 * generator.normal(size=40), 0, 1)
    link = fit_link(LOSSES, y, LinkSettings(anchors=(), resamples=30, seed=4), clusters=clusters)
    counts = np.random.default_rng(4).multinomial(8, np.full(8, 1 / 8), size=30)
    for row in (0, 17):
        weights = counts[row][clusters].astype(float)
        found = direct("sigmoid", LOSSES, y, weights, [0.9, 0.3, 1.5, 1.1], ([0, 0, -5, -5], [1, 1, 8, 8]))
        assert link.curves.objective[row + 1] <= 2 * found.cost * (1 + 1e-6)


def test_both_steps_uncertainty_is_in_the_interval():
    generator = np.random.default_rng(2)
    y = np.clip(sigmoid(LOSSES, 0.93, 0.26, 6.0, 1.1) + 0.02 * generator.normal(size=40), 0, 1)
    link = fit_link(LOSSES, y, LinkSettings(resamples=200))
    known = link.interval(np.array([[1.0]]))
    unsure = link.interval(1.0 + 0.05 * generator.normal(size=(300, 1)))
    assert known[0][0] < link.predict([1.0])[0] < known[1][0]
    assert unsure[1][0] - unsure[0][0] > 2 * (known[1][0] - known[0][0])
    assert link.draws(np.full((50, 3), 1.0)).shape == (50, 3)


def test_without_draws_there_is_no_interval():
    link = fit_link(LOSSES, sigmoid(LOSSES, 0.9, 0.25, 5.0, 1.1), LinkSettings(resamples=0))
    assert link.interval(np.array([[1.0]])) is None
    assert link.parameters["k"].low is None


def test_same_seed_gives_the_same_digits():
    y = np.clip(sigmoid(LOSSES, 0.9, 0.25, 5.0, 1.1) + 0.01 * np.sin(50 * LOSSES), 0, 1)
    first, again = (fit_link(LOSSES, y, LinkSettings(resamples=50)) for _ in range(2))
    assert np.array_equal(first.curves.shape, again.curves.shape)


def codes(found):
    return [warning.code for warning in found]


def test_what_a_second_step_cannot_know_is_said():
    y = sigmoid(LOSSES, 0.9, 0.25, 5.0, 1.1)
    settings = LinkSettings(resamples=0)
    link = fit_link(LOSSES, y, settings)
    assert codes(link.warnings) == []
    assert codes(link.warn_at(np.array([1.0]))) == []
    assert codes(link.warn_at(np.array([0.5]))) == ["extrapolation"]
    assert codes(fit_link(LOSSES[::8], y[::8], settings).warnings) == ["few-points"]
    assert codes(fit_link(LOSSES, y, settings, clusters=np.repeat(["a", "b"], 20)).warnings) == ["few-points"]
    assert "non-monotone" in codes(fit_link(LOSSES, 1 - y, settings).warnings)
    step = (LOSSES < 1.0).astype(float)
    assert "at-bound" in codes(fit_link(LOSSES, step, settings).warnings)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: LinkSettings(form="probit"), UnknownNameError, "unknown form of the second step 'probit'"),
        (lambda: LinkSettings(floor=0.9, ceiling=0.5), InvalidInputError, "floor is 0.9 and ceiling 0.5"),
        (lambda: LinkSettings(resamples=3), InvalidInputError, "resamples is 3; expected at least 20, or 0"),
        (lambda: LinkSettings(level=1.0), InvalidInputError, "level is 1.0"),
        (lambda: fit_link([1, 2, 3], [0.1, 0.2]), InvalidInputError, "column 'accuracy' has 2 rows and 'loss' 3"),
        (lambda: fit_link([1.0, 2.0], [50, 20]), InvalidInputError, "column 'accuracy', rows 1, 2: found 50.0"),
        (lambda: fit_link([1.0, -2.0], [0.5, 0.2]), InvalidInputError, "column 'loss', row 2: found -2.0"),
        (lambda: fit_link([1.0, None], [0.5, 0.2]), InvalidInputError, "column 'loss', row 2: found nan"),
        (lambda: fit_link([1.0, "a"], [0.5, 0.2]), InvalidInputError, "column 'loss', row 2: found 'a' (text)"),
        (lambda: fit_link([1.0, 2.0], [0.5, 0.2]), InvalidInputError, "2 different losses for a sigmoid; expected at least 4"),
        (
            lambda: fit_link(LOSSES, np.full(40, 0.5), items=np.zeros(40)),
            InvalidInputError,
            "column 'items', rows 1, 2, 3, 4, 5 and 35 more: found 0.0",
        ),
        (lambda: fit_link(LOSSES, np.full(40, 0.5), clusters=["a"]), InvalidInputError, "column 'cluster' has 1 rows"),
    ],
)  # fmt: skip
def test_columns_and_settings_that_cannot_be_used_are_refused(call, error, message):
    with pytest.raises(error) as caught:
        call()
    assert message in str(caught.value)


def runs():
    sizes, tokens = np.meshgrid(np.geomspace(1e7, 1e9, 5), np.geomspace(1e9, 1e11, 5))
    sizes, tokens = sizes.ravel(), tokens.ravel()
    inner = 200 * sizes**-0.3 + 300 * tokens**-0.28 - 1.2
    return sizes, tokens, 0.9 + (0.25 - 0.9) / (1 + np.exp(-inner))


def test_one_step_finds_the_law_that_made_the_accuracies():
    sizes, tokens, accuracies = runs()
    found = fit_one_step(sizes, tokens, accuracies)
    assert found.rmse < 1e-6
    assert found.agreed > 1
    at = (np.array([7e9, 3e8]), np.array([2e12, 5e10]))
    inner = 200 * at[0] ** -0.3 + 300 * at[1] ** -0.28 - 1.2
    assert found.predict(*at) == pytest.approx(0.9 + (0.25 - 0.9) / (1 + np.exp(-inner)), abs=1e-4)


def test_one_step_has_intervals_on_request():
    sizes, tokens, accuracies = runs()
    noisy = accuracies + 0.003 * np.random.default_rng(0).normal(size=25)
    found = fit_one_step(sizes, tokens, noisy, LinkSettings(resamples=20))
    low, high = found.interval(sizes[:1], tokens[:1])
    assert low[0] < found.predict(sizes[:1], tokens[:1])[0] < high[0]
    assert fit_one_step(sizes, tokens, noisy).interval(sizes, tokens) is None


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (([1e6] * 8, [1e8] * 8, [0.5] * 8), "column 'N' has one value in all rows"),
        (([1e6, 2e6], [1e8, 2e8], [0.5, 0.6]), "2 runs for 7 parameters"),
        (([1e6, -2e6], [1e8, 2e8], [0.5, 0.6]), "column 'N', row 2: found -2000000.0"),
        (([1e6, 2e6], [1e8, 2e8], [0.5, 60]), "column 'accuracy', row 2: found 60.0"),
        (([1e6, 2e6], [1e8], [0.5, 0.6]), "column 'D' has 1 rows and 'N' 2"),
    ],
)
def test_runs_that_cannot_carry_one_step_are_refused(columns, message):
    with pytest.raises(InvalidInputError) as caught:
        fit_one_step(*columns)
    assert message in str(caught.value)
