"""Texts that try to break out: in Markdown, LaTeX, CSV and JSON nothing runs, nothing breaks, and all of it can be read."""

import csv
import io
import json
import re
import shutil
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from evalkit.metrics.classification import Classification
from evalkit.metrics.squad import SquadV1
from evalkit.report.build import build_report
from evalkit.report.document import report_json
from evalkit.report.html.visible import visible
from evalkit.report.latex import report_latex
from evalkit.report.latex import text as latex_text
from evalkit.report.markdown import report_markdown
from evalkit.report.model import Report, Settings
from evalkit.report.rows_csv import report_csv
from tests.hostile import HOSTILE
from tests.stored import keep_run

TEXTS = list(HOSTILE.values())


def one_line(text: str) -> str:
    """What a reader of a one-line format is to see of a text."""
    return " ".join(visible(text).split())


def edit(folder: Path, name: str, text: str) -> None:
    """Put a text wherever a record holds one."""
    path = folder / name / "run.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    record["id"] = text
    record["warnings"] = [text]
    record["model"] |= {"name": text, "ref": text, "digest": text, "family": text}
    record["environment"] |= {
        "command": ["evalkit", text],
        "evalkit": text,
        "python": text,
        "git_commit": text,
        "platform": text,
    }
    record["settings"] = {text: text, "seed": float("nan")}
    path.write_text(json.dumps(record), encoding="utf-8")


@pytest.fixture(scope="module")
def by_model(tmp_path_factory) -> Report:
    """Forty models with hostile names, ids, warnings, commands and outputs, on one task."""
    folder = tmp_path_factory.mktemp("models")
    for number, text in enumerate(TEXTS):
        name = f"r{number:02}"
        keep_run(folder, SquadV1(), [text, "yes", "no"], [["yes"], ["yes"], [text]], name=name, task={"kind": "qa"})
        edit(folder, name, text)
    return build_report([str(folder)], Settings(resamples=100, title=HOSTILE["script"], made_by=HOSTILE["comment end"]))


@pytest.fixture(scope="module")
def by_task(tmp_path_factory) -> Report:
    """Forty tasks with hostile names, kinds, languages, labels and signatures."""
    folder = tmp_path_factory.mktemp("tasks")
    for number, text in enumerate(TEXTS):
        task = {"name": text, "kind": text if number % 2 else "classification", "language": text, "digest": text}
        metric = Classification(labels=(text, "other"))
        path = (
            Path(keep_run(folder, metric, [text, "other"], [[text], [text]], name=f"r{number:02}", task=task))
            / "run.json"
        )
        record = json.loads(path.read_text(encoding="utf-8"))
        record["model"] |= {"name": "model", "ref": "model"}
        record["metrics"][0]["signature"] = text
        record["data"] |= {"source": text, "split": text, "digest": text}
        path.write_text(json.dumps(record), encoding="utf-8")
    return build_report([str(folder)], Settings(resamples=100))


@pytest.fixture(params=["by_model", "by_task"])
def report(request) -> Report:
    return request.getfixturevalue(request.param)


def tokens(markdown: str):
    """All tokens that a Markdown reader with HTML, tables and strikethrough sees."""
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    for token in parser.parse(markdown):
        yield token
        yield from token.children or ()


OURS = re.compile(r"</?sup>|<!--.*-->\n?")
ACTIVE = {
    "link_open",
    "image",
    "code_inline",
    "code_block",
    "fence",
    "em_open",
    "s_open",
    "blockquote_open",
    "hr",
    "html_block",
}


def test_markdown_acts_on_no_text_of_a_run(report: Report):
    found = list(tokens(report_markdown(report)))
    html = [token.content for token in found if token.type in ("html_inline", "html_block")]
    assert [content for content in html if not OURS.fullmatch(content)] == []
    acted = {token.type for token in found if token.type in ACTIVE and not OURS.fullmatch(token.content)}
    assert acted == set()
    assert "linkify" not in str(acted)


def test_markdown_shows_every_text(report: Report):
    texts = {
        "".join(child.content for child in token.children or ())
        for token in tokens(report_markdown(report))
        if token.type == "inline"
    }
    shown = "\n".join(texts)
    names = [model.name for model in report.models] + [page.title for page in report.tasks]
    assert [name for name in names if one_line(name) not in shown] == []


def test_markdown_tables_keep_their_shape(report: Report):
    for block in re.findall(r"(?:^\|.*\n)+", report_markdown(report), re.MULTILINE):
        assert len({line.count("|") for line in block.splitlines()}) == 1


def test_csv_has_no_formula_and_the_same_number_of_fields_in_every_row(report: Report):
    text = report_csv(report)
    header, *rows = csv.reader(io.StringIO(text))
    assert {len(row) for row in rows} == {len(header)}
    assert text.count("\n") == len(rows) + 1, "a field spans lines"
    for row in rows:
        for field in row:
            assert not field.startswith(("=", "+", "-", "@", "\t", "\r")) or is_number(field)
    shown = {row[header.index("model")] for row in rows}
    assert {one_line(model.name) for model in report.models} <= shown | {name[1:] for name in shown if name[0] == "'"}


def is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def test_json_holds_every_text_as_it_is(report: Report):
    document = json.loads(report_json(report).encode("utf-8", "backslashreplace"), parse_constant=pytest.fail)
    assert [model["name"] for model in document["models"]] == [model.name for model in report.models]
    assert [page["task"] for page in document["tasks"]] == [page.task for page in report.tasks]


# What the tables themselves are made of; the rest of a LaTeX file is text of runs.
COMMANDS = {
    "centering", "caption", "label", "toprule", "midrule", "bottomrule", "texttt", "allowbreak", "uparrow", "downarrow",
    "approx", "pm", "ldots", "bfseries", "textbackslash", "textasciitilde", "textasciicircum", "textless", "textgreater",
    "textbar", "textquotedbl", "textquotesingle", "textasciigrave", "begin", "end",
}  # fmt: skip


def body(report: Report) -> str:
    """The LaTeX file without its comments."""
    return "\n".join(line for line in report_latex(report).splitlines() if not line.startswith("%"))


def test_latex_has_no_command_of_a_run(report: Report):
    text = body(report)
    assert set(re.findall(r"(?<!\\)(?:\\\\)*\\([A-Za-z]+)", text)) <= COMMANDS
    assert set(re.findall(r"\\(?:begin|end)\{(\w+)\}", text)) == {"table", "tabular"}
    plain = re.sub(r"\\.", "", text.replace(r"{$^{\approx}$}", ""))
    assert set(re.findall(r"[#%~\"`_^]", plain)) == set()


def test_latex_braces_match_and_rows_have_the_columns_of_their_table(report: Report):
    for table in re.findall(r"\\begin\{table\}.*?\\end\{table\}", body(report), re.DOTALL):
        depth = 0
        for mark in re.findall(r"\\.|[{}]", table, re.DOTALL):
            depth += {"{": 1, "}": -1}.get(mark, 0)
            assert depth >= 0
        assert depth == 0
        rows = [line for line in table.splitlines() if line.endswith(r" \\")]
        assert len({len(re.findall(r"(?<!\\)&", row)) for row in rows}) == 1
        assert not any(row.startswith(("[", "*")) for row in rows)


@pytest.mark.parametrize("hostile", TEXTS, ids=HOSTILE)
def test_latex_text_reads_as_it_was(hostile: str):
    back = {r"\textbackslash{}": "\\", r"\textasciitilde{}": "~", r"\textasciicircum{}": "^", r"\textless{}": "<",
            r"\textgreater{}": ">", r"\textbar{}": "|", r"\textquotedbl{}": '"', r"\textquotesingle{}": "'",
            r"\textasciigrave{}": "`", r"\ldots{}": "…", r"$\pm$": "±", r"$\approx$": "≈", "{[}": "[", "{]}": "]", "{*}": "*",
            "-{}-": "--", r"\{": "{", r"\}": "}", r"\$": "$", r"\&": "&", r"\#": "#", r"\%": "%", r"\_": "_"}  # fmt: skip
    pattern = re.compile("|".join(map(re.escape, sorted(back, key=len, reverse=True))))
    seen = pattern.sub(lambda match: back[match[0]], latex_text(hostile))
    assert seen == one_line(hostile).replace("⟨", "[").replace("⟩", "]")


@pytest.mark.slow
def test_latex_of_hostile_names_compiles(by_model: Report, tmp_path: Path):
    from tests.unit.report.test_formats import _has_packages, compile_latex

    if shutil.which("pdflatex") is None or not _has_packages():
        pytest.skip("pdflatex with booktabs, siunitx and etoolbox is not installed")
    # pdfLaTeX has no font for Chinese and stacked accents: the file says so in its first lines.
    text = "".join(character for character in report_latex(by_model) if character < "\u0300")
    (tmp_path / "table.tex").write_text(text, encoding="utf-8")
    compile_latex(tmp_path)
