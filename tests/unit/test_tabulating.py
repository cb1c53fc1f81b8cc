"""Statistics by blocks: the rows of one pass, whatever the size of a block and whichever columns it has."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit import tabulating
from evalkit.errors import InvalidInputError
from evalkit.metrics.chrf import Chrf
from evalkit.metrics.classification import Classification
from evalkit.tabulating import block_count, tabulate


def by_name(statistics) -> dict[str, list[float]]:
    return {name: statistics.rows[:, place].tolist() for place, name in enumerate(statistics.columns)}


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdef")), min_size=1), st.integers(1, 5))
def test_blocks_with_different_columns_give_the_rows_of_one_pass(pairs, size):
    predictions, references = [said for said, _ in pairs], [(gold,) for _, gold in pairs]
    whole = Classification().statistics(predictions, references)
    before, tabulating.BLOCK = tabulating.BLOCK, size
    try:
        (found,) = tabulate([Classification()], predictions, references)
        assert block_count(len(pairs)) == -(-len(pairs) // size)
    finally:
        tabulating.BLOCK = before
    assert by_name(found) == by_name(whole)
    score, expected = (Classification().score(one.total(), one.columns) for one in (found, whole))
    assert {name: float(value) for name, value in score.items()} == pytest.approx(
        {name: float(value) for name, value in expected.items()}, nan_ok=True
    )


def test_several_metrics_see_every_block_and_each_is_told_of(monkeypatch):
    monkeypatch.setattr(tabulating, "BLOCK", 2)
    texts = ["tea for two", "rain", "a house", "a green house", "road"]
    ticks = []
    found = tabulate([Chrf(), Chrf(char_order=2)], texts, [(text[::-1],) for text in texts], lambda: ticks.append(1))
    for metric, statistics in zip([Chrf(), Chrf(char_order=2)], found, strict=True):
        expected = metric.statistics(texts, [(text[::-1],) for text in texts])
        assert statistics.columns == expected.columns
        assert np.array_equal(statistics.rows, expected.rows)
    assert len(ticks) == 6


def test_one_block_is_what_the_metric_gave(monkeypatch):
    monkeypatch.setattr(tabulating, "BLOCK", 3)
    given_ = Classification().statistics(["a"], [("b",)])
    monkeypatch.setattr(Classification, "statistics", lambda *_: given_)
    (found,) = tabulate([Classification()], ["a"], [("b",)])
    assert found.rows is given_.rows


@pytest.mark.parametrize(
    ("size", "expected"), [(10, r"prediction 3 is 7"), (2, r"prediction 1 is 7.*count from example 2\)")]
)
def test_an_error_says_from_where_its_numbers_count(monkeypatch, size, expected):
    monkeypatch.setattr(tabulating, "BLOCK", size)

    def refuse(self, predictions, references):
        odd = [place for place, said in enumerate(predictions) if said == 7]
        if odd:
            raise InvalidInputError(f"prediction {odd[0]} is 7")
        return real(self, predictions, references)

    real = Classification.statistics
    monkeypatch.setattr(Classification, "statistics", refuse)
    with pytest.raises(InvalidInputError, match=expected):
        tabulate([Classification()], ["a", "a", "a", 7], [("a",)] * 4)
