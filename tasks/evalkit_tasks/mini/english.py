"""Renders events in English: auxiliaries, do-support, agreement, word order."""

from __future__ import annotations

from evalkit_tasks.mini.events import EXPERIENCE, HABITUAL, MODAL, PAST, PROGRESSIVE, SKILL, Event
from evalkit_tasks.mini.phrases import Pieces

BE = {"1": "am", "2": "are", "3": "is"}
WAS = {"1": "was", "2": "were", "3": "was"}
_WORD_OF_NEGATION = {EXPERIENCE: "never"}


def verb_group(event: Event, agreement: str, is_split: bool) -> tuple[str, str]:
    """Return auxiliary and verb, e.g. ``("did", "buy")``.

    Args:
        event: The event.
        agreement: Agreement of the subject.
        is_split: Whether an auxiliary is needed, for a negation or a question; else it may be ''.
    """
    verb, is_third = event.verb, agreement == "3"
    present = verb.third if is_third else verb.base
    do = "does" if is_third else "do"
    if event.mode == PAST:
        return ("did", verb.base) if is_split else ("", verb.past)
    if event.mode == PROGRESSIVE:
        return BE[agreement], verb.gerund
    if event.mode == EXPERIENCE:
        return ("has" if is_third else "have"), verb.participle
    if event.mode == SKILL:
        return "can", verb.base
    if event.mode == MODAL:
        return _modal_group(event, agreement, do if is_split else "")
    return (do, verb.base) if is_split else ("", present)


def _modal_group(event: Event, agreement: str, do: str) -> tuple[str, str]:
    modal = event.modal
    if modal.has_auxiliary:
        first, _, rest = modal.plain.partition(" ")
        auxiliary = BE[agreement] if first == "are" else first
        return auxiliary, f"{rest} {event.verb.base}".lstrip()
    if do:
        return do, f"{modal.plain} {event.verb.base}"
    return "", f"{modal.third if agreement == '3' else modal.plain} {event.verb.base}"


def predicate(event: Event, has_object: bool = True, agreement: str = "") -> Pieces:
    """Return verb, object and what follows, without the time.

    Args:
        event: The event.
        has_object: Whether the object is said; not in a relative clause about it.
        agreement: Agreement of the subject, if another one than the event's is meant.
    """
    agreement = agreement or event.subject.agreement
    auxiliary, main = verb_group(event, agreement, event.is_negated)
    words: list[str] = [auxiliary] if auxiliary else []
    if event.is_negated and auxiliary == "can":
        words = ["cannot"]
    elif event.is_negated:
        words.append(_WORD_OF_NEGATION.get(event.mode, "not"))
    if event.mode == HABITUAL and event.adverb[0]:
        words.append(event.adverb[0])
    return (*words, *main.split(), *rest(event, has_object))


def rest(event: Event, has_object: bool = True, has_place: bool = True) -> Pieces:
    """Return what follows the verb: object, manner, companion, place, duration."""
    return (
        *(event.thing.as_object if event.thing and has_object else ()),
        *((event.manner[0],) if event.manner[0] else ()),
        *(("with", *event.companion.as_object) if event.companion else ()),
        *(event.place[0] if has_place else ()),
        *(("for", *event.duration[0].split()) if event.duration[0] else ()),
        *(("before",) if event.mode == EXPERIENCE and not event.is_negated else ()),
    )


def clause(event: Event) -> Pieces:
    """Return subject and predicate, without the time."""
    if event.handling == "bei" and event.thing:
        return (
            *event.thing.english,
            WAS[event.thing.agreement],
            *event.verb.participle.split(),
            "by",
            *event.subject.as_object,
            *event.place[0],
        )
    return (*event.subject.english, *predicate(event))


def statement(event: Event, is_time_first: bool = False) -> Pieces:
    """Return the whole statement, the time first or last."""
    time = tuple(event.time[0].split())
    if is_time_first and time:
        return (*time, ",", *clause(event))
    return (*clause(event), *time)


def question(event: Event, gap: str = "") -> Pieces:
    """Return the event as a question.

    Args:
        event: The event, not in the passive.
        gap: What is asked for: '' (yes or no), ``subject``, ``object``, ``place`` or ``time``.
    """
    time = tuple(event.time[0].split())
    if gap == "subject":
        return ("who", *predicate(event, agreement="3"), *time)
    auxiliary, main = verb_group(event, event.subject.agreement, True)
    opening = {"": (), "object": ("what",), "place": ("where",), "time": ("when",)}[gap]
    after = rest(event, gap != "object", gap != "place")
    return (*opening, auxiliary, *event.subject.english, *main.split(), *after, *(time if gap != "time" else ()))
