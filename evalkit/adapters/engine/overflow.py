"""What happens to a prompt or a context that is longer than the model."""

from __future__ import annotations

from dataclasses import dataclass

from evalkit.errors import InvalidInputError, UnknownNameError

POLICIES = ("error", "truncate", "window", "skip")
"""Names of the policies, as `--on-overflow` takes them."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """Tokens that fit, or why there are none."""

    ids: tuple[int, ...]
    """What is left of the tokens; empty where the example is skipped."""
    is_cut: bool = False
    """Whether tokens were cut off on the left."""
    error: str | None = None
    """Why the example is skipped."""


def check_policy(policy: str) -> None:
    """Check that a policy has one of the known names.

    Raises:
        UnknownNameError: It has not.
    """
    if policy not in POLICIES:
        raise UnknownNameError("overflow policy", policy, POLICIES)


def fit_left(ids: tuple[int, ...], room: int, policy: str, example_id: str, needs: str) -> Fitted:
    """Make tokens fit, where needed by cutting them on the left, where what matters least stands.

    Args:
        ids: All tokens.
        room: How many of them the model can take.
        policy: One of `POLICIES`; ``window`` cannot help tokens that must be seen at once.
        example_id: For the message.
        needs: What the model cannot take, for the message, e.g. ``a prompt of 90 tokens and 20 new ones``.

    Raises:
        InvalidInputError: They do not fit and the policy is ``error`` or ``window``, or nothing would be left of them.
    """
    if len(ids) <= room:
        return Fitted(ids)
    if policy == "truncate" and room > 0:
        return Fitted(ids[-room:], is_cut=True)
    problem = f"the model cannot take {needs}"
    if policy == "skip":
        return Fitted((), error=problem)
    ways = "truncate or skip" if room > 0 else "skip"
    raise InvalidInputError(f"example {example_id!r}: {problem}; use --on-overflow {ways}")
