"""Backtests, laws and arms compared, decisions across scales, plans, replicates and sensitivity."""

import math

import numpy as np
import pytest
from scipy import integrate

from evalkit.errors import InvalidInputError, UnknownNameError
from evalkit.scaling.arms import compare_arms
from evalkit.scaling.backtest import backtest
from evalkit.scaling.decisions import accuracy, decision_accuracy
from evalkit.scaling.fitting import Intervals, fit
from evalkit.scaling.law_comparison import compare_laws, negative_log_likelihood
from evalkit.scaling.losses import Loss
from evalkit.scaling.planning import suggest_runs
from evalkit.scaling.points import make_points
from evalkit.scaling.replicates import average_replicates, run_noise
from evalkit.scaling.sensitivity import sensitivity

SIZES, TOKENS = (each.ravel() for each in np.meshgrid(np.geomspace(1e6, 1e9, 7), np.geomspace(1e8, 1e11, 7)))


def law(sizes=SIZES, tokens=TOKENS, offset=1.7, scale=1.0):
    return offset + scale * 400 * sizes**-0.34 + 1500 * tokens**-0.35


def runs(seed=0, noise=0.004, loss=None, **more):
    clean = law() if loss is None else loss
    scatter = np.exp(noise * np.random.default_rng(seed).normal(size=len(clean)))
    return make_points({"N": SIZES, "D": TOKENS, "loss": clean * scatter, **more})


SMALL = Intervals(resamples=150)


class TestBacktest:
    """Fits of smaller runs against larger ones."""

    def test_errors_are_those_of_a_fit_to_the_runs_up_to_the_cut(self):
        points = runs()
        found = backtest(points, by="N", cuts=[1e8]).rows[0]
        inside = points.N <= 1e8 * (1 + 1e-9)
        fitted = fit(points.take(inside))
        errors = fitted.predict(points.take(~inside)) / points.loss[~inside] - 1
        assert found.n_train + found.n_test == len(points)
        assert found.mean_abs == pytest.approx(np.abs(errors).mean())
        assert found.bias == pytest.approx(errors.mean())
        assert found.max_abs == pytest.approx(np.abs(errors).max())
        assert found.reach == pytest.approx(10.0)
        assert found.covered is None

    def test_the_true_law_carries_and_its_bands_hold(self):
        found = backtest(runs(), by="C", intervals=SMALL)
        assert all(row.mean_abs < 0.02 for row in found.rows)
        assert np.mean([row.covered for row in found.rows]) > 0.8

    def test_a_wrong_law_is_found_out_and_its_bands_are_said_to_be_narrow(self):
        bent = runs(loss=law() + 0.4 * (SIZES / 1e9) ** 1.5, noise=0.001)
        found = backtest(bent, by="N", cuts=[1e8], intervals=SMALL)
        assert found.rows[0].covered < 0.8
        assert [warning.code for warning in found.warnings] == ["band-under-covers"]

    def test_a_cut_that_leaves_too_few_runs_for_a_band_has_none(self):
        small = runs().take(np.isin(np.arange(49), [0, 1, 7, 8, 9, 16, 48]))
        found = backtest(small, cuts=[float(small.C.max()) / 2], intervals=SMALL)
        assert (found.rows[0].n_train, found.rows[0].covered) == (6, None)

    def test_cuts_are_chosen_so_that_the_last_holds_back_the_largest_value_alone(self):
        found = backtest(runs(), by="D")
        assert found.rows[-1].n_test == 7
        assert len(found.rows) <= 5
        assert all(row.n_train >= 10 for row in found.rows)

    @pytest.mark.parametrize(
        ("settings", "error", "message"),
        [
            ({"by": "loss"}, UnknownNameError, "unknown predictor 'loss'"),
            ({"cuts": [1e30]}, InvalidInputError, "leaves no runs beyond it"),
            ({"cuts": [1.0]}, InvalidInputError, "leaves no runs up to it"),
            ({"cuts": [-1.0]}, InvalidInputError, r"cut is -1\.0"),
            ({"cuts": [1e15]}, InvalidInputError, "points for 5 free parameters|one level"),
        ],
    )
    def test_cuts_that_cannot_be_made_are_refused(self, settings, error, message):
        with pytest.raises(error, match=message):
            backtest(runs(), **settings)


class TestLaws:
    """Which law the points ask for."""

    @pytest.mark.parametrize(
        "loss", [Loss(name="lad"), Loss(delta=0.5), Loss(name="squared_log")], ids=lambda loss: loss.name
    )
    def test_the_likelihood_of_a_loss_is_that_of_its_normalised_density(self, loss):
        residuals = np.random.default_rng(0).standard_t(3, 40)
        costs = []
        for scale in np.geomspace(0.05, 20, 300):
            total = integrate.quad(
                lambda r, t=scale: math.exp(-float(loss.rho(np.array(r))) / t), -200, 200, points=[0], limit=400
            )[0]
            costs.append(loss.rho(residuals).sum() / scale + 40 * math.log(total))
        assert negative_log_likelihood(loss, residuals) == pytest.approx(min(costs), abs=0.01)

    def test_the_true_law_is_chosen_over_one_that_lacks_a_term(self):
        found = compare_laws(runs(), ["kaplan", "chinchilla"])
        assert [row.label for row in found.rows] == ["chinchilla", "kaplan"]
        assert found.rows[0].weight > 0.99
        assert found.rows[1].difference > 2 * found.rows[1].difference_stderr
        assert found.warnings == ()

    def test_a_parameter_that_is_not_needed_is_said_not_to_be(self):
        found = compare_laws(runs(), ["chinchilla", "coupled"])
        assert "term-not-needed" in {warning.code for warning in found.warnings}
        assert [row.parameters for row in sorted(found.rows, key=lambda row: row.label)] == [5, 6]

    def test_held_out_errors_are_those_of_fits_without_the_part(self):
        points = runs()
        found = compare_laws(points, ["chinchilla", "chinchilla_tied"], folds=len(points))
        row = next(row for row in found.rows if row.label == "chinchilla")
        errors = []
        for place in range(0, len(points), 7):
            rest = fit(points.take(np.arange(len(points)) != place))
            errors.append(
                abs(math.log(rest.predict({"N": points.N[place], "D": points.D[place]})[0] / points.loss[place]))
            )
        assert row.held_out == pytest.approx(np.mean(errors), rel=0.5)

    def test_clusters_are_held_out_whole(self):
        labels = [str(k % 3) for k in range(49)]
        with pytest.raises(InvalidInputError, match="folds is 10; expected 2 to 3"):
            compare_laws(runs(cluster=labels), ["chinchilla", "kaplan"])
        assert compare_laws(runs(cluster=labels), ["chinchilla", "kaplan"], folds=3).folds == 3

    def test_one_law_alone_is_no_comparison(self):
        with pytest.raises(InvalidInputError, match="found 1 laws"):
            compare_laws(runs(), ["chinchilla"])


class TestArms:
    """Two recipes under one law."""

    def test_equal_arms_do_not_differ(self):
        found = compare_arms(runs(), runs(), at={"N": 1e9, "D": 1e11}, C=1e21, intervals=SMALL)
        assert found.is_paired
        assert all(row.p == 1.0 for row in found.rows)
        gain = found.rows[-1]
        assert (gain.name, gain.difference) == ("compute gain", pytest.approx(1.0))

    def test_a_better_arm_is_better_by_what_it_was_given(self):
        found = compare_arms(runs(0), runs(0, loss=law(offset=1.6)), at={"N": 1e9, "D": 1e11}, C=1e21, intervals=SMALL)
        loss = next(row for row in found.rows if row.name == "loss")
        assert loss.low < -0.1 * 1.0 < loss.high or loss.difference == pytest.approx(-0.1, abs=0.01)
        assert loss.p < 0.05
        assert found.rows[-1].difference > 1.0

    def test_the_gain_of_compute_is_what_the_first_arm_needs_more(self):
        first, second = runs(0, noise=0.0), runs(0, noise=0.0, loss=law(offset=1.6))
        found = compare_arms(first, second, C=1e21, intervals=SMALL)
        reached = fit(second).optimal(C=1e21).loss.value
        assert found.rows[-1].difference == pytest.approx(fit(first).optimal(loss=reached).C.value / 1e21, rel=1e-3)

    def test_pairing_sees_what_resampling_apart_cannot(self):
        first, second = runs(0, noise=0.02), runs(0, noise=0.02, loss=law(offset=1.68))
        at = {"N": 1e9, "D": 1e11}
        paired = compare_arms(first, second, at=at, intervals=SMALL)
        apart = compare_arms(first, second.take(np.arange(48)), at=at, intervals=SMALL)
        widths = [next(r.high - r.low for r in found.rows if r.name == "loss") for found in (paired, apart)]
        assert widths[0] < 0.5 * widths[1]
        assert not apart.is_paired
        assert "fallback" in {warning.code for warning in apart.warnings}

    def test_the_order_of_rows_does_not_undo_a_pairing(self):
        order = np.random.default_rng(0).permutation(49)
        found = compare_arms(runs(), runs().take(order), intervals=SMALL)
        assert found.is_paired
        assert all(row.difference == pytest.approx(0, abs=1e-6 * max(1, abs(row.first))) for row in found.rows)

    def test_a_method_that_does_not_resample_is_refused(self):
        with pytest.raises(InvalidInputError, match="method is 'sandwich'; expected a bootstrap"):
            compare_arms(runs(), runs(), intervals=Intervals(method="sandwich"))


class TestDecisions:
    """Whether small runs choose the right arm."""

    def arms(self, slopes=(0.30, 0.33, 0.36, 0.39, 0.42)):
        sizes = np.geomspace(1e6, 1e9, 6)
        columns = {"N": [], "D": [], "loss": [], "group": []}
        for place, slope in enumerate(slopes):
            columns["N"] += sizes.tolist()
            columns["D"] += (20 * sizes).tolist()
            columns["loss"] += (1.7 + 0.01 * place + 300 * sizes**-slope).tolist()
            columns["group"] += [f"arm{place}"] * 6
        return make_points(columns)

    def test_ranking_is_the_share_of_pairs_in_the_same_order(self):
        points = self.arms()
        found = decision_accuracy(points, by="N")
        losses = points.loss.reshape(5, 6)
        for row in found.rows:
            column = int(np.argmin(np.abs(np.geomspace(1e6, 1e9, 6) - row.scale)))
            pairs = [
                (losses[a, column] < losses[b, column]) == (losses[a, -1] < losses[b, -1])
                for a in range(5)
                for b in range(a)
            ]
            assert row.ranking.value == pytest.approx(np.mean(pairs))
            assert row.ranking.pairs == 10
        assert found.target == pytest.approx(1e9)

    def test_a_law_sees_crossings_that_ranking_misses(self):
        points = self.arms()
        found = decision_accuracy(points, by="N", cuts=[3e8], law="offset_n")
        assert found.rows[0].extrapolation.value == 1.0

    def test_ties_count_half(self):
        assert accuracy(np.array([1.0, 1.0]), np.array([1.0, 2.0])).value == 0.5
        assert accuracy(np.array([2.0, 1.0]), np.array([1.0, 2.0])).value == 0.0

    def test_few_arms_are_warned_of_and_get_no_interval(self):
        found = decision_accuracy(self.arms((0.3, 0.4)), by="N")
        assert [warning.code for warning in found.warnings] == ["uncertain-choice"]
        assert found.rows[0].ranking.low is None

    @pytest.mark.parametrize(
        ("table", "settings", "message"),
        [
            ({"N": [1e6, 1e7], "loss": [4.0, 3.0]}, {"by": "N"}, "found 0 arms"),
            ({"N": [1e6, 1e7], "loss": [4.0, 3.0], "group": "a"}, {"by": "N"}, "found 1 arms"),
            ({"N": [1e6, 1e7], "loss": [4.0, 3.0], "group": ["a", "b"]}, {"by": "N"}, "the arms share 0 values of N"),
        ],
    )
    def test_tables_without_a_choice_are_refused(self, table, settings, message):
        with pytest.raises(InvalidInputError, match=message):
            decision_accuracy(make_points(table), **settings)


class TestPlans:
    """The next runs."""

    def test_planned_runs_cost_no_more_than_the_budget_and_shrink_the_interval(self):
        plan = suggest_runs(fit(runs()), 1e21, runs=3, at={"N": 1e10, "D": 1e12})
        assert len(plan.runs) == 3
        assert sum(run.C for run in plan.runs) == pytest.approx(plan.spent)
        assert plan.spent <= 1e21
        assert plan.half_width_after < plan.half_width_before

    def test_no_other_single_run_of_the_grid_would_help_more(self):
        found = fit(runs())
        within = {"N": (1e7, 1e9), "D": (1e9, 1e11)}
        plan = suggest_runs(found, 1e21, runs=1, at={"N": 1e10, "D": 1e12}, within=within)
        for size, tokens in ((1e7, 1e9), (1e9, 1e11), (1e7, 1e11), (1e9, 1e9), (1e8, 1e10)):
            edges = {"N": (size * 0.9999, size), "D": (tokens * 0.9999, tokens)}
            other = suggest_runs(found, 1e21, runs=1, at={"N": 1e10, "D": 1e12}, within=edges)
            assert plan.half_width_after <= other.half_width_after * (1 + 1e-9)

    def test_the_interval_before_is_the_fits_own(self):
        found = fit(runs(), loss="squared_log", intervals=Intervals(method="homoscedastic"))
        at = {"N": 1e10, "D": 1e12}
        band = found.predict_interval(at)
        plan = suggest_runs(found, 1e21, at=at)
        assert plan.half_width_before == pytest.approx(math.log(band.high[0] / band.low[0]) / 2, rel=1e-3)

    def test_a_plan_for_the_best_size_names_its_target(self):
        plan = suggest_runs(fit(runs()), 1e21, C=1e23)
        assert plan.target == "best N for C = 1e+23"

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({}, "expected one of at .* and C"),
            ({"C": 1e22, "at": {"N": 1e9, "D": 1e10}}, "expected one of at .* and C"),
            ({"C": 1e22, "runs": 0}, "runs is 0"),
            ({"C": 1e22, "within": {"N": (1e20, 1e21)}}, "the smallest run within the limits costs"),
        ],
    )
    def test_plans_that_cannot_be_made_are_refused(self, settings, message):
        with pytest.raises(InvalidInputError, match=message):
            suggest_runs(fit(runs()), 1e21, **settings)


def test_replicates_say_how_much_one_run_scatters():
    generator = np.random.default_rng(0)
    sizes = np.repeat([1e6, 1e7, 1e8], 40)
    loss = np.repeat([4.0, 3.0, 2.5], 40) * np.exp(0.01 * generator.normal(size=120))
    points = make_points({"N": sizes, "loss": loss, "seed": [str(k % 40) for k in range(120)]})
    noise = run_noise(points)
    assert noise.sd_log == pytest.approx(0.01, rel=0.15)
    assert (noise.configurations, noise.degrees) == (3, 117)
    averages = average_replicates(points)
    assert averages.N.tolist() == [1e6, 1e7, 1e8]
    assert averages.weights.tolist() == [40.0] * 3
    assert averages.loss[0] == pytest.approx(np.exp(np.log(loss[:40]).mean()))
    assert average_replicates(points, on_log=False).loss[0] == pytest.approx(loss[:40].mean())
    assert run_noise(points.take(np.array([0, 40, 80]))) is None
    with pytest.raises(InvalidInputError, match="the points have weights"):
        average_replicates(averages)


def test_the_sensitivity_table_holds_every_loss_with_and_without_the_points_that_stand_out():
    points = runs()
    found = fit(points)
    table = found.sensitivity([0, 3])
    assert {row.loss.name for row in table} == {"huber", "lad", "squared_log", "linear_huber", "linear_squared"}
    assert table[0].values["alpha"] == pytest.approx(found.values["alpha"], rel=1e-9)
    worst = np.argsort(-np.abs(found.residuals()))[:3]
    rest = fit(points.take(~np.isin(np.arange(len(points)), worst)))
    assert table[1].values["alpha"] == pytest.approx(rest.values["alpha"], rel=1e-6)
    assert table[1].objective == pytest.approx(rest.quality.objective, rel=1e-7)


@pytest.mark.parametrize("criterion", ["residual", "influence", "loss"])
def test_an_outlier_is_dropped_first_by_every_criterion(criterion):
    points = runs()
    spoiled = points.loss.copy()
    spoiled[0] *= 1.5
    table = {"N": points.N, "D": points.D, "loss": spoiled}
    rows = sensitivity(fit(make_points(table), loss="squared_log"), [0, 1], criterion)
    clean = fit(points.take(np.arange(len(points)) > 0), loss="squared_log").values["alpha"]
    assert rows[1].values["alpha"] == pytest.approx(clean, rel=1e-6)


def test_too_many_points_to_drop_and_unknown_criteria_are_refused():
    found = fit(runs())
    with pytest.raises(InvalidInputError, match="44 points to drop of 49; expected 0 to 43"):
        found.sensitivity([44])
    with pytest.raises(UnknownNameError, match="unknown criterion 'size'"):
        found.sensitivity([1], "size")
