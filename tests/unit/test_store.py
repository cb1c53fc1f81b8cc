"""Stores: what cannot be written is found before any model work, and what failed leaves nothing behind."""

import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

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
    [("[" * 100_000, "not a run record: it is nested too deeply"), ("{}", "not a run record: 'schema_version'")],
)
def test_a_record_that_cannot_be_read_is_named(tmp_path, content, expected):
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(DataError) as caught:
        read_record(tmp_path)
    assert str(caught.value).startswith(f"{tmp_path / 'run.json'}: {expected}")


def test_a_pipe_or_nothing_at_all_is_no_record(tmp_path: Path):
    os.mkfifo(tmp_path / "run.json")
    for folder in (tmp_path, tmp_path / "gone", "x" * 5000):
        with pytest.raises(InvalidInputError, match=r"no readable run\.json in it"):
            read_record(folder)
