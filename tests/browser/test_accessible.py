"""What axe-core finds, and what it cannot see: reading order, heads of tables, language of texts."""

STATES = {
    "overview": "view=overview",
    "translation": "view=task&task={mini_mt_en_zh}",
    "entities": "view=task&task={mini_ner}",
    "answers": "view=task&task={mini_qa}",
    "words": "view=task&task={mini_cws}",
    "curves": "view=task&task={mini_classification}",
    "runs": "view=runs",
    "about": "view=about",
}


def address(report, state: str) -> str:
    return STATES[state].format(**{page.task: page.key for page in report.tasks})


def findings(one, rules: str = "") -> list[str]:
    # Without preloading style sheets: the page has none of its own beside it.
    options = f"{{resultTypes: ['violations'], preload: false{rules}}}"
    found = one.page.evaluate(f"axe.run(document, {options})")["violations"]
    return [f"{rule['impact']} {rule['id']}: {[node['html'][:120] for node in rule['nodes'][:3]]}" for rule in found]


def test_axe_finds_nothing_in_any_view(visit, board, report, axe):
    one = visit(board)
    one.page.evaluate(axe)
    for state in STATES:
        one.go(address(report, state))
        one.page.wait_for_timeout(150)
        assert findings(one) == [], state


def test_contrast_is_enough_in_the_dark(visit, board, report, axe):
    one = visit(board, color_scheme="dark")
    one.page.evaluate(axe)
    for state in ("overview", "entities"):
        one.go(address(report, state))
        one.page.wait_for_timeout(150)
        assert findings(one, ", runOnly: ['color-contrast']") == [], state


def test_axe_finds_nothing_on_a_phone_in_the_dark(visit, board, report, axe):
    one = visit(board, width=390, height=800, color_scheme="dark")
    one.page.evaluate(axe)
    for state in ("translation", "runs", "overview"):
        one.go(address(report, state))
        one.page.wait_for_timeout(150)
        assert findings(one) == [], state
    one.page.locator("#board button.cell").first.click()
    assert findings(one) == []


TABLES = """
() => [...document.querySelectorAll("table")].filter((table) => table.checkVisibility()).map((table) => ({
  caption: table.querySelectorAll("caption").length,
  heads: table.querySelectorAll("th:not([scope])").length,
  rows: table.matches(".examples") ? 0 : table.querySelectorAll("tbody > tr").length,
  named: table.matches(".examples") ? 0 : table.querySelectorAll("tbody > tr > th[scope=row]").length,
}))
"""


def test_every_table_has_a_caption_and_heads_with_a_scope(read, board, report):
    one = read(board, "view=overview")
    for state in STATES:
        one.go(address(report, state))
        for table in one.page.evaluate(TABLES):
            assert table["caption"] == 1, state
            assert table["heads"] == 0, state
            assert table["named"] == table["rows"], state


def test_the_title_and_the_focus_follow_the_view(visit, board):
    one = visit(board)
    one.page.locator("#board thead a").first.click()
    one.page.wait_for_timeout(50)
    assert one.page.evaluate("document.activeElement.id") == "main"
    assert one.page.title().startswith(one.texts("#view-task h1")[0])


def test_chinese_is_marked_as_chinese_and_set_in_a_chinese_font(read, board, report):
    one = read(board, address(report, "translation"))
    one.page.wait_for_selector(".examples tbody tr")
    said = one.page.locator(".examples [lang=zh]").first
    style = said.evaluate("element => { const s = getComputedStyle(element); return [s.fontFamily, s.lineBreak] }")
    assert style[0].startswith('"PingFang SC"')
    assert style[1] == "strict"
    assert one.page.locator(".examples [lang=en]").count() > 0
