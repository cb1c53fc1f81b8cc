"""Which runs of a column can be compared, and what a reader of a number should know, where the number stands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evalkit.comparison.loaded import LoadedRun
from evalkit.comparison.pairing import EXAMPLES, INCOMPLETE, PROMPTS, TRUNCATED, Mismatch, mismatches
from evalkit.record import RunRecord
from evalkit.report.columns import Place
from evalkit.report.compared import Contestant
from evalkit.report.evidence import Evidence
from evalkit.report.model import Note
from evalkit.report.reading import StoredRun
from evalkit.report.selection import Choice, scored_examples

TOLD = frozenset({PROMPTS, TRUNCATED})
"""Differences that are told but do not keep runs from being compared: models of different kinds are asked differently."""

_WARNED_COUNTS = {"failed": "failed", "truncated": "were truncated", "missing": "have no answer"}


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One model in one column: the chosen runs with their samples."""

    model: str
    """Key of the model."""
    choice: Choice
    evidence: tuple[Evidence, ...]
    """Of the shown runs, newest first."""

    def loaded(self, metric: str) -> Contestant | None:
        """The runs as numbers; None where the samples of one cannot be read or lack the metric's statistics."""
        runs = tuple(one.loaded for one in self.evidence if one.loaded is not None)
        if len(runs) < len(self.evidence) or not runs or any(metric not in run.statistics for run in runs):
            return None
        return Contestant(self.model, runs)


@dataclass(frozen=True, slots=True, eq=False)
class Field:
    """The models of a column that are compared, and why the others are not."""

    contestants: tuple[Contestant, ...]
    reasons: dict[str, list[Note]]
    """Key of a model to why it is not compared; those that are compared are not in it."""
    told: dict[str, list[Note]]
    """Key of a model to differences that do not keep it from being compared."""


def comparable(entries: Sequence[Entry], metric: str, allowed: Sequence[str]) -> Field:
    """Find the largest set of models whose runs can be compared with one another.

    Runs over the most examples count, then the largest group of them: a quick check on a few examples must not push out a full
    run. What else differs is told.
    """
    accepted = TOLD.union(allowed)
    reasons: dict[str, list[Note]] = {}
    groups: list[list[Contestant]] = []
    for entry in entries:
        one = entry.loaded(metric)
        if one is None:
            reasons[entry.model] = [_unreadable(entry, metric)]
            continue
        own = [found for run in one.runs for found in _refused(one, run, accepted)]
        if own:
            reasons[entry.model] = [Note(kind=found.kind, text=found.detail) for found in own]
            continue
        group = next((group for group in groups if not list(_refused(group[0], one.runs[0], accepted))), None)
        if group is None:
            groups.append([one])
        else:
            group.append(one)
    chosen = max(groups, key=_weight, default=[])
    for group in groups:
        if group is not chosen:
            reasons |= {one.model: list(_against(chosen[0], one, accepted)) for one in group}
    told = {one.model: list(_told(chosen[0], one)) for one in chosen[1:]}
    return Field(tuple(chosen), reasons, told)


def _weight(group: Sequence[Contestant]) -> tuple[int, int]:
    return int(group[0].runs[0].scored.sum()), len(group)


def _refused(one: Contestant, run: LoadedRun, accepted: frozenset[str]) -> Iterator[Mismatch]:
    # Two incomplete runs say it twice.
    yield from (found for found in dict.fromkeys(mismatches(one.runs[0], run)) if found.kind not in accepted)


def _against(head: Contestant, one: Contestant, accepted: frozenset[str]) -> Iterator[Note]:
    n, other = int(head.runs[0].scored.sum()), int(one.runs[0].scored.sum())
    for found in _refused(head, one.runs[0], accepted):
        if found.kind == EXAMPLES:
            yield Note(
                kind=EXAMPLES,
                text=f"not compared: scored on {other:,} other or fewer examples than the {n:,} of others",
            )
        else:
            yield Note(kind=found.kind, text=f"not compared: {found.detail}")


def _told(head: Contestant, one: Contestant) -> Iterator[Note]:
    for found in mismatches(head.runs[0], one.runs[0]):
        if found.kind == PROMPTS:
            yield Note(kind=PROMPTS, text=f"asked differently than others of the column: {found.detail}")
        elif found.kind not in TOLD:
            yield Note(kind=found.kind, text=f"compared all the same: {found.detail}")


def _unreadable(entry: Entry, metric: str) -> Note:
    problem = next((one.problem for one in entry.evidence if one.loaded is None), "")
    text = f"not compared: {problem}" if problem else f"not compared: its runs keep no statistics of {metric}"
    return Note(kind="samples", text=text)


def notes_of(record: RunRecord) -> Iterator[Note]:
    """What a run says about itself that a reader of its numbers should know."""
    scored_n, n = scored_examples(record), record.data["n"]
    if record.status != "complete":
        yield Note(kind=INCOMPLETE, text=f"the run is not complete: {record.status}")
    if scored_n != n:
        yield Note(kind="partial", text=f"{scored_n:,} of {n:,} examples")
    for name, words in _WARNED_COUNTS.items():
        if count := record.counts.get(name, 0):
            yield Note(kind=name, text=f"{count:,} of {record.counts.get('examples', n):,} examples {words}")
    if unscored := record.main().unscored:
        yield Note(kind="unscored", text=f"{unscored:,} examples could not be scored")
    for line in record.warnings:
        yield Note(kind="warning", text=line)


def notes_of_choice(choice: Choice, rule: str) -> Iterator[Note]:
    """How the runs of a cell were chosen, where there were several."""
    shown, count = choice.shown, len(choice.shown) + len(choice.others)
    if len(shown) > 1:
        yield Note(kind="several", text=f"mean of {len(shown)} runs" + (f" of {count}" if choice.others else ""))
    elif count > 1:
        yield Note(kind="several", text=f"{'best' if rule == 'best' else 'latest'} of {count} runs")
    digests = {str(run.record.model["digest"]) for run in (*shown, *(run for run, _ in choice.others))}
    if len(digests) > 1:
        yield Note(kind="digests", text=f"its runs are of {len(digests)} different weights or outputs")


def notes_of_setup(runs: Sequence[StoredRun], every: Sequence[StoredRun]) -> Iterator[Note]:
    """How a model was asked, where models of the column were asked in different ways."""
    setups = {_setup(run.record) for run in every}
    if len(setups) > 1:
        yield from (Note(kind="setup", text=text) for text in dict.fromkeys(_setup(run.record) for run in runs))


def _setup(record: RunRecord) -> str:
    settings = record.settings
    shots, kind = settings.get("shots") or 0, settings.get("request_kind")
    return ", ".join([*([f"{kind} requests"] if kind else []), f"{shots} shots"])


def notes_of_versions(runs: Sequence[StoredRun], every: Sequence[StoredRun]) -> Iterator[Note]:
    """Which versions of evalkit scored a model, where those of a column differ; the most frequent one is not told."""
    counts = Counter(_version(run.record) for run in every)
    usual = max(counts, key=lambda version: (counts[version], version))
    for version in dict.fromkeys(_version(run.record) for run in runs):
        if version != usual:
            yield Note(kind="versions", text=f"scored by evalkit {version}, others by {usual}")


def _version(record: RunRecord) -> str:
    return str(record.environment.get("evalkit", "of unknown version"))


def missing_note(place: Place, runs: Sequence[StoredRun]) -> Note:
    """Why a cell is empty."""
    if not runs:
        return Note(kind="missing", text="no run")
    signatures = {
        v.signature for run in runs for v in run.record.metrics if (v.metric, v.name) == (place.metric, place.value)
    }
    if signatures:
        return Note(kind="signature", text="its run has another signature; it stands in another column")
    return Note(kind="missing", text="its run has no such value")
