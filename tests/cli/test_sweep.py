"""`evalkit sweep` on every engine: the same runs as by hand, what is killed is repeated, what is done is not."""

import json
import subprocess
import sys
import time
from importlib.util import find_spec

import pytest

from benchmarks.crash import SlowModel, serving

TASKS = ("mini_mt_en_zh", "mini_mt_zh_en", "mini_summarization", "mini_summarization_zh")
MODELS = ("baseline:empty", "baseline:copy", "baseline:tfidf")
ENGINES = {"local": "", "slurm": 'cluster = "local"\ntimeout-min = 5\n', "ray": ""}

KILL_ONCE = """
import os, pathlib, signal
words = pathlib.Path("/proc/self/cmdline").read_bytes().split(b"\\0")
mark = pathlib.Path(os.environ["KILL_MARK"])
if b"--model=baseline:copy" in words and b"--task=mini_mt_zh_en" in words and not mark.exists():
    mark.touch()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(autouse=True)
def _working_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write_grid(folder, engine, tasks=TASKS, models=MODELS, flags="limit = 6\nresamples = 50"):
    (folder / "grid.toml").write_text(
        f"tasks = {json.dumps(tasks)}\nmodels = {json.dumps(models)}\n[run]\n{flags}\n"
        f"[engine]\nworkers = 2\n{ENGINES[engine]}",
        encoding="utf-8",
    )


def comparable(folder):
    """A run without what depends on the clock: samples, values and what they came from."""
    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    kept = {
        key: record[key] for key in ("task", "data", "model", "settings", "metrics", "statistics", "counts", "status")
    }
    return kept, (folder / "samples.jsonl").read_bytes()


@pytest.fixture(scope="module")
def by_hand(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hand")
    models = [f"--model={model}" for model in MODELS]
    command = ["run", f"--task={','.join(TASKS)}", *models, "--limit=6", "--resamples=50", "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "evalkit", *command], cwd=folder, capture_output=True, text=True, check=True
    )
    records = json.loads(done.stdout)["runs"]
    return {
        (record["task"]["name"], record["model"]["ref"]): comparable(folder / "runs" / record["id"])
        for record in records
    }


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_a_sweep_makes_the_runs_that_are_made_by_hand(evalkit, tmp_path, monkeypatch, by_hand, engine):
    # Looked for, not imported: what its import does to this process is evalkit's business.
    if engine != "local" and find_spec({"slurm": "submitit", "ray": "ray"}[engine]) is None:
        pytest.skip("an optional extra that is not installed")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(KILL_ONCE, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    monkeypatch.setenv("KILL_MARK", str(tmp_path / "killed"))
    write_grid(tmp_path, engine)
    first = evalkit("sweep", "grid.toml", "--engine", engine, "--json")
    assert first.code == 0, first.err
    assert (tmp_path / "killed").exists()
    assert first.err.count("killed: mini_mt_zh_en, baseline:copy") == 1
    assert first.err.count("done: ") == 12
    cells = first.json["cells"]
    assert [(cell["task"], cell["model"]) for cell in cells] == [(task, model) for task in TASKS for model in MODELS]
    for cell in cells:
        [run] = cell["runs"]
        assert comparable(tmp_path / "runs" / run) == by_hand[cell["task"], cell["model"]]
    again = evalkit("sweep", "grid.toml", "--engine", engine, "--json")
    assert [cell["runs"] for cell in again.json["cells"]] == [cell["runs"] for cell in cells]
    assert all(cell["is_earlier"] for cell in again.json["cells"])


def test_only_cells_whose_run_is_gone_are_run_again(evalkit, tmp_path):
    write_grid(tmp_path, "local", TASKS[:1], MODELS[:2])
    first = evalkit("sweep", "grid.toml", "--json").json["cells"]
    (tmp_path / "runs" / first[0]["runs"][0] / "run.json").unlink()
    second = evalkit("sweep", "grid.toml", "--json").json["cells"]
    assert [cell["is_earlier"] for cell in second] == [False, True]


def test_a_cell_that_fails_leaves_the_others_and_exits_5(evalkit, tmp_path):
    write_grid(tmp_path, "local", ("mini_cws", "mini_mt_en_zh"), ("baseline:max-match",))
    outcome = evalkit("sweep", "grid.toml")
    assert outcome.code == 5
    rows = outcome.out.splitlines()
    assert rows[2].split()[:2] == ["mini_cws", "baseline:max-match"]
    assert rows[2].endswith("done")
    assert "failed: " in rows[3]
    assert "1 of 2 cells failed" in outcome.err.splitlines()[-1]


@pytest.mark.parametrize(
    ("flags", "models", "said"),
    [
        ("limit = 0", ["baseline:copy"], "limit"),
        ('batch-size = "x"', ["baseline:copy"], "--batch-size 'x'"),
        ("limit = 1", ["baseline:cpy"], "did you mean 'copy'"),
    ],
)
def test_a_grid_is_checked_before_any_cell_is_run(evalkit, tmp_path, flags, models, said):
    write_grid(tmp_path, "local", TASKS[:1], models, flags)
    outcome = evalkit("sweep", "grid.toml")
    assert (outcome.code, outcome.out) == (2, "")
    assert said in outcome.err
    assert not (tmp_path / "runs").exists()


def test_a_dry_run_prints_the_commands_that_are_left(evalkit, tmp_path):
    write_grid(tmp_path, "local", TASKS[:1], MODELS[:2])
    lines = evalkit("sweep", "grid.toml", "--dry-run").out.splitlines()
    assert lines[0] == "evalkit run --task=mini_mt_en_zh --model=baseline:empty --limit=6 --resamples=50 --out=runs"
    assert len(lines) == 2
    assert not (tmp_path / ".evalkit").exists()


@pytest.mark.slow
def test_a_sweep_that_is_stopped_lets_no_cell_go_on_alone_and_goes_on_where_it_was(tmp_path):
    model = SlowModel()
    with serving(model) as url:
        flags = f'size = 40\nresamples = 50\nbatch-size = "1"\ncache = "{tmp_path / "cache.sqlite"}"'
        models = (f"openai:slow@{url}?api=completions", "baseline:copy")
        write_grid(tmp_path, "local", ("mini_mt_en_zh",), models, flags)
        command = [sys.executable, "-m", "evalkit", "sweep", "grid.toml", "--workers=1"]
        process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 60
        while model.asked.total() < 8:
            assert time.monotonic() < deadline, "the sweep does not begin"
            time.sleep(0.01)
        process.terminate()
        out, err = process.communicate(timeout=60)
        asked = model.asked.total()
        assert process.returncode == 130
        assert err.splitlines()[-1] == "evalkit: stopped, with 2 of 2 cells not done; the same command runs those"
        assert [row.split("  ")[-1] for row in out.splitlines()[2:]] == [
            "killed: stopped by a signal",
            "stopped: not run",
        ]
        time.sleep(0.5)
        assert model.asked.total() == asked < 40
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        assert model.asked.total() == 40


def test_a_run_that_somebody_broke_costs_its_row_and_no_other(evalkit, tmp_path):
    write_grid(tmp_path, "local", TASKS[:1], MODELS[:2])
    [first, _] = evalkit("sweep", "grid.toml", "--json").json["cells"]
    (tmp_path / "runs" / first["runs"][0] / "run.json").write_text("{")
    rows = evalkit("sweep", "grid.toml").out.splitlines()
    assert "not a run record" in rows[2]
    assert rows[3].endswith("done before")
