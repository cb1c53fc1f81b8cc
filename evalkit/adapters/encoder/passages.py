"""What an encoder is given to read, and its answers in the order in which they were asked for."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from evalkit.adapters.engine.batching import Budget, answer_each, run_batches
from evalkit.tokenization import Encoding, Frame, WordEncoding


class MaskedTokenizer(Protocol):
    """What the answers need of a tokenizer."""

    @property
    def frame(self) -> Frame:
        """The special tokens that the model wants around a text."""
        ...

    @property
    def mask_id(self) -> int | None:
        """The id that hides a token."""
        ...

    def encode(self, text: str) -> Encoding:
        """Split a text into tokens, with their places."""
        ...

    def encode_words(self, words: Sequence[str], separator: str = " ") -> WordEncoding:
        """Split words into tokens, each into one at least."""
        ...

    def ids_of_each(self, texts: Sequence[str]) -> list[list[int]]:
        """Split each text into tokens, without special tokens around it."""
        ...


@dataclass(frozen=True, slots=True)
class Passage:
    """Tokens that are read at once, special ones included."""

    ids: tuple[int, ...]
    """At least one."""
    wanted: tuple[int, ...]
    """The places of the tokens whose hidden states are asked for."""
    second_from: int | None = None
    """Where the second segment begins; None where there is one only."""

    @property
    def length(self) -> int:
        """Number of tokens."""
        return len(self.ids)


class _Sized(Hashable, Protocol):
    @property
    def length(self) -> int: ...


K = TypeVar("K", bound=_Sized)
T = TypeVar("T")


def read_each(keys: Sequence[K], budget: Budget, read: Callable[[list[K]], Sequence[T]]) -> Iterator[T]:
    """Read every key, in batches of similar lengths, and answer in order; equal keys are read once.

    Args:
        keys: What is read.
        budget: How much is read at once; halved when memory runs out.
        read: Turns a batch of keys into one result each.
    """

    def read_block(block: list[K]) -> Iterator[tuple[int, T]]:
        lengths = [key.length for key in block]
        return run_batches(lengths, budget, lambda places: read([block[place] for place in places]))

    return answer_each(keys, read_block)
