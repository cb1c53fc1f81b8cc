"""Rows of mini_classification and mini_classification_zh: short reviews that are positive, negative or neutral.

Words alone do not tell: a bad word may be negated, or belong to what others said, to the last visit, or to the half
of the sentence that does not count; neutral reviews weigh good words against bad ones.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from evalkit_tasks.mini.news import ReportMaker
from evalkit_tasks.mini.streams import Candidate, between, chance, pick, pick_two, stream, take
from evalkit_tasks.mini.tables import sections
from evalkit_tasks.mini.templates import Value, parts_of

LABELS = {"en": ("positive", "negative", "neutral"), "zh": ("好评", "差评", "中评")}
_WAS = {"en": "the {thing} was {judged}", "zh": "{thing}{judged}"}
_FELT = {"en": "I {felt} the {thing}", "zh": "我{felt}{thing}"}
_NOT_LIKED = {"en": "I cannot say that I {felt} the {thing}", "zh": "不能说我{felt}{thing}"}
_NOT_DISLIKED = {
    "en": "there was nothing about the {thing} that I {felt}",
    "zh": "{thing}没有什么地方让我{felt}",
}


class OpinionMaker:
    """Draws reviews."""

    def __init__(self, rng: Random, language: str, has_held: bool) -> None:
        self.rng = rng
        self.language = language
        self.reports = ReportMaker(rng, has_held)
        self.table = sections(f"mini_opinions_{language}.tsv")
        self.domains = self.table["domains"] + (self.table["unseen"] if has_held else [])
        self.domain, self.aspects = "", [""]

    def draw(self) -> tuple[str, str]:
        """Draw a review and its label."""
        rng = self.rng
        domain, things, people = pick(rng, self.domains)
        self.domain = domain
        self.aspects = [*things.split(","), *people.split(",")]
        positive, negative, neutral = LABELS[self.language]
        label = pick(rng, (positive, negative, neutral))
        sentences = [self._neutral() if label == neutral else self._judged(label == positive)]
        if chance(rng, 0.6):
            sentences.insert(between(rng, 0, 1), self._fact())
        if label != neutral and chance(rng, 0.12):
            sentences.append(self._of("verdict_good" if label == positive else "verdict_bad"))
        texts = [text[0].upper() + text[1:] for text in sentences]
        return (" " if self.language == "en" else "").join(texts), label

    def _of(self, section: str) -> str:
        return pick(self.rng, self.table[section])[0]

    def _adjective(self, is_good: bool) -> str:
        return self._of("good" if is_good else "bad")

    def clause(self, is_good: bool, thing: str) -> str:
        """Return a clause that praises or blames a thing, in plain or in negated words."""
        if chance(self.rng, 0.76):
            return self.statement(is_good, thing)
        is_plain = chance(self.rng, 0.5)
        felt = self._of("liked" if is_good == is_plain else "disliked")
        negated = _NOT_DISLIKED if is_good else _NOT_LIKED
        return (_FELT if is_plain else negated)[self.language].replace("{felt}", felt).replace("{thing}", thing)

    def statement(self, is_good: bool, thing: str) -> str:
        """Return a clause that says what a thing was like, which anybody may say, not what I felt about it."""
        if chance(self.rng, 0.53):
            judged = self._of("plain").replace("{adj}", self._adjective(is_good))
        else:
            judged = self._of("flip").replace("{adj}", self._adjective(not is_good))
        return _WAS[self.language].replace("{thing}", thing).replace("{judged}", judged)

    def _judged(self, is_good: bool) -> str:
        first, second = pick_two(self.rng, self.aspects)
        if chance(self.rng, 0.45):
            return self.clause(is_good, first) + ("." if self.language == "en" else "。")
        texts = {
            "yes": self.clause(is_good, first),
            "no": self.clause(not is_good, second),
            "said": self.statement(not is_good, second),
            "wrong": self._adjective(not is_good),
            "thing": second,
            "domain": self.domain,
        }
        return self._filled(self._of("contrast"), texts)

    def _neutral(self) -> str:
        first, second = pick_two(self.rng, self.aspects)
        texts = {"thing": first, "other": second, "good": self._adjective(True), "bad": self._adjective(False)}
        return self._filled(self._of("neutral"), texts)

    def _fact(self) -> str:
        return self._filled(self._of("facts"), {})

    def _filled(self, template: str, texts: dict[str, str]) -> str:
        makers: dict[str, Callable[[], Value]] = {
            "city": self.reports.city,
            "person": self.reports.person,
            "day": self.reports.day,
        }
        parts = list(parts_of(template))
        for index in range(1, len(parts), 2):
            slot = parts[index]
            if slot == "people":
                parts[index] = self._filled(self._of("people"), {})
            elif slot in makers:
                parts[index] = makers[slot]().of(self.language).replace(" ", "" if self.language == "zh" else " ")
            else:
                parts[index] = texts.get(slot) or self._number(slot)
        return "".join(parts)

    def _number(self, slot: str) -> str:
        return str(between(self.rng, 4, 9) if slot == "n" else between(self.rng, 20, 900))


def rows(language: str, split: str, size: int, seed: int) -> list[dict[str, Any]]:
    """Return reviews with their labels.

    Args:
        language: en or zh.
        split: train, dev or test.
        size: Number of rows.
        seed: Any whole number.
    """
    makers: list[OpinionMaker] = []

    def draw(rng: Random) -> Candidate[dict[str, Any]]:
        if not makers:
            makers.append(OpinionMaker(rng, language, split != "train"))
        text, label = makers[0].draw()
        return Candidate(text, lambda: {"text": text, "label": label})

    return take(stream(f"mini_classification {language}", split, seed, draw), size)
