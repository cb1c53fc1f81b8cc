import importlib.metadata
import json
import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rouge_score import rouge_scorer, scoring, tokenizers

from evalkit.errors import InvalidInputError, InvalidTypeError, MissingResourceError, UnknownNameError
from evalkit.metrics.base import Statistics
from evalkit.metrics.rouge import ROUGE_TYPES, Rouge

WORDS = [
    "the",
    "pump",
    "failed",
    "failing",
    "fails",
    "Mondays",
    "news",
    "dying",
    "a1b2",
    "4,000",
    "x",
    "skies",
    "agreed",
]
ENDS = [" ", " ", " ", "\n", ". ", "\r\n", "\n\n", "-", "é", "ß", "İ", "K", "水", "\ud800", "\u2028", "\x85", "١"]
NASTY = st.one_of(
    st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(ENDS)), max_size=30).map(
        lambda parts: "".join(word + end for word, end in parts)
    ),
    st.text(alphabet="abc\n ", max_size=60),
    st.text(max_size=30),
)
CORPUS = st.lists(st.tuples(NASTY, st.lists(NASTY, min_size=1, max_size=3)), min_size=1, max_size=5)


class CharacterTokenizer(tokenizers.Tokenizer):
    """The cjk_char tokenizer as its definition reads, with rouge-score's stemmer."""

    def __init__(self, use_stemmer):
        self._default = tokenizers.DefaultTokenizer(use_stemmer)
        ranges = [(0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x3040, 0x30FF), (0xAC00, 0xD7AF)]
        self._ranges = [*ranges, (0x20000, 0x2FA1F)]

    def tokenize(self, text):
        tokens, run = [], ""
        for character in [*text.lower(), " "]:
            if re.match("[a-z0-9]", character):
                run += character
                continue
            tokens += self._default.tokenize(run)
            run = ""
            if any(low <= ord(character) <= high for low, high in self._ranges):
                tokens.append(character)
        return tokens


def reference_scores(metric, predictions, references):
    tokenizer = CharacterTokenizer(metric.use_stemmer) if metric.tokenizer == "cjk_char" else None
    scorer = rouge_scorer.RougeScorer(
        list(metric.rouge_types), metric.use_stemmer, metric.split_summaries, tokenizer=tokenizer
    )
    scores = [scorer.score_multi(group, text) for text, group in zip(predictions, references, strict=True)]
    return np.array([[score[name] for name in metric.rouge_types] for score in scores], dtype=np.float64)


def assert_equals_reference(metric, predictions, references):
    rows = metric.statistics(predictions, references).rows
    wanted = reference_scores(metric, predictions, references)
    assert rows[:, :-1].tolist() == wanted.reshape(len(predictions), -1).tolist()
    assert rows[:, -1].tolist() == [1.0] * len(predictions)


@settings(max_examples=150, deadline=None)
@given(corpus=CORPUS, use_stemmer=st.booleans(), tokenizer=st.sampled_from(["default", "cjk_char"]))
@example(corpus=[("", [""])], use_stemmer=False, tokenizer="default")
@example(corpus=[("...\n!", ["?\n..."]), ("one", ["one\n..."])], use_stemmer=True, tokenizer="default")
@example(corpus=[("a b a b a", ["b a b\na a", "b a b\na a b"])], use_stemmer=False, tokenizer="default")
def test_every_value_equals_rouge_score_to_the_last_bit(corpus, use_stemmer, tokenizer):
    predictions, references = zip(*corpus, strict=True)
    metric = Rouge(rouge_types=ROUGE_TYPES, use_stemmer=use_stemmer, tokenizer=tokenizer)
    assert_equals_reference(metric, predictions, references)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(alphabet="abc\n ", min_size=10, max_size=80), min_size=2, max_size=2))
def test_the_union_of_subsequences_follows_the_backtracking_rule(texts):
    assert_equals_reference(Rouge(rouge_types=("rougeLsum",)), [texts[0]], [[texts[1]]])


@pytest.mark.parametrize(
    "text", ["naïve café", "3.14 and 4,000", "İstanbul K 5K", "ＡＢＣ abc", "e\u0301t\u00e9", "a\x1cb\u3000c"]
)
def test_lowercasing_and_splitting_are_those_of_rouge_score(text):
    for other in ["na ve caf", "i stanbul k", "abc", "3 14 000", "a b c"]:
        assert_equals_reference(Rouge(), [text], [[other]])


def test_sentences_of_the_sentence_model_are_those_of_rouge_score():
    metric = Rouge(split_summaries=True)
    predictions = ["The pump broke at 5 p.m. today. Nobody noticed. Water spread.", "One. Two\nThree."]
    references = [["Water spread. The pump broke. Nobody saw it."], ["Three.\nTwo. One.", "Two."]]
    try:
        assert_equals_reference(metric, predictions, references)
    except MissingResourceError as missing:
        pytest.skip(str(missing))


def test_blocks_of_pairs_do_not_change_the_values(monkeypatch):
    from evalkit.metrics import rouge_counts, rouge_ngrams

    texts = ["the pump failed\nonce", "", "a a a b", "the valve failed twice again", "b a b a"]
    references = [[text, texts[0]] for text in reversed(texts)]
    whole = Rouge().statistics(texts, references).rows
    for pairs, characters, key in [(1, 2**22, 2**62), (3, 8, 2**62), (8192, 2**22, 1)]:
        monkeypatch.setattr(rouge_counts, "_PAIRS_AT_ONCE", pairs)
        monkeypatch.setattr(rouge_counts, "_CHARACTERS_AT_ONCE", characters)
        monkeypatch.setattr(rouge_ngrams, "_LARGEST_KEY", key)
        assert Rouge().statistics(texts, references).rows.tolist() == whole.tolist()


@settings(deadline=None)
@given(st.lists(NASTY.filter(lambda text: re.search("[a-z0-9]", text.lower())), min_size=1, max_size=4))
def test_a_text_with_tokens_scores_one_against_itself(texts):
    metric = Rouge(rouge_types=("rouge1", "rougeL", "rougeLsum"))
    report = metric.report(texts, [[text] for text in texts])
    assert report == dict.fromkeys(report, 1.0)


@settings(deadline=None)
@given(CORPUS, st.randoms(use_true_random=False))
def test_values_lie_in_range_and_do_not_depend_on_order(corpus, random):
    metric = Rouge()
    shuffled = random.sample(corpus, len(corpus))
    once, again = (metric.report(*zip(*examples, strict=True)) for examples in (corpus, shuffled))
    assert again == pytest.approx(once, abs=1e-12)
    assert all(0 <= value <= 1 for value in once.values())


@settings(deadline=None)
@given(CORPUS, st.integers(1, 4))
def test_shards_merge_to_the_whole(corpus, cut):
    metric = Rouge()
    shards = [shard for shard in (corpus[:cut], corpus[cut:]) if shard]
    merged = Statistics.merge([metric.statistics(*zip(*shard, strict=True)) for shard in shards])
    assert merged.rows.tolist() == metric.statistics(*zip(*corpus, strict=True)).rows.tolist()


def test_the_score_is_the_mean_of_each_measure():
    predictions, references = ["a b", "c"], [["a"], ["c d e"]]
    values = Rouge(rouge_types=("rouge1",)).report(predictions, references)
    assert values == {
        "rouge1": pytest.approx((2 / 3 + 1 / 2) / 2),
        "rouge1_precision": pytest.approx((1 / 2 + 1) / 2),
        "rouge1_recall": pytest.approx((1 + 1 / 3) / 2),
    }


def test_score_takes_stacks_of_sums():
    metric = Rouge(rouge_types=("rouge1", "rougeL"))
    statistics = metric.statistics(["a b", "c"], [["a"], ["c d e"]])
    counts = np.array([[[1.0, 1.0], [2.0, 0.0]]])
    values = metric.score(counts @ statistics.rows, statistics.columns)
    assert list(values)[:2] == ["rouge1", "rougeL"]
    assert values["rouge1"].shape == (1, 2)
    assert values["rouge1"][0, 1] == pytest.approx(2 / 3)


@pytest.mark.parametrize("n_examples", [1, 2, 11])
def test_the_bootstrap_equals_the_seeded_aggregator(n_examples):
    metric = Rouge(rouge_types=("rouge1", "rougeL"))
    predictions = ["the pump failed", "a b c d", "water spread", "b a", "none"] * 3
    references = [["the pump has failed"], ["a c d"], ["water, spreading"], ["a b"], ["some"]] * 3
    predictions, references = predictions[:n_examples], references[:n_examples]
    scorer = rouge_scorer.RougeScorer(list(metric.rouge_types))
    aggregator = scoring.BootstrapAggregator(confidence_interval=0.9, n_samples=50)
    for prediction, group in zip(predictions, references, strict=True):
        aggregator.add_scores(scorer.score(group[0], prediction))
    state = np.random.get_state()
    np.random.seed(7)
    wanted = aggregator.aggregate()
    np.random.set_state(state)
    got = metric.bootstrap(predictions, references, seed=7, n_samples=50, confidence=0.9)
    assert got == {name: {bound: list(score) for bound, score in of._asdict().items()} for name, of in wanted.items()}


@pytest.mark.parametrize(("setting", "found"), [({"n_samples": 0}, "n_samples is 0"), ({"confidence": 1.5}, "1.5")])
def test_the_bootstrap_refuses_nonsense(setting, found):
    with pytest.raises(InvalidInputError, match=found):
        Rouge().bootstrap(["a"], [["a"]], seed=1, **setting)


@pytest.mark.parametrize(
    ("settings", "signature"),
    [
        ({}, "metric:rouge|stem:no|tok:default|lsum:newline|multi:best-f1|agg:mean|rouge-score:0.1.2"),
        (
            {"use_stemmer": True, "split_summaries": True, "tokenizer": "cjk_char", "rouge_types": ("rougeL",)},
            "metric:rouge|stem:porter|tok:cjk_char|lsum:punkt|multi:best-f1|agg:mean|rouge-score:0.1.2",
        ),
    ],
)
def test_the_signature_names_every_setting_that_changes_a_value(settings, signature):
    assert Rouge(**settings).signature() == signature


def test_the_signature_names_the_installed_reference():
    assert Rouge().signature().endswith(f"rouge-score:{importlib.metadata.version('rouge-score')}")


@pytest.mark.parametrize("language", ["zh", "ja", "KO", "zh-Hant", "zh_CN"])
def test_unspaced_languages_need_the_character_tokenizer(language):
    with pytest.raises(InvalidInputError, match="tokenizer='cjk_char'"):
        Rouge(language=language)
    assert Rouge(language=language, tokenizer="cjk_char").language == language
    assert Rouge(language="en").signature() == Rouge().signature()


@pytest.mark.parametrize("language", ["ru", "rus_Cyrl", "el", "he", "hi", "th", "bn", "ka", "uk", "ar-EG"])
@pytest.mark.parametrize("tokenizer", ["default", "cjk_char"])
def test_languages_in_other_letters_are_refused_whatever_the_tokenizer(language, tokenizer):
    with pytest.raises(InvalidInputError, match=f"drops the letters of language '{language}'.* chrf"):
        Rouge(language=language, tokenizer=tokenizer)


def test_what_is_no_language_is_refused():
    with pytest.raises(InvalidInputError, match="did you mean 'zh'"):
        Rouge(language="Chinese")


@pytest.mark.parametrize(
    ("prediction", "reference", "share"),
    [
        ("Погода сегодня хорошая 2023", "Москва слезам не верит 2023", "100%"),
        ("2023年北京下雨很大", "2023年上海天晴无云", "100%"),
        ("GPU 的速度很快", "GPU 很慢", "54%"),
        ("GPU 的速度很", "GPU 很慢", None),
        ("déjà vu", "à côté", None),
        ("İstanbul Kelvin", "İzmir", None),
        ("2023 —", "2023 …", None),
        ("a\ud800", "b", None),
    ],
)
def test_a_warning_says_which_share_of_the_letters_is_dropped(prediction, reference, share):
    warnings = Rouge().warnings([prediction], [[reference]])
    if share is None:
        assert warnings == ()
    else:
        (warning,) = warnings
        assert f"drops {share} of the letters" in warning
        assert "chrf" in warning
    assert not Rouge(tokenizer="cjk_char").warnings(["年 2023"], [["上海"]])
    assert "drops 100%" in Rouge(tokenizer="cjk_char").warnings(["Погода 1"], [["Москва 1"]])[0]


def test_text_without_a_token_is_warned_about():
    predictions, references = ["渡船离开了", "", "  ", "ok"], [["渡船"], ["a"], ["b", "Паром"], ["c"]]
    (warning,) = Rouge().warnings(predictions, references)
    assert "1 of 4 predictions and 2 of 5 references" in warning
    assert "tokenizer='cjk_char'" in warning
    (warning,) = Rouge(tokenizer="cjk_char").warnings(predictions, references)
    assert "0 of 4 predictions and 1 of 5 references" in warning
    assert Rouge().warnings(["4% 渡船"], [["café"]]) == ()


@pytest.mark.parametrize(
    ("settings", "error", "found"),
    [
        ({"rouge_types": ("rougeW",)}, UnknownNameError, "unknown rouge type 'rougeW'"),
        ({"rouge_types": ("rouge0",)}, UnknownNameError, "rouge0"),
        ({"rouge_types": ("rouge10",)}, UnknownNameError, "rouge10"),
        ({"rouge_types": ()}, InvalidInputError, "empty"),
        ({"rouge_types": ("rouge1", "rouge1")}, InvalidInputError, "twice"),
        ({"rouge_types": "rouge1"}, InvalidTypeError, "expected a tuple"),
        ({"tokenizer": "cjk"}, UnknownNameError, "did you mean 'cjk_char'"),
    ],
)
def test_bad_settings_are_refused(settings, error, found):
    with pytest.raises(error, match=found):
        Rouge(**settings)


@pytest.mark.parametrize(
    ("predictions", "references", "error"),
    [
        (["a", "b"], [["a"]], ValueError),
        ([], [], ValueError),
        (["a"], [[]], ValueError),
        (["a"], ["a"], TypeError),
        ([None], [["a"]], TypeError),
    ],
)
def test_bad_corpora_are_refused(predictions, references, error):
    with pytest.raises(error):
        Rouge().statistics(predictions, references)


@pytest.mark.real
def test_published_scores_of_xsum_summaries_are_reproduced(data_dir):
    lines = (data_dir / "summarization/xsum_hallucination/scored_summaries.jsonl").read_text("utf-8").split("\n")
    rows = [json.loads(line) for line in lines if line]
    metric = Rouge(rouge_types=("rouge1", "rouge2", "rougeL"), use_stemmer=True)
    statistics = metric.statistics([row["summary"] for row in rows], [[row["reference"]] for row in rows])
    published = np.array([[float(row[key]) for key in ("R1", "R2", "RL")] for row in rows])
    f1 = statistics.rows[:, [statistics.columns.index(name) for name in metric.rouge_types]]
    # Four decimals, which the publishers did not all round the same way; the other lines came from another stemmer.
    agree = np.abs(f1 - published) < 1e-4
    assert agree.sum(axis=0).tolist() == [1806, 1976, 1881]


def test_importing_the_metric_imports_no_numpy():
    code = "import sys, evalkit.metrics.rouge as r; r.Rouge().signature(); print(sorted({'numpy', 'nltk'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
