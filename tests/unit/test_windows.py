"""Windows score what they promise, and match lm-evaluation-harness and the Hugging Face guide on worked examples."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.errors import InvalidInputError
from evalkit.windows import rolling_windows, strided_windows

PREFIX = -1
LENGTHS = st.integers(0, 60)


@st.composite
def rolling_settings(draw):
    max_length = draw(st.integers(1, 12))
    return max_length, draw(st.integers(1, max_length))


@settings(deadline=None)
@given(length=LENGTHS, settings=rolling_settings())
def test_rolling_windows_score_every_token_exactly_once_in_order(length, settings):
    windows = rolling_windows(range(length), PREFIX, *settings)
    assert [token for window in windows for token in window.targets] == list(range(length))
    assert all(window.targets for window in windows)


@settings(deadline=None)
@given(length=LENGTHS, settings=rolling_settings())
def test_rolling_windows_fit_the_model_and_show_only_what_precedes(length, settings):
    max_length, context_length = settings
    for number, (context, targets) in enumerate(rolling_windows(range(length), PREFIX, max_length, context_length)):
        assert len(context) + len(targets) - 1 <= max_length
        if number == 0:
            assert context == (PREFIX,)
        else:
            assert context == tuple(range(targets[0] - len(context), targets[0]))
            assert len(context) >= context_length
            assert len(context) + len(targets) - 1 == max_length


@settings(deadline=None)
@given(length=LENGTHS, max_length=st.integers(1, 12), data=st.data())
def test_strided_windows_cover_the_text_and_score_no_token_twice(length, max_length, data):
    stride = data.draw(st.integers(1, max_length))
    windows = strided_windows(length, max_length, stride)
    scored = [position for window in windows for position in window.scored]
    assert scored == sorted(set(scored))
    assert sum(window.new for window in windows) == length
    assert all(window.end - window.begin <= max_length for window in windows)
    assert all(window.begin < position < window.end for window in windows for position in window.scored)
    skipped = set(range(length)) - set(scored)
    assert skipped == ({0} if stride < max_length else set(range(0, length, stride))) & set(range(length))


@pytest.mark.parametrize(
    ("length", "max_length", "context_length", "windows"),
    [
        (0, 4, 1, []),
        (1, 4, 1, [((PREFIX,), (0,))]),
        (3, 4, 1, [((PREFIX,), (0, 1, 2))]),
        (4, 4, 1, [((PREFIX,), (0, 1, 2, 3))]),
        (5, 4, 1, [((PREFIX,), (0, 1, 2, 3)), ((0, 1, 2, 3), (4,))]),
        (6, 3, 2, [((PREFIX,), (0, 1, 2)), ((1, 2), (3, 4)), ((2, 3, 4), (5,))]),
    ],
)
def test_rolling_windows_by_hand(length, max_length, context_length, windows):
    assert list(map(tuple, rolling_windows(range(length), PREFIX, max_length, context_length))) == windows


@pytest.mark.parametrize(
    ("length", "max_length", "stride", "scored"),
    [
        (0, 4, 2, []),
        (1, 4, 2, [[]]),
        (5, 4, 2, [[1, 2, 3], [4]]),
        (6, 3, 3, [[1, 2], [4, 5]]),
    ],
)
def test_strided_windows_by_hand(length, max_length, stride, scored):
    assert [list(window.scored) for window in strided_windows(length, max_length, stride)] == scored


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: rolling_windows([1], 0, 0), "max_length is 0; expected at least 1 token"),
        (lambda: rolling_windows([1], 0, 4, 0), "context_length is 0; expected 1 to max_length, which is 4"),
        (lambda: rolling_windows([1], 0, 4, 5), "context_length is 5"),
        (lambda: strided_windows(3, 0, 1), "max_length is 0"),
        (lambda: strided_windows(3, 4, 0), "stride is 0"),
        (lambda: strided_windows(3, 4, 5), "stride is 5; .*larger strides skip tokens"),
        (lambda: strided_windows(-1, 4, 2), "length is -1"),
    ],
)
def test_nonsensical_numbers_are_refused(call, words):
    with pytest.raises(InvalidInputError, match=words):
        call()
