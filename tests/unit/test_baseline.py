"""Baselines: kept small, found whole, and any edit by hand found out."""

import gzip
import json
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evalkit import baseline
from evalkit.baseline import BaselineStore, Blessing
from evalkit.comparison.loaded import load_run
from evalkit.errors import DataError, InvalidInputError
from evalkit.metrics.squad import SquadV1
from tests.stored import keep_run

PREDICTIONS = ["alpha", "beta", "gamma delta"]
REFERENCES = [["alpha"], ["x"], ["gamma"]]
WHY = Blessing(name="main", why="release 1.0", who="Ann", when="2026-01-02T03:04:05+00:00")


@pytest.fixture
def store(tmp_path) -> BaselineStore:
    return BaselineStore(str(tmp_path / "baselines"))


@pytest.fixture
def run(tmp_path):
    return load_run(keep_run(tmp_path, SquadV1(), PREDICTIONS, REFERENCES, name="one", clusters=["c", "c", None]))


def file_of(store, line) -> Path:
    return Path(store.root) / "main" / line["file"]


def test_a_baseline_gives_back_the_statistics_of_its_run(store, run):
    store.set(run, WHY)
    [loaded] = store.load("main")
    assert (loaded.ids, loaded.clusters, loaded.prompts) == (run.ids, run.clusters, run.prompts)
    assert np.array_equal(loaded.statistics["squad_v1"].rows, run.statistics["squad_v1"].rows)
    assert loaded.record == run.record
    assert loaded.lines is None


def test_no_text_is_kept_unless_asked(store, run):
    content = gzip.decompress(file_of(store, store.set(run, WHY)).read_bytes())
    assert b"alpha" not in content
    line = store.set(run, WHY, with_text=True)
    assert b"alpha" in gzip.decompress(file_of(store, line).read_bytes())
    [loaded] = store.load("main")
    assert loaded.samples([0])[0]["prediction"] == "alpha"


def test_equal_runs_make_equal_files(tmp_path, store, run):
    first = file_of(store, store.set(run, WHY)).read_bytes()
    other = BaselineStore(str(tmp_path / "elsewhere"))
    assert file_of(other, other.set(run, WHY)).read_bytes() == first


def test_the_history_only_grows_and_the_last_line_counts(tmp_path, store, run):
    store.set(run, WHY)
    before = (Path(store.root) / "main" / "history.jsonl").read_bytes()
    second = load_run(keep_run(tmp_path, SquadV1(), ["alpha", "x", "gamma"], REFERENCES, name="two"))
    store.set(second, Blessing(name="main", why="better", who="Bo", when="2026-02-01T00:00:00+00:00"))
    after = (Path(store.root) / "main" / "history.jsonl").read_bytes()
    assert after.startswith(before)
    assert [line["run"] for line in store.history("main")] == ["one", "two"]
    assert [line["why"] for line in store.history("main")] == ["release 1.0", "better"]
    [loaded] = store.load("main")
    assert loaded.name == "two"


def test_a_file_edited_by_hand_is_found_out(store, run):
    path = file_of(store, store.set(run, WHY))
    content = gzip.decompress(path.read_bytes())
    path.write_bytes(gzip.compress(content.replace(b"[0,0,1]", b"[1,1,1]")))
    with pytest.raises(DataError, match="edited by hand"):
        store.load("main")


@pytest.mark.parametrize(("old", "new"), [(b"release 1.0", b"release 2.0"), (b'"who":"Ann"', b'"who":"Eve"')])
def test_a_history_edited_by_hand_is_found_out(store, run, old, new):
    store.set(run, WHY)
    path = Path(store.root) / "main" / "history.jsonl"
    path.write_bytes(path.read_bytes().replace(old, new))
    with pytest.raises(DataError, match="edited by hand"):
        store.history("main")


def test_a_line_taken_out_of_the_history_is_found_out(store, run):
    store.set(run, WHY)
    store.set(run, WHY)
    path = Path(store.root) / "main" / "history.jsonl"
    path.write_bytes(path.read_bytes().splitlines(keepends=True)[1])
    with pytest.raises(DataError, match="edited by hand"):
        store.load("main")


def test_a_damaged_file_is_said(store, run):
    path = file_of(store, store.set(run, WHY))
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(DataError, match="cannot be read"):
        store.load("main")
    path.unlink()
    with pytest.raises(DataError, match="cannot be read"):
        store.load("main")


def with_schema(store, line, version):
    """Write the baseline anew as an evalkit of another schema would have."""
    from evalkit.digests import digest_json, digest_text

    path = file_of(store, line)
    first, _, rest = gzip.decompress(path.read_bytes()).partition(b"\n")
    header = {**json.loads(first), "schema_version": version, "evalkit": "9.9"}
    content = json.dumps(header).encode() + b"\n" + rest
    path.write_bytes(gzip.compress(content))
    entry = {key: value for key, value in line.items() if key != "digest"}
    entry["content_digest"] = digest_text(content.decode())
    history = Path(store.root) / "main" / "history.jsonl"
    history.write_text(json.dumps({**entry, "digest": digest_json(entry)}) + "\n")


def test_an_older_schema_is_read_and_a_newer_one_refused_with_its_writer(store, run):
    line = store.set(run, WHY)
    with_schema(store, line, 0)
    assert store.load("main")[0].ids == run.ids
    with_schema(store, line, 2)
    with pytest.raises(InvalidInputError, match=r"schema 2, written by evalkit 9\.9"):
        store.load("main")


def test_an_incomplete_run_is_refused(tmp_path, store):
    for name, changes in (("stopped", {"status": "interrupted"}), ("short", {"counts": {"examples": 9}})):
        run = load_run(keep_run(tmp_path, SquadV1(), PREDICTIONS, REFERENCES, name=name, changes=changes))
        with pytest.raises(InvalidInputError, match="only a complete run"):
            store.set(run, WHY)


def test_another_task_version_is_refused_unless_allowed(tmp_path, store, run):
    store.set(run, WHY)
    newer = load_run(keep_run(tmp_path, SquadV1(), PREDICTIONS, REFERENCES, name="new", task={"version": 2}))
    with pytest.raises(InvalidInputError, match="holds version 1"):
        store.set(newer, WHY)
    store.set(newer, WHY, allowed=frozenset({"task-version"}))
    assert store.load("main")[0].name == "new"


@pytest.mark.parametrize("name", ["", "../up", "a/b", ".hidden", "x" * 65, "模型"])
def test_names_cannot_leave_the_folder(store, run, name):
    with pytest.raises(InvalidInputError, match="cannot name a baseline"):
        store.set(run, Blessing(name=name, why="w", who="me", when="now"))
    assert not store.holds(name)


def test_a_reason_is_needed(store, run):
    with pytest.raises(InvalidInputError, match="needs a reason"):
        store.set(run, Blessing(name="main", why="  ", who="me", when="now"))


def test_several_tasks_share_a_name(tmp_path, store, run):
    other = load_run(keep_run(tmp_path, SquadV1(), PREDICTIONS, REFERENCES, name="b", task={"name": "other"}))
    store.set(run, WHY)
    store.set(other, WHY)
    assert [loaded.task for loaded in store.load("main")] == ["other", "toy"]
    assert store.names() == ["main"]


@pytest.mark.parametrize("why", ["a\u2028b\x85c\x1ed", "half \ud83d", "\x1b[31m\n\r\n"])
def test_a_reason_may_hold_any_character(store, run, why):
    for _ in range(2):
        store.set(run, replace(WHY, why=why))
    assert [line["why"] for line in store.history("main")] == [why, why]


@pytest.mark.parametrize(
    "history", [b"\xff", b"[" * 100_000, b"[]", b"null", b"{", b"", b"\n", b'{"schema_version":NaN}', b"{}\n\n{}"]
)
def test_a_history_that_is_none_is_refused(store, run, history):
    store.set(run, WHY)
    (Path(store.root) / "main" / "history.jsonl").write_bytes(history)
    with pytest.raises(DataError):
        store.load("main")
    with pytest.raises(DataError):
        store.set(run, WHY)
    assert (Path(store.root) / "main" / "history.jsonl").read_bytes() == history


def test_bits_that_flip_in_a_file_are_found_out(store, run):
    path = file_of(store, store.set(run, WHY))
    content = path.read_bytes()
    for place in range(20, len(content) - 8, 37):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :])
        with pytest.raises(DataError, match=r"cannot be read|edited by hand"):
            store.load("main")


def test_a_compressed_bomb_and_a_pipe_are_not_read(store, run, monkeypatch):
    path = file_of(store, store.set(run, WHY))
    monkeypatch.setattr(baseline, "LARGEST_BYTES", 1000)
    path.write_bytes(gzip.compress(bytes(10_000_000)))
    with pytest.raises(DataError, match="holds more than 1,000 bytes"):
        store.load("main")
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(DataError, match="no such file"):
        store.load("main")


def test_a_baseline_that_could_not_be_read_again_is_not_set(store, run, monkeypatch):
    monkeypatch.setattr(baseline, "LARGEST_BYTES", 10)
    with pytest.raises(InvalidInputError, match="expected at most 10"):
        store.set(run, WHY)
    assert not store.holds("main")


@pytest.mark.parametrize("room", [0, 1])
def test_a_disk_that_is_full_at_any_write_leaves_the_baseline_as_it_was(store, run, monkeypatch, room):
    store.set(run, WHY)
    before = {path.name: path.read_bytes() for path in (Path(store.root) / "main").iterdir()}
    left, real = [room], os.fsync

    def fsync(descriptor):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(28, os.strerror(28))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(InvalidInputError, match=r"could not be kept in .*: No space left on device; choose another"):
        store.set(run, replace(WHY, why="again"))
    assert {path.name: path.read_bytes() for path in (Path(store.root) / "main").iterdir()} == before


def test_processes_that_set_one_baseline_at_once_make_one_history(store, run):
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: store.set(run, replace(WHY, why=f"reason {number}")), range(16)))
    assert sorted(line["why"] for line in store.history("main")) == sorted(f"reason {number}" for number in range(16))


def test_a_history_whose_last_line_has_no_end_goes_on_behind_it(store, run):
    store.set(run, WHY)
    path = Path(store.root) / "main" / "history.jsonl"
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    store.set(run, WHY)
    assert len(store.history("main")) == 2
