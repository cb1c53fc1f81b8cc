"""The response cache on the command line: what a second run finds there, what faults cost, and the verbs that look after it."""

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
import torch

TASK = ("--task", "mini_cws", "--size", "30")


@pytest.fixture
def cache(tmp_path) -> Path:
    return tmp_path / "cache.sqlite"


def run(evalkit, *arguments) -> dict:
    outcome = evalkit("run", *arguments, "--json")
    assert outcome.code == 0, outcome.err
    return outcome.json["runs"][0]


def samples(tmp_path, record) -> bytes:
    return (tmp_path / "runs" / record["id"] / "samples.jsonl").read_bytes()


def test_a_second_run_is_answered_from_the_cache_with_the_same_bytes(evalkit, tmp_path, cache):
    arguments = (*TASK, "--model", "baseline:max-match")
    plain = run(evalkit, *arguments, "--cache", "off")
    first, second = (run(evalkit, *arguments, "--cache", cache) for _ in range(2))
    assert [record["counts"]["cached"] for record in (plain, first, second)] == [0, 0, 30]
    assert samples(tmp_path, plain) == samples(tmp_path, first) == samples(tmp_path, second)
    assert plain["metrics"] == first["metrics"] == second["metrics"]
    assert plain["id"][-6:] == second["id"][-6:]


def test_the_environment_names_the_cache_and_the_help_says_where_it_is(evalkit, cache, monkeypatch):
    monkeypatch.setenv("EVALKIT_CACHE", str(cache))
    run(evalkit, *TASK, "--model", "baseline:copy")
    assert cache.is_file()
    shown = " ".join(evalkit("run", "--help").out.split())
    assert "[default: .evalkit/cache.sqlite; env: EVALKIT_CACHE]" in shown


def test_predictions_files_need_no_cache(evalkit, tmp_path, cache):
    (tmp_path / "src.txt").write_text("one\ntwo\n")
    (tmp_path / "out.txt").write_text("uno\ndos\n")
    (tmp_path / "own.toml").write_text(
        'name = "own"\nkind = "mt"\nlanguage = "es"\n[files]\nformat = "parallel_text"\n'
        'splits = { test = ["src.txt", "out.txt"] }\n'
    )
    arguments = ("--task", tmp_path / "own.toml", "--model", f"predictions:{tmp_path / 'out.txt'}", "--cache", cache)
    assert [run(evalkit, *arguments)["counts"]["cached"] for _ in range(2)] == [0, 0]
    assert evalkit("cache", "stats", "--cache", cache, "--json").json["responses"] == 0


def test_a_baseline_that_learned_from_other_data_is_another_model(evalkit, tmp_path, cache):
    def write(label: str) -> None:
        rows = [{"text": "a b", "label": label}, {"text": "c d", "label": label}, {"text": "e", "label": "bad"}]
        (tmp_path / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    (tmp_path / "test.jsonl").write_text('{"text": "a", "label": "good"}\n{"text": "b", "label": "bad"}\n')
    (tmp_path / "own.toml").write_text(
        'name = "own"\nkind = "classification"\nlanguage = "en"\nlabels = ["good", "bad", "fair"]\n[files]\n'
        'format = "jsonl"\nsplits = { test = ["test.jsonl"], train = ["train.jsonl"] }\n'
    )
    arguments = ("--task", tmp_path / "own.toml", "--model", "baseline:majority", "--cache", cache)
    write("good")
    first = run(evalkit, *arguments)
    write("fair")
    second = run(evalkit, *arguments)
    assert second["counts"]["cached"] == 0
    assert second["model"]["digest"] != first["model"]["digest"]
    assert b'"prediction":"fair"' in samples(tmp_path, second)


@pytest.mark.parametrize(("task", "threads"), [("mini_lm", (1, 2)), ("mini_classification", (1, 2))])
def test_a_checkpoint_gives_the_same_samples_twice_on_one_or_two_threads_and_from_the_cache(
    evalkit, tmp_path, cache, gpt, task, threads
):
    """Log-probabilities of a model: one bit of difference would show in the samples."""
    arguments = ("--task", task, "--size", "150", "--model", gpt, "--device", "cpu", "--on-overflow", "truncate")
    before = torch.get_num_threads()
    found = []
    try:
        for number in threads:
            torch.set_num_threads(number)
            found.append(samples(tmp_path, run(evalkit, *arguments)))
            found.append(samples(tmp_path, run(evalkit, *arguments, "--cache", cache)))
    finally:
        torch.set_num_threads(before)
    assert len(set(found)) == 1


def test_a_checkpoint_whose_first_run_was_of_fewer_examples_still_gives_the_numbers_of_a_plain_run(
    evalkit, tmp_path, cache, gpt
):
    arguments = ("--task", "mini_lm", "--size", "150", "--model", gpt, "--device", "cpu")
    run(evalkit, *arguments, "--cache", cache, "--limit", "40")
    plain, cached = run(evalkit, *arguments), run(evalkit, *arguments, "--cache", cache)
    assert samples(tmp_path, plain) == samples(tmp_path, cached)


class TestFaults:
    """Each costs one clear line, and no answer."""

    def lines(self, evalkit, *arguments) -> list[str]:
        outcome = evalkit("run", *TASK, "--model", "baseline:copy", *arguments)
        assert outcome.code == 0, outcome.err
        assert "mini_cws" in outcome.out
        return [line for line in outcome.err.splitlines() if not line.startswith("kept: ")]

    def test_a_file_that_is_no_cache_is_set_aside(self, evalkit, cache):
        cache.write_text("my notes")
        (line,) = self.lines(evalkit, "--cache", cache)
        assert line == (
            f"evalkit: cache {cache} is no cache of evalkit; set aside as cache.sqlite.set-aside-1, and begun anew"
        )
        assert cache.with_name("cache.sqlite.set-aside-1").read_text() == "my notes"
        assert self.lines(evalkit, "--cache", cache) == []

    def test_a_default_place_that_cannot_be_written_is_done_without(self, evalkit, tmp_path, monkeypatch):
        monkeypatch.delenv("EVALKIT_CACHE")
        monkeypatch.chdir(tmp_path)
        (tmp_path / ".evalkit").write_text("")
        (line,) = self.lines(evalkit)
        assert line.startswith("evalkit: cache '.evalkit/cache.sqlite' cannot be used")

    def test_a_named_place_that_cannot_be_written_stops_before_any_work(self, evalkit):
        outcome = evalkit("run", *TASK, "--model", "baseline:copy", "--cache", "/proc/cache.sqlite")
        assert outcome.code == 2
        assert outcome.err.startswith("evalkit: cache '/proc/cache.sqlite' cannot be used")
        assert len(outcome.err.splitlines()) == 1

    def test_a_lock_of_another_process_costs_the_cache_not_the_run(self, evalkit, cache, monkeypatch):
        monkeypatch.setattr("evalkit.cache.responses._PATIENCE_S", 0.01)
        monkeypatch.setattr("evalkit.cache.responses.BUSY_S", 0.05)
        self.lines(evalkit, "--cache", cache, "--size", "3")
        with closing(sqlite3.connect(cache, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            first, second = self.lines(evalkit, "--cache", cache)
        assert first == f"evalkit: cache {cache}: locked by another process; trying again from time to time"
        assert second == f"evalkit: cache {cache}: 27 responses could not be written"

    def test_a_full_disk_under_the_cache_costs_the_cache_not_the_run(self, evalkit, cache, monkeypatch):
        import evalkit.cache.opening as opening

        real = opening._connect

        def small(path):
            connection = real(path)
            connection.execute("PRAGMA max_page_count = 7")
            return connection

        monkeypatch.setattr(opening, "_connect", small)
        (line,) = self.lines(evalkit, "--cache", cache, "--size", "2000")
        assert line.startswith(f"evalkit: cache {cache}: database or disk is full")

    def test_a_full_disk_under_the_temporary_folder_costs_memory_only(self, evalkit, tmp_path, monkeypatch):
        monkeypatch.setattr("evalkit.spool.KEPT_IN_MEMORY", 3)

        def full(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("evalkit.spool.os.pwrite", full)
        assert self.lines(evalkit, "--size", "700") == []

    def test_a_full_disk_under_the_runs_loses_no_answer(self, evalkit, tmp_path, cache, monkeypatch):
        def full(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("evalkit.store.os.fsync", full)
        outcome = evalkit("run", *TASK, "--model", "baseline:copy", "--cache", cache)
        assert outcome.code == 2
        assert "mini_cws" in outcome.out, "what was scored is shown"
        assert "could not be kept in" in outcome.err
        assert "No space left on device; free some space or choose another folder with --out" in outcome.err
        monkeypatch.undo()
        monkeypatch.setenv("EVALKIT_CACHE", str(cache))
        assert run(evalkit, *TASK, "--model", "baseline:copy")["counts"]["cached"] == 30
        assert list((tmp_path / "runs").glob(".*")) == []

    def test_two_processes_with_one_cache_and_one_output_both_finish(self, tmp_path, cache):
        command = [sys.executable, "-m", "evalkit", "run", *TASK, "--model", "baseline:max-match"]
        started = [
            subprocess.Popen(
                [*command, "--cache", str(cache), "--out", str(tmp_path / "runs"), "--json"],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )
            for _ in range(2)
        ]  # fmt: skip
        printed = [process.communicate(timeout=60) for process in started]
        assert [process.returncode for process in started] == [0, 0], printed
        ids = [json.loads(out)["runs"][0]["id"] for out, _ in printed]
        assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == sorted(ids)
        first, second = ((tmp_path / "runs" / one / "samples.jsonl").read_bytes() for one in ids)
        assert first == second
        with closing(sqlite3.connect(cache)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


class TestVerbs:
    @pytest.fixture
    def filled(self, evalkit, cache) -> Path:
        run(evalkit, *TASK, "--model", "baseline:max-match", "--cache", cache)
        return cache

    def test_stats_count_responses_by_model(self, evalkit, filled):
        stats = evalkit("cache", "stats", "--cache", filled, "--json").json
        (model,) = stats["models"]
        assert (stats["path"], stats["responses"], stats["limit_bytes"]) == (str(filled), 30, 10 * 2**30)
        assert stats["size_bytes"] >= filled.stat().st_size
        assert (model["name"], model["responses"]) == ("max-match", 30)
        first, header, _, row = evalkit("cache", "stats", "--cache", filled).out.splitlines()
        assert first.startswith(f"{filled}: 30 responses, ")
        assert header.split() == ["model", "digest", "responses", "size"]
        assert row.split()[:3] == ["max-match", model["digest"], "30"]

    def test_a_cache_that_is_not_there_is_empty_and_is_not_made(self, evalkit, cache):
        assert evalkit("cache", "stats", "--cache", cache, "--json").json["responses"] == 0
        assert evalkit("cache", "verify", "--cache", cache).code == 0
        assert evalkit("cache", "clear", "--cache", cache, "--json").json == {"path": str(cache), "deleted": 0}
        assert not cache.exists()

    def test_verify_finds_and_deletes_what_was_edited(self, evalkit, filled):
        assert evalkit("cache", "verify", "--cache", filled).out == f"{filled}: 30 responses fit their seals\n"
        with closing(sqlite3.connect(filled)) as connection, connection:
            connection.execute("UPDATE responses SET content = 'x' WHERE key IN (SELECT key FROM responses LIMIT 2)")
        outcome = evalkit("cache", "verify", "--cache", filled, "--json")
        assert outcome.code == 1
        assert outcome.json == {"path": str(filled), "responses": 28, "broken": 2}
        assert evalkit("cache", "verify", "--cache", filled).code == 0
        assert run(evalkit, *TASK, "--model", "baseline:max-match", "--cache", filled)["counts"]["cached"] == 28

    def test_verify_sets_a_damaged_file_aside(self, evalkit, filled):
        content = filled.read_bytes()
        filled.write_bytes(content[: len(content) // 2])
        outcome = evalkit("cache", "verify", "--cache", filled)
        assert outcome.code == 2
        assert outcome.err.splitlines()[-1] == f"evalkit: cache {filled} is damaged; an empty one is in its place"
        assert evalkit("cache", "verify", "--cache", filled).code == 0

    def test_clear_deletes_all(self, evalkit, filled):
        assert evalkit("cache", "clear", "--cache", filled).out == f"{filled}: 30 responses deleted\n"
        assert evalkit("cache", "stats", "--cache", filled, "--json").json["responses"] == 0

    @pytest.mark.parametrize("verb", ["stats", "verify", "clear"])
    def test_a_cache_that_is_off_cannot_be_looked_after(self, evalkit, verb):
        outcome = evalkit("cache", verb)
        assert outcome.code == 2
        assert "the cache is off; name its file with --cache" in outcome.err

    def test_a_limit_keeps_the_file_small(self, evalkit, cache, monkeypatch):
        monkeypatch.setenv("EVALKIT_CACHE_LIMIT", "100KB")
        outcome = evalkit("run", "--task", "mini_cws", "--size", "1500", "--model", "baseline:copy", "--cache", cache)
        assert outcome.code == 0
        assert "larger than its limit of 102400 bytes; the responses that were used longest ago go" in outcome.err
        assert evalkit("cache", "stats", "--cache", cache, "--json").json["size_bytes"] <= 102400
