import copy

import pytest
import torch

from evalkit.adapters.engine import scoring
from evalkit.requests import ScoreRequest

CASES = [
    ("The ferry left", (" at dawn", " late", " at dusk", "")),
    ("Rain", (" fell",)),
    ("", ("Salt", "Sand")),
    ("渡船", ("在黎明", "在夜里", "x")),
    ("Which? A or B: ", ("A", "B", "A")),
    ("o" * 47, ("p" * 48, "q", "no")),
]


def requests(cases=CASES):
    return [
        ScoreRequest(example_id=str(place), context=context, continuations=continuations)
        for place, (context, continuations) in enumerate(cases)
    ]


def logprobs_one_by_one(model, source, target):
    """Log-probabilities of tokens by one forward pass a token, and whether each is the best."""
    found = []
    for place, token in enumerate(target):
        with torch.no_grad():
            scores = model(torch.tensor([source]), None, torch.tensor([[0, *target[:place]]]))[0, -1]
        found.append((scores.double().log_softmax(-1)[token].item(), int(scores.argmax()) == token))
    return found


def test_continuations_have_the_logprobs_of_a_loop_over_their_tokens(model, tokenizer, make_adapter):
    for (context, continuations), answer in zip(CASES, make_adapter(model).answer(requests()), strict=True):
        source = [*tokenizer.ids_of_each([context.rstrip()])[0], 1]
        blank = context[len(context.rstrip()) :]
        expected = [
            logprobs_one_by_one(model, source, tokenizer.ids_of_each([blank + text])[0]) for text in continuations
        ]
        sums = [sum(logprob for logprob, _ in one) for one in expected]
        assert answer.logprobs_nats == pytest.approx(sums, rel=1e-6, abs=2e-5)
        assert answer.token_counts == tuple(map(len, expected))
        assert answer.is_greedy == tuple(all(is_best for _, is_best in one) for one in expected)
        assert not answer.truncated


def test_a_greedy_continuation_is_known_as_such(make_t5, make_adapter, tokenizer):
    model = make_t5()
    with torch.no_grad():
        model.tokens.weight[130:] = 0.0  # leaves only ASCII among the best
        token = int(model(torch.tensor([[*tokenizer.ids_of_each(["Tide"])[0], 1]]), None, torch.tensor([[0]])).argmax())
    best = tokenizer.decode([token])
    answer = next(make_adapter(model).answer(requests([("Tide", (best, chr(ord(best) ^ 1)))])))
    assert answer.is_greedy == (True, False)


@pytest.mark.parametrize("batch_size", [1, 3, 16, None])
def test_logprobs_do_not_depend_on_batch_size_order_or_neighbours(model, make_adapter, batch_size):
    asked = requests(CASES[:-1])
    alone = [next(make_adapter(model, batch_size=1).answer([one])).logprobs_nats for one in asked]
    for order in (asked, asked[::-1], asked[1::2] + asked[::2]):
        answers = {
            one.example_id: one.logprobs_nats for one in make_adapter(model, batch_size=batch_size).answer(order)
        }
        for one, expected in zip(asked, alone, strict=True):
            assert answers[one.example_id] == pytest.approx(expected, abs=1e-5)


def test_a_context_is_encoded_once_for_all_requests_that_share_it(make_t5, make_adapter):
    adapter = make_adapter(make_t5())
    encode, sources = adapter._steps._encode, []
    adapter._steps._encode = lambda run: sources.extend(run.lengths) or encode(run)
    cases = [("Tide", (" low", " high")), ("Pier", ("s",)), ("Tide", (" low", " neap")), ("Tide", (" low",))]
    found = list(adapter.answer(requests(cases)))
    assert sources == [5, 5]
    alone = [next(make_adapter(make_t5()).answer(requests([case]))) for case in cases]
    for one, other in zip(found, alone, strict=True):
        assert one.logprobs_nats == pytest.approx(other.logprobs_nats, abs=1e-5)


def test_many_continuations_are_shared_out_over_passes(make_t5, make_adapter, monkeypatch):
    cases = [("Tide", tuple(f"{number} fathoms" for number in range(9)))]
    expected = next(make_adapter(make_t5()).answer(requests(cases)))
    monkeypatch.setattr(scoring, "_TREE_TOKENS", 30)
    found = next(make_adapter(make_t5()).answer(requests(cases)))
    assert found.logprobs_nats == pytest.approx(expected.logprobs_nats, abs=1e-5)


def test_a_request_without_anything_to_score_is_answered(make_t5, make_adapter):
    nothing, empty = make_adapter(make_t5()).answer(requests([("Tide", ()), ("Tide", ("",))]))
    assert (nothing.logprobs_nats, nothing.error) == ((), None)
    assert (empty.logprobs_nats, empty.token_counts, empty.is_greedy) == ((0.0,), (0,), (True,))


def test_a_context_that_is_too_long_is_an_error_cut_or_skipped(make_t5, make_adapter):
    long = requests([("o" * 60, ("p", "q"))])
    with pytest.raises(ValueError, match="example '0': the model cannot take a context of 61 tokens"):
        make_adapter(make_t5()).answer(long)
    cut = next(make_adapter(make_t5(), on_overflow="truncate").answer(long))
    whole = next(make_adapter(make_t5()).answer(requests([("o" * 47, ("p", "q"))])))
    assert (cut.logprobs_nats, cut.truncated) == (whole.logprobs_nats, True)
    skipped = next(make_adapter(make_t5(), on_overflow="skip").answer(long))
    assert skipped.logprobs_nats == ()
    assert skipped.error == "the model cannot take a context of 61 tokens, its longest source has 48"


def test_a_continuation_that_is_too_long_is_never_cut(make_t5, make_adapter):
    long = requests([("Tide", ("p", "q" * 49)), ("Pier", ("s",))])
    for policy in ("error", "truncate"):
        with pytest.raises(ValueError, match=r"cannot score 49 tokens, .* has 48; use --on-overflow skip"):
            make_adapter(make_t5(), on_overflow=policy).answer(long)
    skipped, other = make_adapter(make_t5(), on_overflow="skip").answer(long)
    assert skipped.error == "the model cannot score 49 tokens, its longest target has 48"
    assert len(other.logprobs_nats) == 1


def test_scoring_goes_on_with_smaller_batches_after_running_out_of_memory(make_t5, make_adapter):
    expected = [answer.logprobs_nats for answer in make_adapter(make_t5()).answer(requests())]
    adapter = make_adapter(make_t5())
    read = adapter._steps.read

    def limited(packed, cache=None):
        if packed.batch > 2:
            raise torch.OutOfMemoryError("out of memory")
        return read(packed, cache)

    adapter._steps.read = limited
    for found, logprobs in zip(adapter.answer(requests()), expected, strict=True):
        assert found.logprobs_nats == pytest.approx(logprobs, abs=1e-4)


def test_half_precision_gives_nearly_the_same_logprobs(model, make_adapter):
    expected = [answer.logprobs_nats for answer in make_adapter(model).answer(requests())]
    halved = copy.deepcopy(model).to(torch.bfloat16)
    for found, logprobs in zip(make_adapter(halved).answer(requests()), expected, strict=True):
        assert found.logprobs_nats == pytest.approx(logprobs, rel=0.1, abs=1.0)
