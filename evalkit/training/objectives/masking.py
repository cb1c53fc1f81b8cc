"""Which tokens a masked language model has to guess, and what it sees in their place.

References:
    Devlin et al. (2019), "BERT", section 3.1 and appendix A.1: 15%, of which 80% hidden, 10% replaced, 10% left; and the released
    code: how many tokens a text loses, and masking of whole words.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from evalkit.errors import InvalidInputError
from evalkit.tokenization import Tokenizer
from evalkit.tokenization.offsets import Span
from evalkit.training.recipe_objectives import MaskedLmOptions

_WORD = re.compile(
    r"[\u2e80-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]|\w(?:(?![\u2e80-\u9fff\uf900-\ufaff])\w)*|[^\w\s]"
)
"""A Chinese or Japanese character, a run of other letters and digits, or one mark."""


@dataclass(frozen=True, slots=True)
class Masked:
    """A text with hidden tokens."""

    shown: Tensor
    """Token ids that the model sees, `(n,)`."""
    places: Tensor
    """Where it has to guess, ascending, `(m,)`."""
    labels: Tensor
    """The tokens that were there, `(m,)`."""


class Masking:
    """Chooses and hides tokens.

    Args:
        tokenizer: With a mask token.
        options: Rates, and whether whole words are hidden.

    Raises:
        InvalidInputError: The tokenizer has no mask token, or only special tokens.
    """

    def __init__(self, tokenizer: Tokenizer, options: MaskedLmOptions) -> None:
        if tokenizer.mask_id is None:
            raise InvalidInputError("the tokenizer has no mask token; masked language models hide tokens by it")
        self._mask_id, self._options = tokenizer.mask_id, options
        special = tokenizer.special_ids
        self._special = torch.tensor(sorted(special), dtype=torch.long)
        self._ordinary = torch.tensor([index for index in range(tokenizer.largest_id + 1) if index not in special])
        if not len(self._ordinary):
            raise InvalidInputError("the tokenizer has special tokens only; expected tokens of text")

    def hide(self, ids: Tensor, words: Tensor, generator: torch.Generator) -> Masked:
        """Hide some tokens of a text; never special ones, so [CLS] and [SEP] stay and unk is never guessed.

        Args:
            ids: Token ids, special ones included, `(n,)`.
            words: Number of the word that each token belongs to, `(n,)`; read where whole words are hidden.
            generator: Draws everything.
        """
        candidates = torch.nonzero(~torch.isin(ids, self._special))[:, 0]
        count = max(1, round(len(candidates) * self._options.mask_rate)) if len(candidates) else 0
        if self._options.whole_word:
            places = _whole_words(candidates, words[candidates], count, generator)
        else:
            places = candidates[torch.randperm(len(candidates), generator=generator)[:count]].sort().values
        labels = ids[places]
        chance = torch.rand(len(places), generator=generator)
        other = self._ordinary[torch.randint(len(self._ordinary), (len(places),), generator=generator)]
        hidden, random = self._options.mask_share, self._options.random_share
        shown = ids.clone()
        shown[places] = torch.where(
            chance < hidden, self._mask_id, torch.where(chance < hidden + random, other, labels)
        )
        return Masked(shown, places, labels)


def _whole_words(candidates: Tensor, words: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Choose words in random order, leaving out one that would be too much, as the released code does.

    The first word is always taken, however long it is, or a text of one word would teach nothing.
    """
    different, sizes = torch.unique_consecutive(words, return_counts=True)
    starts = sizes.cumsum(0) - sizes
    chosen: list[int] = []
    for word in torch.randperm(len(different), generator=generator).tolist():
        size = int(sizes[word])
        if not chosen or len(chosen) + size <= count:
            chosen += range(int(starts[word]), int(starts[word]) + size)
        if len(chosen) >= count:
            break
    return candidates[torch.tensor(sorted(chosen), dtype=torch.long)]


def word_of_each(text: str, offsets: Sequence[Span], words: Sequence[str] | None) -> list[int]:
    """Number the words of a text and say which one each token belongs to.

    >>> word_of_each("a cat 北京", [(0, 1), (2, 4), (4, 5), (6, 7), (7, 8)], None)
    [0, 1, 1, 2, 3]

    Args:
        text: The text.
        offsets: The characters of each token.
        words: The words of the text, joined by nothing, where the data has them. Without them a Chinese character is a word, as
            is a run of other letters and digits, and each other sign.
    """
    number_of: dict[int, int] = {}
    for number, (start, end) in enumerate(_spans(text, words)):
        number_of.update(dict.fromkeys(range(start, end), number))
    numbers: list[int] = []
    for start, end in offsets:
        known = next((number_of[place] for place in range(start, end) if place in number_of), None)
        numbers.append(known if known is not None else (numbers[-1] if numbers else 0))
    return numbers


def _spans(text: str, words: Sequence[str] | None) -> Iterator[Span]:
    if words is not None and "".join(words) == text:
        yield from itertools.pairwise(itertools.accumulate(map(len, words), initial=0))
        return
    for match in _WORD.finditer(text):
        yield match.span()
