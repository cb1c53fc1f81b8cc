"""From cells to outcomes: what is noted, what is repeated, and what a stop leaves."""

import json

import pytest

from evalkit.errors import InvalidInputError
from evalkit.stopping import Stop
from evalkit.sweep.cells import DONE, FAILED, KILLED, Cell, Outcome, read_outcome
from evalkit.sweep.engines import ENGINES
from evalkit.sweep.grid import EngineSettings
from evalkit.sweep.ledger import Ledger
from evalkit.sweep.sweep import sweep


@pytest.fixture
def cells(tmp_path):
    for name in "abc":
        (tmp_path / "runs" / f"run-{name}").mkdir(parents=True)
        (tmp_path / "runs" / f"run-{name}" / "run.json").write_text("{}")
    (tmp_path / "out.txt").write_text("one\n")
    return [
        Cell(task=name, model="predictions:out.txt", arguments=(), out="runs", folder=str(tmp_path)) for name in "abc"
    ]


@pytest.fixture
def ledger(tmp_path):
    ledger = Ledger(tmp_path / "state")
    ledger.check_writable()
    return ledger


@pytest.fixture
def run(monkeypatch, cells, ledger):
    """Sweep with an engine that gives what it is told; returns the outcomes and the tasks that were run."""

    def go(outcome_of, stop=None, retries=1):
        ran = []

        def engine(left, settings, folder, stop):
            for cell in left:
                if not stop.is_asked:
                    ran.append(cell.task)
                    yield cell, outcome_of(cell)

        monkeypatch.setitem(ENGINES, "fake", engine)
        return sweep(cells, "fake", EngineSettings(retries=retries), ledger, stop=stop), ran

    return go


def done(cell):
    return Outcome(status=DONE, runs=(f"run-{cell.task}",))


def test_what_is_done_is_noted_and_not_run_again(run):
    assert run(done)[1] == ["a", "b", "c"]
    outcomes, ran = run(done)
    assert ran == []
    assert all(outcome.is_earlier for outcome in outcomes)


def test_what_is_killed_is_repeated_and_what_fails_is_not(run):
    of = {"a": [KILLED, DONE], "b": [FAILED], "c": [KILLED, KILLED, KILLED]}
    outcomes, ran = run(lambda cell: Outcome(status=of[cell.task].pop(0), runs=("run-a",)), retries=2)
    assert ran == ["a", "b", "c", "a", "c", "c"]
    assert [outcome.status for outcome in outcomes] == [DONE, FAILED, KILLED]


def test_a_cell_that_a_signal_stopped_counts_as_killed():
    outcome = read_outcome(130, '{"runs": [{"id": "r1"}]}', "evalkit: stopped, with 1 runs kept")
    assert (outcome.status, outcome.message) == (KILLED, "stopped by a signal")


def test_after_a_stop_nothing_more_is_run_or_repeated_and_the_next_sweep_goes_on(run):
    stop = Stop()

    def killed(cell):
        if cell.task == "b":
            stop.ask()
            return Outcome(status=KILLED)
        return done(cell)

    outcomes, ran = run(killed, stop)
    assert ran == ["a", "b"]
    assert [outcome.status for outcome in outcomes] == ["done", "killed", "stopped"]
    assert run(done)[1] == ["b", "c"]


def test_a_file_that_changes_while_its_cell_runs_was_not_evaluated(run, tmp_path):
    def rewritten(cell):
        (tmp_path / "out.txt").write_text("one two\n")
        return done(cell)

    run(rewritten)
    assert run(done)[1] == ["a", "b", "c"]


def test_a_cell_that_cannot_be_noted_is_done_says_so_and_leaves_nothing(run, ledger, monkeypatch, tmp_path):
    for step in ("os.fsync", "pathlib.Path.replace"):
        with monkeypatch.context() as patch:

            def full(*_, **__):
                raise OSError(28, "No space left on device")

            patch.setattr(step, full)
            outcomes, _ = run(done)
        assert [outcome.status for outcome in outcomes] == [DONE] * 3
        assert "No space left on device" in outcomes[0].message
        assert "another sweep runs it again" in outcomes[0].message
        assert list(ledger.folder.iterdir()) == []
    assert run(done)[1] == ["a", "b", "c"]


@pytest.mark.parametrize(
    "noted", ["", "[]", "null", "{}", '{"runs": []}', '{"runs": ["gone"]}', "[" * 100_000, '{"runs": ["a\\u0000b"]}']
)
def test_a_note_that_is_none_is_no_reason_to_leave_a_cell_out(run, cells, ledger, noted):
    (ledger.folder / f"{cells[0].key}.json").write_text(noted)
    assert run(done)[1] == ["a", "b", "c"]


def test_a_store_that_cannot_be_reached_is_said_before_anything_is_run(run, cells, ledger):
    far = Cell(task="a", model="m", arguments=(), out="memory-of-nobody://x", folder=cells[0].folder)
    (ledger.folder / f"{far.key}.json").write_text(json.dumps({"runs": ["r"]}))
    with pytest.raises(InvalidInputError, match=r"store 'memory-of-nobody://x' cannot be read: .*; check the address"):
        ledger.find(far, far.key)
