"""How a text that is longer than a model's input is cut so that its tokens can be scored.

Two conventions: rolling windows, in which every token is scored exactly once, and strided windows, in which the first
token is never scored. Positions count from 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from evalkit.errors import InvalidInputError


class RollingWindow(NamedTuple):
    """Tokens to score, and what precedes them; the model's input is ``context + targets[:-1]``."""

    context: tuple[int, ...]
    targets: tuple[int, ...]


class StridedWindow(NamedTuple):
    """One input ``tokens[begin:end]``, of which some last tokens are scored."""

    begin: int
    end: int
    new: int
    """How many of the tokens no earlier window held."""

    @property
    def scored(self) -> range:
        """Positions that this window scores: the new ones, except that a window's own first token has no context."""
        return range(max(self.begin + 1, self.end - self.new), self.end)


def rolling_windows(
    tokens: Sequence[int], prefix_token: int, max_length: int, context_length: int = 1
) -> list[RollingWindow]:
    """Cut a text into windows that score each token once, as lm-evaluation-harness does.

    The prefix token stands before the first window. Later windows repeat `context_length` tokens; the last one, when it
    is short, starts earlier, so that it sees as much as fits.

    >>> [tuple(window) for window in rolling_windows([5, 6, 7], prefix_token=0, max_length=2)]
    [((0,), (5, 6)), ((5, 6), (7,))]

    Args:
        tokens: The whole text.
        prefix_token: What the first token follows, usually the begin- or end-of-text token.
        max_length: The most tokens that the model takes.
        context_length: Tokens of context that each later window sees at least, 1 to `max_length`.

    Raises:
        InvalidInputError: `max_length` is below 1, or `context_length` is not from 1 to `max_length`.
    """
    _check_max_length(max_length)
    if not 1 <= context_length <= max_length:
        raise InvalidInputError(f"context_length is {context_length}; expected 1 to max_length, which is {max_length}")
    windows: list[RollingWindow] = []
    scored = 0
    while scored < len(tokens):
        size = max_length if scored == 0 else max_length - context_length + 1
        end = min(scored + size, len(tokens))
        if scored == 0:
            context: tuple[int, ...] = (prefix_token,)
        else:
            # Input and targets are shifted by one, hence one token more than the input is long.
            context = tuple(tokens[end - max_length - 1 : scored])
        windows.append(RollingWindow(context, tuple(tokens[scored:end])))
        scored = end
    return windows


def strided_windows(length: int, max_length: int, stride: int) -> list[StridedWindow]:
    """Cut a text of a given length into windows that start every `stride` tokens, as the Hugging Face guide does.

    The first token of the text is never scored, and with `stride` equal to `max_length` neither is the first of any
    window.

    >>> [list(window.scored) for window in strided_windows(5, max_length=4, stride=2)]
    [[1, 2, 3], [4]]

    Args:
        length: Number of tokens of the text.
        max_length: The most tokens that the model takes.
        stride: Tokens from one window's start to the next one's, 1 to `max_length`.

    Raises:
        InvalidInputError: `length` is negative, `max_length` is below 1, or `stride` is not from 1 to `max_length`.
    """
    _check_max_length(max_length)
    if length < 0:
        raise InvalidInputError(f"length is {length}; expected 0 or more tokens")
    if not 1 <= stride <= max_length:
        raise InvalidInputError(
            f"stride is {stride}; expected 1 to max_length, which is {max_length}: larger strides skip tokens"
        )
    windows: list[StridedWindow] = []
    reached = 0
    for begin in range(0, length, stride):
        if reached == length:
            break
        end = min(begin + max_length, length)
        windows.append(StridedWindow(begin, end, end - reached))
        reached = end
    return windows


def _check_max_length(max_length: int) -> None:
    if max_length < 1:
        raise InvalidInputError(f"max_length is {max_length}; expected at least 1 token")
