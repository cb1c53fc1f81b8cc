"""Pseudo-log-likelihoods: equal to hiding one token at a time in a plain loop, also over windows."""

import math

import pytest
import torch

from evalkit.errors import InvalidInputError
from evalkit.requests import RollingRequest
from evalkit.tokenization import train_wordpiece
from evalkit_models.bert import BertConfig
from evalkit_models.bert_heads import BertForMaskedLm

LONGEST = 24


def roll(adapter, *texts):
    return list(adapter.answer([RollingRequest(example_id=str(n), text=text) for n, text in enumerate(texts)]))


@torch.no_grad()
def logprob_in(logits_of, tokenizer, window, place):
    """Hide one token of a window, and look up its log-probability."""
    ids = [tokenizer.cls_id, *window, tokenizer.sep_id]
    hidden, ids[place + 1] = ids[place + 1], tokenizer.mask_id
    return float(logits_of(torch.tensor([ids]))[0, place + 1].log_softmax(-1)[hidden])


def naive_sum(logits_of, tokenizer, text):
    ids = tokenizer.ids(text)
    return math.fsum(logprob_in(logits_of, tokenizer, ids, place) for place in range(len(ids)))


def test_values_are_those_of_a_plain_loop_over_transformers_model(make_adapter, make_pair, tokenizer):
    texts = ["tide", "老人 waits.", "", "cafe\u0301 😀", "桥", "[MASK] 桥"]
    answers = roll(make_adapter("masked_lm", tokenizer), *texts)
    theirs = make_pair("masked_lm")[1]
    for text, answer in zip(texts, answers, strict=True):
        assert len(tokenizer.ids(text)) <= LONGEST - 2
        assert answer.token_count == len(tokenizer.ids(text))
        assert answer.logprob_nats == pytest.approx(
            naive_sum(lambda ids: theirs(ids).logits, tokenizer, text), abs=1e-4
        )


@pytest.mark.parametrize("policy", ["error", "truncate", "window", "skip"])
def test_long_texts_go_through_windows_under_every_policy(
    make_adapter, make_pair, naive_windows, wordpiece, write_text, policy
):
    text = write_text(20)
    ids, size = wordpiece.ids(text), LONGEST - 2
    assert len(ids) > size
    _, best = naive_windows(len(ids), size, size // 2)
    model = make_pair("masked_lm")[0]
    expected = math.fsum(
        logprob_in(model, wordpiece, ids[start:stop], place - start) for place, (start, stop) in enumerate(best)
    )
    [answer] = roll(make_adapter("masked_lm", wordpiece, on_overflow=policy), text)
    assert answer.logprob_nats == pytest.approx(expected, abs=1e-4)
    assert (answer.token_count, answer.truncated, answer.error) == (len(ids), False, None)


def test_a_roberta_counts_positions_from_its_offset_and_has_one_segment(make_adapter, wordpiece):
    torch.manual_seed(0)
    shape = BertConfig(
        vocab_size=470, max_length=12, width=32, layers=2, heads=4, ff_width=64, segments=1, position_offset=2
    )
    model = BertForMaskedLm(shape).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.2 * torch.randn(parameter.shape))
    [answer] = roll(make_adapter("masked_lm", wordpiece, model=model), "老人 桥")
    assert answer.logprob_nats == pytest.approx(naive_sum(model, wordpiece, "老人 桥"), abs=1e-4)


def test_a_corpus_is_answered_in_portions_with_the_same_values(make_adapter, wordpiece, write_text, monkeypatch):
    texts = [write_text(words, words) for words in (2, 30, 1, 3, 1)] + ["", "桥"]
    expected = roll(make_adapter("masked_lm", wordpiece), *texts)
    monkeypatch.setattr("evalkit.adapters.encoder.gaps._GAPS_AT_ONCE", 8)
    answers = roll(make_adapter("masked_lm", wordpiece), *texts)
    assert [answer.example_id for answer in answers] == [answer.example_id for answer in expected]
    for got, wanted in zip(answers, expected, strict=True):
        assert got.token_count == wanted.token_count
        assert got.logprob_nats == pytest.approx(wanted.logprob_nats, abs=1e-5)


def test_a_tokenizer_without_mask_token_is_refused(make_adapter, write_text):
    t5 = train_wordpiece([write_text(20)], 460, family="t5")
    with pytest.raises(InvalidInputError, match="no mask token"):
        make_adapter("masked_lm", t5)


def test_every_answer_says_that_it_is_of_another_kind(make_adapter, wordpiece):
    (answer,) = make_adapter("masked_lm", wordpiece).answer([RollingRequest(example_id="1", text="harbour")])
    assert answer.is_pseudo
