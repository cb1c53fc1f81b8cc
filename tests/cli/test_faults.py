"""Every fault that a machine may have in a night, as a table: each costs one clear line, and no answer.

A model answers each request once; whatever happens, a run that goes on afterwards asks for nothing again that was kept, and
keeps the samples of a run that was never disturbed. Killed processes stand in tests/long and in the tests of sweeps and ranks.
"""

import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from pkgutil import resolve_name
from typing import ClassVar

import pytest

from evalkit.cli import run_cli

COMMAND = ("run", "--task", "mini_cws", "--size", "80", "--resamples", "20", "--model", "baseline:max-match")
FULL, READ_ONLY, DROPPED = OSError(28, os.strerror(28)), OSError(30, os.strerror(30)), ConnectionError("reset by peer")
ROOM = "free some space or choose another folder with --out"


@dataclass
class Here:
    """The place of one test."""

    patch: pytest.MonkeyPatch
    cache: Path
    runs: Path
    others: ClassVar[list[sqlite3.Connection]] = []
    """Connections of other processes."""

    def fail(self, name: str, error: OSError, when: Callable[..., bool] = lambda *_, **__: True) -> None:
        """Let a function fail when its arguments are certain ones."""
        module, _, attribute = name.rpartition(".")
        owner = resolve_name(module)
        real = getattr(owner, attribute)

        def failing(*arguments, **named):
            if when(*arguments, **named):
                raise error
            return real(*arguments, **named)

        self.patch.setattr(owner, attribute, failing)


def small_cache(here):
    from evalkit.cache import opening

    real = opening._connect

    def small(path):
        connection = real(path)
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    here.patch.setattr(opening, "_connect", small)


def read_only_cache(here):
    from evalkit.cache import opening

    real = opening._connect

    def read_only(path):
        connection = real(path)
        connection.execute("PRAGMA query_only = ON")
        return connection

    here.patch.setattr(opening, "_connect", read_only)


def locked_cache(here):
    for name in ("_PATIENCE_S", "BUSY_S"):
        here.patch.setattr(f"evalkit.cache.responses.{name}", 0.01)
    from evalkit.cache import responses

    real = responses.open_database

    def locked(path, notice):
        connection = real(path, notice)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        here.patch.setattr(Here, "others", [*Here.others, other])
        return connection

    here.patch.setattr(responses, "open_database", locked)


def half_written_cache(here):
    with closing(sqlite3.connect(here.cache)) as connection, connection:
        connection.execute("CREATE TABLE t (x)")
    here.cache.write_bytes(here.cache.read_bytes()[:5000])


def clock_stands_still(here):
    class Clock(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime(2001, 1, 1, tzinfo=UTC)

    here.patch.setattr("evalkit.runner.datetime", Clock)


def temporary_files(here):
    here.patch.setattr("evalkit.spool.KEPT_IN_MEMORY", 3)
    here.fail("os.pwrite", FULL)


def full(name, *parts):
    return lambda here: here.fail(name, FULL, lambda *arguments, **_: any(part in str(arguments) for part in parts))


LOCAL = {
    # what fails: how, exit code, what is said
    "cache is made on a full disk": (full("evalkit.cache.opening._create", ""), 2, "cannot be used: No space left"),
    "cache grows on a full disk": (small_cache, 0, "database or disk is full; responses from here on may have to be"),
    "cache becomes read-only": (read_only_cache, 0, "attempt to write a readonly database; responses from here on"),
    "cache is locked by another process": (locked_cache, 0, "locked by another process; trying again from time"),
    "cache is half written": (half_written_cache, 0, "is no cache of evalkit; set aside as cache.sqlite.set-aside-1"),
    "temporary files on a full disk": (temporary_files, 0, None),
    "folder of runs is made on a full disk": (full("pathlib.Path.mkdir", "runs"), 2, "cannot write runs into"),
    "folder of a run is made on a full disk": (full("evalkit.store.tempfile.mkdtemp", ""), 2, ROOM),
    "samples are written to a full disk": (full("evalkit.store._write", "samples.jsonl"), 2, ROOM),
    "record is written to a full disk": (full("evalkit.store._write", "run.json"), 2, ROOM),
    "samples are synced to a full disk": (full("evalkit.store.os.fsync", ""), 2, ROOM),
    "run is renamed on a full disk": (full("pathlib.Path.rename", ""), 2, ROOM),
    "folder of runs is read-only": (
        lambda here: here.fail("evalkit.store.tempfile.TemporaryFile", READ_ONLY),
        2,
        "cannot write runs into",
    ),
    "folder of runs becomes read-only": (
        lambda here: here.fail("evalkit.store.tempfile.mkdtemp", READ_ONLY),
        2,
        "could not be kept in",
    ),
}


@pytest.fixture
def here(monkeypatch, tmp_path):
    place = Here(monkeypatch, tmp_path / "cache.sqlite", tmp_path / "runs")
    monkeypatch.setenv("EVALKIT_CACHE", str(place.cache))
    return place


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The samples of a run to which nothing happened."""
    folder = tmp_path_factory.mktemp("undisturbed")
    assert run_cli([*COMMAND, "--out", str(folder), "--cache", "off"]) == 0
    return samples_of(folder)[0]


def check_lines(outcome, said):
    lines = [line for line in outcome.err.splitlines() if not line.startswith("kept: ")]
    assert "Traceback" not in outcome.err
    assert all(line.startswith("evalkit: ") for line in lines), lines
    if said is None:
        assert lines == []
    else:
        assert any(said in line for line in lines), lines
        assert len(lines) <= 2, "one for what happens, one for what was not written in the end"


def samples_of(folder):
    return [(path / "samples.jsonl").read_bytes() for path in sorted(folder.glob("*")) if path.name[0] != "."]


@pytest.mark.parametrize("fault", LOCAL)
def test_nothing_is_lost_and_one_line_says_why(evalkit, here, undisturbed, fault):
    inject, code, said = LOCAL[fault]
    with here.patch.context() as patch:
        inject(Here(patch, here.cache, here.runs))
        outcome = evalkit(*COMMAND, "--out", here.runs)
        for other in Here.others:
            other.close()
    check_lines(outcome, said)
    assert outcome.code == code
    is_before_work = outcome.err.startswith("evalkit: cannot") or "cannot be used" in outcome.err
    assert ("mini_cws" in outcome.out) is not is_before_work, "what was scored is shown"
    assert samples_of(here.runs) == ([undisturbed] if code == 0 else [])
    assert not list(here.runs.glob(".*")), "nothing half written stays"

    again = evalkit(*COMMAND, "--out", here.runs, "--json")
    assert again.code == 0, again.err
    assert set(samples_of(here.runs)) == {undisturbed}
    if code and not is_before_work:
        assert again.json["runs"][0]["counts"]["cached"] == 80, "what was answered is not asked for again"


def test_under_a_clock_that_was_set_back_no_run_is_replaced_and_no_number_lost(evalkit, here):
    clock_stands_still(here)
    first = evalkit(*COMMAND, "--out", here.runs, "--json").json["runs"][0]
    outcome = evalkit(*COMMAND, "--out", here.runs)
    assert outcome.code == 2
    check_lines(outcome, "already: the clock stands still or was set back; run again")
    assert "mini_cws" in outcome.out
    [folder] = here.runs.iterdir()
    assert json.loads((folder / "run.json").read_text()) == first


@pytest.mark.parametrize(
    ("method", "part", "is_before_work"),
    [("pipe_file", ".probe", True), ("open", "samples.jsonl", False), ("open", "run.json", False)],
)
def test_a_network_store_that_drops_costs_one_line_and_no_answer(evalkit, here, method, part, is_before_work):
    fsspec = pytest.importorskip("fsspec")
    system, address = fsspec.filesystem("memory"), f"memory://faults-{is_before_work}-{part[0]}/runs"
    with here.patch.context() as patch:
        Here(patch, here.cache, here.runs).fail(
            f"fsspec.implementations.memory:MemoryFileSystem.{method}",
            DROPPED,
            lambda _, path, *rest, **named: part in path,
        )
        outcome = evalkit(*COMMAND, "--out", address)
    assert outcome.code == 2
    check_lines(outcome, "reset by peer")
    assert ("mini_cws" in outcome.out) is not is_before_work
    assert system.find(address) == []
    again = evalkit(*COMMAND, "--out", address, "--json")
    assert again.json["runs"][0]["counts"]["cached"] == (0 if is_before_work else 80)
