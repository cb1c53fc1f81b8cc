"""Bad input gets one line on stderr that names what was found, exit code 2, no traceback, and keeps nothing."""

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

MT = """
name = "own_mt"
kind = "mt"
language = "en"
[files]
format = "parallel_text"
splits = { test = ["source.txt", "reference.txt"] }
"""
CWS = """
name = "own_cws"
kind = "cws"
language = "zh"
[files]
format = "sighan"
splits = { test = "gold.txt" }
"""
NER = """
name = "own_ner"
kind = "ner"
language = "en"
[files]
format = "conll"
splits = { test = "gold.conll" }
"""
QA = """
name = "own_qa"
kind = "qa"
language = "en"
[files]
format = "squad_json"
splits = { test = "gold.json" }
"""
CSV = """
name = "own_classes"
kind = "classification"
language = "en"
[files]
format = "csv"
splits = { test = "gold.csv" }
fields = { text = "sentence" }
"""
JSONL = CSV.replace("csv", "jsonl")


def write(folder: Path, **files: str | bytes) -> None:
    for name, content in files.items():
        path = folder / name.replace("__", ".")
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))


def mt(folder: Path, source: str | bytes = "one\ntwo\n", reference: str | bytes = "uno\ndos\n", task: str = MT) -> str:
    write(folder, task__toml=task, source__txt=source, reference__txt=reference)
    return str(folder / "task.toml")


def own(folder: Path, task: str, **files: str | bytes) -> str:
    write(folder, task__toml=task, **files)
    return str(folder / "task.toml")


def predicted(folder: Path, content: str | bytes, name: str = "out.txt") -> str:
    (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return f"predictions:{folder / name}"


def jsonl(*rows: object) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def run(task: str, model: str, *more: str) -> list[str]:
    return ["run", "--task", task, "--model", model, *more]


SQUAD = json.dumps({"data": [{"paragraphs": [{"context": "Ann ran.", "qas": [{"id": "q1", "question": "Who?", "answers": [{"text": "Ann", "answer_start": 0}]}]}]}]})  # fmt: skip  # noqa: E501

Case = tuple[Callable[[Path], list[str]], str]

CASES: dict[str, Case] = {
    "no such command": (lambda d: ["rum"], "unknown command 'rum'; did you mean 'run'?"),
    "no such flag": (lambda d: run("mini_cws", "baseline:copy", "--limt", "3"), "--limit"),
    "a flag without its value": (lambda d: ["show", "mini_cws", "--data-dir"], "--data-dir"),
    "no task named": (lambda d: ["run", "--model", "baseline:copy"], "--task"),
    "no such task": (lambda d: run("mini_cwz", "baseline:copy"), "unknown task 'mini_cwz'; did you mean 'mini_cws'?"),
    "no task matches a pattern": (lambda d: run("mimi_*", "baseline:copy"), "unknown task pattern 'mimi_*'"),
    "no such metric": (
        lambda d: run("mini_cws", "baseline:copy", "--metrics", "blue"),
        "unknown metric 'blue'; did you mean 'bleu'?",
    ),
    "a metric of another kind": (
        lambda d: run("mini_cws", "baseline:copy", "--metrics", "rouge"),
        "metric 'rouge' does not take tasks of kind 'cws'; metrics for them: cws",
    ),
    "a metric of another kind in a task file": (
        lambda d: run(mt(d, task='metrics = ["squad_v1"]\n' + MT), "baseline:copy"),
        "metric 'squad_v1' does not take tasks of kind 'mt'",
    ),
    "a language by its name": (
        lambda d: run(mt(d, task=MT.replace('"en"', '"Chinese"')), "baseline:copy"),
        "did you mean 'zh'?",
    ),
    "no such model scheme": (
        lambda d: run("mini_cws", "prediction:x"),
        "unknown model scheme 'prediction'; did you mean 'predictions'?",
    ),
    "a model without a scheme": (lambda d: run("mini_cws", "copy"), "did you mean 'baseline:copy'?"),
    "no such baseline": (lambda d: run("mini_cws", "baseline:max_match"), "did you mean 'max-match'?"),
    "a baseline that cannot answer": (lambda d: run("mini_cws", "baseline:lead-3"), "does not answer cws tasks"),
    "no such split": (lambda d: run("mini_cws", "baseline:copy", "--split", "tst"), "did you mean 'test'?"),
    "no such sample id": (
        lambda d: run("mini_cws", "baseline:copy", "--sample-ids", "nope"),
        "unknown sample id 'nope'",
    ),
    "a part without its end": (
        lambda d: run("mini_cws", "baseline:copy", "--part", "0.5"),
        "--part '0.5' is no part; expected FROM:TO with 0 <= FROM < TO <= 1",
    ),
    "a part of nothing": (
        lambda d: run("mini_cws", "baseline:copy", "--part", "0:0.0001"),
        "--part '0:0.0001' holds none of the 500 examples",
    ),
    "a part and single examples": (
        lambda d: run("mini_cws", "baseline:copy", "--part", "0:1", "--sample-ids", "test-0"),
        "--part and --sample-ids each choose the examples; give one of them",
    ),
    "a limit of zero": (lambda d: run("mini_cws", "baseline:copy", "--limit", "0"), "--limit"),
    "a limit that is no number": (
        lambda d: run("mini_cws", "baseline:copy", "--limit", "many"),
        "'many' is not a valid integer",
    ),
    "a confidence in percent": (lambda d: run("mini_cws", "baseline:copy", "--confidence", "95"), "confidence is 95"),
    "a size for a fixed data set": (
        lambda d: run(mt(d), "baseline:copy", "--size", "9"),
        "--size goes with embedded tasks",
    ),
    "shots where no prompt is shown": (lambda d: run("mini_cws", "baseline:copy", "--shots", "2"), "show no prompt"),
    "a missing predictions file": (lambda d: run(mt(d), f"predictions:{d / 'nothing.txt'}"), "nothing.txt"),
    "a folder where a file belongs": (lambda d: run(mt(d), f"predictions:{d}"), "folder"),
    "a missing data folder": (lambda d: run(mt(d), "baseline:copy", "--data-dir", str(d / "gone")), "is not a folder"),
    "a missing data file": (lambda d: run(own(d, MT), "baseline:copy"), "source.txt"),
    "unequal source and reference": (lambda d: run(mt(d, reference="uno\n"), "baseline:copy"), "2"),
    "an empty data set": (lambda d: run(mt(d, source="", reference=""), "baseline:copy"), "the file is empty"),
    "invalid UTF-8 in the data": (lambda d: run(mt(d, source=b"one\nt\xffo\n"), "baseline:copy"), "source.txt:2"),
    "a cut gzip file": (lambda d: run(mt(d, source=gzip.compress(b"one\ntwo\n" * 500)[:40]), "baseline:copy"), "gzip"),
    "unequal lines of predictions": (lambda d: run(mt(d), predicted(d, "uno\n")), "1 line"),
    "a broken JSON line": (
        lambda d: run(mt(d), predicted(d, '{"id": "1", "prediction": "a"}\n{"id": "2",\n', "o.jsonl")),
        "o.jsonl:2",
    ),
    "an unknown id": (
        lambda d: run(
            mt(d),
            predicted(
                d,
                jsonl({"id": "1", "prediction": "a"}, {"id": "2", "prediction": "b"}, {"id": "7", "prediction": "c"}),
                "o.jsonl",
            ),
        ),
        "'7'",
    ),
    "a missing id": (lambda d: run(mt(d), predicted(d, jsonl({"id": "1", "prediction": "a"}), "o.jsonl")), "'2'"),
    "an id twice": (
        lambda d: run(
            mt(d),
            predicted(
                d,
                jsonl({"id": "1", "prediction": "a"}, {"id": "2", "prediction": "b"}, {"id": "1", "prediction": "b"}),
                "o.jsonl",
            ),
        ),
        "o.jsonl:3",
    ),
    "a prediction that is no text": (
        lambda d: run(
            mt(d), predicted(d, jsonl({"id": "1", "prediction": 5}, {"id": "2", "prediction": "b"}), "o.jsonl")
        ),
        "o.jsonl:1",
    ),
    "an object without a prediction": (
        lambda d: run(
            mt(d), predicted(d, jsonl({"id": "1", "predicted": "a"}, {"id": "2", "predicted": "b"}), "o.jsonl")
        ),
        "prediction",
    ),
    "characters changed in segmentation": (
        lambda d: run(own(d, CWS, gold__txt="我 爱 北京\n"), predicted(d, "我 爱 南京\n")),
        "北",
    ),
    "too few tags in a sentence": (
        lambda d: run(own(d, NER, gold__conll="Ann\tB-PER\nran\tO\n\n"), predicted(d, "Ann\tB-PER\n\n", "o.conll")),
        "1",
    ),
    "tags of other tokens": (
        lambda d: run(
            own(d, NER, gold__conll="Ann\tB-PER\nran\tO\n\n"), predicted(d, "Bob\tB-PER\nran\tO\n\n", "o.conll")
        ),
        "Bob",
    ),
    "a data row without its tag": (
        lambda d: run(own(d, NER, gold__conll="Ann B-PER\nran\n\n"), "baseline:empty"),
        "gold.conll:2",
    ),
    "no SQuAD JSON in the data": (lambda d: run(own(d, QA, gold__json="[1, 2]"), "baseline:empty"), "gold.json"),
    "broken SQuAD predictions": (
        lambda d: run(own(d, QA, gold__json=SQUAD), predicted(d, '{"q1": ', "o.json")),
        "o.json",
    ),
    "a wrong column": (
        lambda d: run(own(d, CSV, gold__csv="sentense,label\nhello,good\n"), "baseline:majority"),
        "sentense",
    ),
    "a ragged row": (
        lambda d: run(own(d, CSV, gold__csv="sentence,label\nhello,good\nbye\n"), "baseline:majority"),
        "gold.csv:3",
    ),
    "ids twice in the data": (
        lambda d: run(
            own(d, JSONL, gold__jsonl=jsonl(*[{"id": "a", "sentence": "x", "label": "y"}] * 2)), "baseline:majority"
        ),
        "'a'",
    ),
    "a broken data row": (
        lambda d: run(own(d, JSONL, gold__jsonl='{"sentence": "x"\n'), "baseline:majority"),
        "gold.jsonl:1",
    ),
    "a baseline without training data": (
        lambda d: run(own(d, JSONL, gold__jsonl=jsonl({"sentence": "x", "label": "y"})), "baseline:majority"),
        "train",
    ),
    "a task file that is not TOML": (lambda d: run(mt(d, task="name = \n"), "baseline:copy"), "not a TOML file"),
    "an unknown key in a task file": (
        lambda d: run(mt(d, task=MT.replace("language", "langauge")), "baseline:copy"),
        "did you mean 'language'?",
    ),
    "an unknown kind": (
        lambda d: run(mt(d, task=MT.replace('"mt"', '"nmt"')), "baseline:copy"),
        "unknown kind 'nmt'; did you mean 'mt'?",
    ),
    "an unknown format": (
        lambda d: run(mt(d, task=MT.replace("parallel_text", "paralel_text")), "baseline:copy"),
        "did you mean 'parallel_text'?",
    ),
    "an unknown metric setting": (
        lambda d: run(mt(d, task='metrics = [{ name = "bleu", tokenise = "zh" }]\n' + MT), "baseline:copy"),
        "did you mean 'tokenize'?",
    ),
    "a data path that leaves its folder": (
        lambda d: run(mt(d, task=MT.replace("source.txt", "../source.txt")), "baseline:copy"),
        "leaves",
    ),
    "a template that names what is not there": (
        lambda d: run(mt(d, task='prompt = "{{ sauce }}"\n' + MT), "baseline:copy"),
        "'sauce' is undefined",
    ),
    "shots from too small a split": (
        lambda d: run(
            mt(d, task=MT.replace("{ test", '{ train = ["source.txt", "reference.txt"], test')),
            "baseline:copy",
            "--shots",
            "4",
        ),
        "4 shots",
    ),
    "an unwritable store": (lambda d: run(mt(d), "baseline:copy", "--out", str(d / "source.txt" / "runs")), "--out"),
    "a store that is a file": (lambda d: run(mt(d), "baseline:copy", "--out", str(d / "source.txt")), "--out"),
    "nothing of that name to show": (lambda d: ["show", "mini_nerr"], "did you mean 'mini_ner'?"),
    "no such topic to list": (lambda d: ["list", "task"], "'task'"),
    "no conformance folder": (lambda d: ["doctor", "--metrics", str(d / "gone")], "is not a folder"),
    "a folder without conformance files": (lambda d: ["doctor", "--metrics", str(d)], "no *.jsonl file"),
    "a conformance case without its fields": (
        lambda d: (write(d, x__jsonl='{"id": "x"}\n'), ["doctor", "--metrics", str(d)])[1],
        "x.jsonl:1",
    ),
    "a task file that is not there": (lambda d: ["validate", str(d / "mine.toml")], "mine.toml"),
}


@pytest.mark.parametrize(("arguments", "fragment"), CASES.values(), ids=list(CASES))
def test_bad_input_gets_one_clear_line(evalkit, tmp_path: Path, arguments, fragment):
    folder = tmp_path / "input"
    folder.mkdir()
    outcome = evalkit(*arguments(folder))
    assert outcome.code == 2, outcome.err
    lines = outcome.err.strip().splitlines()
    assert len(lines) == 1, outcome.err
    assert lines[0].startswith("evalkit: ")
    assert fragment in lines[0]
    assert "Traceback" not in outcome.err
    assert outcome.out == ""
    kept = tmp_path / "runs"
    assert not kept.exists() or not any(kept.iterdir())


def test_a_full_disk_gets_one_line_and_leaves_no_half_written_run(evalkit, tmp_path, monkeypatch):
    def full(path, lines):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr("evalkit.store._write", full)
    outcome = evalkit("run", "--task", "mini_cws", "--limit", "5", "--model", "baseline:copy")
    assert outcome.code == 2
    assert "No space left on device" in outcome.err
    assert "cws f1" in outcome.out
    assert len(outcome.err.strip().splitlines()) == 1
    assert list((tmp_path / "runs").iterdir()) == []


def test_a_bug_of_ours_is_called_one_and_exits_70(evalkit, monkeypatch):
    def broken(*_):
        raise RuntimeError("boom")

    monkeypatch.setattr("evalkit.catalog.tasks", broken)
    outcome = evalkit("list", "tasks")
    assert outcome.code == 70
    assert "internal error: RuntimeError: boom" in outcome.err
    assert "Traceback" not in outcome.err


def test_an_interrupt_exits_130(evalkit, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("evalkit.catalog.tasks", interrupted)
    assert evalkit("list", "tasks").code == 130
