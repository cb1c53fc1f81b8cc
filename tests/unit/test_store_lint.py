"""What `doctor --store` finds in a store that was cut, mixed up or edited."""

import json
from pathlib import Path

import pytest

from evalkit.errors import InvalidInputError
from evalkit.metrics.rouge import Rouge
from evalkit.metrics.squad import SquadV1
from evalkit.store_lint import check_store
from tests.stored import keep_run


@pytest.fixture
def run(tmp_path):
    return Path(keep_run(tmp_path / "runs", SquadV1(), ["a b", "c", "d"], [["a b"], ["c d"], ["x"]]))


def rewrite(path, change):
    document = json.loads(path.read_text(encoding="utf-8"))
    change(document)
    path.write_text(json.dumps(document), encoding="utf-8")


def cut_samples(run):
    samples = run / "samples.jsonl"
    samples.write_bytes(samples.read_bytes()[:-5])


def drop_a_sample(run):
    samples = run / "samples.jsonl"
    samples.write_bytes(b"".join(samples.read_bytes().splitlines(keepends=True)[:-1]))


def repeat_a_sample(run):
    samples = run / "samples.jsonl"
    lines = samples.read_bytes().splitlines(keepends=True)
    samples.write_bytes(b"".join([*lines, lines[0]]))


def raise_a_value(run):
    rewrite(run / "run.json", lambda record: record["metrics"][0].update(value=99.0))


def raise_a_statistic(run):
    samples = run / "samples.jsonl"
    samples.write_text(
        samples.read_text(encoding="utf-8").replace("[0.0,0.0,1.0]", "[1.0,1.0,1.0]").replace("[0,0,1]", "[1,1,1]"),
        encoding="utf-8",
    )


def rename(run):
    run.rename(run.with_name("better"))


def make_incomplete(run):
    rewrite(run / "run.json", lambda record: record.update(status="interrupted"))


def lose_the_record(run):
    (run / "run.json").unlink()


def lose_the_samples(run):
    (run / "samples.jsonl").unlink()


def break_the_record(run):
    (run / "run.json").write_text("{", encoding="utf-8")


def add_a_file(run):
    (run / "notes.txt").write_text("x", encoding="utf-8")


def leave_a_cut_write(run):
    (run.parent / ".2026-half").mkdir()


def put_a_file_beside(run):
    (run.parent / "README").write_text("x", encoding="utf-8")


def put_an_empty_folder_beside(run):
    (run.parent / "other").mkdir()


def link_a_run(run):
    (run.parent / "link").symlink_to(run, target_is_directory=True)


def link_the_samples(run):
    samples = run / "samples.jsonl"
    samples.rename(run.parent.parent / "elsewhere.jsonl")
    samples.symlink_to(run.parent.parent / "elsewhere.jsonl")


@pytest.mark.parametrize(
    ("harm", "kind", "said"),
    [
        (cut_samples, "cut", "ends in the middle of a line"),
        (drop_a_sample, "cut", "holds 2 examples, the record 3"),
        (repeat_a_sample, "unreadable", "occurs twice"),
        (raise_a_value, "edited", "is 99.0 in the record, but its samples give"),
        (raise_a_statistic, "edited", "in the record, but its samples give"),
        (rename, "edited", "rename the folder back"),
        (make_incomplete, "incomplete", "interrupted"),
        (lose_the_record, "cut", "samples but no run.json"),
        (lose_the_samples, "unreadable", "no readable samples.jsonl"),
        (break_the_record, "unreadable", "not a run record"),
        (add_a_file, "foreign", "'notes.txt'"),
        (leave_a_cut_write, "cut", "delete it"),
        (put_a_file_beside, "foreign", "is a file"),
        (put_an_empty_folder_beside, "foreign", "holds no run.json"),
        (link_a_run, "foreign", "is a link"),
        (link_the_samples, "foreign", "'samples.jsonl' is a link"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_harm_is_found_and_named(run, tmp_path, harm, kind, said):
    assert check_store(str(run.parent)) == (1, [])
    harm(run)
    _, findings = check_store(str(tmp_path / "runs"))
    assert findings[0].kind == kind
    assert any(said in finding.problem for finding in findings)
    assert all("\n" not in finding.problem for finding in findings)


def test_a_folder_that_may_not_be_read_is_a_finding_and_the_others_are_checked(run, monkeypatch):
    (run.parent / "another").mkdir()
    real = Path.iterdir

    def refused(self):
        if self.name == "another":
            raise PermissionError(13, "Permission denied")
        return real(self)

    monkeypatch.setattr(Path, "iterdir", refused)
    sound, [finding] = check_store(str(run.parent))
    assert (sound, finding.name, finding.kind) == (1, "another", "unreadable")
    assert finding.problem == "cannot be listed: Permission denied"


def test_values_of_other_metrics_come_out_again(tmp_path):
    keep_run(tmp_path, Rouge(), ["a b c", "", "d"], [["a c"], ["x"], ["d"]])
    assert check_store(str(tmp_path)) == (1, [])


def test_a_store_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="is no folder"):
        check_store(str(tmp_path / "gone"))
    with pytest.raises(InvalidInputError, match="cannot be listed"):
        check_store("memory://no/such/store")


def test_the_command_exits_1_on_a_finding(evalkit, run):
    assert evalkit("doctor", "--store", str(run.parent)).out == "1 sound runs, 0 findings\n"
    lose_the_record(run)
    outcome = evalkit("doctor", "--store", str(run.parent), "--json")
    assert outcome.code == 1
    assert outcome.json["findings"][0]["kind"] == "cut"
