"""The places of tokens in the user's text, exact to the character."""

import unicodedata
from collections.abc import Iterable

Span = tuple[int, int]
"""First character and the one after the last, counted in Python's characters."""

_JOINER = "\u200d"


def continues_character(character: str) -> bool:
    """Tell whether a code point belongs to the character before it: an accent, a variation, a skin tone, a joiner."""
    return (
        unicodedata.category(character)[0] == "M" or character == _JOINER or "\U0001f3fb" <= character <= "\U0001f3ff"
    )


def _trimmed(text: str, span: Span) -> Span:
    """Leave white space at the ends out, unless there is nothing else."""
    start, end = span
    if start == end or not (text[start].isspace() or text[end - 1].isspace()):
        return span
    token = text[start:end]
    inner = token.strip()
    if not inner:
        return span
    start += len(token) - len(token.lstrip())
    return start, start + len(inner)


def exact_spans(text: str, spans: Iterable[Span]) -> tuple[Span, ...]:
    """Turn a tokenizer's offsets into spans that can be cut out of the text.

    White space that a token carries is left out, and what a normaliser dropped from the end of a character (the accent
    of a decomposed letter) is taken in, so that a span of tokens reads as the user wrote it.

    Args:
        text: The text as the user wrote it.
        spans: Places of the tokens in it, in order; tokens that are parts of one character have its whole span.
    """
    exact = [_trimmed(text, span) for span in spans]
    if text.isascii():
        return tuple(exact)
    following = len(text)
    for index in range(len(exact) - 1, -1, -1):
        start, end = exact[index]
        if index + 1 < len(exact) and exact[index + 1][0] >= end:
            following = exact[index + 1][0]
        while start < end < following and continues_character(text[end]):
            end += 1
        exact[index] = (start, end)
    return tuple(exact)
