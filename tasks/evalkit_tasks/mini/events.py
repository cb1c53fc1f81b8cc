"""Clauses of who does what, where and when: drawn once, then rendered as statement, question or relative clause.

`Event` is the meaning. `english` and `chinese` render it; what differs between the languages (auxiliaries and do-support,
aspect particles, the order of time, place and verb) is theirs alone.
"""

from __future__ import annotations

from typing import NamedTuple

from evalkit_tasks.mini.lexicon import Noun, Verb
from evalkit_tasks.mini.phrases import OWNERS, Phrase, Pieces, Speech
from evalkit_tasks.mini.streams import chance, pick

PAST, PROGRESSIVE, MODAL, HABITUAL, EXPERIENCE, SKILL, STATE = (
    "past",
    "progressive",
    "modal",
    "habitual",
    "experience",
    "skill",
    "state",
)


class Modal(NamedTuple):
    """A modal or the like with its Chinese forms."""

    third: str
    plain: str
    chinese: str
    negated: str
    """Chinese of the negated form."""
    has_auxiliary: bool
    """Whether the first English word can be negated and inverted."""


MODALS = (
    Modal("will", "will", "会", "不会", True),
    Modal("is going to", "are going to", "准备", "不准备", True),
    Modal("plans to", "plan to", "打算", "不打算", False),
    Modal("wants to", "want to", "想", "不想", False),
    Modal("should", "should", "应该", "不应该", True),
    Modal("has to", "have to", "必须", "不必", False),
)
ADVERBS = (("often", "经常"), ("always", "总是"), ("usually", "通常"), ("sometimes", "有时"), ("seldom", "很少"))
MANNERS = (
    ("carefully", "仔细"),
    ("quickly", "飞快"),
    ("slowly", "慢慢"),
    ("happily", "高兴"),
    ("quietly", "悄悄"),
    ("hurriedly", "匆忙"),
)
HOURS = (
    ("half an hour", ("半", "个", "小时")),
    ("an hour", ("一", "个", "小时")),
    ("two hours", ("两", "个", "小时")),
    ("three hours", ("三", "个", "小时")),
    ("twenty minutes", ("二十", "分钟")),
    ("forty minutes", ("四十", "分钟")),
)
YEARS = (
    ("a year", ("一", "年")),
    ("two years", ("两", "年")),
    ("three years", ("三", "年")),
    ("six months", ("六", "个", "月")),
)


class Event(NamedTuple):
    """Who does what, with whom, how, where, when and for how long."""

    subject: Phrase
    verb: Verb
    noun: Noun | None
    """Head of the object, for relative clauses; None where the object is a name or missing."""
    thing: Phrase | None
    mode: str
    is_negated: bool
    modal: Modal = MODALS[0]
    adverb: tuple[str, str] = ("", "")
    time: tuple[str, str] = ("", "")
    place: tuple[Pieces, Pieces] = ((), ())
    companion: Phrase | None = None
    manner: tuple[str, str] = ("", "")
    duration: tuple[str, tuple[str, ...]] = ("", ())
    handling: str = ""
    """``ba`` where the object stands before the Chinese verb, ``bei`` for the passive."""
    is_action: bool = False
    """Whether the verb is one without object."""


def owner_of(subject: Phrase) -> tuple[str, str] | None:
    """Return the possessive that refers back to a subject, English and Chinese; None where its gender is unknown."""
    first = subject.english[0]
    if isinstance(first, str) and first in ("I", "you", "we", "they") and len(subject.english) == 1:
        return {"I": OWNERS[0], "you": OWNERS[1], "we": OWNERS[4], "they": OWNERS[5]}[first]
    if subject.agreement == "2" and "and" in subject.english:
        return OWNERS[5]
    return {"m": OWNERS[2], "f": OWNERS[3]}.get(subject.gender)


class EventMaker:
    """Draws events from the words and names of a split."""

    def __init__(self, speech: Speech) -> None:
        self.speech = speech
        self.rng = speech.rng
        self.lexicon = speech.lexicon

    def transitive(self, modes: tuple[str, ...] = ()) -> Event:
        """Draw an event with an object, in one of the modes where the verb has it."""
        verb = pick(self.rng, self.lexicon.verbs)
        possible = [mode for mode in modes_of(verb) if not modes or mode in modes]
        if not possible:
            return self.transitive(modes)
        mode = pick(self.rng, possible)
        doer = self.speech.subject(verb.subjects)
        is_negated = mode in (PAST, MODAL, EXPERIENCE, SKILL, STATE) and chance(self.rng, 0.18)
        if "generic" in verb.flags and mode == PAST:
            is_negated = False
        noun, thing = self._object(verb, doer, mode, is_negated)
        if thing.english == doer.english:
            return self.transitive(modes)
        event = Event(doer, verb, noun, thing, mode, is_negated)
        return self._handled(self._circumstances(event))

    def action(self, modes: tuple[str, ...] = ()) -> Event:
        """Draw an event without object."""
        verb = pick(self.rng, self.lexicon.actions)
        mode = pick(self.rng, modes or (PAST, PAST, PROGRESSIVE, PROGRESSIVE, MODAL, HABITUAL))
        is_negated = mode == MODAL and chance(self.rng, 0.15)
        event = Event(self.speech.subject(verb.subjects), verb, None, None, mode, is_negated, is_action=True)
        return self._circumstances(event)

    def _object(self, verb: Verb, doer: Phrase, mode: str, is_negated: bool) -> tuple[Noun | None, Phrase]:
        name = pick(self.rng, verb.objects)
        if name == "name":
            return None, self.speech.named()
        nouns = self.lexicon.nouns_of(name) or self.lexicon.nouns_of(",".join(verb.objects))
        noun = pick(self.rng, nouns)
        if noun.classes[0] == "kin":
            return None, self.speech.relative_of(noun)
        if "generic" in verb.flags or "kindobj" in verb.flags or mode == HABITUAL:
            return noun, self.speech.generic(noun)
        if mode == EXPERIENCE:
            return noun, self.speech.single(noun)
        return noun, self.speech.thing(noun, owner_of(doer), is_negated, "one" in verb.flags)

    def _circumstances(self, event: Event) -> Event:
        rng, verb = self.rng, event.verb
        time: tuple[str, str] = ("", "")
        tense = {PAST: "past", MODAL: "future", HABITUAL: "habitual"}.get(event.mode)
        if tense and chance(rng, 0.65):
            moment = pick(rng, self.lexicon.times[tense])
            time = (moment.english, moment.chinese)
        place: tuple[Pieces, Pieces] = ((), ())
        if verb.places and event.mode in (PAST, PROGRESSIVE, MODAL, HABITUAL) and chance(rng, 0.5):
            place = self.location(verb.places)
        is_human = not {"human", "name", "young", "pupil"}.isdisjoint(verb.subjects)
        companion = None
        if is_human and "stative" not in verb.flags and event.mode in (PAST, PROGRESSIVE, MODAL) and chance(rng, 0.12):
            companion = self.speech.named()
        is_plain_past = event.mode == PAST and not event.is_negated
        needs_duration = is_plain_past and (event.is_action or "generic" in verb.flags)
        duration: tuple[str, tuple[str, ...]] = ("", ())
        if needs_duration:
            duration = pick(rng, YEARS if "learned" in verb.objects else HOURS)
            time = ("", "") if duration in YEARS else time
        manner = ("", "")
        if is_plain_past and is_human and not needs_duration and "punct" not in verb.flags and chance(rng, 0.15):
            manner = pick(rng, MANNERS)
        adverb = pick(rng, ADVERBS) if event.mode == HABITUAL and not time[0] else ("", "")
        return event._replace(
            time=time,
            place=place,
            companion=companion,
            duration=duration,
            manner=manner,
            adverb=adverb,
            modal=pick(rng, MODALS) if event.mode == MODAL else event.modal,
        )

    def _handled(self, event: Event) -> Event:
        """Turn some events with a known object into 把 or 被."""
        flags, noun = event.verb.flags, event.noun
        if event.mode != PAST or event.is_negated or noun is None or not chance(self.rng, 0.6):
            return event
        if "bei" in flags and chance(self.rng, 0.45):
            known = self.speech.known(noun) if chance(self.rng, 0.6) else self.speech.thing(noun, None, True)
            return event._replace(handling="bei", thing=known, companion=None, manner=("", ""))
        if "ba" in flags:
            return event._replace(handling="ba", thing=self.speech.known(noun), manner=("", ""))
        return event

    def location(self, groups: tuple[str, ...]) -> tuple[Pieces, Pieces]:
        """Draw where something happens: a kind of place of these groups, or a city."""
        if chance(self.rng, 0.2) and not {"shop", "eatery", "street", "station", "goal"}.isdisjoint(groups):
            city = pick(self.rng, self.speech.names.cities)
            return ("in", (city.english, "LOC")), ("在", (city.chinese, "LOC"))
        place = pick(self.rng, self.lexicon.places_of(groups))
        chinese: Pieces = ("在", place.chinese, *((place.localizer,) if place.localizer else ()))
        return (place.preposition, "the", place.english), chinese


def modes_of(verb: Verb) -> tuple[str, ...]:
    """Return the modes that a verb has, the likelier ones several times."""
    if "stative" in verb.flags:
        return (STATE,)
    if "mishap" in verb.flags:
        return (PAST,)
    modes = [PAST, PAST, PAST, MODAL, MODAL]
    if "zhe" in verb.flags:
        return (PAST, PROGRESSIVE, PROGRESSIVE, MODAL)
    if "punct" not in verb.flags:
        modes += [PROGRESSIVE, PROGRESSIVE, HABITUAL]
    if "exp" in verb.flags:
        modes += [EXPERIENCE]
    if "skill" in verb.flags:
        modes += [SKILL, SKILL]
    return tuple(modes)
