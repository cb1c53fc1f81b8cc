"""The page as a file: its weight, its policy, the same bytes for the same runs, and what happens when a package is missing."""

import base64
import dataclasses
import hashlib
import importlib.metadata
import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from evalkit.errors import MissingResourceError
from evalkit.report.build import build_report
from evalkit.report.html import assets
from evalkit.report.html.overview import note_sign
from evalkit.report.html.payload import payload, to_json
from evalkit.report.html.render import render_html
from evalkit.report.html.samples import PageSamples, SamplePages
from evalkit.report.model import Cell, Curve, CurvePoint, Note, Report, Scaling, ScalingLine, ScalingPoint, Settings
from tests.hostile import HOSTILE
from tests.unit.report.made import translation


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder: Path = tmp_path_factory.mktemp("runs")
    for name, share in (("a", 0.1), ("b", 0.3), ("c", 0.3)):
        translation(folder, name, share, seed=ord(name))
    return folder


def gathered(folder: Path) -> tuple[Report, Mapping[str, PageSamples]]:
    samples = SamplePages()
    return build_report([str(folder)], Settings(resamples=100), samples=samples), samples.pages


@pytest.fixture(scope="module")
def report(folder) -> Report:
    return gathered(folder)[0]


def page(report: Report, **options) -> str:
    *_, last = render_html(report, "page.html", **options)
    return last.content.decode("utf-8")


def test_the_same_runs_give_the_same_bytes(folder):
    report, samples = gathered(folder)
    again, same = gathered(folder)
    assert list(render_html(report, "page.html", samples)) == list(render_html(again, "page.html", same))


def test_the_policy_allows_exactly_the_scripts_of_the_page(report):
    html = page(report)
    scripts = re.findall(r'<script type="module">(.*?)</script>', html, re.DOTALL)
    digests = {base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts}
    assert set(re.findall(r"'sha256-([^']+)'", html.split("</head>")[0])) == digests
    assert "file:" not in html.split("</head>")[0].split("script-src")[1].split(";")[0]


def test_samples_lie_beside_the_page_where_there_is_no_room_in_it(folder):
    report, samples = gathered(folder)
    files = list(render_html(report, "page.html", samples, inside_bytes=0))
    assert [file.name.split("/")[0] for file in files[:-1]] == ["page_samples"] * 4
    assert all(
        re.fullmatch(rb'evalkitSamples\("[\d\w-]+","[0-9a-f]{16}","[\w+/=]+"\);\n', file.content) for file in files[:-1]
    )
    assert "'self' file:" in files[-1].content.decode().split("</head>")[0]
    assert 'id="samples-' not in files[-1].content.decode()


def test_samples_can_be_left_out(report):
    files = list(render_html(report, "page.html"))
    assert len(files) == 1
    assert b'id="samples-' not in files[0].content


def test_twenty_models_on_twenty_tasks_weigh_less_than_two_megabytes(report):
    html = page(grown(report, 20, 20))
    assert len(html.encode()) < 2_000_000


def grown(report: Report, models: int, tasks: int) -> Report:
    """A report of many models on many tasks: every model of it has a run, a value and a pair wherever it can."""
    cell, column, task, run = report.cells[0], report.columns[0], report.tasks[0], report.runs[0]
    pair, row = task.pairwise[0].pairs[0], task.metrics[0]
    names = [f"m{number}" for number in range(models)]
    pairs = tuple(
        dataclasses.replace(pair, first=first, second=second)
        for at, first in enumerate(names)
        for second in names[at + 1 :]
    )

    def wide(values):
        return tuple(values[at % len(values)] for at in range(models))

    return dataclasses.replace(
        report,
        models=tuple(
            dataclasses.replace(report.models[0], key=name, name=f"checkpoint-of-a-model-{name}") for name in names
        ),
        columns=tuple(
            dataclasses.replace(column, key=f"c{at}", page=f"t{at}", task=f"some_task_{at}") for at in range(tasks)
        ),
        cells=tuple(
            dataclasses.replace(cell, model=name, column=f"c{at}", runs=(f"20260101T000000Z-some_task-{name}-{at}",))
            for name in names
            for at in range(tasks)
        ),
        tasks=tuple(
            dataclasses.replace(
                task,
                key=f"t{at}",
                columns=(f"c{at}",),
                models=tuple(names),
                # As many values as named entities of six types have.
                metrics=tuple(dataclasses.replace(row, values=wide(row.values)) for _ in range(28)),
                pairwise=(dataclasses.replace(task.pairwise[0], column=f"c{at}", models=tuple(names), pairs=pairs),),
                slices=tuple(
                    dataclasses.replace(
                        part,
                        column=f"c{at}",
                        groups=tuple(dataclasses.replace(group, values=wide(group.values)) for group in part.groups),
                    )
                    for part in task.slices * 3
                ),
                breakdowns=tuple(
                    dataclasses.replace(
                        part, rows=tuple(dataclasses.replace(line, counts=wide(line.counts)) for line in part.rows)
                    )
                    for part in task.breakdowns
                ),
            )
            for at in range(tasks)
        ),
        runs=tuple(
            dataclasses.replace(
                run,
                id=f"20260101T000000Z-some_task-{name}-{at}",
                model=name,
                page=f"t{at}",
                command=f"evalkit run --task some_task_{at} --model checkpoints/{name} --data-dir data --out runs",
            )
            for name in names
            for at in range(tasks)
        ),
    )


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_data_for_the_script_cannot_end_its_element(text):
    written = to_json({text: [text]})
    assert "<" not in written
    assert json.loads(written) == {text: [text]}


def test_numbers_are_sent_as_they_are_printed(report):
    data = payload(report, {})
    for cell, sent in zip(report.cells, data["cells"], strict=True):
        assert f"{sent['v']:.1f}" == f"{cell.value:.1f}"


def test_a_missing_table_library_is_named(report, monkeypatch):
    def missing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(assets, "distribution", missing)
    with pytest.raises(MissingResourceError, match="pip install itables"):
        page(report)


def test_another_release_of_the_table_library_is_named(report, monkeypatch, tmp_path):
    class Other:
        version = "9.9"

        def locate_file(self, name):
            return tmp_path / name

    monkeypatch.setattr(assets, "distribution", lambda name: Other())
    with pytest.raises(MissingResourceError, match=r"itables 9\.9 does not hold"):
        page(report)
    (tmp_path / "itables/html").mkdir(parents=True)
    (tmp_path / "itables/html/dt_bundle.js").write_text("export { a };", encoding="utf-8")
    with pytest.raises(MissingResourceError, match="one default export"):
        page(report)


def curves(report: Report) -> Report:
    column = report.columns[0].key
    lines = tuple(
        Curve(
            training=name,
            column=column,
            by="tokens_seen",
            points=tuple(
                CurvePoint(run="r", steps=None, tokens_seen=10**at, value=at + 0.5, low=at, high=at + 1.0)
                for at in range(6, 10)
            ),
        )
        for name in ("a $x^2$ <script>", "长的名字")
    )
    fit = Scaling(
        title="loss <b>", file="fit.json", form="power", x_title="N", y_title="loss",
        parameters={
            "a": {"value": 1.53219, "low": 1.2, "high": 2, "fixed": False},
            "b": {"value": 0, "low": None, "fixed": True},
        },
        points=(ScalingPoint(x=1e6, y=3.0, name="\u202ehidden"),),
        lines=(ScalingLine(name="fit", x=(1e6, 1e7), y=(3.0, 2.5), low=(2.9, 2.4), high=(3.1, 2.6)),),
    )  # fmt: skip
    return dataclasses.replace(report, curves=lines, scaling=(fit,))


def test_figures_are_of_the_page_and_show_names_as_text(report):
    html = page(curves(report))
    figures = re.findall(r'<template id="([^"]+)">(.*?)</template>', html, re.DOTALL)
    assert [key for key, _ in figures] == [f"curve-{report.columns[0].key}", "scaling-0"]
    for _, svg in figures:
        assert svg.startswith('<svg role="img" aria-label=')
        assert not re.search(r"<style|<script|<!--|<metadata|#[0-9a-f]{6}", svg)
        assert "var(--series-1)" in svg
        assert len(re.findall(r' id="([^"]+)"', svg)) == len(set(re.findall(r' id="([^"]+)"', svg)))
    assert "a $x^2$ &lt;script&gt;" in figures[0][1]
    assert "长的名字" in figures[0][1]
    assert "⟨U+202E⟩hidden" in figures[1][1]


def test_figures_do_not_change_with_a_users_settings(report):
    matplotlib = pytest.importorskip("matplotlib")
    drawn = page(curves(report))
    with matplotlib.rc_context({"axes.grid": False, "font.size": 30, "svg.fonttype": "path"}):
        assert page(curves(report)) == drawn


def test_curves_without_matplotlib_say_what_to_install(report, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    page(report)
    with pytest.raises(MissingResourceError, match=r"evalkit\[plots\]"):
        page(curves(report))


def test_every_script_and_style_is_in_the_page_and_short(report):
    from importlib import resources

    folder = resources.files("evalkit.report.html").joinpath("static")
    found = {file.name: file.read_text(encoding="utf-8").splitlines() for file in folder.iterdir()}
    assert set(found) == {*assets.SCRIPTS, *assets.STYLES}
    assert {name: len(lines) for name, lines in found.items() if len(lines) > 400} == {}
    assert [
        name for name, lines in found.items() if name.endswith(".js") and any(len(line) > 120 for line in lines)
    ] == []


def test_fitted_parameters_are_shown_with_their_intervals(report):
    data = payload(curves(report), {})
    assert data["scaling"][0]["parameters"] == [["a", "1.532 [1.2, 2]"], ["b", "0 (not fitted)"]]


@pytest.mark.parametrize(
    ("kinds", "sign"), [((), ""), (("several", "prompts"), "i"), (("several", "truncated"), "!"), (("partial",), "!")]
)
def test_a_warning_has_another_sign_than_a_note(kinds, sign):
    notes = tuple(Note(kind=kind, text="words") for kind in kinds)
    assert note_sign(Cell(model="m1", column="c1", value=1.0, notes=notes)) == sign
