"""Markdown, LaTeX, CSV and JSON of a report: what the field prints, what papers and spreadsheets need, the same bytes."""

import csv
import io
import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from evalkit.metrics.perplexity import Perplexity
from evalkit.metrics.rouge import Rouge
from evalkit.report.build import build_report
from evalkit.report.display import display_of, shown, shown_interval, shown_p, shown_rank
from evalkit.report.document import report_document, report_json
from evalkit.report.latex import report_latex
from evalkit.report.markdown import report_markdown
from evalkit.report.model import Report, Settings
from evalkit.report.rows_csv import report_csv
from evalkit.report.tables import size_text
from evalkit.requests import RollingResponse
from tests.golden.make_report_schema import SCHEMA, text
from tests.stored import keep_run
from tests.unit.report.made import answering, disturbed, sentences, translation

QUICK = Settings(resamples=200)


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> Report:
    """Two translation systems, of which one also answers questions; summaries and a language model besides."""
    folder = tmp_path_factory.mktemp("runs")
    models = {
        name: {"ref": name, "name": name, "digest": name, "family": "gpt", "parameters": 124_439_808}
        for name in ("small", "large")
    }
    translation(folder, "1", 0.3, changes={"id": "1", "model": models["small"]})
    translation(folder, "2", 0.1, seed=2, changes={"id": "2", "model": models["large"]})
    answering(folder, "3", [True, False, True], changes={"id": "3", "model": models["large"]})
    references = sentences(20)
    keep_run(
        folder, Rouge(language="en"), disturbed(references, 0.3, 1), [[line] for line in references], name="4",
        task={"kind": "summarization", "name": "sums"}, changes={"id": "4", "model": models["small"]},
    )  # fmt: skip
    outputs = [RollingResponse(example_id=str(i), logprob_nats=-30.0 - i, token_count=10) for i in range(5)]
    keep_run(
        folder, Perplexity(main="token_perplexity"), outputs, [["ten letter"]] * 5, name="5",
        task={"kind": "lm", "name": "texts"}, changes={"id": "5", "model": models["small"]},
    )  # fmt: skip
    return build_report([str(folder)], QUICK)


@pytest.mark.parametrize(
    ("metric", "value", "scale", "is_share", "number", "expected"),
    [
        ("bleu", "bleu", 100, False, 27.26, "27.3"),
        ("chrf", "chrf", 100, False, 55.349, "55.3"),
        ("ter", "ter", 100, False, 101.25, "101.2"),
        ("rouge", "rouge2", 1, True, 0.17046, "17.05"),
        ("squad_v2", "f1", 100, False, 88.126, "88.13"),
        ("seqeval", "f1", 1, True, 0.9163, "91.63"),
        ("perplexity", "word_perplexity", 1, False, 18.344, "18.34"),
        ("perplexity", "bits_per_byte", 1, False, 0.98765, "0.9877"),
        ("meteor", "meteor", 1, True, 0.5, "50.00"),
    ],
)
def test_values_are_printed_as_their_field_prints_them(metric, value, scale, is_share, number, expected):
    assert shown(number, display_of(metric, value, scale, is_share)) == expected


def test_small_texts():
    bleu = display_of("bleu", "bleu", 100, False)
    assert (shown(None, bleu), shown(-0.01, bleu, signed=True), shown(1.24, bleu, signed=True)) == ("", "0.0", "+1.2")
    assert (shown_interval(1, None, bleu), shown_interval(1, 2, bleu)) == ("", "[1.0, 2.0]")
    assert [shown_rank(*r) for r in ((None, None, None), (3, 2, 4), (1, 1, 1), (2, None, None))] == [
        "",
        "2-4",
        "1",
        "2",
    ]
    assert [shown_p(p) for p in (None, 0.0004, 0.0123, 1.0)] == ["", "<0.001", "0.012", "1.000"]
    assert [size_text(n) for n in (None, 12, 999_999, 124_439_808, 7.2e9)] == ["", "12", "1M", "124M", "7.2B"]


def test_markdown_shows_values_marks_ranks_and_where_they_come_from(report: Report):
    lines = report_markdown(report).splitlines()
    bleu = next(column for column in report.columns if column.value == "bleu")
    best = next(cell for cell in report.cells if cell.column == bleu.key and cell.is_best)
    interval = shown_interval(best.low, best.high, bleu.display)
    assert f"| large | 124M | **{shown(best.value, bleu.display)}** {interval} | 1 |" in lines
    text = "\n".join(lines)
    assert "- toy bleu: 60 examples; nrefs:1&#124;case:mixed" in text
    assert "## Question answering" in text
    assert "| 3 | large | questions | shown | complete |" in text


def test_markdown_tables_have_as_many_cells_in_every_row(report: Report):
    for block in re.findall(r"(?:^\|.*\n)+", report_markdown(report), re.MULTILINE):
        assert len({line.count("|") for line in block.splitlines()}) == 1, block


def test_csv_is_tidy_one_row_a_model_task_and_value(report: Report):
    rows = list(csv.DictReader(io.StringIO(report_csv(report))))
    keys = [(row["model"], row["task"], row["metric"], row["value_name"]) for row in rows]
    assert len(keys) == len(set(keys))
    found = {key: row for key, row in zip(keys, rows, strict=True)}
    assert found["large", "questions", "squad_v1", "exact_match"]["shown"] == "66.67"
    assert float(found["large", "questions", "squad_v1", "exact_match"]["value"]) == pytest.approx(200 / 3)
    missing = found["small", "questions", "squad_v1", "exact_match"]
    assert (missing["value"], missing["notes"], missing["is_column"]) == ("", "no run", "true")
    assert found["large", "questions", "squad_v1", "f1"]["is_column"] == "false"
    best = found["large", "toy", "bleu", "bleu"]
    assert (best["is_best"], best["rank"], best["runs"], best["n"]) == ("true", "1", "2", "60")


def test_latex_has_a_table_for_each_kind_with_its_signature(report: Report):
    text = report_latex(report)
    assert text.count(r"\begin{table}") == text.count(r"\end{table}") == 4
    bleu = text[text.index("Machine translation") :]
    assert r"\begin{tabular}{l r S[table-format=2.1] l c}" in bleu
    assert r"\texttt{nrefs:1\textbar{}\allowbreak{}case:mixed" in bleu
    assert re.search(r"large & 124M & \\bfseries \d\d\.\d & \{\[\}\d\d\.\d, \d\d\.\d\{\]\} & \{1\} \\\\", bleu)
    assert "$n = 60$" in bleu


def test_json_is_as_its_schema_says_and_the_schema_as_the_data_classes_say(report: Report):
    assert SCHEMA.read_text(encoding="utf-8") == text(), "write it again: python tests/golden/make_report_schema.py"
    schema = json.loads(text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(json.loads(report_json(report)))


def test_the_schema_refuses_what_is_no_report(report: Report):
    validator = jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
    document = json.loads(report_json(report))
    for edit in ({"models": None}, {"more": 1}, {"schema_version": "1"}, {"cells": [{"model": "m1"}]}):
        assert not validator.is_valid({**document, **edit})


def test_json_holds_every_number_of_the_report(report: Report):
    document = report_document(report)
    assert [cell["value"] for cell in document["cells"]] == [
        cell.value if cell.value is None else pytest.approx(cell.value, rel=1e-9) for cell in report.cells
    ]


def test_the_command_that_made_a_report_is_its_first_line(report: Report):
    made = replace(report, settings=replace(QUICK, made_by="evalkit report runs --out x.md -->\n<script>"))
    assert report_markdown(made).splitlines()[0] == "<!-- evalkit report runs --out x.md -- > <script> -->"
    assert report_latex(made).splitlines()[0] == "% evalkit report runs --out x.md --> <script>"
    assert json.loads(report_json(made))["settings"]["made_by"].startswith("evalkit report")
    assert report_markdown(report).startswith("# Leaderboard\n")


@pytest.mark.slow
def test_latex_compiles(report: Report, tmp_path: Path):
    if shutil.which("pdflatex") is None or not shutil.which("kpsewhich") or not _has_packages():
        pytest.skip("pdflatex with booktabs, siunitx and etoolbox is not installed")
    (tmp_path / "table.tex").write_text(report_latex(report), encoding="utf-8")
    compile_latex(tmp_path)


def _has_packages() -> bool:
    command = ["kpsewhich", "booktabs.sty", "siunitx.sty", "etoolbox.sty"]
    return len(subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()) == 3


def compile_latex(folder: Path) -> None:
    """Set table.tex in an article; fails on any error of TeX."""
    (folder / "main.tex").write_text(
        r"\documentclass{article}\usepackage[T1]{fontenc}\usepackage{booktabs,siunitx,etoolbox}"
        r"\robustify\bfseries\sisetup{detect-weight=true}\begin{document}\input{table.tex}\end{document}"
    )
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "main.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", check=False)
    assert done.returncode == 0, done.stdout[-3000:]
