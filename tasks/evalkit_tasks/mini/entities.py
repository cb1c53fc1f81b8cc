"""Rows of mini_ner and mini_ner_zh: tokens with IOB2 tags of people (PER), places (LOC) and organisations (ORG).

A third of the sentences holds a word that names something else elsewhere, or nothing: Chelsea is a person, a place or
a club, Rose is a person or a flower at the start of a sentence. Only the sentence tells.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from evalkit_tasks.mini.news import Report, ReportMaker, facts_of
from evalkit_tasks.mini.sentences import SentenceMaker
from evalkit_tasks.mini.streams import Candidate, chance, pick, stream, take
from evalkit_tasks.mini.tables import sections
from evalkit_tasks.mini.templates import Span, Text, Value, fill, parts_of, tagged_tokens
from evalkit_tasks.mini.translation import chinese_text, english_text

_TAGS = {"PER": "PER", "LOC": "LOC", "RIVER": "LOC", "ORG": "ORG", "CLUB": "ORG"}


class EntityMaker:
    """Draws sentences with their named entities."""

    def __init__(self, rng: Random, language: str, has_held: bool) -> None:
        self.rng = rng
        self.language = language
        self.reports = ReportMaker(rng, has_held)
        self.sentences = SentenceMaker(rng, has_held)
        self.table = sections(f"mini_ner_{language}.tsv")

    def draw(self) -> Text:
        """Draw a sentence from a report, from the grammar or with an ambiguous word."""
        roll = self.rng.random()
        if roll < 0.4:
            return self._reported()
        if roll < 0.65:
            sentence = self.sentences.draw()
            return english_text(sentence) if self.language == "en" else chinese_text(sentence)
        return self.ambiguous()

    def _reported(self) -> Text:
        report: Report = self.reports.draw()
        which = pick(self.rng, ("main", "main", "other"))
        if chance(self.rng, 0.4):
            return report.told(self.rng, which, self.language)
        return report.fact(self.rng, which, pick(self.rng, facts_of(report.kind)), self.language)

    def ambiguous(self) -> Text:
        """Draw a sentence whose context alone tells what a word names."""
        if chance(self.rng, 0.3):
            return self._filled(pick(self.rng, self.table["O"])[0], "", "")
        word, senses = pick(self.rng, self.table["names"])
        sense = pick(self.rng, senses.split(","))
        return self._filled(pick(self.rng, self.table[sense])[0], word, _TAGS[sense])

    def _filled(self, template: str, word: str, tag: str) -> Text:
        makers: dict[str, Callable[[], Value]] = {
            "X": lambda: Value(word, word, tag),
            "person": self.reports.person,
            "city": self.reports.city,
            "org": self.reports.organisation,
            "team": self.reports.team,
            "score": self.reports.score,
            "day": self.reports.day,
        }
        values = {slot: makers[slot]() for slot in parts_of(template)[1::2]}
        return fill(template, values, self.language)


def rows(language: str, split: str, size: int, seed: int) -> list[dict[str, Any]]:
    """Return tokens and tags; English tokens are words and punctuation marks, Chinese ones characters.

    Args:
        language: en or zh.
        split: train, dev or test.
        size: Number of rows.
        seed: Any whole number.
    """
    makers: list[EntityMaker] = []

    def draw(rng: Random) -> Candidate[dict[str, Any]]:
        if not makers:
            makers.append(EntityMaker(rng, language, split != "train"))
        drawn = makers[0].draw()

        def build() -> dict[str, Any]:
            entities: list[Span] = drawn.entities()
            tokens, tags = tagged_tokens(drawn.text, entities, language)
            return {"tokens": tokens, "tags": tags}

        return Candidate(drawn.text, build)

    return take(stream(f"mini_ner {language}", split, seed, draw), size)
