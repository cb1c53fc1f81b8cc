"""Sentences of English and Chinese text, by rules.

Baselines need sentences without any data to be installed first. The rules err towards sentences that are too long.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_STOP = re.compile(r"([。！？]+|[.!?]+)[\"')\]”’」』》）】]*")
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_OPENING = "“‘「『《（【"
_LAST_WORD = re.compile(r"[A-Za-z0-9.]+$")
_DOTTED = re.compile(r"[A-Za-z]|([A-Za-z]\.)+[A-Za-z]")
_ABBREVIATION = re.compile(
    "mrs?|ms|dr|prof|rev|hon|sen|rep|gov|gen|col|capt|lt|sgt|st|jr|sr|vs|etc|al|figs?|eqs?|nos|vol|pp|ca|cf|approx|dept|univ"
    "|inc|ltd|co|corp|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec",
    re.IGNORECASE,
)
_LONGEST_WORD = 24


def sentences(text: str) -> list[str]:
    """Split a text into its sentences, without the space around them.

    A line end always ends a sentence. So do 。！？ and their closing quotes; so do .!? before a space and something that can
    begin a sentence, or beside a Chinese character, except after abbreviations, initials and the number of a list item.

    >>> sentences('Dr. Li came at 3.5 p.m. sharp. "Really?" he asked.')
    ['Dr. Li came at 3.5 p.m. sharp.', '"Really?" he asked.']
    >>> sentences("他来了。“真的吗？”她问.然后走了")
    ['他来了。', '“真的吗？”', '她问.', '然后走了']
    """
    return [sentence for line in text.split("\n") for piece in _pieces(line) if (sentence := piece.strip())]


def _pieces(line: str) -> Iterator[str]:
    start = 0
    for stop in _STOP.finditer(line):
        if _ends_sentence(line, start, stop):
            yield line[start : stop.end()]
            start = stop.end()
    yield line[start:]


def _ends_sentence(line: str, start: int, stop: re.Match[str]) -> bool:
    marks = stop[1]
    if marks[0] in "。！？" or stop.end() == len(line) or _HAN.match(line[stop.start() - 1 : stop.start()]):
        return True
    after = line[stop.end()]
    before = _word_before(line, start, stop.start())
    if _HAN.match(after) or after in _OPENING:
        return not (before.isdigit() and not line[start : stop.start() - len(before)].strip())
    following = line[stop.end() : stop.end() + _LONGEST_WORD].lstrip()[:1]
    if not after.isspace() or following.islower():
        return False
    return marks != "." or not (_ABBREVIATION.fullmatch(before) or _DOTTED.fullmatch(before))


def _word_before(line: str, start: int, end: int) -> str:
    word = _LAST_WORD.search(line, max(start, end - _LONGEST_WORD), end)
    return word[0] if word else ""
