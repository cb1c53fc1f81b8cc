"""Slices and breakdowns, against scores of the parts computed from text."""

from pathlib import Path

import numpy as np
import pytest

from evalkit.metrics.bleu import Bleu
from evalkit.metrics.classification import Classification
from evalkit.metrics.cws import Cws
from evalkit.metrics.perplexity import Perplexity
from evalkit.metrics.seqeval import Seqeval
from evalkit.metrics.squad import SquadV2
from evalkit.report.build import build_report
from evalkit.report.model import Breakdown, Settings, Slices, TaskPage
from evalkit.requests import Answer, RollingResponse
from tests.stored import keep_run
from tests.unit.report.made import disturbed, sentences, translation

QUICK = Settings(resamples=200)


def page(folder: Path) -> TaskPage:
    [only] = build_report([str(folder)], QUICK).tasks
    return only


def slices(found: TaskPage, by: str, value: str | None = None) -> Slices:
    return next(one for one in found.slices if one.by == by and value in (None, one.value))


def counts(found: TaskPage, title: str) -> dict[tuple[str, str], tuple[int | None, ...]]:
    breakdown: Breakdown = next(one for one in found.breakdowns if one.title == title)
    return {(row.group, row.outcome): row.counts for row in breakdown.rows}


def test_the_score_of_a_length_is_that_of_its_examples_alone(tmp_path: Path):
    references = sentences(90)
    outputs = {name: disturbed(references, share, 3) for name, share in (("A", 0.2), ("B", 0.4))}
    for name, texts in outputs.items():
        keep_run(tmp_path, Bleu(), texts, [[line] for line in references], name=name)
    found = slices(page(tmp_path), "reference length")
    assert sum(group.n for group in found.groups) == 90
    for group in found.groups:
        low, high = map(int, group.name.split("-"))
        members = [i for i, line in enumerate(references) if low <= len(line) <= high]
        assert group.n == len(members)
        for texts, scored in zip(outputs.values(), group.values, strict=True):
            statistics = Bleu().statistics([texts[i] for i in members], [[references[i]] for i in members])
            expected = float(Bleu().score(statistics.total(), statistics.columns)["bleu"])
            assert scored.value == pytest.approx(expected)
            assert scored.low < expected < scored.high


def test_a_model_that_is_not_compared_has_no_slices_of_its_own(tmp_path: Path):
    translation(tmp_path, "A", 0.2, n=80)
    translation(tmp_path, "B", 0.3, n=80)
    translation(tmp_path, "C", 0.1, n=40)
    report = build_report([str(tmp_path)], QUICK)
    names = {model.key: model.name for model in report.models}
    for group in slices(report.tasks[0], "reference length").groups:
        scored = {names[key]: value for key, value in zip(report.tasks[0].models, group.values, strict=True)}
        assert {name for name, value in scored.items() if value is None} == {"C"}


def test_labels_are_scored_and_their_confusions_counted(tmp_path: Path):
    gold = ["x"] * 6 + ["y"] * 4
    outputs = ["x"] * 5 + ["y"] + ["y", "y", "x", "x"]
    keep_run(
        tmp_path,
        Classification(labels=("x", "y")),
        outputs,
        [[label] for label in gold],
        task={"kind": "classification"},
    )
    found = page(tmp_path)
    by_label = slices(found, "label", "accuracy")
    assert [(group.name, group.n, group.values[0].value) for group in by_label.groups] == [
        ("x", 6, pytest.approx(5 / 6)),
        ("y", 4, pytest.approx(0.5)),
    ]
    assert counts(found, "Labels") == {
        ("x", "right"): (5,),
        ("x", "taken for another"): (1,),
        ("y", "right"): (2,),
        ("y", "taken for another"): (2,),
    }
    assert counts(found, "Most frequent confusions") == {("y", "taken for x"): (2,), ("x", "taken for y"): (1,)}


def test_entities_are_counted_by_type(tmp_path: Path):
    gold = [["B-PER", "I-PER", "O", "B-LOC"], ["O", "B-LOC", "O", "O"]]
    outputs = [["B-PER", "O", "O", "B-LOC"], ["O", "O", "O", "B-ORG"]]
    keep_run(tmp_path, Seqeval(), outputs, [[tags] for tags in gold], task={"kind": "ner"})
    found = {key: count for key, (count,) in counts(page(tmp_path), "Entities").items() if count}
    assert found == {
        ("PER", "boundary error"): 1,
        ("LOC", "correct"): 1,
        ("LOC", "missed"): 1,
        ("ORG", "spurious"): 1,
    }


def test_questions_are_counted_by_whether_they_have_an_answer(tmp_path: Path):
    answers = ["red", "red car", "blue", "", "", "red", ""]
    references = [["red"], ["red"], ["red"], ["red"], [], [], []]
    outputs = [Answer(text=text) for text in answers]
    keep_run(tmp_path, SquadV2(), outputs, references, task={"kind": "qa"})
    assert counts(page(tmp_path), "Answers") == {
        ("answerable", "exact"): (1,),
        ("answerable", "partly right"): (1,),
        ("answerable", "wrong"): (1,),
        ("answerable", "no answer given"): (1,),
        ("unanswerable", "no answer given"): (2,),
        ("unanswerable", "answered all the same"): (1,),
    }


def test_words_are_counted_by_whether_training_had_them(tmp_path: Path):
    metric = Cws(train_words=frozenset({"我们", "走"}))
    keep_run(tmp_path, metric, ["我们  走  吧", "北  京"], [["我们  走吧"], ["北京"]], task={"kind": "cws"})
    assert counts(page(tmp_path), "Words") == {
        ("in the training words", "right"): (1,),
        ("in the training words", "missed"): (0,),
        ("not in the training words", "right"): (0,),
        ("not in the training words", "missed"): (2,),
        ("predicted", "right"): (1,),
        ("predicted", "wrong"): (4,),
    }


def test_words_without_a_word_list_are_counted_together(tmp_path: Path):
    keep_run(tmp_path, Cws(), ["我们  走  吧"], [["我们  走吧"]], task={"kind": "cws"})
    assert counts(page(tmp_path), "Words")["gold", "right"] == (1,)


def test_translations_are_counted_by_their_length(tmp_path: Path):
    outputs = ["", "a b c", "a b c d", "a b c d e f", "a b c d e f g h"]
    keep_run(tmp_path, Bleu(), outputs, [["a b c d e f"]] * 5)
    found = {
        outcome: count
        for (_, outcome), (count,) in counts(page(tmp_path), "Length of the output beside the reference's").items()
    }
    assert found == {"empty": 1, "under 80%": 2, "80% to 125%": 1, "over 125%": 1}


def test_language_models_are_compared_by_document_the_worst_first(tmp_path: Path):
    texts = ["one two", "three", "four five six", "seven"]
    for name, factor in (("A", 1.0), ("B", 1.5)):
        outputs = [
            RollingResponse(example_id=str(i), logprob_nats=-factor * (i + 1) * len(text), token_count=len(text))
            for i, text in enumerate(texts)
        ]
        keep_run(
            tmp_path, Perplexity(), outputs, [[text] for text in texts], name=name, task={"kind": "lm"},
            clusters=["one", "one", "two", "three"],
        )  # fmt: skip
    found = slices(page(tmp_path), "document")
    expected = {  # nats are i + 1 for each byte
        "three": 4.0,
        "two": 3.0,
        "one": (1 * 7 + 2 * 5) / 12,
    }
    assert [group.name for group in found.groups] == list(expected)
    assert [group.n for group in found.groups] == [1, 1, 2]
    for group in found.groups:
        bits = expected[group.name] / np.log(2)
        assert [value.value for value in group.values] == pytest.approx([bits, 1.5 * bits])


def test_values_by_type_come_from_the_record_with_their_counts(tmp_path: Path):
    gold = [["B-PER", "O", "B-LOC"]] * 5
    outputs = [["B-PER", "O", "O"]] * 5
    metric = Seqeval()
    statistics = metric.statistics(outputs, [[tags] for tags in gold])
    scores = metric.score(statistics.total(), statistics.columns)
    values = [
        {
            "metric": "seqeval", "name": name, "value": float(scores[name]), "low": None, "high": None, "stderr": None, "n": 5,
            "unscored": 0, "signature": metric.signature(), "higher_is_better": True, "scale": 1.0,
            "headline": name == "f1",
        }
        for name in ("f1", "f1[LOC]", "f1[PER]")
    ]  # fmt: skip
    from evalkit.record import MetricValue

    changes = {"metrics": tuple(MetricValue(**value) for value in values)}
    keep_run(tmp_path, metric, outputs, [[tags] for tags in gold], task={"kind": "ner"}, changes=changes)
    found = slices(page(tmp_path), "entity type")
    assert [(group.name, group.n, group.values[0].value) for group in found.groups] == [
        ("LOC", 5, 0.0),
        ("PER", 5, 1.0),
    ]
    assert (found.value, found.counts) == ("f1", "entities")
