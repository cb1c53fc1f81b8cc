from dataclasses import replace

import pytest
import torch
from transformers import RepetitionPenaltyLogitsProcessor, TopKLogitsWarper, TopPLogitsWarper

from evalkit.adapters.decoding import check_decoding
from evalkit.adapters.engine.choosing import (
    example_seed,
    filtered,
    most_probable,
    penalised,
    sampled,
    seen_tokens,
)
from evalkit.requests import Decoding, GenerateRequest

LOGITS = 3 * torch.randn(7, 40, generator=torch.Generator().manual_seed(1))
IDS = torch.zeros(7, 1, dtype=torch.long)


@pytest.mark.parametrize("top_k", [1, 5, 40, 100])
def test_top_k_keeps_what_transformers_keeps(top_k):
    expected = TopKLogitsWarper(top_k)(IDS, LOGITS / 0.7)
    torch.testing.assert_close(filtered(LOGITS, Decoding(temperature=0.7, top_k=top_k)), expected)


@pytest.mark.parametrize("top_p", [1e-6, 0.3, 0.9, 0.9999])
def test_top_p_keeps_what_transformers_keeps(top_p):
    expected = TopPLogitsWarper(top_p)(IDS, LOGITS / 1.3)
    torch.testing.assert_close(filtered(LOGITS, Decoding(temperature=1.3, top_p=top_p)), expected)


def test_top_k_and_top_p_apply_in_this_order():
    expected = TopPLogitsWarper(0.8)(IDS, TopKLogitsWarper(6)(IDS, LOGITS))
    torch.testing.assert_close(filtered(LOGITS, Decoding(temperature=1.0, top_k=6, top_p=0.8)), expected)


def test_the_repetition_penalty_is_that_of_transformers():
    ids = torch.tensor([[3, 9, 3], [0, 39, 20]])
    expected = RepetitionPenaltyLogitsProcessor(1.7)(ids, LOGITS[:2].clone())
    seen = torch.stack([seen_tokens(row, LOGITS) for row in ids.tolist()])
    torch.testing.assert_close(penalised(LOGITS[:2], seen, 1.7), expected)


def test_samples_have_the_frequencies_of_the_probabilities():
    logits = torch.log(torch.tensor([[0.5, 0.0, 0.3, 0.2]]))
    draws = (torch.arange(1000, dtype=torch.float64) + 0.5) / 1000
    counts = torch.bincount(sampled(logits.expand(1000, 4), draws), minlength=4)
    assert counts.tolist() == [500, 0, 300, 200]


def test_a_number_next_to_one_never_leads_to_an_impossible_token():
    logits = torch.tensor([[0.0, 1.0, float("-inf"), float("-inf")]])
    assert sampled(logits, torch.tensor([1.0 - 1e-16], dtype=torch.float64)).tolist() == [1]


@pytest.mark.parametrize("width", [1, 511, 512, 513, 1024, 1500])
def test_the_most_probable_token_is_the_first_of_the_largest(width):
    logits = torch.randint(0, 4, (50, width), generator=torch.Generator().manual_seed(2)).float()
    expected = [row.index(max(row)) for row in logits.tolist()]
    assert most_probable(logits).tolist() == expected


def test_an_example_has_its_own_seed():
    assert example_seed(0, "a") == example_seed(0, "a")
    assert len({example_seed(0, "a"), example_seed(0, "b"), example_seed(1, "a"), example_seed(0, "\ud800")}) == 4


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("beams", 0),
        ("temperature", -0.1),
        ("temperature", float("nan")),
        ("top_k", -1),
        ("top_p", 0.0),
        ("top_p", 1.1),
        ("repetition_penalty", 0.0),
        ("length_penalty", float("inf")),
    ],
)
def test_a_setting_that_cannot_be_is_refused(setting, value):
    with pytest.raises(ValueError, match=f"{setting} is .*; expected "):
        check_decoding(replace(Decoding(), **{setting: value}))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"top_k": 5}, "top_k is 5, which changes nothing at temperature 0"),
        ({"top_p": 0.5}, "top_p is 0.5, which changes nothing at temperature 0"),
        ({"length_penalty": 0.0}, "length_penalty is 0.0, which changes nothing without beam search"),
    ],
)
def test_a_setting_without_effect_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        check_decoding(Decoding(**settings))


def requests(count=8):
    return [GenerateRequest(example_id=f"e{place}", prompt="Tide and", max_new_tokens=9) for place in range(count)]


SAMPLING = Decoding(temperature=1.1, top_k=60, top_p=0.95, repetition_penalty=1.1, seed=4)


@pytest.mark.parametrize("batch_size", [1, 3, 16, None])
def test_samples_do_not_depend_on_batch_size_order_or_neighbours(model, make_adapter, batch_size):
    # More than the largest batch, of several lengths, so that some come in when others leave.
    asked = [
        GenerateRequest(example_id=f"e{place}", prompt="Tide and " * (1 + place % 3), max_new_tokens=2 + place % 8)
        for place in range(20)
    ]
    alone = {one.example_id: next(make_adapter(model, decoding=SAMPLING).answer([one])).text for one in asked}
    for order in (asked, asked[::-1], asked[1::2] + asked[::2]):
        adapter = make_adapter(model, decoding=SAMPLING, batch_size=batch_size)
        assert {answer.example_id: answer.text for answer in adapter.answer(order)} == alone


def test_examples_with_the_same_prompt_are_sampled_apart(make_gpt, make_adapter):
    answers = [answer.text for answer in make_adapter(make_gpt(), decoding=SAMPLING).answer(requests())]
    assert len(set(answers)) == len(answers)


def test_another_seed_gives_other_samples(make_gpt, make_adapter):
    first, second = (
        [answer.text for answer in make_adapter(make_gpt(), decoding=replace(SAMPLING, seed=seed)).answer(requests())]
        for seed in (1, 2)
    )
    assert first != second


def test_sampling_leaves_the_global_random_state_alone(make_gpt, make_adapter):
    model = make_gpt()
    before = torch.get_rng_state()
    list(make_adapter(model, decoding=SAMPLING).answer(requests(2)))
    assert torch.equal(torch.get_rng_state(), before)


def test_top_k_of_one_is_greedy(make_gpt, make_adapter):
    greedy = [answer.text for answer in make_adapter(make_gpt()).answer(requests(2))]
    adapter = make_adapter(make_gpt(), decoding=Decoding(temperature=2.0, top_k=1))
    assert [answer.text for answer in adapter.answer(requests(2))] == greedy
