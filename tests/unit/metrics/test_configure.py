"""Metrics by name and settings, filled with what the task knows."""

import pytest
from sacrebleu.metrics import TER

from evalkit.errors import InvalidInputError, UnknownNameError
from evalkit.kinds import KINDS
from evalkit.metrics.configure import configure
from evalkit.metrics.registry import METRICS


def value(metric, prediction, reference):
    statistics = metric.statistics([prediction], [[reference]])
    return float(metric.score(statistics.total(), statistics.columns)[metric.headline[0]])


@pytest.mark.parametrize("language", ["zh", "zh-Hans", "ZH", "cmn", "ja"])
def test_ter_of_unsegmented_languages_edits_characters_and_says_so(language):
    metric = configure("ter", {}, language=language)
    official = TER(normalized=True, asian_support=True)
    found = value(metric, "今天天气很好。", "今天天气真好。")
    assert found == official.corpus_score(["今天天气很好。"], [["今天天气真好。"]]).score == pytest.approx(100 / 7)
    assert "norm:yes|punct:yes|asian:yes" in metric.signature()
    assert metric.warnings(["今天天气很好。"], [["今天天气真好。"]]) == ()


def test_settings_that_are_given_come_before_those_of_the_language():
    metric = configure("ter", {"asian_support": False}, language="zh")
    assert "norm:yes|punct:yes|asian:no" in metric.signature()
    assert "count as one word" in metric.warnings(["今天天气很好"], [["今天天气真好"]])[0]
    assert "norm:no|punct:yes|asian:no" in configure("ter", {}, language="en").signature()
    assert configure("rouge", {}, language="zh-TW").tokenizer == "cjk_char"
    assert configure("bleu", {}, language="cmn").tokenizer == "zh"


@pytest.mark.parametrize("language", ["zh", "ja", "th"])
def test_meteor_refuses_languages_without_spaces_unless_the_text_is_segmented(language):
    with pytest.raises(InvalidInputError, match=f"language '{language}' has none; .*segmented = true"):
        configure("meteor", {}, language=language)
    assert configure("meteor", {"segmented": True}, language=language).segmented
    assert configure("meteor", {}, language="ko").language == "ko"


def test_what_is_no_language_is_refused():
    with pytest.raises(InvalidInputError, match="did you mean 'zh'"):
        configure("bleu", {}, language="Chinese")


@pytest.mark.parametrize(
    ("name", "kind", "fitting"),
    [
        ("rouge", "cws", "cws"),
        ("bleu", "classification", "classification"),
        ("squad_v1", "mt", "bleu, chrf, chrf\\+\\+, ter, rouge, meteor"),
        ("perplexity", "qa", "squad_v1, squad_v2, cmrc2018, drcd, mlqa"),
    ],
)
def test_a_metric_of_another_kind_is_refused_with_those_that_fit(name, kind, fitting):
    with pytest.raises(InvalidInputError, match=f"'{name}' does not take tasks of kind '{kind}'; .*: {fitting}$"):
        configure(name, {}, kind=kind)


def test_every_metric_names_kinds_and_every_kind_has_metrics():
    named = {kind for metric in METRICS.values() for kind in metric.kinds}
    assert named == set(KINDS)


def test_unknown_names_are_refused_with_the_nearest():
    with pytest.raises(UnknownNameError, match="did you mean 'bleu'"):
        configure("blue", {}, kind="mt")
    with pytest.raises(UnknownNameError, match="did you mean 'tokenize'"):
        configure("bleu", {"tokenise": "zh"})
    with pytest.raises(InvalidInputError, match="settings are lang"):
        configure("mlqa", {})
