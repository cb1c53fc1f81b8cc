"""Noun phrases, drawn once and rendered in English and Chinese at once.

A piece of a rendering is a word, or an entity: its words and its type. English pieces are tokens (``'s`` stands alone),
Chinese pieces are words.
"""

from __future__ import annotations

from random import Random
from typing import NamedTuple, TypeAlias

from evalkit_tasks.mini.lexicon import Lexicon, Noun, article, plural_of
from evalkit_tasks.mini.names import Names, Person
from evalkit_tasks.mini.streams import between, chance, pick

Piece: TypeAlias = str | tuple[str, str]
Pieces: TypeAlias = tuple[Piece, ...]

NUMBERS = (
    ("two", "两"),
    ("three", "三"),
    ("four", "四"),
    ("five", "五"),
    ("six", "六"),
    ("seven", "七"),
    ("eight", "八"),
    ("nine", "九"),
    ("ten", "十"),
    ("twelve", "十二"),
)
OWNERS = (("my", "我"), ("your", "你"), ("his", "他"), ("her", "她"), ("our", "我们"), ("their", "他们"))
PRONOUNS = (
    ("I", "me", "我", "1"),
    ("you", "you", "你", "2"),
    ("he", "him", "他", "3"),
    ("she", "her", "她", "3"),
    ("we", "us", "我们", "2"),
    ("they", "them", "他们", "2"),
)


class Phrase(NamedTuple):
    """A noun phrase in both languages."""

    english: Pieces
    chinese: Pieces
    agreement: str
    """``1`` am, ``3`` is, ``2`` are."""
    gender: str = ""
    """f or m for a person of known gender."""
    object_form: str = ""
    """English form behind verbs, where it differs."""

    @property
    def as_object(self) -> Pieces:
        """English pieces behind a verb or preposition."""
        return (self.object_form,) if self.object_form else self.english


class Speech:
    """Draws noun phrases from the words and names of a split."""

    def __init__(self, rng: Random, lexicon: Lexicon, names: Names) -> None:
        self.rng = rng
        self.lexicon = lexicon
        self.names = names

    def named(self) -> Phrase:
        """Draw a person by name, sometimes with a title."""
        rng = self.rng
        is_chinese = chance(rng, 0.55)
        person = self.names.chinese_person(rng) if is_chinese else self.names.western_person(rng, chance(rng, 0.4))
        if person.family and chance(rng, 0.2):
            return self._titled(person)
        return Phrase(((person.english, "PER"),), ((person.chinese, "PER"),), "3", person.gender)

    def _titled(self, person: Person) -> Phrase:
        choices = [title for title in self.names.titles if title[2] in ("", person.gender)]
        title, title_chinese, _ = pick(self.rng, choices)
        return Phrase(
            (title, (person.family, "PER")),
            ((person.family_chinese, "PER"), title_chinese),
            "3",
            person.gender,
        )

    def pair(self) -> Phrase:
        """Draw two people joined by and."""
        first, second = self.named(), self.named()
        return Phrase(
            (*first.english, "and", *second.english),
            (*first.chinese, "和", *second.chinese),
            "2",
        )

    def pronoun(self) -> Phrase:
        """Draw a personal pronoun."""
        subject, as_object, chinese, agreement = pick(self.rng, PRONOUNS)
        gender = {"he": "m", "she": "f"}.get(subject, "")
        return Phrase((subject,), (chinese,), agreement, gender, as_object)

    def relative_of(self, noun: Noun) -> Phrase:
        """Return somebody's relative, e.g. my uncle."""
        if chance(self.rng, 0.6):
            english, chinese = pick(self.rng, OWNERS)
            between_them = ("的",) if len(chinese) > 1 else ()
            return Phrase((english, noun.english), (chinese, *between_them, noun.chinese), "3")
        owner = self.named()
        return Phrase((*owner.english, "'s", noun.english), (*owner.chinese, "的", noun.chinese), "3")

    def subject(self, classes: tuple[str, ...]) -> Phrase:
        """Draw a subject of one of the classes; ``human`` is anybody, ``name`` a named person, ``pair`` two of them."""
        kind = pick(self.rng, classes)
        if kind == "name":
            return self.named()
        if kind == "pair":
            return self.pair()
        if kind == "human":
            return self.anybody()
        noun = pick(self.rng, self.lexicon.nouns_of(kind))
        if noun.classes[0] == "kin":
            return self.relative_of(noun)
        return self.definite(noun)

    def anybody(self) -> Phrase:
        """Draw a person: by name, pronoun, profession or kinship."""
        roll = self.rng.random()
        if roll < 0.45:
            return self.named()
        if roll < 0.53:
            return self.pair()
        if roll < 0.63:
            return self.pronoun()
        if roll < 0.76:
            return self.relative_of(pick(self.rng, self.lexicon.nouns_of("kin")))
        return self.definite(pick(self.rng, self.lexicon.nouns_of("role")))

    def definite(self, noun: Noun) -> Phrase:
        """Return a known person or animal: the, this, those three."""
        roll = self.rng.random()
        if roll < 0.5:
            return Phrase(("the", noun.english), (noun.chinese,), "3")
        if roll < 0.65 and noun.classes[0] == "role":
            return Phrase(("the", noun.plural), (noun.chinese, "们"), "2")
        if roll < 0.9 or not noun.plural:
            english, chinese = pick(self.rng, (("this", "这"), ("that", "那")))
            return Phrase((english, noun.english), (chinese, noun.measure, noun.chinese), "3")
        number, digits = pick(self.rng, NUMBERS[:4])
        return Phrase(("those", number, noun.plural), ("那", digits, noun.measure, noun.chinese), "2")

    def thing(
        self,
        noun: Noun,
        owner: tuple[str, str] | None = None,
        is_known: bool = False,
        is_one: bool = False,
        is_plain: bool = False,
    ) -> Phrase:
        """Return a thing with a determiner and perhaps an adjective.

        Args:
            noun: What it is.
            owner: Whose it may be, e.g. ``("his", "他")``; None for nobody's.
            is_known: Only this, that or somebody's; else a and numbers are possible too.
            is_one: Whether only one of them can be meant.
            is_plain: Whether no adjective may stand before it.
        """
        if not noun.plural and not noun.unit:
            return self.generic(noun)
        rng = self.rng
        if owner and chance(rng, 0.5 if is_known else 0.15):
            return Phrase((owner[0], noun.english), (owner[1], "的", noun.chinese), _agreement(noun))
        adjectives = self.lexicon.attributes(noun)
        before: tuple[str, ...] = ()
        before_chinese: tuple[str, ...] = ()
        if adjectives and not is_plain and chance(rng, 0.25):
            adjective = pick(rng, adjectives)
            before = (adjective.positive,)
            before_chinese = (adjective.chinese,) if len(adjective.chinese) == 1 else (adjective.chinese, "的")
        amount, chinese, is_plural = _count(rng, is_known, is_one)
        english: tuple[str, ...]
        if noun.unit:
            unit = noun.unit if not is_plural else plural_of(noun.unit)
            english = (amount or article(unit), unit, "of", *before, noun.english)
        else:
            words = (*before, noun.plural if is_plural else noun.english)
            english = (amount or article(words[0]), *words)
        return Phrase(
            english,
            (*chinese, noun.measure, *before_chinese, noun.chinese),
            "2" if is_plural else "3",
        )

    def generic(self, noun: Noun) -> Phrase:
        """Return a kind of thing: the piano, football, apples."""
        if "instrument" in noun.classes:
            return Phrase(("the", noun.english), (noun.chinese,), "3")
        english = noun.plural or noun.english
        return Phrase((english,), (noun.chinese,), "2" if noun.plural else "3")

    def single(self, noun: Noun) -> Phrase:
        """Return one of its kind without further words: a horse, tea."""
        if not noun.plural:
            return self.generic(noun)
        return Phrase((article(noun.english), noun.english), (noun.chinese,), "3")

    def known(self, noun: Noun) -> Phrase:
        """Return the thing that both speakers know: the book, 书."""
        return Phrase(("the", noun.english), (noun.chinese,), _agreement(noun))

    def year(self) -> int:
        """Draw a year that is past."""
        return between(self.rng, 1950, 2019)


def _agreement(noun: Noun) -> str:
    """Agreement of one thing: glasses and noodles are plural."""
    return "2" if noun.unit and noun.english.endswith("s") else "3"


def _count(rng: Random, is_known: bool, is_one: bool) -> tuple[str, tuple[str, ...], bool]:
    """Draw a determiner: English ('' for the indefinite article), Chinese, whether it is plural."""
    if is_known or chance(rng, 0.25):
        english, chinese = pick(rng, (("this", "这"), ("that", "那")))
        return english, (chinese,), False
    if is_one or chance(rng, 0.6):
        return "", ("一",), False
    number, digits = pick(rng, NUMBERS[:4] if chance(rng, 0.7) else NUMBERS)
    return number, (digits,), True
