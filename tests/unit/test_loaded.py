"""Reading runs into statistics: order, layouts, and everything that can be wrong with a folder."""

import json
from pathlib import Path

import numpy as np
import pytest

from evalkit.comparison.loaded import load_run, run_folders
from evalkit.errors import DataError, InvalidInputError
from evalkit.metrics.squad import SquadV1
from tests.stored import keep_run

PREDICTIONS = ["k", "b", "c", "d"]
REFERENCES = [["k"], ["x"], ["c"], ["d"]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(keep_run(tmp_path, SquadV1(), PREDICTIONS, REFERENCES, ids=["10", "9", "2", "1"]))


def rewrite(folder: Path, change) -> None:
    path = folder / "samples.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(change(lines)))


def test_rows_come_in_the_order_of_ids(folder):
    run = load_run(folder)
    assert run.ids == ("1", "10", "2", "9")
    assert run.statistics["squad_v1"].rows[:, 0].tolist() == [1, 1, 1, 0]
    assert run.prompts == ("p1", "p10", "p2", "p9")
    assert run.scored.all()
    assert not run.is_cut


def test_the_order_of_the_file_changes_nothing(folder):
    before = load_run(folder)
    rewrite(folder, lambda lines: lines[::-1])
    after = load_run(folder)
    assert after.ids == before.ids
    assert np.array_equal(after.statistics["squad_v1"].rows, before.statistics["squad_v1"].rows)
    assert after.lines == before.lines


def test_samples_of_another_layout_are_read_whole(folder):
    before = load_run(folder)

    def reorder(lines):
        return [json.dumps(dict(reversed(json.loads(line).items()))).encode() + b"\n" for line in lines]

    rewrite(folder, reorder)
    after = load_run(folder)
    assert (after.ids, after.prompts, after.truncated) == (before.ids, before.prompts, before.truncated)
    assert np.array_equal(after.statistics["squad_v1"].rows, before.statistics["squad_v1"].rows)


def test_text_that_looks_like_the_layout_is_no_layout(tmp_path):
    nasty = ['","response":{', ',"truncated":true,"statistics":{"squad_v1":[9,9,9]}}', '"}', "\\"]
    run = load_run(keep_run(tmp_path, SquadV1(), nasty, [[text] for text in nasty]))
    assert run.statistics["squad_v1"].rows[:, 0].tolist() == [1, 1, 1, 1]
    assert [sample["prediction"] for sample in run.samples(range(4))] == nasty


def test_unscored_examples_are_marked(folder):
    def unscore(lines):
        sample = json.loads(lines[0])
        return [json.dumps({**sample, "statistics": None}, separators=(",", ":")).encode() + b"\n", *lines[1:]]

    rewrite(folder, unscore)
    run = load_run(folder)
    assert run.scored.tolist() == [True, False, True, True]


def test_a_file_cut_in_the_middle_of_a_line_is_an_error_with_its_line(folder):
    rewrite(folder, lambda lines: [*lines[:3], lines[3][:40]])
    run = load_run(folder)
    assert run.is_cut
    assert len(run.ids) == 3


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda lines: [lines[0], b"{broken\n", *lines[2:]], ":2: no sample"),
        (lambda lines: [lines[0], *lines], "id '10' occurs twice"),
        (lambda lines: [lines[0].replace(b"[1,1,1]", b"[1,1]"), *lines[1:]], "'10' has 2 numbers"),
        (lambda lines: [lines[0].replace(b"[1,1,1]", b'["a",1,1]'), *lines[1:]], "expected 3 finite ones"),
        (lambda lines: [lines[0].replace(b"[1,1,1]", b"[NaN,1,1]"), *lines[1:]], "expected 3 finite ones"),
        (lambda lines: [lines[0].replace(b'"squad_v1"', b'"other"'), *lines[1:]], "no list of numbers"),
        (lambda lines: [lines[0].replace(b'"id":"10"', b'"id":10'), *lines[1:]], "is not a string"),
    ],
)
def test_broken_samples_are_named(folder, change, said):
    rewrite(folder, change)
    with pytest.raises(DataError, match=said.replace("[", r"\[")):
        load_run(folder)


def test_a_record_of_a_newer_schema_is_refused_and_an_older_one_read(folder):
    path = folder / "run.json"
    record = json.loads(path.read_text())
    path.write_text(json.dumps({**record, "schema_version": 0}))
    assert load_run(folder).record.schema_version == 0
    path.write_text(json.dumps({**record, "schema_version": 99, "environment": {"evalkit": "7.8"}}))
    with pytest.raises(InvalidInputError, match=r"schema 99, written by evalkit 7\.8"):
        load_run(folder)


def test_folders_of_runs_stand_for_their_runs(tmp_path, folder):
    other = keep_run(tmp_path, SquadV1(), PREDICTIONS, REFERENCES, name="another")
    assert list(run_folders(tmp_path)) == sorted([str(folder), other])
    assert list(run_folders(folder)) == [str(folder)]


@pytest.mark.parametrize("name", ["nothing", "empty"])
def test_what_is_no_run_is_said(tmp_path, name):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidInputError, match="expected a run folder"):
        list(run_folders(tmp_path / name))


def test_missing_samples_are_said(folder):
    (folder / "samples.jsonl").unlink()
    with pytest.raises(InvalidInputError, match=r"no readable samples\.jsonl"):
        load_run(folder)


def test_runs_open_through_fsspec(folder):
    assert load_run(f"file://{folder}").ids == load_run(folder).ids
