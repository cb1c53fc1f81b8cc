"""Texts that share a row do not see one another: each gives what it gives alone."""

import pytest
import torch
from torch import Tensor, nn

from evalkit_models.bert import Bert, BertConfig
from evalkit_models.decoder import Decoder, DecoderConfig
from evalkit_models.gpt import GPT, GPTConfig
from evalkit_models.layers import document_positions

_SIZES = {"vocab_size": 31, "max_length": 24, "width": 16, "layers": 2, "heads": 2, "ff_width": 32}

MODELS = {
    "gpt": lambda: GPT(GPTConfig(**_SIZES)),
    "decoder": lambda: Decoder(DecoderConfig(**_SIZES, kv_heads=1)),
    "bert": lambda: Bert(BertConfig(**_SIZES)),
    "roberta": lambda: Bert(BertConfig(**_SIZES, segments=1, position_offset=2)),
}


def _states(model: nn.Module, ids: Tensor, documents: Tensor | None = None) -> Tensor:
    read = model if isinstance(model, Bert) else model.hidden
    return read(ids, documents=documents)


@pytest.mark.parametrize("family", MODELS)
def test_texts_that_share_a_row_give_what_they_give_alone(family, randomise, rows):
    model = randomise(MODELS[family]()).eval()
    first, second, third, fourth = rows(7, 1, 9, 12)
    padding = torch.full((8,), 3)
    ids = torch.stack([torch.cat((first, second, third)), torch.cat((fourth, padding[:5]))])
    documents = torch.tensor([[0] * 7 + [1] + [2] * 9, [0] * 12 + [1] * 5])
    together = _states(model, ids, documents)
    for text, place in ((first, (0, 0)), (second, (0, 7)), (third, (0, 8)), (fourth, (1, 0))):
        row, start = place
        alone = _states(model, text[None])[0]
        torch.testing.assert_close(together[row, start : start + len(text)], alone, atol=1e-5, rtol=1e-5)


def test_positions_begin_anew_with_each_text_of_a_row():
    documents = torch.tensor([[4, 4, 4, 1, 1, 7], [0, 0, 0, 0, 0, 0], [0, 1, 0, 0, 2, 2]])
    assert document_positions(documents).tolist() == [[0, 1, 2, 0, 1, 0], [0, 1, 2, 3, 4, 5], [0, 0, 0, 1, 0, 1]]


@pytest.mark.parametrize("family", MODELS)
def test_documents_of_another_shape_or_with_a_mask_are_refused(family):
    model, ids = MODELS[family](), torch.ones(2, 4, dtype=torch.long)
    with pytest.raises(ValueError, match=r"documents have shape \(2, 3\), ids have \(2, 4\)"):
        _states(model, ids, torch.zeros(2, 3, dtype=torch.long))
    read = model if isinstance(model, Bert) else model.hidden
    with pytest.raises(ValueError, match="attention_mask and documents"):
        read(ids, torch.ones_like(ids), documents=torch.zeros_like(ids))
