"""Rows to examples, responses to predictions."""

import re
from dataclasses import replace

import pytest

from evalkit.errors import InvalidInputError
from evalkit.kinds import KINDS
from evalkit.kinds.classification import label_from_text
from evalkit.kinds.cws import project, words_from_labels
from evalkit.kinds.ner import spans, tags_from_text
from evalkit.metrics.perplexity import Perplexity
from evalkit.metrics.pseudo_perplexity import PseudoPerplexity
from evalkit.requests import (
    Answer,
    ClassifyResponse,
    GenerateResponse,
    LabelResponse,
    ModelInfo,
    RollingResponse,
    ScoreResponse,
    SpanResponse,
)
from evalkit.spec import Generated, TaskSpec

QA = {"question": "Who?", "context": "Ann ran."}

ROWS = {
    "mt": {"source": "hello", "references": ["你好", "您好"]},
    "summarization": {"document": "A long text.", "references": "A text."},
    "qa": {"question": "Who?", "context": "Ann ran.", "answers": ["Ann"]},
    "ner": {"tokens": ["Ann", "ran"], "tags": ["B-PER", "O"]},
    "cws": {"words": ["我", "爱", "北京"]},
    "lm": {"text": "once"},
    "classification": {"text": "fine", "label": "good"},
}

PERFECT = {
    "mt": GenerateResponse(example_id="1", text="你好"),
    "summarization": GenerateResponse(example_id="1", text="A text."),
    "qa": SpanResponse(example_id="1", text="Ann"),
    "ner": LabelResponse(example_id="1", labels=("B-PER", "O")),
    "cws": LabelResponse(example_id="1", labels=("S", "S", "B", "E")),
    "lm": RollingResponse(example_id="1", logprob_nats=-3.0, token_count=2),
    "classification": ClassifyResponse(example_id="1", label="good"),
}


def task(kind: str, **changes) -> TaskSpec:
    language = changes.pop("language", "zh" if kind in ("mt", "cws") else "en")
    base = TaskSpec(
        name="toy",
        kind=kind,
        version=1,
        summary="",
        language=language,
        paper="",
        licence="",
        generated=Generated(rows=lambda split, size, seed: [], sizes={"test": 1}),
        **changes,
    )
    return KINDS[kind].complete(base)


def example(kind: str):
    return KINDS[kind].example(ROWS[kind], "1")


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_asks_by_every_request_kind_that_it_lists(kind):
    spec = task(kind, labels=("good", "bad") if kind == "classification" else ())
    for request_kind in KINDS[kind].requests:
        request = KINDS[kind].request(spec, example(kind), request_kind, "PROMPT")
        assert request.kind == request_kind
        assert request.example_id == "1"
        assert "references" not in request.inputs


@pytest.mark.parametrize("kind", KINDS)
def test_the_right_answer_scores_best_under_the_default_metrics(kind):
    spec = task(kind)
    row = example(kind)
    prediction = KINDS[kind].prediction(spec, row, PERFECT[kind])
    if kind == "lm":
        return
    for metric in spec.metrics:
        statistics = metric.statistics([prediction], [row.references])
        value = float(metric.score(statistics.total(), statistics.columns)[metric.headline[0]])
        # BLEU of two characters has no 4-grams: the official score of an identical pair so short is 0.
        assert value == pytest.approx(metric.range[1]) or metric.name == "bleu"


@pytest.mark.parametrize(("kind", "missing"), [(kind, name) for kind in KINDS for name in KINDS[kind].required])
def test_a_row_without_a_required_field_is_refused_by_name(kind, missing):
    row = {name: value for name, value in ROWS[kind].items() if name != missing}
    with pytest.raises(InvalidInputError, match=f"no field '{missing}'"):
        KINDS[kind].example(row, "1")


@pytest.mark.parametrize(
    ("kind", "row", "message"),
    [
        ("mt", {"source": "a", "references": []}, "at least one translation"),
        ("mt", {"source": 3, "references": ["a"]}, "field 'source' is int 3; expected text"),
        ("mt", {"source": "a", "references": [None]}, "field 'references' holds None"),
        ("ner", {"tokens": ["a", "b"], "tags": ["O"]}, "2 tokens but 1 tags"),
        ("cws", {"words": ["a b"]}, "a space in it"),
        ("cws", {"words": []}, "no word"),
        ("qa", QA | {"answers": {"text": ["Ann"], "answer_start": [0]}}, r'fields = \{ answers = "answers.text" \}'),
        ("mt", {"source": "a", "references": {"en": "b", "zh": "c"}}, "is an object with the keys 'en', 'zh'"),
        ("ner", {"tokens": "a b", "tags": "B-PER O"}, "field 'tokens' is the text 'a b'; expected a list of texts"),
        ("ner", {"tokens": ["a", "b"], "tags": "B-PER O"}, "field 'tags' is the text"),
        *[
            (
                "ner",
                {"tokens": ["a", "b"], "tags": ["O", tag]},
                f"tag '{tag}' is not of scheme IOB2; .* scheme = \"IOBES\"",
            )
            for tag in ("S-PER", "U-PER", "E-PER", "whatever", "PER", "B", "B-", "I-", "", "o", "b-PER")
        ],
        ("cws", {"words": "我 爱"}, "field 'words' is the text"),
        ("lm", {"text": ""}, "is empty"),
    ],
)
def test_a_misshapen_row_is_refused_with_what_was_expected(kind, row, message):
    with pytest.raises(InvalidInputError, match=message):
        KINDS[kind].example(row, "1")


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "lm"])
def test_a_response_of_the_wrong_kind_is_refused(kind):
    with pytest.raises(InvalidInputError, match="cannot read a RollingResponse"):
        KINDS[kind].prediction(task(kind), example(kind), PERFECT["lm"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("PER: Ann; PER: Bo Li", ["B-PER", "O", "B-PER", "I-PER", "O"]),
        ("PER:Bo Li;", ["O", "O", "B-PER", "I-PER", "O"]),
        ("none", ["O"] * 5),
        ("", ["O"] * 5),
        ("LOC: Rome", ["O"] * 5),
        ("PER: Ann; ORG: Ann", ["B-PER", "O", "O", "O", "O"]),
        ("PER: An", ["O"] * 5),
        ("just prose without any type", ["O"] * 5),
        ("PER：Ann；PER：Bo Li。", ["B-PER", "O", "B-PER", "I-PER", "O"]),
        ("PER: Ann; PER: Bo Li.", ["B-PER", "O", "B-PER", "I-PER", "O"]),
        ("PER: Ann\nPER: Bo Li . ", ["B-PER", "O", "B-PER", "I-PER", "I-PER"]),
        ("none.", ["O"] * 5),
        (": Ann", ["O"] * 5),
        ("无。", ["O"] * 5),
        ("PER: .", ["O", "O", "O", "O", "B-PER"]),
        ("PER: 。", ["O"] * 5),
    ],
)
def test_generated_entities_are_found_in_the_sentence(text, expected):
    assert list(tags_from_text(["Ann", "met", "Bo", "Li", "."], text)) == expected


def test_entities_written_into_a_shot_are_read_back_as_the_same_tags():
    row = KINDS["ner"].example({"tokens": list("张伟在北京"), "tags": ["B-PER", "I-PER", "O", "B-LOC", "I-LOC"]}, "1")
    shown = KINDS["ner"].template_values(task("ner", language="zh"), row)
    assert shown["text"] == "张伟在北京"
    assert shown["entities"] == "PER：张伟；LOC：北京"
    assert tags_from_text(row.inputs["tokens"], shown["entities"]) == row.references[0]


def test_a_mention_that_ends_in_a_full_stop_keeps_it():
    assert tags_from_text(["Acme", "Inc.", "grew", "."], "ORG: Acme Inc.") == ("B-ORG", "I-ORG", "O", "O")
    assert tags_from_text(["Acme", "Inc.", "grew", "."], "ORG: Acme Inc..") == ("O",) * 4
    assert tags_from_text(["Acme", "Inc", "."], "ORG: Acme Inc .") == ("B-ORG", "I-ORG", "I-ORG")
    assert tags_from_text(["Acme", "Inc", "."], "ORG: Acme Inc.") == ("B-ORG", "I-ORG", "O")


def test_chinese_entities_are_asked_for_in_chinese():
    spec = task("ner", language="zh", labels=("PER", "LOC"))
    assert spec.instruction.startswith("请按出现顺序列出句子中的命名实体（类型：PER、LOC），")
    assert not re.search("[a-z]", spec.instruction)
    nothing = KINDS["ner"].example({"tokens": ["好"], "tags": ["O"]}, "1")
    assert KINDS["ner"].template_values(spec, nothing)["entities"] == "无"


def test_a_language_model_is_shown_a_text_once():
    spec = task("lm")
    assert (spec.prompt, spec.answer) == ("{{ text }}", "")


def test_a_gold_class_outside_the_labels_is_refused():
    kind, row = KINDS["classification"], example("classification")
    with pytest.raises(InvalidInputError, match="label 'good' is none of the task's labels 'a', 'b'; add it to labels"):
        kind.check(task("classification", labels=("a", "b")), row)
    kind.check(task("classification", labels=("good", "bad")), row)
    kind.check(task("classification"), row)


def test_a_question_without_answers_needs_a_task_that_allows_it():
    kind, row = KINDS["qa"], KINDS["qa"].example(QA | {"answers": []}, "1")
    with pytest.raises(InvalidInputError, match=r"no answer; .* \[options\] say unanswerable = true"):
        kind.check(task("qa"), row)
    kind.check(task("qa", options={"unanswerable": True}), row)


def test_spans_of_iob2_tags_end_where_type_or_prefix_says():
    tags = ["B-A", "I-A", "I-B", "B-B", "O", "I-C"]
    assert list(spans(tags)) == [(0, 2, "A"), (2, 3, "B"), (3, 4, "B"), (5, 6, "C")]


def test_labels_cut_a_text_into_words_and_their_number_must_fit():
    assert list(words_from_labels("研究生命", ["B", "E", "B", "E"])) == ["研究", "生命"]
    assert list(words_from_labels("研究生命", ["M", "M", "M", "S"])) == ["研究生", "命"]
    with pytest.raises(InvalidInputError, match="1 labels for 2 characters"):
        list(words_from_labels("研究", ["S"]))


@pytest.mark.parametrize(
    ("words", "text", "expected"),
    [
        (["北京", "真", "好"], "北京真好", ["北京", "真", "好"]),
        (["北京", "真", "太好"], "北京真好", ["北京", "真", "好"]),
        (["北京", "好"], "北京真好", ["北京", "真好"]),
        ([], "北京", ["北京"]),
    ],
)
def test_a_changed_segmentation_is_laid_over_the_original_characters(words, text, expected):
    found = project(words, text)
    assert "".join(found) == text
    assert found == expected


def test_unanswerable_is_no_answer_only_where_the_task_has_such_questions():
    kind, row = KINDS["qa"], example("qa")
    said = GenerateResponse(example_id="1", text=" Unanswerable. ")
    assert kind.prediction(task("qa", options={"unanswerable": True}), row, said) == Answer("")
    assert kind.prediction(task("qa"), row, said) == Answer("Unanswerable.")


def test_the_most_probable_continuation_is_the_class():
    spec = task("classification", labels=("good", "bad"))
    scored = ScoreResponse(example_id="1", logprobs_nats=(-5.0, -2.0))
    assert KINDS["classification"].prediction(spec, example("classification"), scored) == "bad"


@pytest.mark.parametrize(
    ("text", "label"), [(" Sports.", "sports"), ("world news today", "world news"), ("other", "other"), ("", "")]
)
def test_generated_class_names_are_matched_at_the_beginning(text, label):
    assert label_from_text(("world", "world news", "sports"), text) == label


def model(likelihood):
    return ModelInfo(ref="toy", name="toy", digest="", family="toy", likelihood=likelihood)


def test_a_masked_model_is_measured_by_pseudo_perplexity_and_that_is_said():
    fitted, notes = KINDS["lm"].fit(task("lm", language="zh"), model("pseudo"))
    assert fitted.metrics == (PseudoPerplexity(language="zh"),)
    (note,) = notes
    assert "pseudo_perplexity instead of perplexity" in note


def test_a_task_with_both_perplexities_gives_each_model_its_own_without_a_word():
    both = task("lm", metrics=(Perplexity(), PseudoPerplexity()))
    assert KINDS["lm"].fit(both, model("pseudo")) == (replace(both, metrics=(PseudoPerplexity(),)), ())
    assert KINDS["lm"].fit(both, model("causal")) == (replace(both, metrics=(Perplexity(),)), ())


def test_pseudo_perplexity_is_refused_for_models_that_know_only_what_stands_before():
    with pytest.raises(
        InvalidInputError, match="pseudo_perplexity is a value of masked models; 'toy' scores each token"
    ):
        KINDS["lm"].fit(task("lm", metrics=(PseudoPerplexity(),)), model("causal"))


def test_log_probabilities_from_a_file_take_the_metric_that_the_user_names():
    for metric in (Perplexity(), PseudoPerplexity()):
        named = task("lm", metrics=(metric,))
        assert KINDS["lm"].fit(named, model(None)) == (named, ())


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "lm"])
def test_other_kinds_have_the_same_metrics_for_all_models(kind):
    spec = task(kind)
    assert KINDS[kind].fit(spec, model("causal")) == (spec, ())
