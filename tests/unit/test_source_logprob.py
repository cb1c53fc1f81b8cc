"""An embedded source whose law is known tells the exact probability of its texts."""

import math

import pytest

from evalkit.catalog import source_logprob, tasks


def test_the_mean_over_many_stories_is_the_entropy_of_their_source():
    logprob, task = source_logprob("mini_lm"), tasks()["mini_lm"]
    texts = [row["text"] for row in task.generated.rows("test", 2000, 0)]
    nats = -math.fsum(map(logprob, texts)) / sum(map(len, texts))
    # Two standard errors of a mean over 2,000 texts are about 1%.
    assert nats == pytest.approx(task.generated.facts()["entropy_nats_per_character"], rel=0.01)


def test_other_tasks_have_no_known_source():
    assert source_logprob("mini_ner") is None
    assert source_logprob("squad") is None
