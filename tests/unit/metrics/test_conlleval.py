from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.metrics.conlleval import Conlleval

IOB_TAGS = ["O", "O", "B-A", "I-A", "B-B", "I-B"]
WILD_TAGS = [
    "O",
    "O-A",
    "U-A",
    ".",
    ".-A",
    "[-A",
    "]",
    "[",
    "B",
    "B-",
    "B-0",
    "I-0",
    "I",
    "S",
    "S-A",
    "E-A",
    "I-A-B",
    "-",
    "I-A",
]


def parse(tag):
    prefix, _, label = tag.partition("-")
    return prefix, "" if label == "0" else label


def ends(prev, cur):
    changes = prev[0] not in ("O", ".") and prev[1] != cur[1]
    return prev[0] in ("[", "]") or changes or (prev[0], cur[0]) in set(zip("BBIIEEE", "BOBOEIO", strict=True))


def starts(prev, cur):
    changes = cur[0] not in ("O", ".") and prev[1] != cur[1]
    return cur[0] in ("[", "]") or changes or (prev[0], cur[0]) in set(zip("BIOOEEO", "BBBIEIE", strict=True))


def naive_counts(golds, preds):
    """The script's walk, token by token: gold, found and right phrases, and right tokens."""
    counts = Counter()
    running = False
    last_gold = last_pred = ("O", "")
    for gold_tags, pred_tags in zip(golds, preds, strict=True):
        counts["right tokens"] += sum(parse(a) == parse(b) for a, b in zip(gold_tags, pred_tags, strict=True))
        for gold, pred in zip(map(parse, [*gold_tags, "O"]), map(parse, [*pred_tags, "O"]), strict=True):
            closes = ends(last_gold, gold), ends(last_pred, pred)
            if running and all(closes) and last_gold[1] == last_pred[1]:
                counts["right"] += 1
                running = False
            elif closes[0] != closes[1] or gold[1] != pred[1]:
                running = False
            opens = starts(last_gold, gold), starts(last_pred, pred)
            running = running or (all(opens) and gold[1] == pred[1])
            counts["gold"] += opens[0]
            counts["found"] += opens[1]
            last_gold, last_pred = gold, pred
    counts["right"] += running
    return counts


@st.composite
def corpora(draw, tags):
    lengths = draw(st.lists(st.integers(1, 7), min_size=1, max_size=4))
    tag = st.sampled_from(tags)
    golds = [draw(st.lists(tag, min_size=n, max_size=n)) for n in lengths]
    return golds, [[draw(st.one_of(st.just(gold), tag)) for gold in golds_of] for golds_of in golds]


def report(golds, preds, **settings):
    return Conlleval(**settings).report(preds, [[gold] for gold in golds])


@settings(max_examples=40, deadline=None)
@given(st.one_of(corpora(IOB_TAGS), corpora(WILD_TAGS)))
def test_counts_equal_a_walk_token_by_token(corpus):
    got = report(*corpus)
    counts = naive_counts(*corpus)
    gold, found, right = counts["gold"], counts["found"], counts["right"]
    assert (got["gold_phrases"], got["found_phrases"], got["correct_phrases"]) == (gold, found, right)
    assert got["accuracy"] == pytest.approx(100 * counts["right tokens"] / got["tokens"])
    assert got["precision"] == pytest.approx(100 * right / found if found else 0.0)
    assert got["recall"] == pytest.approx(100 * right / gold if gold else 0.0)


@settings(max_examples=40, deadline=None)
@given(corpora(IOB_TAGS))
def test_types_add_up_to_the_whole(corpus):
    statistics = Conlleval().statistics(corpus[1], [[gold] for gold in corpus[0]])
    got = report(*corpus)
    for key, count in (("gold_phrases", "gold"), ("found_phrases", "pred"), ("correct_phrases", "tp")):
        total = dict(zip(statistics.columns, statistics.total(), strict=True))
        assert got[key] == sum(value for name, value in total.items() if name.startswith(f"{count}["))


def test_values_are_percent_and_unrounded():
    got = report([["B-A", "O", "B-A", "B-A"]], [["B-A", "O", "B-A", "O"]])
    assert got["recall"] == pytest.approx(200 / 3)
    assert got["accuracy_2dp"] == 75.0
    assert got["per_type_2dp"]["A"] == {"f1": 80.0, "precision": 100.0, "recall": 66.67, "found": 2}


def test_inside_tag_behind_outside_begins_a_phrase():
    assert report([["O", "B-A", "I-A"]], [["O", "I-A", "I-A"]])["f1"] == 100.0


def test_iobes_neighbours_are_run_together():
    assert report([["S-ORG", "S-ORG"]], [["S-ORG", "S-ORG"]])["gold_phrases"] == 1


def test_iobes_is_warned_of():
    assert Conlleval().warnings([["B-A"]], [[["I-A"]]]) == ()
    (warning,) = Conlleval().warnings([["B-A"]], [[["S-A"]]])
    assert "use seqeval" in warning
    assert Conlleval(raw=True).warnings([["S-A"]], [[["S-A"]]]) == ()


def test_type_zero_is_lost_as_in_perl():
    assert list(report([["B-0"]], [["B-"]])["per_type_2dp"]) == [""]


def test_raw_tokens_are_phrases_of_their_own():
    got = report([["A", "A", "O", "B-A"]], [["A", "O", "O", "B-A"]], raw=True)
    assert (got["gold_phrases"], got["found_phrases"], got["correct_phrases"]) == (3, 2, 2)
    assert set(got["per_type_2dp"]) == {"A", "B-A"}


def test_gold_as_prediction_scores_hundred():
    tags = [["B-A", "I-A", "O", "B-B"]]
    statistics = Conlleval().statistics(tags, [tags])
    values = Conlleval().score(np.stack([statistics.total()] * 2), statistics.columns)
    assert all((value == 100.0).all() for value in values.values())


def test_signature_says_whether_tags_are_raw():
    assert Conlleval(raw=True).signature() == "conlleval|raw:yes"


def test_different_lengths_are_refused_with_the_example():
    with pytest.raises(ValueError, match="example 0: the numbers of tags differ, 3 predicted and 2 in the reference"):
        report([["O", "O"]], [["O", "O", "B-A"]])
