"""News reports: a main event with its facts, an earlier event of the same kind that distracts, and sentences of colour.

The templates and the vocabulary of the slots stand in the package's data files ``mini_news_*.tsv`` and ``mini_slots.tsv``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from random import Random
from typing import NamedTuple

from evalkit_tasks.mini.names import Names, names
from evalkit_tasks.mini.streams import between, chance, is_held, pick
from evalkit_tasks.mini.tables import sections
from evalkit_tasks.mini.templates import Text, Value, fill, parts_of

KINDS = ("opening", "match", "takeover", "storm", "award", "appointment", "research", "strike")
_HELD_BRANDS_PERCENT = 20
_PEOPLE = "person guest scorer coach referee boss adviser chief chair before leader critic"
_COMPANIES = "buyer target donor sponsor funder from"
_COUNTS = {
    "jobs": (20, 900),
    "visitors": (200, 9000),
    "crowd": (3000, 60000),
    "staff": (150, 9000),
    "homes": (300, 40000),
    "entries": (40, 4000),
    "votes": (20, 900),
    "sample": (200, 9000),
    "number": (150, 9000),
    "years": (2, 9),
    "months": (3, 30),
    "hours": (2, 30),
    "days": (2, 20),
    "age": (31, 64),
    "term": (2, 7),
    "minute": (3, 90),
}
_SUMS = {"cost": 90.0, "price": 900.0, "damage": 400.0, "money": 3.0, "loss": 60.0}
"""Largest sum in million yuan."""
_SHARED = ("prize", "facility")
_SLOTS = {
    "opening": "facility city day year cost jobs person years guest visitors",
    "match": "winner loser score day year scorer crowd city coach minute referee",
    "takeover": "buyer target day year price boss staff city adviser months",
    "storm": "disaster city day year homes damage chief shelter hours donor",
    "award": "prize winner day year work money chair entries city sponsor",
    "appointment": "org person role day year before from age home votes term",
    "research": "org finding day year leader sample funder months city critic",
    "strike": "org workers day year number demand leader loss days city",
}


@cache
def templates(language: str, kind: str, role: str, name: str = "") -> tuple[tuple[str, ...], ...]:
    """Return the templates of a kind of event; several in one entry are paraphrases of one another.

    Args:
        language: en or zh.
        kind: One of `KINDS`.
        role: it, full, told, fact, question, colour or summary.
        name: main or other, or the slot of a fact or question; '' for all.
    """
    rows = sections(f"mini_news_{language}.tsv")[kind]
    return tuple(tuple(row[2:]) for row in rows if row[0] == role and name in ("", row[1]))


@cache
def facts_of(kind: str) -> tuple[str, ...]:
    """Return the slots of a kind that have sentences of their own."""
    return tuple(dict.fromkeys(row[1] for row in sections("mini_news_en.tsv")[kind] if row[0] == "fact"))


def answer_type(slot: str) -> str:
    """Return what a question for a slot asks for: who, where, a number, or the slot itself if it is none of these."""
    if slot in (*_PEOPLE.split(), *_COMPANIES.split(), "winner"):
        return "who"
    if slot in (*_COUNTS, *_SUMS, "demand"):
        return "number"
    return "where" if slot in ("city", "home") else slot


@cache
def in_summary(kind: str) -> tuple[str, ...]:
    """Return the facts that a summary of this kind holds."""
    row = next(row for row in sections("mini_news_en.tsv")[kind] if row[0] == "summary")
    return tuple(row[1].split(","))


def event_key(kind: str, main: Mapping[str, Value]) -> str:
    """Return what every text about a main event says of it: who or what, where and when."""
    told = templates("en", kind, "told", "main")[0][0]
    return " ".join((kind, *sorted(main[slot].english for slot in parts_of(told)[1::2])))


class Report(NamedTuple):
    """A main event and an earlier one, with all their values."""

    kind: str
    main: Mapping[str, Value]
    other: Mapping[str, Value]

    def values(self, which: str) -> Mapping[str, Value]:
        """Return the values of the main or the other event."""
        return self.main if which == "main" else self.other

    def told(self, rng: Random, which: str, language: str) -> Text:
        """Return a sentence that tells the main or the other event."""
        return self._filled(pick(rng, templates(language, self.kind, "told", which))[0], which, "it", language)

    def fact(self, rng: Random, which: str, slot: str, language: str) -> Text:
        """Return a sentence with one fact of the main or the other event."""
        return self._filled(pick(rng, templates(language, self.kind, "fact", slot))[0], which, "it", language)

    def question(self, rng: Random, which: str, slot: str, language: str) -> str:
        """Return a question for a fact of the main or the other event, which names the event in full."""
        template = pick(rng, templates(language, self.kind, "question", slot))[0]
        return self._filled(template, which, "full", language).text

    def is_told_in(self, context: str, which: str, language: str) -> bool:
        """Whether a text names all that tells the main or the other event apart from its like."""
        named = templates(language, self.kind, "full", which)[0][0]
        values = (self.values(which)[slot].of(language).replace(" ", "") for slot in parts_of(named)[1::2])
        return all(value in context.replace(" ", "") for value in values)

    def summaries(self, language: str) -> list[str]:
        """Return the paraphrases of the summary."""
        pair = templates(language, self.kind, "summary")[0]
        return [self._filled(template, "main", "it", language).text for template in pair]

    def colour(self, language: str) -> list[str]:
        """Return all sentences of colour, in the order of the file."""
        return [fill(row[0], {}, language).text for row in templates(language, self.kind, "colour")]

    def _filled(self, template: str, which: str, form: str, language: str) -> Text:
        described = templates(language, self.kind, form, which)[0][0]
        return fill(template.replace("{it}", described), self.values(which), language)


class ReportMaker:
    """Draws reports from the names of a split."""

    def __init__(self, rng: Random, has_held: bool) -> None:
        self.rng = rng
        self.names: Names = names(has_held)
        table = sections("mini_slots.tsv")
        self.table = table
        self.brands = [row for row in table["brand"] if has_held or not is_held(row[1], _HELD_BRANDS_PERCENT)]
        self.makers: dict[str, Callable[[], Value]] = {
            "city": self.city,
            "home": self.city,
            "org": self.organisation,
            "year": self.year,
            "score": self.score,
            "demand": self.demand,
            **dict.fromkeys(_PEOPLE.split(), self.person),
            **dict.fromkeys(_COMPANIES.split(), self.company),
        }

    def draw(self, kind: str = "") -> Report:
        """Draw a report of one kind, or of any."""
        return self.complete(*self.event(kind))

    def event(self, kind: str = "") -> tuple[str, dict[str, Value]]:
        """Draw the main event of a report: its kind and its values."""
        kind = kind or pick(self.rng, KINDS)
        used: set[str] = set()
        return kind, {slot: self._distinct(kind, slot, used) for slot in _SLOTS[kind].split()}

    def complete(self, kind: str, main: Mapping[str, Value]) -> Report:
        """Add an earlier event to a main one; they have the prize or the kind of building in common, and nothing else."""
        used = {value.english for value in main.values()}
        other = {slot: self._distinct(kind, slot, used) for slot in _SLOTS[kind].split()}
        for shared in _SHARED:
            if shared in main:
                other[shared] = main[shared]
        return Report(kind, main, other)

    def _distinct(self, kind: str, slot: str, used: set[str]) -> Value:
        value = self._value(kind, slot)
        while value.english in used and slot not in _SHARED:
            value = self._value(kind, slot)
        if slot not in _SHARED:
            used.add(value.english)
        return value

    def _value(self, kind: str, slot: str) -> Value:
        if slot in ("winner", "loser"):
            return self.team() if kind == "match" else self.person()
        if slot == "org" and kind == "research":
            return self.institution()
        if slot in self.makers:
            return self.makers[slot]()
        if slot in _COUNTS:
            count = between(self.rng, *_COUNTS[slot])
            return Value(f"{count:,}", str(count))
        if slot in _SUMS:
            return self.money(_SUMS[slot])
        english, chinese = pick(self.rng, self.table[slot])
        aliases = (english.partition(" ")[2],) if english.startswith(("a ", "an ")) else ()
        return Value(english, chinese, "", aliases)

    def person(self) -> Value:
        """Draw a person with full name."""
        person = self.names.person(self.rng)
        if "·" not in person.chinese:
            return Value(person.english, person.chinese, "PER")
        return Value(person.english, person.chinese, "PER", (person.family,), (person.family_chinese,))

    def city(self) -> Value:
        """Draw a city."""
        city = pick(self.rng, self.names.cities)
        return Value(city.english, city.chinese, "LOC")

    def company(self) -> Value:
        """Draw a company."""
        brand, field = pick(self.rng, self.brands), pick(self.rng, self.table["industry"])
        return Value(f"{brand[0]} {field[0]}", f"{brand[1]} {field[1]}", "ORG")

    def institution(self) -> Value:
        """Draw a place of learning."""
        city, kind = pick(self.rng, self.names.cities), pick(self.rng, self.table["institution"])
        return Value(f"{city.english} {kind[0]}", f"{city.chinese} {kind[1]}", "ORG")

    def organisation(self) -> Value:
        """Draw a company or a place of learning."""
        return self.company() if chance(self.rng, 0.6) else self.institution()

    def team(self) -> Value:
        """Draw a team."""
        city, kind = pick(self.rng, self.names.cities), pick(self.rng, self.table["team"])
        return Value(f"{city.english} {kind[0]}", f"{city.chinese} {kind[1]}", "ORG")

    def year(self) -> Value:
        """Draw a past year."""
        year = between(self.rng, 1990, 2018)
        return Value(str(year), f"{year}年")

    def score(self) -> Value:
        """Draw the score of a match that somebody won."""
        high = between(self.rng, 1, 5)
        low = between(self.rng, 0, high - 1)
        return Value(f"{high}-{low}", f"{high} 比 {low}")

    def demand(self) -> Value:
        """Draw a pay rise."""
        percent = between(self.rng, 3, 19)
        return Value(f"{percent} percent", f"{percent}%", "", (str(percent),))

    def day(self) -> Value:
        """Draw a day of the week."""
        english, chinese = pick(self.rng, self.table["day"])
        return Value(english, chinese)

    def money(self, largest: float) -> Value:
        """Draw a sum of money.

        Args:
            largest: Largest sum in million yuan.
        """
        hundredths = between(self.rng, 5, int(largest * 20)) * 5
        millions = f"{hundredths / 100:g} million"
        chinese = f"{hundredths}万" if hundredths < 10_000 else f"{hundredths / 10_000:g}亿"
        return Value(f"{millions} yuan", f"{chinese} 元", "", (millions,), (chinese,))
