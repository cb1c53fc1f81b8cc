"""Packed reading: the hidden states of the model itself, for any lengths in any order, with none of the padding."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.adapters.encoder.passages import Passage
from evalkit.adapters.encoder.stack import BertStack
from evalkit_models.bert import Bert, BertConfig

SHAPES = {
    "narrow": {"width": 32},
    "as wide as fast kernels want": {"width": 256},
    "roberta": {"width": 32, "segments": 1, "position_offset": 2, "norm_eps": 1e-5},
}


@pytest.fixture(scope="module")
def trunks():
    """Trunks with random weights, each with a copy of itself that the packed reading cannot lay out anew."""

    def draw(shape):
        torch.manual_seed(0)
        config = BertConfig(**({"vocab_size": 40, "max_length": 12, "layers": 2, "heads": 4, "ff_width": 320} | shape))
        models = Bert(config).eval(), Bert(config).eval()
        with torch.no_grad():
            for parameter in models[0].parameters():
                parameter.add_(2.0 / config.width**0.5 * torch.randn(parameter.shape))
        models[1].load_state_dict(models[0].state_dict())
        return models

    return {name: draw(shape) for name, shape in SHAPES.items()}


@torch.no_grad()
def naive_hidden(bert, passage):
    ids = torch.tensor([passage.ids])
    segments = None
    if passage.second_from is not None and bert.config.segments > 1:
        segments = (torch.arange(passage.length) >= passage.second_from).long()[None]
    return bert(ids, segments=segments)[0, list(passage.wanted)]


@pytest.mark.parametrize("name", SHAPES)
@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_hidden_states_are_those_of_one_passage_alone(trunks, name, data):
    packed, plain = trunks[name]
    passages = []
    for _ in range(data.draw(st.integers(1, 6))):
        ids = data.draw(st.lists(st.integers(0, 39), min_size=1, max_size=12))
        wanted = data.draw(st.lists(st.integers(0, len(ids) - 1), max_size=4))
        second = data.draw(st.none() | st.integers(0, len(ids)))
        passages.append(Passage(tuple(ids), tuple(wanted), second))
    found = BertStack(packed).read(passages)
    expected = torch.cat([naive_hidden(plain, passage) for passage in passages])
    assert torch.allclose(found, expected, atol=1e-4, rtol=1e-4)


def test_weights_keep_their_values(trunks):
    for packed, plain in trunks.values():
        BertStack(packed)
        for name, parameter in packed.named_parameters():
            assert torch.equal(parameter, dict(plain.named_parameters())[name])
