"""The tokens and sentences that ROUGE counts, as integers.

Two tokenizers. `default` is rouge-score's: lowercase, keep runs of a-z and 0-9. `cjk_char` also keeps each Chinese, Japanese
or Korean character as a token of its own; on English text both give the same. With a stemmer, runs longer than three
characters are stemmed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from evalkit.metrics.porter import porter_stems
from evalkit.punkt import sent_tokenize

_LONGEST_UNSTEMMED = 3
_CJK = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af\U00020000-\U0002fa1f"
_CJK_CHARACTER = re.compile(f"[{_CJK}]")
_PATTERNS: Mapping[str, re.Pattern[str]] = {
    "default": re.compile("[a-z0-9]+"),
    "cjk_char": re.compile(f"[a-z0-9]+|[{_CJK}]"),
}


class Vocabulary(dict[str, int]):
    """Raw token to the number of its stemmed form; numbers count from 0 in the order of appearance.

    Args:
        use_stemmer: Whether tokens with the same Porter stem share a number.
    """

    def __init__(self, *, use_stemmer: bool) -> None:
        super().__init__()
        self._stems = porter_stems() if use_stemmer else None
        self._numbers: dict[str, int] = {}

    def __missing__(self, token: str) -> int:
        form = token
        if self._stems is not None and len(token) > _LONGEST_UNSTEMMED:
            form = self._stems[token]
        number = self._numbers.setdefault(form, len(self._numbers))
        self[token] = number
        return number

    @property
    def size(self) -> int:
        """How many different numbers have been given."""
        return len(self._numbers)


class Tokenizer:
    """Turns texts into lists of token numbers.

    Args:
        name: ``default`` or ``cjk_char``.
        use_stemmer: Whether words are reduced to their Porter stems.
        split_summaries: Whether sentences are found by nltk's sentence model; else each line is a sentence.
    """

    def __init__(self, name: str, *, use_stemmer: bool, split_summaries: bool) -> None:
        self._find: Callable[[str], list[str]] = _PATTERNS[name].findall
        self._split_summaries = split_summaries
        self.vocabulary = Vocabulary(use_stemmer=use_stemmer)

    def tokens(self, text: str) -> list[int]:
        """Number the tokens of a whole text."""
        return list(map(self.vocabulary.__getitem__, self._find(text.lower())))

    def sentences(self, text: str) -> list[list[int]]:
        """Number the tokens of each sentence that has any."""
        parts = sent_tokenize(text) if self._split_summaries else text.split("\n")
        numbered = [self.tokens(part) for part in parts]
        return [sentence for sentence in numbered if sentence]

    def is_one_sentence(self, text: str) -> bool:
        """Say whether a text certainly is a single sentence, so that its tokens are those of the sentence."""
        return not self._split_summaries and "\n" not in text


def has_cjk(text: str) -> bool:
    """Say whether a text has a Chinese, Japanese or Korean character."""
    return _CJK_CHARACTER.search(text) is not None


def has_token(text: str, tokenizer: str) -> bool:
    """Say whether a tokenizer finds anything in a text."""
    return _PATTERNS[tokenizer].search(text.lower()) is not None
