"""The leaderboard in a real browser."""

import json
import re

import pytest

HEADS = "#board thead tr:last-child th"


def column(visit, title: str) -> int:
    """Place of the column of a task."""
    found = [place for place, text in enumerate(visit.texts(HEADS)) if text.startswith(title)]
    assert len(found) == 1
    return found[0]


def values(visit, place: int) -> list[float | None]:
    cells = visit.page.locator("#board tbody tr").evaluate_all(
        "(rows, place) => rows.map((row) => row.cells[place].dataset.order)", place
    )
    return [float(value) if value else None for value in cells]


def sort_by(visit, place: int) -> list[float | None]:
    head = visit.page.locator(HEADS).nth(place)
    before = head.get_attribute("aria-sort")
    head.locator(".dt-column-order").click()
    changed = "([head, before]) => head.getAttribute('aria-sort') !== before"
    visit.page.wait_for_function(changed, arg=[head.element_handle(), before])
    return values(visit, place)


def names(visit) -> list[str]:
    return visit.texts("#board tbody tr > th bdi")


def test_every_column_sorts_best_first_and_gaps_last(visit, board, report):
    one = visit(board)
    for column_of in report.columns:
        found = sort_by(one, column(one, column_of.task))
        known = [value for value in found if value is not None]
        assert known == sorted(known, reverse=column_of.higher_is_better)
        assert found[len(known) :] == [None] * (len(found) - len(known))


def test_a_second_click_turns_the_order_and_gaps_stay_last(visit, board):
    one = visit(board)
    place = column(one, "mini_qa")
    down, up = sort_by(one, place), sort_by(one, place)
    assert [value for value in up if value is not None] == [value for value in down if value is not None][::-1]
    assert up[-1] is None
    assert one.page.locator(HEADS).nth(place).get_attribute("aria-sort") == "ascending"


def test_parameters_and_tokens_sort_as_numbers(visit, board):
    one = visit(board)
    assert sort_by(one, one.texts(HEADS).index("Parameters"))[:3] == [372e6, 248e6, 124e6]
    assert names(one)[:3] == ["gpt-3", "gpt-2", "gpt-1"]


def test_values_are_those_of_the_report_with_interval_and_rank(visit, board, report):
    one = visit(board)
    models = [model.key for model in report.models]
    for at, of_column in enumerate(report.columns):
        for cell in (cell for cell in report.cells if cell.column == of_column.key and cell.value is not None):
            text = one.page.locator(f'tr[data-m="{models.index(cell.model)}"] button[data-c="{at}"]').inner_text()
            display = of_column.display
            value, low, high = (
                f"{end * display.factor:.{display.digits}f}" for end in (cell.value, cell.low, cell.high)
            )
            mark = ", best" if cell.is_best else ", not significantly worse than the best" if cell.is_tied else ""
            ranks = f"{cell.rank_low}" if cell.rank_low == cell.rank_high else f"{cell.rank_low}–{cell.rank_high}"
            shown = " ".join(text.replace("!", "").replace("−", "-").split())
            assert shown.startswith(" ".join(f"{value} {mark} , interval [{low}, {high}] , rank #{ranks}".split()))


def test_filters_by_kind_language_family_and_date_take_rows_and_columns(visit, board, report):
    one = visit(board)
    check = one.page.get_by_label
    check("Named entities", exact=True).check()
    assert [text.split()[0] for text in one.texts("#board thead th.task")] == ["mini_ner"]
    check("Named entities", exact=True).uncheck()
    check("Chinese", exact=True).check()
    assert {text.split()[0] for text in one.texts("#board thead th.task")} == {"mini_mt_en_zh", "mini_cws"}
    one.page.get_by_role("button", name="Clear filters").click()
    one.page.wait_for_timeout(50)
    assert len(one.texts("#board thead th.task")) == len(report.columns)
    check("gpt", exact=True).check()
    assert sorted(names(one)) == ["gpt-1", "gpt-2", "gpt-3"]
    one.page.get_by_label("Run since").fill("2026-01-02")
    assert sorted(names(one)) == ["gpt-2", "gpt-3"]
    assert one.texts("#board-count") == [
        f"2 of {len(report.models)} models, {len(report.columns)} of {len(report.columns)} columns are shown."
    ]


def test_an_address_keeps_the_filters(visit, board):
    one = visit(board, "view=overview&family=gpt&kind=classification")
    assert len(names(one)) == 3
    assert len(one.texts("#board thead th.task")) == 1
    one.page.get_by_role("searchbox", name="Models").fill("gpt-2")
    assert "text=gpt-2" in one.page.evaluate("location.hash")
    assert len(names(one)) == 1


def test_ticked_models_can_be_shown_alone(visit, board):
    one = visit(board)
    one.page.get_by_label("Tick gpt-1").check()
    one.page.get_by_label("Tick copy").check()
    one.page.get_by_label("ticked models only").check()
    assert sorted(names(one)) == ["copy", "gpt-1"]


def test_a_value_opens_its_run_and_copies_the_command(visit, board, report):
    one = visit(board, permissions=["clipboard-read", "clipboard-write"])
    button = one.page.locator("#board button.cell").first
    button.click()
    panel = one.page.get_by_role("dialog")
    text = panel.inner_text()
    run = next(run for run in report.runs if run.id in text)
    for part in (run.command, run.data_digest, run.task_digest, run.model_digest, f"evalkit {run.versions['evalkit']}"):
        assert part in text
    panel.get_by_role("button", name="Copy").click()
    assert one.page.evaluate("navigator.clipboard.readText()") == run.command
    one.page.keyboard.press("Escape")
    assert not panel.is_visible()
    assert button.evaluate("button => document.activeElement === button")


def test_warnings_stand_where_the_number_stands(visit, board):
    one = visit(board)
    cell = one.page.locator("#board button.cell:has(.mark.note)").first
    assert "has warnings" in cell.inner_text()
    cell.click()
    assert "80 of 500 examples" in one.page.get_by_role("dialog").inner_text()


def test_arrow_keys_move_between_values_and_only_one_is_in_the_tab_order(visit, board):
    one = visit(board)
    assert one.page.locator('#board button.cell[tabindex="0"]').count() == 1
    one.page.locator('#board button.cell[tabindex="0"]').focus()
    place = "(() => { const at = document.activeElement; return [at.dataset.m, at.dataset.c] })()"
    first = one.page.evaluate(place)
    one.page.keyboard.press("ArrowDown")
    below = one.page.evaluate(place)
    assert below[1] == first[1]
    assert below[0] != first[0]
    one.page.keyboard.press("Enter")
    assert one.page.get_by_role("dialog").is_visible()


def test_the_page_works_without_a_pointer(visit, board):
    one = visit(board)
    one.page.keyboard.press("Tab")
    assert one.page.evaluate("document.activeElement.className") == "skip"
    one.page.locator(HEADS).nth(0).locator(".dt-column-order").focus()
    one.page.keyboard.press("Enter")
    one.page.wait_for_selector("#board thead tr:last-child th:first-child[aria-sort]")


@pytest.mark.parametrize("width", [320, 390, 768])
def test_a_narrow_screen_scrolls_the_table_and_not_the_page(visit, board, width):
    one = visit(board, width=width, height=800)
    for state in ("view=overview", "view=task&task=t1", "view=runs", "view=about"):
        one.go(state)
        one.page.wait_for_timeout(150)
        assert one.page.evaluate("document.documentElement.scrollWidth") <= width, state


def test_colours_follow_the_system_and_the_button(visit, board):
    background = "getComputedStyle(document.body).backgroundColor"
    dark = visit(board, color_scheme="dark")
    light = visit(board, color_scheme="light")
    assert dark.page.evaluate(background) == "rgb(21, 24, 28)"
    assert light.page.evaluate(background) == "rgb(255, 255, 255)"
    button = light.page.locator("#theme")
    button.click()
    button.click()
    assert button.inner_text() == "Theme: dark"
    assert light.page.evaluate(background) == "rgb(21, 24, 28)"
    light.page.reload()
    light.page.wait_for_selector("html[data-ready]", state="attached")
    assert light.page.evaluate(background) == "rgb(21, 24, 28)"


def test_print_shows_the_whole_table_in_light_colours(visit, board):
    one = visit(board, color_scheme="dark")
    one.page.emulate_media(media="print")
    assert one.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert one.page.evaluate("getComputedStyle(document.querySelector('.board')).overflow") == "visible"
    assert not one.page.locator("#filters").is_visible()
    assert one.page.pdf()[:4] == b"%PDF"


def test_the_page_forbids_every_fetch_and_every_other_script(visit, board):
    one = visit(board)
    policy = one.page.locator('meta[http-equiv="Content-Security-Policy"]').get_attribute("content")
    rules = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert rules["default-src"] == "'none'"
    assert re.fullmatch(r"('sha256-[\w+/=]+' ?){2}", rules["script-src"])
    data = json.loads(one.page.locator("#report").evaluate("element => element.textContent"))
    assert len(data["models"]) == len(one.texts("#board tbody tr"))
