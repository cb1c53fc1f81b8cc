"""Sentence and word tokens as nltk gives them, which need nltk's English punkt_tab data.

Some official scorers call `nltk.word_tokenize` or `nltk.sent_tokenize`: the rules come with nltk, its model does not.
"""

from __future__ import annotations

from functools import cache

from evalkit.errors import MissingResourceError

_MISSING = (
    "nltk's English sentence model {model!r} was not found; run `python -m nltk.downloader {model}`,"
    " or set NLTK_DATA to a folder that holds tokenizers/{model}"
)


@cache
def require_punkt() -> None:
    """Check that the English sentence model can be loaded; a success is remembered, a failure is tried again.

    Raises:
        MissingResourceError: The model is not in any folder that nltk searches.
    """
    import nltk

    try:
        nltk.sent_tokenize("One. Two.")
    except LookupError as error:
        # Before 3.8.2 nltk read the same model from a pickle, under another name.
        model = "punkt_tab" if "punkt_tab" in str(error) else "punkt"
        raise MissingResourceError(_MISSING.format(model=model)) from error


def word_tokenize(text: str) -> list[str]:
    """Split a text into words and punctuation marks exactly as `nltk.word_tokenize` does.

    Raises:
        MissingResourceError: The English sentence model is not installed.
    """
    require_punkt()
    import nltk

    tokens: list[str] = nltk.word_tokenize(text)
    return tokens


def sent_tokenize(text: str) -> list[str]:
    """Split a text into sentences exactly as `nltk.sent_tokenize` does.

    Raises:
        MissingResourceError: The English sentence model is not installed.
    """
    require_punkt()
    import nltk

    sentences: list[str] = nltk.sent_tokenize(text)
    return sentences
