"""Signals to `evalkit run`: the first ends it in order, the second at once, and the same command goes on."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks.crash import SlowModel, serving


@pytest.fixture
def model():
    return SlowModel()


@pytest.fixture
def start(tmp_path, model):
    """A function that starts a run of 40 examples with the slow model, two at a time."""
    processes = []
    with serving(model) as url:

        def go(*arguments: str) -> subprocess.Popen[str]:
            command = [
                sys.executable, "-m", "evalkit", "run", "--task", "mini_mt_en_zh", "--size", "40", "--batch-size", "2",
                "--model", f"openai:slow@{url}?api=completions", "--cache", "cache.sqlite", "--out", "runs", *arguments,
            ]  # fmt: skip
            processes.append(
                subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            )
            return processes[-1]

        yield go
        for process in processes:
            if process.poll() is None:
                process.kill()
            process.communicate()


def wait_for_answers(model: SlowModel, number: int) -> None:
    deadline = time.monotonic() + 60
    while model.asked.total() < number:
        assert time.monotonic() < deadline, "the run does not begin"
        time.sleep(0.01)


def records(tmp_path: Path) -> list[dict]:
    return [json.loads(path.read_text()) for path in sorted((tmp_path / "runs").glob("*/run.json"))]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_keeps_what_was_answered_and_the_same_command_goes_on(tmp_path, model, start, evalkit, number):
    process = start()
    wait_for_answers(model, 8)
    os.kill(process.pid, number)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "mini_mt_en_zh" in out, "the values of what was answered are shown"
    assert err.splitlines()[0] == "evalkit: finishing what is in hand; once more to stop at once"
    assert err.splitlines()[-1] == "evalkit: stopped, with 1 runs kept; the same command goes on from there"
    (stopped,) = records(tmp_path)
    assert stopped["status"].startswith("stopped: ")
    answered = stopped["counts"]["examples"]
    assert 8 <= answered == model.asked.total() < 40, "what was in hand is finished"

    process = start("--json")
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    (record,) = json.loads(out)["runs"]
    assert (record["status"], record["counts"]["examples"]) == ("complete", 40)
    assert record["counts"]["cached"] >= answered
    assert model.asked.total() == 40, "nothing is asked for twice"

    folders = sorted(str(path) for path in (tmp_path / "runs").iterdir())
    assert len(folders) == 2
    compared = evalkit("compare", *folders)
    assert compared.code == 4
    assert "not comparable (incomplete)" in compared.out
    assert "is not complete: stopped: " in compared.out
    assert evalkit("gate", "--baseline", folders[1], "--candidate", folders[0]).code == 4


@pytest.mark.slow
def test_the_second_signal_stops_at_once_and_what_was_answered_is_cached(tmp_path, model, start):
    process = start()
    wait_for_answers(model, 8)
    model.pause_s = 30.0
    time.sleep(0.2)
    os.kill(process.pid, signal.SIGINT)
    time.sleep(0.8)
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert err.splitlines()[-1] == "evalkit: interrupted"
    assert not any((tmp_path / "runs").iterdir())
    model.pause_s = 0.0
    process = start("--json")
    out, _ = process.communicate(timeout=60)
    assert json.loads(out)["runs"][0]["counts"]["cached"] >= 6


@pytest.mark.slow
def test_without_a_cache_it_says_that_the_same_command_begins_anew(model, start):
    process = start("--cache", "off")
    wait_for_answers(model, 4)
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.splitlines()[-1].endswith("the same command begins anew, since responses are not cached")


def test_many_tasks_and_models_go_on_past_those_that_fail_and_say_so_at_the_end(evalkit, tmp_path):
    outcome = evalkit(
        "run", "--task", "mini_cws,mini_ner,mini_lm", "--model", "baseline:max-match", "--model", "baseline:copy",
        "--size", "5", "--cache", tmp_path / "cache.sqlite",
    )  # fmt: skip
    assert outcome.code == 5
    assert len([line for line in outcome.err.splitlines() if line.startswith("kept: ")]) == 3
    assert outcome.err.splitlines()[-1] == "evalkit: 3 of 6 runs failed; the others were kept"
    assert len(outcome.err.splitlines()) == 3 + 3 + 1


def test_a_stop_between_two_runs_keeps_the_first_and_begins_no_second(evalkit, monkeypatch):
    import evalkit.runner as runner

    real = runner.keep

    def keep_and_stop(*arguments):
        record = real(*arguments)
        os.kill(os.getpid(), signal.SIGTERM)
        return record

    monkeypatch.setattr(runner, "keep", keep_and_stop)
    outcome = evalkit("run", "--task", "mini_cws,mini_ner", "--model", "baseline:max-match", "--size", "5")
    assert outcome.code == 130
    assert "mini_cws" in outcome.out
    assert "mini_ner" not in outcome.out
    assert outcome.err.splitlines()[-1].startswith("evalkit: stopped, with 1 runs kept")


def test_a_stop_during_the_last_run_that_comes_too_late_changes_nothing(evalkit, monkeypatch):
    import evalkit.runner as runner

    real = runner.keep

    def keep_and_stop(*arguments):
        record = real(*arguments)
        os.kill(os.getpid(), signal.SIGINT)
        return record

    monkeypatch.setattr(runner, "keep", keep_and_stop)
    outcome = evalkit("run", "--task", "mini_cws", "--model", "baseline:copy", "--size", "5")
    assert outcome.code == 0
