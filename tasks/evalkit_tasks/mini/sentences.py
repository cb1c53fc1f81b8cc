"""All sentence types of the grammar: each draws what is said and builds both languages from it.

The types and how often they are drawn stand in `SentenceMaker.kinds`. Events with a subject, a verb and their circumstances come
from `events`; the types here build on them or have their own pattern in each language.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import NamedTuple

from evalkit_tasks.mini import chinese, english
from evalkit_tasks.mini.events import EXPERIENCE, MODAL, PAST, PROGRESSIVE, SKILL, STATE, Event, EventMaker
from evalkit_tasks.mini.facts import FactMaker
from evalkit_tasks.mini.figures import FigureMaker
from evalkit_tasks.mini.lexicon import Noun, lexicon
from evalkit_tasks.mini.names import names
from evalkit_tasks.mini.phrases import Phrase, Pieces, Speech
from evalkit_tasks.mini.streams import chance, pick

REASONS = (
    (("it", "rained", "heavily"), ("雨", "下", "得", "很", "大")),
    (("it", "snowed", "heavily"), ("雪", "下", "得", "很", "大")),
    (("the", "weather", "was", "too", "hot"), ("天气", "太", "热")),
    (("the", "road", "was", "closed"), ("道路", "封闭")),
    (("there", "was", "no", "electricity"), ("停电",)),
)
PERSONAL_REASONS = (
    (("be", "ill"), ("生病", "了")),
    (("be", "too", "tired"), ("太", "累")),
    (("hurt", "POSS", "leg"), ("腿", "受伤", "了")),
    (("miss", "the", "bus"), ("错过", "了", "公交车")),
)
EFFECTS = (
    (("did", "not", "come", "to", "the", "party"), ("没有", "来", "参加", "聚会")),
    (("stayed", "at", "home"), ("待", "在", "家", "里")),
    (("cancelled", "the", "trip"), ("取消", "了", "旅行")),
    (("did", "not", "go", "to", "work"), ("没有", "去", "上班")),
    (("arrived", "late"), ("迟到", "了")),
)
CONDITIONS = (
    (("it", "rains", "tomorrow"), ("明天", "下雨")),
    (("it", "snows", "tomorrow"), ("明天", "下雪")),
    (("the", "weather", "is", "good", "tomorrow"), ("明天", "天气", "好")),
    (("the", "train", "is", "late", "again"), ("火车", "又", "晚点")),
    (("there", "is", "time", "next", "week"), ("下周", "有", "时间")),
    (("the", "tickets", "are", "not", "expensive"), ("票", "不", "贵")),
)
SAYINGS = (
    ("says", "say", "说"),
    ("thinks", "think", "认为"),
    ("believes", "believe", "相信"),
    ("hears", "hear", "听说"),
)
_FUNCTION = """a an the this that these those some is are am was were be been did does do has have not never will can cannot
should going to plans plan wants want in on at of for with by from , as than very too who what where when before 's"""
FUNCTION_WORDS = frozenset(_FUNCTION.split())
"""Words that are no part of what a sentence is about."""
_POSSESSIVES = {"m": "his", "f": "her"}


class Sentence(NamedTuple):
    """One sentence in both languages."""

    english: Pieces
    chinese: Pieces
    is_question: bool = False

    def key(self, groups: Mapping[str, str]) -> str:
        """Return what the sentence is about: its content words, whatever their order and form.

        Sentences with one text, in either language, have one key, since words that share a form in either language count as
        one word.
        """
        text = " ".join(piece if isinstance(piece, str) else piece[0] for piece in self.english)
        return " ".join(sorted(groups.get(word, word) for word in text.split() if word not in FUNCTION_WORDS))


class SentenceMaker:
    """Draws sentences from the words and names of a split."""

    def __init__(self, rng: Random, has_held: bool) -> None:
        self.rng = rng
        self.speech = Speech(rng, lexicon(has_held), names(has_held))
        self.events = EventMaker(self.speech)
        facts, figures = FactMaker(self.speech), FigureMaker(self.speech)
        kinds: tuple[tuple[int, Callable[[], Sentence]], ...] = (
            (30, self.told),
            (8, self.acted),
            (8, self.asked),
            (8, self.asked_what),
            (7, self.relative),
            (6, self.because),
            (4, self.if_so),
            (5, self.when),
            (4, self.said),
            *((weight, lambda make=make: Sentence(*make())) for weight, make in (*facts.kinds, *figures.kinds)),
        )
        self.kinds = tuple(make for weight, make in kinds for _ in range(weight))

    def draw(self) -> Sentence:
        """Draw one sentence of any type."""
        return pick(self.rng, self.kinds)()

    def told(self) -> Sentence:
        """Draw a statement about an event with an object."""
        return self._statement(self.events.transitive())

    def acted(self) -> Sentence:
        """Draw a statement about an event without object."""
        return self._statement(self.events.action())

    def _statement(self, event: Event) -> Sentence:
        is_time_first = chance(self.rng, 0.3)
        return Sentence(english.statement(event, is_time_first), chinese.statement(event, is_time_first))

    def asked(self) -> Sentence:
        """Draw a question that is answered by yes or no."""
        event = self._active((PAST, MODAL, SKILL, PROGRESSIVE, STATE))
        event = event._replace(is_negated=False)
        return Sentence(english.question(event), chinese.question(event), True)

    def asked_what(self) -> Sentence:
        """Draw a question for who, what, where or when."""
        event = self._active((PAST, MODAL))._replace(is_negated=False, duration=("", ()), manner=("", ""))
        gaps = ["object", "subject"] if event.verb in self.speech.lexicon.plain_verbs else ["subject"]
        if not event.verb.flags & {"generic", "mishap"}:
            gaps += ["time"]
            gaps += ["place"] if event.verb.places else []
        if "object" in gaps and (event.noun is None or event.noun.classes[0] == "role"):
            gaps.remove("object")
        if event.subject.agreement != "3" or event.subject.english[0] in ("he", "she"):
            gaps.remove("subject")
        if not gaps:
            return self.asked_what()
        gap = pick(self.rng, gaps)
        return Sentence(english.question(event, gap), chinese.question(event, gap), True)

    def _active(self, modes: tuple[str, ...]) -> Event:
        event = self.events.transitive(modes)
        return event if not event.handling else self._active(modes)

    def relative(self) -> Sentence:
        """Draw a statement about somebody who does something, or about a thing that somebody has to do with."""
        modes = (PAST, PAST, EXPERIENCE, PROGRESSIVE)
        event = self._active(modes)._replace(is_negated=False, time=("", ""))
        noun = event.noun
        if noun and noun.plural and event.mode == PAST and not event.duration[0] and chance(self.rng, 0.55):
            return self._about_object(event, noun)
        head = pick(self.rng, self.speech.lexicon.nouns_of("role"))
        adjective = pick(self.rng, [a for a in self.speech.lexicon.adjectives if "person" in a.classes])
        en = ("the", head.english, "who", *english.predicate(event, agreement="3"), "is", "very", adjective.positive)
        zh = (*chinese.predicate(event), "的", head.chinese, "很", adjective.chinese)
        return Sentence(en, zh)

    def _about_object(self, event: Event, noun: Noun) -> Sentence:
        event = event._replace(manner=("", ""))
        adjectives = self.speech.lexicon.predicates(noun)
        if not adjectives:
            return self.relative()
        adjective = pick(self.rng, adjectives)
        en = (
            "the",
            noun.english,
            "that",
            *event.subject.english,
            *english.predicate(event, has_object=False),
            "is",
            "very",
            adjective.positive,
        )
        said = (*event.subject.chinese, *chinese.circumstances(event), event.verb.chinese, "的", noun.chinese)
        zh = (*said, "很", adjective.chinese)
        return Sentence(en, zh)

    def because(self) -> Sentence:
        """Draw a reason and what came of it."""
        rng = self.rng
        person = self.speech.named() if chance(rng, 0.8) else self.speech.pair()
        effect: Pieces
        effect_zh: Pieces
        reason: Pieces
        reason_zh: Pieces
        effect, effect_zh = pick(rng, EFFECTS)
        if chance(rng, 0.4):
            reason, reason_zh = pick(rng, REASONS)
            effect = (*person.english, *effect)
            effect_zh = (*person.chinese, *effect_zh)
        else:
            plain, plain_zh = pick(rng, PERSONAL_REASONS)
            reason = (*person.english, *_inflected(plain, person))
            reason_zh = (*person.chinese, *plain_zh)
            pronoun = {"m": ("he", "他"), "f": ("she", "她")}.get(person.gender, ("they", "他们"))
            effect, effect_zh = (pronoun[0], *effect), (pronoun[1], *effect_zh)
        zh = ("因为", *reason_zh, "，", "所以", *effect_zh)
        if chance(rng, 0.5):
            return Sentence(("because", *reason, ",", *effect), zh)
        return Sentence((*reason, ",", "so", *effect), ("由于", *reason_zh, "，", *effect_zh))

    def if_so(self) -> Sentence:
        """Draw a condition and a plan."""
        condition, condition_zh = pick(self.rng, CONDITIONS)
        event = self.events.transitive((MODAL,)) if chance(self.rng, 0.6) else self.events.action((MODAL,))
        event = event._replace(time=("", ""))
        subject = event.subject
        en = ("if", *condition, ",", *english.clause(event))
        zh = ("如果", *condition_zh, "，", *subject.chinese, *chinese.predicate(event))
        return Sentence(en, zh)

    def when(self) -> Sentence:
        """Draw what somebody was doing when somebody else came."""
        event = self.events.transitive((PROGRESSIVE,)) if chance(self.rng, 0.5) else self.events.action((PROGRESSIVE,))
        comer = self.speech.named()
        was = english.WAS[event.subject.agreement]
        arriving, arriving_zh = pick(
            self.rng,
            (("arrived", ("到",)), ("came", ("来",)), ("rang the bell", ("按", "门铃")), ("called", ("打", "电话"))),
        )
        happening = (*event.subject.english, was, *event.verb.gerund.split(), *english.rest(event))
        background = (*event.subject.chinese, *chinese.predicate(event))
        opening = (*comer.chinese, *arriving_zh, "的", "时候", "，")
        if chance(self.rng, 0.5):
            return Sentence(("when", *comer.english, *arriving.split(), ",", *happening), (*opening, *background))
        return Sentence((*happening, "when", *comer.english, *arriving.split()), (*opening, *background))

    def said(self) -> Sentence:
        """Draw what somebody says or thinks about something else."""
        speaker = self.speech.anybody()
        event = self.events.transitive((PAST, MODAL, PROGRESSIVE, SKILL, STATE))
        third, plain, verb_zh = pick(self.rng, SAYINGS)
        verb = third if speaker.agreement == "3" else plain
        en = (*speaker.english, verb, "that", *english.statement(event))
        zh = (*speaker.chinese, verb_zh, *(("，",) if verb_zh == "说" else ()), *chinese.statement(event))
        return Sentence(en, zh)


def _inflected(words: tuple[str, ...], person: Phrase) -> tuple[str, ...]:
    """Put a personal reason into the past with the forms that fit the person."""
    owned = _POSSESSIVES.get(person.gender, "their")
    forms = {"be": english.WAS[person.agreement], "miss": "missed", "POSS": owned}
    return tuple(forms.get(word, word) for word in words)
