"""Figures are the same bytes for the same input, whatever the user's settings, and show what they claim."""

import re

import matplotlib
import numpy as np
import pytest

from evalkit.errors import InvalidInputError, MissingResourceError, UnknownNameError
from evalkit.scaling import Intervals, fit
from evalkit.scaling.figures import canvas
from evalkit.scaling.figures.canvas import nice_steps, panels, split_line, styled, to_bytes
from evalkit.scaling.figures.isoflop import draw_growth, draw_valleys
from evalkit.scaling.figures.law import draw_allocation, draw_contours, draw_law, draw_residuals
from evalkit.scaling.figures.uncertainty import draw_draws, draw_profiles
from evalkit.scaling.isoflop import fit_isoflop
from evalkit.scaling.isoflop_valleys import IsoFlopSettings
from evalkit.scaling.model import build_model
from evalkit.scaling.points import make_points
from evalkit.scaling.profile import profiles
from evalkit.scaling.solution import solve


def swept():
    budgets = 10.0 ** np.arange(17, 21)
    # N* of the law below (Hoffmann et al., 2022, equation 4).
    best = (0.34 / 0.28) ** (1 / 0.62) * (budgets / 6) ** (0.28 / 0.62)
    sizes = (best[:, None] * np.geomspace(0.4, 2.5, 7)).ravel()
    compute = np.repeat(budgets, 7)
    tokens = compute / 6 / sizes
    noise = 1 + 0.001 * np.random.default_rng(0).normal(size=len(sizes))
    losses = (1.7 + 400 * sizes**-0.34 + 400 * tokens**-0.28) * noise
    return fit_isoflop(make_points({"N": sizes, "D": tokens, "loss": losses}), IsoFlopSettings(resamples=50))


@pytest.mark.parametrize("draw", [draw_valleys, draw_growth])
@pytest.mark.parametrize("form", ["svg", "png"])
def test_the_same_input_gives_the_same_bytes_whatever_the_users_settings(draw, form):
    fitted = swept()
    first = to_bytes(draw(fitted), form)
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red", "svg.hashsalt": None}):
        second = to_bytes(draw(fitted), form)
    assert first == second
    assert len(first) < 300_000


def test_files_hold_no_time_and_no_maker():
    svg = to_bytes(draw_valleys(swept()), "svg").decode()
    assert "dc:date" not in svg
    assert "Matplotlib v" not in svg
    assert b"Software" not in to_bytes(draw_valleys(swept()), "png")


def test_axes_have_units_and_intervals_their_level():
    figure = draw_growth(swept())
    left, right = figure.axes
    assert left.get_xlabel() == "C, training compute in FLOPs"
    assert left.get_ylabel() == "N*, best number of parameters"
    assert right.get_ylabel() == "D*, best number of training tokens"
    assert "95% of the line" in [text.get_text() for text in left.get_legend().get_texts()]
    (axis, _) = draw_valleys(swept()).axes
    assert axis.get_ylabel() == "loss in nats/token"


def test_lines_are_dashed_beyond_the_observed_range_alone():
    @styled
    def draw():
        figure, (axis,) = panels(1, 1)
        x = np.geomspace(1, 100, 21)
        split_line(axis, x, x, (3.0, 30.0), color="k")
        return figure

    lines = draw().axes[0].get_lines()
    spans = {(line.is_dashed(), round(line.get_xdata().min(), 3), round(line.get_xdata().max(), 3)) for line in lines}
    solid = [span for span in spans if not span[0]]
    assert len(solid) == 1
    assert solid[0][1] >= 3.0
    assert solid[0][2] <= 30.0
    assert {span[1:] for span in spans if span[0]} == {(1.0, 2.512), (31.623, 100.0)}


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (1.9, 5.2, [2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0]),
        (2.91, 3.04, [2.92, 2.94, 2.96, 2.98, 3.0, 3.02, 3.04]),
        (0.1, 1.0, [0.2, 0.4, 0.6, 0.8, 1.0]),
    ],
)
def test_tick_labels_are_round_numbers(low, high, expected):
    assert nice_steps(low, high) == pytest.approx(expected)


def test_formats_and_a_missing_library_are_one_clear_line(monkeypatch):
    with pytest.raises(UnknownNameError, match="unknown format of figures 'pdf'"):
        to_bytes(draw_valleys(swept()), "pdf")
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(MissingResourceError, match=re.escape("pip install 'evalkit[plots]'")):
        canvas.import_matplotlib()


def runs():
    sizes, tokens = np.meshgrid(np.geomspace(1e7, 1e9, 4), np.geomspace(1e9, 1e11, 4))
    sizes, tokens = sizes.ravel(), tokens.ravel()
    noise = np.exp(0.003 * np.random.default_rng(0).normal(size=16))
    losses = (1.7 + 400 * sizes**-0.34 + 400 * tokens**-0.28) * noise
    return make_points({"N": sizes, "D": tokens, "loss": losses})


@pytest.fixture(scope="module")
def fitted():
    return fit(runs(), intervals=Intervals(resamples=100))


@pytest.mark.parametrize("draw", [draw_law, draw_allocation, draw_contours, draw_residuals, draw_draws])
def test_figures_of_a_fit_are_the_same_bytes_twice(fitted, draw):
    assert to_bytes(draw(fitted), "svg") == to_bytes(draw(fitted), "svg")


def test_a_joint_law_is_drawn_over_size_tokens_and_compute_with_units(fitted):
    axes = [axis for axis in draw_law(fitted).axes if axis.get_xlabel()]
    assert [axis.get_xlabel() for axis in axes] == [
        "N, parameters",
        "D, training tokens",
        "C = 6ND, training compute in FLOPs",
    ]
    assert {axis.get_ylabel() for axis in axes} == {"loss in nats/token"}
    assert all("95% band of the mean" in axis.get_title() for axis in axes)


def test_a_known_floor_is_drawn_and_named(fitted):
    axis = draw_law(fitted, floor=("a perfect model", 1.5)).axes[0]
    assert any("a perfect model" in text.get_text() for text in axis.texts)


def test_a_law_of_one_axis_is_one_panel():
    points = runs()
    alone = fit(points.take(points.axis("D") == points.axis("D").max()), "power_n")
    assert len(draw_law(alone).axes) == 1
    assert len(draw_residuals(alone).axes) == 1


def test_profiles_show_estimate_and_ends():
    points = runs()
    plain = fit(points)
    found = profiles(solve(build_model(points, plain.law, plain.loss, plain.constraints)))
    figure = draw_profiles(found, plain.values, 0.95)
    shown = [axis.get_xlabel() for axis in figure.axes if axis.get_visible()]
    assert shown == list(found)


def test_a_fit_without_resamples_has_no_draws_to_draw():
    with pytest.raises(InvalidInputError, match="the fit has no resamples"):
        draw_draws(fit(runs()))
