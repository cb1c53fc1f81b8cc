"""The page of a task in a real browser."""

import pytest

from evalkit.report.model import Report


def open_task(read, board, report: Report, task: str):
    return read(board, f"view=task&task={page_of(report, task).key}")


def page_of(report: Report, task: str):
    return next(page for page in report.tasks if page.task == task)


def name(report: Report, key: str) -> str:
    return next(model.name for model in report.models if model.key == key)


def shown(value: float, display) -> str:
    return f"{value * display.factor:.{display.digits}f}"


def test_a_task_opens_from_the_overview_and_from_the_list(visit, board):
    one = visit(board)
    one.page.locator("#board thead a", has_text="mini_ner").click()
    assert one.texts("#view-task h1") == ["mini_ner"]
    assert not one.page.locator("#view-overview").is_visible()
    one.page.locator("#go").select_option(label="mini_qa")
    one.page.wait_for_selector("h1:has-text('mini_qa')")
    one.page.go_back()
    one.page.wait_for_selector("h1:has-text('mini_ner')")
    one.go("view=task&task=nothing")
    assert one.texts("#view-task h1") == ["No such task"]


def test_scores_are_drawn_on_one_scale(read, board, report):
    one = open_task(read, board, report, "mini_cws")
    rows = one.page.locator(".forest tbody tr").all()
    places = []
    for row in rows:
        value = float(row.locator("td").first.get_attribute("data-order"))
        dot = row.locator(".dot").bounding_box()
        places.append((value, dot["x"] + dot["width"] / 2))
    (low, left), (high, right) = min(places), max(places)
    assert right > left
    ticks = [
        (float(tick.inner_text()), tick.bounding_box()["x"] + tick.bounding_box()["width"] / 2)
        for tick in one.page.locator(".forest .ticks span").all()
    ]
    (first, start), (last, end) = ticks[0], ticks[-1]
    for value, place in ((low, left), (high, right)):
        expected = start + (value - first) / (last - first) * (end - start)
        assert place == pytest.approx(expected, abs=1.5)


def test_every_value_of_the_report_is_on_the_page(read, board, report):
    one = open_task(read, board, report, "mini_ner")
    page = page_of(report, "mini_ner")
    one.page.get_by_label(f"all {len(page.metrics)} values").check()
    rows = one.page.locator("#part-values tbody tr")
    assert rows.count() == len(page.models)
    for at, key in enumerate(page.models):
        cells = rows.filter(has_text=name(report, key)).locator("td .value").all_inner_texts()
        expected = [shown(row.values[at].value, row.display) for row in page.metrics if row.values[at]]
        assert [cell.replace("−", "-") for cell in cells if cell != "–"] == expected
    one.page.get_by_text("Signatures").click()
    assert page.metrics[0].signature in one.page.locator("#part-values details").inner_text()


def test_the_forest_shows_any_value(read, board, report):
    one = open_task(read, board, report, "mini_ner")
    one.page.locator("#part-scores select").select_option(label="seqeval recall")
    row = next(row for row in page_of(report, "mini_ner").metrics if row.value == "recall")
    best = max(value.value for value in row.values if value)
    assert one.texts(".forest tbody td.num")[0] == shown(best, row.display)


def test_differences_are_signed_and_tinted_where_significant(read, board, report):
    one = open_task(read, board, report, "mini_cws")
    pairwise = page_of(report, "mini_cws").pairwise[0]
    column = next(column for column in report.columns if column.key == pairwise.column)
    pair = pairwise.pairs[0]
    first, second = (pairwise.models.index(key) for key in (pair.first, pair.second))
    rows = one.page.locator(".matrix tbody tr")
    there = rows.nth(second).locator("td").nth(first)
    back = rows.nth(first).locator("td").nth(second)
    size = shown(abs(pair.difference), column.display)
    better = (pair.difference > 0) == column.higher_is_better
    assert there.locator(".value").inner_text() == f"{'+' if pair.difference > 0 else '−'}{size}"
    assert back.locator(".value").inner_text() == f"{'−' if pair.difference > 0 else '+'}{size}"
    if pair.p_holm < 0.05:
        assert ("better" if better else "worse") in there.get_attribute("class")
        assert ("worse" if better else "better") in back.get_attribute("class")


@pytest.mark.parametrize("task", ["mini_qa", "mini_ner", "mini_cws", "mini_mt_en_zh", "mini_classification"])
def test_slices_and_outcomes_hold_the_numbers_of_the_report(read, board, report, task):
    one = open_task(read, board, report, task)
    page = page_of(report, task)
    for at, part in enumerate(page.slices):
        cells = one.page.locator("#part-slices table").nth(at).locator("td .value").all_inner_texts()
        expected = {
            shown(value.value, part.display)
            for group in part.groups
            for value in group.values
            if value and value.value is not None
        }
        assert {cell.replace("−", "-") for cell in cells} == expected
    for at, part in enumerate(page.breakdowns):
        cells = one.page.locator("#part-errors table").nth(at).locator("td .value").all_inner_texts()
        assert sorted(cells) == sorted(f"{n:,}" for row in part.rows for n in row.counts if n is not None)


def test_learning_curves_are_drawn_with_their_numbers(read, board, report):
    one = open_task(read, board, report, "mini_classification")
    figure = one.page.locator("#part-curves figure svg")
    assert figure.get_attribute("role") == "img"
    assert "30M" in figure.text_content()
    one.page.get_by_text("The numbers of the figure").click()
    assert one.texts("#part-curves tbody tr")[0] == "gpt 10,000,000 30 20 40"


def test_runs_can_be_traced_and_filtered(read, board, report):
    one = read(board, "view=runs")
    assert one.page.locator("#view-runs tbody tr").count() == len(report.runs)
    one.page.locator("#view-runs").get_by_label("Model", exact=True).select_option(label="max-match")
    rows = one.page.locator("#view-runs tbody tr")
    run = next(run for run in report.runs if run.model == next(m.key for m in report.models if m.name == "max-match"))
    assert rows.count() == 2
    rows.filter(has_text=run.id).get_by_role("button", name=run.id).click()
    text = one.page.locator("#view-runs").inner_text()
    for part in (run.command, run.data_digest, run.task_digest, f"python {run.versions['python']}", run.place):
        assert part in text


def test_a_part_of_a_page_has_an_address(read, board, report):
    key = page_of(report, "mini_ner").key
    one = read(board, f"view=task&task={key}&part=samples")
    one.page.wait_for_selector(".examples tbody tr")
    one.page.wait_for_timeout(100)
    top = one.page.locator("#part-samples").bounding_box()["y"]
    assert -5 < top < 900
