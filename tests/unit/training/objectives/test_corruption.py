"""Span corruption as T5 has it: the figure of the paper, the arithmetic of the released code, an independent version of it."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.errors import InvalidInputError, UnknownNameError
from evalkit.tokenization import train_characters, train_unigram
from evalkit.training.objectives.corruption import (
    corrupt,
    corrupted_lengths,
    noise_mask,
    sentinel_ids,
    span_counts,
    text_length,
)
from evalkit.training.objectives.span_corruption import SpanCorruption
from evalkit.training.recipe_objectives import SpanCorruptionOptions
from evalkit_models.t5 import T5, T5Config

SENTINELS = ["<X>", "<Y>", "<Z>"]


def test_the_figure_of_the_paper():
    # Raffel et al. (2020), figure 2 and table 3.
    words = ["Thank", "you", "for", "inviting", "me", "to", "your", "party", "last", "week", "."]
    taken = [word in ("for", "inviting", "last") for word in words]
    source, target = corrupt(words, taken, SENTINELS)
    assert " ".join(source) == "Thank you <X> me to your party <Y> week ."
    assert " ".join(target) == "<X> for inviting <Y> last <Z>"


@pytest.mark.parametrize(("source", "text", "target"), [(512, 568, 114), (1024, 1137, 229)])
def test_the_lengths_of_the_released_code(source, text, target):
    # `random_spans_helper` of the released code at its defaults: 568 and 114 for sources of 512.
    assert text_length(source, 0.15, 3.0) == text
    assert corrupted_lengths(text, 0.15, 3.0) == (source, target)


def naive_mask(length: int, rate: float, mean: float, random: np.random.Generator) -> np.ndarray:
    """`random_spans_noise_mask` of the released code, written anew from its description with shuffled markers."""
    noise = min(max(int(np.round(length * rate)), 1), length - 1)
    spans = min(max(int(np.round(noise / mean)), 1), length - noise)

    def segments(total: int) -> np.ndarray:
        is_first = np.array([True] * (spans - 1) + [False] * (total - spans))
        random.shuffle(is_first)
        return np.bincount(np.cumsum(np.concatenate([[False], is_first])), minlength=spans)

    kept, taken = segments(length - noise), segments(noise)
    return np.concatenate(
        [np.repeat([False, True], [a, b]) for a, b in zip(kept.tolist(), taken.tolist(), strict=True)]
    )


@pytest.mark.parametrize(("length", "rate", "mean"), [(24, 0.15, 3.0), (9, 0.5, 2.0), (12, 0.3, 1.0)])
def test_masks_are_spread_as_those_of_an_independent_version(length, rate, mean):
    draws = 4000
    generator, random = torch.Generator().manual_seed(0), np.random.default_rng(0)
    ours = sum(noise_mask(length, rate, mean, generator).double() for _ in range(draws)).numpy() / draws
    theirs = sum(naive_mask(length, rate, mean, random).astype(float) for _ in range(draws)) / draws
    # Five standard errors of the difference of two shares.
    assert np.abs(ours - theirs).max() < 5 * np.sqrt(0.5 / draws)


@settings(max_examples=200, deadline=None)
@given(
    length=st.integers(0, 300),
    rate=st.floats(0.01, 0.9),
    mean=st.floats(1.0, 10.0),
    seed=st.integers(0, 1000),
)
def test_every_text_can_be_put_together_again(length, rate, mean, seed):
    mask = noise_mask(length, rate, mean, torch.Generator().manual_seed(seed)).tolist()
    tokens, sentinels = list(range(length)), list(range(1000, 1400))
    source, target = corrupt(tokens, mask, sentinels)
    spans = {}
    for token in target:
        if token >= 1000:
            spans[token] = []
            last = token
        else:
            spans[last].append(token)
    assert [token for one in source for token in (spans[one] if one >= 1000 else [one])] == tokens
    if length >= 2:
        noise, count = span_counts(length, rate, mean)
        assert (sum(mask), len(spans)) == (noise, count)
        assert (len(source) + 1, len(target) + 1) == corrupted_lengths(length, rate, mean)
        assert mask[-1]
        assert not mask[0]


def test_sentinels_are_those_of_the_tokenizer_in_order():
    tokenizer = train_unigram(["a lantern at the harbour"] * 3, 140)
    ids = sentinel_ids(tokenizer, 100)
    assert [tokenizer.name_of(index) for index in ids[:2]] == ["<extra_id_0>", "<extra_id_1>"]
    with pytest.raises(InvalidInputError, match="up to 101 spans, but the tokenizer has sentinels for 100"):
        sentinel_ids(tokenizer, 101)
    with pytest.raises(InvalidInputError, match="up to 1 spans, but the tokenizer has sentinels for 0"):
        sentinel_ids(train_characters(["a"], 20, family="gpt"), 1)


@pytest.fixture(scope="module")
def tokenizer():
    return train_unigram([f"lantern number {n} hangs at the harbour of the old town" for n in range(60)], 170)


def make(tokenizer, texts, longest=24, **more) -> SpanCorruption:
    config = T5Config(
        vocab_size=tokenizer.largest_id + 1,
        max_length=longest,
        width=16,
        head_width=8,
        layers=1,
        decoder_layers=1,
        heads=2,
        ff_width=16,
    )
    return SpanCorruption(texts, tokenizer, config, SpanCorruptionOptions(**more))


def test_long_texts_become_windows_that_fill_the_source_and_cover_every_token(tokenizer):
    text = " ".join(f"lantern {n}" for n in range(40))
    objective = make(tokenizer, [text, "", "harbour town"])
    batch = objective.collate(range(len(objective.lengths)), torch.Generator().manual_seed(0))
    sources, masks = batch.tensors["ids"], batch.tensors["attention_mask"]
    rows = [row[mask.bool()].tolist() for row, mask in zip(sources, masks, strict=True)]
    assert max(map(len, rows)) == 24
    assert all(row[-1] == tokenizer.eos_id for row in rows)
    assert batch.token_count == sum(objective.lengths) == sum(map(len, rows)) + batch.tensors["labels"].numel()
    sentinels = set(sentinel_ids(tokenizer, 100))
    written = [token for token in batch.tensors["labels"].tolist() if token not in sentinels | {tokenizer.eos_id}]
    kept = [token for row in rows for token in row if token not in sentinels | {tokenizer.eos_id}]
    assert sorted(written + kept) == sorted(tokenizer.ids(text) + tokenizer.ids("harbour town"))


def test_the_whole_text_is_written_where_the_recipe_says_so(tokenizer):
    texts = [" ".join(f"lantern {n}" for n in range(40)), "harbour town"]
    objective = make(tokenizer, texts, target="text")
    batch = objective.collate(range(len(objective.lengths)), torch.Generator().manual_seed(0))
    written = [token for token in batch.tensors["labels"].tolist() if token != tokenizer.eos_id]
    assert sorted(written) == sorted(tokenizer.ids(texts[0]) + tokenizer.ids(texts[1]))
    assert batch.token_count == sum(objective.lengths)
    assert batch.tensors["decoder_ids"].shape[1] <= 24
    sentinels = set(sentinel_ids(tokenizer, 100))
    assert all(sentinels & set(row.tolist()) for row in batch.tensors["ids"])


def test_another_target_is_named_with_those_that_there_are():
    with pytest.raises(UnknownNameError, match=r"\[objective\] target.*'words'.*spans.*text"):
        SpanCorruptionOptions(target="words")


def test_other_draws_take_out_other_spans_and_the_same_draw_the_same(tokenizer):
    objective = make(tokenizer, [" ".join(f"lantern {n}" for n in range(12))], longest=60)
    batches = [objective.collate([0], torch.Generator().manual_seed(seed)).tensors["ids"] for seed in (1, 1, 2, 3, 4)]
    assert torch.equal(batches[0], batches[1])
    assert not all(torch.equal(batches[0], other) for other in batches[2:])


def test_the_loss_is_the_sum_of_a_plain_loop_over_pairs(tokenizer):
    objective = make(tokenizer, ["lantern 5 hangs", "at the harbour of the old town number 7"])
    torch.manual_seed(0)
    model = T5(
        T5Config(
            vocab_size=tokenizer.largest_id + 1,
            max_length=24,
            width=16,
            head_width=8,
            layers=1,
            decoder_layers=1,
            heads=2,
            ff_width=16,
        )
    ).eval()
    together = objective.loss(model, objective.collate([0, 1], torch.Generator().manual_seed(7)))
    generator, total = torch.Generator().manual_seed(7), 0.0
    for place in (0, 1):
        batch = objective.collate([place], generator)
        assert "attention_mask" not in batch.tensors
        logits = model(batch.tensors["ids"], None, batch.tensors["decoder_ids"])[0].log_softmax(-1)
        total -= logits.gather(-1, batch.tensors["labels"][:, None]).sum().item()
    assert together.total.item() == pytest.approx(total, rel=1e-5)


def test_a_text_of_one_token_teaches_nothing(tokenizer):
    assert len(tokenizer.ids("harbour")) == 1
    with pytest.raises(InvalidInputError, match="at least two tokens"):
        make(tokenizer, ["", "harbour"])
