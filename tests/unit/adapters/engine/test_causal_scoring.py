import math
import re

import pytest
import torch

from evalkit.adapters.causal import encode_pairs
from evalkit.adapters.engine import scoring
from evalkit.requests import RollingRequest, ScoreRequest

CASES = [
    ("The ferry left", (" at dawn", " late", " at dusk", "")),
    ("Rain", (" fell",)),
    ("", ("Salt", "Sand")),
    ("渡船", ("在黎明", "在夜里", "x")),
    ("Which? A or B: ", ("A", "B", "A")),
]
TEXTS = [
    "Gulls",
    "",
    "The keeper of the light wrote down each ship that passed, and its cargo.",
    "潮水",
    "o" * 47,
    "o" * 48,
]
TEXTS += ["o" * 49, "ab" * 60]


def requests(cases=CASES):
    return [
        ScoreRequest(example_id=str(place), context=context, continuations=continuations)
        for place, (context, continuations) in enumerate(cases)
    ]


def rolling(texts=TEXTS):
    return [RollingRequest(example_id=str(place), text=text) for place, text in enumerate(texts)]


def logprobs_one_by_one(model, context, target):
    """Log-probabilities of tokens by one whole forward pass a token, and whether each is the best."""
    found = []
    for place, token in enumerate(target):
        with torch.no_grad():
            scores = model(torch.tensor([[*context, *target[:place]]]))[0, -1].double().log_softmax(-1)
        found.append((scores[token].item(), int(scores.argmax()) == token))
    return found


def test_continuations_have_the_logprobs_of_a_loop_over_their_tokens(model, tokenizer, make_adapter):
    for (context, continuations), answer in zip(CASES, make_adapter(model).answer(requests()), strict=True):
        ids = context.rstrip().encode() or bytes([])
        shown = list(ids) or [tokenizer.bos_id]
        moved = context[len(context.rstrip()) :]
        expected = [logprobs_one_by_one(model, shown, list((moved + text).encode())) for text in continuations]
        assert answer.logprobs_nats == pytest.approx([sum(logprob for logprob, _ in one) for one in expected], abs=2e-5)
        assert answer.token_counts == tuple(map(len, expected))
        assert answer.is_greedy == tuple(all(is_best for _, is_best in one) for one in expected)


def test_a_greedy_continuation_is_known_as_such(make_gpt, make_adapter):
    model = make_gpt()
    with torch.no_grad():
        token = int(model(torch.tensor([list(b"Tide")]))[0, -1, :128].argmax())
        model.tokens.weight[128:] = 0.0  # leaves only ASCII among the best
    token = int(model(torch.tensor([list(b"Tide")]))[0, -1].argmax())
    answer = next(make_adapter(model).answer(requests([("Tide", (chr(token), chr(token ^ 1)))])))
    assert answer.is_greedy == (True, False)


@pytest.mark.parametrize("batch_size", [1, 3, 16, None])
def test_logprobs_do_not_depend_on_batch_size_order_or_neighbours(model, make_adapter, batch_size):
    asked = requests()
    alone = [next(make_adapter(model, batch_size=1).answer([one])).logprobs_nats for one in asked]
    for order in (asked, asked[::-1], asked[1::2] + asked[::2]):
        answers = {
            one.example_id: one.logprobs_nats for one in make_adapter(model, batch_size=batch_size).answer(order)
        }
        for one, expected in zip(asked, alone, strict=True):
            assert answers[one.example_id] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("batch_size", [1, 3, 16, None])
def test_rolling_logprobs_do_not_depend_on_batch_size_order_or_neighbours(model, make_adapter, batch_size):
    asked = rolling()
    alone = [next(make_adapter(model, batch_size=1).answer([one])).logprob_nats for one in asked]
    for order in (asked, asked[::-1], asked[1::2] + asked[::2]):
        answers = {one.example_id: one.logprob_nats for one in make_adapter(model, batch_size=batch_size).answer(order)}
        assert [answers[one.example_id] for one in asked] == pytest.approx(alone, abs=3e-5)


def test_any_module_with_hidden_and_head_gives_the_same_logprobs(model, plain, make_adapter):
    for kind in (requests(), rolling()):
        for ours, plainly in zip(
            make_adapter(model).answer(kind), make_adapter(plain(model)).answer(kind), strict=True
        ):
            name = "logprobs_nats" if kind[0].kind == "score" else "logprob_nats"
            assert getattr(ours, name) == pytest.approx(getattr(plainly, name), abs=3e-5)


def test_continuations_share_one_pass_over_their_context(make_gpt, make_adapter):
    adapter = make_adapter(make_gpt())
    read, seen = adapter._stack.read, []
    adapter._stack.read = lambda packed: seen.append(len(packed.ids)) or read(packed)
    list(adapter.answer(requests([("0123456789", ("abc", "de", "f", "de"))])))
    assert seen == [10 + 2 + 1]


def test_the_head_is_applied_to_scored_positions_only(make_gpt, make_adapter):
    adapter = make_adapter(make_gpt())
    logits, seen = adapter._stack.logits, []
    adapter._stack.logits = lambda hidden: seen.append(len(hidden)) or logits(hidden)
    list(adapter.answer(requests([("0123456789", ("abc", "de", "f"))])))
    assert seen == [1 + 2 + 1]


def test_equal_requests_are_asked_once(make_gpt, make_adapter):
    adapter = make_adapter(make_gpt())
    read, seen = adapter._stack.read, []
    adapter._stack.read = lambda packed: seen.append(packed.batch) or read(packed)
    answers = list(adapter.answer([*requests(), *requests()]))
    assert sum(seen) == len(CASES)
    assert [one.logprobs_nats for one in answers[len(CASES) :]] == [one.logprobs_nats for one in answers[: len(CASES)]]


def test_too_many_continuations_for_one_pass_are_shared_out(make_gpt, make_adapter, monkeypatch):
    expected = list(make_adapter(make_gpt()).answer(requests()))
    monkeypatch.setattr(scoring, "_TREE_TOKENS", 1)
    for ours, theirs in zip(make_adapter(make_gpt()).answer(requests()), expected, strict=True):
        assert ours.logprobs_nats == pytest.approx(theirs.logprobs_nats, abs=1e-5)


def test_logits_of_few_rows_at_a_time_give_the_same(make_gpt, make_adapter, monkeypatch):
    expected = list(make_adapter(make_gpt()).answer(requests()))
    for chunk, block in ((600, 300), (1600, 800), (1, 1)):
        monkeypatch.setattr(scoring, "_CHUNK_LOGITS", chunk)
        monkeypatch.setattr(scoring, "_LEAST_ROWS", 1)
        monkeypatch.setattr(scoring, "_BLOCK_LOGITS", block)
        for ours, theirs in zip(make_adapter(make_gpt()).answer(requests()), expected, strict=True):
            assert ours.logprobs_nats == pytest.approx(theirs.logprobs_nats, abs=1e-5)
            assert ours.is_greedy == theirs.is_greedy


@pytest.mark.parametrize("sign", [torch.OutOfMemoryError("out of memory"), RuntimeError("cannot allocate memory")])
def test_scoring_goes_on_with_half_the_batch_after_running_out_of_memory(make_gpt, make_adapter, sign):
    expected = list(make_adapter(make_gpt()).answer(rolling()))
    adapter = make_adapter(make_gpt())
    read = adapter._stack.read

    def limited(packed):
        if packed.batch > 6:
            raise sign
        return read(packed)

    adapter._stack.read = limited
    for ours, theirs in zip(adapter.answer(rolling()), expected, strict=True):
        assert ours.logprob_nats == pytest.approx(theirs.logprob_nats, abs=3e-5)


def test_white_space_before_a_continuation_belongs_to_it(tokenizer):
    assert encode_pairs(tokenizer, [("a  ", "b")]) == [((97,), (32, 32, 98))]


def test_a_continuation_keeps_what_the_joined_text_has_beyond_the_context(make_tokenizer):
    tokenizer = make_tokenizer(pieces=(b" b",))
    assert encode_pairs(tokenizer, [("a", " bc")]) == [((97,), (258, 99))]


def test_a_continuation_that_melts_into_the_context_is_split_alone(make_tokenizer):
    tokenizer = make_tokenizer(pieces=(b"ab",))
    assert encode_pairs(tokenizer, [("a", "b")]) == [((97,), (98,))]


def test_white_space_alone_is_no_context(tokenizer):
    assert encode_pairs(tokenizer, [("  ", "b")]) == [((), (32, 32, 98))]


def test_a_rolling_text_is_scored_as_a_loop_over_its_windows_does(model, tokenizer, make_adapter):
    text = "".join(map(chr, range(40, 110)))
    answer = next(make_adapter(model).answer(rolling([text])))
    ids = list(text.encode())
    first = logprobs_one_by_one(model, [tokenizer.bos_id], ids[:48])
    # The last 22 tokens: their window is moved back until the model is full.
    second = logprobs_one_by_one(model, ids[21:48], ids[48:])
    assert answer.logprob_nats == pytest.approx(sum(logprob for logprob, _ in first + second), abs=1e-4)
    assert answer.token_count == 70


def test_a_text_without_tokens_has_probability_one(make_gpt, make_adapter):
    answer = next(make_adapter(make_gpt()).answer(rolling([""])))
    assert (answer.logprob_nats, answer.token_count) == (0.0, 0)


def test_rolling_needs_a_token_that_stands_before_a_text(make_gpt, make_tokenizer, make_adapter):
    adapter = make_adapter(make_gpt(), make_tokenizer(bos_id=None, eos_id=None))
    with pytest.raises(ValueError, match=re.escape("the tokenizer of 'toy' has neither bos nor eos token")):
        adapter.answer(rolling())


def test_the_eos_token_stands_before_a_text_where_there_is_no_bos(make_gpt, make_tokenizer, make_adapter):
    model = make_gpt()
    answer = next(make_adapter(model, make_tokenizer(bos_id=None)).answer(rolling(["ab"])))
    expected = logprobs_one_by_one(model, [257], list(b"ab"))
    assert answer.logprob_nats == pytest.approx(math.fsum(logprob for logprob, _ in expected), abs=1e-5)
