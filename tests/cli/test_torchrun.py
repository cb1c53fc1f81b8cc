"""`torchrun --nproc-per-node 2 -m evalkit run`: the numbers and samples of one process, and an end when a rank dies."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


def torchrun(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [
        sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--rdzv-backend", "c10d",
        "--rdzv-endpoint", "127.0.0.1:0", "-m", "evalkit", "run", "--out", "runs", "--device", "cpu", *arguments,
    ]  # fmt: skip
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finished(process: subprocess.Popen[str], seconds: float = 120) -> tuple[str, str]:
    try:
        return process.communicate(timeout=seconds)
    finally:
        if process.poll() is None:
            process.kill()


def lines_of(folder: Path, record: dict) -> bytes:
    return (folder / "runs" / record["id"] / "samples.jsonl").read_bytes()


def told(record: dict) -> dict:
    return {
        name: record[name]
        for name in ("metrics", "counts", "details", "statistics", "data", "task", "model", "settings")
    }


@pytest.mark.parametrize("tasks", [("mini_lm",), ("mini_mt_en_zh", "--max-new-tokens", "4")], ids=str)
def test_two_ranks_give_the_numbers_and_the_samples_of_one_process(evalkit, tmp_path, gpt, tasks):
    """Log-probabilities and generated text; a last bit of difference would show in the samples."""
    arguments = ("--task", *tasks, "--size", "140", "--model", str(gpt), "--on-overflow", "truncate")
    alone = evalkit("run", *arguments, "--out", tmp_path / "runs", "--device", "cpu", "--json")
    assert alone.code == 0, alone.err
    process = torchrun(tmp_path, *arguments, "--cache", "cache.sqlite", "--json")
    out, err = finished(process)
    assert process.returncode == 0, err
    shared = json.loads(out)["runs"]
    assert len(shared) == 1, "rank 0 alone prints"
    for one, other in zip(alone.json["runs"], shared, strict=True):
        assert told(one) == told(other)
        assert lines_of(tmp_path, one) == lines_of(tmp_path, other)
    assert len(list((tmp_path / "runs").iterdir())) == 2, "rank 0 alone keeps"
    again = evalkit(
        "run", *arguments, "--out", tmp_path / "runs", "--device", "cpu", "--json", "--cache", tmp_path / "cache.sqlite"
    )
    assert [record["counts"]["cached"] for record in again.json["runs"]] == [140]
    assert [lines_of(tmp_path, record) for record in again.json["runs"]] == [lines_of(tmp_path, one) for one in shared]


def test_systems_that_are_no_neural_models_run_on_rank_0_alone(tmp_path):
    process = torchrun(tmp_path, "--task", "mini_cws", "--size", "20", "--model", "baseline:max-match", "--json")
    out, err = finished(process)
    assert process.returncode == 0, err
    assert json.loads(out)["runs"][0]["counts"]["examples"] == 20


def test_what_is_wrong_is_said_once_in_one_line(tmp_path, gpt):
    process = torchrun(tmp_path, "--task", "mini_lm", "--size", "5", "--model", "no-such-folder")
    _, err = finished(process)
    assert process.returncode != 0
    assert [line for line in err.splitlines() if line.startswith("evalkit: ")] == [
        "evalkit: model 'no-such-folder' is no folder and names no scheme;"
        " expected a checkpoint folder, predictions:FILE or baseline:NAME"
    ]


def children(process: subprocess.Popen[str]) -> dict[int, int]:
    """Process of each rank."""
    found = {}
    for task in Path(f"/proc/{process.pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            variables = Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
            rank = [variable for variable in variables if variable.startswith(b"RANK=")]
            if rank:
                found[int(rank[0][5:])] = int(child)
    return found


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs Linux")
@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_that_is_killed_ends_the_run_with_an_error(tmp_path, gpt, rank):
    """As the out-of-memory killer does it."""
    process = torchrun(tmp_path, "--task", "mini_lm", "--size", "4000", "--model", str(gpt), "--cache", "cache.sqlite")
    deadline = time.monotonic() + 60
    while len(children(process)) < 2 or not (tmp_path / "cache.sqlite").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    time.sleep(0.5)
    os.kill(children(process)[rank], signal.SIGKILL)
    killed_at = time.monotonic()
    _, err = finished(process)
    assert process.returncode != 0
    assert time.monotonic() - killed_at < 60
    said = [line for line in err.splitlines() if line.startswith("evalkit: rank")]
    other = "evalkit: rank 1 of 2 is gone: its connection closed; run the same command again"
    assert said == ([other] if rank else ["evalkit: rank 1: rank 0 is gone"])
    assert not any((tmp_path / "runs").glob("*"))
