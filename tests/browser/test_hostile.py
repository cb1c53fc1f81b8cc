"""Forty texts that try to break out of the page: nothing runs, nothing is fetched, and every one of them can be read."""

from urllib.parse import urlencode

import pytest

from evalkit.report.html.visible import visible
from tests.hostile import HOSTILE

VIEWS = ("view=overview", "view=task&task=t1", "view=runs", "view=about")


def words(text: str) -> str:
    """A text as it is shown, with the spaces that a browser keeps of it."""
    return " ".join(visible(text).split())


def shown(one, selector: str) -> str:
    return " ".join(one.page.locator(selector).evaluate("element => element.textContent").split())


@pytest.fixture
def page(read, hostile):
    return read(hostile, "view=overview")


ACTIVE = """
() => [...document.querySelectorAll("main *, #detail *")]
  .filter((element) => element.matches("script, iframe, img, base, object, embed, [style*=url], a:not([href^='#'])")
    || [...element.attributes].some(({ name }) => name.startsWith("on")))
  .map((element) => element.outerHTML.slice(0, 80))
"""


def test_no_view_runs_or_fetches_anything(page):
    for state in VIEWS:
        page.go(state)
        page.page.wait_for_timeout(150)
        assert page.page.evaluate(ACTIVE) == []
        assert page.page.locator("h1:visible").count() == 1


def test_names_are_text_in_the_overview(page):
    text = shown(page, "#board")
    assert [name for name, value in HOSTILE.items() if words(value) not in text] == []


def test_outputs_are_text_in_the_examples(page):
    keys = page.page.evaluate("JSON.parse(document.getElementById('report').textContent).models.map(({ key }) => key)")
    assert len(keys) == len(HOSTILE)
    text = ""
    for at in range(0, len(keys), 4):
        four = keys[at : at + 4]
        page.go("&".join(["view=task", "task=t1", urlencode({"models": "|".join(four)})]))
        page.page.wait_for_selector(".examples tbody tr")
        assert page.page.locator(".examples thead th").count() == 2 + len(four)
        text += shown(page, ".examples")
    assert [name for name, value in HOSTILE.items() if words(value) not in text] == []


def test_commands_and_warnings_are_text_in_the_runs(page):
    page.go("view=runs")
    page.page.wait_for_timeout(150)
    text = shown(page, "#view-runs")
    assert [name for name, value in HOSTILE.items() if words(value) not in text] == []


def test_hidden_characters_are_shown_and_move_nothing(page):
    text = shown(page, "#board")
    for code in ("U+202E", "U+0000", "U+001B", "U+200B", "U+2028", "U+D83D"):
        assert f"⟨{code}⟩" in text
    assert "\u202e" not in page.page.locator("main").evaluate("element => element.textContent")


def test_a_very_long_word_widens_no_page(page):
    for state in VIEWS:
        page.go(state)
        page.page.wait_for_timeout(150)
        assert page.page.evaluate("document.documentElement.scrollWidth") <= 1366, state


def test_a_very_long_word_widens_no_page_of_a_phone(visit, hostile):
    one = visit(hostile, width=390, height=800)
    one.page.locator("#filter-box summary").click()
    for state in VIEWS:
        one.go(state)
        one.page.wait_for_timeout(150)
        assert one.page.evaluate("document.documentElement.scrollWidth") <= 390, state


def test_the_file_ends_where_we_end_it(hostile):
    text = hostile.read_bytes().decode("utf-8")
    assert "\0" not in text
    assert text.rstrip().endswith("</html>")
    assert text.count("</html>") == 1
    first = text.splitlines()[0]
    assert first.startswith("<!-- ")
    assert first.count("-->") == 1
