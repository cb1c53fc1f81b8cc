"""The decoder-only families: equal to transformers, and what must hold for each."""

import math

import pytest
import torch
import transformers
from torch.nn import functional

from evalkit.checkpoints.huggingface import to_huggingface, to_ours
from evalkit_models.decoder import Decoder, DecoderConfig, rotate, rotation
from evalkit_models.gpt import GPT, GPTConfig

VOCABULARY, MAXIMUM = 31, 12


def gpt_pair(*, width: int, layers: int, heads: int, tie_head: bool):
    """A GPT-2 of transformers and ours of the same shape."""
    theirs = transformers.GPT2Config(
        vocab_size=VOCABULARY,
        n_positions=MAXIMUM,
        n_embd=width,
        n_layer=layers,
        n_head=heads,
        tie_word_embeddings=tie_head,
        bos_token_id=0,
        eos_token_id=0,
    )
    ours = GPTConfig(
        vocab_size=VOCABULARY,
        max_length=MAXIMUM,
        width=width,
        layers=layers,
        heads=heads,
        ff_width=4 * width,
        tie_head=tie_head,
    )
    return transformers.GPT2LMHeadModel._from_config(theirs, attn_implementation="eager"), GPT(ours), "gpt2"


def decoder_pair(named, *, width: int, layers: int, heads: int, kv_heads: int, tie_head: bool):
    """A Llama or Qwen2 of transformers and ours of the same shape."""
    theirs = getattr(transformers, f"{named}Config")(
        vocab_size=VOCABULARY,
        max_position_embeddings=MAXIMUM,
        hidden_size=width,
        intermediate_size=40,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        tie_word_embeddings=tie_head,
        rms_norm_eps=1e-4,
        rope_parameters={"rope_type": "default", "rope_theta": 200.0},
    )
    ours = DecoderConfig(
        vocab_size=VOCABULARY,
        max_length=MAXIMUM,
        width=width,
        layers=layers,
        heads=heads,
        kv_heads=kv_heads,
        ff_width=40,
        rope_base=200.0,
        qkv_bias=named == "Qwen2",
        tie_head=tie_head,
        norm_eps=1e-4,
    )
    model = getattr(transformers, f"{named}ForCausalLM")._from_config(theirs, attn_implementation="eager")
    return model, Decoder(ours), "llama"


PAIRS = {
    "gpt2-24x2": lambda: gpt_pair(width=24, layers=2, heads=3, tie_head=True),
    "gpt2-32x3-untied": lambda: gpt_pair(width=32, layers=3, heads=2, tie_head=False),
    "llama-24x2-shared": lambda: decoder_pair("Llama", width=24, layers=2, heads=6, kv_heads=2, tie_head=False),
    "llama-32x3-tied": lambda: decoder_pair("Llama", width=32, layers=3, heads=2, kv_heads=2, tie_head=True),
    "qwen2-24x2": lambda: decoder_pair("Qwen2", width=24, layers=2, heads=3, kv_heads=1, tie_head=False),
}


@pytest.fixture(scope="module", params=PAIRS)
def pair(request, randomise):
    """The same random weights in transformers' model and in ours."""
    theirs, ours, family = PAIRS[request.param]()
    randomise(theirs)
    weights = to_ours(theirs.state_dict(), family, tie_head=ours.config.tie_head)
    ours.load_state_dict(weights)
    return theirs, ours.eval(), family


@pytest.fixture
def model(pair):
    return pair[1]


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("length", [1, 2, MAXIMUM - 1, MAXIMUM])
@torch.no_grad()
def test_logits_equal_those_of_transformers_without_padding(pair, rows, pad, length, side):
    theirs, ours, _ = pair
    batch = rows(length, 5, 3)
    ids, mask = pad(batch, side)
    logits = ours(ids, mask)
    for index, row in enumerate(batch):
        expected = theirs(row[None]).logits[0]
        torch.testing.assert_close(logits[index][mask[index].bool()], expected, atol=1e-4, rtol=0)
        torch.testing.assert_close(ours(row[None])[0], expected, atol=1e-4, rtol=0)


@torch.no_grad()
def test_teacher_forced_loss_equals_that_of_transformers(pair, rows, pad):
    theirs, ours, _ = pair
    ids, mask = pad(rows(MAXIMUM, 7, 2), "right")
    labels = ids.masked_fill(mask == 0, -100)
    loss = functional.cross_entropy(ours(ids, mask)[:, :-1].flatten(0, 1), labels[:, 1:].flatten())
    assert loss.item() == pytest.approx(theirs(ids, attention_mask=mask, labels=labels).loss.item(), abs=1e-5)


def test_weights_survive_the_way_to_transformers_and_back(pair):
    theirs, ours, family = pair
    weights = to_huggingface(ours.state_dict(), family)
    state = theirs.state_dict()
    assert set(state) - set(weights) == ({"lm_head.weight"} if ours.config.tie_head else set())
    for name, tensor in weights.items():
        assert torch.equal(tensor, state[name]), name
    again = to_ours(weights, family, tie_head=ours.config.tie_head)
    assert all(torch.equal(again[name], tensor) for name, tensor in ours.state_dict().items())


@torch.no_grad()
def test_later_tokens_do_not_change_earlier_logits(model, rows):
    ids = torch.stack(rows(9, 9))
    changed = ids.clone()
    changed[:, 6:] = (ids[:, 6:] + 1) % VOCABULARY
    before, after = model(ids), model(changed)
    assert torch.equal(before[:, :6], after[:, :6])
    assert not torch.allclose(before[:, 6:], after[:, 6:], atol=1e-3)


@torch.no_grad()
def test_earlier_tokens_and_their_order_change_later_logits(model):
    last = model(torch.tensor([[3, 4, 5], [4, 3, 5]]))[:, -1]
    assert not torch.allclose(last[0], last[1], atol=1e-3)


@pytest.mark.parametrize("side", ["left", "right"])
@torch.no_grad()
def test_padding_changes_no_logit(model, rows, pad, side):
    batch = rows(4, 1, 7)
    ids, mask = pad(batch, side, width=MAXIMUM)
    logits = model(ids, mask)
    assert torch.isfinite(logits).all()
    for index, row in enumerate(batch):
        torch.testing.assert_close(logits[index][mask[index].bool()], model(row[None])[0], atol=1e-5, rtol=0)


@torch.no_grad()
def test_what_stands_in_the_padding_changes_no_logit(model, rows, pad):
    ids, mask = pad(rows(4, 7), "left", width=9)
    other = ids.where(mask.bool(), torch.tensor(17))
    assert torch.equal(model(ids, mask)[mask.bool()], model(other, mask)[mask.bool()])


@torch.no_grad()
def test_mask_of_ones_is_no_mask(model, rows):
    ids = torch.stack(rows(6, 6))
    torch.testing.assert_close(model(ids, torch.ones_like(ids)), model(ids), atol=1e-5, rtol=0)


@torch.no_grad()
def test_order_of_the_batch_changes_no_row(model, rows, pad):
    ids, mask = pad(rows(4, 9, 7), "left")
    order = torch.tensor([2, 0, 1])
    torch.testing.assert_close(model(ids[order], mask[order]), model(ids, mask)[order], atol=1e-5, rtol=0)


@torch.no_grad()
def test_row_of_padding_alone_is_finite(model):
    ids = torch.full((2, 5), 3)
    mask = torch.tensor([[0, 0, 0, 0, 0], [0, 0, 1, 1, 1]])
    assert torch.isfinite(model(ids, mask)).all()


@torch.no_grad()
def test_head_on_chosen_positions_equals_those_logits(model, rows):
    ids = torch.stack(rows(6, 6))
    torch.testing.assert_close(model.head(model.hidden(ids)[:, [2, 5]]), model(ids)[:, [2, 5]], atol=1e-6, rtol=0)


@torch.no_grad()
def test_given_positions_replace_those_of_the_mask(model, rows):
    ids = torch.stack(rows(4, 4))
    torch.testing.assert_close(model.hidden(ids, positions=torch.arange(4)), model.hidden(ids))


@pytest.mark.parametrize("length", [0, MAXIMUM + 1])
def test_length_outside_of_the_limits_is_an_error_with_both_numbers(model, length):
    with pytest.raises(ValueError, match=rf"found {length} tokens, expected 1 to {MAXIMUM}"):
        model(torch.zeros(1, length, dtype=torch.long))


def test_ids_and_masks_of_wrong_shape_are_errors(model):
    with pytest.raises(ValueError, match="expected \\(batch, length\\)"):
        model(torch.zeros(3, dtype=torch.long))
    with pytest.raises(ValueError, match="attention_mask has shape"):
        model(torch.zeros(1, 3, dtype=torch.long), torch.ones(1, 4))


def test_tied_head_is_the_token_embedding_itself(model):
    names = set(model.state_dict())
    assert ("output.weight" in names) != model.config.tie_head
    hidden = torch.ones(1, model.config.width)
    before = model.head(hidden)
    table = model.tokens.weight if model.config.tie_head else model.output.weight
    with torch.no_grad():
        table += 1.0
        after = model.head(hidden)
        table -= 1.0
    torch.testing.assert_close(after - before, torch.full_like(before, model.config.width))


def test_dropout_acts_in_training_only(model, rows):
    from dataclasses import replace

    ids = torch.stack(rows(6, 6))
    wet = type(model)(replace(model.config, dropout=0.5))
    with torch.no_grad(), torch.random.fork_rng():
        assert torch.equal(wet.eval()(ids), wet(ids))
        assert not torch.allclose(wet.train()(ids), wet(ids))


def test_every_parameter_gets_a_gradient(model, rows):
    ids = torch.stack(rows(6, 6))
    model.zero_grad()
    model(ids).logsumexp(-1).sum().backward()
    assert [name for name, parameter in model.named_parameters() if parameter.grad is None] == []
    model.zero_grad()


def test_initialisation_of_gpt_is_the_stated_one():
    config = GPTConfig(vocab_size=500, max_length=64, width=128, layers=8, heads=2, ff_width=512)
    model = GPT(config)
    model.initialise(torch.Generator().manual_seed(1))
    block = model.blocks[3]
    assert model.tokens.weight.std().item() == pytest.approx(0.02, rel=0.02)
    assert model.positions.weight.std().item() == pytest.approx(0.01, rel=0.04)
    assert block.mlp.up.weight.std().item() == pytest.approx(0.02, rel=0.02)
    assert block.mlp.down.weight.std().item() == pytest.approx(0.02 / math.sqrt(16), rel=0.02)
    assert block.attention.out.weight.std().item() == pytest.approx(0.02 / math.sqrt(16), rel=0.03)
    assert not block.attention.qkv.bias.any()
    assert torch.equal(block.norm1.weight, torch.ones(128))
    again = GPT(config)
    again.initialise(torch.Generator().manual_seed(1))
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), again.parameters(), strict=True))


def test_initialisation_of_decoder_is_the_stated_one():
    model = Decoder(
        DecoderConfig(vocab_size=500, max_length=64, width=128, layers=8, heads=4, kv_heads=2, ff_width=256)
    )
    model.initialise(torch.Generator().manual_seed(1))
    block = model.blocks[3]
    for weight in (model.tokens.weight, model.output.weight, block.attention.qkv.weight, block.mlp.gate.weight):
        assert weight.std().item() == pytest.approx(0.02, rel=0.03)
    for weight in (block.attention.out.weight, block.mlp.down.weight):
        assert weight.std().item() == pytest.approx(0.02 / math.sqrt(16), rel=0.03)
    assert torch.equal(block.norm1.weight, torch.ones(128))


def test_scores_of_turned_vectors_depend_on_their_distance_alone():
    q, k = torch.randn(2, 1, 1, 1, 8, generator=torch.Generator().manual_seed(0)).expand(2, 1, 1, 30, 8)
    turn = rotation(torch.arange(30), 8, 50.0)
    scores = rotate(q, *turn)[0, 0] @ rotate(k, *turn)[0, 0].T
    for distance in range(-5, 6):
        diagonal = scores.diagonal(distance)
        torch.testing.assert_close(diagonal, diagonal[:1].expand_as(diagonal), atol=1e-4, rtol=0)
    assert scores[0].std() > 0.1


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"heads": 5, "kv_heads": 5}, "width 24 is not divisible by heads 5"),
        ({"kv_heads": 4}, "heads 6 is not divisible by kv_heads 4"),
        ({"heads": 8, "kv_heads": 8}, "head_width 3 is not divisible by a rotated pair of 2"),
        ({"rope_base": 1.0}, "rope_base is 1.0, expected above 1"),
        ({"vocab_size": 0}, "vocab_size is 0, expected at least 1"),
    ],
)
def test_impossible_decoder_is_refused(change, problem):
    shape = {"vocab_size": 9, "max_length": 4, "width": 24, "layers": 1, "heads": 6, "kv_heads": 2, "ff_width": 8}
    with pytest.raises(ValueError, match=problem):
        DecoderConfig(**{**shape, **change})


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"heads": 5}, "width 24 is not divisible by heads 5"),
        ({"layers": 0}, "layers is 0, expected at least 1"),
        ({"dropout": 1.0}, "dropout is 1.0, expected a probability"),
    ],
)
def test_impossible_gpt_is_refused(change, problem):
    shape = {"vocab_size": 9, "max_length": 4, "width": 24, "layers": 1, "heads": 2, "ff_width": 8}
    with pytest.raises(ValueError, match=problem):
        GPTConfig(**{**shape, **change})


def test_gpt_without_query_biases_opens_in_transformers(rows):
    config = GPTConfig(
        vocab_size=VOCABULARY, max_length=MAXIMUM, width=24, layers=2, heads=3, ff_width=96, qkv_bias=False
    )
    theirs, _, _ = gpt_pair(width=24, layers=2, heads=3, tie_head=True)
    ours = GPT(config).eval()
    missing, unexpected = theirs.load_state_dict(to_huggingface(ours.state_dict(), "gpt2"), strict=False)
    assert (missing, unexpected) == (["lm_head.weight"], [])
    ids = torch.stack(rows(6, 6))
    with torch.no_grad():
        torch.testing.assert_close(ours(ids), theirs.eval()(ids).logits, atol=1e-4, rtol=0)
