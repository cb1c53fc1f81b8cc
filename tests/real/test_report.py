"""The leaderboard of published outputs: made by the documented commands, with the published values, as it is committed."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from evalkit.report.build import build_report
from evalkit.report.model import Report, Settings

pytestmark = [pytest.mark.real, pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("generaltest2022.en-zh.hyp.*.zh=*", "v1.1_*=*", "v2.0_*=*")


@pytest.fixture(scope="module")
def made(tmp_path_factory, data_dir: Path) -> Path:
    """The folder in which docs/published.sh was run."""
    folder = tmp_path_factory.mktemp("published")
    (folder / "bin").mkdir()
    command = folder / "bin" / "evalkit"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m evalkit "$@"\n')
    command.chmod(0o755)
    (folder / "data").symlink_to(data_dir)
    path = os.pathsep.join(str(ROOT / part) for part in (".", "tasks", "models"))
    environment = {**os.environ, "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": path}
    (folder / "reports").mkdir()
    script = ["sh", str(ROOT / "docs" / "published.sh"), "data", "reports/published.md"]
    done = subprocess.run(script, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def report(made: Path) -> Report:
    """The same runs as a report with all values."""
    return build_report([str(made / "runs" / "published")], Settings(names=NAMES))


def scores(report: Report, task: str, metric: str, value: str) -> dict[str, float]:
    """Values by name of the model."""
    names = {model.key: model.name for model in report.models}
    page = next(page for page in report.tasks if page.task == task)
    row = next(row for row in page.metrics if (row.metric, row.value) == (metric, value))
    return {names[key]: scored.value for key, scored in zip(page.models, row.values, strict=True) if scored}


def test_it_is_the_committed_one(made: Path):
    committed = (ROOT / "reports" / "published.md").read_text(encoding="utf-8")
    again = (made / "reports" / "published.md").read_text(encoding="utf-8")
    # Ids of runs hold their times.
    assert again.split("\n## Runs\n")[0] == committed.split("\n## Runs\n")[0]
    assert committed.startswith("<!-- sh docs/published.sh DATA reports/published.md -->\n")


def test_bleu_is_that_of_the_shared_task(report: Report, data_dir: Path):
    with (data_dir / "mt" / "wmt22" / "automatic-scores.tsv").open(encoding="utf-8") as file:
        rows = list(csv.reader(file, delimiter="\t"))
    published = {row[1]: float(row[-1]) for row in rows if row[0] == "en-zh" and row[-2] == "bleu-all"}
    found = scores(report, "wmt22_en_zh", "bleu", "bleu")
    assert len(found) == 9
    assert found == pytest.approx({name: published[name] for name in found}, abs=1e-9)


def test_answers_and_entities_score_as_their_official_scripts_say(report: Report, data_dir: Path):
    expected = json.loads((data_dir / "expected_scores.json").read_text(encoding="utf-8"))
    squad = expected["qa/squad"]["computed"]
    for task, metric, name, key in (
        ("squad", "squad_v1", "logistic_regression", "v1.1_logistic_regression"),
        ("squad_v2", "squad_v2", "bidaf_sa_elmo", "v2.0_bidaf_sa_elmo"),
    ):
        assert scores(report, task, metric, "exact_match") == pytest.approx({name: squad[key]["exact"]}, abs=1e-4)
        assert scores(report, task, metric, "f1") == pytest.approx({name: squad[key]["f1"]}, abs=1e-4)
    wnut = expected["ner/wnut17/submissions"]["published_entity_F1"]
    f1 = {name: 100 * value for name, value in scores(report, "wnut17", "seqeval", "f1").items()}
    assert f1 == pytest.approx({name: wnut[name] for name in f1}, abs=0.005)


def test_systems_that_a_paired_test_cannot_tell_apart_share_their_ranks(report: Report):
    names = {model.key: model.name for model in report.models}
    column = next(column for column in report.columns if column.value == "bleu")
    ranks = {
        names[cell.model]: (cell.rank_low, cell.rank_high)
        for cell in report.cells
        if cell.column == column.key and cell.rank
    }
    assert ranks["Online-B"] == (1, 1)
    # reports/wmt22_pairs.md: p is 0.2 and 0.7 between these, below 0.05 between all others.
    assert ranks["HuaweiTSC"] == ranks["LanguageX"] == (2, 3)
    assert ranks["Online-A"] == ranks["JDExploreAcademy"] == (4, 5)
    assert [ranks[name] for name in ("AISP-SJTU", "Lan-Bridge", "DLUT", "Online-W")] == [(6, 6), (7, 7), (8, 8), (9, 9)]


def test_unanswered_questions_are_told_at_the_number(report: Report):
    notes = {note.text for cell in report.cells for note in cell.notes if cell.value is not None}
    assert "13 of 10,570 examples have no answer" in notes
