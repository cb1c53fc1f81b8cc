"""Checkpoint folders through the command line: tiny random models of the three families on embedded tasks."""

import pytest
import torch

pytestmark = pytest.mark.usefixtures("one_thread")


def record(outcome) -> dict:
    assert outcome.code == 0, outcome.err
    (found,) = outcome.json["runs"]
    return found


def test_a_gpt_rolls_over_texts_and_the_record_names_its_weights_and_settings(evalkit, gpt):
    found = record(evalkit("run", "--task", "mini_lm", "--size", 6, "--model", gpt, "--device", "cpu", "--json"))
    assert found["model"]["name"] == "gpt-tiny"
    assert found["model"]["family"] == "gpt"
    assert found["model"]["parameters"] > found["model"]["parameters_non_embedding"] > 0
    assert found["model"]["shape"]["layers"] >= 1
    assert set(found["model"]["training"]) >= {"recipe_digest", "seed", "lr"}
    assert (found["settings"]["device"], found["settings"]["dtype"]) == ("cpu", "float32")
    assert found["settings"]["request_kind"] == "rolling"
    value = next(value for value in found["metrics"] if value["name"] == "token_perplexity")
    # Random weights are about as good as a uniform guess over 320 tokens.
    assert 200 < value["value"] < 500


def test_a_gpt_generates_for_a_translation_task_with_shots(evalkit, gpt):
    arguments = ("run", "--task", "mini_mt_zh_en", "--size", 4, "--model", gpt, "--shots", 1, "--json")
    outcome = evalkit(*arguments, "--on-overflow", "truncate")
    found = record(outcome)
    assert found["settings"]["request_kind"] == "generate"
    assert found["counts"]["examples"] == 4
    assert found["counts"]["truncated"] > 0


def test_a_prompt_longer_than_the_model_is_one_clear_error_unless_told_otherwise(evalkit, gpt):
    outcome = evalkit("run", "--task", "mini_summarization", "--size", 2, "--model", gpt)
    assert outcome.code == 2
    (line,) = outcome.err.strip().splitlines()
    assert "--on-overflow" in line or "truncate" in line
    skipped = evalkit("run", "--task", "mini_summarization", "--size", 2, "--model", gpt, "--on-overflow", "skip")
    assert skipped.code == 2
    assert "no example could be scored" in skipped.err


def test_a_bert_labels_characters_for_segmentation(evalkit, segmenter):
    found = record(evalkit("run", "--task", "mini_cws", "--size", 12, "--model", segmenter, "--json"))
    assert found["settings"]["request_kind"] == "label"
    assert found["metrics"][0]["name"] == "f1"
    assert found["metrics"][0]["n"] == 12


def test_tags_can_be_chosen_as_a_sequence_and_the_record_says_how_they_were(evalkit, segmenter):
    arguments = ("run", "--task", "mini_cws", "--size", 30, "--model", segmenter, "--json")
    plain, bound = record(evalkit(*arguments)), record(evalkit(*arguments, "--tag-decoding", "constrained"))
    assert plain["model"]["tag_decoding"] == "independent"
    assert bound["model"]["tag_decoding"] == bound["settings"]["tag_decoding"] == "constrained"
    assert plain["metrics"][0]["value"] != bound["metrics"][0]["value"]


def test_a_bert_classifies(evalkit, classifier):
    found = record(evalkit("run", "--task", "mini_classification", "--size", 9, "--model", classifier, "--json"))
    assert found["settings"]["request_kind"] == "classify"
    assert found["metrics"][0]["n"] == 9


def test_a_masked_bert_has_pseudo_perplexity_and_never_a_perplexity(evalkit, masked_lm):
    arguments = ("run", "--task", "mini_lm", "--size", 4, "--model", masked_lm, "--json")
    for more in ((), ("--metrics", "perplexity"), ("--metrics", "pseudo_perplexity")):
        found = record(evalkit(*arguments, *more))
        assert {value["metric"] for value in found["metrics"]} == {"pseudo_perplexity"}
        assert [value["name"] for value in found["metrics"]] == ["token_pseudo_perplexity", "word_pseudo_perplexity"]
        assert found["model"]["likelihood"] == "pseudo"
        said = any("instead of perplexity" in warning for warning in found["warnings"])
        assert said == (more != ("--metrics", "pseudo_perplexity"))


def test_pseudo_perplexity_of_a_gpt_is_refused(evalkit, gpt):
    outcome = evalkit("run", "--task", "mini_lm", "--size", 2, "--model", gpt, "--metrics", "pseudo_perplexity")
    assert outcome.code == 2
    (line,) = outcome.err.strip().splitlines()
    assert "pseudo_perplexity is a value of masked models" in line


def test_a_t5_answers_by_text_what_a_bert_answers_by_labels(evalkit, t5):
    found = record(evalkit("run", "--task", "mini_ner", "--size", 3, "--model", t5, "--json"))
    assert found["settings"]["request_kind"] == "generate"
    assert found["model"]["family"] == "t5"


def test_numbers_and_samples_do_not_depend_on_the_batch_size(evalkit, gpt, tmp_path):
    samples = []
    for size in ("1", "3", "auto"):
        arguments = ("run", "--task", "mini_mt_zh_en", "--size", 5, "--model", gpt, "--batch-size", size, "--json")
        found = record(evalkit(*arguments, "--on-overflow", "truncate"))
        samples.append((tmp_path / "runs" / found["id"] / "samples.jsonl").read_bytes())
    assert samples[0] == samples[1] == samples[2]


@pytest.mark.slow
def test_compiling_is_named_in_the_record_and_gives_the_same_numbers(evalkit, gpt):
    arguments = ("run", "--task", "mini_lm", "--size", 3, "--model", gpt, "--device", "cpu", "--json")
    plain, compiled = record(evalkit(*arguments)), record(evalkit(*arguments, "--compile"))
    assert (plain["settings"]["compile"], compiled["settings"]["compile"]) == (False, True)
    assert compiled["counts"]["cached"] == 0
    for one, other in zip(plain["metrics"], compiled["metrics"], strict=True):
        assert other["value"] == pytest.approx(one["value"], rel=1e-5)


def test_a_missing_compiler_is_one_clear_line_before_the_model_is_read(evalkit, gpt, monkeypatch):
    def compile_nothing(function, **options):
        def run(*arguments):
            raise RuntimeError("No working C++ compiler found\nand more")

        return run

    monkeypatch.setattr(torch, "compile", compile_nothing)
    monkeypatch.setattr("evalkit.adapters.neural.load_checkpoint", None)
    outcome = evalkit("run", "--task", "mini_lm", "--size", 3, "--model", gpt, "--device", "cpu", "--compile")
    assert outcome.code == 2
    (line,) = outcome.err.strip().splitlines()
    assert "--compile does not work here: No working C++ compiler found; it needs a C++ compiler such as g++" in line


@pytest.mark.parametrize("model", ["hf:nowhere", "openai:toy@http://127.0.0.1:9"])
def test_models_that_evalkit_does_not_run_itself_are_not_compiled(evalkit, model):
    outcome = evalkit("run", "--task", "mini_lm", "--size", 3, "--model", model, "--compile")
    assert outcome.code == 2
    assert "--compile is for" in outcome.err


@pytest.mark.parametrize(
    ("flags", "fragment"),
    [
        (("--batch-size", "many"), "--batch-size 'many' is neither auto nor a number"),
        (("--batch-size", "0"), "--batch-size '0'"),
        (("--device", "tpu"), "device 'tpu' is none"),
        (("--device", "cuda:7"), "device 'cuda:7' asked for"),
        (("--dtype", "float8"), "'float8'"),
    ],
)
def test_settings_that_cannot_be_are_one_clear_line(evalkit, gpt, flags, fragment):
    outcome = evalkit("run", "--task", "mini_lm", "--size", 2, "--model", gpt, *flags)
    assert outcome.code == 2
    (line,) = outcome.err.strip().splitlines()
    assert fragment in line


def test_a_model_that_cannot_answer_the_task_is_refused(evalkit, segmenter):
    outcome = evalkit("run", "--task", "mini_mt_en_zh", "--size", 2, "--model", segmenter)
    assert outcome.code == 2
    assert "answers label requests, but task 'mini_mt_en_zh' asks by generate" in outcome.err


def test_a_folder_that_is_no_checkpoint_says_what_it_lacks(evalkit, tmp_path):
    outcome = evalkit("run", "--task", "mini_lm", "--size", 2, "--model", tmp_path)
    assert outcome.code == 2
    assert "it has no config.json" in outcome.err
