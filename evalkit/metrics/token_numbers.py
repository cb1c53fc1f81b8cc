"""Numbers the tokens of lines of text, calling the tokenizer once for each distinct word where that gives the same tokens.

The tokenizers 13a, zh and intl look at two neighbouring characters at most and end every token at white space, so the
tokens of a line are the tokens of its words one after another. Two things do depend on the line. zh and intl treat a mark
otherwise where only the end of the line is beside it, so first and last words that begin or end with one are kept apart
from the same words elsewhere. And 13a joins what a hyphen before a line feed cut: such texts are tokenized whole, as are
all texts by the tokenizers that segment.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import count, islice
from string import punctuation
from typing import Protocol, TypeAlias

import numpy as np

from evalkit.metrics.ngram_counts import IntArray

Tokenizer: TypeAlias = Callable[[str], str]

_MARK = "\x01"
_BLANK = " "
_ASCII_MARKS = frozenset(punctuation)


class Units(Protocol):
    """Cuts lines into units that a tokenizer treats alike wherever they stand, and tokenizes units.

    Both give the pieces of all texts in order, with a mark after the pieces of each text, and that mark, which is a string
    that is no piece.
    """

    def units(self, lines: Sequence[str]) -> tuple[list[str], str]:
        """Cut lines into units."""
        ...

    def tokens(self, units: Sequence[str]) -> tuple[list[str], str]:
        """Cut distinct units into tokens."""
        ...


class TokenNumbers:
    """Turns lines into token numbers; equal tokens get equal numbers, whichever line they come from."""

    def __init__(self, units: Units) -> None:
        self._units = units
        self._unit_numbers: defaultdict[str, int] = defaultdict(count().__next__)
        self._token_numbers: defaultdict[str, int] = defaultdict(count().__next__)
        self._tokens = np.zeros(0, dtype=np.int64)
        self._ends = np.zeros(1, dtype=np.int64)
        # The marks may be words too, so they are learned as such before they serve as marks.
        _number([_MARK], _BLANK, self._unit_numbers)
        self._learn()

    def __call__(self, lines: Sequence[str]) -> tuple[IntArray, IntArray]:
        """Number the tokens of lines.

        Returns:
            The numbers of all lines one after another, shape (N,), and the number of tokens of each line, shape (T,).
        """
        units, unit_ends = _number(*self._units.units(lines), self._unit_numbers)
        self._learn()
        starts = self._ends[units]
        counts = self._ends[units + 1] - starts
        ends = np.cumsum(counts)
        places = np.repeat(starts - (ends - counts), counts) + np.arange(int(counts.sum()))
        line_ends = np.concatenate((np.zeros(1, dtype=np.int64), ends))[unit_ends]
        return self._tokens[places], np.diff(line_ends, prepend=0)

    def _learn(self) -> None:
        """Tokenize the units that were seen for the first time."""
        fresh = list(islice(self._unit_numbers, len(self._ends) - 1, None))
        if fresh:
            tokens, ends = _number(*self._units.tokens(fresh), self._token_numbers)
            self._ends = np.concatenate((self._ends, self._ends[-1] + ends))
            self._tokens = np.concatenate((self._tokens, tokens))


def _number(pieces: list[str], mark: str, numbers: Mapping[str, int]) -> tuple[IntArray, IntArray]:
    """Number pieces, and find where each text ends: how many pieces there are up to each mark."""
    numbered = np.fromiter(map(numbers.__getitem__, pieces), np.int64, len(pieces))
    is_mark = numbered == numbers[mark]
    marks = np.flatnonzero(is_mark)
    return numbered[~is_mark], marks - np.arange(len(marks))


def characters(lines: Sequence[str]) -> tuple[IntArray, IntArray]:
    """Number the characters of lines by their code points, in the form of `TokenNumbers`."""
    codes = "".join(lines).encode("utf-32-le", "surrogatepass")
    lengths = np.fromiter(map(len, lines), np.int64, len(lines))
    return np.frombuffer(codes, dtype=np.dtype("<u4")).astype(np.int64), lengths


def units_of(name: str, tokenize: Tokenizer) -> Units:
    """Choose the units for one of sacrebleu's tokenizers.

    Args:
        name: The tokenizer's name.
        tokenize: sacrebleu's tokenizer of that name.
    """
    if name == "13a":
        return _HyphenatedWords(tokenize)
    if name in ("char", "none"):
        return _FreeWords(tokenize)
    if name == "intl":
        return _EdgedWords(tokenize)
    if name == "zh":
        return _ChineseWords(tokenize)
    return _Lines(tokenize)


class _Lines:
    """Whole lines, for tokenizers that segment."""

    def __init__(self, tokenize: Tokenizer) -> None:
        self._tokenize = tokenize

    def units(self, lines: Sequence[str]) -> tuple[list[str], str]:
        return [unit for line in lines for unit in (*self._of_line(line), _BLANK)], _BLANK

    def tokens(self, units: Sequence[str]) -> tuple[list[str], str]:
        return [token for unit in units for token in (*self._of_unit(unit), _BLANK)], _BLANK

    def _of_line(self, line: str) -> list[str]:
        return [line]

    def _of_unit(self, unit: str) -> list[str]:
        """Tokenize a unit; a blank, the mark between lines, has no token."""
        return self._tokenize(unit).split()


class _Words(_Lines):
    """Words, for tokenizers that treat each word by itself."""

    def units(self, lines: Sequence[str]) -> tuple[list[str], str]:
        joined = f" {_MARK} ".join((*lines, ""))
        return (joined.split(), _MARK) if self._is_clear(joined, len(lines)) else super().units(lines)

    def _is_clear(self, joined: str, texts: int) -> bool:
        """Whether joined texts can be told apart again, and their tokens do not depend on what was joined."""
        return joined.count(_MARK) == texts

    def _of_line(self, line: str) -> list[str]:
        return line.split()


class _FreeWords(_Words):
    """Words, for tokenizers to which the end of a line is white space, so that many words are one line to them."""

    def tokens(self, units: Sequence[str]) -> tuple[list[str], str]:
        joined = f"\t{_MARK}\t".join((*units, ""))
        if self._is_clear(joined, len(units)):
            return self._tokenize(joined).split(), _MARK
        return super().tokens(units)


class _HyphenatedWords(_FreeWords):
    """Words, save that a text with a line feed is one unit: 13a joins what a hyphen before it cut."""

    def _is_clear(self, joined: str, texts: int) -> bool:
        return "\n" not in joined and super()._is_clear(joined, texts)

    def _of_line(self, line: str) -> list[str]:
        return [line] if "\n" in line else line.split()


class WordsAndMarks(_Words):
    """The words of chrF++: an ASCII mark at the end of a word, or else one at its start, is a word of its own."""

    def __init__(self) -> None:
        super().__init__(str)

    def tokens(self, units: Sequence[str]) -> tuple[list[str], str]:
        """Split marks off distinct words."""
        pieces: list[str] = []
        for unit in units:
            if len(unit) > 1 and unit[-1] in _ASCII_MARKS:
                pieces += (unit[:-1], unit[-1], _BLANK)
            elif len(unit) > 1 and unit[0] in _ASCII_MARKS:
                pieces += (unit[0], unit[1:], _BLANK)
            else:
                pieces += (_BLANK,) if unit == _BLANK else (unit, _BLANK)
        return pieces, _BLANK


class _EdgedWords(_Lines):
    """Words, a space before or after them where they stand at the end of a line and have a mark there."""

    def _of_line(self, line: str) -> list[str]:
        words = line.split()
        if words:
            if not words[0][0].isalnum() and not line[0].isspace():
                words[0] = " " + words[0]
            if not words[-1][-1].isalnum():
                words[-1] += " "
        return words

    def _of_unit(self, unit: str) -> list[str]:
        before, after = not unit.startswith(" "), not unit.endswith(" ")
        tokens = self._tokenize(f"{'x ' * before}{unit.strip(' ')}{' x' * after}").split()
        return tokens[before : len(tokens) - after]


class _ChineseWords(_EdgedWords):
    """Single Chinese characters, and the words between them."""

    def __init__(self, tokenize: Tokenizer) -> None:
        super().__init__(tokenize)
        self._spread = _Spread(tokenize)

    def _of_line(self, line: str) -> list[str]:
        return super()._of_line(line.strip().translate(self._spread))


class _Spread(dict[int, str]):
    """What sacrebleu's zh tokenizer makes of a character: spaces around it where it splits, else the character."""

    def __init__(self, tokenize: Tokenizer) -> None:
        super().__init__()
        self._tokenize = tokenize

    def __missing__(self, code: int) -> str:
        character = chr(code)
        splits = code > 127 and self._tokenize(f"x{character}x").split() == ["x", character, "x"]
        self[code] = f" {character} " if splits else character
        return self[code]
