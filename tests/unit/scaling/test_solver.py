"""The solver against references: linear programming, scipy's optimisers, closed forms, and itself on more threads."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog, minimize

from evalkit.scaling.constraints import Constraints
from evalkit.scaling.fitting import fit
from evalkit.scaling.laws import LAWS
from evalkit.scaling.losses import Loss, huber
from evalkit.scaling.model import build_model
from evalkit.scaling.points import make_points
from evalkit.scaling.solution import solve
from evalkit.scaling.solver.grid import ExponentGrid, local_cells
from evalkit.scaling.solver.linear import make_positive, solve_positive, whitening

ROOT = Path(__file__).resolve().parents[3]


def ladder(seed=0, noise=0.01, count=40, outliers=0):
    """Runs under a known law with normal noise, and a few that are far off."""
    generator = np.random.default_rng(seed)
    sizes, tokens = np.exp(generator.uniform(14, 21, count)), np.exp(generator.uniform(18, 25, count))
    loss = 1.7 + 400 * sizes**-0.34 + 1500 * tokens**-0.35
    loss *= np.exp(noise * generator.normal(size=count))
    loss[:outliers] *= 1.3
    return make_points({"N": sizes, "D": tokens, "loss": loss})


def test_systems_of_equations_are_solved_as_lapack_does_and_inputs_stay():
    generator = np.random.default_rng(0)
    roots = generator.normal(size=(30, 5, 5))
    matrices, right = roots @ roots.transpose(0, 2, 1), generator.normal(size=(30, 5))
    for batch in (slice(0, 30), slice(0, 1)):
        given, before = matrices[batch], matrices[batch].copy()
        found, is_positive = solve_positive(given, right[batch])
        assert is_positive.all()
        assert found == pytest.approx(np.linalg.solve(given, right[batch][..., None])[..., 0], rel=1e-6)
        assert (given == before).all()


def test_indefinite_matrices_are_told_apart_and_made_positive():
    matrices = np.array([np.diag([1.0, 2.0]), np.diag([1.0, -2.0]), np.full((2, 2), np.nan)])
    _, is_positive = solve_positive(matrices, np.ones((3, 2)))
    assert is_positive.tolist() == [True, False, False]
    assert make_positive(matrices[1:2])[0] == pytest.approx(np.diag([1.0, 2.0]))
    assert make_positive(matrices[2:])[0] == pytest.approx(np.eye(2))


def test_whitened_coordinates_have_the_identity_as_their_gram():
    columns = np.random.default_rng(0).normal(size=(50, 4)) * [1.0, 1e-3, 1e4, 1.0]
    gram = columns.T @ columns
    matrix = whitening(gram)
    assert matrix.T @ gram @ matrix == pytest.approx(np.eye(4), abs=1e-9)


def test_hubers_loss_is_quadratic_within_its_width_and_linear_beyond():
    residuals = np.array([-3.0, -0.5, 0.0, 1.0, 2.0])
    assert huber(residuals, 1.0) == pytest.approx([2.5, 0.125, 0.0, 0.5, 1.5])
    assert huber(residuals, np.inf) == pytest.approx(residuals**2 / 2)
    assert Loss(name="lad").rho(residuals) == pytest.approx(np.abs(residuals))


@pytest.mark.parametrize(
    "loss", [Loss(name=n) for n in ("huber", "lad", "squared_log", "linear_huber", "linear_squared")]
)
def test_psi_is_the_derivative_of_rho(loss):
    residuals = np.array([-0.3, -4e-4, 3e-4, 0.2])
    step = 1e-9
    differences = (loss.rho(residuals + step) - loss.rho(residuals - step)) / (2 * step)
    assert loss.psi(residuals) == pytest.approx(differences, rel=1e-5)


def test_the_best_cell_of_a_grid_is_that_of_non_negative_least_squares_in_every_cell():
    from scipy.optimize import nnls

    points = ladder()
    log_n, log_d = np.log(points.N) - np.log(points.N).mean(), np.log(points.D) - np.log(points.D).mean()
    full = np.array([(alpha, beta) for alpha in (0.02, 0.3, 0.5) for beta in (0.02, 0.35, 2.0)])
    weights = np.random.default_rng(0).multinomial(40, np.full(40, 1 / 40), size=3).astype(float)
    for cells in (full, full[[2, 6, 8]], np.array([[0.02, 0.02], [2.0, 2.0]]), np.array([[1.5, 2.5]])):
        solved = ExponentGrid(log_n, log_d, cells, True).solve(weights, points.loss)
        for row in range(3):
            references = []
            for alpha, beta in cells:
                design = np.column_stack([np.exp(-alpha * log_n), np.exp(-beta * log_d), np.ones(40)])
                root = np.sqrt(weights[row])[:, None] / points.loss[:, None]
                references.append(nnls(design * root, np.sqrt(weights[row]))[1] ** 2)
            assert solved.objective[row].min() == pytest.approx(min(references), rel=1e-6, abs=1e-9)
            assert (solved.amplitudes[row] >= 0).all()


def test_a_pure_law_under_squares_is_the_regression_of_logs():
    points = ladder()
    slope, intercept = np.polyfit(np.log(points.N), np.log(points.loss), 1)
    found = fit(points, "power_n", "squared_log").values
    assert found["alpha"] == pytest.approx(-slope, rel=1e-10)
    assert found["A"] == pytest.approx(np.exp(intercept), rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_least_absolute_deviations_of_a_pure_law_are_those_of_linear_programming(seed):
    points = ladder(seed, noise=0.05, outliers=3)
    design = np.column_stack([np.ones(40), -np.log(points.N)])
    target = np.log(points.loss)
    ends = np.concatenate([np.zeros(2), np.ones(80)])
    equal = np.column_stack([design, np.eye(40), -np.eye(40)])
    program = linprog(ends, A_eq=equal, b_eq=target, bounds=[(None, None)] * 2 + [(0, None)] * 80)
    found = fit(points, "power_n", "lad")
    assert found.quality.objective == pytest.approx(program.fun, rel=1e-9)


@pytest.mark.parametrize("loss", ["huber", "squared_log", "linear_huber", "linear_squared", "lad"])
def test_no_start_of_a_general_optimiser_gets_lower(loss):
    points = ladder(3, outliers=3)
    chosen = Loss(name=loss)
    found = fit(points, "chinchilla", chosen)

    def objective(x):
        a, b, e, alpha, beta = x
        predicted = np.exp(a - alpha * np.log(points.N)) + np.exp(b - beta * np.log(points.D)) + np.exp(e)
        residuals = points.loss - predicted if chosen.is_linear else np.log(points.loss / predicted)
        return float(chosen.rho(residuals).sum())

    generator = np.random.default_rng(0)
    for _ in range(6):
        start = generator.uniform([3, 3, -1, 0.1, 0.1], [9, 9, 1, 0.7, 0.7])
        other = minimize(
            objective, start, method="Nelder-Mead", options={"maxiter": 4000, "xatol": 1e-10, "fatol": 1e-14}
        )
        assert found.quality.objective <= other.fun * (1 + 1e-9)


def test_noise_free_runs_give_back_the_law():
    points = ladder(noise=0.0)
    for loss in ("huber", "lad", "squared_log", "linear_squared"):
        found = fit(points, loss=loss).values
        assert [found[name] for name in ("E", "A", "alpha", "B", "beta")] == pytest.approx(
            [1.7, 400.0, 0.34, 1500.0, 0.35], rel=1e-5
        )


def test_a_negative_offset_is_held_at_zero_and_others_are_fitted_on():
    generator = np.random.default_rng(0)
    sizes = np.geomspace(1e6, 1e9, 12)
    points = make_points({"N": sizes, "loss": 20 * sizes**-0.1 * np.exp(0.002 * generator.normal(size=12))})
    pure, offset = fit(points, "power_n"), fit(points, "offset_n", constraints=Constraints(bounds={"E": (0.0, 1e-12)}))
    assert offset.quality.objective == pytest.approx(pure.quality.objective, rel=1e-6)


@pytest.mark.parametrize("bounds", [(0.4, 0.6), (0.1, 0.3)])
def test_a_bound_holds_and_the_rest_is_the_minimum_on_it(bounds):
    points = ladder()
    edge = bounds[0] if bounds[0] > 0.34 else bounds[1]
    bounded = fit(points, constraints=Constraints(bounds={"alpha": bounds}))
    held = fit(points, constraints=Constraints(fixed={"alpha": edge}))
    assert bounded.values["alpha"] == pytest.approx(edge, abs=1e-9)
    assert bounded.quality.objective == pytest.approx(held.quality.objective, rel=1e-9)
    assert "at-bound" in {warning.code for warning in bounded.warnings}


def test_a_bound_that_is_not_reached_changes_nothing():
    points = ladder()
    free, bounded = fit(points), fit(points, constraints=Constraints(bounds={"alpha": (0.01, 3.0), "E": (None, 9.0)}))
    assert bounded.values == pytest.approx(free.values, rel=1e-9)


def test_tied_exponents_are_equal_and_cost_what_one_parameter_less_costs():
    points = ladder()
    tied, free = fit(points, "chinchilla_tied"), fit(points)
    assert tied.values["alpha"] == tied.values["beta"]
    assert tied.quality.objective >= free.quality.objective
    best = min(
        fit(points, constraints=Constraints(fixed={"alpha": x, "beta": x})).quality.objective
        for x in np.linspace(tied.values["alpha"] - 1e-3, tied.values["alpha"] + 1e-3, 5)
    )
    assert tied.quality.objective == pytest.approx(best, rel=1e-9)


def test_a_strong_prior_holds_and_a_weak_one_lets_go():
    points = ladder()
    free = fit(points).values["alpha"]
    strong = fit(points, constraints=Constraints(priors={"alpha": (0.5, 1e-5)})).values["alpha"]
    weak = fit(points, constraints=Constraints(priors={"alpha": (0.5, 1e3)})).values["alpha"]
    middle = fit(points, constraints=Constraints(priors={"alpha": (0.5, 0.05)})).values["alpha"]
    assert strong == pytest.approx(0.5, abs=1e-3)
    assert weak == pytest.approx(free, abs=1e-5)
    assert free < middle < 0.5


def test_groups_share_exponents_and_have_offsets_of_their_own():
    first, second = ladder(0), ladder(1)
    table = {name: np.concatenate([getattr(first, name), getattr(second, name)]) for name in ("N", "D")}
    table |= {"loss": np.concatenate([first.loss, second.loss + 0.5]), "group": ["a"] * 40 + ["b"] * 40}
    found = fit(make_points(table), "chinchilla_by_group")
    assert found.values["E[b]"] - found.values["E[a]"] == pytest.approx(0.5, abs=0.05)
    at = {"N": 1e9, "D": 1e10}
    difference = found.predict({**at, "group": "b"}) - found.predict({**at, "group": "a"})
    assert difference[0] == pytest.approx(found.values["E[b]"] - found.values["E[a]"], rel=1e-9)


def test_weights_count_as_repeated_rows_do():
    points = ladder()
    counts = np.random.default_rng(0).integers(1, 4, 40)
    rows = np.repeat(np.arange(40), counts)
    table = {"N": points.N, "D": points.D, "loss": points.loss}
    weighted = fit(make_points({**table, "weights": counts.astype(float)}))
    repeated = fit(make_points({name: values[rows] for name, values in table.items()}))
    assert weighted.values == pytest.approx(repeated.values, rel=1e-7)
    assert weighted.quality.objective == pytest.approx(repeated.quality.objective, rel=1e-10)


def test_the_order_of_rows_does_not_matter():
    points = ladder()
    order = np.random.default_rng(0).permutation(40)
    assert fit(points.take(order)).values == pytest.approx(fit(points).values, rel=1e-8)


@pytest.mark.parametrize("factor", [1e-3, 1e3])
def test_units_of_size_and_of_tokens_move_the_amplitudes_alone(factor):
    points = ladder()
    scaled = make_points({"N": points.N * factor, "D": points.D * factor, "loss": points.loss})
    found, plain = fit(scaled).values, fit(points).values
    for name in ("E", "alpha", "beta"):
        assert found[name] == pytest.approx(plain[name], rel=1e-7)
    assert found["A"] == pytest.approx(plain["A"] * factor ** plain["alpha"], rel=1e-6)


def test_resamples_end_where_certified_fits_of_the_same_rows_end():
    points = ladder(2, outliers=4)
    model = build_model(points, LAWS["chinchilla"], Loss(), Constraints())
    solution = solve(model)
    counts = np.random.default_rng(0).multinomial(40, np.full(40, 1 / 40), size=12).astype(float)
    found = model.refit(counts, solution.bases)
    for row, weights in enumerate(counts):
        table = {"N": points.N, "D": points.D, "loss": points.loss, "weights": weights}
        assert found.objective[row] == pytest.approx(fit(make_points(table)).quality.objective, rel=1e-9)


PROGRAM = """
import numpy as np
from evalkit.scaling.fitting import Intervals, fit
from evalkit.scaling.points import make_points
generator = np.random.default_rng(0)
sizes, tokens = np.exp(generator.uniform(14, 21, 300)), np.exp(generator.uniform(18, 25, 300))
loss = (1.7 + 400 * sizes**-0.34 + 1500 * tokens**-0.35) * np.exp(0.01 * generator.normal(size=300))
found = fit(make_points({"N": sizes, "D": tokens, "loss": loss}), intervals=Intervals(resamples=100))
print(*[(p.value.hex(), p.low.hex(), p.high.hex()) for p in found.parameters.values()])
"""


def test_one_and_two_threads_give_the_same_digits():
    printed = set()
    for threads in ("1", "2"):
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        environment |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), threads)
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, env=environment
        )
        printed.add(done.stdout)
    assert len(printed) == 1


def test_the_package_is_imported_without_numpy_and_the_door_opens_on_demand():
    code = (
        "import sys, evalkit.scaling as s; assert 'numpy' not in sys.modules;"
        "from evalkit.scaling import Intervals, Points, fit; assert fit.__name__ == 'fit'"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": str(ROOT)})


def test_cells_without_a_solution_leave_their_places_to_those_with_one():
    cells = np.array([(a, b) for a in range(6) for b in range(6)], dtype=float)
    objective = np.where(cells[:, 0] < 4, np.inf, cells.sum(axis=1))
    assert local_cells(objective, cells, 5).tolist() == [24, 25, 30, 26, 31]


def test_a_law_without_a_floor_is_certified_from_as_many_starts_as_any():
    n, d = (each.ravel() for each in np.meshgrid(np.geomspace(1e4, 2e5, 5), np.geomspace(1e5, 2e6, 5)))
    loss = 25 * n**-0.45 + 330 * d**-0.52 - 0.05
    found = fit(make_points({"N": n, "D": d, "loss": loss}))
    assert found.values["E"] == pytest.approx(0.0, abs=1e-9)
    assert (found.certificate.starts, found.certificate.agreed) == (40, 40)
