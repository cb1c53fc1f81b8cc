"""Parts of a split share nothing, leave nothing out, and cut no document."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.data.parts import parse_part, part_of
from evalkit.errors import InvalidInputError

RUNS = st.lists(st.tuples(st.booleans(), st.integers(1, 5)), max_size=12)


def clusters_of(runs):
    """Clusters of so many examples each, or examples that stand alone."""
    return [name if is_one else None for name, (is_one, size) in enumerate(runs) for _ in range(size)]


@given(RUNS, st.lists(st.floats(0, 1), max_size=3))
def test_parts_that_meet_hold_every_example_once_and_whole_clusters(runs, shares):
    clusters = clusters_of(runs)
    borders = [0.0, *sorted(shares), 1.0]
    parts = [part_of(clusters, ends) for ends in pairwise(borders)]
    assert [place for part in parts for place in part] == list(range(len(clusters)))
    for name in set(clusters) - {None}:
        assert sum(any(clusters[place] == name for place in part) for part in parts) == 1


def test_examples_that_stand_alone_are_shared_out_by_number():
    assert part_of([None] * 10, (0.2, 0.7)) == range(2, 7)


def test_a_document_goes_where_its_first_example_lies():
    clusters = ["a", "a", "a", "b", "b"]
    assert part_of(clusters, (0.0, 0.4)) == range(3)
    assert part_of(clusters, (0.4, 1.0)) == range(3, 5)


@pytest.mark.parametrize(("given_text", "ends"), [("0.8:1", (0.8, 1.0)), (":0.5", (0.0, 0.5)), ("0.5:", (0.5, 1.0))])
def test_an_end_that_is_left_out_is_that_of_the_split(given_text, ends):
    assert parse_part(given_text) == ends


@pytest.mark.parametrize(
    "given_text", ["0.5", "", "0.5:0.5", "0.7:0.2", "-1:1", "0:2", "a:b", "nan:1", "0:1:2", "0,5:1"]
)
def test_what_is_no_part_is_refused(given_text):
    with pytest.raises(InvalidInputError, match="expected FROM:TO"):
        parse_part(given_text)
