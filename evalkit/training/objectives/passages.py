"""What a masked language model reads at once: windows of texts, or pairs of neighbouring texts.

References:
    Devlin et al. (2019), "BERT", section 3.1, task 2, and the released code: how pairs are put together and cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from evalkit.errors import InvalidInputError
from evalkit.tokenization import Tokenizer
from evalkit.training.objectives.masking import word_of_each
from evalkit.training.texts import Document

NO_WORD = -1
"""Number of the word that a special token belongs to."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A text as it is read, special tokens included."""

    ids: Tensor
    """`(n,)`."""
    words: Tensor
    """Number of each token's word, `(n,)`."""
    second_from: int | None = None
    """Where the second text of a pair begins."""
    follows: bool = True
    """Whether the second text is the one that follows the first."""


@dataclass(frozen=True, slots=True)
class _Tokens:
    """Tokens without special ones, and the words that they belong to."""

    ids: list[int]
    words: list[int]


class TextWindows:
    """Texts in their frame; one that is longer than a sequence in windows that follow one another.

    Args:
        documents: The texts.
        tokenizer: The model's.
        max_length: Tokens of a sequence, special ones included.
        has_words: Whether it is needed which word each token belongs to.
        is_joined: Whether all texts are one long text, with the token that ends a sequence between them
            (Liu et al., 2019, section 4.2, FULL-SENTENCES).

    Raises:
        InvalidInputError: The texts have no tokens, or a sequence has no room for them.
    """

    def __init__(
        self,
        documents: Sequence[Document],
        tokenizer: Tokenizer,
        max_length: int,
        *,
        has_words: bool,
        is_joined: bool = False,
    ) -> None:
        frame = tokenizer.frame
        self._before, self._after = (torch.tensor(part, dtype=torch.long) for part in (frame.before, frame.after))
        self._special = len(frame.single(()))
        room = max_length - self._special
        _check_room(room, max_length)
        texts = [tokens for tokens in _tokens_of_each(documents, tokenizer, has_words=has_words) if tokens.ids]
        if not texts:
            raise InvalidInputError("found no text to train on; expected at least one token")
        if is_joined:
            texts = [_joined(texts, list(frame.after))]
        # Compact, for a corpus has more tokens than Python has room for numbers.
        self._ids = [torch.tensor(text.ids, dtype=torch.int32) for text in texts]
        self._words = [torch.tensor(text.words, dtype=torch.int32) for text in texts] if has_words else []
        self._windows = [
            (number, start, min(start + room, len(ids)))
            for number, ids in enumerate(self._ids)
            for start in range(0, len(ids), room)
        ]

    @property
    def lengths(self) -> list[int]:
        """Tokens of each window, special ones included."""
        return [end - start + self._special for _, start, end in self._windows]

    def draw(self, place: int, generator: torch.Generator) -> Drawn:
        """Give one window; nothing about it is drawn."""
        number, start, end = self._windows[place]
        ids = torch.cat((self._before, self._ids[number][start:end], self._after)).long()
        words = torch.full_like(ids, NO_WORD)
        if self._words:
            words[len(self._before) : len(ids) - len(self._after)] = self._words[number][start:end].long()
        return Drawn(ids, words)


class SentencePairs:
    """Pairs of texts, the second of which follows the first in half of them and is from another document in the others.

    Args:
        documents: Texts whose lines are sentences; two or more.
        tokenizer: The model's.
        max_length: Tokens of a pair, special ones included.
        has_words: Whether it is needed which word each token belongs to.

    Raises:
        InvalidInputError: There are not two documents, or a pair has no room for them.
    """

    def __init__(
        self, documents: Sequence[Document], tokenizer: Tokenizer, max_length: int, *, has_words: bool
    ) -> None:
        self._frame = tokenizer.frame
        self._room = max_length - len(self._frame.pair((), ())[0])
        _check_room(self._room - 1, max_length)
        found = [_sentences(document, tokenizer, has_words=has_words) for document in documents]
        self._documents = [sentences for sentences in found if sentences]
        if len(self._documents) < 2:
            raise InvalidInputError(
                f"found {len(self._documents)} documents with text, expected at least 2: a pair that does not belong together"
                " needs another one; see documents of [data]"
            )
        self._chunks = [
            (number, chunk)
            for number, sentences in enumerate(self._documents)
            for chunk in _chunks(sentences, self._room)
        ]

    @property
    def lengths(self) -> list[int]:
        """The most tokens of each pair, special ones included."""
        special = len(self._frame.pair((), ())[0])
        return [
            min(self._room, sum(len(self._documents[number][place].ids) for place in chunk)) + special
            if len(chunk) > 1
            else self._room + special
            for number, chunk in self._chunks
        ]

    def draw(self, place: int, generator: torch.Generator) -> Drawn:
        """Cut a chunk of neighbouring sentences in two, or take its beginning and the sentences of another document."""
        number, chunk = self._chunks[place]
        sentences = [self._documents[number][index] for index in chunk]
        cut = _below(len(sentences) - 1, generator) + 1 if len(sentences) > 1 else 1
        follows = len(sentences) > 1 and _below(2, generator) == 0
        first = _concatenated(sentences[:cut])
        second = _concatenated(sentences[cut:]) if follows else self._elsewhere(number, len(first.ids), generator)
        first, second = self._shortened(first, second, generator)
        frame = self._frame
        ids, segments = frame.pair(first.ids, second.ids)
        apart = first.words[-1] + 1 if first.words else 0
        words = [NO_WORD] * len(ids)
        start, middle = len(frame.pair_before), len(ids) - len(second.ids) - len(frame.pair_after)
        words[start : start + len(first.ids)] = first.words
        words[middle : middle + len(second.ids)] = [word + apart for word in second.words]
        second_from = segments.index(1) if 1 in segments else None
        return Drawn(torch.tensor(ids), torch.tensor(words), second_from, follows)

    def _elsewhere(self, number: int, taken: int, generator: torch.Generator) -> _Tokens:
        """Take sentences of another document until the pair is full."""
        other = _below(len(self._documents) - 1, generator)
        sentences = self._documents[other + (other >= number)]
        start = _below(len(sentences), generator)
        kept: list[_Tokens] = []
        for sentence in sentences[start:]:
            kept.append(sentence)
            if taken + sum(len(one.ids) for one in kept) >= self._room:
                break
        return _concatenated(kept)

    def _shortened(self, first: _Tokens, second: _Tokens, generator: torch.Generator) -> tuple[_Tokens, _Tokens]:
        """Cut the longer text, token by token, in front or behind at random."""
        texts, ends = [first, second], [[0, len(first.ids)], [0, len(second.ids)]]
        while sum(end - start for start, end in ends) > self._room:
            longer = ends[0] if ends[0][1] - ends[0][0] > ends[1][1] - ends[1][0] else ends[1]
            if _below(2, generator):
                longer[0] += 1
            else:
                longer[1] -= 1
        cut = [
            _Tokens(text.ids[start:end], text.words[start:end]) for text, (start, end) in zip(texts, ends, strict=True)
        ]
        return cut[0], cut[1]


def _tokens_of_each(documents: Sequence[Document], tokenizer: Tokenizer, *, has_words: bool) -> Iterator[_Tokens]:
    if not has_words:
        for ids in tokenizer.ids_of_each([document.text for document in documents]):
            yield _Tokens(ids, [0] * len(ids))
        return
    for document in documents:
        encoded = tokenizer.encode(document.text)
        yield _Tokens(list(encoded.ids), word_of_each(document.text, encoded.offsets, document.words))


def _sentences(document: Document, tokenizer: Tokenizer, *, has_words: bool) -> list[_Tokens]:
    lines = [Document(line) for line in document.text.splitlines() if line.strip()]
    return [tokens for tokens in _tokens_of_each(lines, tokenizer, has_words=has_words) if tokens.ids]


def _concatenated(parts: Sequence[_Tokens]) -> _Tokens:
    """Join tokens; words of different parts stay different."""
    return _joined(parts, [])


def _joined(parts: Sequence[_Tokens], between: list[int]) -> _Tokens:
    ids: list[int] = []
    words: list[int] = []
    known = 0
    for part in parts:
        if ids:
            ids += between
            words += [NO_WORD] * len(between)
        ids += part.ids
        words += [word + known for word in part.words]
        known += part.words[-1] + 1 if part.words else 0
    return _Tokens(ids, words)


def _chunks(sentences: Sequence[_Tokens], room: int) -> Iterator[range]:
    """Cut a document into runs of sentences that fill a pair."""
    start = length = 0
    for place, sentence in enumerate(sentences):
        length += len(sentence.ids)
        if length >= room or place == len(sentences) - 1:
            yield range(start, place + 1)
            start, length = place + 1, 0


def _below(count: int, generator: torch.Generator) -> int:
    """Draw a number from 0 to `count` - 1."""
    return int(torch.randint(count, (), generator=generator))


def _check_room(room: int, max_length: int) -> None:
    if room < 1:
        raise InvalidInputError(
            f"max_length is {max_length} and special tokens fill all of it; give a longer one, so that texts have room"
        )
