import csv
import gzip
import importlib.metadata
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from nltk.translate import meteor_score as nltk_meteor

from evalkit import wordnet
from evalkit.errors import InvalidInputError, MissingResourceError, UnknownNameError
from evalkit.metrics import meteor
from evalkit.metrics.base import Statistics
from evalkit.metrics.meteor import Meteor
from evalkit.metrics.meteor_alignment import Aligner, count_matches_and_chunks

SYNONYMS = [
    "quick",
    "fast",
    "speedy",
    "physician",
    "doctor",
    "doc",
    "car",
    "auto",
    "automobile",
    "big",
    "large",
    "sofa",
    "couch",
    "lounge",
    "purchase",
    "buy",
    "bought",
]
FORMS = [
    "walk",
    "walks",
    "walked",
    "walking",
    "dying",
    "die",
    "flies",
    "fly",
    "better",
    "best",
    "geese",
    "goose",
    "Mondays",
    "news",
    "agreed",
    "agree",
    "men",
    "man",
]
OTHERS = [
    "the",
    "The",
    "THE",
    "a",
    ".",
    ",",
    "word,",
    "new_york",
    "New_York",
    "İ",
    "ΟΔΟΣ",
    "ß",
    "猫",
    "x" * 40,
    "1st",
    "100",
]
TEXT = st.lists(st.sampled_from([*SYNONYMS, *FORMS, *OTHERS]), max_size=25).map(" ".join)
CORPUS = st.lists(st.tuples(TEXT, st.lists(TEXT, min_size=1, max_size=3)), min_size=1, max_size=5)
SHARED_FIXTURES = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def nltk_score(reader, prediction, references, **weights):
    return nltk_meteor.meteor_score(
        [text.split() for text in references], prediction.split(), wordnet=reader, **weights
    )


def scores(metric, predictions, references):
    return metric.statistics(predictions, references).rows[:, 0].tolist()


@settings(SHARED_FIXTURES, max_examples=100)
@given(corpus=CORPUS)
def test_every_score_equals_nltk_to_the_last_bit(nltk_wordnet, corpus):
    predictions, references = zip(*corpus, strict=True)
    wanted = [nltk_score(nltk_wordnet, *pair) for pair in corpus]
    assert scores(Meteor(), predictions, references) == wanted


@settings(SHARED_FIXTURES, max_examples=60)
@given(texts=st.tuples(*[st.text(alphabet="abß \t\x1c\x85\u00a0\u2028\u3000ΣςİK'é", max_size=30)] * 2))
def test_words_are_lowercased_and_split_as_nltk_is_fed(nltk_wordnet, texts):
    assert scores(Meteor(), texts[:1], [texts[1:]]) == [nltk_score(nltk_wordnet, texts[0], texts[1:])]


@settings(SHARED_FIXTURES, max_examples=40)
@given(pair=st.tuples(TEXT, TEXT), alpha=st.floats(0, 1), beta=st.floats(0, 5), gamma=st.floats(0, 1))
def test_weights_act_as_in_nltk(nltk_wordnet, pair, alpha, beta, gamma):
    weights = {"alpha": alpha, "beta": beta, "gamma": gamma}
    assert scores(Meteor(**weights), [pair[0]], [[pair[1]]]) == [
        nltk_score(nltk_wordnet, pair[0], [pair[1]], **weights)
    ]


@settings(SHARED_FIXTURES, max_examples=150)
@given(pair=st.tuples(TEXT, TEXT))
def test_matches_and_chunks_are_those_of_the_nltk_alignment(nltk_wordnet, pair):
    prediction, reference = pair
    aligned, _, _ = nltk_meteor.align_words(prediction.split(), reference.split(), wordnet=nltk_wordnet)
    matches, chunks = Meteor().matches_and_chunks(prediction, reference)
    assert matches == len(aligned)
    assert chunks == (nltk_meteor._count_chunks(aligned) if aligned else 0)


def test_a_synonym_takes_the_rightmost_free_word():
    synonyms = {"p": frozenset("xy"), "q": frozenset("x"), "r": frozenset()}
    aligner = Aligner({letter: letter for letter in "pqrxyz"}, synonyms)
    assert aligner.align(list("qpr"), list("xyz")) == [0, 1, -1]
    assert aligner.align(list("qp"), list("yx")) == [-1, 1]


@pytest.mark.parametrize(
    ("partner", "counts"),
    [([], (0, 0)), ([-1, -1], (0, 0)), ([0], (1, 1)), ([0, 1, -1, 2], (3, 2)), ([1, 0], (2, 2)), ([-1, 3, 4], (2, 1))],
)
def test_chunks_are_runs_adjacent_in_both_texts(partner, counts):
    assert count_matches_and_chunks(partner) == counts


@pytest.mark.usefixtures("nltk_wordnet")
@pytest.mark.parametrize(("n_words", "score"), [(1, 0.5), (2, 1 - 0.5 / 8), (5, 0.996)])
def test_a_text_scores_below_one_against_itself(n_words, score):
    text = " ".join("abcde"[:n_words])
    assert scores(Meteor(), [text], [[text]]) == [pytest.approx(score)]
    assert scores(Meteor(gamma=0.0), [text], [[text]]) == [1.0]


@pytest.mark.usefixtures("nltk_wordnet")
@settings(SHARED_FIXTURES, max_examples=50)
@given(corpus=CORPUS, random=st.randoms(use_true_random=False), cut=st.integers(1, 4))
def test_order_and_shards_do_not_change_the_value(corpus, random, cut):
    metric = Meteor()
    whole = metric.report(*zip(*corpus, strict=True))["meteor"]
    shuffled = random.sample(corpus, len(corpus))
    parts = [metric.statistics(*zip(*part, strict=True)) for part in (shuffled[:cut], shuffled[cut:]) if part]
    merged = Statistics.merge(parts)
    assert metric.score(merged.total(), merged.columns)["meteor"] == pytest.approx(whole, abs=1e-12)
    assert 0 <= whole <= 1


def test_score_takes_stacks_of_sums():
    metric = Meteor()
    values = metric.score(np.array([[[1.5, 2.0], [0.0, 1.0]]]), ("meteor", "n"))
    assert values["meteor"].tolist() == [[0.75, 0.0]]


def test_word_tokenize_splits_marks_off(nltk_wordnet):
    from nltk import word_tokenize

    metric = Meteor(tokenize="nltk_word_tokenize")
    prediction, references = "Dr. Ames can't go, he said.", ["He said Dr. Ames couldn't go.", "no"]
    try:
        got = scores(metric, [prediction], [references])
    except MissingResourceError as missing:
        pytest.skip(str(missing))
    words = [word_tokenize(text) for text in references]
    assert got == [nltk_meteor.meteor_score(words, word_tokenize(prediction), wordnet=nltk_wordnet)]


def test_the_signature_names_every_setting_and_both_versions():
    nltk_version = importlib.metadata.version("nltk")
    assert Meteor().signature() == (
        "metric:meteor|variant:nltk|tok:whitespace|case:lower|stem:porter|alpha:0.9|beta:3.0|gamma:0.5"
        f"|multi:best|agg:mean|wordnet:3.0|nltk:{nltk_version}"
    )
    changed = Meteor(alpha=0.5, beta=1, gamma=0, tokenize="nltk_word_tokenize").signature()
    assert "|tok:nltk_word_tokenize|" in changed
    assert "|alpha:0.5|beta:1.0|gamma:0.0|" in changed


def test_unsegmented_text_is_warned_about():
    (warning,) = Meteor().warnings(["渡船离开了", "渡 船", "ferry", ""], [["a"]] * 4)
    assert "1 of 4 predictions" in warning
    assert Meteor().warnings(["渡 船", "ferry"], [["a"]] * 2) == ()


@pytest.mark.parametrize(
    ("settings", "error", "found"),
    [
        ({"alpha": -0.1}, InvalidInputError, "alpha is -0.1; expected a number from 0 to 1"),
        ({"gamma": 1.5}, InvalidInputError, r"gamma is 1\.5"),
        ({"beta": -1}, InvalidInputError, "beta is -1; expected a number 0 or more"),
        ({"beta": float("nan")}, InvalidInputError, "beta is nan"),
        ({"tokenize": "white"}, UnknownNameError, "did you mean 'whitespace'"),
        ({"variant": "nlt"}, UnknownNameError, "did you mean 'nltk'"),
        ({"variant": "1.5"}, MissingResourceError, "Java program that evalkit does not bundle"),
    ],
)
def test_bad_settings_are_refused(settings, error, found):
    with pytest.raises(error, match=found):
        Meteor(**settings)


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
        Meteor().statistics(predictions, references)


def test_an_old_nltk_is_refused(monkeypatch):
    for module in (wordnet, meteor):
        monkeypatch.setattr(module, "installed_nltk", lambda: "3.7")
    with pytest.raises(MissingResourceError, match=r"nltk 3\.7 is installed; METEOR needs 3\.8"):
        Meteor().statistics(["a"], [["a"]])


def test_a_missing_wordnet_is_reported_when_scores_are_asked_for(monkeypatch, tmp_path):
    monkeypatch.setenv(wordnet.VARIABLE, str(tmp_path))
    with pytest.raises(MissingResourceError, match="expected WordNet"):
        Meteor().statistics(["a"], [["a"]])


def imported(code):
    code += "; import sys; print(sorted({'numpy', 'nltk'} & set(sys.modules)))"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_importing_the_metric_imports_no_numpy():
    assert imported("from evalkit.metrics.meteor import Meteor; Meteor().signature()") == "[]"


@pytest.mark.usefixtures("nltk_wordnet")
def test_scoring_does_not_wait_for_nltk():
    assert imported("from evalkit.metrics.meteor import Meteor; Meteor().report(['a'], [['b']])") == "['numpy']"


@pytest.mark.real
@pytest.mark.usefixtures("nltk_wordnet")
def test_the_known_score_of_a_system_with_many_references_is_reproduced(data_dir):
    groups = {}
    with gzip.open(data_dir / "nlg/e2e/testset_w_refs.csv.gz", "rt", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            groups.setdefault(row["mr"], []).append(row["ref"])
    with (data_dir / "nlg/e2e/system_outputs/tgen.tsv").open(encoding="utf-8", newline="") as file:
        outputs = list(csv.DictReader(file, delimiter="\t"))
    report = Meteor().report([row["output"] for row in outputs], [groups[row["MR"]] for row in outputs])
    assert report["meteor"] == pytest.approx(0.7218340896721157, abs=1e-12)
