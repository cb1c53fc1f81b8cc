"""Rows of mini_summarization and mini_summarization_zh: reports of six to twelve sentences with two reference summaries."""

from __future__ import annotations

from random import Random
from typing import Any

from evalkit_tasks.mini.news import Report, ReportMaker, event_key, facts_of, in_summary
from evalkit_tasks.mini.streams import Candidate, between, chance, shuffled, stream, take


def document(rng: Random, report: Report, language: str) -> list[str]:
    """Return the sentences of a report: the main event may come first, in the middle or late."""
    kind = report.kind
    needed = in_summary(kind)
    spare = shuffled(rng, [slot for slot in facts_of(kind) if slot not in needed])
    told = shuffled(rng, [*needed, *spare[: between(rng, 0, 2)]])
    main = [report.told(rng, "main", language).text]
    main += [report.fact(rng, "main", slot, language).text for slot in told]
    distracting = shuffled(rng, facts_of(kind))[: between(rng, 1, 3)]
    other = [report.told(rng, "other", language).text]
    other += [report.fact(rng, "other", slot, language).text for slot in distracting]
    sentences = [*main, *other] if chance(rng, 0.4) else [*other, *main]
    for line in shuffled(rng, report.colour(language))[: between(rng, 1, 3)]:
        sentences.insert(between(rng, 0, len(sentences)), line)
    return sentences


def rows(language: str, split: str, size: int, seed: int) -> list[dict[str, Any]]:
    """Return documents with their summaries.

    Args:
        language: en or zh.
        split: train, dev or test.
        size: Number of rows.
        seed: Any whole number.
    """
    space = " " if language == "en" else ""
    makers: list[ReportMaker] = []

    def draw(rng: Random) -> Candidate[dict[str, Any]]:
        if not makers:
            makers.append(ReportMaker(rng, split != "train"))
        kind, main = makers[0].event()

        def build() -> dict[str, Any]:
            report = makers[0].complete(kind, main)
            return {"document": space.join(document(rng, report, language)), "references": report.summaries(language)}

        return Candidate(event_key(kind, main), build, " ".join(value.english for value in main.values()))

    return take(stream(f"mini_summarization {language}", split, seed, draw), size)
