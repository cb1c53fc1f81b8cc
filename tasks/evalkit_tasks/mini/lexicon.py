"""Nouns, verbs, adjectives, places and times in English and Chinese, with what may stand beside what."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from evalkit_tasks.mini.tables import sections

UNSEEN = "unseen"
"""Class of the nouns that training never shows."""
_VOWELS = "aeiou"
_SHORT_ATTRIBUTES = frozenset("新旧大小厚薄脏甜酸硬软")
"""Chinese adjectives of one character that stand before a noun without 的."""


class Noun(NamedTuple):
    """A noun with its Chinese measure word."""

    english: str
    plural: str
    """'' where the noun has no plural."""
    unit: str
    """English unit of a mass noun, e.g. ``cup`` of tea; '' elsewhere."""
    chinese: str
    measure: str
    classes: tuple[str, ...]


class Verb(NamedTuple):
    """A verb in one of its senses: an English verb that has several Chinese words is several verbs."""

    base: str
    third: str
    past: str
    participle: str
    gerund: str
    chinese: str
    result: str
    """Chinese verb with its result, for 把 and 被; '' where there is none. For actions, the root that takes a duration."""
    subjects: tuple[str, ...]
    objects: tuple[str, ...]
    places: tuple[str, ...]
    flags: frozenset[str]


class Adjective(NamedTuple):
    """An adjective in one of its senses."""

    positive: str
    comparative: str
    superlative: str
    chinese: str
    classes: tuple[str, ...]
    flags: frozenset[str]


class Place(NamedTuple):
    """A kind of place, e.g. a market."""

    english: str
    preposition: str
    chinese: str
    localizer: str
    groups: tuple[str, ...]


class Time(NamedTuple):
    """A time expression and the tense that it goes with: past, future or habitual."""

    english: str
    chinese: str
    tense: str


def plural_of(noun: str) -> str:
    """Return the regular plural of an English noun."""
    if noun == "loaf":
        return "loaves"
    if noun.endswith(("s", "x", "ch", "sh")):
        return noun + "es"
    if noun.endswith("y") and noun[-2] not in _VOWELS:
        return noun[:-1] + "ies"
    return noun + "s"


def third_of(base: str) -> str:
    """Return the third person singular of an English verb, whose first word is inflected."""
    first, _, rest = base.partition(" ")
    return f"{plural_of(first) if first != 'go' else 'goes'} {rest}".rstrip()


def gerund_of(base: str) -> str:
    """Return the -ing form of an English verb whose consonant is not doubled."""
    first, _, rest = base.partition(" ")
    stem = first[:-1] if first.endswith("e") and not first.endswith(("ee", "ye")) else first
    return f"{stem}ing {rest}".rstrip()


def article(word: str) -> str:
    """Return the indefinite article before a word."""
    if word.startswith(("uni", "use")):
        return "a"
    return "an" if word[0].lower() in _VOWELS or word.startswith("hour") else "a"


@cache
def _table() -> tuple[list[Noun], list[Verb], list[Verb], list[Adjective], list[Place]]:
    return (
        [_noun(row, heading) for heading, rows in sections("mini_nouns.tsv").items() for row in rows],
        [_verb(row) for row in sections("mini_verbs.tsv")[""]],
        [_verb([*row[:7], "", *row[7:]]) for row in sections("mini_actions.tsv")[""]],
        [
            Adjective(row[0], row[1], row[2], row[3], _split(row[4]), frozenset(_split(row[5])))
            for row in sections("mini_adjectives.tsv")[""]
        ],
        [Place(row[0], row[1], row[2], row[3], _split(row[4])) for row in sections("mini_places.tsv")[""]],
    )


@cache
def groups() -> dict[str, str]:
    """Return for each inflected English word the name of its group: words that share a form in either language."""
    nouns, verbs, actions, adjectives, _ = _table()
    parent: dict[str, str] = {}

    def find(form: str) -> str:
        while parent.setdefault(form, form) != form:
            form = parent[form]
        return form

    def join(*forms: str) -> None:
        for form in forms:
            low, high = sorted((find(forms[0]), find(form)))
            parent[high] = low

    for noun in nouns:
        join(noun.english.split()[-1], (noun.plural or noun.english).split()[-1])
        join(noun.english, noun.chinese)
    for verb in (*verbs, *actions):
        forms = (verb.base, verb.third, verb.past, verb.participle, verb.gerund)
        join(*(form.split()[0] for form in forms), verb.chinese, verb.result or verb.chinese)
    for adjective in adjectives:
        join(adjective.positive, adjective.comparative or adjective.positive, adjective.chinese)
        join(adjective.positive, adjective.superlative or adjective.positive)
    return {form: find(form) for form in list(parent) if form.isascii()}


def _split(cell: str) -> tuple[str, ...]:
    return tuple(part for part in cell.split(",") if part)


def _noun(row: list[str], heading: str) -> Noun:
    english, plural, chinese, measure, extra = row
    is_mass = plural.startswith("~")
    return Noun(
        english,
        "" if is_mass else plural or plural_of(english),
        plural[1:] if is_mass else "",
        chinese,
        measure,
        (heading, *_split(extra)),
    )


def _verb(row: list[str]) -> Verb:
    base, past, participle, gerund, chinese, result, subjects, objects, places, flags = row
    return Verb(
        base,
        third_of(base),
        past,
        participle,
        f"{gerund} {base.partition(' ')[2]}".rstrip() if gerund else gerund_of(base),
        chinese,
        result,
        _split(subjects),
        _split(objects),
        _split(places),
        frozenset(_split(flags)),
    )


class Lexicon:
    """The vocabulary of a split: all of it, or without the words that only dev and test use."""

    def __init__(self, has_held: bool) -> None:
        nouns, self.verbs, self.actions, self.adjectives, self.places = _table()
        self.has_held = has_held
        self.gradable = [adjective for adjective in self.adjectives if adjective.comparative]
        self.colours = [adjective for adjective in self.adjectives if "colour" in adjective.flags]
        self.nouns = [noun for noun in nouns if has_held or UNSEEN not in noun.classes]
        self.plain_verbs = [
            verb
            for verb in self.verbs
            if sum(other.base == verb.base or other.chinese == verb.chinese for other in self.verbs) == 1
        ]
        """The verbs whose sense does not depend on their object."""
        self._attributes: dict[Noun, tuple[Adjective, ...]] = {}
        self._nouns_of: dict[str, tuple[Noun, ...]] = {}
        self._places_of: dict[tuple[str, ...], tuple[Place, ...]] = {}
        self.times = {
            tense: tuple(Time(*row) for row in sections("mini_times.tsv")[""] if row[2] == tense)
            for tense in ("past", "future", "habitual")
        }

    def nouns_of(self, names: str) -> tuple[Noun, ...]:
        """Return the nouns of classes: names of classes or nouns, separated by commas; ``class:noun`` picks a sense."""
        if names not in self._nouns_of:
            found = [noun for name in names.split(",") for noun in self.nouns if _matches(noun, name)]
            self._nouns_of[names] = tuple(dict.fromkeys(found))
        return self._nouns_of[names]

    def places_of(self, groups: tuple[str, ...]) -> tuple[Place, ...]:
        """Return the places of groups."""
        if groups not in self._places_of:
            self._places_of[groups] = tuple(place for place in self.places if set(groups) & set(place.groups))
        return self._places_of[groups]

    def attributes(self, noun: Noun) -> tuple[Adjective, ...]:
        """Return the adjectives that may stand before a noun."""
        if noun not in self._attributes:
            self._attributes[noun] = tuple(
                adjective
                for adjective in self.adjectives
                if "state" not in adjective.flags
                and (len(adjective.chinese) > 1 or adjective.chinese in _SHORT_ATTRIBUTES)
                and fits(adjective, noun)
            )
        return self._attributes[noun]

    def predicates(self, noun: Noun) -> list[Adjective]:
        """Return the adjectives that may be said of a noun."""
        return [adjective for adjective in self.gradable if fits(adjective, noun)]


def fits(adjective: Adjective, noun: Noun) -> bool:
    """Whether an adjective may describe a noun."""
    if noun.classes[0] in ("role", "kin") and "person" in adjective.classes:
        return True
    return noun.english in adjective.classes or not set(noun.classes).isdisjoint(adjective.classes)


def _matches(noun: Noun, name: str) -> bool:
    heading, colon, english = name.partition(":")
    if colon:
        return noun.classes[0] == heading and noun.english == english
    return heading in noun.classes or noun.english == heading


@cache
def lexicon(has_held: bool) -> Lexicon:
    """Return the vocabulary, with or without the words that only dev and test use."""
    return Lexicon(has_held)
