"""Tags by a BERT: one a word, read at its first token, whatever the words are and however long the sentence is."""

import pytest
import torch
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.errors import InvalidInputError
from evalkit.requests import LabelRequest

TAGS = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")
LONGEST = 24
LONG_WORD = "tedramlo" * 12


def label(adapter, *sentences, labels=TAGS):
    requests = [
        LabelRequest(example_id=str(n), tokens=tuple(words), labels=labels) for n, words in enumerate(sentences)
    ]
    return list(adapter.answer(requests))


@torch.no_grad()
def tags_of(model, ids, places):
    logits = model(torch.tensor([ids]))[0]
    return [TAGS[int(logits[place].argmax())] for place in places]


def naive_tags(model, tokenizer, words, separator=" "):
    encoded = tokenizer.encode_words(words, separator)
    firsts = [encoded.word_of_token.index(word) for word in range(len(words))]
    ids = [tokenizer.cls_id, *encoded.ids, tokenizer.sep_id]
    return tuple(tags_of(model, ids, [first + 1 for first in firsts]))


def test_tags_are_those_of_a_plain_loop(make_adapter, make_pair, tokenizer, write_text):
    sentences = [write_text(words, seed=words).split() for words in (1, 2, 3, 3, 2, 1)]
    answers = label(make_adapter("labels", tokenizer, on_overflow="window"), *sentences)
    fitting = [len(tokenizer.encode_words(words).ids) <= LONGEST - 2 for words in sentences]
    assert any(fitting)
    for words, answer, fits in zip(sentences, answers, fitting, strict=True):
        if fits:
            assert answer.labels == naive_tags(make_pair("labels")[0], tokenizer, words)


def test_every_nasty_word_has_a_tag_of_its_own(make_adapter, make_pair, tokenizer, nasty_words):
    adapter = make_adapter("labels", tokenizer)
    expected = [naive_tags(make_pair("labels")[0], tokenizer, ["桥", word, "tide"]) for word in nasty_words]
    answers = label(adapter, *(["桥", word, "tide"] for word in nasty_words))
    assert [answer.labels for answer in answers] == expected
    assert {len(tags) for tags in expected} == {3}


@settings(max_examples=40, deadline=None)
@given(words=st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=6), max_size=30))
def test_any_sentence_gets_one_tag_a_word(make_adapter, wordpiece, words):
    [answer] = label(make_adapter("labels", wordpiece, on_overflow="window"), words)
    assert len(answer.labels) == len(words)
    assert set(answer.labels) <= set(TAGS)


def test_a_long_sentence_is_read_through_windows_as_in_a_plain_loop(
    make_adapter, make_pair, naive_windows, wordpiece, write_text
):
    words = write_text(70).split()
    encoded = wordpiece.encode_words(words)
    size = LONGEST - 2
    assert len(encoded.ids) > 3 * size
    _, best = naive_windows(len(encoded.ids), size, size // 2)
    expected = []
    for word in range(len(words)):
        first = encoded.word_of_token.index(word)
        start, stop = best[first]
        ids = [wordpiece.cls_id, *encoded.ids[start:stop], wordpiece.sep_id]
        expected += tags_of(make_pair("labels")[0], ids, [first - start + 1])
    [answer] = label(make_adapter("labels", wordpiece, on_overflow="window"), words)
    assert answer.labels == tuple(expected)
    assert not answer.truncated
    assert answer.error is None


def test_a_word_longer_than_the_model_gets_its_tag_and_so_do_its_neighbours(make_adapter, wordpiece):
    assert len(wordpiece.ids(LONG_WORD)) > 2 * LONGEST
    [answer] = label(make_adapter("labels", wordpiece, on_overflow="window"), ["桥", LONG_WORD, "tide"])
    assert len(answer.labels) == 3


def test_truncation_keeps_the_beginning_and_leaves_the_rest_outside(make_adapter, make_pair, wordpiece, write_text):
    words = write_text(40).split()
    [answer] = label(make_adapter("labels", wordpiece, on_overflow="truncate"), words)
    encoded = wordpiece.encode_words(words)
    kept = [word for word in range(len(words)) if encoded.word_of_token.index(word) < LONGEST - 2]
    ids = [wordpiece.cls_id, *encoded.ids[: LONGEST - 2], wordpiece.sep_id]
    read = tags_of(make_pair("labels")[0], ids, [encoded.word_of_token.index(word) + 1 for word in kept])
    assert answer.labels == (*read, *["O"] * (len(words) - len(kept)))
    assert answer.truncated


def test_a_last_word_of_which_only_the_end_is_cut_off_keeps_its_tag_and_that_is_said(make_adapter, wordpiece):
    [answer] = label(make_adapter("labels", wordpiece, on_overflow="truncate"), [LONG_WORD])
    assert len(answer.labels) == 1
    assert answer.truncated


def test_truncation_makes_words_of_the_characters_that_are_not_read(make_adapter, wordpiece):
    adapter = make_adapter("labels", wordpiece, labels=("B", "M", "E", "S", "X"), on_overflow="truncate")
    [answer] = label(adapter, "桥" * 50, labels=("B", "M", "E", "S"))
    assert answer.labels[LONGEST - 2 :] == ("S",) * (50 - LONGEST + 2)


def test_truncation_without_a_neutral_label_is_refused_before_any_work(make_adapter, wordpiece):
    adapter = make_adapter("labels", wordpiece, labels=tuple("NVPDA"), on_overflow="truncate")
    with pytest.raises(InvalidInputError, match="neither label O nor S"):
        adapter.answer([LabelRequest(example_id="a", tokens=("桥",) * 50)])


def test_a_long_sentence_is_refused_by_default_before_any_work(make_adapter, wordpiece):
    adapter = make_adapter("labels", wordpiece)
    requests = [
        LabelRequest(example_id=name, tokens=("桥",) * count) for name, count in (("a", 2), ("b", 23), ("c", 99))
    ]
    with pytest.raises(InvalidInputError, match=r"example 'b' has 25 tokens.* takes 24; .*window, truncate or skip"):
        adapter.answer(requests)


def test_a_long_sentence_can_be_skipped(make_adapter, wordpiece):
    short, long = label(make_adapter("labels", wordpiece, on_overflow="skip"), ["桥"], ["桥"] * 23)
    assert short.labels is not None
    assert short.error is None
    assert long.labels is None
    assert long.error == "25 tokens, special ones included, but the model takes 24"


def test_a_sentence_of_exactly_the_longest_length_is_read_whole(make_adapter, make_pair, wordpiece):
    words = ["桥"] * (LONGEST - 2)
    [answer] = label(make_adapter("labels", wordpiece), words)
    assert answer.labels == naive_tags(make_pair("labels")[0], wordpiece, words)


def test_a_sentence_without_words_has_no_tags(make_adapter, wordpiece):
    first, second = label(make_adapter("labels", wordpiece), [], ["桥"])
    assert first.labels == ()
    assert len(second.labels) == 1


def test_chinese_words_are_not_separated_by_blanks(make_adapter, make_pair, make_context, tokenizers_by_kind):
    bpe, words = tokenizers_by_kind["bpe"], ["tide", "opens"]
    assert bpe.encode_words(words, "").ids != bpe.encode_words(words, " ").ids
    for language, kind, separator in (("zh", "ner", ""), ("en", "ner", " "), ("en", "cws", ""), ("ja", "ner", "")):
        adapter = make_adapter("labels", bpe)
        assert adapter.prepare(make_context(kind, "label", [], language=language)) == ()
        [answer] = label(adapter, words)
        assert answer.labels == naive_tags(make_pair("labels")[0], bpe, words, separator)


def test_labels_that_are_none_of_the_tasks_are_refused(make_adapter, wordpiece):
    adapter = make_adapter("labels", wordpiece, labels=("O", "LABEL_1", "LABEL_2", "LABEL_3", "LABEL_4"))
    with pytest.raises(InvalidInputError, match=r"LABEL_1.*none of the task's.*id2label"):
        label(adapter, ["桥"])
    assert label(adapter, ["桥"], labels=())[0].error is None


def test_a_word_with_half_of_a_surrogate_pair_is_refused_with_its_example(make_adapter, wordpiece):
    with pytest.raises(InvalidInputError, match=r"example '0': .*surrogate"):
        label(make_adapter("labels", wordpiece), ["\ud83d"])


@torch.no_grad()
def test_tags_are_those_of_transformers_on_a_padded_batch(make_adapter, make_pair, wordpiece, write_text):
    sentences = [write_text(words, seed=words).split() for words in (1, 4, 2, 3)]
    names = {f"{role}_token": token for role, token in wordpiece.special_tokens.items()}
    theirs = transformers.PreTrainedTokenizerFast(tokenizer_object=wordpiece._backend, **names)
    encoded = theirs(sentences, is_split_into_words=True, padding=True, return_tensors="pt")
    best = make_pair("labels")[1](**encoded).logits.argmax(-1)
    expected = []
    for row, words in enumerate(sentences):
        places = encoded.word_ids(row)
        expected.append(tuple(TAGS[best[row, places.index(word)]] for word in range(len(words))))
    wordpiece._backend.no_padding()
    assert [answer.labels for answer in label(make_adapter("labels", wordpiece), *sentences)] == expected
