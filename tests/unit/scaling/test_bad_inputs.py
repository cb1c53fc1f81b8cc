"""Every kind of bad or doubtful input to a scaling law, with the exact type of its error or the code of its warning."""

import numpy as np
import pytest

from evalkit.errors import DataError, InvalidInputError, UnknownNameError
from evalkit.scaling.constraints import Constraints
from evalkit.scaling.csv_points import read_table
from evalkit.scaling.downstream import LinkSettings, fit_link
from evalkit.scaling.fitting import Intervals, fit
from evalkit.scaling.isoflop import fit_isoflop
from evalkit.scaling.isoflop_valleys import IsoFlopSettings
from evalkit.scaling.losses import Loss
from evalkit.scaling.points import PointSettings, make_points

SIZES, TOKENS = (each.ravel() for each in np.meshgrid(np.geomspace(1e7, 1e9, 5), np.geomspace(1e9, 1e11, 5)))
NOISE = np.exp(0.002 * np.random.default_rng(0).normal(size=25))


def law(sizes, tokens):
    return 1.7 + 400 * sizes**-0.34 + 1500 * tokens**-0.35


def good(**changes):
    return {"N": SIZES, "D": TOKENS, "loss": law(SIZES, TOKENS) * NOISE, **changes}


def at(column, value, row=2):
    """The good table with one cell changed."""
    values = good()[column].astype(object).tolist()
    values[row] = value
    return good(**{column: values})


def rows(*places):
    return {name: values[list(places)] for name, values in good().items()}


def where(keep):
    return {name: values[keep] for name, values in good().items()}


def written(folder, text):
    path = folder / "runs.csv"
    path.write_text(text, encoding="utf-8")
    return read_table(path)


def labelled(**names):
    """The good table with a label column whose last row differs."""
    return good(**{name: [first] * 24 + [last] for name, (first, last) in names.items()})


ERRORS = {
    "empty table": (lambda: make_points(good(N=[], D=[], loss=[])), InvalidInputError, "the table has no rows"),
    "missing column": (lambda: make_points({"N": SIZES, "D": TOKENS}), InvalidInputError, "no column 'loss'"),
    "column of a law missing": (
        lambda: fit(make_points({"N": SIZES, "loss": law(SIZES, 1e9)})),
        InvalidInputError,
        "no column 'D'",
    ),
    "non-numeric column": (lambda: make_points(at("N", "7B")), InvalidInputError, "column 'N', row 3: found '7B'"),
    "NaN": (lambda: make_points(at("loss", np.nan)), InvalidInputError, "column 'loss', row 3: found nan"),
    "infinity": (lambda: make_points(at("D", np.inf)), InvalidInputError, "column 'D', row 3: found inf"),
    "N of 0": (lambda: make_points(at("N", 0.0)), InvalidInputError, "column 'N', row 3: found 0.0"),
    "negative D": (lambda: make_points(at("D", -1e9)), InvalidInputError, "column 'D', row 3"),
    "negative C": (
        lambda: make_points(good(C=-6 * SIZES * TOKENS)),
        InvalidInputError,
        "column 'C', rows 1, 2",
    ),
    "negative loss": (lambda: make_points(at("loss", -3.26)), InvalidInputError, "column 'loss', row 3: found -3.26"),
    "U above D": (lambda: make_points(good(U=2 * TOKENS)), InvalidInputError, "column 'U', rows 1, 2"),
    "unequal lengths": (lambda: make_points(good(D=TOKENS[:7])), InvalidInputError, "column 'D' has 7 rows"),
    "fewer points than parameters": (
        lambda: fit(make_points(rows(0, 6, 8, 14))),
        InvalidInputError,
        "found 4 points for 5 free parameters",
    ),
    "too few points for intervals": (
        lambda: fit(make_points(rows(0, 4, 8, 12, 16, 20)), intervals=Intervals(method="sandwich")),
        InvalidInputError,
        "found 6 points for 5 free parameters; intervals need 7 at least",
    ),
    "one level of N": (
        lambda: fit(make_points(where(SIZES[0] == SIZES))),
        InvalidInputError,
        "column 'N' has one level, 10000000.0.*fit the law 'offset_d'",
    ),
    "one level of D": (
        lambda: fit(make_points(where(TOKENS[0] == TOKENS))),
        InvalidInputError,
        "column 'D' has one level.*fit the law 'offset_n'",
    ),
    "C far from 6ND": (
        lambda: make_points(good(C=10 * SIZES * TOKENS)),
        InvalidInputError,
        "column 'C', rows 1, 2.*within 50% of 6ND.*flops=",
    ),
    "boolean loss": (lambda: make_points(at("loss", True)), InvalidInputError, r"found True \(true or false\)"),
    "string loss": (lambda: make_points(at("loss", "3.1")), InvalidInputError, r"found '3.1' \(text\)"),
    "accuracy above 1": (
        lambda: fit_link([3.0, 2.5, 2.2, 2.0], [0.3, 0.4, 55.0, 0.6], LinkSettings(resamples=0)),
        InvalidInputError,
        "row 3: found 55.0; expected shares from 0 to 1",
    ),
    "budget of 0": (lambda: fit(make_points(good())).optimal(C=0.0), InvalidInputError, "C is 0.0"),
    "negative budget": (lambda: fit(make_points(good())).optimal(C=-1.0), InvalidInputError, "C is -1.0"),
    "unknown law": (lambda: fit(make_points(good()), "hofmann"), UnknownNameError, "unknown law.*known: .*chinchilla"),
    "unknown loss": (lambda: Loss(name="l3"), UnknownNameError, "unknown loss.*known: .*huber"),
    "unknown method": (lambda: Intervals(method="bayes"), UnknownNameError, "unknown method.*known: .*pairs"),
    "unknown IsoFLOP method": (lambda: IsoFlopSettings(method="x"), UnknownNameError, "known: parabola"),
    "mixed loss units": (
        lambda: make_points(labelled(loss_unit=("nats/token", "bpb"))),
        InvalidInputError,
        "column 'loss_unit', row 25: found 'bpb'",
    ),
    "mixed tokenizers": (
        lambda: make_points(labelled(tokenizer=("gpt2", "llama"))),
        InvalidInputError,
        "column 'tokenizer', row 25: found 'llama'",
    ),
    "run id twice with other values": (
        lambda: make_points(good(run=["a", "a", *map(str, range(23))])),
        InvalidInputError,
        "row 2: run 'a' has",
    ),
    "complex numbers": (lambda: make_points(good(loss=good()["loss"] + 0j)), InvalidInputError, "a complex number"),
    "objects": (lambda: make_points(at("N", {})), InvalidInputError, r"found \{\} \(dict\)"),
    "negative weight": (lambda: make_points(good(weights=-np.ones(25))), InvalidInputError, "column 'weights'"),
    "weights all 0": (lambda: make_points(good(weights=np.zeros(25))), InvalidInputError, "is 0 in every row"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_bad_input_is_one_error_of_its_exact_type(name):
    call, kind, message = ERRORS[name]
    with pytest.raises(kind, match=message) as caught:
        call()
    assert type(caught.value) is kind
    assert isinstance(caught.value, ValueError)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "N,D,loss\n", "N,D,loss\n1e6\n"], ids=["nothing", "header alone", "ragged"])
def test_a_file_that_is_no_table_is_an_error_of_data(tmp_path, text):
    with pytest.raises(DataError) as caught:
        written(tmp_path, text)
    assert type(caught.value) is DataError


def sweep(budgets=(1e18, 1e19, 1e20, 1e21), count=7, factor=2.5, shift=1.0):
    """IsoFLOP sweeps around the best of a law; `shift` moves the first one."""
    table = []
    for number, compute in enumerate(budgets):
        best = (0.34 * 400 / (0.35 * 1500)) ** (1 / 0.69) * (compute / 6) ** (0.35 / 0.69)
        sizes = best * np.geomspace(1 / factor, factor, count) * (shift if number == 0 else 1.0)
        table.append((sizes, compute / 6 / sizes, np.full(count, compute)))
    sizes, tokens, compute = (np.concatenate(each) for each in zip(*table, strict=True))
    return {"N": sizes, "D": tokens, "C": compute, "loss": law(sizes, tokens)}


def isoflop(table):
    return fit_isoflop(make_points(table), IsoFlopSettings(resamples=50)).warnings


def fitted(table, chosen="chinchilla", **settings):
    return fit(make_points(table), chosen, **settings).warnings


def rising():
    losses = good()["loss"].copy()
    losses[13] *= 1.2
    return good(loss=losses)


def two_halves():
    """Half of the runs on one law, half on another, with much noise: absolute deviations fit either half about alike."""
    sizes = np.tile(np.geomspace(1e6, 1e9, 8), 2)
    noise = np.exp(0.05 * np.random.default_rng(54).normal(size=16))
    losses = np.where(np.arange(16) < 8, 1.5 + 200 * sizes**-0.3, 0.5 + 20 * sizes**-0.12)
    return {"N": sizes, "loss": losses * noise}


def near_line():
    ratio = np.array([1.0, 1.02, 0.98, 1.0, 1.02, 0.98])
    sizes = np.geomspace(1e7, 1e9, 6)
    return {"N": sizes, "D": 20 * sizes * ratio, "loss": law(sizes, 20 * sizes * ratio)}


def falling_budget():
    table = sweep()
    first = table["C"] == 1e18
    return {**table, "loss": np.where(first, 6 - 0.1 * np.log(table["N"]), table["loss"])}


def short_budget():
    keep = ~np.isin(np.arange(28), [1, 2, 4, 5])
    return {name: values[keep] for name, values in sweep().items()}


def outlier():
    losses = good()["loss"].copy()
    losses[0] *= 2.5
    return good(loss=losses)


SEVEN = rows(0, 4, 8, 12, 16, 20, 24)
DRAWN = Intervals(resamples=100)
WARNINGS = {
    "8 points for 5 parameters": (lambda: fitted(rows(0, 3, 7, 11, 14, 18, 22, 24)), "few-points"),
    "two levels of N": (lambda: fitted(where(np.isin(SIZES, SIZES[[0, 4]]))), "few-levels"),
    "two levels of D": (lambda: fitted(where(np.isin(TOKENS, TOKENS[[0, 24]]))), "few-levels"),
    "N within a factor of 10": (lambda: fitted(good(N=SIZES**0.4)), "short-range"),
    "D within a factor of 10": (lambda: fitted(good(D=TOKENS**0.4)), "short-range"),
    "N and D move together": (lambda: fitted(near_line()), "collinear"),
    "a loss that rises once": (lambda: fitted(rising()), "non-monotone"),
    "a loss that rises with N": (
        lambda: fitted(good(loss=2 + 0.01 * np.log(SIZES) + 1500 * TOKENS**-0.35)),
        "rising-loss",
    ),
    "an exponent at its bound": (
        lambda: fitted(good(), constraints=Constraints(bounds={"alpha": (0.5, 1.0)})),
        "at-bound",
    ),
    "two solutions within 1%": (lambda: fitted(two_halves(), "offset_n", loss="lad"), "second-basin"),
    "parameters that cannot be told apart": (lambda: fitted(near_line()), "ill-conditioned"),
    "a point that moves an exponent": (lambda: fitted(outlier(), loss="squared_log"), "leverage"),
    "a prediction at 25 times the compute": (
        lambda: fit(make_points(good())).predict_interval({"N": 5e9, "D": 5e11}).warnings,
        "extrapolation",
    ),
    "a vertex outside of its sweep": (lambda: isoflop(sweep(shift=4.0)), "vertex-outside"),
    "a profile without a minimum": (lambda: isoflop(falling_budget()), "non-convex"),
    "3 points in a budget": (lambda: isoflop(short_budget()), "few-per-budget"),
    "2 budgets": (lambda: isoflop(sweep(budgets=(1e18, 1e20))), "few-budgets"),
    "resamples without a fit": (lambda: fitted(SEVEN, intervals=DRAWN), "failed-resamples"),
    "one seed": (lambda: fitted(good(seed=["0"] * 25)), "single-seed"),
    "the same rows twice": (
        lambda: fitted({name: np.repeat(values, 2) for name, values in good().items()}),
        "identical-rows",
    ),
    "columns of whole numbers": (lambda: fitted(good(N=SIZES.astype(int))), "integer-cast"),
    "rows left out as asked": (
        lambda: make_points(at("loss", np.nan), PointSettings(dropna=True)).warnings,
        "rows-dropped",
    ),
}


@pytest.mark.parametrize("name", WARNINGS)
def test_doubtful_input_is_warned_of_by_its_code(name):
    call, code = WARNINGS[name]
    assert code in {warning.code for warning in call()}


def test_an_extrapolation_is_stated():
    (warning,) = fit(make_points(good())).predict_interval({"N": 5e9, "D": 5e11}).warnings
    assert "reach 25 times the largest compute" in warning.text


def test_sound_input_is_warned_of_nothing():
    assert fitted(good(), loss="squared_log", intervals=DRAWN) == ()


def test_numbers_beyond_floating_point_are_refused_and_not_wrapped_or_left_infinite():
    with pytest.raises(InvalidInputError, match=r"column 'C', rows 1, 2.*found inf.*check the units"):
        make_points(good(N=SIZES * 1e250, D=TOKENS * 1e100))
    with pytest.raises(InvalidInputError, match=r"found 0.0; expected a finite number above 0 from C = 6ND"):
        make_points(good(N=SIZES * 1e-250, D=TOKENS * 1e-200))


ODD = {
    "losses of nothing but noise": np.abs(np.random.default_rng(1).normal(size=25)) + 0.01,
    "equal losses": np.full(25, 3.0),
    "losses that rise": 1 / law(SIZES, TOKENS),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_losses_are_fitted_within_limits_and_without_nan(name):
    found = fit(make_points(good(loss=ODD[name])), intervals=DRAWN)
    numbers = [value for one in found.parameters.values() for value in (one.value, one.low, one.high, one.stderr)]
    assert all(np.isfinite(value) and value >= 0 for value in numbers if value is not None)
    assert all(np.isfinite(value) for row in found.sensitivity() for value in row.values.values())


@pytest.mark.parametrize("method", ["sandwich", "homoscedastic"])
def test_intervals_from_curvature_stay_within_the_limits_of_parameters(method):
    noisy = np.exp(0.2 * np.random.default_rng(3).normal(size=25))
    found = fit(make_points(good(loss=good()["loss"] * noisy)), loss="squared_log", intervals=Intervals(method=method))
    assert all(one.low is None or one.low >= 0 for one in found.parameters.values())


def test_a_fixed_floor_above_every_loss_takes_the_other_terms_away():
    found = fit(make_points(good()), constraints=Constraints(fixed={"E": 99.0}))
    assert (found.values["A"], found.values["B"]) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda found: found.optimal(C=1e300), r"C is 1e\+300; expected one finite number above 0, of at most 1e\+60"),
        (lambda found: found.optimal(C=1e21, inference_tokens=1e59), "comes out as .* fewer tokens to serve"),
        (lambda found: found.optimal(loss=1e300), r"loss is 1e\+300; expected one finite number above 0"),
        (lambda found: Intervals(resamples=10**9), "resamples is 1000000000; .* and 100,000 at most"),
        (lambda found: IsoFlopSettings(resamples=10**9), "100,000 at most"),
        (lambda found: LinkSettings(resamples=10**9), "100,000 at most"),
    ],
)
def test_questions_far_beyond_the_runs_are_refused_and_not_answered_by_nan(call, message):
    with pytest.raises(InvalidInputError, match=message):
        call(fit(make_points(good())))
