"""What happens to a text that is longer than the model, and the windows through which one can be read nevertheless."""

from __future__ import annotations

from collections.abc import Sequence

from evalkit.errors import InvalidInputError


def check_fits(found: int, longest: int, policy: str, example_id: str, ways: Sequence[str]) -> str | None:
    """Say why an example has to be skipped, if it has to be.

    Args:
        found: Tokens of the example, special ones included.
        longest: Tokens that the model takes.
        policy: An overflow policy.
        example_id: For the message.
        ways: The policies, apart from ``skip``, that help with this kind of request.

    Returns:
        The reason under ``skip``; None if the example fits or is made to fit by one of the `ways`.

    Raises:
        InvalidInputError: It does not fit, and the policy is neither ``skip`` nor one of the `ways`.
    """
    if found <= longest or policy in ways:
        return None
    problem = f"{found} tokens, special ones included, but the model takes {longest}"
    if policy == "skip":
        return problem
    raise InvalidInputError(f"example {example_id!r} has {problem}; use --on-overflow {', '.join(ways)} or skip")


def overlapping_windows(length: int, size: int, step: int) -> list[range]:
    """Cover tokens by windows of one size, the last of which is moved back to end where the text ends.

    >>> overlapping_windows(8, size=5, step=2)
    [range(0, 5), range(2, 7), range(3, 8)]

    Args:
        length: Number of tokens.
        size: Most tokens of a window, at least 1.
        step: Tokens from one window's start to the next one's, from 1 to `size`.
    """
    if length <= size:
        return [range(length)]
    return [range(start, start + size) for start in (*range(0, length - size, step), length - size)]


def share_out(places: Sequence[int], windows: Sequence[range]) -> list[list[int]]:
    """Give each place to the window where it has the most context on its shorter side, the first one of equals.

    >>> share_out([0, 3, 4, 7], overlapping_windows(8, size=5, step=2))
    [[0, 3], [4], [7]]

    Args:
        places: Ascending.
        windows: Of one size, in order, covering all places.

    Returns:
        The places of each window, counted in the text.
    """
    shares: list[list[int]] = [[] for _ in windows]
    best = 0
    for place in places:
        while best + 1 < len(windows) and context(place, place, windows[best + 1]) > context(
            place, place, windows[best]
        ):
            best += 1
        shares[best].append(place)
    return shares


def context(first: int, last: int, window: range) -> int:
    """Count the tokens around a span on its shorter side; negative where the window does not hold all of it."""
    return min(first - window.start, window.stop - 1 - last)
