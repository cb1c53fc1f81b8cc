import math

import pytest
import torch
import transformers

from evalkit.adapters.engine.beams import length_penalty
from evalkit.checkpoints.huggingface import to_ours
from evalkit.requests import Decoding, GenerateRequest
from evalkit_models.gpt import GPT, GPTConfig

END = 5
LETTERS = "".join(chr(97 + place) for place in range(24))


class LetterTokenizer:
    """Letter number i of the alphabet is token i; token 5, the letter f, ends a text."""

    bos_id, eos_id = None, END

    class frame:
        before = ()

    def ids_of_each(self, texts):
        return [[LETTERS.index(letter) for letter in text] for text in texts]

    def decode(self, ids):
        return "".join(LETTERS[index] for index in ids)


@pytest.fixture(scope="module")
def pair():
    """A random GPT-2 of transformers and ours with the same weights, which end a text now and then."""
    torch.manual_seed(7)
    shape = {"n_positions": 40, "n_embd": 16, "n_layer": 2, "n_head": 2, "initializer_range": 0.6}
    config = transformers.GPT2Config(vocab_size=len(LETTERS), bos_token_id=None, eos_token_id=END, **shape)
    theirs = transformers.GPT2LMHeadModel(config).eval()
    ours = GPT(GPTConfig(vocab_size=len(LETTERS), max_length=40, width=16, layers=2, heads=2, ff_width=64))
    ours.load_state_dict(to_ours(theirs.state_dict(), "gpt2"))
    return theirs, ours


def prompts(count, longest=12):
    source = torch.Generator().manual_seed(7)
    lengths = torch.randint(1, longest, (count,), generator=source).tolist()
    return [
        "".join(LETTERS[i] for i in torch.randint(0, 24, (size,), generator=source) if i != END) + "a"
        for size in lengths
    ]


def requests(texts, limit=14, stop=()):
    return [
        GenerateRequest(example_id=str(place), prompt=text, max_new_tokens=limit, stop=stop)
        for place, text in enumerate(texts)
    ]


def theirs_one_by_one(model, texts, limit=14, **options):
    tokenizer = LetterTokenizer()
    answers = []
    for ids in tokenizer.ids_of_each(texts):
        found = model.generate(
            torch.tensor([ids]),
            attention_mask=torch.ones(1, len(ids), dtype=torch.long),
            max_new_tokens=limit,
            do_sample=False,
            pad_token_id=END,
            eos_token_id=END,
            **options,
        )[0].tolist()[len(ids) :]
        answers.append(tokenizer.decode(found[: found.index(END)] if END in found else found))
    return answers


def ours_at_once(make_adapter, model, texts, limit=14, batch_size=None, **decoding):
    adapter = make_adapter(model, LetterTokenizer(), decoding=Decoding(**decoding), batch_size=batch_size)
    return [answer.text for answer in adapter.answer(requests(texts, limit))]


@pytest.mark.slow
def test_greedy_answers_are_those_of_transformers_on_fifty_prompts(pair, make_adapter):
    theirs, ours = pair
    texts = prompts(50)
    expected = theirs_one_by_one(theirs, texts)
    assert ours_at_once(make_adapter, ours, texts) == expected
    assert len({len(text) for text in expected}) > 3


@pytest.mark.slow
def test_beams_are_those_of_transformers_on_fifty_prompts(pair, make_adapter):
    theirs, ours = pair
    texts = prompts(50)
    expected = theirs_one_by_one(theirs, texts, num_beams=3, length_penalty=0.0)
    assert ours_at_once(make_adapter, ours, texts, beams=3, length_penalty=0.0) == expected
    assert expected != theirs_one_by_one(theirs, texts)


@pytest.mark.parametrize("beams", [2, 5])
def test_beams_are_those_of_transformers(pair, make_adapter, beams):
    theirs, ours = pair
    texts = prompts(8)
    expected = theirs_one_by_one(theirs, texts, num_beams=beams, length_penalty=0.0)
    assert ours_at_once(make_adapter, ours, texts, beams=beams, length_penalty=0.0) == expected


def test_beams_with_repetition_penalty_are_those_of_transformers(pair, make_adapter):
    theirs, ours = pair
    texts = prompts(6)
    expected = theirs_one_by_one(theirs, texts, num_beams=3, length_penalty=0.0, repetition_penalty=1.4)
    found = ours_at_once(make_adapter, ours, texts, beams=3, length_penalty=0.0, repetition_penalty=1.4)
    assert found == expected
    assert found != theirs_one_by_one(theirs, texts, num_beams=3, length_penalty=0.0)


def test_greedy_with_repetition_penalty_is_that_of_transformers(pair, make_adapter):
    theirs, ours = pair
    texts = prompts(10)
    expected = theirs_one_by_one(theirs, texts, repetition_penalty=1.4)
    assert ours_at_once(make_adapter, ours, texts, repetition_penalty=1.4) == expected


@pytest.mark.parametrize("batch_size", [1, 3, 16, None])
def test_beams_do_not_depend_on_batch_size_or_order(pair, make_adapter, batch_size):
    _, ours = pair
    texts = prompts(9)
    expected = ours_at_once(make_adapter, ours, texts, beams=3, batch_size=2)
    assert ours_at_once(make_adapter, ours, texts, beams=3, batch_size=batch_size) == expected
    assert ours_at_once(make_adapter, ours, texts[::-1], beams=3, batch_size=batch_size) == expected[::-1]


def best_of_all(model, ids, limit, alpha):
    """The best of all complete continuations, by looking at each: what beam search with enough beams must find."""
    best, waiting = (-math.inf, ()), [((), 0.0)]
    while waiting:
        new, score = waiting.pop()
        with torch.no_grad():
            logprobs = model(torch.tensor([[*ids, *new]]))[0, -1].double().log_softmax(-1).tolist()
        for token, logprob in enumerate(logprobs):
            longer, total = (*new, token), score + logprob
            if token == END or len(longer) == limit:
                best = max(best, (total / (((5 + len(longer)) ** alpha) / (6**alpha)), longer))
            else:
                waiting.append((longer, total))
    return [token for token in best[1] if token != END]


@pytest.mark.parametrize("alpha", [0.0, 1.0, 4.0])
def test_enough_beams_find_the_best_of_all_continuations(make_adapter, alpha):
    shape = {"vocab_size": 8, "max_length": 8, "width": 8, "layers": 1, "heads": 1, "ff_width": 16}
    model = GPT(GPTConfig(**shape)).eval()
    source = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(0.6 * torch.randn(parameter.shape, generator=source))
    found = ours_at_once(make_adapter, model, ["ab", "c"], limit=3, beams=64, length_penalty=alpha)
    expected = [best_of_all(model, ids, 3, alpha) for ids in ([0, 1], [2])]
    assert found == [LetterTokenizer().decode(ids) for ids in expected]


def test_the_length_penalty_is_that_of_the_paper():
    # Wu et al. (2016), equation 14: (5 + |Y|)^alpha / (5 + 1)^alpha
    assert length_penalty(1, 0.6) == pytest.approx(1.0)
    assert length_penalty(19, 0.5) == pytest.approx(2.0)
    assert length_penalty(7, 0.0) == 1.0


def test_a_beam_ends_at_a_stop_string(pair, make_adapter):
    _, ours = pair
    whole = ours_at_once(make_adapter, ours, prompts(8), beams=3)
    place = next(place for place, text in enumerate(whole) if len(text) > 3)
    stop = whole[place][1:3]
    adapter = make_adapter(ours, LetterTokenizer(), decoding=Decoding(beams=3))
    answer = next(adapter.answer(requests([prompts(8)[place]], stop=(stop,))))
    assert stop not in answer.text


def test_beams_go_on_with_half_the_batch_after_running_out_of_memory(pair, make_adapter):
    _, ours = pair
    texts = prompts(6)
    expected = ours_at_once(make_adapter, ours, texts, beams=3)
    adapter = make_adapter(ours, LetterTokenizer(), decoding=Decoding(beams=3))
    step = adapter._stack.step

    def limited(ids, cache):
        if len(ids) > 3:
            raise torch.OutOfMemoryError("out of memory")
        return step(ids, cache)

    adapter._stack.step = limited
    assert [answer.text for answer in adapter.answer(requests(texts))] == expected
