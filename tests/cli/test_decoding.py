"""How text is generated, as flags of `run`: checked before any work, recorded, and obeyed."""

import json

import pytest

pytestmark = pytest.mark.usefixtures("one_thread")

TASK = ("--task", "mini_mt_zh_en", "--size", 3, "--device", "cpu", "--on-overflow", "truncate", "--max-new-tokens", 12)


def answers(evalkit, tmp_path, model, *flags):
    outcome = evalkit("run", *TASK, "--model", model, *flags, "--json")
    assert outcome.code == 0, outcome.err
    (found,) = outcome.json["runs"]
    lines = (tmp_path / "runs" / found["id"] / "samples.jsonl").read_text(encoding="utf-8").splitlines()
    return found, [json.loads(line)["response"] for line in lines]


def test_every_setting_of_generation_is_recorded_and_changes_the_answers(evalkit, tmp_path, gpt):
    sampled = ("--temperature", 0.9, "--seed", 3)
    pairs = [
        ((), ("--repetition-penalty", 1.5), {"repetition_penalty": 1.5}),
        (sampled, (*sampled, "--top-k", 2), {"top_k": 2, "temperature": 0.9, "seed": 3}),
        (sampled, (*sampled, "--top-p", 0.05), {"top_p": 0.05}),
        ((), ("--beams", 3, "--length-penalty", 0.4), {"beams": 3, "length_penalty": 0.4}),
    ]
    for before, flags, expected in pairs:
        _, plain = answers(evalkit, tmp_path, gpt, *before)
        found, changed = answers(evalkit, tmp_path, gpt, *flags)
        decoding = found["settings"]["decoding"]
        assert {name: decoding[name] for name in expected} == expected
        assert changed != plain


def test_the_limit_of_new_tokens_replaces_the_tasks_own(evalkit, tmp_path, gpt):
    found, responses = answers(evalkit, tmp_path, gpt)
    assert found["settings"]["max_new_tokens"] == 12
    assert all(response["token_count"] <= 12 for response in responses)
    longer, _ = answers(evalkit, tmp_path, gpt, "--max-new-tokens", 13)
    # Answers of another length are another task: no gate compares them by accident.
    assert longer["task"]["digest"] != found["task"]["digest"]


def test_a_limit_of_new_tokens_needs_generated_text(evalkit, segmenter):
    outcome = evalkit("run", "--task", "mini_cws", "--size", 2, "--model", segmenter, "--max-new-tokens", 5)
    assert outcome.code == 2
    (line,) = outcome.err.strip().splitlines()
    assert "--max-new-tokens 5 limits generated text, but model" in line
    assert "by 'label' requests; leave it out" in line


@pytest.mark.parametrize(
    ("flags", "fragment"),
    [
        (("--top-k", 5), "top_k is 5, which changes nothing at temperature 0"),
        (("--top-p", 0.9), "top_p is 0.9, which changes nothing at temperature 0"),
        (("--length-penalty", 0.5), "length_penalty is 0.5, which changes nothing without beam search"),
        (("--temperature", 1, "--top-p", 0), "top_p is 0.0; expected above 0 and at most 1"),
        (("--temperature", 1, "--top-p", "nan"), "top_p is nan"),
        (("--temperature", "nan"), "temperature is nan"),
        (("--repetition-penalty", 0), "repetition_penalty is 0.0; expected above 0"),
        (("--beams", 2, "--length-penalty", "inf"), "length_penalty is inf"),
        (("--beams", 2, "--temperature", 1), "beam search does not sample"),
        (("--temperature", 1, "--top-k", -1), "--top-k"),
        (("--max-new-tokens", 0), "--max-new-tokens"),
    ],
)
def test_settings_that_cannot_be_or_change_nothing_are_refused_before_the_model_is_opened(evalkit, flags, fragment):
    outcome = evalkit("run", "--task", "mini_mt_zh_en", "--model", "baseline:copy", *flags)
    assert outcome.code == 2
    assert fragment in outcome.err
    assert "Traceback" not in outcome.err
