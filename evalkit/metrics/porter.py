"""Porter stems, each computed once.

Stemming takes most of the time of ROUGE with a stemmer and of METEOR, and texts repeat their words.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

_MOST_STEMS = 1_000_000


class Stems(dict[str, str]):
    """Word to stem, filled on demand: indexing with any word gives its stem.

    Args:
        stem: Computes the stem of a word.
    """

    def __init__(self, stem: Callable[[str], str]) -> None:
        super().__init__()
        self._stem = stem

    def __missing__(self, word: str) -> str:
        if len(self) >= _MOST_STEMS:
            self.clear()
        stem = self._stem(word)
        self[word] = stem
        return stem


@cache
def porter_stems() -> Stems:
    """Give the one table of stems by nltk's Porter stemmer, its own extensions included, that all metrics share."""
    from nltk.stem.porter import PorterStemmer

    return Stems(PorterStemmer().stem)
