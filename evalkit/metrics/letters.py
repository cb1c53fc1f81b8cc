"""How much of a corpus a tokenizer can see, for warnings about text that a metric would not read."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable

_NON_ASCII = re.compile(r"[^\x00-\x7f]")
_NO_ASCII_LETTERS = bytes(code for code in range(256) if not chr(code).isalpha() or code > 127)
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_LONGEST_MEAN_WORD = 4.0


def lost_letters(texts: Iterable[str], is_kept: Callable[[str], bool]) -> float:
    """Compute the share of letters that a tokenizer drops; 0 where there is no letter.

    Args:
        texts: The texts, as one corpus.
        is_kept: Whether the tokenizer keeps a letter outside ASCII; those inside it always are.
    """
    joined = "".join(texts)
    if joined.isascii():
        return 0.0
    others = {
        character: count
        for character, count in Counter(_NON_ASCII.findall(joined)).items()
        if unicodedata.category(character).startswith("L")
    }
    ascii_letters = len(joined.encode("ascii", "ignore").translate(None, _NO_ASCII_LETTERS))
    dropped = sum(count for character, count in others.items() if not is_kept(character))
    return dropped / (ascii_letters + sum(others.values())) if dropped else 0.0


def is_unsegmented(texts: Iterable[str]) -> bool:
    """Say whether a corpus is mostly Chinese or Japanese without spaces between its words.

    That is where more than half of the letters are Chinese characters or kana, and a piece between spaces that has any
    has more than four of them on average: words of segmented text have fewer than two.
    """
    joined = "\n".join(texts)
    if joined.isascii() or lost_letters([joined], lambda character: not _UNSPACED.match(character)) <= 0.5:
        return False
    counts = [len(_UNSPACED.findall(piece)) for piece in joined.split()]
    return sum(counts) > _LONGEST_MEAN_WORD * sum(1 for count in counts if count)
