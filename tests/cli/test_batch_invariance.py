"""`evalkit doctor --batch-invariance` on tiny models of the three families, right ones and a wrong one."""

import pytest

from evalkit.adapters.engine.scoring import Scorer

pytestmark = pytest.mark.usefixtures("one_thread")

KINDS = {
    "gpt": ["generate", "score", "rolling"],
    "t5": ["generate", "score"],
    "segmenter": ["label"],
    "classifier": ["classify"],
    "reader": ["span"],
    "masked_lm": ["rolling"],
}


@pytest.mark.parametrize("model", KINDS)
def test_every_family_is_measured_for_each_kind_of_request(evalkit, request, model):
    folder = request.getfixturevalue(model)
    outcome = evalkit("doctor", "--batch-invariance", "--model", folder, "--device", "cpu", "--limit", 17, "--json")
    assert outcome.code == 0, outcome.err
    found = outcome.json
    assert found["invariant"]
    assert found["batch_sizes"] == [1, 3, 16, "auto"]
    assert len(found["orders"]) == 3
    assert [one["kind"] for one in found["kinds"]] == KINDS[model]
    for one in found["kinds"]:
        assert (one["asked"], one["failed"], one["different"], one["where"]) == (17, 0, 0, None)
        # Exactly nothing would mean that the batches were not other ones.
        assert one["largest_difference"] is None or one["largest_difference"] <= 1e-5


def test_a_model_whose_numbers_depend_on_its_neighbours_is_found_and_exits_with_1(evalkit, gpt, monkeypatch):
    batch = Scorer._batch

    def drifting(self, questions, is_ranked):
        found = batch(self, questions, is_ranked)
        return [
            [type(one)(one.logprob_nats - 1e-3 * (len(questions) - 1), one.is_greedy) for one in scored]
            for scored in found
        ]

    monkeypatch.setattr(Scorer, "_batch", drifting)
    outcome = evalkit("doctor", "--batch-invariance", "--model", gpt, "--device", "cpu")
    assert outcome.code == 1
    lines = outcome.out.splitlines()
    assert lines[2].startswith("generate")
    assert lines[2].endswith("yes")
    assert all(line.endswith("no") for line in lines[3:5])
    assert "rolling: first seen at rolling-" in outcome.out
    assert lines[-1].startswith("not invariant: batch sizes 1, 3, 16, auto, each in 3 orders, float32")


@pytest.mark.parametrize(
    ("flags", "fragment"),
    [
        (("--batch-invariance",), "name it with --model FOLDER"),
        (("--model", "x"), "--model 'x' is measured by --batch-invariance only"),
        (("--batch-invariance", "--metrics", "--model", "x"), "are different checks; name one at a time"),
        (("--batch-invariance", "--model", "baseline:copy"), "'baseline:copy' computes nothing in batches"),
        (("--batch-invariance", "--model", "nowhere"), "model 'nowhere' is no folder"),
    ],
)
def test_flags_that_do_not_go_together_are_one_clear_line(evalkit, flags, fragment):
    outcome = evalkit("doctor", *flags)
    assert outcome.code == 2
    (line,) = outcome.err.strip().splitlines()
    assert fragment in line
