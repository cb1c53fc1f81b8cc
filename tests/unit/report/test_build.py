"""A whole report: what stands in one column, what is visible, and that the same runs give the same report."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from evalkit.errors import InvalidInputError, UnknownNameError
from evalkit.metrics.bleu import Bleu
from evalkit.report.build import build_report
from evalkit.report.document import report_json
from evalkit.report.model import Cell, Report, Settings
from tests.stored import keep_run
from tests.unit.report.made import answering, disturbed, sentences, translation

QUICK = Settings(resamples=200)


def build(folder: Path, **settings) -> Report:
    return build_report([str(folder)], replace(QUICK, **settings))


def cells(report: Report) -> dict[tuple[str, str], Cell]:
    """Cells by model name and column title."""
    models = {model.key: model.name for model in report.models}
    columns = {column.key: column.title for column in report.columns}
    return {(models[cell.model], columns[cell.column]): cell for cell in report.cells}


def kinds(cell: Cell) -> set[str]:
    return {note.kind for note in cell.notes}


def test_versions_of_a_task_are_never_in_one_column(tmp_path: Path):
    translation(tmp_path, "A", 0.2)
    translation(tmp_path, "B", 0.3, task={"version": 2})
    report = build(tmp_path)
    assert [column.title for column in report.columns] == ["toy v1 bleu", "toy v2 bleu"]
    found = cells(report)
    assert found["A", "toy v1 bleu"].value is not None
    assert found["A", "toy v2 bleu"].value is None
    assert kinds(found["A", "toy v2 bleu"]) == {"missing"}


def test_other_data_of_a_task_is_another_column(tmp_path: Path):
    data = {"source": "files", "revision": None, "split": "dev", "digest": "0123456789abcdef", "n": 60, "scored_n": 60}
    translation(tmp_path, "A", 0.2)
    translation(tmp_path, "B", 0.3, changes={"data": data})
    assert [column.title for column in build(tmp_path).columns] == ["toy (dev 01234567) bleu", "toy (test data) bleu"]


def test_other_settings_of_a_metric_are_another_column_that_names_them(tmp_path: Path):
    references = sentences(30)
    for name, metric in (("A", Bleu()), ("B", Bleu(lowercase=True))):
        keep_run(tmp_path, metric, disturbed(references, 0.3, 1), [[line] for line in references], name=name)
    report = build(tmp_path)
    assert sorted(column.title for column in report.columns) == ["toy bleu [case:lc]", "toy bleu [case:mixed]"]
    assert kinds(cells(report)["A", "toy bleu [case:lc]"]) == {"signature"}
    assert not any(cell.is_tied for cell in report.cells)


def test_a_missing_cell_says_that_there_is_no_run(tmp_path: Path):
    translation(tmp_path, "A", 0.2)
    answering(tmp_path, "B", [True] * 5)
    empty = [cell for cell in build(tmp_path).cells if not cell.runs]
    assert len(empty) == 2
    assert {(note.kind, note.text) for cell in empty for note in cell.notes} == {("missing", "no run")}


def test_other_examples_are_shown_and_not_compared(tmp_path: Path):
    for name, n in (("A", 60), ("B", 60), ("C", 20)):
        data = {"source": "files", "revision": None, "split": "test", "digest": "data", "n": 60, "scored_n": n}
        translation(tmp_path, name, 0.01 if name == "C" else 0.3, n=n, seed=ord(name), changes={"data": data})
    found = {name: cell for (name, _), cell in cells(build(tmp_path)).items()}
    assert found["C"].value > found["A"].value
    assert (found["C"].is_comparable, found["C"].is_best, found["C"].rank) == (False, False, None)
    assert {"partial", "examples"} <= kinds(found["C"])
    assert {found["A"].rank, found["B"].rank} == {1, 2}
    assert "not compared with the others: 1;" in build(tmp_path).columns[0].notes[0].text


def test_differences_that_are_allowed_are_compared_on_the_shared_examples_and_told(tmp_path: Path):
    translation(tmp_path, "A", 0.3, n=60)
    translation(tmp_path, "B", 0.1, n=40, seed=2)
    report = build(tmp_path, allowed=("examples",))
    assert report.columns[0].n == 40
    assert all(cell.is_comparable for cell in report.cells)
    assert any(note.text.startswith("compared all the same") for cell in report.cells for note in cell.notes)
    assert "examples" in report.notes[-1].text


def test_other_prompts_are_compared_and_told(tmp_path: Path):
    references = sentences(30)
    for name, seed in (("A", 1), ("B", 2)):
        folder = keep_run(tmp_path, Bleu(), disturbed(references, 0.3, seed), [[r] for r in references], name=name)
        if name == "B":
            path = Path(folder) / "samples.jsonl"
            path.write_text(path.read_text().replace('"prompt_digest":"p', '"prompt_digest":"q'))
    report = build(tmp_path)
    assert all(cell.is_comparable for cell in report.cells)
    assert ["prompts" in kinds(cell) for cell in report.cells].count(True) == 1


@pytest.mark.parametrize(
    ("damage", "kind"),
    [
        (lambda samples: samples.unlink(), "samples"),
        (lambda samples: samples.write_bytes(samples.read_bytes()[:-20]), "incomplete"),
        (lambda samples: samples.write_text("{}\n"), "samples"),
    ],
    ids=["gone", "cut", "other"],
)
def test_a_run_whose_samples_are_damaged_is_shown_and_not_compared(tmp_path: Path, damage, kind: str):
    translation(tmp_path, "A", 0.2)
    translation(tmp_path, "B", 0.3, seed=2)
    translation(tmp_path, "C", 0.1, seed=3)
    damage(tmp_path / "C" / "samples.jsonl")
    found = {name: cell for (name, _), cell in cells(build(tmp_path)).items()}
    assert found["C"].value is not None
    assert not found["C"].is_comparable
    assert kind in kinds(found["C"])
    assert found["A"].is_best


def test_what_a_run_warns_of_stands_where_its_number_stands(tmp_path: Path):
    translation(
        tmp_path, "A", 0.2,
        changes={
            "counts": {"examples": 60, "truncated": 3, "failed": 2, "empty": 60, "missing": 0, "cached": 0},
            "warnings": ("the tokenizer is unusual",), "environment": {"evalkit": "9.0.0"},
        },
    )  # fmt: skip
    translation(tmp_path, "B", 0.3, seed=2)
    translation(tmp_path, "C", 0.4, seed=3)
    report = build(tmp_path)
    notes = {note.text for note in {n: c for (n, _), c in cells(report).items()}["A"].notes}
    assert notes == {
        "2 of 60 examples failed",
        "3 of 60 examples were truncated",
        "the tokenizer is unusual",
        "scored by evalkit 9.0.0, others by 0.0.0",
    }


def test_ways_to_ask_are_told_where_they_differ(tmp_path: Path):
    for name, shots in (("A", 0), ("B", 5)):
        translation(tmp_path, name, 0.2, changes={"settings": {"shots": shots, "request_kind": "generate"}})
    found = {name: cell for (name, _), cell in cells(build(tmp_path)).items()}
    assert [note.text for note in found["B"].notes] == ["generate requests, 5 shots"]


def test_a_chosen_metric_takes_the_place_of_the_main_one_where_a_task_has_it(tmp_path: Path):
    answering(tmp_path, "A", [True, False])
    translation(tmp_path, "B", 0.2)
    report = build(tmp_path, metrics=("f1",))
    assert [(column.task, column.value) for column in report.columns] == [("toy", "bleu"), ("questions", "f1")]
    assert [column.value for column in build(tmp_path, metrics=("squad_v1", "squad_v1.f1")).columns][1:] == [
        "exact_match",
        "f1",
    ]
    with pytest.raises(UnknownNameError, match=r"unknown metric 'rouge'.*bleu"):
        build(tmp_path, metrics=("rouge",))


def test_tasks_are_chosen_by_pattern_and_what_is_left_out_is_told(tmp_path: Path):
    answering(tmp_path, "A", [True, False])
    translation(tmp_path, "B", 0.2)
    report = build(tmp_path, tasks=("quest*",))
    assert [column.task for column in report.columns] == ["questions"]
    assert "1 of 2 runs are of other tasks" in report.notes[0].text
    with pytest.raises(UnknownNameError, match="unknown task 'x'"):
        build(tmp_path, tasks=("x",))


def test_no_run_is_dropped_in_silence(tmp_path: Path):
    generator = np.random.default_rng(0)
    for number in range(12):
        version = int(generator.integers(1, 3))
        model = {"ref": "m", "name": f"m{number % 4}", "digest": str(number), "family": "gpt"}
        translation(tmp_path, f"r{number}", 0.3, seed=number, task={"version": version}, changes={"model": model})
    report = build(tmp_path)
    assert [run.id for run in report.runs] == sorted(f"r{number}" for number in range(12))
    named = {run for cell in report.cells for run in (*cell.runs, *cell.others)}
    assert named == {run.id for run in report.runs}
    shown = {run.id for run in report.runs if run.use == "shown"}
    assert shown == {run for cell in report.cells for run in cell.runs}


def test_the_same_runs_give_the_same_report_wherever_the_names_stand(tmp_path: Path):
    for number in range(4):
        translation(tmp_path, f"r{number}", 0.2 + number / 20, seed=number)
    names = [str(tmp_path / f"r{number}") for number in range(4)]
    first = report_json(build_report(names, QUICK))
    assert report_json(build_report(names[::-1], QUICK)) == first
    assert report_json(build_report([str(tmp_path)], QUICK)) == first


def test_a_moved_store_gives_the_same_report_but_for_its_place(tmp_path: Path):
    translation(tmp_path / "here", "A", 0.2)
    shutil.copytree(tmp_path / "here", tmp_path / "there")
    here, there = (json.loads(report_json(build(tmp_path / place))) for place in ("here", "there"))
    for document in (here, there):
        for run in document["runs"]:
            run.pop("place")
    assert here == there


def test_checkpoints_of_a_training_run_make_a_curve(tmp_path: Path):
    for step in (100, 300, 200):
        model = {
            "ref": f"ckpt/{step}", "name": f"step-{step}", "digest": str(step), "family": "gpt", "recipe": "small",
            "training_run": "small-1", "steps": step, "tokens_seen": step * 512,
        }  # fmt: skip
        translation(tmp_path, f"r{step}", 1 / step, seed=step, changes={"model": model})
    translation(tmp_path, "other", 0.2)
    [curve] = build(tmp_path).curves
    assert (curve.training, curve.by) == ("small-1", "tokens_seen")
    assert [(point.run, point.steps) for point in curve.points] == [("r100", 100), ("r200", 200), ("r300", 300)]


def test_trainings_of_one_recipe_with_other_seeds_or_contents_are_curves_of_their_own(tmp_path: Path):
    for number, (digest, seed, tokens) in enumerate(
        [("aaaaaaaaaa", 0, 1), ("aaaaaaaaaa", 0, 2), ("aaaaaaaaaa", 1, 1), ("aaaaaaaaaa", 1, 2), ("bbbbbbbbbb", 0, 3)]
    ):
        model = {
            "ref": str(number), "name": str(number), "digest": str(number), "family": "gpt", "recipe": "small",
            "training": {"recipe_digest": digest, "seed": seed}, "tokens_seen": tokens,
        }  # fmt: skip
        translation(tmp_path, f"r{number}", 0.2, seed=number, changes={"model": model})
    assert [(curve.training, len(curve.points)) for curve in build(tmp_path).curves] == [
        ("small aaaaaaaa, seed 0", 2),
        ("small aaaaaaaa, seed 1", 2),
    ]


def test_one_checkpoint_is_no_curve(tmp_path: Path):
    model = {"ref": "c", "name": "c", "digest": "1", "family": "gpt", "recipe": "small", "tokens_seen": 5}
    translation(tmp_path, "A", 0.2, changes={"model": model})
    assert build(tmp_path).curves == ()


def test_models_of_a_task_page_stand_best_first_whatever_their_place_in_the_report(tmp_path: Path):
    for name, first, second in (("A", 0.1, 0.4), ("B", 0.3, 0.1)):
        translation(tmp_path, name, first, task={"name": "one"})
        shutil.move(tmp_path / name, tmp_path / f"{name}1")
        translation(tmp_path, name, second, task={"name": "two"})
    report = build(tmp_path)
    names = {model.key: model.name for model in report.models}
    found = {page.task: [names[key] for key in page.models] for page in report.tasks}
    assert found == {"one": ["A", "B"], "two": ["B", "A"]}
    for page in report.tasks:
        values = [value.value for value in page.metrics[0].values if value is not None]
        assert values == sorted(values, reverse=True)


def test_a_command_of_the_module_is_one_that_a_shell_knows(tmp_path: Path):
    environment = {"evalkit": "1.0", "command": ["__main__.py", "run", "--task", "toy"]}
    translation(tmp_path, "A", 0.2, changes={"environment": environment})
    assert build(tmp_path).runs[0].command == "python -m evalkit run --task toy"


def test_every_run_can_be_made_again_by_its_command(tmp_path: Path):
    command = ["evalkit", "run", "--model", "predictions:a file's.txt", "--task", "toy"]
    environment = {
        "evalkit": "1.0", "python": "3.11.1", "packages": {"sacrebleu": "2.6.0"}, "command": command,
        "git_commit": "abc", "git_dirty": True,
    }  # fmt: skip
    translation(tmp_path, "A", 0.2, changes={"environment": environment})
    [run] = build(tmp_path).runs
    assert run.command == """evalkit run --model 'predictions:a file'"'"'s.txt' --task toy"""
    assert run.versions == {"evalkit": "1.0", "python": "3.11.1", "sacrebleu": "2.6.0"}
    assert run.commit == "abc-dirty"


def test_settings_that_make_no_sense_are_errors(tmp_path: Path):
    for bad in ({"confidence": 1.0}, {"resamples": 10}, {"runs": "worst"}):
        with pytest.raises(InvalidInputError):
            Settings(**bad)
    translation(tmp_path, "A", 0.2)
    with pytest.raises(InvalidInputError, match="signature"):
        build(tmp_path, allowed=("signature",))
