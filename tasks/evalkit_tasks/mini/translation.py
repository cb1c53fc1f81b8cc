"""Rows of mini_mt_en_zh and mini_mt_zh_en: sentence pairs."""

from __future__ import annotations

from random import Random
from typing import Any

from evalkit_tasks.mini.lexicon import groups
from evalkit_tasks.mini.phrases import Pieces
from evalkit_tasks.mini.sentences import Sentence, SentenceMaker
from evalkit_tasks.mini.streams import Candidate, stream, take
from evalkit_tasks.mini.templates import Span, Text

_ATTACHED = frozenset((",", "'s"))


def written(pieces: Pieces, end: str, language: str) -> Text:
    """Join pieces to a sentence with its end mark; the spans are its named entities.

    English sentences get a capital letter and no space before punctuation, Chinese ones no spaces at all.
    """
    parts: list[str] = []
    spans: list[Span] = []
    length = 0
    for piece in pieces:
        word, tag = (piece, "") if isinstance(piece, str) else piece
        space = " " if parts and language == "en" and word not in _ATTACHED else ""
        start = length + len(space)
        length = start + len(word)
        parts.append(space + word)
        if tag:
            spans.append(Span("", start, length, tag))
    text = "".join(parts) + end
    words = () if language == "en" else (*(word if isinstance(word, str) else word[0] for word in pieces), end)
    return Text(text[0].upper() + text[1:], tuple(spans), words)


def english_text(sentence: Sentence) -> Text:
    """Write a sentence in English."""
    return written(sentence.english, "?" if sentence.is_question else ".", "en")


def chinese_text(sentence: Sentence) -> Text:
    """Write a sentence in Chinese."""
    return written(sentence.chinese, "？" if sentence.is_question else "。", "zh")


def rows(source: str, split: str, size: int, seed: int) -> list[dict[str, Any]]:
    """Return sentence pairs; both directions have the same pairs.

    Args:
        source: Language of the source, en or zh; the reference is in the other one.
        split: train, dev or test.
        size: Number of rows.
        seed: Any whole number.
    """
    makers: list[SentenceMaker] = []

    def draw(rng: Random) -> Candidate[dict[str, Any]]:
        if not makers:
            makers.append(SentenceMaker(rng, split != "train"))
        sentence = makers[0].draw()
        return Candidate(sentence.key(groups()), lambda: _row(sentence, source))

    return take(stream("mini_mt", split, seed, draw), size)


def _row(sentence: Sentence, source: str) -> dict[str, Any]:
    english, chinese = english_text(sentence).text, chinese_text(sentence).text
    if source == "en":
        return {"source": english, "references": [chinese]}
    return {"source": chinese, "references": [english]}
