"""The toy language model of the conformance cases as a torch module: the whole path, with known values."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from evalkit.conformance.check import read_cases, shipped_folder
from evalkit.requests import RollingRequest


class ToyModel(torch.nn.Module):
    """Has no parameters: logit v is cos(0.7 v + 0.3 h), where the j-th last visible token, c, adds (c + 1) / j to h."""

    def __init__(self, vocab_size, max_length):
        super().__init__()
        self.config = SimpleNamespace(vocab_size=vocab_size, max_length=max_length)

    def hidden(self, ids, attention_mask=None):
        places = torch.arange(ids.shape[1])
        distance = (places[:, None] - places + 1).clamp(min=1)
        weight = torch.tril(1.0 / distance.double())
        real = torch.ones_like(ids) if attention_mask is None else attention_mask
        return (((ids + 1) * real).double() @ weight.T)[..., None]

    def head(self, hidden):
        return torch.cos(0.7 * torch.arange(self.config.vocab_size).double() + 0.3 * hidden)


class LetterTokenizer:
    """Letter number i of the alphabet is token i."""

    eos_id = None
    frame = SimpleNamespace(before=())

    def __init__(self, prefix):
        self.bos_id = prefix

    def ids_of_each(self, texts):
        return [[ord(letter) - ord("a") for letter in text] for text in texts]


def check(case, make_adapter, batch_size):
    params, ids = case.params, case.predictions[0]
    model = ToyModel(params["vocab_size"], params["max_length"])
    adapter = make_adapter(model, LetterTokenizer(params["prefix_token"]), batch_size=batch_size)
    text = "".join(chr(ord("a") + index) for index in ids)
    requests = [RollingRequest(example_id=str(place), text=text[place:]) for place in range(3)]
    answer = next(adapter.answer(requests))
    assert answer.token_count == len(ids)
    assert answer.logprob_nats == pytest.approx(case.expected["rolling_sum_logprob"], abs=1e-9)


SHIPPED = [
    case for case in read_cases(Path(shipped_folder(), "perplexity.jsonl")) if case.params.get("kind") == "toy_lm"
]


@pytest.mark.parametrize("batch_size", [1, None])
@pytest.mark.parametrize("case", SHIPPED, ids=lambda case: case.id)
def test_rolling_windows_have_the_values_of_the_toy_model(case, make_adapter, batch_size):
    check(case, make_adapter, batch_size)


@pytest.mark.real
def test_rolling_windows_have_the_values_of_the_published_cases(golden_dir, make_adapter):
    cases = [one for one in read_cases(golden_dir / "perplexity.jsonl") if one.params["kind"] == "toy_lm"]
    assert cases
    for case in cases:
        check(case, make_adapter, None)
