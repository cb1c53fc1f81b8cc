"""Rows of mini_cws: sentences as words.

Where words end often depends on the sentence: 研究/生命 and 研究生, 和/服装 and 和服, 从/小学 and 从小/学. A quarter
of the sentences is of this sort; names, most of which training never shows, and the rest of the grammar make up the
others.

The standard, close to that of the PKU corpus, is written out in docs/mini.md: people's names are one word; names of
organisations are split into their parts; particles, localizers, demonstratives, numerals and measure words stand alone
(这 个 周末); times that follow one another are words of their own (今天 早上); a result or direction belongs to its
verb where both have one character (修好), else it does not (洗 干净, 翻译 完).
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from evalkit_tasks.mini.lexicon import lexicon
from evalkit_tasks.mini.news import ReportMaker, facts_of, templates
from evalkit_tasks.mini.sentences import SentenceMaker
from evalkit_tasks.mini.streams import Candidate, chance, pick, stream, take
from evalkit_tasks.mini.tables import sections
from evalkit_tasks.mini.templates import Text, Value, fill, parts_of
from evalkit_tasks.mini.translation import chinese_text


class WordMaker:
    """Draws Chinese sentences as words."""

    def __init__(self, rng: Random, has_held: bool) -> None:
        self.rng = rng
        self.reports = ReportMaker(rng, has_held)
        self.sentences = SentenceMaker(rng, has_held)
        self.lexicon = lexicon(has_held)

    def draw(self) -> Text:
        """Draw a sentence from the grammar, from a report or with a place where words may end wrongly."""
        roll = self.rng.random()
        if roll < 0.45:
            return chinese_text(self.sentences.draw())
        return self._reported() if roll < 0.75 else self.ambiguous()

    def _reported(self) -> Text:
        report = self.reports.draw()
        which = pick(self.rng, ("main", "other"))
        if chance(self.rng, 0.15):
            return fill(pick(self.rng, templates("zh", report.kind, "colour"))[0], {}, "zh")
        if chance(self.rng, 0.4):
            return report.told(self.rng, which, "zh")
        return report.fact(self.rng, which, pick(self.rng, facts_of(report.kind)), "zh")

    def ambiguous(self) -> Text:
        """Draw a sentence that a reader from left to right would cut wrongly, or one that only looks like it."""
        template = pick(self.rng, sections("mini_cws.tsv")[""])[0]
        makers: dict[str, Callable[[], Value]] = {
            "person": self._person,
            "city": self.reports.city,
            "role": lambda: Value("", pick(self.rng, self.lexicon.nouns_of("role")).chinese),
            "future": lambda: Value("", pick(self.rng, self.lexicon.times["future"]).chinese),
            "time": lambda: Value("", pick(self.rng, self.lexicon.times["past"]).chinese),
        }
        return fill(template, {slot: makers[slot]() for slot in parts_of(template)[1::2]}, "zh")

    def _person(self) -> Value:
        return Value("", self.reports.names.chinese_person(self.rng).chinese)


def rows(split: str, size: int, seed: int) -> list[dict[str, Any]]:
    """Return sentences as words.

    Args:
        split: train, dev or test.
        size: Number of rows.
        seed: Any whole number.
    """
    makers: list[WordMaker] = []

    def draw(rng: Random) -> Candidate[dict[str, Any]]:
        if not makers:
            makers.append(WordMaker(rng, split != "train"))
        drawn = makers[0].draw()
        return Candidate(drawn.text, lambda: {"words": list(drawn.words)})

    return take(stream("mini_cws", split, seed, draw), size)
