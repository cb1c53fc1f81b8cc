"""`evalkit report`: files by their ending, the same bytes for the same runs, and errors before any work."""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from tests.golden.make_report_schema import schema
from tests.unit.report.made import answering, translation

ROOT = Path(__file__).resolve().parents[2]
SMALL = ROOT / "reports" / "mini_baselines.md"


@pytest.fixture(scope="module")
def store(tmp_path_factory) -> Path:
    """Two systems that translate, of which one has run on some examples only; another that answers questions."""
    folder = tmp_path_factory.mktemp("runs")
    data = {"source": "files", "revision": None, "split": "test", "digest": "data", "n": 60}
    translation(folder, "small", 0.3, changes={"data": {**data, "scored_n": 60}})
    translation(folder, "large", 0.1, n=40, seed=2, changes={"data": {**data, "scored_n": 40}})
    answering(folder, "reader", [True, False, True])
    return folder


def report(evalkit, store: Path, *arguments: object):
    return evalkit("report", store, "--resamples", "200", *arguments)


def test_one_command_writes_every_text_format(evalkit, store: Path, tmp_path: Path):
    outs = [tmp_path / "new" / f"r.{ending}" for ending in ("md", "csv", "tex", "json")]
    done = report(evalkit, store, *(part for out in outs for part in ("--out", out)))
    assert (done.code, done.out) == (0, "")
    assert done.err.splitlines() == [f"written: {out}" for out in outs]
    markdown, table, latex, document = (out.read_text(encoding="utf-8") for out in outs)
    assert "| small | **" in markdown
    assert {row["model"] for row in csv.DictReader(io.StringIO(table))} == {"small", "large", "reader"}
    assert r"\toprule" in latex
    jsonschema.validate(json.loads(document), schema())


def test_the_same_runs_give_the_same_bytes(evalkit, store: Path, tmp_path: Path):
    for ending in ("md", "csv", "tex", "json"):
        first, second = tmp_path / f"a.{ending}", tmp_path / f"b.{ending}"
        report(evalkit, store, "--out", first)
        report(evalkit, store, "--out", second)
        assert first.read_bytes() == second.read_bytes()


def test_without_a_file_markdown_is_printed(evalkit, store: Path):
    done = report(evalkit, store, "--task", "questions", "--metric", "f1", "--title", "Questions & answers")
    assert done.out.startswith("# Questions &#38; answers\n")
    assert "questions squad_v1 f1 ↑ %" in done.out
    assert "toy" not in done.out


def test_partial_runs_are_marked_where_the_number_stands(evalkit, store: Path):
    [row] = [
        line for line in report(evalkit, store, "--task", "toy").out.splitlines() if line.startswith("| large | ")
    ][:1]
    assert "<sup>1," in row
    assert "1. 40 of 60 examples" in report(evalkit, store).out


def test_the_first_line_says_how_it_was_made(evalkit, store: Path):
    assert report(evalkit, store, "--made-by", "make report").out.startswith("<!-- make report -->\n# Leaderboard\n")


def test_a_metric_of_a_newer_evalkit_is_shown_and_not_compared(evalkit, tmp_path: Path):
    for name, share in (("A", 0.1), ("B", 0.2), ("C", 0.3)):
        translation(tmp_path / "runs", name, share)
    path = tmp_path / "runs" / "A" / "run.json"
    record = json.loads(path.read_text())
    record["statistics"]["bleu"]["metric"] = "bleu2"
    path.write_text(json.dumps(record))
    outs = [part for ending in ("md", "csv", "tex", "json", "html") for part in ("--out", tmp_path / f"r.{ending}")]
    assert report(evalkit, tmp_path / "runs", *outs).code == 0
    cells = json.loads((tmp_path / "r.json").read_text())["cells"]
    assert [(cell["is_comparable"], cell["is_best"]) for cell in cells] == [(False, False), (True, True), (True, False)]
    assert "unknown metric 'bleu2'" in cells[0]["notes"][0]["text"]


def test_a_report_loads_neither_torch_nor_what_only_runs_need(store: Path, tmp_path: Path):
    out = tmp_path / "r.md"
    code = f"""
import sys
from evalkit.cli import run_cli
assert run_cli(["report", {str(store)!r}, "--out", {str(out)!r}]) == 0
print(*{{"torch", "datasets", "pandas", "nltk", "sklearn", "sacrebleu", "scipy", "jinja2", "matplotlib"}} & set(sys.modules))
"""
    environment = {"PYTHONPATH": ":".join(str(ROOT / part) for part in (".", "tasks", "models")), "PATH": ""}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.split() == []


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["nowhere"], "nowhere: no such folder"),
        (["STORE", "--out", "r.pdf"], "ends in .html, .md, .csv, .tex, .json"),
        (["STORE", "--out", "."], "ends in"),
        (["STORE", "--metric", "blue"], "unknown metric 'blue'"),
        (["STORE", "--task", "question"], "unknown task 'question'; did you mean 'questions'?"),
        (["STORE", "--name", "x=y"], "matches no model"),
        (["STORE", "--allow", "sigature"], "unknown kind of difference"),
        (["STORE", "--scaling", "nofit.json"], "nofit.json"),
        (["STORE", "--resamples", "1"], "resamples is 1"),
        (["STORE", "--confidence", "95"], "confidence is 95.0"),
    ],
)
def test_wrong_use_is_one_line_and_exit_code_2(evalkit, store: Path, arguments: list[str], expected: str):
    done = evalkit("report", *[str(store) if part == "STORE" else part for part in arguments])
    assert (done.code, done.out) == (2, "")
    assert expected in done.err
    assert done.err.count("\n") == 1


def test_a_scaling_fit_is_shown_beside_the_runs(evalkit, store: Path, tmp_path: Path):
    fit = tmp_path / "fit.json"
    figure = {
        "x_title": "parameters", "y_title": "loss in nats", "points": [{"x": 1e6, "y": 3.2}, {"x": 1e7, "y": 2.9}],
        "lines": [{"name": "fit", "x": [1e6, 1e7], "y": [3.2, 2.9], "low": [3.1, 2.8], "high": [3.3, 3.0]}],
    }  # fmt: skip
    content = {"law": {"name": "kaplan"}, "parameters": {"alpha": {"value": 0.08}}, "figure": figure, "warnings": []}
    fit.write_text(json.dumps(content))
    out = tmp_path / "r.json"
    assert report(evalkit, store, "--scaling", fit, "--out", out).code == 0
    [scaling] = json.loads(out.read_text())["scaling"]
    assert (scaling["form"], scaling["file"], scaling["lines"][0]["high"]) == ("kaplan", "fit.json", [3.3, 3.0])
    for bad in (
        "[]",
        "{}",
        '{"figure": {"lines": [{"x": [1], "y": []}]}}',
        '{"figure": {"points": [{"x": NaN, "y": 1}]}}',
    ):
        fit.write_text(bad)
        assert report(evalkit, store, "--scaling", fit, "--out", out).code == 2


def test_the_committed_report_of_the_baselines_is_what_its_first_line_makes(evalkit, tmp_path: Path, monkeypatch):
    first, committed = SMALL.read_text(encoding="utf-8").split("\n", 1)
    monkeypatch.chdir(tmp_path)
    for line in first.removeprefix("<!-- ").removesuffix(" -->").split(" && "):
        assert evalkit(*line.removeprefix("evalkit ").split()).code == 0
    made = (tmp_path / "mini_baselines.md").read_text(encoding="utf-8")
    # Ids of runs hold their times, and the command is that of these tests.
    assert made.split("\n## Runs\n")[0] == committed.split("\n## Runs\n")[0]
