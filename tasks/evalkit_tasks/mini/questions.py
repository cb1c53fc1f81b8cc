"""Rows of mini_qa and mini_qa_zh: three questions to each paragraph, with the exact places of their answers.

Four paragraphs of five tell one event, one of ten two events of two kinds; their answers are of different types, so that each
question has one that could fit. One of ten tells two events of one kind, where only what tells them apart decides. A question
that has no answer asks for a fact that is not told of its event, or for an event that is not told at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any, NamedTuple

from evalkit_tasks.mini.news import Report, ReportMaker, answer_type, event_key, facts_of
from evalkit_tasks.mini.streams import Candidate, chance, pick, shuffled, stream, take
from evalkit_tasks.mini.templates import Text

KINDS = ("match", "takeover", "storm", "award", "research", "strike")
"""Kinds of events that are told: those with facts of three types."""
QUESTIONS_PER_PARAGRAPH = 3
_ALSO_ASKED = {"award": "winner"}
"""Slots of the sentence that tells the event, which are asked for too."""
_ONE_KIND, _TWO_KINDS = 0.1, 0.1
"""Share of the paragraphs that tell two events of one kind, and of two kinds."""
_COLOUR = 0.2
"""Share of the paragraphs with a sentence of colour."""
_STRANGE = 0.15
"""Share of the questions without answer that ask for an event that is not told."""


class Paragraph(NamedTuple):
    """A paragraph and where it says what."""

    reports: dict[str, Report]
    """Each event that is told, main or other, to the report that it is taken from."""
    context: str
    answers: dict[tuple[str, str], tuple[int, str]]
    """Event (main or other) and slot to start and text."""

    def question(self, rng: Random, which: str, slot: str, language: str) -> str:
        """Return a question for a fact of one of the events."""
        return self.reports[which].question(rng, which, slot, language)


def paragraph(rng: Random, main: Report, other: Report | None, count: int, language: str) -> Paragraph:
    """Write a paragraph: each event with some of its facts, never all.

    Args:
        rng: Source of chance.
        main: The report whose main event is told.
        other: The report whose earlier event is told too, the same one where both events are of one kind; None for none.
        count: Number of facts.
        language: en or zh.
    """
    reports = {"main": main} if other is None else {"main": main, "other": other}
    counts = {"main": count if other is None else count - 1, "other": 1}
    told = [_ALSO_ASKED.get(report.kind, "") for report in reports.values()]
    used = {answer_type(slot) for slot in told if slot}
    lines: list[tuple[str, str, Text]] = []
    for which in shuffled(rng, tuple(reports)):
        report = reports[which]
        lines.append((which, _ALSO_ASKED.get(report.kind, ""), report.told(rng, which, language)))
        own = _facts(rng, report.kind, counts[which], used)
        lines += [(which, slot, report.fact(rng, which, slot, language)) for slot in own]
        used = used if main is other else used | {answer_type(slot) for slot in own}
    if chance(rng, _COLOUR):
        colour = Text(pick(rng, main.colour(language)), (), ())
        lines.insert(pick(rng, (0, len(lines) // 2, len(lines))), ("", "", colour))
    answers: dict[tuple[str, str], tuple[int, str]] = {}
    space, start, texts = (1 if language == "en" else 0), 0, []
    for which, slot, line in lines:
        if slot:
            span = next(span for span in line.spans if span.slot == slot)
            answers[which, slot] = (start + span.start, line.text[span.start : span.end])
        texts.append(line.text)
        start += len(line.text) + space
    return Paragraph(reports, (" " * space).join(texts), answers)


def _facts(rng: Random, kind: str, count: int, used: set[str]) -> list[str]:
    """Choose facts of a kind, first such whose answers differ in type from one another and from those used."""
    slots = shuffled(rng, facts_of(kind))
    ranks: dict[str, int] = {}
    seen = set(used)
    for slot in slots:
        ranks[slot] = answer_type(slot) in seen
        seen.add(answer_type(slot))
    return sorted(slots, key=lambda slot: ranks[slot])[:count]


def asked(
    rng: Random, told: Paragraph, stranger: Report, language: str, has_unanswerable: bool
) -> list[dict[str, Any]]:
    """Return three questions to a paragraph, one of them without answer if that is allowed.

    Args:
        rng: Source of chance.
        told: The paragraph.
        stranger: A report of the kind of the paragraph's last event, which the paragraph does not tell.
        language: en or zh.
        has_unanswerable: Whether one question has no answer.
    """
    known = shuffled(rng, list(told.answers))
    rows = []
    for which, slot in known[: QUESTIONS_PER_PARAGRAPH - has_unanswerable]:
        start, text = told.answers[which, slot]
        aliases = told.reports[which].values(which)[slot].aliases(language)
        found = [(text, start), *((alias, start + text.index(alias)) for alias in aliases)]
        rows.append(_row(told, told.question(rng, which, slot, language), found))
    if has_unanswerable:
        rows.append(_row(told, _unanswerable(rng, told, stranger, language), []))
    return shuffled(rng, rows)


def _unanswerable(rng: Random, told: Paragraph, stranger: Report, language: str) -> str:
    """Ask for an event that is not told, or for a fact that is not told of its event.

    That fact is one that is told of the other event, if there is one, or else one of a type that no answer has.
    """
    missing = [
        (which, slot)
        for which, report in told.reports.items()
        for slot in facts_of(report.kind)
        if (which, slot) not in told.answers
    ]
    tempting = [(which, slot) for which, slot in missing if (_swapped(which), slot) in told.answers]
    types = {answer_type(slot) for _, slot in told.answers}
    plain = [(which, slot) for which, slot in missing if answer_type(slot) not in types]
    if not chance(rng, _STRANGE):
        which, slot = pick(rng, tempting or plain or missing)
        return told.question(rng, which, slot, language)
    last = list(told.reports)[-1]
    own = [slot for which, slot in told.answers if which == last]
    return stranger.question(rng, last, pick(rng, own), language)


def _swapped(which: str) -> str:
    return "other" if which == "main" else "main"


def _row(told: Paragraph, question: str, found: list[tuple[str, int]]) -> dict[str, Any]:
    return {
        "question": question,
        "context": told.context,
        "answers": [text for text, _ in found],
        "answer_starts": [start for _, start in found],
    }


def _reports(rng: Random, maker: ReportMaker, main: Report) -> tuple[Report, Report | None]:
    """Draw what a paragraph about a main event tells besides."""
    share = rng.random()
    if share < _ONE_KIND:
        return main, main
    if share < _ONE_KIND + _TWO_KINDS:
        return main, maker.draw(pick(rng, [kind for kind in KINDS if kind != main.kind]))
    return main, None


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
        kind, main = makers[0].event(pick(rng, KINDS))

        def build() -> list[dict[str, Any]]:
            reports = _reports(rng, makers[0], makers[0].complete(kind, main))
            told = paragraph(rng, *reports, QUESTIONS_PER_PARAGRAPH - has_unanswerable, language)
            which, report = list(told.reports.items())[-1]
            stranger = makers[0].draw(report.kind)
            while stranger.is_told_in(told.context, which, language):
                stranger = makers[0].draw(report.kind)
            return asked(rng, told, stranger, language, has_unanswerable)

        return Candidate(event_key(kind, main), build, " ".join(value.english for value in main.values()))

    def numbered() -> Iterator[dict[str, Any]]:
        for number, group in enumerate(stream(f"mini_qa {language}", split, seed, draw)):
            for position, row in enumerate(group):
                yield {"id": f"{number}-{position}", "cluster": str(number), **row}

    return take(numbered(), size)
