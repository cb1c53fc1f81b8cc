"""A ladder changes size and length alone, and its data last for its longest training."""

import pytest

from evalkit.errors import UnknownNameError
from evalkit.ladder.presets import PRESETS, Rung, preset_named

TOKENS_A_TEXT = 135
"""Tokens of a story of mini_lm, at least, with a vocabulary of 512."""


@pytest.mark.parametrize("name", PRESETS)
def test_width_times_rate_and_width_times_squared_initial_weights_are_the_same_on_every_rung(name):
    preset = preset_named(name)
    for rung in preset.rungs():
        values = dict(entry.split("=") for entry in preset.overrides(rung))
        assert float(values["optimizer.lr"]) * rung.width == pytest.approx(preset.lr_times_width, rel=1e-4)
        assert float(values["model.init_std"]) ** 2 * rung.width == pytest.approx(0.36, rel=1e-4)
        assert int(values["model.heads"]) * preset.head_width == rung.width
        assert int(values["steps"]) * preset.batch_tokens == pytest.approx(rung.tokens, abs=preset.batch_tokens)


@pytest.mark.parametrize("name", PRESETS)
def test_no_training_sees_a_text_twice(name):
    preset = preset_named(name)
    assert preset.texts * TOKENS_A_TEXT >= max(preset.tokens)


@pytest.mark.parametrize("name", PRESETS)
def test_rungs_are_different_and_the_costliest_come_first(name):
    rungs = preset_named(name).rungs()
    assert len({rung.name for rung in rungs}) == len(rungs)
    assert rungs[0].tokens == max(rung.tokens for rung in rungs)


def test_seeds_are_repeated_where_runs_are_short():
    seeds = [rung for rung in preset_named("cpu").rungs() if rung.seed]
    assert {rung.width for rung in seeds} == {32}
    assert {rung.tokens for rung in seeds} == {131_072, 262_144}


def test_a_rungs_folder_says_what_it_is():
    assert Rung(width=32, tokens=131_072, seed=1).name == "w32-d131072-s1"


def test_an_unknown_preset_is_refused_with_the_known_ones():
    with pytest.raises(UnknownNameError, match="unknown preset 'gpus'; did you mean 'gpu'"):
        preset_named("gpus")


def test_a_short_text_gets_as_many_lengths_none_longer_than_it():
    preset = preset_named("cpu")
    short = preset.shortened(300_000)
    assert short.tokens == (16_384, 32_768, 65_536, 131_072, 262_144)
    assert max(rung.tokens for rung in short.rungs()) == 262_144
    assert preset.shortened(1e9).tokens == preset.tokens
    assert preset.shortened(1000).tokens == (62, 125, 250, 500, 1000)
