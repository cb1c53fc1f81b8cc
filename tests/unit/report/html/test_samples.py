"""Samples of a page: outputs, scores and verdicts of every run, in one order, however the runs were written."""

import base64
import json
import zlib
from pathlib import Path
from typing import Any

import pytest
from sacrebleu.metrics import BLEU

from evalkit.comparison.loaded import load_run
from evalkit.metrics.classification import Classification
from evalkit.report.build import build_report
from evalkit.report.html.lines import cut_up
from evalkit.report.html.samples import Block, PageSamples, SamplePages
from evalkit.report.model import Report, Settings
from tests.hostile import HOSTILE
from tests.stored import keep_run
from tests.unit.report.made import answering, disturbed, sentences, translation


def unpack(block: Block) -> Any:
    return json.loads(zlib.decompress(base64.b64decode(block.data)))


def gathered(folder: Path) -> tuple[Report, PageSamples]:
    samples = SamplePages()
    report = build_report([str(folder)], Settings(resamples=100), samples=samples)
    return report, samples.pages[report.tasks[0].key]


def samples_of(folder: Path):
    report, found = gathered(folder)
    names = {str(place): model.name for place, model in enumerate(report.models)}
    first, *others = found.blocks
    keys = {key: names[place] for place, (key, _, _) in found.manifest["models"].items()}
    return found.manifest, unpack(first), {keys[block.key]: unpack(block) for block in others}


def edit_lines(folder: str, change) -> None:
    path = Path(folder) / "samples.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    text = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in change(rows))
    path.write_text(text, encoding="utf-8")


def test_scores_of_translations_are_those_of_the_sentences_alone(tmp_path):
    translation(tmp_path, "system", 0.3)
    manifest, examples, sides = samples_of(tmp_path)
    outputs, scores = sides["system"]["out"], sides["system"]["scores"][0]
    assert manifest["scores"][0][:3] == ["bleu", "bleu", [1, ""]]
    reference = BLEU(effective_order=False)
    for output, (wanted,), score in zip(outputs, examples["references"], scores, strict=True):
        assert score == pytest.approx(reference.corpus_score([output], [[wanted]]).score, abs=0.051)


def test_answers_are_right_or_wrong_as_the_scorer_says(tmp_path):
    right = [True, False, True, True, False]
    answering(tmp_path, "system", right)
    manifest, _, sides = samples_of(tmp_path)
    assert sides["system"]["right"] == "10110"
    assert manifest["judged"] is True


def test_labels_are_right_where_they_are_the_reference(tmp_path):
    metric = Classification(labels=("a", "b"))
    keep_run(tmp_path, metric, ["a", "b", "b"], [["a"], ["a"], ["b"]], name="system", task={"kind": "classification"})
    _, _, sides = samples_of(tmp_path)
    assert sides["system"]["right"] == "101"


def test_runs_in_another_order_or_of_fewer_examples_are_put_beside_one_another(tmp_path):
    answering(tmp_path, "a", [True, True, False, False])
    edit_lines(answering(tmp_path, "b", [True, False, True, False]), lambda rows: rows[::-1])
    edit_lines(answering(tmp_path, "c", [False, True, True, False]), lambda rows: rows[1:3])
    edit_lines(
        answering(tmp_path, "d", [True, False, True, False]), lambda rows: [*rows[2:], {**rows[0], "id": "only here"}]
    )
    _, examples, sides = samples_of(tmp_path)
    ids = examples["ids"]
    assert sorted(ids) == ["e0000", "e0001", "e0002", "e0003", "only here"]
    expected = {"a": "1100", "b": "1010", "c": " 11 ", "d": "  10"}
    for name, verdicts in expected.items():
        found = {example: verdict for example, verdict in zip(ids, sides[name]["right"], strict=False)}
        for place, verdict in enumerate(verdicts):
            assert found.get(f"e{place:04}", " ") == verdict
    assert dict(zip(ids, sides["d"]["right"], strict=False))["only here"] == "1"
    assert dict(zip(ids, sides["c"]["out"], strict=False)).get("e0000") is None


def test_what_could_not_be_answered_says_why(tmp_path):
    def fail(rows):
        rows[1] |= {"response": {"error": "out of memory"}, "prediction": None, "statistics": None}
        rows[2] |= {"truncated": True}
        return rows

    edit_lines(answering(tmp_path, "system", [True, True, True]), fail)
    _, _, sides = samples_of(tmp_path)
    assert sides["system"]["right"] == "1-1"
    assert sides["system"]["scores"][0][1] is None
    assert sides["system"]["flags"] == {"1": ["failed: out of memory"], "2": ["truncated"]}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_lines_are_cut_as_they_would_be_parsed(tmp_path, text):
    texts = [text, f'x","prediction":{text}', f'",references":["{text}"', '","truncated":true,"statistics":null}', "\\"]
    folder = answering(tmp_path, "system", [True] * len(texts))

    def change(rows):
        return [
            row | {"prediction": said, "references": [said], "inputs": {"q": said}}
            for row, said in zip(rows, texts, strict=True)
        ]

    edit_lines(folder, change)
    cut = cut_up(load_run(folder))
    assert [json.loads(output) for output in cut.outputs] == texts
    assert [json.loads(references) for references in cut.references] == [[said] for said in texts]
    assert cut.statistics["squad_v1"].rows.shape[0] == len(texts)
    assert list(cut.truncated) == [False] * len(texts)


def test_lines_of_another_layout_give_the_same(tmp_path):
    folder = translation(tmp_path, "system", 0.3, ids=[f"{n}" for n in range(100, 160)])
    usual = cut_up(load_run(folder))
    path = Path(folder) / "samples.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    path.write_text("".join(json.dumps(dict(reversed(row.items()))) + "\n" for row in rows), encoding="utf-8")
    other = cut_up(load_run(folder))
    assert usual.ids == other.ids
    assert [json.loads(output) for output in usual.outputs] == [json.loads(output) for output in other.outputs]
    assert (usual.statistics["bleu"].rows == other.statistics["bleu"].rows).all()


def test_a_run_whose_samples_are_gone_is_left_out(tmp_path):
    answering(tmp_path, "a", [True, False])
    gone = answering(tmp_path, "b", [True, False])
    (Path(gone) / "samples.jsonl").unlink()
    _, found = gathered(tmp_path)
    assert len(found.manifest["models"]) == 1


def test_statistics_that_only_the_page_needs_may_be_damaged(tmp_path):
    for name, share in (("a", 0.1), ("b", 0.3)):
        with_another_metric(translation(tmp_path, name, share))
    report, found = gathered(tmp_path)
    edit_lines(
        str(tmp_path / "b"), lambda rows: [row | {"statistics": row["statistics"] | {"other": [1]}} for row in rows]
    )
    after, without = gathered(tmp_path)
    assert after == report
    assert (len(found.manifest["models"]), len(without.manifest["models"])) == (2, 1)


def with_another_metric(folder: str) -> None:
    path = Path(folder) / "run.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    record["statistics"]["other"] = record["statistics"]["bleu"]
    record["metrics"] += [value | {"metric": "other", "headline": False} for value in record["metrics"]]
    path.write_text(json.dumps(record), encoding="utf-8")

    def doubled(rows):
        return [row | {"statistics": {label: row["statistics"]["bleu"] for label in ("bleu", "other")}} for row in rows]

    edit_lines(folder, doubled)


def test_samples_are_gathered_without_any_change_to_the_report(tmp_path):
    for name, share in (("a", 0.1), ("b", 0.3)):
        translation(tmp_path, name, share)
    assert gathered(tmp_path)[0] == build_report([str(tmp_path)], Settings(resamples=100))


def test_long_inputs_that_occur_twice_are_kept_once(tmp_path):
    folder = answering(tmp_path, "system", [True, False])
    context = " ".join(sentences(30))
    edit_lines(folder, lambda rows: [row | {"inputs": {"question": "who?", "context": context}} for row in rows])
    _, examples, _ = samples_of(tmp_path)
    assert examples["pool"] == [context]
    assert examples["inputs"] == [{"question": "who?", "context": {"at": 0}}] * 2


def test_outputs_are_not_changed(tmp_path):
    lines = disturbed(sentences(20), 0.5, 3)
    keep_run(
        tmp_path, Classification(labels=("a",)), ["a"] * 20, [["a"]] * 20, name="x", task={"kind": "classification"}
    )
    edit_lines(
        str(tmp_path / "x"), lambda rows: [row | {"prediction": said} for row, said in zip(rows, lines, strict=True)]
    )
    _, _, sides = samples_of(tmp_path)
    assert sides["x"]["out"] == lines
