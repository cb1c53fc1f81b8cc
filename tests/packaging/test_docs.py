"""What the documents show works: README commands, CONTRIBUTING examples, links."""

import re
import sys
import types
from pathlib import Path

import pytest

from evalkit.cli import COMMANDS, run_cli

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def code_blocks(path: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", path.read_text(encoding="utf-8"), flags=re.DOTALL)


def run_module(name: str, source: str, monkeypatch) -> dict:
    """What a module of this source defines; dataclasses look their module up by name."""
    module = types.ModuleType(name)
    monkeypatch.setitem(sys.modules, name, module)
    exec(compile(source, f"{name}.py", "exec"), module.__dict__)
    return module.__dict__


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_to_files_that_are_there(path: Path):
    for target in re.findall(r"\]\(([^)#:]+)\)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), f"{path.name} links to {target}"


@pytest.mark.parametrize("readme", ["README.md", "README.zh.md"])
def test_both_readmes_show_the_same_commands(readme):
    def commands(name: str) -> list[str]:
        return re.findall(
            r"^    ((?:make|pip|evalkit) [^#\n]*[^#\s])", (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE
        )

    assert commands(readme) == commands("README.md")
    assert commands(readme)[:2] == ["make demo", "make test"]


def test_the_embedded_command_of_the_readme_runs_as_written(tmp_path, monkeypatch, capsys):
    line = next(
        line.strip()
        for line in (ROOT / "README.md").read_text().splitlines()
        if line.startswith("    evalkit run --task mini")
    )
    monkeypatch.chdir(tmp_path)
    assert run_cli(line.split()[1:]) == 0
    assert "cws f1" in capsys.readouterr().out


def test_every_verb_of_the_command_line_is_in_the_readme():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for verb in COMMANDS:
        assert f"`evalkit {verb}" in text


def test_the_metric_of_contributing_works_as_shown(monkeypatch):
    source = next(block for block in code_blocks(ROOT / "CONTRIBUTING.md", "python") if "LengthRatio" in block)
    namespace = run_module("length_ratio", source, monkeypatch)
    metric = namespace["LengthRatio"]()
    statistics = metric.statistics(["abc", "d"], [["ab"], ["cd"]])
    assert float(metric.score(statistics.total(), statistics.columns)["length_ratio"]) == 1.0


def test_the_task_of_contributing_works_as_shown(tmp_path, monkeypatch):
    from evalkit.data.load import load
    from evalkit.kinds import KINDS

    source = next(block for block in code_blocks(ROOT / "CONTRIBUTING.md", "python") if "subtitles" in block)
    namespace = run_module("subtitles_en_zh", source, monkeypatch)
    task = KINDS["mt"].complete(namespace["TASK"])
    folder = tmp_path / "mt" / "subtitles"
    folder.mkdir(parents=True)
    (folder / "test.en").write_text("Where?\n", encoding="utf-8")
    (folder / "test.zh").write_text("哪儿？\n", encoding="utf-8")
    (example,) = load(task, "test", tmp_path).examples
    assert example.references == ("哪儿？",)


def test_the_baseline_of_contributing_works_as_shown(monkeypatch):
    from evalkit.requests import SpanRequest

    source = next(block for block in code_blocks(ROOT / "CONTRIBUTING.md", "python") if "Echo" in block)
    namespace = run_module("echo", source, monkeypatch)
    (response,) = namespace["Echo"]().answer([SpanRequest(example_id="1", question="Who?", context="Ann.")])
    assert response.text == "Who?"


def test_the_task_file_of_the_documentation_is_valid(tmp_path):
    from evalkit.catalog import find_task

    (source, *_) = code_blocks(ROOT / "docs" / "task-files.md", "toml")
    path = tmp_path / "support_mt.toml"
    path.write_text(source, encoding="utf-8")
    task = find_task(str(path))
    assert [metric.label for metric in task.metrics] == ["bleu", "chrf"]
