"""Published training runs: every fit reaches the objective and the parameters of an independent, certified one."""

import csv
import json
import math
from pathlib import Path

import numpy as np
import pytest

from evalkit.scaling.backtest import backtest
from evalkit.scaling.bootstrap import bootstrap
from evalkit.scaling.constraints import Constraints
from evalkit.scaling.fitting import Intervals, fit
from evalkit.scaling.laws import LAWS
from evalkit.scaling.losses import Loss
from evalkit.scaling.model import build_model
from evalkit.scaling.points import PointSettings, make_points
from evalkit.scaling.solution import solve

pytestmark = pytest.mark.real

OBJECTIVE = 1 + 1e-7
"""An objective may be lower than the reference's, and higher by rounding alone."""
BUDGET = 5.76e23


@pytest.fixture(scope="session")
def golden(data_dir: Path) -> dict:
    return json.loads((data_dir / "scaling" / "golden.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def rows(data_dir: Path):
    def read(name: str) -> list[dict[str, str]]:
        with (data_dir / "scaling" / name).open(encoding="utf-8") as file:
            return list(csv.DictReader(file))

    return read


def points(table, loss="loss", names=("N", "D"), flops=None):
    columns = {name: [float(row[name]) for row in table] for name in names}
    return make_points(columns | {"loss": [float(row[loss]) for row in table]}, PointSettings(flops=flops))


@pytest.fixture(scope="session")
def replication(rows):
    """The runs of Hoffmann et al.'s figure 4, largest losses first as in the file."""
    return rows("chinchilla_fig4_epoch.csv")


@pytest.fixture(scope="session")
def kept(replication):
    return points([row for row in replication if row["kept_by_epoch"] == "1"], names=("N", "D", "C"))


def without_largest(replication, count: int):
    table = sorted(replication, key=lambda row: -float(row["loss"]))[count:]
    return points(table)


def assert_parameters(found, expected, offset=1e-5):
    for name in ("A", "B"):
        assert found.values[name] == pytest.approx(expected[name], rel=1e-3)
    assert found.values["E"] == pytest.approx(expected["E"], abs=offset)
    for name in ("alpha", "beta"):
        assert found.values[name] == pytest.approx(expected[name], abs=2e-5)


class TestReplication:
    """Besiroglu et al., 2024."""

    @pytest.mark.parametrize(
        ("case", "loss", "dropped"),
        [
            ("huber1e-3_240", Loss(delta=1e-3), 5),
            ("huber1e-2_240", Loss(delta=1e-2), 5),
            ("huber1e-4_240", Loss(delta=1e-4), 5),
            ("sq_log_240", Loss(name="squared_log"), 5),
            ("huber1e-3_245", Loss(delta=1e-3), 0),
            ("sq_log_245", Loss(name="squared_log"), 0),
            ("huber1e-3_drop1_largest_loss", Loss(delta=1e-3), 1),
            ("huber1e-3_drop2_largest_loss", Loss(delta=1e-3), 2),
            ("huber1e-3_drop3_largest_loss", Loss(delta=1e-3), 3),
            ("huber1e-3_drop4_largest_loss", Loss(delta=1e-3), 4),
            ("huber1e-3_drop6_largest_loss", Loss(delta=1e-3), 6),
            ("huber1e-3_drop10_largest_loss", Loss(delta=1e-3), 10),
            ("huber1e-3_drop20_largest_loss", Loss(delta=1e-3), 20),
        ],
    )
    def test_every_loss_and_selection_reaches_the_certified_minimum(self, golden, replication, case, loss, dropped):
        expected = golden["chinchilla_fig4_epoch"][case]
        found = fit(without_largest(replication, dropped), loss=loss)
        assert found.quality.objective <= expected["objective"] * OBJECTIVE
        assert_parameters(found, expected, offset=1e-4 if loss.is_squared else 1e-5)
        assert found.certificate.agreed == found.certificate.starts
        best = found.optimal(C=BUDGET)
        assert best.N.value == pytest.approx(expected["N_opt_5p76e23"], rel=1e-3)
        assert best.tokens_per_parameter.value == pytest.approx(expected["tokens_per_param"], rel=1e-3)
        assert found.derived["a"].value == pytest.approx(expected["a_N"], abs=2e-5)

    @pytest.mark.parametrize("loss", [Loss(name="lad"), Loss(delta=4.7e-9)], ids=["lad", "huber 4.7e-9"])
    def test_least_absolute_deviations_give_the_published_table(self, golden, kept, loss):
        expected = golden["chinchilla_fig4_epoch"]["lad_240_published"]
        found = fit(kept, loss=loss)
        if not loss.is_absolute:
            assert found.quality.objective <= expected["objective"] * OBJECTIVE
        assert found.values["A"] == pytest.approx(expected["A"], rel=5e-5)
        assert found.values["B"] == pytest.approx(expected["B"], rel=5e-5)
        printed = {"A": (482.01, 0.005), "B": (2085.43, 0.01), "E": (1.8169, 5e-5)}
        printed |= {"alpha": (0.3478, 5e-5), "beta": (0.3658, 1e-4)}
        for name, (value, rounding) in printed.items():
            assert found.values[name] == pytest.approx(value, abs=rounding)

    @pytest.mark.parametrize(
        ("loss", "values"),
        [
            (Loss(delta=3e-3), {"A": 493.30, "B": 2212.8, "E": 1.82092, "alpha": 0.34925, "beta": 0.36864}),
            (
                Loss(name="linear_huber"),
                {"A": 455.10, "B": 2405.2, "E": 1.82008, "alpha": 0.34430, "beta": 0.37297},
            ),
            (
                Loss(name="linear_squared"),
                {"A": 567.81, "B": 7581.9, "E": 1.88281, "alpha": 0.35762, "beta": 0.42762},
            ),
        ],
        ids=["huber 3e-3", "linear huber", "linear squared"],
    )
    def test_other_losses_give_the_values_of_a_reference_table(self, kept, loss, values):
        found = fit(kept, loss=loss).values
        for name, value in values.items():
            assert found[name] == pytest.approx(value, rel=2e-5)

    def test_the_usual_premature_stop_is_no_minimum(self, golden, kept):
        stops = golden["premature_stop_epoch_240"]
        found = fit(kept)
        for name in ("scipy_lbfgsb_default_mean_scaled", "scipy_lbfgsb_default_sum_scaled"):
            assert found.quality.objective < 0.9 * stops[name]["objective_sum"]

    def test_that_stop_as_the_only_start_still_ends_in_the_minimum(self, golden, kept):
        start = golden["premature_stop_epoch_240"]["start"]
        model = build_model(kept, LAWS["chinchilla"], Loss(), Constraints())
        place = np.array([[math.exp(start["e"]), start["a"], start["alpha"], start["b"], start["beta"]]])
        found = model.search.run(model.weights, place, place[0])
        assert found.objective[0] <= 0.001018274018 * OBJECTIVE

    @pytest.mark.parametrize("scale", [1 / 240, 1.0, 1e6])
    def test_a_sum_a_mean_and_any_other_scale_of_weights_give_the_same_fit(self, kept, scale):
        table = {"N": kept.N, "D": kept.D, "loss": kept.loss, "weights": np.full(len(kept), scale)}
        found = fit(make_points(table))
        assert found.quality.objective == pytest.approx(0.001018274017703881 * scale, rel=1e-12)
        assert found.values["A"] == pytest.approx(477.82587, rel=1e-6)

    def test_other_forms_reach_their_objectives(self, golden, kept):
        expected = golden["other_forms_epoch_240"]
        kaplan = fit(kept, "kaplan")
        assert kaplan.quality.objective <= expected["kaplan_joint_no_offset"]["huber1e_3"] * (1 + 1e-6)
        for name, key, rel in (("N_c", "Nc", 1e-3), ("alpha_N", "aN", 1e-3)):
            assert kaplan.derived[name].value == pytest.approx(expected["kaplan_joint_no_offset"][key], rel=rel)
        assert kaplan.values["D_c"] == pytest.approx(expected["kaplan_joint_no_offset"]["Dc"], rel=1e-3)
        assert kaplan.values["alpha_D"] == pytest.approx(expected["kaplan_joint_no_offset"]["aD"], rel=1e-3)
        coupled = fit(kept, "coupled")
        assert coupled.quality.objective <= expected["coupled"]["huber1e_3_at_most"] * (1 + 1e-5)
        for name, place in (("E", 5e-4), ("alpha", 5e-4), ("beta", 5e-4), ("k", 1e-3)):
            assert coupled.values[name] == pytest.approx(expected["coupled"][name], abs=place)
        assert coupled.derived["k_alpha"].value == pytest.approx(expected["coupled"]["asymptotic_N_exponent"], abs=5e-4)
        assert coupled.derived["k_beta"].value == pytest.approx(expected["coupled"]["asymptotic_D_exponent"], abs=5e-4)

    def test_a_backtest_misses_the_larger_runs_by_what_an_independent_one_found(self, golden, kept):
        expected = golden["backtest_epoch_240"]["rows"]
        found = backtest(kept, cuts=[row["cut"] for row in expected])
        for mine, row in zip(found.rows, expected, strict=True):
            assert (mine.n_train, mine.n_test) == (row["n_train"], row["n_test"])
            for name in ("mean_abs", "bias", "max_abs"):
                assert getattr(mine, name) == pytest.approx(row[name], abs=2e-4)

    def test_the_frontier_of_quarter_decades_gives_the_reference_laws_of_compute(self, golden, kept):
        expected = golden["chinchilla_fig4_epoch"]["frontier_L(C)_quarter_decade_bins"]
        bins = np.floor(4 * np.log10(kept.C / kept.C.min())).astype(int)
        lowest = np.array([min(np.flatnonzero(bins == b), key=lambda row: kept.loss[row]) for b in np.unique(bins)])
        frontier = kept.take(lowest)
        assert len(frontier) == expected["n"]
        assert_kaplan(frontier, "C", expected)


@pytest.fixture(scope="module")
def model(kept):
    return build_model(kept, LAWS["chinchilla"], Loss(), Constraints())


@pytest.fixture(scope="module")
def solution(model):
    return solve(model)


@pytest.fixture(scope="module")
def draws(model, solution) -> dict[str, np.ndarray]:
    generator = np.random.RandomState(42)
    counts = np.stack([np.bincount(generator.choice(240, 240), minlength=240) for _ in range(4000)])
    minima = model.refit(counts.astype(float), solution.bases)
    assert minima.converged.all()
    return dict(zip(model.names, model.values(minima.coordinates).T, strict=True))


class TestBootstrap:
    """The replication's intervals, on its own resamples and on ours."""

    def test_single_resamples_agree(self, golden, draws):
        for number, row in golden["bootstrap_epoch_240"]["rows"].items():
            for name, value in row.items():
                assert draws[name][int(number)] == pytest.approx(value, rel=2e-4)

    def test_spreads_and_intervals_agree_on_the_same_resamples(self, golden, draws):
        expected = golden["bootstrap_epoch_240"]["reproduced_same_resamples"]
        for name, (low, high) in expected["ci95"].items():
            assert draws[name].std(ddof=1) == pytest.approx(expected["sd"][name], rel=0.01)
            assert np.percentile(draws[name], [2.5, 97.5]) == pytest.approx([low, high], rel=0.01)
        exponent = draws["beta"] / (draws["alpha"] + draws["beta"])
        assert np.percentile(exponent, [10, 90]) == pytest.approx(expected["a_N_ci80"], rel=0.01)

    def test_published_intervals_are_met_within_their_rounding(self, golden, draws):
        published = golden["bootstrap_epoch_240"]["published"]["ci95"]
        for name in ("E", "alpha", "beta"):
            assert np.percentile(draws[name], [2.5, 97.5]) == pytest.approx(published[name], abs=6e-4)

    def test_another_generator_gives_intervals_within_the_noise_of_resampling(self, golden, solution):
        found = bootstrap(solution, "pairs", 4000, 7, 0.95)
        assert found.failed == 0
        expected = golden["bootstrap_epoch_240"]["other_rng"]["ci95"]
        shares = {"A": 0.10, "B": 0.15, "E": 0.03, "alpha": 0.03, "beta": 0.03}
        for name, share in shares.items():
            low, high = expected[name]
            ends = np.percentile(found.column(name), [2.5, 97.5])
            # Both draws scatter: a percentile of 4,000 has a standard error of about 1% of the width.
            assert ends == pytest.approx([low, high], abs=1.5 * share * (high - low))

    def test_what_follows_from_the_parameters_has_the_reference_intervals(self, golden, kept):
        expected = golden["bootstrap_epoch_240"]["other_rng"]["ci95"]
        found = fit(kept, intervals=Intervals(resamples=4000))
        best = found.optimal(C=BUDGET)
        for name, mine in (
            ("a_N", found.derived["a"]),
            ("N_opt_5p76e23", best.N),
            ("tokens_per_param_5p76e23", best.tokens_per_parameter),
        ):
            low, high = expected[name]
            assert [mine.low, mine.high] == pytest.approx([low, high], abs=0.045 * (high - low))


def assert_kaplan(runs, axis: str, expected: dict):
    """Pure and offset laws by least squares of the log, with the interval of the pure exponent."""
    pure = fit(runs, f"power_{axis.lower()}", "squared_log", intervals=Intervals(method="homoscedastic"))
    exponent = pure.parameters["alpha"]
    assert exponent.value == pytest.approx(expected["pure"]["alpha"], rel=1e-6)
    assert pure.derived["x_c"].value == pytest.approx(expected["pure"]["x_c"], rel=1e-4)
    assert exponent.high - exponent.value == pytest.approx(expected["pure"]["alpha_t_ci95_halfwidth"], rel=1e-6)
    assert pure.quality.r2_log == pytest.approx(expected["pure"]["r2"], rel=1e-6)
    offset = fit(runs, f"offset_{axis.lower()}", "squared_log")
    assert offset.values["alpha"] == pytest.approx(expected["offset"]["alpha"], rel=1e-3)
    assert offset.values["E"] == pytest.approx(expected["offset"]["E"], rel=1e-3)
    assert 2 * offset.quality.objective <= expected["offset"]["rss_log"] * (1 + 1e-6)


KAPLAN_CASES = [
    f"{corpus}/{case}"
    for corpus in ("c4_original", "rpj")
    for case in (
        "L(C) M=20",
        "L(N) M=20",
        "L(N_no_embed) M=20",
        "L(D) d=96_l=8_h=4",
        "L(D) d=1024_l=24_h=8",
    )
]


@pytest.mark.parametrize("case", KAPLAN_CASES)
def test_kaplan_laws_on_the_runs_of_gadre_et_al_agree(golden, rows, case):
    expected = golden["kaplan_gadre"][case]
    corpus, rest = case.split("/")
    axis, chosen = rest[2], rest.split(" ")[1]
    runs = [row for row in rows("gadre_overtraining_c4_rpj.csv") if row["train_set"] == corpus]
    if chosen == "M=20":
        runs = [row for row in runs if row["token_multiplier"] == "20"]
    else:
        runs = [row for row in runs if row["model"] == chosen]
    sizes = "N_no_embed" if "no_embed" in rest else "N"
    table = {"N": [float(row[sizes]) for row in runs], "D": [float(row["D"]) for row in runs]}
    table["C"] = [6 * float(row["N"]) * float(row["D"]) for row in runs]
    losses = [float(row["loss_c4_val"]) for row in runs]
    assert len(runs) == expected["n"]
    chosen_axis = {axis: table[axis], "loss": losses}
    assert_kaplan(make_points(chosen_axis), axis, expected)


SMALL = ("d=96_l=8_h=4", "d=512_l=8_h=4", "d=576_l=24_h=8", "d=1024_l=24_h=8")
OVERTRAINING_FIT = {*((model, "20") for model in SMALL), ("d=96_l=8_h=4", "320")}
"""The five small runs that Gadre et al. (2024) fit, as model and tokens per parameter."""


@pytest.mark.parametrize("corpus", ["c4_original", "rpj"])
def test_the_overtraining_law_agrees(golden, rows, corpus):
    expected = golden["gadre_overtraining"][corpus]
    runs = [row for row in rows("gadre_overtraining_c4_rpj.csv") if row["train_set"] == corpus]
    chosen = [row for row in runs if (row["model"], row["token_multiplier"]) in OVERTRAINING_FIT]
    found = fit(points(chosen, loss="loss_c4_val"), "overtraining", "linear_squared")
    law = expected["loss_law"]
    assert 2 * found.quality.objective <= law["rss"] * (1 + 1e-4)
    assert found.values["a"] == pytest.approx(law["a"], rel=1e-4)
    assert found.values["c"] == pytest.approx(law["c"], rel=1e-4)
    assert -found.values["eta"] == pytest.approx(law["b"], rel=1e-4)
    assert found.values["E"] == pytest.approx(law["E"], rel=1e-4)
    for name, target in expected["targets"].items():
        model, multiplier, _ = name.split(" ")
        (row,) = [r for r in runs if r["model"] == model and r["token_multiplier"] == multiplier.removeprefix("M=")]
        predicted = found.predict({"N": float(row["N"]), "D": float(row["D"])})[0]
        assert predicted == pytest.approx(target["loss_pred"], rel=1e-5)
        assert abs(predicted / target["loss"] - 1) == pytest.approx(target["loss_rel_err"], abs=1e-5)


@pytest.mark.parametrize("task", ["mmlu_avg_test_5shot", "hellaswag_val_5shot", "c4_loss"])
def test_the_first_step_of_the_olmo_ladder_agrees(golden, rows, task):
    expected = golden["olmo_ladder"][task]["step1"]
    runs = [row for row in rows("olmo_ladder_step1.csv") if row["task"] == task]
    found = fit(points([row for row in runs if row["role"] == "train"], loss="task_bpb"))
    assert found.quality.objective <= expected["objective"] * (1 + 2e-7)  # seven digits
    assert found.values["E"] == pytest.approx(expected["E"], abs=2e-4)
    for size in ("7B", "13B"):
        (row,) = [r for r in runs if r["role"] == "eval" and r["model"].startswith(size)]
        predicted = found.predict({"N": float(row["N"]), "D": float(row["D"])})[0]
        assert predicted == pytest.approx(expected[f"pred_{size}"], rel=2e-5)


@pytest.mark.parametrize("corpus", ["comma", "nemotron"])
@pytest.mark.parametrize("part", ["all", "outlier_false"])
def test_the_parametric_law_on_isoflop_sweeps_agrees(golden, rows, corpus, part):
    expected = golden["isoflop"][f"marin_202603__{corpus}__llama_2/{part}"]["approach3_huber1e_3"]
    runs = [row for row in rows("isoflop_marin_comma_nemotron.csv") if corpus in row["experiment"]]
    if part == "outlier_false":
        runs = [row for row in runs if row["outlier"] == "False"]
    found = fit(points(runs))
    assert found.quality.objective <= expected["objective"] * OBJECTIVE
    assert_parameters(found, expected)
    assert found.derived["a"].value == pytest.approx(expected["a_N"], abs=2e-5)


@pytest.mark.parametrize("part", ["all_seed0", "N>=6304,D>=199000"])
@pytest.mark.parametrize(("loss", "key"), [("huber", "huber1e-3"), ("squared_log", "sq_log")])
def test_a_tiny_ladder_agrees(golden, rows, part, loss, key):
    expected = golden["tiny_ladder_rope"][f"{part}/{key}"]
    runs = [row for row in rows("tiny_ladder_rope.csv") if row["seed"] == "0"]
    if part != "all_seed0":
        runs = [row for row in runs if float(row["N"]) >= 6304 and float(row["D"]) >= 199000]
    found = fit(points(runs), loss=loss)
    assert found.quality.n == expected["n"]
    assert found.quality.objective <= expected["objective"] * (1 + 1e-6)
    for name in ("A", "B", "E", "alpha", "beta"):
        assert found.values[name] == pytest.approx(expected[name], rel=1e-3)


def test_a_tiny_ladder_is_weakly_identified_and_its_backtest_is_off_by_percents(rows):
    runs = [row for row in rows("tiny_ladder_rope.csv") if row["seed"] == "0"]
    table = {name: [float(row[name]) for row in runs] for name in ("N", "D", "loss", "layers")}
    found = fit(make_points(table), intervals=Intervals(resamples=300))
    codes = {warning.code for warning in found.warnings}
    assert {"weakly-identified", "offset-not-needed", "depth-change"} <= codes
    held_out = backtest(make_points(table), cuts=[float(np.quantile(found.points.C, 0.6))])
    assert 0.01 < held_out.rows[0].mean_abs < 0.12
