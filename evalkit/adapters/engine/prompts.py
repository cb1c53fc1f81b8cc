"""How a decoder-only model reads a prompt: what stands before it, and how much of it fits."""

from __future__ import annotations

from collections.abc import Sequence

from evalkit.adapters.engine.overflow import Fitted, fit_left
from evalkit.adapters.engine.stops import TextTokenizer
from evalkit.errors import InvalidInputError


class PromptFitter:
    """Turns prompts into tokens that fit a model: how they are read, in training and after it.

    Args:
        tokenizer: The model's.
        longest: Tokens that the model takes.
        policy: What happens to prompts longer than that.
        ref: The model's name, for messages.
    """

    def __init__(self, tokenizer: TextTokenizer, longest: int, policy: str, ref: str) -> None:
        self._tokenizer, self._longest = tokenizer, longest
        self._policy, self._ref = policy, ref

    def fit(self, ids: tuple[int, ...], limit: int, example_id: str) -> Fitted:
        """Put special tokens before a prompt, and cut it on the left where it is too long.

        Args:
            ids: Its tokens.
            limit: The most tokens of the answer, which share the model's length with the prompt.
            example_id: For messages.

        Raises:
            InvalidInputError: The prompt is too long under the policies ``error`` and ``window``, or the limit is below 1.
        """
        longest = self._longest
        if limit < 1:
            raise InvalidInputError(f"example {example_id!r}: max_new_tokens is {limit}; expected at least 1")
        before = self.before(ids)
        room = longest + 1 - limit  # the last new token is never read
        if self._policy == "truncate":
            # An answer that may be as long as the model leaves half of it to the prompt.
            room = max(room, longest // 2, 1 + len(before))
        fit = fit_left(
            ids,
            room - len(before),
            self._policy,
            example_id,
            f"a prompt of {len(ids) + len(before)} tokens and {limit} new ones in its {longest} tokens",
        )
        return fit if fit.error is not None else Fitted(before + fit.ids, fit.is_cut)

    def before(self, ids: Sequence[int]) -> tuple[int, ...]:
        """Give what stands before a prompt or a context."""
        before = tuple(self._tokenizer.frame.before)
        return before if before or ids else (self.prefix(),)

    def prefix(self) -> int:
        """Give the token that stands before a text's first one: bos, or else eos.

        Raises:
            InvalidInputError: The tokenizer has neither.
        """
        for token in (self._tokenizer.bos_id, self._tokenizer.eos_id):
            if token is not None:
                return token
        raise InvalidInputError(
            f"the tokenizer of {self._ref!r} has neither bos nor eos token; one must stand before a text"
        )
