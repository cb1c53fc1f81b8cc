"""Where a generated text ends: at an end token, at a stop string, or at its limit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

_INCOMPLETE = "\ufffd"


class TextFrame(Protocol):
    """What the engine needs of the special tokens around a text."""

    @property
    def before(self) -> tuple[int, ...]:
        """Ids before a text."""
        ...


class TextTokenizer(Protocol):
    """What the engine needs of a tokenizer."""

    @property
    def frame(self) -> TextFrame:
        """The special tokens that the model wants around a text."""
        ...

    @property
    def bos_id(self) -> int | None:
        """The id that opens a text."""
        ...

    @property
    def eos_id(self) -> int | None:
        """The id that ends a text."""
        ...

    def ids_of_each(self, texts: Sequence[str]) -> list[list[int]]:
        """Split each text into tokens, without special tokens around it."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """Join tokens to a text, special tokens left out."""
        ...


@dataclass(frozen=True, slots=True)
class Generated:
    """A generated text."""

    text: str
    """Without end token and stop string."""
    token_count: int
    """Tokens that were generated, those of a stop string included, the end token not."""
    is_complete: bool
    """Whether it came to its own end, not to its limit."""


class TextEnd:
    """Tells when generated tokens hold a stop string.

    Only a token that can end a stop string makes the text be read: one whose own text holds the string's last character,
    or a part of a character. Strings that end in a blank are looked for after each token, for decoders put in blanks.

    Args:
        tokenizer: Turns tokens into text.
        stop: The stop strings; empty ones stop nothing.
    """

    def __init__(self, tokenizer: TextTokenizer, stop: Sequence[str]) -> None:
        self._tokenizer = tokenizer
        self._stop = [text for text in stop if text]
        self._signs = {text[-1] for text in self._stop} | {_INCOMPLETE}
        self._reads_all = any(text[-1].isspace() and text[-1] != "\n" for text in self._stop)
        self._known: dict[int, bool] = {}

    def cut(self, tokens: Sequence[int]) -> str | None:
        """Read the text up to the first stop string, if the newest token has completed one.

        Returns:
            The text before it, or None where there is none.
        """
        if not self._stop or not self._may_end(tokens[-1]):
            return None
        text = self._tokenizer.decode(tokens)
        found = [place for stop in self._stop if (place := text.find(stop)) >= 0]
        return text[: min(found)] if found else None

    def _may_end(self, token: int) -> bool:
        if self._reads_all:
            return True
        known = self._known.get(token)
        if known is None:
            known = self._known[token] = not self._signs.isdisjoint(self._tokenizer.decode([token]))
        return known
