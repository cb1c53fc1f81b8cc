"""Runs that are killed at random moments; `benchmarks/crash.py` does the same a hundred times."""

import random

import pytest

from benchmarks.crash import SlowModel, crash, serving

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("seed", [1, 2])
def test_a_run_that_is_killed_again_and_again_ends_as_one_that_never_was(seed):
    """Ten kills in all. The bytes of the samples, one folder, and no answer twice but the one in hand: asserted inside."""
    model = SlowModel()
    with serving(model) as url:
        reference = f"openai:slow@{url}?api=completions"
        arguments = ["--task", "mini_mt_en_zh", "--model", reference, "--batch-size", "1", "--size", "60"]
        tally = crash(arguments, 5, random.Random(seed), model)
    assert tally.kills == 5
    assert tally.asked_again <= 5
