import pytest
import torch

from evalkit.adapters.hf import open_hf
from evalkit.errors import InvalidInputError
from evalkit.requests import Decoding, GenerateRequest, ModelSettings, RollingRequest, ScoreRequest

PROMPTS = ["the cat", "a dog ran to", "the", "我爱", "who sat on the mat ?", "old"]


def generate(texts, **options):
    options = {"max_new_tokens": 8, **options}
    return [GenerateRequest(example_id=str(i), prompt=text, **options) for i, text in enumerate(texts)]


def one_by_one(model, ids, count):
    """The most probable next tokens, without cache, padding or batch."""
    new = []
    for _ in range(count):
        token = int(model(torch.tensor([ids + new])).logits[0, -1].argmax())
        if token == 0:
            break
        new.append(token)
    return new


def logprobs(model, ids, start):
    """Natural-log probability of each token from a place on."""
    spread = model(torch.tensor([ids])).logits[0].float().log_softmax(-1)
    return [float(spread[place - 1, ids[place]]) for place in range(start, len(ids))]


@torch.inference_mode()
@pytest.mark.parametrize("batch_size", [1, 4, None])
def test_a_gpt_continues_greedily_whatever_the_batch(folder, plain, batch_size):
    model, tokenizer = plain("gpt", "AutoModelForCausalLM")
    adapter = open_hf(str(folder("gpt")), ModelSettings(device="cpu", batch_size=batch_size))
    responses = list(adapter.answer(generate(PROMPTS)))
    expected = [one_by_one(model, tokenizer(text)["input_ids"], 8) for text in PROMPTS]
    assert [response.text for response in responses] == [tokenizer.decode(ids) for ids in expected]
    assert [response.token_count for response in responses] == [len(ids) for ids in expected]
    assert [response.truncated for response in responses] == [len(ids) == 8 for ids in expected]


@torch.inference_mode()
@pytest.mark.parametrize("beams", [1, 3])
def test_a_stop_string_ends_the_text_and_is_not_in_it(folder, plain, beams):
    settings = ModelSettings(device="cpu", decoding=Decoding(beams=beams))
    adapter = open_hf(str(folder("gpt")), settings)
    whole = [response.text for response in adapter.answer(generate(PROMPTS))]
    stop = whole[0][3:5]
    responses = list(adapter.answer(generate(PROMPTS, stop=(stop, ""))))
    assert [response.text for response in responses] == [text.partition(stop)[0] for text in whole]
    assert not responses[0].truncated
    assert responses[0].token_count <= 8


def test_an_empty_prompt_is_continued_behind_the_opening_token(folder):
    adapter = open_hf(str(folder("gpt")), ModelSettings(device="cpu"))
    (response,) = adapter.answer(generate([""]))
    assert response.text is not None


def test_sampling_depends_on_the_seed_and_the_example_and_not_on_the_batch(folder):
    def sample(seed, requests, batch_size=None):
        decoding = Decoding(temperature=1.0, top_p=0.9, seed=seed)
        adapter = open_hf(str(folder("gpt")), ModelSettings(device="cpu", decoding=decoding, batch_size=batch_size))
        return [response.text for response in adapter.answer(requests)]

    requests = generate(["the"] * 4)
    state = torch.random.get_rng_state()
    texts = sample(1, requests)
    assert sample(1, requests, batch_size=1) == texts
    assert sample(1, requests[::-1]) == texts[::-1]
    assert sample(2, requests) != texts
    assert len(set(texts)) > 1
    assert torch.equal(torch.random.get_rng_state(), state)


@torch.inference_mode()
def test_beams_are_those_of_transformers(folder, plain):
    model, tokenizer = plain("gpt", "AutoModelForCausalLM")
    adapter = open_hf(str(folder("gpt")), ModelSettings(device="cpu", decoding=Decoding(beams=3, length_penalty=0.5)))
    for response, text in zip(adapter.answer(generate(PROMPTS)), PROMPTS, strict=True):
        ids = tokenizer(text, return_tensors="pt")
        rows = model.generate(**ids, num_beams=3, max_new_tokens=8, do_sample=False, length_penalty=0.5, pad_token_id=0)
        assert response.text == tokenizer.decode(rows[0, ids["input_ids"].shape[1] :], skip_special_tokens=True)


@torch.inference_mode()
def test_continuations_are_scored_after_their_context(folder, plain):
    model, tokenizer = plain("gpt", "AutoModelForCausalLM")
    adapter = open_hf(str(folder("gpt")), ModelSettings(device="cpu"))
    context, texts = "the cat sat ", ["on the mat", "on"]
    response, short = adapter.answer(
        [
            ScoreRequest(example_id="1", context=context, continuations=tuple(texts)),
            ScoreRequest(example_id="2", continuations=("the", "")),
        ]
    )
    start = len(tokenizer("the cat sat")["input_ids"])
    expected = [logprobs(model, tokenizer(context + text)["input_ids"], start) for text in texts]
    assert response.logprobs_nats == pytest.approx([sum(row) for row in expected], abs=1e-4)
    assert response.token_counts == tuple(map(len, expected))
    assert short.logprobs_nats == (
        pytest.approx(sum(logprobs(model, [0, *tokenizer("the")["input_ids"]], 1)), abs=1e-4),
        0.0,
    )


@torch.inference_mode()
def test_a_continuation_is_greedy_if_no_token_is_more_probable(folder, plain):
    model, tokenizer = plain("gpt", "AutoModelForCausalLM")
    contexts = [f"{text} {letter}" for text in PROMPTS for letter in "acdh"]
    texts = [*map(chr, range(65, 123)), "at", "he", "an"]
    requests = [ScoreRequest(example_id=text, context=text, continuations=tuple(texts)) for text in contexts]
    found = []
    for context, response in zip(contexts, open_hf(str(folder("gpt"))).answer(requests), strict=True):
        ids = tokenizer(context)["input_ids"]
        best = int(model(torch.tensor([ids])).logits[0, -1].argmax())
        for text, is_greedy, count in zip(texts, response.is_greedy, response.token_counts, strict=True):
            whole = tokenizer(context + text)["input_ids"]
            if count == 1 and whole[:-1] == ids:
                assert is_greedy == (whole[-1] == best)
                found.append(is_greedy)
    assert True in found
    assert False in found


@torch.inference_mode()
@pytest.mark.parametrize("repeats", [1, 4])
def test_a_whole_text_is_scored_in_windows_each_token_once(folder, plain, repeats):
    model, tokenizer = plain("gpt", "AutoModelForCausalLM")
    adapter = open_hf(str(folder("gpt")), ModelSettings(device="cpu"))
    text = "the cat sat on the mat " * repeats
    (response,) = adapter.answer([RollingRequest(example_id="1", text=text)])
    ids = tokenizer(text)["input_ids"]
    total, done = 0.0, 0
    while done < len(ids):
        end = min(len(ids), done + 32)
        shown = [0, *ids[:end]] if done == 0 else ids[end - 33 : end]
        total += sum(logprobs(model, shown, len(shown) - (end - done)))
        done = end
    assert (response.token_count, response.logprob_nats) == (len(ids), pytest.approx(total, abs=1e-3))


@pytest.mark.parametrize("name", ["gpt"])
def test_a_prompt_that_is_too_long_follows_the_policy(folder, name):
    requests = generate(["the cat " * 40, "the"])

    def answers(policy):
        return list(open_hf(str(folder(name)), ModelSettings(device="cpu", on_overflow=policy)).answer(requests))

    with pytest.raises(InvalidInputError, match="example '0': the model cannot take a prompt of"):
        answers("error")
    first, second = answers("skip")
    assert (first.text, "cannot take" in first.error, second.error) == (None, True, None)
    first, second = answers("truncate")
    assert (first.truncated, first.error) == (True, None)


@torch.inference_mode()
def test_a_t5_answers_greedily_and_scores_what_its_decoder_would_tell(folder, plain):
    model, tokenizer = plain("t5", "AutoModelForSeq2SeqLM")
    adapter = open_hf(str(folder("t5")), ModelSettings(device="cpu", batch_size=3))
    assert adapter.supports == {"generate", "score"}
    for response, text in zip(adapter.answer(generate(PROMPTS)), PROMPTS, strict=True):
        source = torch.tensor([tokenizer(text)["input_ids"]])
        told = [0]
        while len(told) <= 8:
            token = int(model(input_ids=source, decoder_input_ids=torch.tensor([told])).logits[0, -1].argmax())
            if token == 1:
                break
            told.append(token)
        assert response.text == tokenizer.decode(told[1:], skip_special_tokens=True)
    request = ScoreRequest(example_id="1", context="the cat", continuations=("a dog ran", "the"))
    (response,) = adapter.answer([request])
    for text, logprob, count in zip(request.continuations, response.logprobs_nats, response.token_counts, strict=True):
        target = tokenizer(text, add_special_tokens=False)["input_ids"]
        logits = model(
            input_ids=torch.tensor([tokenizer("the cat")["input_ids"]]),
            decoder_input_ids=torch.tensor([[0, *target[:-1]]]),
        ).logits[0]
        expected = logits.log_softmax(-1).gather(-1, torch.tensor(target)[:, None]).sum()
        assert (count, logprob) == (len(target), pytest.approx(float(expected), abs=1e-4))


def test_settings_that_cannot_be_are_refused(folder):
    for settings in ({"on_overflow": "x"}, {"batch_size": 0}, {"decoding": Decoding(beams=0)}, {"dtype": "int8"}):
        with pytest.raises(InvalidInputError):
            open_hf(str(folder("gpt")), ModelSettings(device="cpu", **settings))
    with pytest.raises(InvalidInputError, match="max_new_tokens is 0"):
        open_hf(str(folder("gpt"))).answer(generate(["a"], max_new_tokens=0))


def test_half_precision_answers_too(folder):
    adapter = open_hf(str(folder("gpt")), ModelSettings(device="cpu", dtype="bfloat16"))
    (response,) = adapter.answer([ScoreRequest(example_id="1", context="the", continuations=(" cat",))])
    exact = open_hf(str(folder("gpt")), ModelSettings(device="cpu"))
    (other,) = exact.answer([ScoreRequest(example_id="1", context="the", continuations=(" cat",))])
    assert response.logprobs_nats == (pytest.approx(other.logprobs_nats[0], abs=0.3),)
    assert adapter.info.digest != exact.info.digest
