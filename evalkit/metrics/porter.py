"""Porter stems exactly as nltk's `PorterStemmer` gives them, extensions included, each computed once.

Stemming takes most of the time of ROUGE with a stemmer and of METEOR when each word is stemmed anew, and importing nltk takes
longer than scoring a corpus. In the comments, m is the measure of a stem: how often a vowel is followed by a consonant.

References:
    Porter, M. F. (1980). An algorithm for suffix stripping. Program 14(3), 130-137.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache

_MOST_STEMS = 1_000_000
_vowel_consonants = re.compile("[aeiou][^aeiou]").findall
_has_vowel = re.compile("[aeiou]").search

_IRREGULAR: Mapping[str, str] = {
    "skies": "sky",
    "sky": "sky",
    "dying": "die",
    "lying": "lie",
    "tying": "tie",
    "news": "news",
    "innings": "inning",
    "inning": "inning",
    "outings": "outing",
    "outing": "outing",
    "cannings": "canning",
    "canning": "canning",
    "howe": "howe",
    "proceed": "proceed",
    "exceed": "exceed",
    "succeed": "succeed",
}

# Suffix and replacement, where the stem has m > 0. Of suffixes that end alike the longest comes first: only the first that
# fits is tried.
_STEP_2 = (
    ("ational", "ate"),
    ("tional", "tion"),
    ("enci", "ence"),
    ("anci", "ance"),
    ("izer", "ize"),
    ("bli", "ble"),
    ("alli", "al"),
    ("entli", "ent"),
    ("eli", "e"),
    ("ousli", "ous"),
    ("fulli", "ful"),
    ("ization", "ize"),
    ("ation", "ate"),
    ("ator", "ate"),
    ("alism", "al"),
    ("iveness", "ive"),
    ("fulness", "ful"),
    ("ousness", "ous"),
    ("aliti", "al"),
    ("iviti", "ive"),
    ("biliti", "ble"),
    ("logi", "log"),
)
_STEP_3 = (
    ("icate", "ic"),
    ("ative", ""),
    ("alize", "al"),
    ("iciti", "ic"),
    ("ical", "ic"),
    ("ful", ""),
    ("ness", ""),
)
# Suffixes that go where the stem has m > 1.
_STEP_4 = (
    *(
        "al",
        "ance",
        "ence",
        "er",
        "ic",
        "able",
        "ible",
        "ant",
        "ement",
        "ment",
        "ent",
        "ion",
        "ou",
        "ism",
        "ate",
        "iti",
    ),
    *("ous", "ive", "ize"),
)


def _by_second_last(rules: Iterable[tuple[str, str]]) -> dict[str, list[tuple[str, str]]]:
    grouped: dict[str, list[tuple[str, str]]] = {}
    for rule in rules:
        grouped.setdefault(rule[0][-2], []).append(rule)
    return grouped


_RULES_2 = _by_second_last(_STEP_2)
_RULES_3 = _by_second_last(_STEP_3)
_RULES_4 = _by_second_last((suffix, "") for suffix in _STEP_4)


class Stems(dict[str, str]):
    """Word to stem, filled on demand: indexing with any word gives its stem."""

    def __missing__(self, word: str) -> str:
        if len(self) >= _MOST_STEMS:
            self.clear()
        stemmed = self[word] = stem(word)
        return stemmed


@cache
def porter_stems() -> Stems:
    """Give the one table of stems that all metrics of this process share."""
    return Stems()


def stem(word: str) -> str:
    """Reduce a word to its Porter stem, in lower case."""
    lowered = word.lower()
    if lowered in _IRREGULAR:
        return _IRREGULAR[lowered]
    if len(word) <= 2:
        return lowered
    return _step_5(_step_4(_step_3(_step_2(_step_1c(_step_1b(_step_1a(lowered)))))))


def _sounds(word: str) -> str:
    """Write i for every y that is a vowel: one that follows a consonant."""
    if "y" not in word:
        return word
    letters = []
    follows_consonant = False
    for letter in word:
        is_vowel = letter in "aeiou" or (letter == "y" and follows_consonant)
        letters.append("i" if is_vowel and letter == "y" else letter)
        follows_consonant = not is_vowel
    return "".join(letters)


def _measure(part: str) -> int:
    return len(_vowel_consonants(_sounds(part)))


def _ends_short(part: str) -> bool:
    """Whether a stem ends consonant, vowel, consonant other than w, x, y; nltk adds: or is vowel, consonant."""
    sounds = _sounds(part)
    is_vowel = [letter in "aeiou" for letter in sounds[-3:]]
    if len(part) == 2:
        return is_vowel == [True, False]
    return is_vowel == [False, True, False] and part[-1] not in "wxy"


def _step_1a(word: str) -> str:
    if not word.endswith("s"):
        return word
    if word.endswith("ies"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("ss"):
        return word
    return word[:-2] if word.endswith("sses") else word[:-1]


def _step_1b(word: str) -> str:
    if word.endswith("ed"):
        if word.endswith("ied"):
            return word[:-1] if len(word) == 4 else word[:-2]
        if word.endswith("eed"):
            return word[:-1] if _measure(word[:-3]) else word
        part = word[:-2]
    elif word.endswith("ing"):
        part = word[:-3]
    else:
        return word
    return _restore(part) if _has_vowel(_sounds(part)) else word


def _restore(part: str) -> str:
    """Mend a stem that lost -ed or -ing: conflat(e), hop(p), fil(e)."""
    if part.endswith(("at", "bl", "iz")):
        return part + "e"
    if part[-2:-1] == part[-1] and _sounds(part)[-1] not in "aeiou":
        return part if part[-1] in "lsz" else part[:-1]
    if part.endswith("*d"):
        # nltk's name for a double consonant is matched as text as well.
        return part[:-2] + "d"
    return part + "e" if _measure(part) == 1 and _ends_short(part) else part


def _step_1c(word: str) -> str:
    if word.endswith("y") and len(word) > 2 and _sounds(word[:-1])[-1] not in "aeiou":
        return word[:-1] + "i"
    return word


def _step_2(word: str) -> str:
    for suffix, replacement in _RULES_2.get(word[-2:-1], ()):
        if word.endswith(suffix):
            part = word[: -len(suffix)]
            # The l of -logi counts as part of the stem, so that geo and theo are long enough.
            if not _measure(part + "l" if suffix == "logi" else part):
                return word
            return _step_2(part + "al") if suffix == "alli" else part + replacement
    return word


def _step_3(word: str) -> str:
    for suffix, replacement in _RULES_3.get(word[-2:-1], ()):
        if word.endswith(suffix):
            part = word[: -len(suffix)]
            return part + replacement if _measure(part) else word
    return word


def _step_4(word: str) -> str:
    for suffix, _ in _RULES_4.get(word[-2:-1], ()):
        if word.endswith(suffix):
            part = word[: -len(suffix)]
            goes = _measure(part) > 1 and (suffix != "ion" or part[-1] in "st")
            return part if goes else word
    return word


def _step_5(word: str) -> str:
    if word.endswith("e"):
        part = word[:-1]
        measure = _measure(part)
        if measure > 1 or (measure == 1 and not _ends_short(part)):
            word = part
    if word.endswith("ll") and _measure(word[:-1]) > 1:
        return word[:-1]
    return word
