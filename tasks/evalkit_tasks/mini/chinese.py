"""Renders events in Chinese, as words: aspect, 把 and 被, 正在, the order time, companion, place, verb."""

from __future__ import annotations

from evalkit_tasks.mini.events import EXPERIENCE, HABITUAL, MODAL, PAST, PROGRESSIVE, SKILL, Event
from evalkit_tasks.mini.phrases import Pieces

_NEGATED_MODALS = {
    "不会": ("不", "会"),
    "不打算": ("不", "打算"),
    "不准备": ("不", "准备"),
    "不想": ("不", "想"),
    "不应该": ("不", "应该"),
}


def circumstances(event: Event, has_place: bool = True) -> Pieces:
    """Return what stands between the subject (and time) and the verb."""
    return (
        *_before(event),
        *(("跟", *event.companion.chinese, "一起") if event.companion else ()),
        *(event.place[1] if has_place else ()),
        *((event.manner[1], "地") if event.manner[1] else ()),
    )


def _before(event: Event) -> tuple[str, ...]:
    """The words before the verb that carry mode and negation."""
    negated = event.is_negated
    if event.mode == MODAL:
        return _NEGATED_MODALS.get(event.modal.negated, (event.modal.negated,)) if negated else (event.modal.chinese,)
    if event.mode == PROGRESSIVE:
        if "zhe" in event.verb.flags:
            return ()
        return ("正",) if event.place[1] and not event.companion else ("正在",)
    if event.mode == HABITUAL:
        return (event.adverb[1],) if event.adverb[1] else ()
    if event.mode == SKILL:
        return ("不", "会") if negated else ("会",)
    if not negated:
        return ()
    return {PAST: ("没有",), EXPERIENCE: ("从来", "没有")}.get(event.mode, ("不",))


def verb_words(event: Event) -> tuple[str, ...]:
    """Return the verb with its aspect."""
    verb, negated = event.verb, event.is_negated
    if event.is_action and event.duration[0]:
        return (verb.result, "了")
    if event.mode == PAST and not negated:
        return (verb.chinese, "了")
    if event.mode == EXPERIENCE:
        return (verb.chinese, "过")
    if "zhe" in verb.flags and event.mode not in (PAST, MODAL) and not negated:
        return (verb.chinese, "着")
    return tuple(verb.chinese.split())


def predicate(event: Event, has_object: bool = True, has_place: bool = True) -> Pieces:
    """Return everything behind subject and time."""
    thing = event.thing.chinese if event.thing and has_object else ()
    before = circumstances(event, has_place)
    if event.handling == "ba":
        return (*before, "把", *thing, *event.verb.result.split(), "了")
    return (*before, *verb_words(event), *event.duration[1], *thing)


def statement(event: Event, is_time_first: bool = False) -> Pieces:
    """Return the whole statement; the time stands first, or behind the subject."""
    time = tuple(event.time[1].split())
    if event.handling == "bei" and event.thing:
        passive = (
            "被",
            *event.subject.chinese,
            *event.place[1],
            *(event.verb.result or event.verb.chinese).split(),
            "了",
        )
        body = (*event.thing.chinese, *time, *passive)
        return (*time, "，", *event.thing.chinese, *passive) if is_time_first and time else body
    if is_time_first and time:
        return (*time, "，", *event.subject.chinese, *predicate(event))
    return (*event.subject.chinese, *time, *predicate(event))


def question(event: Event, gap: str = "") -> Pieces:
    """Return the event as a question, without the question mark.

    Args:
        event: The event, not in the passive.
        gap: What is asked for: '' (yes or no), ``subject``, ``object``, ``place`` or ``time``.
    """
    time = tuple(event.time[1].split())
    subject = event.subject.chinese
    if gap == "subject":
        return ("谁", *time, *predicate(event))
    if gap == "object":
        return (*subject, *time, *predicate(event, has_object=False), "什么")
    if gap in ("place", "time"):
        return _asked(event, gap, time)
    return (*subject, *time, *predicate(event), "吗")


def _asked(event: Event, gap: str, time: Pieces) -> Pieces:
    """Ask for place or time: 是 … 的 for what is past, plain order for what is to come."""
    asked = ("在", "哪里") if gap == "place" else ("什么", "时候")
    thing = event.thing.chinese if event.thing else ()
    kept_time = () if gap == "time" else time
    with_whom = ("跟", *event.companion.chinese, "一起") if event.companion else ()
    where = event.place[1] if gap == "time" else ()
    order = (*asked, *where) if gap == "time" else asked
    if event.mode == PAST:
        return (*event.subject.chinese, *kept_time, "是", *with_whom, *order, event.verb.chinese, *thing, "的")
    modal = (event.modal.chinese,)
    if gap == "time":
        return (*event.subject.chinese, *asked, *modal, *with_whom, *where, event.verb.chinese, *thing)
    return (*event.subject.chinese, *kept_time, *modal, *with_whom, *asked, event.verb.chinese, *thing)
