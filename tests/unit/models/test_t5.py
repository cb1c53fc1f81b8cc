"""T5 in both versions: equal to transformers, and what must hold for it."""

from dataclasses import replace

import pytest
import torch
import transformers
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from transformers.models.t5.modeling_t5 import T5Attention as TheirAttention

from evalkit.checkpoints.huggingface import to_huggingface, to_ours
from evalkit_models.t5 import T5, T5Config, shift_right
from evalkit_models.t5_attention import T5Attention, relative_buckets

VOCABULARY, MAXIMUM = 31, 40
"""Lengths reach beyond the distance (16 of the tests' 32) from which one bucket holds all."""

SHAPES = {"24x2": (24, 8, 2, 3, 48), "32x3": (32, 12, 3, 2, 40)}
"""Width, head width, layers, heads, feed-forward width; heads times head width differs from the width in one."""

CASES = [(version, shape) for version in ("1.0", "1.1") for shape in SHAPES]


def build(version, shape, randomise, max_distance=16):
    """The same random weights in transformers' model and in ours."""
    width, head_width, layers, heads, ff_width = SHAPES[shape]
    is_1_1 = version == "1.1"
    config = transformers.T5Config(
        vocab_size=VOCABULARY,
        d_model=width,
        d_kv=head_width,
        d_ff=ff_width,
        num_layers=layers,
        num_decoder_layers=layers + 1,
        num_heads=heads,
        relative_attention_num_buckets=16,
        relative_attention_max_distance=max_distance,
        feed_forward_proj="gated-gelu" if is_1_1 else "relu",
        tie_word_embeddings=not is_1_1,
        decoder_start_token_id=0,
    )
    theirs = transformers.T5ForConditionalGeneration._from_config(config, attn_implementation="eager")
    if is_1_1:
        # transformers 5 ties the two tables at first, and unties them on loading a file that has both.
        theirs.lm_head.weight = torch.nn.Parameter(torch.empty(VOCABULARY, width))
    randomise(theirs)
    ours = T5(
        T5Config(
            vocab_size=VOCABULARY,
            max_length=MAXIMUM,
            width=width,
            head_width=head_width,
            layers=layers,
            decoder_layers=layers + 1,
            heads=heads,
            ff_width=ff_width,
            buckets=16,
            max_distance=max_distance,
            is_gated=is_1_1,
            tie_head=not is_1_1,
        )
    )
    ours.load_state_dict(to_ours(theirs.state_dict(), "t5", tie_head=not is_1_1))
    return theirs, ours.eval()


@pytest.fixture(scope="module", params=CASES, ids=lambda case: "-".join(case))
def pair(request, randomise):
    return build(*request.param, randomise)


@pytest.fixture
def model(pair):
    return pair[1]


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("length", [1, 2, MAXIMUM - 1, MAXIMUM])
@torch.no_grad()
def test_logits_equal_those_of_transformers_without_padding(pair, rows, pad, length, side):
    theirs, ours = pair
    sources, targets = rows(length, 5, 21), rows(23, length, 4, seed=1)
    ids, mask = pad(sources, side)
    decoder_ids, decoder_mask = pad(targets, side)
    logits = ours.decode(decoder_ids, ours.encode(ids, mask), mask, decoder_mask)
    for index, (source, target) in enumerate(zip(sources, targets, strict=True)):
        expected = theirs(source[None], decoder_input_ids=target[None]).logits[0]
        torch.testing.assert_close(logits[index][decoder_mask[index].bool()], expected, atol=1e-4, rtol=0)
        torch.testing.assert_close(ours(source[None], None, target[None])[0], expected, atol=1e-4, rtol=0)


@torch.no_grad()
def test_encoded_source_equals_that_of_transformers(pair, rows, pad):
    theirs, ours = pair
    sources = rows(MAXIMUM, 7)
    ids, mask = pad(sources, "left")
    encoded = ours.encode(ids, mask)
    for index, source in enumerate(sources):
        expected = theirs.get_encoder()(source[None]).last_hidden_state[0]
        torch.testing.assert_close(encoded[index][mask[index].bool()], expected, atol=1e-4, rtol=0)


@torch.no_grad()
def test_teacher_forced_loss_equals_that_of_transformers(pair, rows, pad):
    theirs, ours = pair
    ids, mask = pad(rows(9, 6, 13), "right")
    labels, label_mask = pad(rows(5, 11, 3, seed=2), "right")
    labels = labels.masked_fill(label_mask == 0, -100)
    logits = ours(ids, mask, shift_right(labels, 0))
    loss = functional.cross_entropy(logits.flatten(0, 1), labels.flatten())
    assert loss.item() == pytest.approx(theirs(ids, attention_mask=mask, labels=labels).loss.item(), abs=1e-5)


def test_shift_right_starts_every_target_and_drops_its_last_token():
    labels = torch.tensor([[5, 6, 7], [8, 1, -100]])
    assert shift_right(labels, 0).tolist() == [[0, 5, 6], [0, 8, 1]]
    assert labels.tolist() == [[5, 6, 7], [8, 1, -100]]
    assert shift_right(torch.tensor([[4, -100, -100]]), 0).tolist() == [[0, 4, 0]]


@pytest.mark.parametrize(("buckets", "max_distance"), [(32, 128), (16, 16), (32, 512), (8, 20)])
@pytest.mark.parametrize("is_bidirectional", [True, False])
def test_buckets_equal_those_of_transformers_at_every_distance(buckets, max_distance, is_bidirectional):
    relative = torch.arange(-700, 701)
    expected = TheirAttention._relative_position_bucket(relative, is_bidirectional, buckets, max_distance)
    got = relative_buckets(relative, is_bidirectional=is_bidirectional, buckets=buckets, max_distance=max_distance)
    assert torch.equal(got, expected)


def test_buckets_hold_one_distance_each_at_first_and_the_last_all_beyond_the_maximum():
    behind = relative_buckets(-torch.arange(200), is_bidirectional=False, buckets=32, max_distance=128)
    assert behind[:17].tolist() == list(range(17))
    assert (behind[128:] == 31).all()
    assert (behind[:100] < 31).all()
    ahead = relative_buckets(torch.arange(1, 9), is_bidirectional=False, buckets=32, max_distance=128)
    assert (ahead == 0).all()


def test_weights_survive_the_way_to_transformers_and_back(pair):
    theirs, ours = pair
    weights, state = to_huggingface(ours.state_dict(), "t5"), theirs.state_dict()
    aliases = {"encoder.embed_tokens.weight", "decoder.embed_tokens.weight"}
    assert set(state) - set(weights) == aliases | ({"lm_head.weight"} if ours.config.tie_head else set())
    for name, tensor in weights.items():
        assert torch.equal(tensor, state[name]), name
    again = to_ours(weights, "t5", tie_head=ours.config.tie_head)
    assert all(torch.equal(again[name], tensor) for name, tensor in ours.state_dict().items())


@torch.no_grad()
def test_later_target_tokens_do_not_change_earlier_logits(model, rows):
    (source,), (target,) = rows(8), rows(9, seed=1)
    changed = target.clone()
    changed[6:] = (target[6:] + 1) % VOCABULARY
    before, after = model(source[None], None, target[None]), model(source[None], None, changed[None])
    assert torch.equal(before[:, :6], after[:, :6])
    assert not torch.allclose(before[:, 6:], after[:, 6:], atol=1e-3)


@torch.no_grad()
def test_every_source_token_changes_every_logit(model, rows):
    (source,), (target,) = rows(6), rows(5, seed=1)
    before = model(source[None], None, target[None])
    for changed in range(6):
        other = source.clone()
        other[changed] = (source[changed] + 1) % VOCABULARY
        change = (model(other[None], None, target[None]) - before).abs().amax(dim=-1)[0]
        assert (change > 1e-4).all()


@torch.no_grad()
def test_order_of_source_tokens_changes_what_is_encoded(model):
    one, two = model.encode(torch.tensor([[3, 4, 5]])), model.encode(torch.tensor([[5, 4, 3]]))
    assert not torch.allclose(one[:, 1], two[:, 1], atol=1e-3)


@pytest.mark.parametrize("side", ["left", "right"])
@torch.no_grad()
def test_padding_changes_no_logit(model, rows, pad, side):
    sources, targets = rows(4, 1, 7), rows(3, 6, 1, seed=1)
    ids, mask = pad(sources, side, width=MAXIMUM)
    decoder_ids, decoder_mask = pad(targets, side, width=11)
    logits = model.decode(decoder_ids, model.encode(ids, mask), mask, decoder_mask)
    assert torch.isfinite(logits).all()
    for index, (source, target) in enumerate(zip(sources, targets, strict=True)):
        expected = model(source[None], None, target[None])[0]
        torch.testing.assert_close(logits[index][decoder_mask[index].bool()], expected, atol=1e-5, rtol=0)


@torch.no_grad()
def test_what_stands_in_the_padding_changes_no_logit(model, rows, pad):
    ids, mask = pad(rows(4, 7), "left", width=9)
    decoder_ids, decoder_mask = pad(rows(3, 5, seed=1), "left", width=8)
    real = decoder_mask.bool()
    one = model.decode(decoder_ids, model.encode(ids, mask), mask, decoder_mask)[real]
    ids, decoder_ids = ids.where(mask.bool(), torch.tensor(17)), decoder_ids.where(real, torch.tensor(17))
    assert torch.equal(model.decode(decoder_ids, model.encode(ids, mask), mask, decoder_mask)[real], one)


@torch.no_grad()
def test_order_of_the_batch_changes_no_row(model, rows, pad):
    ids, mask = pad(rows(4, 9, 7), "left")
    decoder_ids = torch.stack(rows(5, 5, 5, seed=1))
    order = torch.tensor([2, 0, 1])
    shuffled = model(ids[order], mask[order], decoder_ids[order])
    torch.testing.assert_close(shuffled, model(ids, mask, decoder_ids)[order], atol=1e-5, rtol=0)


@torch.no_grad()
def test_source_of_padding_alone_is_finite(model):
    ids, mask = torch.full((2, 5), 3), torch.tensor([[0, 0, 0, 0, 0], [0, 0, 1, 1, 1]])
    assert torch.isfinite(model(ids, mask, torch.full((2, 3), 4))).all()


@torch.no_grad()
def test_head_on_chosen_positions_equals_those_logits(model, rows):
    (source,), (target,) = rows(6), rows(5, seed=1)
    hidden = model.hidden(target[None], model.encode(source[None]))
    expected = model(source[None], None, target[None])[:, [1, 4]]
    torch.testing.assert_close(model.head(hidden[:, [1, 4]]), expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize("length", [0, MAXIMUM + 1])
def test_length_outside_of_the_limits_is_an_error_with_both_numbers(model, length):
    bad, good = torch.zeros(1, length, dtype=torch.long), torch.zeros(1, 3, dtype=torch.long)
    with pytest.raises(ValueError, match=rf"found {length} tokens, expected 1 to {MAXIMUM}"):
        model(bad, None, good)
    with pytest.raises(ValueError, match=rf"found {length} tokens, expected 1 to {MAXIMUM}"):
        model(good, None, bad)


def test_tied_head_is_the_token_embedding_itself(model):
    assert ("output.weight" in model.state_dict()) != model.config.tie_head
    hidden = torch.ones(1, model.config.width)
    before = model.head(hidden)
    table = model.tokens.weight if model.config.tie_head else model.output.weight
    scale = model.config.width**-0.5 if model.config.tie_head else 1.0
    with torch.no_grad():
        table += 1.0
        after = model.head(hidden)
        table -= 1.0
    torch.testing.assert_close(after - before, torch.full_like(before, model.config.width * scale))


def test_every_parameter_gets_a_gradient(model, rows):
    (source,), (target,) = rows(6), rows(5, seed=1)
    model.zero_grad()
    model(source[None], None, target[None]).logsumexp(-1).sum().backward()
    assert [name for name, parameter in model.named_parameters() if parameter.grad is None] == []
    model.zero_grad()


def test_dropout_acts_in_training_only(model, rows):
    (source,), (target,) = rows(6), rows(5, seed=1)
    wet = T5(replace(model.config, dropout=0.5))
    with torch.no_grad(), torch.random.fork_rng():
        asked = (source[None], None, target[None])
        assert torch.equal(wet.eval()(*asked), wet(*asked))
        assert not torch.allclose(wet.train()(*asked), wet(*asked))


def test_initialisation_is_the_stated_one():
    width, head_width, heads, ff_width = 64, 16, 8, 256
    model = T5(
        T5Config(
            vocab_size=500,
            max_length=8,
            width=width,
            head_width=head_width,
            layers=1,
            decoder_layers=1,
            heads=heads,
            ff_width=ff_width,
            is_gated=True,
            tie_head=False,
        )
    )
    model.initialise(torch.Generator().manual_seed(1))
    inner, block = heads * head_width, model.decoder.blocks[0]
    for tensor, std in [
        (model.tokens.weight, 1.0),
        (model.output.weight, width**-0.5),
        (model.decoder.relative.table.weight, width**-0.5),
        (block.attention.qkv.weight[:inner], (width * head_width) ** -0.5),
        (block.attention.qkv.weight[inner:], width**-0.5),
        (block.attention.out.weight, inner**-0.5),
        (block.cross.q.weight, (width * head_width) ** -0.5),
        (block.cross.kv.weight, width**-0.5),
        (block.cross.out.weight, inner**-0.5),
        (block.mlp.gate.weight, width**-0.5),
        (block.mlp.up.weight, width**-0.5),
        (block.mlp.down.weight, ff_width**-0.5),
    ]:
        # The spread of a sample's standard deviation is std / sqrt(2n).
        assert abs(tensor.std().item() - std) < 5 * std / (2 * tensor.numel()) ** 0.5
    assert torch.equal(block.norm_cross.weight, torch.ones(width))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"heads": 0}, "heads is 0, expected at least 1"),
        ({"decoder_layers": 0}, "decoder_layers is 0, expected at least 1"),
        ({"buckets": 6}, "buckets is 6, expected a multiple of 4"),
        ({"max_distance": 16}, "max_distance is 16, expected more than half of the 32 buckets"),
        ({"dropout": 2.0}, "dropout is 2.0, expected a probability"),
        ({"start_id": 9}, "start_id is 9, expected one of the 9 token ids"),
    ],
)
def test_impossible_t5_is_refused(change, problem):
    shape = {"vocab_size": 9, "max_length": 4, "width": 8, "head_width": 4, "layers": 1, "decoder_layers": 1}
    with pytest.raises(ValueError, match=problem):
        T5Config(**{**shape, "heads": 2, "ff_width": 8, **change})


@pytest.mark.parametrize("dropout", [0.0, 0.4])
@pytest.mark.parametrize("has_padding", [False, True])
def test_attention_under_a_learned_bias_is_that_of_torch_to_the_bit(dropout: float, has_padding: bool):
    torch.manual_seed(0)
    attention = T5Attention(32, heads=4, head_width=8, dropout=dropout).train()
    table = torch.randn(1, 4, 11, 11)
    hidden = torch.zeros(3, 1, 1, 11, dtype=torch.bool)
    hidden[1, ..., 6:] = has_padding
    results = []
    for is_learned in (True, False):
        x, bias = torch.randn(3, 11, 32, generator=torch.Generator().manual_seed(1)), table.clone()
        x.requires_grad_(True)
        bias.requires_grad_(True)
        masked = bias.masked_fill(hidden, float("-inf"))
        torch.manual_seed(2)
        if is_learned:
            mixed = attention(x, masked)
        else:
            q, k, v = (part.view(3, 11, 4, 8).transpose(1, 2) for part in attention.qkv(x).chunk(3, dim=-1))
            with sdpa_kernel(SDPBackend.MATH):
                heads = functional.scaled_dot_product_attention(q, k, v, masked, dropout, scale=1.0)
            mixed = attention.out(heads.transpose(1, 2).flatten(2))
        mixed.square().sum().backward()
        results.append((mixed.detach(), x.grad, bias.grad))
    for ours, theirs in zip(*results, strict=True):
        assert torch.equal(ours, theirs)
