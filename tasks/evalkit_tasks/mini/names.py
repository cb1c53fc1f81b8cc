"""People and places with their English and Chinese names.

Chinese names are composed: a family name and a given name of one or two characters, spelled in Pinyin in English. Each Pinyin
syllable of the table stands for one character in its place, so an unseen name can be read off its parts, in both directions.
"""

from __future__ import annotations

from functools import cache
from random import Random
from typing import NamedTuple

from evalkit_tasks.mini.streams import chance, is_held, pick
from evalkit_tasks.mini.tables import sections

_HELD_NAMES_PERCENT = 20


class Person(NamedTuple):
    """A person as a text names them."""

    english: str
    chinese: str
    gender: str
    """f or m."""
    family: str
    """English family name; '' where only a given name is used."""
    family_chinese: str
    """Chinese family name, or the Chinese form of a Western one; '' where only a given name is used."""


class City(NamedTuple):
    """A city or a country."""

    english: str
    chinese: str


class Names:
    """The names of a split: all of them, or without those that only dev and test use."""

    def __init__(self, has_held: bool) -> None:
        self.has_held = has_held
        table = sections("mini_names.tsv")
        self.family = table["family"]
        self.first = table["first"]
        self.second = {gender: table[f"second_{gender}"] for gender in "mf"}
        self.western = {gender: self._kept(table[f"western_{gender}"]) for gender in "mf"}
        self.surnames = self._kept(table["surname"])
        self.cities = [City(*row) for row in self._kept(table["city"])]
        self.countries = [City(*row) for row in self._kept(table["country"])]
        self.titles = [(row[0], row[1], (row[2:] or [""])[0]) for row in table["title"]]

    def _kept(self, rows: list[list[str]]) -> list[list[str]]:
        return [row for row in rows if self.has_held or not is_held(row[1], _HELD_NAMES_PERCENT)]

    def chinese_person(self, rng: Random) -> Person:
        """Draw a person with a Chinese name."""
        family, family_chinese = pick(rng, self.family)
        gender = pick(rng, "mf")
        while True:
            english, chinese = pick(rng, self.second[gender])
            if chance(rng, 0.75):
                first, first_chinese = pick(rng, self.first)
                english, chinese = first + english, first_chinese + chinese
                if self.has_held or not is_held(chinese, _HELD_NAMES_PERCENT):
                    break
            else:
                english = english.capitalize()
                break
        return Person(f"{family} {english}", family_chinese + chinese, gender, family, family_chinese)

    def western_person(self, rng: Random, is_full: bool = True) -> Person:
        """Draw a person with a Western name, with or without family name."""
        gender = pick(rng, "mf")
        given, given_chinese = pick(rng, self.western[gender])
        if not is_full:
            return Person(given, given_chinese, gender, "", "")
        family, family_chinese = pick(rng, self.surnames)
        return Person(f"{given} {family}", f"{given_chinese}·{family_chinese}", gender, family, family_chinese)

    def person(self, rng: Random) -> Person:
        """Draw a person with a full name."""
        return self.chinese_person(rng) if chance(rng, 0.5) else self.western_person(rng)


@cache
def names(has_held: bool) -> Names:
    """Return the names, with or without those that only dev and test use."""
    return Names(has_held)
