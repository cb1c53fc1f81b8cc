"""Answers on a GPU: in float32 those of a CPU, in bfloat16 close to them, and the same whatever the batch."""

import pytest

from evalkit.invariance import measure_invariance
from evalkit.invariance_requests import sample_requests
from evalkit.requests import Decoding, GenerateRequest

MODELS = ["gpt", "decoder", "t5", "tags", "spans", "classes", "masked_lm"]
GENERATORS = ["gpt", "decoder", "t5"]


def answers(adapter, count=24):
    """Every kind of request that a model answers, with its answers."""
    asked = {
        kind: sample_requests(kind, count, adapter.info.details.get("labels") or ())
        for kind in sorted(adapter.supports)
    }
    return {kind: list(adapter.answer(requests)) for kind, requests in asked.items()}


def words(answer):
    return tuple(getattr(answer, name, None) for name in ("text", "labels", "label", "start", "is_greedy", "error"))


def numbers(answer):
    """Log-probabilities a token, and probabilities."""
    if hasattr(answer, "logprobs_nats"):
        return [nats / max(1, count) for nats, count in zip(answer.logprobs_nats, answer.token_counts, strict=True)]
    if hasattr(answer, "logprob_nats"):
        return [answer.logprob_nats / max(1, answer.token_count)]
    found = (getattr(answer, "no_answer_probability", None), *(getattr(answer, "probabilities", None) or ()))
    return [number for number in found if number is not None]


@pytest.mark.parametrize("name", MODELS)
def test_float32_answers_are_those_of_a_cpu(open_model, device, name):
    expected, found = answers(open_model(name, "cpu")), answers(open_model(name, device))
    for kind in expected:
        for one, other in zip(found[kind], expected[kind], strict=True):
            assert words(one) == words(other)
            assert numbers(one) == pytest.approx(numbers(other), abs=1e-4)


@pytest.mark.parametrize("name", MODELS)
def test_float32_answers_do_not_depend_on_batch_size_or_order(open_model, device, name):
    found = measure_invariance(lambda size, policy: open_model(name, device, batch_size=size))
    assert found
    for one in found:
        assert one.is_invariant, one


@pytest.mark.parametrize("name", MODELS)
def test_bfloat16_is_close_to_float32(open_model, device, name):
    exact, rough = answers(open_model(name, device)), answers(open_model(name, device, dtype="bfloat16"))
    for kind in exact:
        pairs = list(zip(rough[kind], exact[kind], strict=True))
        for one, other in pairs:
            # bfloat16 has 8 bits: two or three digits of a logit.
            assert numbers(one) == pytest.approx(numbers(other), abs=0.15, rel=0.05)
        if kind in ("label", "classify"):
            assert sum(words(one) == words(other) for one, other in pairs) >= len(pairs) // 2


@pytest.mark.parametrize("name", GENERATORS)
@pytest.mark.parametrize(
    "decoding",
    [Decoding(beams=3), Decoding(repetition_penalty=1.3), Decoding(temperature=1.0, top_k=20, seed=5)],
    ids=["beams", "penalised", "sampled"],
)
def test_other_decoding_gives_the_texts_of_a_cpu_in_any_batch(open_model, device, name, decoding):
    requests = sample_requests("generate", 20)
    expected = [answer.text for answer in open_model(name, "cpu", decoding=decoding).answer(requests)]
    for size in (1, 7, None):
        adapter = open_model(name, device, decoding=decoding, batch_size=size)
        assert [answer.text for answer in adapter.answer(requests)] == expected


def test_the_device_is_found_and_named(open_model, cuda):
    assert open_model("gpt", "auto").info.details["device"].startswith("cuda")


@pytest.mark.parametrize("name", MODELS)
def test_compiled_models_give_the_same_answers(open_model, device, name):
    expected, found = answers(open_model(name, device)), answers(open_model(name, device, compile=True))
    for kind in expected:
        for one, other in zip(found[kind], expected[kind], strict=True):
            assert words(one) == words(other)
            assert numbers(one) == pytest.approx(numbers(other), abs=1e-4)


@pytest.mark.parametrize("name", ["gpt", "decoder"])
def test_recorded_steps_give_the_texts_of_plain_ones_also_when_prompts_come_and_go(open_model, cuda, name):
    from evalkit.adapters.engine.graphs import GraphedStack

    requests = [
        GenerateRequest(example_id=str(place), prompt="the cat " * (1 + place % 5), max_new_tokens=2 + place % 30)
        for place in range(60)
    ]
    expected = [answer.text for answer in open_model(name, cuda).answer(requests)]
    for size in (1, 8, None):
        adapter = open_model(name, cuda, compile=True, batch_size=size)
        assert isinstance(adapter._stack, GraphedStack)
        for _ in range(2):
            assert [answer.text for answer in adapter.answer(requests)] == expected
        assert adapter._stack._steps
