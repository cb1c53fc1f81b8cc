"""Classes by a BERT: probabilities in the order in which the task names them."""

import pytest
import tokenizers
import torch
from hypothesis import given
from hypothesis import strategies as st

from evalkit.adapters.encoder.classes import _pair_lengths
from evalkit.errors import InvalidInputError
from evalkit.requests import ClassifyRequest

CLASSES = ("world", "sports", "arts")
LONGEST = 24


def classify(adapter, *texts, labels=CLASSES):
    pairs = [text if isinstance(text, tuple) else (text, None) for text in texts]
    requests = [
        ClassifyRequest(example_id=str(n), text=text, text_pair=second, labels=labels)
        for n, (text, second) in enumerate(pairs)
    ]
    return list(adapter.answer(requests))


@torch.no_grad()
def their_chances(model, tokenizer, text, second=None):
    encoded = tokenizer._backend.encode(text, second)
    outputs = model(input_ids=torch.tensor([encoded.ids]), token_type_ids=torch.tensor([encoded.type_ids]))
    return dict(zip(CLASSES, outputs.logits[0].softmax(-1).tolist(), strict=True))


def test_probabilities_are_those_of_transformers(make_adapter, make_pair, wordpiece, write_text):
    texts = [write_text(2), (write_text(1), write_text(2, 5)), "", ("", ""), ("桥", ""), write_text(3, 2)]
    answers = classify(make_adapter("classes", wordpiece), *texts)
    for text, answer in zip(texts, answers, strict=True):
        expected = their_chances(make_pair("classes")[1], wordpiece, *(text if isinstance(text, tuple) else (text,)))
        assert answer.probabilities == pytest.approx(tuple(expected.values()), abs=1e-5)
        assert answer.label == max(expected, key=expected.get)
        assert not answer.truncated


def test_classes_are_matched_by_name_not_by_place(make_adapter, make_pair, wordpiece):
    expected = their_chances(make_pair("classes")[1], wordpiece, "老人 waits")
    [turned] = classify(make_adapter("classes", wordpiece), "老人 waits", labels=("arts", "world", "sports"))
    assert turned.probabilities == pytest.approx([expected[name] for name in ("arts", "world", "sports")], abs=1e-5)
    [some] = classify(make_adapter("classes", wordpiece), "老人 waits", labels=("arts", "sports"))
    total = expected["arts"] + expected["sports"]
    assert some.probabilities == pytest.approx((expected["arts"] / total, expected["sports"] / total), abs=1e-5)


def test_a_task_without_names_gets_the_models_and_no_probabilities(make_adapter, make_pair, wordpiece):
    expected = their_chances(make_pair("classes")[1], wordpiece, "桥")
    [answer] = classify(make_adapter("classes", wordpiece), "桥", labels=())
    assert (answer.label, answer.probabilities) == (max(expected, key=expected.get), None)


def test_a_class_that_the_model_lacks_is_refused_before_any_work(make_adapter, wordpiece):
    adapter = make_adapter("classes", wordpiece)
    with pytest.raises(InvalidInputError, match=r"'science' is none of the model's: world, sports, arts; .*id2label"):
        adapter.answer([ClassifyRequest(example_id="a", text="桥", labels=("world", "science"))])


@pytest.mark.parametrize("policy", ["error", "window"])
def test_a_long_text_is_refused_also_where_others_have_windows(make_adapter, wordpiece, policy):
    with pytest.raises(InvalidInputError, match=r"example '0' has 42 tokens.* use --on-overflow truncate or skip"):
        classify(make_adapter("classes", wordpiece, on_overflow=policy), "桥" * 40)


def test_a_long_text_can_be_cut_or_skipped(make_adapter, make_pair, wordpiece):
    text = "老人" + "桥" * 40
    [cut] = classify(make_adapter("classes", wordpiece, on_overflow="truncate"), text)
    expected = their_chances(make_pair("classes")[1], wordpiece, text[: LONGEST - 2])
    assert cut.truncated
    assert cut.probabilities == pytest.approx(tuple(expected.values()), abs=1e-5)
    skipped, fine = classify(make_adapter("classes", wordpiece, on_overflow="skip"), text, "桥")
    assert (skipped.label, skipped.probabilities) == (None, None)
    assert skipped.error == "44 tokens, special ones included, but the model takes 24"
    assert fine.label in CLASSES


@given(st.integers(0, 40), st.integers(0, 40))
def test_pairs_are_cut_as_the_tokenizers_library_does(first, second):
    backend = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0, "[UNK]": 1}, unk_token="[UNK]"))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    backend.enable_truncation(21)
    encoded = backend.encode("a " * first, "a " * second, add_special_tokens=False)
    expected = (encoded.sequence_ids.count(0), encoded.sequence_ids.count(1))
    assert _pair_lengths(first, second, 21) == expected
