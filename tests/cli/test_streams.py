"""What is printed is the last thing that may end a run: logs on full disks, readers that went away, streams that were closed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from evalkit.metrics.squad import SquadV1
from tests.stored import keep_run

RUN = ("run", "--task", "mini_cws,mini_ner", "--model", "baseline:max-match", "--size", "5", "--resamples", "20")


def call(folder: Path, *arguments: str, **streams) -> subprocess.CompletedProcess:
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | streams
    command = [sys.executable, "-m", "evalkit", *map(str, arguments)]
    return subprocess.run(command, cwd=folder, text=True, timeout=60, check=False, **streams)


@pytest.fixture
def nobody():
    """The end of a pipe whose reader has gone away."""
    reading, writing = os.pipe()
    os.close(reading)
    yield writing
    os.close(writing)


@pytest.fixture
def full():
    with open("/dev/full", "w") as file:
        yield file


@pytest.mark.parametrize("log", ["full", "nobody"])
def test_a_log_that_cannot_be_written_ends_no_run(tmp_path, request, log):
    done = call(tmp_path, *RUN, stderr=request.getfixturevalue(log))
    assert done.returncode == 0
    assert "mini_cws" in done.stdout
    assert "mini_ner" in done.stdout
    assert len(list((tmp_path / "runs").glob("*/run.json"))) == 2


def test_streams_that_were_closed_end_no_run(tmp_path):
    command = f"exec {sys.executable} -m evalkit {' '.join(RUN)} >&- 2>&-"
    assert subprocess.run(["sh", "-c", command], cwd=tmp_path, timeout=60, check=False).returncode == 0
    assert len(list((tmp_path / "runs").glob("*/run.json"))) == 2


def test_results_that_the_disk_has_no_room_for_are_an_error_and_the_runs_are_kept(tmp_path, full):
    done = call(tmp_path, *RUN, stdout=full)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == "evalkit: the system refused: No space left on device"
    assert len(list((tmp_path / "runs").glob("*/run.json"))) == 2


def test_a_gate_whose_verdict_nobody_reads_still_fails(tmp_path, nobody):
    good = keep_run(tmp_path / "runs", SquadV1(), ["a"] * 40, [["a"]] * 40, name="good")
    bad = keep_run(tmp_path / "runs", SquadV1(), ["b"] * 40, [["a"]] * 40, name="bad")
    assert call(tmp_path, "gate", "--baseline", good, "--candidate", bad, stdout=nobody).returncode == 1


def test_a_list_that_is_read_in_part_is_fine(tmp_path, nobody):
    done = call(tmp_path, "list", "tasks", stdout=nobody)
    assert (done.returncode, done.stderr) == (0, "")
