"""Seeded text with the statistics that decide how fast a scorer is: word frequencies, lengths, and how texts differ.

Words are drawn from a vocabulary of pronounceable types by a Zipf-Mandelbrot law, so that a corpus of 30,000 sentences
has about as many distinct words as ordinary prose. A hypothesis is its reference with words replaced, dropped and added
and with a phrase moved.
"""

import random
from itertools import accumulate

_ONSETS = (
    "b",
    "br",
    "c",
    "ch",
    "d",
    "dr",
    "f",
    "g",
    "gr",
    "h",
    "k",
    "l",
    "m",
    "n",
    "p",
    "pl",
    "r",
    "s",
    "sh",
    "st",
    "t",
    "tr",
    "v",
    "w",
)
_VOWELS = ("a", "e", "i", "o", "u", "ai", "ea", "ou")
_CODAS = ("", "", "", "n", "r", "s", "t", "l", "nd", "st", "ck")
_SUFFIXES = ("", "", "", "s", "ed", "ing", "ly", "er", "ness")
_TYPES = 40_000


def vocabulary(size: int = _TYPES, seed: int = 1) -> list[str]:
    """Make distinct words, the frequent ones short, as in any language."""
    source = random.Random(seed)
    words: dict[str, None] = {}
    while len(words) < size:
        syllables = 1 + (len(words) > 300 and source.random() < 0.6) + (len(words) > 9000 and source.random() < 0.2)
        stem = "".join(
            source.choice(_ONSETS) + source.choice(_VOWELS) + source.choice(_CODAS) for _ in range(syllables)
        )
        words.setdefault(stem + (source.choice(_SUFFIXES) if len(words) > 1000 else ""))
    return list(words)


def pairs(n: int, seed: int, words: int = 25) -> tuple[list[str], list[str]]:
    """Draw n hypotheses and their references.

    Args:
        n: How many pairs.
        seed: Same seed, same text.
        words: Mean number of words of a reference.

    Returns:
        Hypotheses and references, one string each, both of length n.
    """
    source = random.Random(seed)
    types = vocabulary()
    cumulative = list(accumulate(1.0 / (rank + 2.7) ** 1.1 for rank in range(1, len(types) + 1)))
    hypotheses, references = [], []
    for _ in range(n):
        length = max(1, round(source.gauss(words, words / 2.5)))
        reference = source.choices(types, cum_weights=cumulative, k=length)
        hypothesis = _disturb(reference, types, cumulative, source)
        references.append(_write(reference, source))
        hypotheses.append(_write(hypothesis, source))
    return hypotheses, references


def _disturb(words: list[str], types: list[str], cumulative: list[float], source: random.Random) -> list[str]:
    """Replace a fifth of the words, drop and add some, and now and then move a phrase."""
    disturbed = []
    for word in words:
        chance = source.random()
        if chance < 0.20:
            disturbed.extend(source.choices(types, cum_weights=cumulative))
        elif chance < 0.92:
            disturbed.append(word)
        if chance > 0.96:
            disturbed.extend(source.choices(types, cum_weights=cumulative))
    if len(disturbed) > 6 and source.random() < 0.6:
        start = source.randrange(len(disturbed) - 4)
        phrase = disturbed[start : start + source.randint(1, 4)]
        del disturbed[start : start + len(phrase)]
        target = source.randrange(len(disturbed) + 1)
        disturbed[target:target] = phrase
    return disturbed


def _write(words: list[str], source: random.Random) -> str:
    """Put words down as a sentence: capital letter, commas, a number or a quotation here and there, final point."""
    written = list(words)
    for place in range(len(written) - 1):
        chance = source.random()
        if chance < 0.05:
            written[place] += ","
        elif chance < 0.06:
            written[place] = f"{source.randint(1, 9)},{source.randint(100, 999)}"
        elif chance < 0.065:
            written[place] = f'"{written[place]}"'
        elif chance < 0.075:
            written[place] += "-" + words[place + 1]
    sentence = " ".join(written)
    return sentence[:1].upper() + sentence[1:] + "."
