"""The frontier is the best run of each range of compute, and gives the reference's exponents."""

import csv
import json

import numpy as np
import pytest

from evalkit.errors import InvalidInputError
from evalkit.scaling import fit, make_points
from evalkit.scaling.frontier import frontier


@pytest.mark.real
def test_the_published_runs_give_the_references_frontier(data_dir):
    expected = json.loads((data_dir / "scaling" / "golden.json").read_text())["chinchilla_fig4_epoch"]
    expected = expected["frontier_L(C)_quarter_decade_bins"]
    with (data_dir / "scaling" / "chinchilla_fig4_epoch.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if row["kept_by_epoch"] == "1"]
    found = frontier(make_points({name: [float(row[name]) for row in rows] for name in ("N", "D", "C", "loss")}))
    assert len(found.points) == expected["n"]
    assert found.size_exponent == pytest.approx(expected["approach1_N_exponent"], rel=1e-6)
    pure = fit(found.points, "power_c", "squared_log").values
    assert pure["alpha"] == pytest.approx(expected["pure"]["alpha"], rel=1e-6)
    offset = fit(found.points, "offset_c", "squared_log").values
    assert offset["alpha"] == pytest.approx(expected["offset"]["alpha"], abs=1e-3)
    assert offset["E"] == pytest.approx(expected["offset"]["E"], abs=1e-3)


def test_each_range_keeps_its_lowest_loss():
    compute = np.array([1e18, 1.2e18, 1e19, 1.1e19, 1e20])
    sizes = np.array([1e8, 2e8, 3e8, 1e9, 2e9])
    losses = [3.0, 2.9, 2.5, 2.6, 2.2]
    found = frontier(make_points({"N": sizes, "D": compute / 6 / sizes, "loss": losses}))
    assert found.points.loss.tolist() == [2.9, 2.5, 2.2]
    slope = np.polyfit(np.log(compute[[1, 2, 4]]), np.log(sizes[[1, 2, 4]]), 1)
    assert found.size_exponent == pytest.approx(slope[0])
    assert found.size_coefficient == pytest.approx(np.exp(slope[1]))
    assert found.tokens_exponent == pytest.approx(1 - slope[0])


def test_too_few_ranges_and_no_bins_are_refused():
    points = make_points({"N": [1e8, 2e8], "D": [1e9, 1e9], "loss": [3.0, 2.9]})
    with pytest.raises(InvalidInputError, match="runs fall into 2 ranges of compute; a frontier needs 3"):
        frontier(points)
    with pytest.raises(InvalidInputError, match="bins_per_decade is 0"):
        frontier(points, 0)
