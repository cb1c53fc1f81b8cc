"""What stands for several runs of one model and task, and that the others stay visible."""

from pathlib import Path

import numpy as np
import pytest

from evalkit.report.build import build_report
from evalkit.report.model import Report, Settings
from tests.unit.report.made import answering

RIGHT = np.arange(40) < 20
"""Half of the answers are right."""


def run(folder: Path, run_id: str, right: int, *, digest="d", n=40, name="gpt", **changes) -> None:
    data = {"source": "files", "revision": None, "split": "test", "digest": "data", "n": 40, "scored_n": n}
    answering(
        folder,
        run_id,
        np.arange(n) < right,
        changes={
            "id": run_id,
            "created": f"2026-01-0{run_id[0]}T00:00:00+00:00",
            "model": {"ref": name, "name": name, "digest": digest, "family": "gpt"},
            "data": data,
            **changes,
        },
    )


def report(folder: Path, rule: str = "latest") -> Report:
    return build_report([str(folder)], Settings(runs=rule, resamples=200))


@pytest.fixture
def three(tmp_path: Path) -> Path:
    for run_id, right, digest in (("1", 20, "x"), ("2", 30, "y"), ("3", 25, "z")):
        run(tmp_path, run_id, right, digest=digest)
    return tmp_path


@pytest.mark.parametrize(("rule", "shown", "value"), [("latest", ("3",), 62.5), ("best", ("2",), 75.0)])
def test_one_run_stands_for_all_and_the_cell_names_the_others(three: Path, rule: str, shown, value: float):
    found = report(three, rule)
    [cell] = found.cells
    assert cell.runs == shown
    assert cell.value == value
    assert set(cell.others) == {"1", "2", "3"} - set(shown)
    assert f"{rule} of 3 runs" in {note.text for note in cell.notes}
    assert "its runs are of 3 different weights or outputs" in {note.text for note in cell.notes}


def test_the_mean_is_that_of_the_runs_with_their_standard_deviation(three: Path):
    [cell] = report(three, "mean").cells
    assert cell.value == pytest.approx((50 + 75 + 62.5) / 3)
    assert cell.deviation == pytest.approx(12.5)
    assert cell.runs == ("3", "2", "1")
    assert cell.low < cell.value < cell.high
    assert "mean of 3 runs" in {note.text for note in cell.notes}


def test_every_run_says_whether_it_is_shown(three: Path):
    run(three, "4", 10, n=10)
    uses = {rule: {one.id: one.use for one in report(three, rule).runs} for rule in ("latest", "best", "mean")}
    assert uses["latest"] == {"1": "older", "2": "older", "3": "shown", "4": "partial"}
    assert uses["best"] == {"1": "not the best", "2": "shown", "3": "not the best", "4": "partial"}
    assert uses["mean"] == {"1": "averaged", "2": "averaged", "3": "averaged", "4": "partial"}


def test_a_later_quick_check_does_not_take_the_place_of_a_full_run(tmp_path: Path):
    run(tmp_path, "1", 20)
    run(tmp_path, "2", 10, n=10)
    run(tmp_path, "3", 40, status="stopped after 40 of 80 examples")
    [cell] = report(tmp_path).cells
    assert cell.runs == ("1",)
    assert cell.is_comparable


def test_a_model_with_partial_runs_alone_shows_the_newest_one_as_partial(tmp_path: Path):
    run(tmp_path, "1", 10, n=10)
    run(tmp_path, "2", 12, n=20)
    [cell] = report(tmp_path).cells
    assert cell.runs == ("2",)
    assert cell.others == ("1",)
    assert ("partial", "20 of 40 examples") in {(note.kind, note.text) for note in cell.notes}


def test_the_mean_counts_a_repeated_run_once(tmp_path: Path):
    run(tmp_path, "1", 20, digest="x")
    run(tmp_path, "2", 20, digest="x")
    run(tmp_path, "3", 30, digest="y")
    found = report(tmp_path, "mean")
    assert found.cells[0].value == pytest.approx(62.5)
    assert {one.id: one.use for one in found.runs} == {"1": "repeat", "2": "averaged", "3": "averaged"}


def test_the_best_run_of_a_metric_where_lower_is_better_is_the_lowest(tmp_path: Path):
    from evalkit.metrics.perplexity import Perplexity
    from evalkit.requests import RollingResponse
    from tests.stored import keep_run

    for run_id, nats in (("1", -20.0), ("2", -30.0)):
        outputs = [RollingResponse(example_id=str(i), logprob_nats=nats - i, token_count=10) for i in range(5)]
        model = {"ref": "m", "name": "m", "digest": run_id, "family": "gpt"}
        keep_run(
            tmp_path, Perplexity(), outputs, [["ten letter"]] * 5, name=run_id, task={"kind": "lm"}, changes={"model": model}
        )  # fmt: skip
    assert report(tmp_path, "best").cells[0].runs == ("1",)
