"""Sentence types that are no plain events: descriptions, comparisons, what is where, gifts, professions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from evalkit_tasks.mini.english import BE
from evalkit_tasks.mini.events import owner_of
from evalkit_tasks.mini.lexicon import Adjective, Noun, fits
from evalkit_tasks.mini.phrases import NUMBERS, Phrase, Pieces, Speech
from evalkit_tasks.mini.streams import chance, pick

Fact: TypeAlias = tuple[Pieces, Pieces, bool]
"""English, Chinese, whether it is a question."""

DEGREES = (
    ("very", ("很",), ()),
    ("extremely", ("非常",), ()),
    ("too", ("太",), ("了",)),
    ("really", ("真的", "很"), ()),
    ("not very", ("不", "太"), ()),
    ("not", ("不",), ()),
)
SLIGHTLY = ("a little", ("有点",), ())
SPOTS = (
    ("on", "上"),
    ("under", "下面"),
    ("next to", "旁边"),
    ("behind", "后面"),
    ("in front of", "前面"),
)
GIVING = (
    ("gave", ("送", "给", "了")),
    ("lent", ("借", "给", "了")),
    ("sent", ("寄", "给", "了")),
    ("sold", ("卖", "给", "了")),
    ("handed", ("递", "给", "了")),
)


def this_thing(speech: Speech, noun: Noun) -> Phrase:
    """Return this, that or somebody's thing, without adjective."""
    owner = pick(speech.rng, (None, ("his", "他"), ("her", "她"), ("my", "我")))
    return speech.thing(noun, owner, True, is_plain=True)


class FactMaker:
    """Draws facts from the words and names of a split."""

    def __init__(self, speech: Speech) -> None:
        self.speech = speech
        self.rng = speech.rng
        self.lexicon = speech.lexicon
        self.kinds: tuple[tuple[int, Callable[[], Fact]], ...] = (
            (9, self.described),
            (7, self.compared),
            (4, self.coloured),
            (5, self.there_is),
            (5, self.put),
            (6, self.gave),
            (4, self.is_somebody),
            (2, self.superlative),
        )

    def _described_pair(self) -> tuple[Adjective, Phrase, Noun | None]:
        adjective = pick(self.rng, self.lexicon.gradable)
        if "person" in adjective.classes and chance(self.rng, 0.8):
            return adjective, self.speech.anybody(), None
        names = [name for name in adjective.classes if name != "person" and self.lexicon.nouns_of(name)]
        if not names:
            return self._described_pair()
        noun = pick(self.rng, self.lexicon.nouns_of(pick(self.rng, names)))
        if not noun.plural and not noun.unit and noun.english != "Go":
            return adjective, self.speech.generic(noun), noun
        known = noun.classes[0] in ("role", "kin")
        return adjective, self.speech.definite(noun) if known else this_thing(self.speech, noun), noun

    def described(self) -> Fact:
        """Draw somebody or something and what they are like."""
        adjective, phrase, _ = self._described_pair()
        degree = pick(self.rng, DEGREES)
        if "neg" in adjective.flags and chance(self.rng, 0.25):
            degree = SLIGHTLY
        word, before, after = degree
        zh = (*phrase.chinese, *before, adjective.chinese, *after)
        if chance(self.rng, 0.15):
            question = (BE[phrase.agreement], *phrase.english, adjective.positive)
            return question, (*phrase.chinese, adjective.chinese, "吗"), True
        return (*phrase.english, BE[phrase.agreement], *word.split(), adjective.positive), zh, False

    def coloured(self) -> Fact:
        """Draw a thing and its colour."""
        colour = pick(self.rng, self.lexicon.colours)
        noun = pick(self.rng, self.lexicon.nouns_of(",".join(colour.classes)))
        phrase = this_thing(self.speech, noun)
        en = (*phrase.english, BE[phrase.agreement], colour.positive)
        return en, (*phrase.chinese, "是", colour.chinese, "的"), False

    def compared(self) -> Fact:
        """Draw two of a kind and which of them is more so."""
        adjective, first, noun = self._described_pair()
        if noun is None:
            first, second = self.speech.named(), self.speech.named()
        elif noun.classes[0] in ("role", "kin") or not noun.plural:
            return self.compared()
        else:
            owner = self.speech.named()
            second = Phrase((*owner.english, "'s"), (*owner.chinese, "的"), "3")
        be, pattern = BE[first.agreement], self.rng.random()
        if pattern < 0.35:
            en: Pieces = (*first.english, be, *adjective.comparative.split(), "than", *second.english)
            return en, (*first.chinese, "比", *second.chinese, adjective.chinese), False
        if pattern < 0.55:
            en = (*first.english, be, "much", *adjective.comparative.split(), "than", *second.english)
            return en, (*first.chinese, "比", *second.chinese, adjective.chinese, "得", "多"), False
        if pattern < 0.8:
            en = (*first.english, be, "not", "as", adjective.positive, "as", *second.english)
            return en, (*first.chinese, "没有", *second.chinese, adjective.chinese), False
        en = (*first.english, be, "as", adjective.positive, "as", *second.english)
        return en, (*first.chinese, "和", *second.chinese, "一样", adjective.chinese), False

    def superlative(self) -> Fact:
        """Draw somebody who is the most so of all."""
        noun = pick(self.rng, self.lexicon.nouns_of("worker,pupil"))
        adjectives = [item for item in self.lexicon.gradable if fits(item, noun) and "state" not in item.flags]
        adjective, person = pick(self.rng, adjectives), self.speech.named()
        city = pick(self.rng, self.speech.names.cities)
        en = (*person.english, "is", "the", *adjective.superlative.split(), noun.english, "in", (city.english, "LOC"))
        zh = (*person.chinese, "是", (city.chinese, "LOC"), "最", adjective.chinese, "的", noun.chinese)
        return en, zh, False

    def there_is(self) -> Fact:
        """Draw what is where in a room."""
        surface = pick(self.rng, self.lexicon.nouns_of("surface"))
        spot, spot_zh = pick(self.rng, SPOTS)
        noun = pick(self.rng, self.lexicon.nouns_of("small,pet,dish,printed,toy,box"))
        number, digits = pick(self.rng, NUMBERS[:4])
        where = (*spot.split(), "the", surface.english)
        where_zh = (surface.chinese, spot_zh)
        if chance(self.rng, 0.15) and noun.plural:
            return ("there", "are", "no", noun.plural, *where), (*where_zh, "没有", noun.chinese), False
        if chance(self.rng, 0.5) and noun.plural:
            zh = (*where_zh, "有", digits, noun.measure, noun.chinese)
            return ("there", "are", number, noun.plural, *where), zh, False
        phrase = self.speech.thing(noun, is_one=True)
        if phrase.english[0] in ("this", "that"):
            return self.there_is()
        return (
            ("there", "is", *phrase.english, *where),
            (*where_zh, "有", *phrase.chinese),
            False,
        )

    def put(self) -> Fact:
        """Draw who put what where."""
        person = self.speech.anybody()
        noun = pick(self.rng, self.lexicon.nouns_of("small,printed,dish,gift,box,camera"))
        target = pick(self.rng, self.lexicon.nouns_of("surface,box,drawer,bag,suitcase"))
        if target == noun or not noun.plural:
            return self.put()
        is_inside = "container" in target.classes
        thing = self.speech.known(noun) if chance(self.rng, 0.6) else self.speech.thing(noun, owner_of(person), True)
        time = pick(self.rng, self.lexicon.times["past"])
        en = (*person.english, "put", *thing.english, "in" if is_inside else "on", "the", target.english)
        zh = ("把", *thing.chinese, "放", "在", "了", target.chinese, "里" if is_inside else "上")
        if chance(self.rng, 0.5):
            return (*en, *time.english.split()), (*person.chinese, *time.chinese.split(), *zh), False
        return en, (*person.chinese, *zh), False

    def gave(self) -> Fact:
        """Draw who gave, lent, sent or sold what to whom."""
        person, receiver = self.speech.anybody(), self.speech.named()
        if person.english == receiver.english:
            return self.gave()
        verb, verb_zh = pick(self.rng, GIVING)
        classes = {"sent": "posted,gift", "sold": "vehicle,instrument,furniture"}.get(
            verb, "printed,small,gift,umbrella,camera" if verb != "lent" else "bookish,umbrella,camera,bicycle"
        )
        noun = pick(self.rng, self.lexicon.nouns_of(classes))
        thing = self.speech.thing(noun, owner_of(person), is_one=verb != "gave")
        is_known = thing.chinese[0] in ("这", "那") or thing.chinese[1:2] == ("的",)
        giving: Pieces = (*verb_zh, *receiver.chinese)
        zh: Pieces = (*person.chinese, *(("把", *thing.chinese, *giving) if is_known else (*giving, *thing.chinese)))
        if chance(self.rng, 0.4):
            time = pick(self.rng, self.lexicon.times["past"])
            en = (*time.english.split(), ",", *person.english, verb, *receiver.english, *thing.english)
            return en, (*time.chinese.split(), "，", *zh), False
        return (*person.english, verb, *receiver.english, *thing.english), zh, False

    def is_somebody(self) -> Fact:
        """Draw what somebody is by profession, and where."""
        person = self.speech.named()
        noun = pick(self.rng, self.lexicon.nouns_of("worker"))
        city = pick(self.rng, self.speech.names.cities)
        if chance(self.rng, 0.5):
            en = (
                *person.english,
                "is",
                "an" if noun.english[0] in "aeiou" else "a",
                noun.english,
                "from",
                (city.english, "LOC"),
            )
            zh = (*person.chinese, "是", "一", noun.measure, "来自", (city.chinese, "LOC"), "的", noun.chinese)
            return en, zh, False
        en = (*person.english, "works", "as", "an" if noun.english[0] in "aeiou" else "a", noun.english)
        en = (*en, "in", (city.english, "LOC"))
        return en, (*person.chinese, "在", (city.chinese, "LOC"), "当", noun.chinese), False
