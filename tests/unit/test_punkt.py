import nltk
import pytest

from evalkit import punkt
from evalkit.errors import MissingResourceError

TEXTS = [
    "Dr. Ames didn't go. She (as always) stayed at No. 5!",
    "价格上涨4%。He left at 5 p.m. on Monday.",
    "",
    "\n \n",
]


def _without_model(text):
    raise LookupError("Resource \x1b[93mpunkt_tab\x1b[0m not found.")


def test_a_missing_model_is_reported_with_the_command_that_fetches_it(monkeypatch):
    punkt.require_punkt.cache_clear()
    monkeypatch.setattr(nltk, "sent_tokenize", _without_model)
    with pytest.raises(MissingResourceError, match=r"python -m nltk.downloader punkt_tab"):
        punkt.word_tokenize("Some text.")
    with pytest.raises(LookupError, match="NLTK_DATA"):
        punkt.sent_tokenize("Some text.")


@pytest.mark.parametrize("text", TEXTS)
def test_tokens_are_those_of_nltk(text):
    try:
        punkt.require_punkt()
    except MissingResourceError as missing:
        pytest.skip(str(missing))
    assert punkt.word_tokenize(text) == nltk.word_tokenize(text)
    assert punkt.sent_tokenize(text) == nltk.sent_tokenize(text)
