"""What became of every entity, case by case and against a plain version."""

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.kinds.ner import spans
from evalkit.metrics.seqeval import Seqeval
from evalkit.report.entities import BOTH, BOUNDARY, CORRECT, MISSED, SPURIOUS, TYPE, tally, tally_entities

CASES = {
    "right": ("O B-PER I-PER O", "O B-PER I-PER O", {("PER", CORRECT): 1}),
    "another type": ("B-PER I-PER O", "B-LOC I-LOC O", {("PER", TYPE): 1}),
    "too short": ("B-PER I-PER O", "B-PER O O", {("PER", BOUNDARY): 1}),
    "too long": ("B-PER O O", "B-PER I-PER O", {("PER", BOUNDARY): 1}),
    "both wrong": ("B-PER I-PER O", "B-LOC O O", {("PER", BOTH): 1}),
    "missed": ("B-PER O O", "O O O", {("PER", MISSED): 1}),
    "made up": ("O O O", "O B-LOC O", {("LOC", SPURIOUS): 1}),
    "apart": ("B-PER O O", "O O B-PER", {("PER", MISSED): 1, ("PER", SPURIOUS): 1}),
    "one prediction over two entities": ("B-PER B-PER", "B-PER I-PER", {("PER", BOUNDARY): 1, ("PER", MISSED): 1}),
    "two predictions in one entity": ("B-PER I-PER", "B-PER B-PER", {("PER", BOUNDARY): 1, ("PER", SPURIOUS): 1}),
    "the same type wins over another": (
        "B-PER I-PER I-PER",
        "B-LOC B-PER O",
        {("PER", BOUNDARY): 1, ("LOC", SPURIOUS): 1},
    ),
    "the same boundaries win over the same type": (
        "B-PER B-LOC I-LOC",
        "B-LOC B-PER I-PER",
        {("PER", TYPE): 1, ("LOC", TYPE): 1},
    ),
    "a stray continuation begins an entity": ("B-PER I-PER", "O I-PER", {("PER", BOUNDARY): 1}),
    "no entity": ("O O", "O O", {}),
}


@pytest.mark.parametrize(("gold", "predicted", "expected"), CASES.values(), ids=CASES)
def test_outcome(gold: str, predicted: str, expected: dict):
    assert tally([gold.split()], [predicted.split()]) == expected


def test_sentences_do_not_touch_one_another():
    gold = [["O", "B-PER"], ["O", "O"]]
    assert tally(gold, [["O", "O"], ["B-PER", "O"]]) == {("PER", MISSED): 1, ("PER", SPURIOUS): 1}


TAGS = st.sampled_from(["O", "O", "B-A", "I-A", "B-B", "I-B"])
PAIRS = st.integers(0, 8).flatmap(
    lambda n: st.tuples(st.lists(TAGS, min_size=n, max_size=n), st.lists(TAGS, min_size=n, max_size=n))
)


@given(st.lists(PAIRS, min_size=1, max_size=4))
def test_outcomes_add_up_to_the_entities_of_both_sides_and_to_seqeval(pairs):
    golds, predictions = [gold for gold, _ in pairs], [predicted for _, predicted in pairs]
    counts = tally(golds, predictions)
    of_gold = sum(n for (_, outcome), n in counts.items() if outcome != SPURIOUS)
    paired = sum(n for (_, outcome), n in counts.items() if outcome not in (MISSED, SPURIOUS))
    made_up = sum(n for (_, outcome), n in counts.items() if outcome == SPURIOUS)
    statistics = Seqeval().statistics(predictions, [[gold] for gold in golds])
    total = Counter()
    for name, value in zip(statistics.columns, statistics.total(), strict=True):
        total[name.partition("[")[0]] += int(value)
    assert of_gold == sum(len(list(spans(gold))) for gold in golds) == total["gold"]
    assert paired + made_up == sum(len(list(spans(predicted))) for predicted in predictions) == total["pred"]
    assert sum(n for (_, outcome), n in counts.items() if outcome == CORRECT) == total["tp"]


def line(gold, predicted, **others) -> bytes:
    sample = {"id": "1", "response": {"labels": predicted}, "prediction": predicted, "references": [gold]}
    return json.dumps({**sample, **others, "truncated": False}, separators=(",", ":")).encode()


def test_samples_are_read_with_and_without_inputs_and_unanswered_ones_are_passed_over():
    lines = [
        line(["B-A", "O"], ["B-A", "O"], inputs={"tokens": ["x", ',"truncated":']}),
        line(["O", "B-A"], ["O", "O"]),
        line(["B-A"], None),
    ]
    assert tally_entities(lines) == {("A", CORRECT): 1, ("A", MISSED): 1}


@pytest.mark.parametrize("bad", [line(["B-A"], ["B-A", "O"]), line("x", 3), b"{}", line([], "text")])
def test_samples_that_are_no_tags_are_not_counted(bad: bytes):
    assert tally_entities([bad]) is None
