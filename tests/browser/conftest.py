"""A real browser that reads pages from disk, and the pages: any error of the console and any request beside them fails a test."""

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import pytest

from evalkit.cli import run_cli
from evalkit.data.load import load
from evalkit.report.build import build_report
from evalkit.report.html.render import render_html
from evalkit.report.html.samples import SamplePages
from evalkit.report.model import Report, Settings
from evalkit.resolve import resolve_task
from tests.hostile import HOSTILE
from tests.unit.report.made import answering
from tests.unit.report.test_hostile import edit

RUNS = {
    "mini_mt_en_zh": ["baseline:copy", "predictions:{folder}/chinese.txt"],
    "mini_summarization": ["baseline:lead-3", "baseline:copy"],
    "mini_qa": ["baseline:majority", "baseline:copy"],
    "mini_ner": ["baseline:majority", "baseline:max-match"],
    "mini_cws": ["baseline:majority", "baseline:max-match"],
    "mini_lm": ["baseline:ngram"],
    "mini_classification": ["baseline:majority"],
}
"""Tasks and models of the leaderboard, all of them quick."""

REQUIRED = "EVALKIT_REQUIRE_BROWSER"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


def lacking(reason: str) -> None:
    if os.environ.get(REQUIRED):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """The browser, one for all tests."""
    program = os.environ.get("EVALKIT_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        lacking("no chromium: install it, or set EVALKIT_CHROMIUM to a Chrome or Chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        lacking("no playwright: pip install 'evalkit[browser]'")
    with sync_playwright() as playwright:
        # Chromium has no sandbox of its own for root, who runs it in containers.
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def axe() -> str:
    """The script of axe-core."""
    try:
        path = distribution("axe-playwright-python").locate_file("axe_playwright_python/axe.min.js")
    except PackageNotFoundError:
        lacking("no axe-core: pip install 'evalkit[browser]'")
    return Path(str(path)).read_text(encoding="utf-8")


@dataclass
class Visit:
    """A page that was opened, and what went wrong since."""

    page: Any
    file: Path
    problems: list[str] = field(default_factory=list)

    def go(self, state: str) -> None:
        """Open another view of the page."""
        self.page.evaluate("state => { location.hash = state }", state)
        self.page.wait_for_timeout(30)

    def texts(self, selector: str) -> list[str]:
        """Visible text of all elements, with single spaces."""
        return [" ".join(text.split()) for text in self.page.locator(selector).all_inner_texts()]


def open_file(browser: Any, file: Path, state: str, *, width: int = 1366, height: int = 900, **context: Any) -> Visit:
    page = browser.new_context(viewport={"width": width, "height": height}, **context).new_page()
    page.set_default_timeout(5000)
    one = Visit(page, file)
    page.on("console", lambda message: message.type == "error" and one.problems.append(message.text))
    page.on("pageerror", lambda error: one.problems.append(str(error)))
    page.on("dialog", lambda dialog: (one.problems.append(f"dialog {dialog.message}"), dialog.dismiss()))
    page.on("request", lambda request: is_own(request.url, file) or one.problems.append(f"asked for {request.url}"))
    page.goto(f"{file.as_uri()}#{state}")
    page.wait_for_selector("html[data-ready]", state="attached")
    return one


@pytest.fixture
def visit(chromium):
    """Open a file: `visit(path, "view=runs", width=390)`; checks at the end that nothing went wrong and nothing was fetched."""
    visits: list[Visit] = []

    def opened(file: Path, state: str = "", **options: Any) -> Visit:
        visits.append(open_file(chromium, file, state, **options))
        return visits[-1]

    yield opened
    found = [problem for one in visits for problem in one.problems]
    for one in visits:
        one.page.context.close()
    assert found == []


@pytest.fixture(scope="session")
def kept_open() -> dict[Path, Visit]:
    return {}


@pytest.fixture
def read(chromium, kept_open):
    """Open a view of a file that stays open between tests: `read(path, "view=runs")`; checks what `visit` checks.

    Views are drawn anew; filters of the overview and the theme are not, so that tests of those use `visit`.
    """
    used: list[Visit] = []

    def opened(file: Path, state: str) -> Visit:
        if file not in kept_open:
            kept_open[file] = open_file(chromium, file, "")
        one = kept_open[file]
        used.append(one)
        # A task that is not there takes the place of the one that a test before has left.
        one.go("view=task&task=nothing")
        one.go(state)
        return one

    yield opened
    found = [problem for one in used for problem in one.problems]
    for one in used:
        one.problems.clear()
    assert found == []


def is_own(url: str, file: Path) -> bool:
    """Whether an address is the page, or one of its files of samples."""
    folder = file.with_name(f"{file.stem}_samples").as_uri()
    return url.startswith((file.as_uri(), f"{folder}/"))


def write_page(runs: Path, file: Path, settings: Settings, **options: Any) -> tuple[Path, Report]:
    samples = SamplePages()
    report = build_report([str(runs)], settings, samples=samples)
    for part in render_html(report, file.name, samples.pages, **options):
        target = file.parent / part.name
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(part.content)
    return file, report


@pytest.fixture(scope="session")
def board_runs(tmp_path_factory) -> Path:
    """Runs of seven kinds of tasks, and of checkpoints of one training run."""
    folder = tmp_path_factory.mktemp("board") / "runs"
    examples = load(resolve_task("mini_mt_en_zh"), "test").examples
    lines = [example.references[0].replace("的", "地", 1) for example in examples]
    (folder.parent / "chinese.txt").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    for task, models in RUNS.items():
        flags = [flag for model in models for flag in ("--model", model.format(folder=folder.parent))]
        assert run_cli(["run", "--task", task, *flags, "--limit", "80", "--resamples", "50", "--out", str(folder)]) == 0
    source = next(folder.glob("*mini_classification-majority*"))
    for step in (1, 2, 3):
        copy = folder / f"20260101T00000{step}.000000Z-mini_classification-gpt{step}-aaaaa{step}"
        shutil.copytree(source, copy)
        record = json.loads((copy / "run.json").read_text(encoding="utf-8"))
        record |= {"id": copy.name, "created": f"2026-01-0{step}T00:00:00+00:00"}
        facts = {"family": "gpt", "parameters": 124_000_000 * step, "tokens_seen": 10_000_000 * step}
        record["model"] |= facts | {
            "name": f"gpt-{step}",
            "ref": f"runs/gpt-{step}",
            "digest": str(step),
            "training_run": "gpt",
        }
        record["data"] |= {"n": 80}
        record["settings"] |= {"limit": None}
        record["metrics"][0] |= {"value": 0.2 + step / 10, "low": 0.1 + step / 10, "high": 0.3 + step / 10}
        record["timing"]["tokens_per_s"] = 1000.0 * step
        (copy / "run.json").write_text(json.dumps(record), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def written(board_runs) -> tuple[Path, Report]:
    return write_page(board_runs, board_runs.parent / "board.html", Settings(resamples=200, title="Board"))


@pytest.fixture(scope="session")
def board(written) -> Path:
    """The leaderboard as one file."""
    return written[0]


@pytest.fixture(scope="session")
def report(written) -> Report:
    return written[1]


@pytest.fixture(scope="session")
def large(tmp_path_factory) -> Path:
    """A page whose 10,000 examples lie beside it; "a" is right in the first half, "b" in the second and in the first tenth."""
    folder = tmp_path_factory.mktemp("large")
    answering(folder / "runs", "a", [at < 5000 for at in range(10_000)])
    answering(folder / "runs", "b", [at >= 5000 or at < 1000 for at in range(10_000)])
    return write_page(folder / "runs", folder / "large.html", Settings(resamples=100), inside_bytes=0)[0]


@pytest.fixture(scope="session")
def hostile(tmp_path_factory) -> Path:
    """Forty models with names, outputs, warnings and commands that try to break out."""
    folder = tmp_path_factory.mktemp("hostile")
    for number, text in enumerate(HOSTILE.values()):
        answering_text(folder / "runs", f"r{number:02}", text)
    settings = Settings(resamples=100, title=HOSTILE["script"], made_by=HOSTILE["comment end"])
    return write_page(folder / "runs", folder / "hostile.html", settings)[0]


def answering_text(folder: Path, name: str, text: str) -> None:
    from evalkit.metrics.squad import SquadV1
    from tests.stored import keep_run

    keep_run(folder, SquadV1(), [text, "yes", "no"], [["yes"], ["yes"], [text]], name=name, task={"kind": "qa"})
    edit(folder, name, text)
