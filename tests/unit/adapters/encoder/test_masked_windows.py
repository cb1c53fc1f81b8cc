"""The windows over long texts: they cover all of it, and every token and span is read where it has the most context."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.adapters.encoder.fitting import check_fits, overlapping_windows, share_out
from evalkit.errors import InvalidInputError

SHAPES = st.tuples(st.integers(0, 60), st.integers(1, 20), st.integers(1, 20)).filter(
    lambda shape: shape[2] <= shape[1]
)


@given(SHAPES)
def test_windows_are_those_of_a_plain_loop_and_cover_every_token(naive_windows, shape):
    length, size, step = shape
    windows = overlapping_windows(length, size, step)
    assert [(window.start, window.stop) for window in windows] == naive_windows(*shape)[0]
    assert {place for window in windows for place in window} == set(range(length))
    assert all(len(window) == min(size, length) for window in windows)


@given(SHAPES)
def test_each_token_goes_to_the_window_with_the_most_context_on_its_shorter_side(naive_windows, shape):
    windows = overlapping_windows(*shape)
    shares = share_out(range(shape[0]), windows)
    got = {place: windows[index] for index, share in enumerate(shares) for place in share}
    best = naive_windows(*shape)[1]
    assert [(got[place].start, got[place].stop) for place in range(shape[0])] == best


@given(SHAPES, st.integers(1, 20))
def test_windows_hold_every_span_that_is_no_longer_than_their_overlap_and_one(shape, width):
    length, size, step = shape
    width = min(width, size - step + 1, length)
    windows = overlapping_windows(length, size, step)
    for first in range(length - width + 1):
        assert any(first in window and first + width - 1 in window for window in windows) or width == 0


def test_an_error_names_the_example_both_lengths_and_the_ways_out():
    with pytest.raises(InvalidInputError) as caught:
        check_fits(700, 512, "error", "q7", ("window", "truncate"))
    assert str(caught.value) == (
        "example 'q7' has 700 tokens, special ones included, but the model takes 512;"
        " use --on-overflow window, truncate or skip"
    )


def test_text_that_fits_is_kept_under_every_policy():
    assert [check_fits(512, 512, policy, "q7", ()) for policy in ("error", "truncate", "window", "skip")] == [None] * 4
