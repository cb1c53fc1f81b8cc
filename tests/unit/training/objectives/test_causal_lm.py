"""Causal language modelling: texts that share a row, windows, and the same numbers as rolling perplexity gives."""

import pytest
import torch

from evalkit.adapters.causal import CausalAdapter
from evalkit.errors import InvalidInputError
from evalkit.requests import ModelInfo, ModelSettings, RollingRequest
from evalkit.tokenization import train_bpe, train_wordpiece
from evalkit.training.objectives.causal_lm import CausalLm
from evalkit.training.objectives.rows import Piece, piece_batch, shared_rows
from evalkit.training.recipe_objectives import CausalLmOptions
from evalkit_models.decoder import Decoder, DecoderConfig
from evalkit_models.gpt import GPT, GPTConfig

TEXTS = [f"One morning Ivan carried {n} lanterns; " * (1 + n % 5) for n in range(14)]
LONGEST = 32


@pytest.fixture(scope="module")
def tokenizer():
    return train_bpe(TEXTS, 300)


@pytest.fixture(scope="module", params=["gpt", "decoder"])
def model(request, tokenizer):
    torch.manual_seed(0)
    sizes = {"width": 16, "layers": 2, "heads": 2, "ff_width": 24, "max_length": LONGEST}
    sizes["vocab_size"] = tokenizer.largest_id + 1
    made = GPT(GPTConfig(**sizes)) if request.param == "gpt" else Decoder(DecoderConfig(**sizes, kv_heads=1))
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return made.eval()


def make(tokenizer, texts=TEXTS, longest=LONGEST, *, is_training=False, **more) -> CausalLm:
    return CausalLm(texts, tokenizer, longest, CausalLmOptions(**more), is_training=is_training)


def generator(seed=0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def everything(objective: CausalLm, seed=0):
    return objective.collate(range(len(objective.lengths)), generator(seed))


def test_texts_that_share_a_row_get_the_logits_of_separate_passes(model, tokenizer):
    short = [text for text in TEXTS if len(tokenizer.ids(text)) < LONGEST - 1]
    objective = make(tokenizer, short)
    tensors = everything(objective).tensors
    assert len(tensors["ids"]) < len(short)
    together = model.head(model.hidden(tensors["ids"], documents=tensors["documents"]))
    found = 0
    for text in short:
        ids = [tokenizer.eos_id, *tokenizer.ids(text)]
        alone = model(torch.tensor([ids]))[0]
        for row, documents, logits in zip(tensors["ids"], tensors["documents"], together, strict=True):
            for number in documents.unique().tolist():
                if row[documents == number].tolist() == ids:
                    found += 1
                    torch.testing.assert_close(logits[documents == number], alone, atol=1e-5, rtol=1e-5)
    assert found == len(short)


@pytest.mark.parametrize("pack", ["separate", "none"])
def test_the_loss_of_short_texts_is_their_rolling_log_probability_and_that_of_their_end(model, tokenizer, pack):
    short = [text for text in TEXTS if len(tokenizer.ids(text)) < LONGEST - 1]
    objective = make(tokenizer, short, pack=pack)
    loss = objective.loss(model, everything(objective))
    info = ModelInfo(ref="m", name="m", digest="", family="gpt")
    adapter = CausalAdapter(model, tokenizer, info, ModelSettings())
    requests = [RollingRequest(example_id=str(n), text=text) for n, text in enumerate(short)]
    rolled = list(adapter.answer(requests))
    ends = 0.0
    for text in short:
        ids = [tokenizer.eos_id, *tokenizer.ids(text)]
        ends += model(torch.tensor([ids]))[0, -1].log_softmax(-1)[tokenizer.eos_id].item()
    assert -loss.total.item() == pytest.approx(sum(row.logprob_nats for row in rolled) + ends, rel=1e-4)
    assert loss.target_count == sum(row.token_count for row in rolled) + len(short)


@pytest.mark.parametrize("pack", ["separate", "none", "joined"])
def test_every_token_is_a_target_once(tokenizer, pack):
    objective = make(tokenizer, pack=pack)
    labels = everything(objective).tensors["labels"].tolist()
    wanted = [token for text in TEXTS for token in (*tokenizer.ids(text), tokenizer.eos_id)]
    assert sorted(labels) == sorted(wanted)
    assert max(objective.lengths) == LONGEST


def test_joined_texts_follow_one_another_with_one_end_token_between(tokenizer):
    objective = make(tokenizer, TEXTS[:3], pack="joined")
    tensors = everything(objective).tensors
    assert "documents" not in tensors
    stream = [tokenizer.eos_id, *(token for text in TEXTS[:3] for token in (*tokenizer.ids(text), tokenizer.eos_id))]
    for row in range(len(objective.lengths)):
        part = objective.collate([row], generator()).tensors
        assert part["ids"][0].tolist() == stream[row * LONGEST :][: part["ids"].shape[1]]
        assert part["labels"].tolist() == stream[row * LONGEST + 1 :][: part["ids"].shape[1]]


def test_windows_of_a_long_text_move_in_training_but_for_the_first_and_stay_otherwise(tokenizer):
    text = " ".join(TEXTS)
    for is_training in (True, False):
        objective = make(tokenizer, [text], is_training=is_training)
        assert len(objective.lengths) > 4
        draws = [[objective.collate([place], generator(seed)).tensors["ids"] for seed in range(4)] for place in (0, 2)]
        assert all(torch.equal(draws[0][0], other) for other in draws[0])
        assert all(torch.equal(draws[1][0], other) for other in draws[1]) == (not is_training)
        assert draws[0][0][0, 0] == tokenizer.eos_id


def test_padding_and_shared_rows_are_marked_only_where_they_are_needed(tokenizer):
    long, short = Piece(torch.arange(5), torch.arange(5)), Piece(torch.arange(2), torch.arange(2))
    assert piece_batch([long, long], None).tensors.keys() == {"ids", "labels"}
    assert piece_batch([long, short], None).tensors.keys() == {"ids", "labels", "places"}
    assert piece_batch([short, short], 4).tensors.keys() == {"ids", "labels", "documents"}
    assert piece_batch([long, short], 4).tensors["ids"].shape == (2, 5)


def test_rows_are_filled_by_first_fit_decreasing():
    rows = shared_rows([5, 9, 3, 2, 7, 1, 10], capacity=10)
    assert sorted(place for row in rows for place in row) == list(range(7))
    assert [sum([5, 9, 3, 2, 7, 1, 10][place] for place in row) for row in rows] == [10, 10, 10, 7]


def test_label_smoothing_spreads_a_share_over_the_whole_vocabulary(model, tokenizer):
    plain, smooth = (make(tokenizer, TEXTS[:1], label_smoothing=share) for share in (0.0, 0.25))
    batch = everything(plain)
    logits = model.head(model.hidden(batch.tensors["ids"])).flatten(0, 1)
    logprobs = logits.log_softmax(-1)
    own = logprobs.gather(-1, batch.tensors["labels"][:, None])[:, 0]
    expected = -(0.75 * own + 0.25 * logprobs.mean(-1)).sum().item()
    assert smooth.loss(model, batch).total.item() == pytest.approx(expected, rel=1e-5)


def test_what_cannot_be_learnt_is_one_line(tokenizer):
    with pytest.raises(InvalidInputError, match="no text to train on"):
        make(tokenizer, ["", ""])
    with pytest.raises(InvalidInputError, match="neither bos nor eos token"):
        make(train_wordpiece(TEXTS, 80))
