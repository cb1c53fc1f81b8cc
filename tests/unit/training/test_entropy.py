"""No model may find texts of a known source more probable than the source itself does: that would be a leak."""

import math
from statistics import mean, stdev

import pytest

from evalkit.adapters.neural import open_checkpoint
from evalkit.catalog import find_task, source_logprob
from evalkit.data.load import load
from evalkit.requests import ModelSettings, RollingRequest
from evalkit.resolve import resize
from evalkit.training.recipe_file import find_recipe
from evalkit.training.train import TrainOptions, train


def deviations_below_entropy(texts: list[str], logprobs: list[float]) -> float:
    """How many standard errors the mean log-probability lies above the source's own on the same texts."""
    logprob = source_logprob("mini_lm")
    gains = [found - logprob(text) for text, found in zip(texts, logprobs, strict=True)]
    return mean(gains) / (stdev(gains) / math.sqrt(len(gains)))


def stories(count: int) -> list[str]:
    return [row.inputs["text"] for row in load(resize(find_task("mini_lm"), "test", count), "test").examples]


def test_a_model_that_knows_the_texts_would_be_found_out():
    texts = stories(200)
    truth = [source_logprob("mini_lm")(text) for text in texts]
    assert deviations_below_entropy(texts, [0.98 * value for value in truth]) > 10
    assert deviations_below_entropy(texts, [1.02 * value for value in truth]) < -10


@pytest.mark.slow
def test_a_trained_model_stays_above_the_entropy_of_its_source(tmp_path):
    recipe = find_recipe("gpt-mini-lm", ["data.size=600", "evaluate.limit=10", "evaluate.metric=loss"])
    options = TrainOptions(out=tmp_path / "gpt", device="cpu", is_quiet=True)
    assert train(recipe, options) is not None
    texts = stories(100)
    adapter = open_checkpoint(str(tmp_path / "gpt"), ModelSettings(device="cpu"))
    requests = [RollingRequest(example_id=str(number), text=text) for number, text in enumerate(texts)]
    logprobs = [response.logprob_nats for response in adapter.answer(requests)]
    words = sum(len(text.split()) for text in texts)
    loss = -sum(logprobs) / words
    # A unigram model of words loses more than 5 nats a word, and nothing can lose less than the source's 1.2661.
    assert 1.2661 < loss < 4.0
    assert deviations_below_entropy(texts, logprobs) < 0
