"""Numbered tokens are those that sacrebleu's tokenizers give for each line by itself."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics import BLEU, CHRF

from evalkit.metrics.token_numbers import TokenNumbers, WordsAndMarks, characters, units_of

PIECES = st.sampled_from(
    [*"aZ5.,-!?&;'\"()/ \t\n\x01\x85\u3000\u2003\ue000好。“”—€½É", "3.", ".5", "-\n", "&amp;", "<skipped>"]
)
LINES = st.lists(st.lists(PIECES | st.characters(), max_size=10).map("".join), max_size=6)


def assert_tokens(numbers, tokenize, batches):
    """Over several calls: the same number for the same token, and as many tokens in each line."""
    known = {}
    for lines in batches:
        ids, lengths = numbers(lines)
        parts = iter(ids.tolist())
        for line, length in zip(lines, lengths.tolist(), strict=True):
            tokens = tokenize(line)
            assert length == len(tokens), line
            for token in tokens:
                number = next(parts)
                assert known.setdefault(token, number) == number, line
        assert next(parts, None) is None
    assert len(set(known.values())) == len(known)


@pytest.mark.parametrize("name", ["13a", "zh", "intl", "char", "none"])
@given(batches=st.lists(LINES, max_size=3))
@settings(max_examples=80, deadline=None)
def test_lines_have_the_tokens_of_the_tokenizer(name, batches):
    tokenizer = BLEU(tokenize=name, force=True).tokenizer
    stripped = [[line.rstrip() for line in lines] for lines in batches]
    assert_tokens(TokenNumbers(units_of(name, tokenizer)), lambda line: tokenizer(line).split(), stripped)


@given(batches=st.lists(LINES, max_size=3))
@settings(max_examples=80, deadline=None)
def test_words_and_marks_are_those_of_sacrebleus_chrf(batches):
    assert_tokens(TokenNumbers(WordsAndMarks()), CHRF()._remove_punctuation, batches)


def test_a_tokenizer_that_segments_sees_whole_lines():
    seen = []

    def halves(line):
        seen.append(line)
        return f"{line[: len(line) // 2]} {line[len(line) // 2 :]}"

    numbers = TokenNumbers(units_of("ja-mecab", halves))
    seen.clear()
    ids, lengths = numbers(["渡し船", "ab cd", "渡し船"])
    assert seen == ["渡し船", "ab cd"]
    assert ids.tolist() == [ids[0], ids[1], *ids[2:4], ids[0], ids[1]]
    assert lengths.tolist() == [2, 2, 2]


@given(lines=st.lists(st.text(max_size=5), max_size=4))
@settings(deadline=None)
def test_characters_are_numbered_by_code_point(lines):
    ids, lengths = characters(lines)
    assert ids.tolist() == [ord(character) for character in "".join(lines)]
    assert lengths.tolist() == [len(line) for line in lines]


@pytest.mark.parametrize("tokenize", ["13a", "zh", "intl"])
def test_sacrebleus_tokenizers_do_not_keep_the_texts(tokenize):
    from sacrebleu.tokenizers.tokenizer_re import TokenizerRegexp

    from evalkit.metrics.bleu import Bleu

    kind = type(BLEU(tokenize=tokenize, force=True).tokenizer)
    before = kind.__call__.cache_info(), TokenizerRegexp.__call__.cache_info()
    Bleu(tokenize=tokenize).statistics(["Salt, then pepper."], [["Pepper, then salt!"]])
    assert (kind.__call__.cache_info(), TokenizerRegexp.__call__.cache_info()) == before
