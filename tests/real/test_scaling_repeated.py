"""Published laws of repeated data and of the best allocation: worked values, decay constants and closed forms."""

import csv
import json
import math
from pathlib import Path

import pytest

from evalkit.scaling.constraints import Constraints
from evalkit.scaling.fitting import fit
from evalkit.scaling.laws.chinchilla import Chinchilla
from evalkit.scaling.points import make_points

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def golden(data_dir: Path) -> dict:
    return json.loads((data_dir / "scaling" / "golden.json").read_text(encoding="utf-8"))


def points(data_dir: Path, name: str, columns=("N", "D"), keep=lambda row: True):
    with (data_dir / "scaling" / name).open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if keep(row)]
    return make_points({column: [float(row[column]) for row in rows] for column in (*columns, "loss")})


@pytest.fixture(scope="module")
def published(golden) -> dict[str, float]:
    values = golden["data_constrained"]["published_params"]
    return {
        "E": math.exp(values["e"]),
        "A": math.exp(values["a"]),
        "alpha": values["alpha"],
        "B": math.exp(values["b"]),
        "beta": values["beta"],
    }


@pytest.fixture(scope="module")
def runs(data_dir):
    return points(data_dir, "datablations_c4_small.csv", ("N", "D", "U"))


@pytest.fixture(scope="module")
def decays(golden) -> dict[str, float]:
    values = golden["data_constrained"]["published_params"]
    return {"R_D": values["RD_star"], "R_N": values["RN_star"]}


class TestRepeatedData:
    """Muennighoff et al., 2023."""

    def test_published_worked_values_agree_to_the_last_digits(self, golden, runs, published, decays):
        found = fit(runs, "repeated", constraints=Constraints(fixed=published | decays))
        for case in golden["data_constrained"]["worked"]:
            predicted = found.predict({name: case[name] for name in ("N", "D", "U")})[0]
            assert predicted == pytest.approx(case["loss"], rel=1e-12)

    def test_the_allocation_under_a_cap_of_unique_tokens_is_exact(self, golden, runs, published, decays):
        found = fit(runs, "repeated", constraints=Constraints(fixed=published | decays))
        best = found.optimal(C=1e22, unique_tokens=25e9)
        expected = golden["data_constrained"]["allocation_C1e22_U25e9"]["exact_1d_minimum"]
        assert best.N.value == pytest.approx(expected["N"], rel=1e-7)
        assert best.D.value == pytest.approx(expected["D"], rel=1e-7)
        assert best.epochs.value == pytest.approx(expected["epochs"], rel=1e-6)
        assert best.loss.value == pytest.approx(expected["loss"], rel=1e-11)

    def test_decay_constants_agree_on_the_shared_runs(self, golden, runs, published):
        expected = golden["data_constrained"]["shared_subset_fit"]
        found = fit(runs, "repeated", constraints=Constraints(fixed=published))
        assert found.quality.objective <= expected["huber1e_3"] * (1 + 1e-6)
        assert found.values["R_D"] == pytest.approx(expected["RD_star"], rel=1e-3)
        assert found.values["R_N"] == pytest.approx(expected["RN_star"], rel=1e-3)

    @pytest.mark.parametrize("unique", ["1e8", "4e8", "1.5e9"])
    def test_the_largest_size_that_unique_tokens_are_worth_agrees(self, golden, runs, published, unique):
        rate = 0.01
        found = fit(runs, "repeated", constraints=Constraints(fixed=published | {"R_D": 10.0, "R_N": rate}))
        # Of a far larger model 1 + R_N times that size is left, which the loss tells.
        loss = found.predict({"N": 1e15, "D": float(unique), "U": float(unique)})[0]
        size_term = loss - published["E"] - published["B"] * float(unique) ** -published["beta"]
        left = (size_term / published["A"]) ** (-1 / published["alpha"])
        assert left / (1 + rate) == pytest.approx(golden["data_constrained"]["N_opt_of_U"][unique], rel=1e-8)

    def test_a_joint_fit_more_than_halves_the_objective(self, golden, runs):
        held = golden["data_constrained"]["shared_subset_fit"]["huber1e_3"]
        assert fit(runs, "repeated").quality.objective < 0.5 * held


@pytest.mark.parametrize("budget", ["C_1e21", "C_5p76e23"])
def test_closed_forms_of_the_best_allocation_agree(golden, data_dir, budget):
    expected = golden["closed_form"]
    kept = points(data_dir, "chinchilla_fig4_epoch.csv", keep=lambda row: row["kept_by_epoch"] == "1")
    found = fit(kept, Chinchilla(), constraints=Constraints(fixed=expected["params"]))
    best = found.optimal(C={"C_1e21": 1e21, "C_5p76e23": 5.76e23}[budget])
    assert found.derived["a"].value == pytest.approx(expected["a_N"], rel=1e-6)
    assert found.derived["G"].value == pytest.approx(expected["G"], rel=1e-6)
    assert best.N.value == pytest.approx(expected[budget]["N"], rel=1e-6)
    assert best.D.value == pytest.approx(expected[budget]["D"], rel=1e-6)
    assert best.loss.value == pytest.approx(expected[budget]["loss"], rel=1e-6)
