"""Rows of mini_qa and mini_qa_zh: three questions to each paragraph, with the exact places of their answers.

A paragraph tells two events of one kind and some facts of each. A question that has no answer asks for a fact that
the paragraph tells of the other event only, or for an event that it does not tell at all; something that looks like
an answer is always there.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any, NamedTuple

from evalkit_tasks.mini.news import Report, ReportMaker, event_key, facts_of, templates
from evalkit_tasks.mini.streams import Candidate, between, chance, pick, shuffled, stream, take
from evalkit_tasks.mini.templates import Text

QUESTIONS_PER_PARAGRAPH = 3
_ALSO_ASKED = {"award": "winner", "appointment": "person"}
"""Slots of the sentence that tells the event, which are asked for too."""


class Paragraph(NamedTuple):
    """A paragraph and where it says what."""

    report: Report
    context: str
    answers: dict[tuple[str, str], tuple[int, str]]
    """Event (main or other) and slot to start and text."""


def paragraph(rng: Random, report: Report, language: str) -> Paragraph:
    """Write a paragraph about a report: each event with some of its facts, never all."""
    facts = shuffled(rng, facts_of(report.kind))
    shared = facts[: between(rng, 1, 2)]
    left = facts[len(shared) :]
    own = {"main": [*shared, *left[:2]], "other": [*shared, *left[2:4]]}
    lines: list[tuple[str, str, Text]] = []
    for which in shuffled(rng, ("main", "other")):
        lines.append((which, _ALSO_ASKED.get(report.kind, ""), report.told(rng, which, language)))
        lines += [(which, slot, report.fact(rng, which, slot, language)) for slot in shuffled(rng, own[which])]
    if chance(rng, 0.6):
        colour = Text(pick(rng, report.colour(language)), (), ())
        lines.insert(pick(rng, (0, len(lines) // 2, len(lines))), ("", "", colour))
    answers: dict[tuple[str, str], tuple[int, str]] = {}
    space, start, texts = (1 if language == "en" else 0), 0, []
    for which, slot, line in lines:
        span = line.find(slot) if slot else None
        if span:
            answers[which, slot] = (start + span.start, line.text[span.start : span.end])
        texts.append(line.text)
        start += len(line.text) + space
    return Paragraph(report, (" " * space).join(texts), answers)


def asked(
    rng: Random, told: Paragraph, stranger: Report, language: str, has_unanswerable: bool
) -> list[dict[str, Any]]:
    """Return three questions to a paragraph, one of them without answer if that is allowed.

    Args:
        rng: Source of chance.
        told: The paragraph.
        stranger: Another report of the same kind, which the paragraph does not tell.
        language: en or zh.
        has_unanswerable: Whether one question has no answer.
    """
    known = shuffled(rng, list(told.answers))
    rows = []
    for which, slot in known[: QUESTIONS_PER_PARAGRAPH - has_unanswerable]:
        start, text = told.answers[which, slot]
        aliases = told.report.values(which)[slot].aliases(language)
        found = [(text, start), *((alias, start + text.index(alias)) for alias in aliases)]
        question = told.report.question(rng, which, slot, language)
        rows.append(_row(told, question, found))
    if has_unanswerable:
        rows.append(_row(told, _unanswerable(rng, told, stranger, language), []))
    return shuffled(rng, rows)


def _unanswerable(rng: Random, told: Paragraph, stranger: Report, language: str) -> str:
    """Ask for what one event lacks and the other has, or for an event that is not told."""
    swapped = {"main": "other", "other": "main"}
    missing = [
        (swapped[which], slot)
        for which, slot in told.answers
        if (swapped[which], slot) not in told.answers and slot in facts_of(told.report.kind)
    ]
    if missing and chance(rng, 0.6):
        which, slot = pick(rng, missing)
        return told.report.question(rng, which, slot, language)
    _, slot = pick(rng, [key for key in told.answers if templates(language, told.report.kind, "question", key[1])])
    return stranger.question(rng, "other", slot, language)


def _row(told: Paragraph, question: str, found: list[tuple[str, int]]) -> dict[str, Any]:
    return {
        "question": question,
        "context": told.context,
        "answers": [text for text, _ in found],
        "answer_starts": [start for _, start in found],
    }


def rows(language: str, has_unanswerable: bool, split: str, size: int, seed: int) -> list[dict[str, Any]]:
    """Return questions, three to a paragraph.

    Args:
        language: en or zh.
        has_unanswerable: Whether a third of the questions has no answer.
        split: train, dev or test.
        size: Number of rows.
        seed: Any whole number.
    """
    makers: list[ReportMaker] = []

    def draw(rng: Random) -> Candidate[list[dict[str, Any]]]:
        if not makers:
            makers.append(ReportMaker(rng, split != "train"))
        kind, main = makers[0].event()

        def build() -> list[dict[str, Any]]:
            told = paragraph(rng, makers[0].complete(kind, main), language)
            stranger = makers[0].draw(kind)
            while stranger.is_told_in(told.context, language):
                stranger = makers[0].draw(kind)
            return asked(rng, told, stranger, language, has_unanswerable)

        return Candidate(event_key(kind, main), build, " ".join(value.english for value in main.values()))

    def numbered() -> Iterator[dict[str, Any]]:
        for number, group in enumerate(stream(f"mini_qa {language}", split, seed, draw)):
            for position, row in enumerate(group):
                yield {"id": f"{number}-{position}", "cluster": str(number), **row}

    return take(numbered(), size)
