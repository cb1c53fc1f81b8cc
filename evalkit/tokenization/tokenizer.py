"""One tokenizer, whatever its model: ids, places in the text, words, and the frame of special tokens."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from evalkit.digests import digest_json
from evalkit.errors import InvalidInputError
from evalkit.tokenization.frame import Frame, read_frame
from evalkit.tokenization.offsets import Span, continues_character, exact_spans
from evalkit.tokenization.stream import TextStream

if TYPE_CHECKING:
    import tokenizers

ROLES = ("bos", "eos", "pad", "unk", "mask", "cls", "sep")
"""What a special token can be for, in the words of `special_tokens_map.json` without `_token`."""

_WORDS_KEPT = 1 << 17


@dataclass(frozen=True, slots=True)
class Encoding:
    """A text as tokens, without special tokens around it."""

    ids: tuple[int, ...]
    """Token ids."""
    offsets: tuple[Span, ...]
    """The characters of the text that each token stands for; tokens inside one character share its span."""


@dataclass(frozen=True, slots=True)
class WordEncoding:
    """Words as tokens, without special tokens around them; every word has at least one token."""

    ids: tuple[int, ...]
    """Token ids."""
    word_of_token: tuple[int, ...]
    """Index of the word that each token belongs to, ascending."""


class Tokenizer:
    """A tokenizer of the `tokenizers` library, read-only.

    Text is data: the name of a special token inside a text is read as ordinary characters, never as the token.

    Args:
        backend: The library's tokenizer; taken over, with truncation and padding switched off.
        special: Role, one of `ROLES`, to the special token's text.

    Raises:
        InvalidInputError: A role is not known, or its token is not in the vocabulary.
    """

    def __init__(self, backend: tokenizers.Tokenizer, special: Mapping[str, str]) -> None:
        backend.no_truncation()
        backend.no_padding()
        backend.encode_special_tokens = True
        self._backend = backend
        self.special_tokens: Mapping[str, str] = {role: special[role] for role in ROLES if role in special}
        """Role to text of the special tokens that there are."""
        self._ids = {role: self._known_id(role, token) for role, token in special.items()}
        self._special_names = {
            index: token.content for index, token in backend.get_added_tokens_decoder().items() if token.special
        }
        named = {index for role, index in self._ids.items() if role != "unk"}
        # An unk token is an honest answer to text, the others are not; some models use one token for both.
        self._unreachable = frozenset(self._special_names.keys() - ({self._ids.get("unk")} - named))
        self._word_ids = lru_cache(maxsize=_WORDS_KEPT)(self._encode_word)

    def _known_id(self, role: str, token: str) -> int:
        if role not in ROLES:
            raise InvalidInputError(f"special token role {role!r} is not one of {', '.join(ROLES)}")
        found = self._backend.token_to_id(token)
        if found is None:
            raise InvalidInputError(f"the {role} token {token!r} is not in the vocabulary; add it to tokenizer.json")
        return found

    @classmethod
    def from_json(cls, text: str, special: Mapping[str, str]) -> Tokenizer:
        """Read the content of a `tokenizer.json`.

        Args:
            text: The JSON.
            special: Role to text of the special tokens.

        Raises:
            InvalidInputError: The JSON is not a tokenizer's.
        """
        import tokenizers

        try:
            backend = tokenizers.Tokenizer.from_str(text)
        except Exception as error:  # the library raises plain Exception
            raise InvalidInputError(f"not a tokenizer of the tokenizers library: {error}") from error
        return cls(backend, special)

    @property
    def bos_id(self) -> int | None:
        """The id that opens a text."""
        return self._ids.get("bos")

    @property
    def eos_id(self) -> int | None:
        """The id that ends a text."""
        return self._ids.get("eos")

    @property
    def pad_id(self) -> int | None:
        """The id that fills up a batch."""
        return self._ids.get("pad")

    @property
    def unk_id(self) -> int | None:
        """The id for what the vocabulary does not hold."""
        return self._ids.get("unk")

    @property
    def mask_id(self) -> int | None:
        """The id that hides a token from a masked language model."""
        return self._ids.get("mask")

    @property
    def cls_id(self) -> int | None:
        """The id whose hidden state stands for a whole text."""
        return self._ids.get("cls")

    @property
    def sep_id(self) -> int | None:
        """The id that separates two texts."""
        return self._ids.get("sep")

    @property
    def special_ids(self) -> frozenset[int]:
        """All ids that stand for no text."""
        return frozenset(self._special_names)

    @cached_property
    def token_count(self) -> int:
        """Number of tokens, special and added ones with them."""
        return self._backend.get_vocab_size(with_added_tokens=True)

    @cached_property
    def largest_id(self) -> int:
        """The largest id; a model's embedding needs one row more."""
        return max(self._backend.get_vocab(with_added_tokens=True).values())

    @cached_property
    def _has_character_map(self) -> bool:
        return '"Precompiled"' in json.dumps(json.loads(self._backend.to_str())["normalizer"])

    @cached_property
    def digest(self) -> str:
        """Digest of everything that changes ids or text."""
        return digest_json({"tokenizer": json.loads(self._backend.to_str()), "special": dict(self.special_tokens)})

    @cached_property
    def frame(self) -> Frame:
        """The special tokens around a text."""
        processor = json.loads(self._backend.to_str())["post_processor"]
        return read_frame(processor) or Frame()

    def to_json(self) -> str:
        """Write the content of a `tokenizer.json`."""
        return self._backend.to_str(pretty=True)

    def id_of(self, token: str) -> int | None:
        """Find a token's id by its name in the vocabulary, e.g. ``<extra_id_0>``."""
        return self._backend.token_to_id(token)

    def name_of(self, token_id: int) -> str | None:
        """Find a token's name in the vocabulary."""
        return self._backend.id_to_token(token_id)

    def encode(self, text: str) -> Encoding:
        """Split a text into tokens, with their places.

        Raises:
            InvalidInputError: The text holds half of a surrogate pair.
        """
        ids, spans = self._located(self._backend, text)
        if not self._unreachable.isdisjoint(ids):
            ids, spans = self._encode_around_names(text)
        return Encoding(tuple(ids), exact_spans(text, spans))

    def ids(self, text: str) -> list[int]:
        """Split a text into tokens, without their places, which is faster.

        Raises:
            InvalidInputError: The text holds half of a surrogate pair.
        """
        return self.ids_of_each([text])[0]

    def ids_of_each(self, texts: Sequence[str]) -> list[list[int]]:
        """Split each text into tokens, without their places.

        Raises:
            InvalidInputError: A text holds half of a surrogate pair.
        """
        try:
            found = self._backend.encode_batch_fast(texts, add_special_tokens=False)
        except (TypeError, UnicodeError):
            for text in texts:
                _encoded(self._backend, text)
            raise
        return [
            encoding.ids if self._unreachable.isdisjoint(encoding.ids) else self._encode_around_names(text)[0]
            for text, encoding in zip(texts, found, strict=True)
        ]

    def _located(self, backend: tokenizers.Tokenizer, text: str) -> tuple[list[int], list[Span]]:
        """Encode a text and repair the places where the library's SentencePiece normaliser miscounts dropped characters."""
        found = _encoded(backend, text)
        if not self._has_character_map or (text.isascii() and text.isprintable()):
            return found.ids, found.offsets

        def is_dropped(part: str) -> bool:
            return backend.normalizer is not None and not backend.normalizer.normalize_str(part)

        # Characters dropped at the start of the text are not counted at all.
        start = next((place for place, character in enumerate(text) if not is_dropped(character)), len(text))
        rest = _encoded(backend, text[start:]) if start else found
        if rest.ids != found.ids:
            rest, start = found, 0
        spans: list[Span] = []
        for low, high in rest.offsets:
            span = (start + low, start + high)
            # What a character is expanded to can spill over onto a dropped one behind it, or onto its own accent.
            spills = spans and (is_dropped(text[slice(*span)]) or continues_character(text[span[0]]))
            spans.append(spans[-1] if spills else span)
        return found.ids, spans

    def _encode_around_names(self, text: str) -> tuple[list[int], list[Span]]:
        """Encode a text in which the model finds a special token, by cutting every such name after its first character.

        Some vocabularies hold the names as ordinary pieces, which the library's own switch does not cover.
        """
        import re

        names = sorted((name for name in self._special_names.values() if len(name) > 1), key=len, reverse=True)
        ends = [match.start() + 1 for match in re.finditer("|".join(map(re.escape, names)), text)] if names else []
        ids: list[int] = []
        spans: list[Span] = []
        for start, end in zip([0, *ends], [*ends, len(text)], strict=True):
            part = self._located(self._backend if start == 0 else self._continuing[0], text[start:end])
            ids += part[0]
            spans += [(start + low, start + high) for low, high in part[1]]
        return ids, spans

    @cached_property
    def _continuing(self) -> tuple[tokenizers.Tokenizer, bool]:
        """A copy that puts no blank before a text, and whether this one does."""
        import tokenizers

        content = json.loads(self._backend.to_str())
        plain = _without_prefix(content)
        backend = tokenizers.Tokenizer.from_str(json.dumps(plain))
        backend.encode_special_tokens = True
        return backend, plain != content

    def encode_words(self, words: Sequence[str], separator: str = " ") -> WordEncoding:
        """Split words into tokens, each word for itself, as in a text of the words joined by the separator.

        Args:
            words: Words or characters, as a labelled data set has them.
            separator: What stands between words in text of this language: a blank, or '' for Chinese and Japanese.

        Raises:
            InvalidInputError: The tokenizer drops a word and has no unk token, or a word holds half of a surrogate pair.
        """
        ids: list[int] = []
        word_of_token: list[int] = []
        for index, word in enumerate(words):
            found = self._word_ids(word, None if index == 0 else separator)
            ids += found
            word_of_token += [index] * len(found)
        return WordEncoding(tuple(ids), tuple(word_of_token))

    def _encode_word(self, word: str, separator: str | None) -> tuple[int, ...]:
        """Encode a word after a separator, or one that opens a text, where that is None."""
        continuing, has_prefix = self._continuing
        if separator is None or (separator.isspace() and has_prefix):
            found = _encoded(self._backend, word).ids
        elif separator:
            found = _encoded(self._backend, separator + word).ids
        else:
            found = _encoded(continuing, word).ids
        found = [index for index in found if index not in self._unreachable]
        if not found and self.unk_id is None:
            raise InvalidInputError(f"the tokenizer drops the word {word!r} and has no unk token; remove the word")
        return tuple(found) or (self._ids["unk"],)

    def decode(self, ids: Sequence[int]) -> str:
        """Join tokens to a text, special tokens left out."""
        return self._backend.decode(ids, skip_special_tokens=True)

    def stream(self) -> TextStream:
        """Open a stream that turns tokens into text as they arrive."""
        return TextStream(self.decode)


def _encoded(backend: tokenizers.Tokenizer, text: str) -> tokenizers.Encoding:
    try:
        return backend.encode(text, add_special_tokens=False)
    except (TypeError, UnicodeError) as error:
        raise InvalidInputError(f"{text[:40]!r} cannot be encoded as UTF-8; remove half surrogate pairs") from error


def _without_prefix(part: Any) -> Any:  # noqa: ANN401 (any JSON)
    """Copy a tokenizer's JSON without what puts a blank before a text."""
    if isinstance(part, list):
        return [_without_prefix(inner) for inner in part]
    if not isinstance(part, dict):
        return part
    if part.get("type") == "Prepend":
        return {"type": "Sequence", "normalizers": []}
    copied = {}
    for key, value in part.items():
        if key in ("model", "added_tokens", "decoder", "post_processor"):
            copied[key] = value
        elif key == "add_prefix_space":
            copied[key] = False
        elif key == "prepend_scheme":
            copied[key] = "never"
        else:
            copied[key] = _without_prefix(value)
    return copied
