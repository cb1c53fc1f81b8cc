"""How much of a corpus a tokenizer can see, for warnings about text that a metric would not read."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice

_NON_ASCII = re.compile(r"[^\x00-\x7f]")
_NO_ASCII_LETTERS = bytes(code for code in range(256) if not chr(code).isalpha() or code > 127)
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_LONGEST_MEAN_WORD = 4.0
_TEXTS_AT_ONCE = 4096


def lost_letters(texts: Iterable[str], is_kept: Callable[[str], bool]) -> float:
    """Compute the share of letters that a tokenizer drops; 0 where there is no letter.

    Args:
        texts: The texts, as one corpus.
        is_kept: Whether the tokenizer keeps a letter outside ASCII; those inside it always are.
    """
    others: Counter[str] = Counter()
    ascii_letters = 0
    for joined in _joined(texts):
        ascii_letters += len(joined.encode("ascii", "ignore").translate(None, _NO_ASCII_LETTERS))
        if not joined.isascii():
            others.update(_NON_ASCII.findall(joined))
    letters = {
        character: count for character, count in others.items() if unicodedata.category(character).startswith("L")
    }
    dropped = sum(count for character, count in letters.items() if not is_kept(character))
    return dropped / (ascii_letters + sum(letters.values())) if dropped else 0.0


def is_unsegmented(predictions: Iterable[str], references: Iterable[Iterable[str]]) -> bool:
    """Say whether a corpus is mostly Chinese or Japanese without spaces between its words.

    That is where more than half of the letters are Chinese characters or kana, and a piece between spaces that has any
    has more than four of them on average: words of segmented text have fewer than two.
    """
    unspaced = pieces = 0
    for joined in _joined(both_sides(predictions, references)):
        if not joined.isascii():
            counts = [len(_UNSPACED.findall(piece)) for piece in joined.split()]
            unspaced += sum(counts)
            pieces += sum(1 for count in counts if count)
    if unspaced <= _LONGEST_MEAN_WORD * pieces:
        return False
    return lost_letters(both_sides(predictions, references), lambda letter: not _UNSPACED.match(letter)) > 0.5


def both_sides(predictions: Iterable[str], references: Iterable[Iterable[str]]) -> Iterator[str]:
    """All texts of a corpus, one at a time."""
    return chain(predictions, chain.from_iterable(references))


def _joined(texts: Iterable[str]) -> Iterator[str]:
    """The corpus, some thousand lines at a time: it need not fit into memory."""
    rest = iter(texts)
    while some := list(islice(rest, _TEXTS_AT_ONCE)):
        yield "\n".join(some)
