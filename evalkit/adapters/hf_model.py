"""What all adapters of transformers models share: the loaded model, its tokenizer, and how requests are taken."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from evalkit.adapters.engine.batching import Budget
from evalkit.adapters.engine.overflow import check_policy
from evalkit.adapters.responses import unanswerable
from evalkit.errors import InvalidInputError
from evalkit.requests import ModelInfo, ModelSettings, Request, Response, TaskContext
from evalkit.tokenization import Frame

UNKNOWN_LENGTH = 1_000_000
"""Tokenizers without a longest text name a longer one than this."""


class Words(NamedTuple):
    """A sentence of words as tokens."""

    ids: tuple[int, ...]
    """Token ids, without special ones."""
    firsts: tuple[int, ...]
    """Place of the first token of each word."""


class HfTokenizer:
    """A tokenizer of transformers, as the adapters use it.

    Args:
        tokenizer: The tokenizer.
    """

    def __init__(self, tokenizer: Any) -> None:  # noqa: ANN401
        self._tokenizer = tokenizer
        longest = tokenizer.model_max_length
        self.max_length: int | None = longest if longest and longest < UNKNOWN_LENGTH else None
        """Longest text that the tokenizer's configuration names."""

    @property
    def bos_id(self) -> int | None:
        """The id that opens a text."""
        found: int | None = self._tokenizer.bos_token_id
        return found

    @property
    def eos_id(self) -> int | None:
        """The id that ends a text."""
        found: int | None = self._tokenizer.eos_token_id
        return found

    @property
    def pad_id(self) -> int:
        """The id that fills up a batch; masked, so that any will do."""
        for found in (self._tokenizer.pad_token_id, self._tokenizer.eos_token_id):
            if found is not None:
                return int(found)
        return 0

    @cached_property
    def frame(self) -> Frame:
        """The special tokens around one text and two, as found around a letter."""
        ((letter,), single) = self.ids_of_each(["a"]), list(self._tokenizer("a")["input_ids"])
        pair = self._tokenizer("a", "a")
        both = list(pair["input_ids"])
        size = len(letter)
        at = _find(single, letter)
        first = _find(both, letter)
        second = len(both) - size - _find(both[::-1], letter[::-1])
        return Frame(
            before=tuple(single[:at]),
            after=tuple(single[at + size :]),
            pair_before=tuple(both[:first]),
            pair_between=tuple(both[first + size : second]),
            pair_after=tuple(both[second + size :]),
            second_segment=pair["token_type_ids"][second] if "token_type_ids" in pair else 0,
        )

    def ids_of_each(self, texts: Sequence[str]) -> list[list[int]]:
        """Split each text into tokens, without special tokens around it."""
        if not texts:
            return []
        found = self._tokenizer(list(texts), add_special_tokens=False, verbose=False)["input_ids"]
        return [list(ids) for ids in found]

    def offsets(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Split a text into tokens, with the characters that each stands for."""
        found = self._tokenizer(text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        return list(found["input_ids"]), [(int(start), int(end)) for start, end in found["offset_mapping"]]

    def words(self, words: Sequence[str]) -> Words:
        """Split words into tokens, each into one at least: what the tokenizer drops becomes its unknown token.

        Raises:
            InvalidInputError: A word is dropped, and there is no unknown token.
        """
        if not words:
            return Words((), ())
        shown = list(words)
        for _ in range(2):
            found = self._tokenizer(shown, is_split_into_words=True, add_special_tokens=False, verbose=False)
            firsts: dict[int, int] = {}
            for place, word in enumerate(found.word_ids()):
                firsts.setdefault(word, place)
            dropped = [index for index in range(len(shown)) if index not in firsts]
            if not dropped:
                return Words(tuple(found["input_ids"]), tuple(firsts[index] for index in range(len(shown))))
            for index in dropped:
                shown[index] = self._tokenizer.unk_token or shown[index]
        raise InvalidInputError(f"the tokenizer drops the word {words[dropped[0]]!r} and has no unknown token")

    def decode(self, ids: Sequence[int]) -> str:
        """Join tokens to a text, special tokens left out."""
        text: str = self._tokenizer.decode(list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return text


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedModel:
    """A model with what belongs to it."""

    model: Any
    """The model, in evaluation mode, on its device."""
    tokenizer: HfTokenizer
    """Its tokenizer."""
    info: ModelInfo
    """What the record says about it."""
    max_length: int | None
    """Most tokens that it reads at once; None for no limit."""

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        device: torch.device = next(self.model.parameters()).device
        return device

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of what the model tells apart, in the order of its outputs."""
        names = self.model.config.id2label
        return tuple(str(names[index]) for index in range(len(names)))

    def pad(self, rows: Sequence[Sequence[int]], *, is_left: bool = False) -> tuple[Tensor, Tensor]:
        """Fill up rows of tokens to the longest one.

        Returns:
            Ids and mask, `(B, T)`.
        """
        width = max(map(len, rows))
        ids, mask = [], []
        for row in rows:
            fill, ones = [self.tokenizer.pad_id] * (width - len(row)), [1] * len(row)
            ids.append([*fill, *row] if is_left else [*row, *fill])
            mask.append([*([0] * len(fill)), *ones] if is_left else [*ones, *([0] * len(fill))])
        return torch.tensor(ids, device=self.device), torch.tensor(mask, device=self.device)


class HfAdapter(ABC):
    """Answers requests by a transformers model.

    Args:
        loaded: The model.
        settings: Batch size, overflow policy and decoding.

    Raises:
        InvalidInputError: A setting has a value that it cannot have.
    """

    supports: ClassVar[frozenset[str]]
    """The request kinds that models of this kind answer."""

    def __init__(self, loaded: LoadedModel, settings: ModelSettings) -> None:
        check_policy(settings.on_overflow)
        if settings.batch_size is not None and settings.batch_size < 1:
            raise InvalidInputError(f"batch size is {settings.batch_size}; expected at least 1, or auto")
        self._loaded, self._settings = loaded, settings
        self._tokenizer = loaded.tokenizer
        self._budget = Budget(loaded.device, settings.batch_size)

    @property
    def info(self) -> ModelInfo:
        """The model by name and by the digest of its files."""
        return self._loaded.info

    def prepare(self, context: TaskContext) -> tuple[str, ...]:
        """Nothing is to be prepared, or to be warned of."""
        return ()

    def answer(self, requests: Sequence[Request]) -> Iterator[Response]:
        """Answer every request, in order.

        All texts are made to fit first, so that what cannot be answered is known before any work.

        Raises:
            InvalidInputError: A request is of another kind, or is too long under the policy ``error``, or cannot be answered
                by this model.
        """
        for request in requests:
            if request.kind not in self.supports:
                raise unanswerable(request, f"a model for {' and '.join(sorted(self.supports))}")
        return self._answer(requests)

    @abstractmethod
    def _answer(self, requests: Sequence[Any]) -> Iterator[Response]:
        """Answer requests of the kinds in `supports`."""


def longest_input(model: nn.Module, tokenizer: HfTokenizer) -> int | None:
    """Most tokens that a model reads at once; None where neither it nor its tokenizer names a limit."""
    longest = getattr(model.config, "max_position_embeddings", None)
    if longest is not None:
        for name, module in model.named_modules():
            # RoBERTa and its kin count positions from behind the padding's own.
            if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
                longest -= int(module.padding_idx) + 1
                break
    known = [limit for limit in (longest, tokenizer.max_length) if limit is not None and limit > 0]
    return min(known, default=None)


def _find(ids: Sequence[int], part: Sequence[int]) -> int:
    for start in range(len(ids) - len(part) + 1):
        if list(ids[start : start + len(part)]) == list(part):
            return start
    raise InvalidInputError("the tokenizer splits a text otherwise when special tokens stand around it")
