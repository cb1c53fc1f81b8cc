"""Stores: what cannot be written is found before any model work, and what failed leaves nothing behind."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from evalkit import store as store_module
from evalkit.errors import DataError, InvalidInputError, MissingResourceError
from evalkit.store import RunStore, read_record

fsspec = pytest.importorskip("fsspec")


class Record(SimpleNamespace):
    def to_json(self) -> str:
        return "{}\n"


RECORD = Record(id="2026-one")


@pytest.mark.parametrize("root", ["", "  ", "file://", "a\0b"])
def test_a_store_without_a_place_is_refused(root):
    with pytest.raises(InvalidInputError, match="expected a folder or an address: --out runs"):
        RunStore(root)


def test_a_file_address_is_a_folder_of_this_machine(tmp_path):
    store = RunStore(f"file://{tmp_path}/runs")
    assert store.is_local
    store.check_writable()
    assert store.keep(RECORD, [{"id": "1"}]) == str(tmp_path / "runs" / RECORD.id)
    assert sorted(path.name for path in (tmp_path / "runs" / RECORD.id).iterdir()) == ["run.json", "samples.jsonl"]


def test_an_unknown_protocol_is_refused_before_anything_is_asked():
    with pytest.raises(InvalidInputError, match="cannot write runs into 'foo://x': Protocol not known: foo; choose"):
        RunStore("foo://x").check_writable()


def test_a_protocol_without_its_package_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(
        MissingResourceError, match=r"cannot write runs into 's3://b/x': Install s3fs .*; install it with"
    ):
        RunStore("s3://b/x").check_writable()


def test_fsspec_itself_may_be_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(MissingResourceError, match="install it with pip"):
        RunStore("memory://x").check_writable()


def test_a_store_that_refuses_writing_is_found_by_a_probe_that_does_not_stay(monkeypatch):
    system = fsspec.filesystem("memory")
    RunStore("memory://probed/runs").check_writable()
    assert system.find("/probed") == []

    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(type(system), "pipe_file", refuse)
    with pytest.raises(InvalidInputError, match=r"cannot write runs into 'memory://probed/runs': .*Permission denied"):
        RunStore("memory://probed/runs").check_writable()


@pytest.mark.parametrize("error", [OSError(28, os.strerror(28)), RuntimeError("quota\nexceeded")])
def test_a_run_that_fails_half_way_leaves_nothing_on_another_file_system(monkeypatch, error):
    system = fsspec.filesystem("memory")
    opened = type(system).open

    def full(self, path, *arguments, **named):
        if path.endswith("run.json"):
            raise error
        return opened(self, path, *arguments, **named)

    monkeypatch.setattr(type(system), "open", full)
    with pytest.raises(InvalidInputError, match="run 2026-one could not be kept in 'memory://half/runs': ") as caught:
        RunStore("memory://half/runs").keep(RECORD, [{"id": "1"}])
    assert "\n" not in str(caught.value)
    assert system.find("/half") == []
    assert not system.exists(f"/half/runs/{RECORD.id}")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("[" * 100_000, "not a run record: run.json is nested too deeply"),
        ("{}", "not a run record: 'schema_version'"),
        (
            '{"schema_version": 1, "metrics": [], "statistics": {}, "warnings": [], "timi\\ng": 0}',
            "not a run record: RunRecord.__init__() got an unexpected keyword argument 'timi g'",
        ),
        (
            '{"schema_version": 99, "environment": {"evalkit": "9\\n\\u001b[2J"}}',
            "run record of schema 99, written by evalkit 9 \\x1b[2J;",
        ),
    ],
)
def test_a_record_that_cannot_be_read_is_named_in_one_line(tmp_path, content, expected):
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(DataError) as caught:
        read_record(tmp_path)
    assert str(caught.value).startswith(f"{tmp_path / 'run.json'}: {expected}")
    assert "\n" not in str(caught.value)


def test_a_pipe_or_nothing_at_all_is_no_record(tmp_path: Path):
    os.mkfifo(tmp_path / "run.json")
    for folder in (tmp_path, tmp_path / "gone", "x" * 5000):
        with pytest.raises(InvalidInputError, match=r"no readable run\.json in it"):
            read_record(folder)


TIMED = Record(id="20260101T000000.000000Z-toy-copy-4d5e6f")


def keep_and_die(store: Path, point: str) -> None:
    """Keep a run in another process, which is killed when it gets to a point."""
    program = f"""
import os, signal
from pathlib import Path
from evalkit import store
class Record:
    id = {TIMED.id!r}
    def to_json(self):
        return "{{}}"
def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
def samples():
    yield {{"id": "1"}}
    if {point!r} == "samples":
        die()
if {point!r} == "record":
    Record.to_json = die
if {point!r} == "rename":
    Path.rename = die
store.RunStore({str(store)!r}).keep(Record(), samples())
"""
    done = subprocess.run([sys.executable, "-c", program], check=False)
    assert done.returncode == -9


@pytest.mark.parametrize("point", ["samples", "record", "rename"])
def test_what_a_killed_process_was_writing_is_no_run_and_goes_when_the_next_one_begins(tmp_path, point):
    keep_and_die(tmp_path, point)
    (left,) = tmp_path.iterdir()
    assert left.name.startswith(f".{TIMED.id}-")
    RunStore(str(tmp_path)).check_writable()
    assert list(tmp_path.iterdir()) == []


def test_what_another_process_is_writing_now_is_left_alone(tmp_path):
    store = RunStore(str(tmp_path))

    def samples():
        yield {"id": "1"}
        store.check_writable()
        yield {"id": "2"}

    folder = Path(store.keep(TIMED, samples()))
    assert (folder / "samples.jsonl").read_text() == '{"id":"1"}\n{"id":"2"}\n'
    assert [path.name for path in tmp_path.iterdir()] == [TIMED.id]


def test_a_folder_that_is_taken_for_abandoned_before_it_is_locked_is_made_again(tmp_path, monkeypatch):
    made, real = [], store_module.tempfile.mkdtemp

    def mkdtemp(**named):
        made.append(real(**named))
        if len(made) == 1:
            os.rmdir(made[0])
            os.mkdir(made[0])
            monkeypatch.setattr(store_module.fcntl, "flock", lambda *_: os.rmdir(made[0]) if len(made) == 1 else None)
        return made[-1]

    monkeypatch.setattr(store_module.tempfile, "mkdtemp", mkdtemp)
    assert Path(RunStore(str(tmp_path)).keep(TIMED, [])).is_dir()
    assert len(made) == 2


def test_other_hidden_folders_and_links_are_not_ours_to_remove(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / f".{TIMED.id}-link").symlink_to(tmp_path)
    (tmp_path / f".{TIMED.id}-file").write_text("")
    RunStore(str(tmp_path)).check_writable()
    assert len(list(tmp_path.iterdir())) == 3


class FullDisk:
    """A disk with room for so many writes."""

    def __init__(self, monkeypatch, room: int) -> None:
        self.room, real = room, store_module.os.fsync

        def fsync(descriptor):
            self.room -= 1
            if self.room < 0:
                raise OSError(28, os.strerror(28))
            return real(descriptor)

        monkeypatch.setattr(store_module.os, "fsync", fsync)


@pytest.mark.parametrize("room", [0, 1, 2])
def test_a_disk_that_is_full_at_any_write_leaves_nothing_behind(tmp_path, monkeypatch, room):
    FullDisk(monkeypatch, room)
    with pytest.raises(InvalidInputError, match=r"could not be kept in .*: No space left on device; free some space"):
        RunStore(str(tmp_path)).keep(TIMED, [{"id": "1"}])
    monkeypatch.undo()
    assert list(tmp_path.iterdir()) == []
    assert Path(RunStore(str(tmp_path)).keep(TIMED, [{"id": "1"}])).is_dir()


def test_under_a_clock_that_stands_still_no_run_replaces_another(tmp_path):
    store = RunStore(str(tmp_path))
    folder = Path(store.keep(TIMED, [{"id": "1"}]))
    with pytest.raises(InvalidInputError, match=r"already: the clock stands still or was set back; run again"):
        store.keep(TIMED, [{"id": "2"}])
    assert (folder / "samples.jsonl").read_text() == '{"id":"1"}\n'
    assert list(tmp_path.iterdir()) == [folder]
