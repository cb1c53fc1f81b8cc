"""Masked language modelling: how much is hidden and how, never a special token, whole words, pairs, and shared rows."""

import math
from collections import Counter

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.errors import InvalidInputError
from evalkit.tokenization import train_characters, train_wordpiece
from evalkit.training.objectives.masked_lm import MaskedLm
from evalkit.training.objectives.masking import Masking, word_of_each
from evalkit.training.recipe_objectives import MaskedLmOptions
from evalkit.training.texts import Document
from evalkit_models.bert import BertConfig
from evalkit_models.bert_heads import BertForMaskedLm

TEXTS = [f"The lanterns of house {n} were unbelievably colourful, 老人在桥上等着第{n}艘渡船。" for n in range(50)]
DOCUMENTS = [Document(text) for text in TEXTS]


@pytest.fixture(scope="module")
def tokenizer():
    return train_wordpiece(TEXTS, 85)


def make(tokenizer, documents=DOCUMENTS, longest=64, **more) -> MaskedLm:
    return MaskedLm(documents, tokenizer, longest, MaskedLmOptions(**more))


def generator(seed=0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def model_for(tokenizer, longest=64, **more) -> BertForMaskedLm:
    torch.manual_seed(0)
    sizes = {"width": 16, "layers": 2, "heads": 2, "ff_width": 24, "max_length": longest}
    config = BertConfig(vocab_size=tokenizer.largest_id + 1, **sizes)
    return BertForMaskedLm(config, **more).eval()


def test_fifteen_percent_are_guessed_of_which_80_10_10_are_hidden_replaced_and_left(tokenizer):
    masking = Masking(tokenizer, MaskedLmOptions())
    ids = torch.tensor([tokenizer.cls_id, *tokenizer.ids(TEXTS[0] * 40), tokenizer.sep_id])
    draw, found = generator(), Counter()
    for _ in range(60):
        masked = masking.hide(ids, ids, draw)
        ordinary = sum(int(index) not in tokenizer.special_ids for index in ids)
        assert len(masked.places) == round(0.15 * ordinary)
        assert torch.equal(masked.labels, ids[masked.places])
        shown = masked.shown[masked.places]
        found["hidden"] += int((shown == tokenizer.mask_id).sum())
        found["left"] += int((shown == masked.labels).sum())
        found["all"] += len(shown)
        untouched = torch.ones(len(ids), dtype=torch.bool)
        untouched[masked.places] = False
        assert torch.equal(masked.shown[untouched], ids[untouched])
    for what, share in (("hidden", 0.8), ("left", 0.1 + 0.1 / len(masking._ordinary))):
        error = math.sqrt(share * (1 - share) / found["all"])
        assert abs(found[what] / found["all"] - share) < 4 * error, what


@settings(max_examples=60, deadline=None)
@given(text=st.text(max_size=60), seed=st.integers(0, 99), whole=st.booleans())
def test_special_tokens_are_neither_guessed_nor_put_in_the_place_of_others(tokenizer, text, seed, whole):
    masking = Masking(tokenizer, MaskedLmOptions(whole_word=whole, mask_share=0.0, random_share=1.0))
    encoded = tokenizer.encode(text)
    ids = torch.tensor(tokenizer.frame.single(encoded.ids))
    words = torch.tensor([-1, *word_of_each(text, encoded.offsets, None), -1])
    masked = masking.hide(ids, words, generator(seed))
    assert tokenizer.special_ids.isdisjoint(masked.labels.tolist())
    assert tokenizer.special_ids.isdisjoint(masked.shown[masked.places].tolist())
    assert masked.places.tolist() == sorted(set(masked.places.tolist()))


def test_whole_words_are_hidden_together_and_no_more_than_asked_for(tokenizer):
    text = TEXTS[0]
    encoded = tokenizer.encode(text)
    words = word_of_each(text, encoded.offsets, None)
    assert max(Counter(words).values()) > 1
    ids = torch.tensor(encoded.ids)
    masking = Masking(tokenizer, MaskedLmOptions(whole_word=True, mask_rate=0.3, mask_share=1.0, random_share=0.0))
    for seed in range(30):
        hidden = set(masking.hide(ids, torch.tensor(words), generator(seed)).places.tolist())
        cut = [word for word in set(words) if 0 < sum(words[place] == word for place in hidden) < words.count(word)]
        assert not cut
        assert len(hidden) <= max(round(0.3 * len(ids)), max(Counter(words).values()))


def test_the_words_of_chinese_are_those_of_the_data_where_it_has_them():
    text, offsets = "老人在桥上", [(place, place + 1) for place in range(5)]
    assert word_of_each(text, offsets, None) == [0, 1, 2, 3, 4]
    assert word_of_each(text, offsets, ("老人", "在", "桥上")) == [0, 0, 1, 2, 2]
    assert word_of_each(text, offsets, ("老", "人们")) == [0, 1, 2, 3, 4]


def test_masks_change_with_every_pass_unless_they_are_static(tokenizer):
    for dynamic, is_same in ((True, False), (False, True)):
        objective = make(tokenizer, dynamic=dynamic)
        first, second = (objective.collate([3, 4], generator(seed)).tensors["ids"] for seed in (1, 2))
        assert torch.equal(first, second) == is_same


@pytest.mark.parametrize("pack", ["none", "separate", "joined"])
def test_what_is_to_be_guessed_stands_at_the_places_that_a_batch_names(tokenizer, pack):
    objective = make(tokenizer, pack=pack, mask_share=0.0, random_share=0.0)
    batch = objective.collate(range(len(objective.lengths)), generator())
    tensors = batch.tensors
    assert torch.equal(tensors["ids"].flatten()[tensors["places"]], tensors["labels"])
    assert batch.token_count == sum(objective.lengths)
    read = sum(int((tensors["ids"] == index).sum()) for index in tokenizer.special_ids - {tokenizer.pad_id})
    assert tensors["ids"].numel() - int((tensors["ids"] == tokenizer.pad_id).sum()) == batch.token_count
    assert read > 0


def test_texts_that_share_a_row_lose_what_they_lose_alone(tokenizer):
    model, places = model_for(tokenizer), [0, 3, 5, 8]
    losses = []
    for pack in ("none", "separate"):
        objective = make(tokenizer, DOCUMENTS[:9], pack=pack, dynamic=False)
        batch = objective.collate(places, generator())
        assert ("documents" in batch.tensors) == (pack == "separate")
        losses.append(objective.loss(model, batch))
    assert losses[0].target_count == losses[1].target_count
    assert losses[0].total.item() == pytest.approx(losses[1].total.item(), rel=1e-5)


def test_the_loss_is_that_of_a_plain_loop_over_texts(tokenizer):
    model, objective = model_for(tokenizer), make(tokenizer, dynamic=False)
    together = objective.loss(model, objective.collate([1, 2, 7], generator()))
    total = 0.0
    for place in (1, 2, 7):
        tensors = objective.collate([place], generator()).tensors
        logprobs = model(tensors["ids"])[0].log_softmax(-1)
        total -= logprobs[tensors["places"], tensors["labels"]].sum().item()
    assert together.total.item() == pytest.approx(total, rel=1e-5)


def test_long_texts_become_windows_that_hold_every_token_once(tokenizer):
    text = " ".join(TEXTS[:4])
    objective = make(tokenizer, [Document(text)], longest=20, mask_share=0.0, random_share=0.0)
    shown = objective.collate(range(len(objective.lengths)), generator()).tensors["ids"]
    special = {tokenizer.cls_id, tokenizer.sep_id, tokenizer.pad_id}
    assert [index for index in shown.flatten().tolist() if index not in special] == tokenizer.ids(text)
    assert max(objective.lengths) == 20


def test_half_of_the_pairs_follow_and_the_others_come_from_another_document():
    documents = [Document("\n".join(f"house {n} line {m} lanterns" for m in range(6))) for n in range(20)]
    tokenizer = train_wordpiece([document.text for document in documents], 90)
    objective = make(tokenizer, documents, longest=40, next_sentence=True, mask_share=0.0, random_share=0.0)
    joined = ["".join(document.text.split()) for document in documents]
    draw, follows = generator(), 0
    for _ in range(4):
        tensors = objective.collate(range(len(objective.lengths)), draw).tensors
        for row, segments, answer in zip(tensors["ids"], tensors["segments"], tensors["follows"], strict=True):
            first, second = (
                "".join(tokenizer.decode([int(i) for i, s in zip(row, segments, strict=True) if s == which]).split())
                for which in (0, 1)
            )
            # Either text may have lost its beginning or its end to the length of a pair.
            is_next = any(first in text and second in text.split(first, 1)[1] for text in joined)
            assert is_next == (int(answer) == 0), (first, second)
            follows += is_next
    assert 0.35 < follows / (4 * len(objective.lengths)) < 0.65
    assert max(objective.lengths) <= 40


def test_the_class_of_a_pair_is_part_of_the_loss(tokenizer):
    documents = [Document(f"house {n}\nlanterns {n}\ncolourful {n}") for n in range(8)]
    objective = make(tokenizer, documents, next_sentence=True)
    model = model_for(tokenizer, has_next_sentence=True)
    batch = objective.collate(range(8), generator())
    loss = objective.loss(model, batch)
    tensors = batch.tensors
    words = model(tensors["ids"], tensors.get("attention_mask"), tensors["segments"]).log_softmax(-1).flatten(0, 1)
    pairs = model.next_sentence_logits(tensors["ids"], tensors.get("attention_mask"), tensors["segments"])
    guessed = -words[tensors["places"], tensors["labels"]].mean()
    followed = -pairs.log_softmax(-1)[torch.arange(8), tensors["follows"]].mean()
    assert loss.total.item() / loss.target_count == pytest.approx((guessed + followed).item(), rel=1e-5)


def test_what_cannot_be_learnt_is_one_line(tokenizer):
    with pytest.raises(InvalidInputError, match="no text to train on"):
        make(tokenizer, [Document("  ")])
    with pytest.raises(InvalidInputError, match="max_length is 2"):
        make(tokenizer, longest=2)
    with pytest.raises(InvalidInputError, match="found 1 documents with text, expected at least 2"):
        make(tokenizer, DOCUMENTS[:1], next_sentence=True)
    with pytest.raises(InvalidInputError, match="no mask token"):
        make(train_characters(TEXTS, 100, family="gpt"))
