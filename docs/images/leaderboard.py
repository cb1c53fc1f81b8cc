"""Take the picture of the README: a leaderboard as a browser shows it.

    evalkit run --task 'mini_*' --model baseline:all --out runs/picture
    python docs/images/leaderboard.py runs/picture docs/images/leaderboard.png

Needs chromium and the extra `browser`. A third argument opens another view, as the address behind # names it.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from evalkit.report.build import build_report
from evalkit.report.html.render import render_html
from evalkit.report.model import Settings

WIDTH, HEIGHT, SCALE = 1440, 880, 1.5
MAX_BYTES = 300_000


def take(runs: str, picture: Path, view: str) -> None:
    """Write the picture of a view of the report of some runs."""
    report = build_report([runs], Settings(title="evalkit mini suite"))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page = Path(folder) / "report.html"
        for file in render_html(report, page.name):
            (page.parent / file.name).write_bytes(file.content)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        window = {"width": WIDTH, "height": HEIGHT}
        tab = browser.new_context(viewport=window, device_scale_factor=SCALE, color_scheme="light").new_page()
        tab.goto(f"{page.as_uri()}#{view}")
        tab.wait_for_selector("html[data-ready]", state="attached")
        bottom = tab.evaluate("document.querySelector('.board')?.getBoundingClientRect().bottom ?? innerHeight")
        clip = {"x": 0, "y": 0, "width": WIDTH, "height": min(HEIGHT, bottom + 16)}
        tab.screenshot(path=str(picture), clip=clip, animations="disabled")
        browser.close()
    size = picture.stat().st_size
    if size > MAX_BYTES:
        sys.exit(f"{picture} has {size:,} bytes; expected at most {MAX_BYTES:,}: show less or lower SCALE")


if __name__ == "__main__":
    take(sys.argv[1], Path(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else "view=overview")
