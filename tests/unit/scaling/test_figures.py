"""Figures are the same bytes for the same input, whatever the user's settings, and show what they claim."""

import re

import matplotlib
import numpy as np
import pytest

from evalkit.errors import MissingResourceError, UnknownNameError
from evalkit.scaling.figures import canvas
from evalkit.scaling.figures.canvas import nice_steps, panels, split_line, styled, to_bytes
from evalkit.scaling.figures.isoflop import draw_growth, draw_valleys
from evalkit.scaling.isoflop import fit_isoflop
from evalkit.scaling.isoflop_valleys import IsoFlopSettings
from evalkit.scaling.points import make_points


def profiles():
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
    fitted = profiles()
    first = to_bytes(draw(fitted), form)
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red", "svg.hashsalt": None}):
        second = to_bytes(draw(fitted), form)
    assert first == second
    assert len(first) < 300_000


def test_files_hold_no_time_and_no_maker():
    svg = to_bytes(draw_valleys(profiles()), "svg").decode()
    assert "dc:date" not in svg
    assert "Matplotlib v" not in svg
    assert b"Software" not in to_bytes(draw_valleys(profiles()), "png")


def test_axes_have_units_and_intervals_their_level():
    figure = draw_growth(profiles())
    left, right = figure.axes
    assert left.get_xlabel() == "C, training compute in FLOPs"
    assert left.get_ylabel() == "N*, best number of parameters"
    assert right.get_ylabel() == "D*, best number of training tokens"
    assert "95% of the line" in [text.get_text() for text in left.get_legend().get_texts()]
    (axis, _) = draw_valleys(profiles()).axes
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
        to_bytes(draw_valleys(profiles()), "pdf")
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(MissingResourceError, match=re.escape("pip install 'evalkit[plots]'")):
        canvas.import_matplotlib()
