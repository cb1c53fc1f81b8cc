"""What a recipe costs: parameters of the model that is built, tokens that are read, operations that torch counts."""

from dataclasses import replace

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from evalkit.training import estimate
from evalkit.training.building import Head, new_model
from evalkit.training.estimate import estimate_cost, flops_per_token, matrix_rate
from evalkit.training.recipe_file import find_recipe
from evalkit.training.train import TrainOptions, train


@pytest.mark.parametrize("override", ["pack=separate", "pack=none"])
def test_tokens_are_those_that_training_reads(recipe, lines, override: str):
    whole = recipe("steps=60", f"objective.{override}", "evaluate=")
    cost = estimate_cost(whole, str(lines), "cpu")
    trained = train(whole, TrainOptions(out=lines / "out", data_dir=str(lines), device="cpu", is_quiet=True))
    assert cost.steps == trained.steps
    assert cost.tokens == pytest.approx(trained.tokens_seen, rel=0.05)
    assert cost.note == ""


def test_steps_are_timed_where_the_data_is_at_hand(recipe, lines, tmp_path):
    whole = recipe("steps=60", "evaluate=")
    cost = estimate_cost(whole, str(lines), "cpu")
    assert cost.timed_steps > 0
    assert 0 < cost.time_s < 60
    (tmp_path / "none").mkdir()
    far = estimate_cost(whole, str(tmp_path / "none"), "cpu")
    assert far.timed_steps == 0
    assert "the data is not at hand" in far.note


def test_long_steps_are_reckoned_and_not_timed(recipe, lines, monkeypatch):
    monkeypatch.setattr(estimate, "_LONGEST_STEP_S", 0.0)
    cost = estimate_cost(recipe("steps=60", "evaluate="), str(lines), "cpu")
    assert cost.timed_steps == 0
    assert cost.time_s == pytest.approx(estimate.OVERHEAD * cost.flops / cost.flops_per_s)


def test_epochs_become_steps(recipe, lines):
    whole = recipe("epochs=3", "evaluate=")
    cost = estimate_cost(whole, str(lines), "cpu")
    trained = train(whole, TrainOptions(out=lines / "out", data_dir=str(lines), device="cpu", is_quiet=True))
    assert cost.steps == trained.steps


def test_operations_are_those_that_torch_counts(recipe):
    tiny = recipe("model.dropout=0.0")
    model = new_model(tiny.model, 40, Head(), 0, torch.device("cpu"))
    ids = torch.zeros((1, 32), dtype=torch.long)
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        model(ids).sum().backward()
    assert flops_per_token(tiny, model.config, None) * 32 == pytest.approx(counter.get_total_flops(), rel=0.05)


@pytest.mark.parametrize(
    ("name", "parameters", "tokens"),
    [
        # Radford et al. (2019) with 50,304 rows: 124,439,808 + 47 * 768; 600,000 steps of 491,520 tokens.
        ("gpt2-124m", 124_439_808 + 47 * 768, 600_000 * 491_520),
        # 900,000 steps of 256 sequences of 128; the trunk of 109,482,240 parameters without its pooler of 768 * 769.
        ("bert-base", 109_482_240 - 768 * 769, 900_000 * 256 * 128),
        # Raffel et al. (2020): sources of 512 tokens have targets of 114.
        ("t5-small", 60_506_624, 524_288 * 128 * (512 + 114)),
        ("t5-base", 222_903_552, 524_288 * 128 * (512 + 114)),
    ],
)
def test_published_recipes_have_the_published_numbers(name: str, parameters: int, tokens: int):
    cost = estimate_cost(find_recipe(name), None, "cpu")
    assert cost.parameters == parameters
    assert cost.tokens == tokens
    assert cost.flops > 3 * cost.parameters_non_embedding * cost.tokens
    assert "the data is not at hand" in cost.note


def test_a_text_that_is_written_again_is_half_of_what_a_t5_reads():
    recipe = find_recipe("t5-small")
    config = new_model(
        replace(recipe.model, size=None, width=16, layers=1, heads=2, ff_width=16, max_length=64),
        64,
        Head(),
        0,
        torch.device("cpu"),
    ).config
    whole = replace(recipe, objective=replace(recipe.objective, target="text"))
    # Of 190 tokens 90 are source and 100 target: all decoder layers and the head see them, where spans are a fifth.
    assert flops_per_token(whole, config, 100) > 1.2 * flops_per_token(recipe, config, 100)


def test_a_recipe_that_starts_from_a_checkpoint_says_that_its_size_decides():
    cost = estimate_cost(find_recipe("bert-base-finetune"), None, "cpu")
    assert cost.parameters is None
    assert "--init" in cost.note


def test_matrix_products_are_measured():
    assert matrix_rate(64, 256, torch.device("cpu")) > 1e8
