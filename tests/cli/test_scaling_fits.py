"""`evalkit scaling fit`, `predict`, `optimal` and `plot`: what is saved predicts the same, and bad calls are one line."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from evalkit.report.scaling import read_scaling

E, A, ALPHA, B, BETA = 1.69, 406.4, 0.34, 410.7, 0.28


def loss(size, tokens):
    return E + A * size**-ALPHA + B * tokens**-BETA


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A grid of 5 by 5 runs with a quarter of a percent of noise, and an accuracy that follows from the loss."""
    generator, path = np.random.default_rng(0), tmp_path_factory.mktemp("runs") / "runs.csv"
    rows = []
    for size in np.geomspace(1e7, 1e9, 5):
        for tokens in np.geomspace(1e9, 1e11, 5):
            value = loss(size, tokens) * np.exp(0.0025 * generator.normal())
            accuracy = 0.95 + (0.25 - 0.95) / (1 + np.exp(-4 * (value - 2.6)))
            rows.append((size, tokens, value, accuracy, f"{size:.0f}-{tokens:.0f}"))
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("N", "D", "loss", "acc", "run"), *rows])
    return str(path)


@pytest.fixture
def saved(evalkit, runs, tmp_path):
    path = str(tmp_path / "fit.json")
    outcome = evalkit("scaling", "fit", runs, "--resamples", "200", "--no-sensitivity", "--save", path)
    assert outcome.code == 0, outcome.err
    return path


def document_of(path):
    return json.loads(Path(path).read_text())


def refused(outcome, *parts):
    assert outcome.code == 2, outcome
    (line,) = outcome.err.strip().splitlines()
    for part in parts:
        assert part in line
    assert outcome.out == ""


def test_fit_prints_parameters_quality_sensitivity_and_warnings(evalkit, runs):
    outcome = evalkit("scaling", "fit", runs, "--resamples", "100")
    assert outcome.code == 0, outcome.err
    for part in ("Parameters", "alpha", "Quality", "Sensitivity", "squared_log", "starts agree"):
        assert part in outcome.out


def test_json_has_intervals_around_the_truth_and_a_certificate(evalkit, runs):
    found = evalkit("scaling", "fit", runs, "--resamples", "300", "--no-sensitivity", "--json").json
    for name, truth in (("alpha", ALPHA), ("beta", BETA), ("E", E)):
        one = found["parameters"][name]
        assert one["low"] < truth < one["high"]
    assert found["certificate"]["agreed"] == found["certificate"]["starts"]
    assert found["intervals"] == {"method": "pairs", "level": 0.95}
    assert found["law"]["name"] == "chinchilla"


def test_what_is_saved_is_what_json_prints_and_predicts_the_same(evalkit, runs, saved):
    printed = evalkit("scaling", "fit", runs, "--resamples", "200", "--no-sensitivity", "--json").json
    kept = document_of(saved)
    for document in (printed, kept):
        document.pop("timing_s")
        document["fit"].pop("timing_s")
    assert printed == kept
    arguments = ("--N", "1e10", "--D", "2e11", "--json")
    first, again = (evalkit("scaling", "predict", saved, *arguments).json for _ in range(2))
    assert first == again
    value = first["loss"]["value"][0]
    parameters = {name: one["value"] for name, one in kept["parameters"].items()}
    expected = parameters["E"] + parameters["A"] * 1e10 ** -parameters["alpha"]
    expected += parameters["B"] * 2e11 ** -parameters["beta"]
    assert value == pytest.approx(expected, rel=1e-12)
    assert first["times_largest_compute"] == [pytest.approx(1e10 * 2e11 / 1e20)]
    assert [warning["code"] for warning in first["warnings"]] == ["extrapolation"]


def test_a_report_reads_the_figure_of_a_saved_fit(saved):
    scaling = read_scaling(saved)
    assert scaling.form == "chinchilla"
    assert len(scaling.points) == 25
    (line,) = scaling.lines
    assert len(line.low) == len(line.high) == len(line.x) > 100


def test_several_places_are_predicted_at_once(evalkit, saved):
    outcome = evalkit(
        "scaling", "predict", saved, "--N", "1e8", "--N", "1e9", "--D", "1e10", "--kind", "mean", "--json"
    )
    found = outcome.json
    assert found["at"] == {"N": [1e8, 1e9], "D": [1e10, 1e10]}
    low, value, high = (np.array(found["loss"][part]) for part in ("low", "value", "high"))
    assert (low < value).all()
    assert (value < high).all()


def test_optimal_gives_the_closed_form_with_intervals(evalkit, saved):
    (best,) = evalkit("scaling", "optimal", saved, "--compute", "1e21", "--json").json["optima"]
    values = {name: one["value"] for name, one in document_of(saved)["parameters"].items()}
    alpha, beta = values["alpha"], values["beta"]
    gain = (alpha * values["A"] / (beta * values["B"])) ** (1 / (alpha + beta))
    assert best["N"]["value"] == pytest.approx(gain * (1e21 / 6) ** (beta / (alpha + beta)), rel=1e-9)
    assert best["N"]["low"] < best["N"]["value"] < best["N"]["high"]
    assert 6 * best["N"]["value"] * best["D"]["value"] == pytest.approx(1e21)


def test_serving_makes_the_best_model_smaller(evalkit, saved):
    sizes = [
        evalkit("scaling", "optimal", saved, "--compute", "1e21", "--inference-tokens", tokens, "--json")
        .json["optima"][0]["N"]["value"]
        for tokens in ("0", "1e11")
    ]  # fmt: skip
    assert sizes[1] < sizes[0]


def test_questions_the_other_way_round_come_back_to_the_loss(evalkit, saved):
    (least,) = evalkit("scaling", "optimal", saved, "--target-loss", "2.2", "--json").json["optima"]
    assert least["loss"]["value"] == pytest.approx(2.2)
    (answer,) = evalkit("scaling", "optimal", saved, "--target-loss", "2.3", "--N", "1e9", "--json").json["answers"]
    predicted = evalkit("scaling", "predict", saved, "--N", "1e9", "--D", repr(answer["D"]["value"]), "--json").json
    assert predicted["loss"]["value"][0] == pytest.approx(2.3, rel=1e-6)
    (answer,) = evalkit("scaling", "optimal", saved, "--target-loss", "2.3", "--D", "2e10", "--json").json["answers"]
    predicted = evalkit("scaling", "predict", saved, "--D", "2e10", "--N", repr(answer["N"]["value"]), "--json").json
    assert predicted["loss"]["value"][0] == pytest.approx(2.3, rel=1e-6)


def test_two_steps_predict_an_accuracy_and_say_where_it_is_a_guess(evalkit, runs, tmp_path):
    path = str(tmp_path / "two.json")
    flags = (
        "--accuracy",
        "acc",
        "--accuracy-range",
        "0.25:1",
        "--resamples",
        "100",
        "--no-sensitivity",
        "--save",
        path,
    )
    assert evalkit("scaling", "fit", runs, *flags).code == 0
    found = evalkit("scaling", "predict", path, "--N", "5e8", "--D", "5e10", "--json").json
    truth = 0.95 + (0.25 - 0.95) / (1 + np.exp(-4 * (loss(5e8, 5e10) - 2.6)))
    assert found["accuracy"]["value"][0] == pytest.approx(truth, abs=0.01)
    assert found["accuracy"]["low"][0] < found["accuracy"]["value"][0] < found["accuracy"]["high"][0]
    far = evalkit("scaling", "predict", path, "--N", "1e13", "--D", "1e14", "--json").json
    assert [warning["code"] for warning in far["warnings"]] == ["extrapolation", "extrapolation"]


def test_accuracy_can_be_foretold_in_one_step(evalkit, runs, tmp_path):
    path = str(tmp_path / "one.json")
    flags = ("--accuracy", "acc", "--one-step", "--resamples", "20", "--save", path)
    outcome = evalkit("scaling", "fit", runs, *flags)
    assert outcome.code == 0, outcome.err
    assert "Accuracy in one step" in outcome.out
    found = evalkit("scaling", "predict", path, "--N", "5e8", "--D", "5e10", "--json").json["accuracy"]
    truth = 0.95 + (0.25 - 0.95) / (1 + np.exp(-4 * (loss(5e8, 5e10) - 2.6)))
    assert found["value"][0] == pytest.approx(truth, abs=0.02)
    assert found["low"][0] < found["value"][0] < found["high"][0]
    refused(evalkit("scaling", "predict", path, "--N", "5e8"), "--D is missing")
    refused(evalkit("scaling", "fit", runs, "--one-step"), "--one-step goes with --accuracy")


def test_accuracies_can_come_from_another_file(evalkit, runs, tmp_path):
    path, points = str(tmp_path / "two.json"), tmp_path / "checkpoints.csv"
    losses = np.linspace(2.2, 3.4, 30)
    rows = [
        (value, 0.9 - 0.6 / (1 + np.exp(-5 * (value - 2.7))), 200, index // 5) for index, value in enumerate(losses)
    ]
    with points.open("w", newline="") as file:
        csv.writer(file).writerows([("loss", "acc", "n", "cluster"), *rows])
    flags = ("--accuracy", "acc", "--accuracy-points", str(points), "--items", "n", "--intervals", "none")
    outcome = evalkit("scaling", "fit", runs, *flags, "--no-sensitivity", "--save", path, "--json")
    assert outcome.json["accuracy"]["n"] == 30
    assert evalkit("scaling", "predict", path, "--N", "1e9", "--D", "1e10", "--json").json["accuracy"]["value"]


def test_one_axis_laws_fit_the_rows_that_are_chosen(evalkit, runs, tmp_path):
    path = str(tmp_path / "one.json")
    flags = ("--law", "offset_n", "--where", "D>9e10", "--intervals", "profile", "--no-sensitivity", "--save", path)
    outcome = evalkit("scaling", "fit", runs, *flags, "--json")
    assert outcome.code == 0, outcome.err
    assert outcome.json["quality"]["n"] == 5
    assert evalkit("scaling", "predict", path, "--N", "1e10", "--json").json["at"] == {"N": [1e10]}
    refused(evalkit("scaling", "optimal", path, "--compute", "1e20"), "is no function of N and D")


def test_six_runs_are_fitted_without_intervals(evalkit, runs):
    flags = ("--where", "D<4e9", "--where", "N<2e8", "--intervals", "none", "--no-sensitivity", "--json")
    found = evalkit("scaling", "fit", runs, *flags).json
    assert found["quality"]["n"] == 6
    assert "few-points" in {warning["code"] for warning in found["warnings"]}


def test_parameters_can_be_fixed_bounded_and_given_a_prior(evalkit, runs):
    flags = ("--intervals", "none", "--no-sensitivity", "--json")
    fixed = evalkit("scaling", "fit", runs, "--fix", "alpha=0.3", *flags).json["parameters"]["alpha"]
    assert (fixed["value"], fixed["fixed"]) == (0.3, True)
    bounded = evalkit("scaling", "fit", runs, "--bound", "E=:1.5", *flags).json["parameters"]["E"]
    assert bounded["value"] <= 1.5 + 1e-9
    prior = evalkit("scaling", "fit", runs, "--prior", "E=1.2:0.0001", *flags).json["parameters"]["E"]
    assert prior["value"] == pytest.approx(1.2, rel=0.01)


def test_plot_writes_every_figure_that_applies(evalkit, saved, tmp_path):
    outcome = evalkit("scaling", "plot", saved, "--out", str(tmp_path / "figs"), "--form", "png", "--kind", "residuals")
    assert outcome.code == 0, outcome.err
    assert outcome.out.split() == [str(tmp_path / "figs" / "residuals.png")]
    assert (tmp_path / "figs" / "residuals.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--law", "chinchila"), "unknown law 'chinchila'; did you mean 'chinchilla'?"),
        (("--loss", "hubert"), "unknown loss 'hubert'; did you mean 'huber'?"),
        (("--delta", "-1"), "delta is -1.0"),
        (("--intervals", "bayes"), "unknown method of intervals 'bayes'"),
        (("--resamples", "3"), "resamples is 3; expected 100 or more"),
        (("--confidence", "95"), "level is 95.0"),
        (("--fix", "alpha"), "--fix is 'alpha'; expected e.g. --fix alpha=0.34"),
        (("--fix", "alpha=x"), "--fix alpha has 'x'; expected a finite number"),
        (("--fix", "gamma=1"), "unknown parameter"),
        (("--bound", "E=1"), "--bound has '1'; expected two numbers with a colon"),
        (("--prior", "E=1:"), "--prior E=1:; expected a centre and a standard deviation"),
        (("--where", "D<2e9"), "the law 'chinchilla' needs several, so add runs or fit the law 'offset_n'"),
        (("--where", "D<4e9", "--where", "N<4e7"), "found 4 points for 5 free parameters of 'chinchilla'"),
        (("--where", "D<4e9", "--where", "N<2e8"), "found 6 points for 5 free parameters; intervals need 7 at least"),
        (("--accuracy", "accuracy"), "unknown column 'accuracy'; did you mean 'acc'?"),
        (("--accuracy", "N"), "expected shares from 0 to 1"),
        (("--accuracy", "acc", "--accuracy-form", "probit"), "unknown form of the second step 'probit'"),
        (("--accuracy", "acc", "--accuracy-range", "0.9:0.1"), "floor is 0.9 and ceiling 0.1"),
        (("--items", "n"), "--items goes with --accuracy"),
        (("--save", "/dev/null/fit.json"), "cannot write '/dev/null/fit.json'"),
    ],
)
def test_fits_that_cannot_be_are_one_line(evalkit, runs, flags, message):
    refused(evalkit("scaling", "fit", runs, "--no-sensitivity", *flags), message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("predict",), "--N is missing; the law L = E + A N^-alpha + B D^-beta is a function of N, D"),
        (("predict", "--N", "1e9"), "--D is missing"),
        (("predict", "--N", "1e9", "--D", "1e9", "--C", "1"), "--C is given"),
        (("predict", "--N", "0", "--D", "1e9"), "column 'N', row 1: found 0.0; expected finite numbers above 0"),
        (("predict", "--N", "nan", "--D", "1e9"), "found nan"),
        (("predict", "--N", "1", "--N", "2", "--D", "1", "--D", "2", "--D", "3"), "--N has 2 values and others 3"),
        (("predict", "--N", "1e9", "--D", "1e9", "--kind", "both"), "unknown kind of band 'both'"),
        (("predict", "--N", "1e9", "--D", "1e9", "--confidence", "2"), "level is 2.0"),
        (("optimal",), "nothing asked for; expected --compute FLOPS or --target-loss LOSS"),
        (("optimal", "--compute", "0"), "C is 0.0; expected one finite number above 0"),
        (("optimal", "--target-loss", "0.5"), "expected one above E"),
        (("optimal", "--compute", "1e20", "--unique-tokens", "1e9"), "fit 'repeated' for a cap of unique tokens"),
        (("optimal", "--compute", "1e20", "--inference-tokens", "-5"), "inference_tokens is -5.0"),
        (("optimal", "--compute", "1e20", "--N", "1e9"), "--N or --D goes with --target-loss"),
        (("optimal", "--target-loss", "1.7", "--N", "1e7"), "no D reaches it at N = 1e+07"),
        (("plot", "--kind", "pie"), "unknown figure 'pie'"),
        (("plot", "--form", "gif"), "unknown format of figures 'gif'"),
        (("plot", "--kind", "valleys"), "unknown figure 'valleys'"),
    ],
)
def test_questions_that_cannot_be_answered_are_one_line(evalkit, saved, arguments, message):
    verb, *rest = arguments
    refused(evalkit("scaling", verb, saved, *rest), message)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "not JSON"),
        ("[]", "expected a JSON object"),
        ("{}", "no saved fit"),
        ('{"fit": 3}', "no saved fit"),
        ('{"fit": {"kind": "evalkit-scaling-fit", "schema_version": 99}}', "schema version 99"),
    ],
)
def test_files_that_are_no_fits_are_one_line(evalkit, tmp_path, content, message):
    path = tmp_path / "fit.json"
    path.write_text(content)
    refused(evalkit("scaling", "predict", str(path), "--N", "1", "--D", "1"), message)
    refused(evalkit("scaling", "predict", str(tmp_path / "none.json"), "--N", "1", "--D", "1"), "cannot be read")


def test_a_fit_edited_by_hand_is_refused(evalkit, saved, tmp_path):
    document = document_of(saved)
    del document["fit"]["points"]
    path = tmp_path / "edited.json"
    path.write_text(json.dumps(document))
    refused(evalkit("scaling", "predict", str(path), "--N", "1e9", "--D", "1e9"), "no saved fit")


def test_backtest_predicts_what_was_held_back_and_says_how_often_bands_held(evalkit, runs):
    outcome = evalkit("scaling", "backtest", runs, "--by", "N", "--cut", "5e8", "--resamples", "100", "--json")
    (one,) = outcome.json["backtests"]
    (row,) = one["cuts"]
    assert (row["n_train"], row["n_test"]) == (20, 5)
    assert row["mean_abs"] < 0.02
    assert 0 <= row["covered"] <= 1
    text = evalkit("scaling", "backtest", runs, "--by", "N", "--intervals", "none").out
    assert "larger runs predicted from smaller ones" in text


def test_several_laws_are_compared_by_cross_validation(evalkit, runs):
    flags = ("--law", "chinchilla", "--law", "kaplan", "--intervals", "none", "--cut", "1e19", "--folds", "5", "--json")
    found = evalkit("scaling", "backtest", runs, *flags).json
    assert [row["label"] for row in found["laws"]] == ["chinchilla", "kaplan"]
    assert found["laws"][0]["held_out"] < found["laws"][1]["held_out"]


def test_plan_chooses_runs_within_budget_and_limits(evalkit, saved):
    flags = ("--budget", "1e20", "--runs", "3", "--compute", "1e22", "--within", "N=1e7:2e9", "--json")
    found = evalkit("scaling", "plan", saved, *flags).json
    assert len(found["runs"]) == 3
    assert sum(run["C"] for run in found["runs"]) <= 1e20 * (1 + 1e-9)
    assert all(1e7 * (1 - 1e-9) <= run["N"] <= 2e9 * (1 + 1e-9) for run in found["runs"])
    assert found["half_width_after"] < found["half_width_before"]
    place = evalkit("scaling", "plan", saved, "--budget", "1e20", "--N", "7e9", "--D", "1e11")
    assert "loss at N = 7e+09, D = 1e+11" in place.out


@pytest.fixture(scope="module")
def two_arms(tmp_path_factory):
    generator, path = np.random.default_rng(1), tmp_path_factory.mktemp("arms") / "runs.csv"
    rows = [
        (size, tokens, factor * loss(size, tokens) * np.exp(0.001 * generator.normal()), arm)
        for arm, factor in (("plain", 1.0), ("better", 0.97))
        for size in np.geomspace(1e7, 1e9, 4)
        for tokens in np.geomspace(1e9, 1e11, 4)
    ]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("N", "D", "loss", "corpus"), *rows])
    return str(path)


def test_two_arms_are_compared_pairwise(evalkit, two_arms):
    flags = ("--column", "group=corpus", "--compute", "1e20", "--resamples", "200", "--json")
    found = evalkit("scaling", "arms", two_arms, "--first", "plain", "--second", "better", *flags).json
    assert found["paired"]
    rows = {row["name"]: row for row in found["rows"]}
    assert rows["best loss"]["high"] < 0
    assert rows["compute gain"]["low"] > 1


def test_decisions_of_small_runs_are_judged(evalkit, two_arms):
    outcome = evalkit("scaling", "arms", two_arms, "--column", "group=corpus", "--by", "N", "--json")
    assert outcome.json["cuts"][0]["ranking"][0] == 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("backtest", "--by", "U"), "unknown predictor 'U'"),
        (("backtest", "--cut", "1e59"), "leaves no runs beyond it in C"),
        (("backtest", "--law", "chinchila"), "unknown law 'chinchila'"),
        (("backtest", "--law", "chinchilla", "--law", "kaplan", "--folds", "1"), "folds is 1"),
        (("arms",), "found 0 arms; expected a column 'group'"),
        (("arms", "--first", "a"), "--first and --second go together"),
        (("arms", "--first", "a", "--second", "b"), "the points have no arms; name the column of them"),
        (("arms", "--column", "group=run", "--first", "a", "--second", "b"), "unknown arm 'a'"),
    ],
)
def test_backtests_and_arms_that_cannot_be_are_one_line(evalkit, runs, arguments, message):
    verb, *rest = arguments
    refused(evalkit("scaling", verb, runs, *rest), message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Missing option '--budget'"),
        (("--budget", "1e20"), "expected what shall become certain"),
        (("--budget", "1e20", "--compute", "1e21", "--N", "1e9", "--D", "1e9"), "expected what shall become certain"),
        (("--budget", "1e20", "--N", "1e9"), "expected what shall become certain"),
        (("--budget", "-1", "--compute", "1e21"), "budget is -1.0"),
        (("--budget", "1e20", "--compute", "1e21", "--runs", "0"), "runs is 0"),
        (("--budget", "1e20", "--compute", "1e21", "--within", "N=5"), "expected two numbers with a colon"),
        (("--budget", "1e20", "--compute", "1e21", "--within", "C=1:5"), "expected limits of N or D such as N=1e7:1e9"),
    ],
)
def test_plans_that_cannot_be_are_one_line(evalkit, saved, arguments, message):
    refused(evalkit("scaling", "plan", saved, *arguments), message)
