"""Texts with slots: filling them keeps where each slot stands, so answers, entities and word borders are read off exactly."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import NamedTuple

_SLOT = re.compile(r"\{(\w+)\}")
_ENGLISH_TOKEN = re.compile(r"\d+(?:[.,:-]\d+)*|'s(?![^\W_])|[^\W\d_]+(?:['-](?!s\b)[^\W\d_]+)*|\S")


class Value(NamedTuple):
    """What fills a slot, in both languages."""

    english: str
    chinese: str
    """Words separated by spaces."""
    tag: str = ""
    """PER, LOC or ORG; '' for what is no named entity."""
    english_aliases: tuple[str, ...] = ()
    """Parts of the English text that are right answers too."""
    chinese_aliases: tuple[str, ...] = ()

    def of(self, language: str) -> str:
        """Return the text in a language, Chinese with spaces between words."""
        return self.english if language == "en" else self.chinese

    def aliases(self, language: str) -> tuple[str, ...]:
        """Return further right answers in a language."""
        return self.english_aliases if language == "en" else self.chinese_aliases


class Span(NamedTuple):
    """Where a slot stands in a text."""

    slot: str
    start: int
    end: int
    tag: str


class Text(NamedTuple):
    """A filled template."""

    text: str
    spans: tuple[Span, ...]
    words: tuple[str, ...]
    """Chinese: the words of the text; English: empty."""

    def find(self, slot: str) -> Span | None:
        """Return the first place of a slot."""
        return next((span for span in self.spans if span.slot == slot), None)

    def entities(self) -> list[Span]:
        """Return the spans of named entities."""
        return [span for span in self.spans if span.tag]


@cache
def parts_of(template: str) -> tuple[str, ...]:
    """Split a template into literal texts and, at odd places, slot names."""
    return tuple(_SLOT.split(template))


def fill(template: str, values: Mapping[str, Value], language: str) -> Text:
    """Fill a template.

    Args:
        template: Text with ``{slot}`` marks; Chinese templates have spaces between words.
        values: Slot name to value.
        language: en or zh.
    """
    pieces: list[str] = []
    spans: list[Span] = []
    length = 0
    for index, part in enumerate(parts_of(template)):
        value = values[part] if index % 2 else None
        written = part if value is None else value.of(language)
        shown = len(written) if language == "en" else len(written) - written.count(" ")
        if value is not None:
            spans.append(Span(part, length, length + shown, value.tag))
        pieces.append(written)
        length += shown
    joined = "".join(pieces)
    if language == "en":
        return Text(joined[0].upper() + joined[1:], tuple(spans), ())
    words = tuple(joined.split())
    return Text("".join(words), tuple(spans), words)


def tagged_tokens(text: str, entities: Iterable[Span], language: str) -> tuple[list[str], list[str]]:
    """Split a text into tokens with IOB2 tags: English words and punctuation marks, Chinese characters."""
    places = [(match.start(), match.group()) for match in _ENGLISH_TOKEN.finditer(text)]
    if language == "zh":
        places = list(enumerate(text))
    tags = ["O"] * len(places)
    for span in entities:
        inside = [index for index, (start, _) in enumerate(places) if span.start <= start < span.end]
        for position, index in enumerate(inside):
            tags[index] = f"{'I' if position else 'B'}-{span.tag}"
    return [token for _, token in places], tags
