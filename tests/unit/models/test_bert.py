"""BERT and RoBERTa with all heads: equal to transformers, and what must hold for them."""

import math

import pytest
import torch
import transformers
from torch.nn import functional

from evalkit.checkpoints.huggingface import to_huggingface, to_ours
from evalkit_models.bert import Bert, BertConfig
from evalkit_models.bert_heads import BertForClasses, BertForMaskedLm, BertForSpans, BertForTokenLabels

VOCABULARY, MAXIMUM, LABELS = 31, 12, 5
SHAPES = {"24x2": (24, 2, 3, 48), "32x3": (32, 3, 2, 40)}
LENGTHS = [1, 2, MAXIMUM - 1, MAXIMUM]


def configs(family, shape):
    """The same shape for transformers and for us; the table of positions is longer by the offset in RoBERTa."""
    width, layers, heads, ff_width = SHAPES[shape]
    is_roberta = family == "roberta"
    names = transformers.RobertaConfig if is_roberta else transformers.BertConfig
    theirs = names(
        vocab_size=VOCABULARY,
        max_position_embeddings=MAXIMUM + 2 * is_roberta,
        hidden_size=width,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        intermediate_size=ff_width,
        type_vocab_size=1 if is_roberta else 2,
        layer_norm_eps=1e-5 if is_roberta else 1e-12,
        pad_token_id=1 if is_roberta else 0,
        num_labels=LABELS,
    )
    ours = BertConfig(
        vocab_size=VOCABULARY,
        max_length=MAXIMUM,
        width=width,
        layers=layers,
        heads=heads,
        ff_width=ff_width,
        segments=1 if is_roberta else 2,
        position_offset=2 if is_roberta else 0,
        norm_eps=1e-5 if is_roberta else 1e-12,
    )
    return theirs, ours


HEADS = {
    "trunk": (("BertModel", "RobertaModel"), lambda config: Bert(config, has_pooler=True)),
    "masked_lm": (("BertForMaskedLM", "RobertaForMaskedLM"), BertForMaskedLm),
    "labels": (
        ("BertForTokenClassification", "RobertaForTokenClassification"),
        lambda config: BertForTokenLabels(config, LABELS),
    ),
    "spans": (("BertForQuestionAnswering", "RobertaForQuestionAnswering"), BertForSpans),
    "classes": (
        ("BertForSequenceClassification", "RobertaForSequenceClassification"),
        lambda config: BertForClasses(config, LABELS),
    ),
    "pretraining": (("BertForPreTraining", None), lambda config: BertForMaskedLm(config, has_next_sentence=True)),
}


def pair(family, head, shape, randomise):
    """The same random weights in transformers' model and in ours."""
    theirs_config, ours_config = configs(family, shape)
    if head == "spans":
        theirs_config.num_labels = 2
    names, build = HEADS[head]
    named = getattr(transformers, names[family == "roberta"])
    theirs = randomise(named._from_config(theirs_config, attn_implementation="eager"))
    ours = build(ours_config)
    ours.load_state_dict(to_ours(theirs.state_dict(), family))
    return theirs, ours.eval()


CASES = [
    (family, head, shape)
    for family in ("bert", "roberta")
    for head in HEADS
    for shape in SHAPES
    if HEADS[head][0][family == "roberta"]
]


def segments_of(family, ids, mask):
    """Segment 0 for the first half of each row's tokens and 1 for the second; None where there are no segments."""
    if family == "roberta":
        return None
    return ((mask.cumsum(-1) - 1) * 2 >= mask.sum(-1, keepdim=True)).long() * mask


def outputs(ours, ids, mask, segments):
    """Everything that one of our models says of each row: values a token, or one value a row."""
    if isinstance(ours, Bert):
        hidden = ours(ids, mask, segments)
        return {"last_hidden_state": hidden, "pooler_output": ours.pool(hidden, mask)}
    if isinstance(ours, BertForSpans):
        return dict(zip(("start_logits", "end_logits"), ours(ids, mask, segments), strict=True))
    if isinstance(ours, BertForMaskedLm) and ours.next_sentence is not None:
        return {
            "prediction_logits": ours(ids, mask, segments),
            "seq_relationship_logits": ours.next_sentence_logits(ids, mask, segments),
        }
    return {"logits": ours(ids, mask, segments)}


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize(("family", "head", "shape"), CASES)
@torch.no_grad()
def test_outputs_equal_those_of_transformers_without_padding(family, head, shape, side, randomise, rows, pad):
    theirs, ours = pair(family, head, shape, randomise)
    for length in LENGTHS:
        batch = rows(length, 5, 3)
        ids, mask = pad(batch, side)
        segments = segments_of(family, ids, mask)
        ours_by_name = outputs(ours, ids, mask, segments)
        for index, row in enumerate(batch):
            real = mask[index].bool()
            segment = {} if segments is None else {"token_type_ids": segments[index][real][None]}
            expected = theirs(row[None], **segment)
            for name, value in ours_by_name.items():
                is_a_row = name in ("pooler_output", "seq_relationship_logits") or head == "classes"
                got = value[index] if is_a_row else value[index][real]
                torch.testing.assert_close(got, expected[name][0], atol=1e-4, rtol=0)


@pytest.mark.parametrize(("family", "head", "shape"), CASES)
def test_weights_survive_the_way_to_transformers_and_back(family, head, shape, randomise):
    theirs, ours = pair(family, head, shape, randomise)
    weights, state = to_huggingface(ours.state_dict(), family), theirs.state_dict()
    tied = {name for name in state if name.endswith(("decoder.weight", "decoder.bias"))}
    assert set(state) - set(weights) == tied
    for name, tensor in weights.items():
        assert torch.equal(tensor, state[name]), name
    again = to_ours(weights, family)
    assert set(again) == set(ours.state_dict())


@pytest.mark.parametrize("family", ["bert", "roberta"])
@torch.no_grad()
def test_losses_of_tokens_and_classes_equal_those_of_transformers(family, randomise, rows, pad):
    ids, mask = pad(rows(9, 6, 4), "right")
    generator = torch.Generator().manual_seed(3)
    theirs, ours = pair(family, "masked_lm", "24x2", randomise)
    labels = ids.masked_fill((torch.rand(ids.shape, generator=generator) < 0.6) | (mask == 0), -100)
    loss = functional.cross_entropy(ours(ids, mask).flatten(0, 1), labels.flatten())
    assert loss.item() == pytest.approx(theirs(ids, attention_mask=mask, labels=labels).loss.item(), abs=1e-5)

    theirs, ours = pair(family, "labels", "24x2", randomise)
    labels = torch.randint(0, LABELS, ids.shape, generator=generator).masked_fill(mask == 0, -100)
    loss = functional.cross_entropy(ours(ids, mask).flatten(0, 1), labels.flatten())
    assert loss.item() == pytest.approx(theirs(ids, attention_mask=mask, labels=labels).loss.item(), abs=1e-5)

    theirs, ours = pair(family, "classes", "24x2", randomise)
    classes = torch.tensor([3, 0, 2])
    loss = functional.cross_entropy(ours(ids, mask), classes)
    assert loss.item() == pytest.approx(theirs(ids, attention_mask=mask, labels=classes).loss.item(), abs=1e-5)


@pytest.mark.parametrize("side", ["left", "right"])
@torch.no_grad()
def test_span_loss_equals_that_of_transformers_and_padding_takes_no_part_in_it(side, randomise, rows, pad):
    theirs, ours = pair("bert", "spans", "24x2", randomise)
    (row,) = rows(6)
    first, last = torch.tensor([1]), torch.tensor([4])
    ids, mask = pad([row], side, width=9)
    shift = 3 if side == "left" else 0
    start, end = ours(ids, mask)
    loss = (functional.cross_entropy(start, first + shift) + functional.cross_entropy(end, last + shift)) / 2
    expected = theirs(row[None], start_positions=first, end_positions=last).loss
    assert loss.item() == pytest.approx(expected.item(), abs=1e-5)


@pytest.fixture(scope="module", params=["bert", "roberta"])
def model(request, randomise):
    return pair(request.param, "masked_lm", "24x2", randomise)[1]


@torch.no_grad()
def test_every_position_sees_both_sides(model, rows):
    ids = torch.stack(rows(7))
    for changed in range(7):
        other = ids.clone()
        other[0, changed] = (ids[0, changed] + 1) % VOCABULARY
        change = (model(other) - model(ids)).abs().amax(dim=-1)[0]
        assert (change > 1e-3).all()


@torch.no_grad()
def test_order_of_tokens_changes_their_hidden_states(model):
    one, two = model.bert(torch.tensor([[3, 4, 5]])), model.bert(torch.tensor([[5, 4, 3]]))
    assert not torch.allclose(one[:, 1], two[:, 1], atol=1e-3)


@torch.no_grad()
def test_segments_change_hidden_states_and_none_is_the_first(randomise, rows):
    _, ours = pair("bert", "trunk", "24x2", randomise)
    ids = torch.stack(rows(6))
    assert torch.equal(ours(ids), ours(ids, segments=torch.zeros_like(ids)))
    assert not torch.allclose(ours(ids), ours(ids, segments=torch.ones_like(ids)), atol=1e-3)


@pytest.mark.parametrize("side", ["left", "right"])
@torch.no_grad()
def test_padding_changes_no_logit(model, rows, pad, side):
    batch = rows(4, 1, 7)
    ids, mask = pad(batch, side, width=MAXIMUM)
    logits = model(ids, mask)
    assert torch.isfinite(logits).all()
    for index, row in enumerate(batch):
        torch.testing.assert_close(logits[index][mask[index].bool()], model(row[None])[0], atol=1e-5, rtol=0)
    other = ids.where(mask.bool(), torch.tensor(17))
    assert torch.equal(model(other, mask)[mask.bool()], logits[mask.bool()])


@torch.no_grad()
def test_order_of_the_batch_changes_no_row(model, rows, pad):
    ids, mask = pad(rows(4, 9, 7), "left")
    order = torch.tensor([2, 0, 1])
    torch.testing.assert_close(model(ids[order], mask[order]), model(ids, mask)[order], atol=1e-5, rtol=0)


@torch.no_grad()
def test_row_of_padding_alone_is_finite_and_changes_no_other(model):
    ids = torch.full((2, 5), 3)
    mask = torch.tensor([[0, 0, 0, 0, 0], [0, 0, 1, 1, 1]])
    logits = model(ids, mask)
    assert torch.isfinite(logits).all()
    torch.testing.assert_close(logits[1, 2:], model(ids[1:, 2:])[0], atol=1e-5, rtol=0)


@torch.no_grad()
def test_head_on_chosen_positions_equals_those_logits(model, rows):
    ids = torch.stack(rows(6, 6))
    torch.testing.assert_close(model.head(model.bert(ids)[:, [2, 5]]), model(ids)[:, [2, 5]], atol=1e-6, rtol=0)


@pytest.mark.parametrize("length", [0, MAXIMUM + 1])
def test_length_outside_of_the_limits_is_an_error_with_both_numbers(model, length):
    with pytest.raises(ValueError, match=rf"found {length} tokens, expected 1 to {MAXIMUM}"):
        model(torch.zeros(1, length, dtype=torch.long))


def test_masked_lm_predicts_by_the_token_embedding_itself(model):
    assert not any(name.startswith("masked_lm.out") or "decoder" in name for name in model.state_dict())
    hidden = torch.ones(1, model.config.width)
    before = model.head(hidden)
    table = model.bert.tokens.weight
    with torch.no_grad():
        table += 1.0
        after = model.head(hidden)
        table -= 1.0
    change = after - before
    assert change.abs().min() > 1e-2
    torch.testing.assert_close(change, change[:, :1].expand_as(change), atol=1e-4, rtol=0)


def test_asking_for_what_was_not_built_is_an_error(model, rows):
    ids = torch.stack(rows(4))
    with pytest.raises(ValueError, match="has_next_sentence=True"):
        model.next_sentence_logits(ids)
    with pytest.raises(ValueError, match="has_pooler=True"):
        model.bert.pool(model.bert(ids))


def test_every_parameter_gets_a_gradient(rows):
    ids = torch.stack(rows(6, 6))
    model = BertForMaskedLm(configs("bert", "24x2")[1], has_next_sentence=True)
    (model(ids).logsumexp(-1).sum() + model.next_sentence_logits(ids).logsumexp(-1).sum()).backward()
    assert [name for name, parameter in model.named_parameters() if parameter.grad is None] == []


def test_dropout_acts_in_training_only(rows):
    from dataclasses import replace

    ids = torch.stack(rows(6, 6))
    wet = BertForTokenLabels(replace(configs("bert", "24x2")[1], dropout=0.5), LABELS)
    with torch.no_grad(), torch.random.fork_rng():
        assert torch.equal(wet.eval()(ids), wet(ids))
        assert not torch.allclose(wet.train()(ids), wet(ids))


def test_initialisation_is_the_stated_one():
    config = BertConfig(vocab_size=500, max_length=64, width=128, layers=2, heads=2, ff_width=512)
    model = BertForMaskedLm(config, has_next_sentence=True)
    model.initialise(torch.Generator().manual_seed(1))
    for name, parameter in model.named_parameters():
        if parameter.dim() == 1:
            assert torch.equal(parameter, torch.full_like(parameter, float("norm" in name and "weight" in name))), name
        else:
            # The spread of a sample's standard deviation is std / sqrt(2n).
            assert abs(parameter.std().item() - 0.02) < 5 * 0.02 / math.sqrt(2 * parameter.numel()), name


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"heads": 5}, "width 24 is not divisible by heads 5"),
        ({"segments": 0}, "segments is 0, expected at least 1"),
        ({"position_offset": -1}, "position_offset is -1, expected 0 or more"),
        ({"dropout": -0.1}, "dropout is -0.1, expected a probability"),
    ],
)
def test_impossible_bert_is_refused(change, problem):
    shape = {"vocab_size": 9, "max_length": 4, "width": 24, "layers": 1, "heads": 2, "ff_width": 8}
    with pytest.raises(ValueError, match=problem):
        BertConfig(**{**shape, **change})
