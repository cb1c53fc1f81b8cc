"""Which runs are of one model."""

from pathlib import Path

import pytest

from evalkit.errors import InvalidInputError
from evalkit.report.reading import StoredRun, read_runs
from evalkit.report.rows import rows
from tests.unit.report.made import translation


def run(folder: Path, run_id: str, *, name="gpt", ref="ckpt", digest="d", task="toy", settings=None, version=1) -> None:
    translation(
        folder,
        run_id,
        0.2,
        n=2,
        task={"name": task, "version": version},
        changes={
            "id": run_id,
            "model": {"ref": ref, "name": name, "digest": digest, "family": "gpt"},
            "settings": settings or {},
        },
    )


def gathered(folder: Path, *names: str) -> dict[str, list[str]]:
    runs: list[StoredRun] = read_runs([str(folder)])
    return {row.name: [one.record.id for one in row.runs] for row in rows(runs, names)}


def test_runs_of_one_name_are_one_model_on_all_tasks(tmp_path: Path):
    run(tmp_path, "1", task="a")
    run(tmp_path, "2", task="b", ref="elsewhere", digest="other")
    assert gathered(tmp_path) == {"gpt": ["1", "2"]}


def test_a_model_trained_again_at_its_place_or_moved_elsewhere_stays_one_model(tmp_path: Path):
    run(tmp_path, "1", ref="here", digest="d1")
    run(tmp_path, "2", ref="here", digest="d2")
    run(tmp_path, "3", ref="there", digest="d2")
    assert gathered(tmp_path) == {"gpt": ["1", "2", "3"]}


def test_models_of_one_name_that_share_nothing_are_told_apart_where_a_task_has_both(tmp_path: Path):
    run(tmp_path, "1", name="final", ref="a/final", digest="d1")
    run(tmp_path, "2", name="final", ref="b/final", digest="d2")
    run(tmp_path, "3", name="final", ref="b/final", digest="d2", task="other")
    assert gathered(tmp_path) == {"final (a/final)": ["1"], "final (b/final)": ["2", "3"]}


def test_set_ups_of_a_model_are_told_apart_by_what_differs(tmp_path: Path):
    run(tmp_path, "1", settings={"shots": 0, "decoding": {"temperature": 0.0, "seed": 1}})
    run(tmp_path, "2", settings={"shots": 5, "decoding": {"temperature": 0.0, "seed": 2}})
    assert gathered(tmp_path) == {"gpt (shots 0)": ["1"], "gpt (shots 5)": ["2"]}


def test_seeds_limits_and_batch_sizes_are_no_set_up(tmp_path: Path):
    run(tmp_path, "1", settings={"seed": 0, "limit": None, "batch_size": 4, "decoding": {"seed": 1}})
    run(tmp_path, "2", settings={"seed": 1, "limit": 10, "batch_size": 8, "decoding": {"seed": 2}})
    assert gathered(tmp_path) == {"gpt": ["1", "2"]}


def test_names_gather_and_rename_models(tmp_path: Path):
    for seed in "123":
        run(tmp_path, seed, name=f"gpt-seed{seed}", ref=seed, digest=seed)
    run(tmp_path, "4", name="newstest.hyp.DLUT.zh", ref="4", digest="4")
    assert gathered(tmp_path, "gpt-seed*=GPT", "newstest.hyp.*.zh=*") == {"DLUT": ["4"], "GPT": ["1", "2", "3"]}


def test_a_name_may_hold_an_equals_sign_and_marks_of_patterns_are_plain(tmp_path: Path):
    run(tmp_path, "1", name="a=b[1].x")
    assert gathered(tmp_path, "a=b[1].x=plain") == {"plain": ["1"]}


@pytest.mark.parametrize("rule", ["gpt", "=x", "gpt=", "nothing*=x"])
def test_a_rule_that_renames_nothing_is_an_error(tmp_path: Path, rule: str):
    run(tmp_path, "1")
    with pytest.raises(InvalidInputError, match="--name"):
        gathered(tmp_path, rule)


def test_a_label_does_not_swallow_another_model_of_that_name(tmp_path: Path):
    run(tmp_path, "1", name="a", ref="ra", digest="1")
    run(tmp_path, "2", name="b", ref="rb", digest="2")
    assert gathered(tmp_path, "a=b") == {"b": ["1"], "b (rb)": ["2"]}


def test_every_name_stands_for_one_model(tmp_path: Path):
    run(tmp_path, "1", name="m (a)", ref="x", digest="1")
    run(tmp_path, "2", name="m", ref="a", digest="2")
    run(tmp_path, "3", name="m", ref="b", digest="3")
    assert list(gathered(tmp_path)) == ["m (a)", "m (a) #2", "m (b)"]
