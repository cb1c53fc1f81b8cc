import random

import pytest
import torch

from evalkit.checkpoints.huggingface import to_ours
from evalkit.requests import Decoding, GenerateRequest, ScoreRequest
from evalkit_models.t5 import T5, T5Config

transformers = pytest.importorskip("transformers")

COUNT = 50
LIMIT = 12
SIGNS = "abcdefghijklmnopqrstuvwxyz ,.ABC0123456789éß渡船"


@pytest.fixture(scope="module", params=["1.0", "1.1"])
def pair(request):
    """The same random model twice: transformers' and ours."""
    is_1_1 = request.param == "1.1"
    torch.manual_seed(5)
    theirs = transformers.T5ForConditionalGeneration(
        transformers.T5Config(
            vocab_size=258,
            d_model=32,
            d_kv=8,
            d_ff=48,
            num_layers=2,
            num_heads=4,
            feed_forward_proj="gated-gelu" if is_1_1 else "relu",
            tie_word_embeddings=not is_1_1,
            decoder_start_token_id=0,
        )
    ).eval()
    with torch.no_grad():
        for name, parameter in theirs.named_parameters():
            parameter.copy_(0.25 * torch.randn(parameter.shape) + (1.0 if "norm" in name else 0.0))
        theirs.shared.weight.mul_(4.0)
        if is_1_1:
            theirs.lm_head.weight[1] *= 3.0  # so that some answers end by themselves
    config = T5Config(
        vocab_size=258,
        max_length=64,
        width=32,
        head_width=8,
        layers=2,
        decoder_layers=2,
        heads=4,
        ff_width=48,
        is_gated=is_1_1,
        tie_head=not is_1_1,
    )
    ours = T5(config)
    ours.load_state_dict(to_ours(theirs.state_dict(), "t5", tie_head=not is_1_1))
    return theirs, ours.eval()


def texts(count=COUNT, longest=12):
    source = random.Random(3)
    return ["".join(source.choices(SIGNS, k=source.randint(1, longest))) for _ in range(count)]


def batch_of(tokenizer, prompts, side):
    """Sources with their end tokens, padded on one side."""
    sources = [[*ids, 1] for ids in tokenizer.ids_of_each(prompts)]
    width = max(map(len, sources))
    rows = [([0] * (width - len(ids)), ids) for ids in sources]
    ids = torch.tensor([gap + row if side == "left" else row + gap for gap, row in rows])
    mask = [([0] * len(gap), [1] * len(row)) for gap, row in rows]
    return ids, torch.tensor([gap + row if side == "left" else row + gap for gap, row in mask])


@pytest.mark.parametrize(
    "decoding",
    [
        Decoding(),
        Decoding(repetition_penalty=1.3),
        Decoding(beams=4, length_penalty=0.0),
        Decoding(beams=2, length_penalty=0.0, repetition_penalty=1.3),
    ],
    ids=["greedy", "greedy penalised", "beams", "beams penalised"],
)
def test_answers_are_those_of_transformers(pair, tokenizer, make_adapter, decoding):
    theirs, ours = pair
    prompts = texts()
    ids, mask = batch_of(tokenizer, prompts, "right")
    found = theirs.generate(
        ids,
        attention_mask=mask,
        max_new_tokens=LIMIT,
        num_beams=decoding.beams,
        do_sample=False,
        **({"length_penalty": 0.0} if decoding.beams > 1 else {}),
        repetition_penalty=decoding.repetition_penalty,
    ).tolist()
    cut = [row[1 : row.index(1)] if 1 in row else row[1:] for row in found]
    asked = [
        GenerateRequest(example_id=str(place), prompt=prompt, max_new_tokens=LIMIT)
        for place, prompt in enumerate(prompts)
    ]
    answers = list(make_adapter(ours, decoding=decoding).answer(asked))
    assert [answer.text for answer in answers] == [tokenizer.decode(row) for row in cut]
    assert len(set(map(tuple, cut))) > COUNT // 3


def test_logprobs_are_those_of_teacher_forcing_in_transformers(pair, tokenizer, make_adapter):
    theirs, ours = pair
    contexts, targets = texts(), texts(2 * COUNT, 6)
    asked = [
        ScoreRequest(example_id=str(place), context=context, continuations=tuple(targets[2 * place : 2 * place + 2]))
        for place, context in enumerate(contexts)
    ]
    found = [answer.logprobs_nats for answer in make_adapter(ours).answer(asked)]
    ids, mask = batch_of(tokenizer, [context.rstrip() for context in contexts], "right")
    for turn in range(2):
        blanks = [context[len(context.rstrip()) :] for context in contexts]
        shown = [blank + text for blank, text in zip(blanks, targets[turn::2], strict=True)]
        rows = [torch.tensor(row) for row in tokenizer.ids_of_each(shown)]
        labels = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=-100)
        with torch.no_grad():
            logits = theirs(input_ids=ids, attention_mask=mask, labels=labels).logits
        losses = torch.nn.functional.cross_entropy(logits.transpose(1, 2), labels, reduction="none").sum(-1)
        assert [-logprobs[turn] for logprobs in found] == pytest.approx(losses.tolist(), rel=1e-5)


@pytest.mark.parametrize("side", ["left", "right"])
def test_packed_sources_have_the_states_of_padded_ones(pair, tokenizer, make_adapter, side):
    _, ours = pair
    prompts = texts(7)
    ids, mask = batch_of(tokenizer, prompts, side)
    steps = make_adapter(ours)._steps
    encode, runs = steps._encode, []
    steps._encode = lambda run: runs.append((run, encode(run))) or runs[-1][1]
    list(make_answers(make_adapter, ours, steps, prompts))
    with torch.no_grad():
        padded = ours.encode(ids, mask)
    run, states = runs[0]
    order = sorted(range(len(prompts)), key=lambda place: -int(mask[place].sum()))
    torch.testing.assert_close(states, padded[order][mask[order].bool()], rtol=1e-4, atol=1e-4)
    assert len(run.ids) == int(mask.sum())


def make_answers(make_adapter, model, steps, prompts):
    adapter = make_adapter(model)
    adapter._steps = adapter._generator._stack = steps
    return adapter.answer(
        [
            GenerateRequest(example_id=str(place), prompt=prompt, max_new_tokens=1)
            for place, prompt in enumerate(prompts)
        ]
    )
