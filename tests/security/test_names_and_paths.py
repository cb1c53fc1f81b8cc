"""Names from data, models and records that would like to be paths or steer the terminal."""

import json
import shutil
from pathlib import Path

import pytest

from evalkit.metrics.squad import SquadV1
from tests.stored import keep_run

ESCAPES = "\x1b[31mred\x1b]0;owned\x07\x9b2J\r"


@pytest.fixture(autouse=True)
def _working_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def is_clean(text):
    return all(character.isprintable() or character == "\n" for character in text)


def predictions(path, text):
    from evalkit.data.load import load
    from evalkit.resolve import resolve_task

    examples = load(resolve_task("mini_mt_en_zh"), "test").examples
    Path(path).write_text(
        "".join(json.dumps({"id": example.id, "prediction": text}) + "\n" for example in examples), encoding="utf-8"
    )
    return examples


def test_outputs_with_escape_sequences_leave_the_terminal_alone(evalkit):
    predictions(f"bad{ESCAPES[:5]}.jsonl", ESCAPES)
    predictions("good.jsonl", "good")
    runs = []
    for name in (f"bad{ESCAPES[:5]}.jsonl", "good.jsonl"):
        outcome = evalkit("run", "--task", "mini_mt_en_zh", "--model", f"predictions:{name}", "--limit", "30")
        assert outcome.code == 0, outcome.err
        assert is_clean(outcome.out)
        assert is_clean(outcome.err)
        runs.append(outcome.err.strip().rpartition("kept: ")[2])
    folders = sorted(map(str, Path("runs").iterdir()))
    for command in (["compare", *folders], ["gate", "--baseline", folders[0], "--candidate", folders[1]]):
        outcome = evalkit(*command)
        assert is_clean(outcome.out + outcome.err), command


def test_failures_of_several_runs_show_escape_sequences_as_text(evalkit):
    name = f"bad{ESCAPES}.jsonl"
    Path(name).write_text("[" * 10_000, encoding="utf-8")
    outcome = evalkit("run", "--task", "mini_cws,mini_ner,mini_mt_en_zh", "--model", f"predictions:{name}")
    assert outcome.code == 2
    assert len(outcome.err.splitlines()) == 3
    assert is_clean(outcome.err)


@pytest.mark.parametrize("flag", ["--task", "--model", "--split", "--sample-ids", "--metrics", "--data-dir"])
def test_messages_show_escape_sequences_as_text(evalkit, flag):
    words = {"--task": "mini_cws", "--model": "baseline:copy"} | {flag: f"x{ESCAPES}"}
    outcome = evalkit("run", *(word for pair in words.items() for word in pair))
    assert outcome.code == 2
    assert is_clean(outcome.err)
    assert len(outcome.err.splitlines()) == 1


def test_ids_are_never_paths(evalkit):
    Path("src.jsonl").write_text(
        "".join(
            json.dumps({"id": name, "source": "a", "references": "b"}) + "\n"
            for name in ("../../escape", "/etc/passwd", "a\0b", "..", "con", "x" * 4000)
        ),
        encoding="utf-8",
    )
    Path("own.toml").write_text(
        'name = "own"\nkind = "mt"\nlanguage = "en"\nsource_language = "de"\n'
        '[files]\nformat = "jsonl"\nsplits = { test = "src.jsonl" }\n'
        'fields = { id = "id", source = "source", references = "references" }\n',
        encoding="utf-8",
    )
    outcome = evalkit("run", "--task", "own.toml", "--model", "baseline:copy", "--out", "runs")
    assert outcome.code == 0, outcome.err
    [folder] = Path("runs").iterdir()
    assert sorted(path.name for path in folder.iterdir()) == ["run.json", "samples.jsonl"]


@pytest.mark.parametrize("name", ["../../../escape", "a/b", "..", "x\0y"])
def test_task_names_never_lead_out_of_the_store(evalkit, name):
    Path("s.txt").write_text("one\n", encoding="utf-8")
    Path("own.toml").write_text(
        f'name = {json.dumps(name)}\nkind = "mt"\nlanguage = "en"\nsource_language = "de"\n'
        '[files]\nformat = "parallel_text"\nsplits = { test = ["s.txt", "s.txt"] }\n',
        encoding="utf-8",
    )
    evalkit("run", "--task", "own.toml", "--model", "baseline:copy", "--out", "store/runs")
    outside = [path for path in Path().rglob("run.json") if path.parent.parent != Path("store/runs")]
    assert outside == []


def test_a_baseline_cannot_be_named_out_of_its_folder(evalkit, tmp_path):
    run = keep_run(tmp_path / "runs", SquadV1(), ["a"] * 5, [["a"]] * 5)
    outcome = evalkit("baseline", "set", "../../escape", run, "--why", "test")
    assert outcome.code == 2
    assert "cannot name a baseline" in outcome.err


def test_a_record_that_names_another_task_stays_in_the_folder_of_baselines(evalkit, tmp_path):
    run = keep_run(tmp_path / "runs", SquadV1(), ["a"] * 5, [["a"]] * 5, task={"name": "../../../escape"})
    outcome = evalkit("baseline", "set", "main", run, "--why", "test")
    assert outcome.code == 0, outcome.err
    assert {path.parent for path in Path().rglob("*.gz")} == {Path("baselines/main")}


def test_a_run_that_was_copied_under_another_name_is_found(evalkit, tmp_path):
    run = keep_run(tmp_path / "runs", SquadV1(), ["a"] * 5, [["a"]] * 5)
    shutil.copytree(run, tmp_path / "runs" / "better")
    Path("runs/link").symlink_to("/etc", target_is_directory=True)
    outcome = evalkit("doctor", "--store", "runs", "--json")
    assert {(one["name"], one["kind"]) for one in outcome.json["findings"]} == {
        ("better", "edited"),
        ("link", "foreign"),
    }
