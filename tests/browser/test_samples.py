"""The sample browser in a real browser."""

import itertools
import random

import pytest
from rapidfuzz.distance import Indel

from evalkit.report.html.assets import own_script

ROWS = ".examples tbody tr"


def open_samples(opened, file, state: str = "", **options):
    one = opened(file, f"view=task&{state}", **options)
    one.page.wait_for_selector(ROWS)
    return one


def of_task(report, task: str) -> str:
    return f"task={next(page.key for page in report.tasks if page.task == task)}"


def found(one) -> str:
    return one.texts(".samples > p")[0]


def choose(one, label: str, option: str) -> None:
    one.page.locator("#part-samples").get_by_label(label, exact=True).select_option(label=option)
    one.page.wait_for_timeout(80)


def test_ten_thousand_examples_put_few_rows_into_the_page(read, large):
    one = open_samples(read, large, "task=t1")
    assert found(one) == "10,000 of 10,000 examples."
    assert one.page.locator(ROWS).count() == 20
    one.page.locator(".dt-paging").get_by_text("500").click()
    one.page.wait_for_selector("td:has-text('e9999')")
    assert one.page.evaluate("document.querySelectorAll('*').length") < 3000


def test_a_right_and_b_wrong(read, large):
    one = open_samples(read, large, "task=t1")
    a, b = [text.split()[-1] for text in one.texts(".examples thead th")[2:]]
    choose(one, "Only", f"{a} right, {b} wrong")
    assert found(one) == {"a": "4,000", "b": "5,000"}[a] + " of 10,000 examples."
    assert {text.split()[0] for text in one.texts(f"{ROWS} td:nth-child(3)")} == {"✓"}
    assert {text.split()[0] for text in one.texts(f"{ROWS} td:nth-child(4)")} == {"✗"}
    choose(one, "Only", "all right")
    assert found(one) == "1,000 of 10,000 examples."


def test_search_finds_text_and_ids(read, large):
    one = open_samples(read, large, "task=t1")
    search = one.page.locator("#part-samples").get_by_label("Search")
    search.fill("E4321")
    assert found(one) == "1 of 10,000 examples."
    assert one.texts(f"{ROWS} a") == ["e4321"]
    search.fill("nothing like this")
    assert found(one) == "0 of 10,000 examples."
    assert one.texts(f"{ROWS} td") == ["No example is like that."]
    search.fill("")
    assert found(one) == "10,000 of 10,000 examples."


def test_the_page_works_alone_and_says_where_the_examples_are(visit, large, tmp_path):
    alone = tmp_path / "alone.html"
    alone.write_bytes(large.read_bytes())
    one = visit(alone, "view=task&task=t1")
    one.page.wait_for_selector(".samples .warn")
    assert "large_samples" in one.texts(".samples .warn")[0]
    assert one.page.locator(".forest tbody tr").count() == 2
    one.problems[:] = [
        line for line in one.problems if "large_samples" not in line and "ERR_FILE_NOT_FOUND" not in line
    ]


def test_examples_of_another_report_are_refused(visit, large, tmp_path):
    page = tmp_path / "large.html"
    page.write_bytes(large.read_bytes())
    (tmp_path / "large_samples").mkdir()
    for file in large.with_name("large_samples").iterdir():
        other = file.read_text(encoding="ascii").replace('","', '","0', 1)
        (tmp_path / "large_samples" / file.name).write_text(other, encoding="ascii")
    one = visit(page, "view=task&task=t1")
    one.page.wait_for_selector(".samples .warn")
    assert "another report" in one.texts(".samples .warn")[0]


def test_entities_are_marked_in_their_sentence(read, board, report, board_runs):
    one = open_samples(read, board, of_task(report, "mini_ner"))
    choose(one, "Sort", "largest difference")
    row = one.page.locator(ROWS).first
    gold = row.locator("td:nth-child(2) .entity")
    assert gold.count() >= 1
    assert gold.first.locator(".type").inner_text() in ("PER", "LOC", "ORG")
    extra = one.page.locator(f"{ROWS} .entity.extra").first
    assert "not in the reference" in extra.inner_text()


def test_words_are_shown_in_boxes_and_other_cuts_are_marked(read, board, report):
    one = open_samples(read, board, of_task(report, "mini_cws"))
    choose(one, "Only", "all wrong")
    row = one.page.locator(ROWS).first
    gold = row.locator("td:nth-child(2) .word").all_inner_texts()
    said = row.locator("td:nth-child(3) .word").all_inner_texts()
    assert "".join(gold) == "".join(said)
    assert gold != said
    assert row.locator("td:nth-child(3) .word.differs").count() > 0
    assert row.locator("td:nth-child(2) .said").get_attribute("lang") == "zh"


def test_differences_are_marked_by_character_or_word(read, board, report):
    one = open_samples(read, board, of_task(report, "mini_mt_en_zh"))
    one.page.locator("#part-samples").get_by_label("Search").fill("的")
    side = 3 if "chinese" in one.texts(".examples thead th")[2] else 4
    cell = one.page.locator(f"{ROWS} td:nth-child({side})").first
    assert cell.locator("del").all_inner_texts() == ["的"]
    assert cell.locator("ins").all_inner_texts() == ["地"]
    choose(one, "in", "words")
    assert len(cell.locator("del").first.inner_text()) > 1
    choose(one, "Mark differences from", "nothing")
    assert cell.locator("ins, del").count() == 0


def test_up_to_four_models_stand_side_by_side_and_the_address_keeps_them(read, board, report):
    one = open_samples(read, board, of_task(report, "mini_classification"))
    for _ in range(2):
        free = one.page.locator("#part-samples").get_by_label("Beside them").locator("option").all_inner_texts()
        choose(one, "Beside them", free[1])
        one.page.wait_for_selector(ROWS)
    heads = one.texts(".examples thead th")
    assert len(heads) == 6
    assert one.page.locator("#part-samples").get_by_label("Beside them").count() == 0
    one.page.reload()
    one.page.wait_for_selector(ROWS)
    assert one.texts(".examples thead th") == heads
    choose(one, "Model D", "– none –")
    one.page.wait_for_selector(ROWS)
    assert len(one.texts(".examples thead th")) == 5


def test_an_example_has_an_address(read, board, report):
    one = open_samples(read, board, of_task(report, "mini_qa"))
    link = one.page.locator(f"{ROWS} a").nth(3)
    example = link.inner_text()
    one.page.goto(f"{board.as_uri()}{link.get_attribute('href')}")
    one.page.wait_for_selector("text=One example is shown.")
    assert one.texts(f"{ROWS} a") == [example]
    one.page.get_by_role("button", name="Show all").click()
    assert found(one) == "240 of 240 examples." or found(one).startswith("80 of 80")


def test_examples_stand_below_one_another_on_a_phone(visit, board, report):
    one = open_samples(visit, board, of_task(report, "mini_mt_en_zh"), width=390, height=800)
    row = one.page.locator(ROWS).first
    cells = [cell.bounding_box() for cell in row.locator("td").all()]
    assert all(after["y"] >= before["y"] + before["height"] - 1 for before, after in itertools.pairwise(cells))
    assert row.locator("td").nth(2).evaluate("cell => getComputedStyle(cell, '::before').content").startswith('"A · ')


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        (["B-PER", "I-PER", "O", "B-LOC"], [[0, 2, "PER"], [3, 4, "LOC"]]),
        (["B-PER", "B-PER"], [[0, 1, "PER"], [1, 2, "PER"]]),
        (["I-PER", "I-PER", "I-LOC"], [[0, 2, "PER"], [2, 3, "LOC"]]),
        (["S-A", "B-A", "I-A", "E-A", "I-A"], [[0, 1, "A"], [1, 4, "A"], [4, 5, "A"]]),
        (["U-A", "B-A", "L-A"], [[0, 1, "A"], [1, 3, "A"]]),
        (["B_A", "M_A", "E_A"], [[0, 3, "A"]]),
        (["PER", "PER", "O"], [[0, 2, "PER"]]),
        ([], []),
    ],
)
def test_entities_of_every_tag_scheme(chromium, tags, expected):
    assert call(chromium, ("dom.js", "spans.js"), "entities", tags) == expected


@pytest.mark.parametrize("seed", range(3))
def test_differences_are_whole_and_shortest(chromium, seed):
    generator = random.Random(seed)
    pairs = [["".join(generator.choices("ab 好", k=generator.randrange(12))) for _ in range(2)] for _ in range(100)]
    for (before, after), steps in zip(pairs, differences(chromium, pairs), strict=True):
        assert "".join(text for kind, text in steps if kind != "insert") == before
        assert "".join(text for kind, text in steps if kind != "delete") == after
        changed = sum(len(text) for kind, text in steps if kind != "same")
        assert changed == Indel.distance(before, after)


def test_texts_that_differ_everywhere_are_taken_to_differ_wholly(chromium):
    before, after = " ".join(f"a{n}" for n in range(3000)), " ".join(f"b{n}" for n in range(3000))
    (steps,) = differences(chromium, [[before, after]])
    assert "".join(text for kind, text in steps if kind != "insert") == before
    assert "".join(text for kind, text in steps if kind != "delete") == after


def differences(chromium, pairs):
    page = chromium.new_page()
    script = f"pairs => {{ {own_script(('diff.js',))} return pairs.map(([a, b]) => modules['diff.js'].difference(a, b, true)) }}"
    try:
        return page.evaluate(script, pairs)
    finally:
        page.close()


def call(chromium, names: tuple[str, ...], function: str, argument):
    """Call a function of one of the page's scripts."""
    page = chromium.new_page()
    try:
        return page.evaluate(
            f"value => {{ {own_script(names)} return modules['{names[-1]}'].{function}(value) }}", argument
        )
    finally:
        page.close()
