import pytest

from evalkit.adapters.engine.overflow import check_policy, fit_left
from evalkit.requests import GenerateRequest, LabelRequest, RollingRequest, ScoreRequest

LONG = "0123456789" * 5  # the models of these tests take 48 tokens
CASES = {
    "generate": GenerateRequest(example_id="g", prompt=LONG, max_new_tokens=4),
    "score": ScoreRequest(example_id="s", context=LONG, continuations=("ab", "abcdefgh")),
}


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("policy", ["error", "window"])
def test_what_does_not_fit_is_an_error_before_any_work(make_gpt, make_adapter, kind, policy):
    adapter = make_adapter(make_gpt(), on_overflow=policy)
    with pytest.raises(
        ValueError, match=r"the model cannot take a .* of 50 tokens .*; use --on-overflow truncate or skip"
    ):
        adapter.answer([CASES[kind]])


def test_a_prompt_is_cut_on_the_left_and_marked(make_gpt, make_adapter, make_tokenizer):
    tokenizer = make_tokenizer(eos_id=None)
    cut = next(make_adapter(make_gpt(), tokenizer, on_overflow="truncate").answer([CASES["generate"]]))
    short = GenerateRequest(example_id="g", prompt=LONG[-45:], max_new_tokens=4)
    expected = next(make_adapter(make_gpt(), tokenizer).answer([short]))
    assert cut == expected
    assert cut.truncated


def test_a_cut_prompt_is_marked_though_its_answer_is_complete(make_gpt, make_adapter):
    model = make_gpt()
    short = GenerateRequest(example_id="g", prompt=LONG[-45:], max_new_tokens=4)
    first = next(make_adapter(model).answer([short])).text[:1]
    stopped = GenerateRequest(example_id="g", prompt=LONG, max_new_tokens=4, stop=(first,))
    answer = next(make_adapter(model, on_overflow="truncate").answer([stopped]))
    assert (answer.text, answer.truncated) == ("", True)


def test_a_context_is_cut_for_each_continuation_as_far_as_needed(make_gpt, make_adapter):
    model = make_gpt()
    cut = next(make_adapter(model, on_overflow="truncate").answer([CASES["score"]]))
    shorter = [
        ScoreRequest(example_id="s", context=LONG[-47:], continuations=("ab",)),
        ScoreRequest(example_id="s", context=LONG[-41:], continuations=("abcdefgh",)),
    ]
    expected = [answer.logprobs_nats[0] for answer in make_adapter(model).answer(shorter)]
    assert cut.logprobs_nats == pytest.approx(expected, abs=1e-5)
    assert cut.truncated


@pytest.mark.parametrize("kind", CASES)
def test_a_skipped_example_says_why_and_the_others_are_answered(make_gpt, make_adapter, kind):
    other = {
        "generate": GenerateRequest(example_id="o", prompt="Tide", max_new_tokens=4),
        "score": ScoreRequest(example_id="o", context="Tide", continuations=("ab",)),
    }[kind]
    skipped, answered = make_adapter(make_gpt(), on_overflow="skip").answer([CASES[kind], other])
    assert skipped.error.startswith("the model cannot take a")
    assert answered == next(make_adapter(make_gpt()).answer([other]))


def test_a_long_text_is_windowed_under_every_policy(make_gpt, make_adapter):
    request = RollingRequest(example_id="r", text=LONG)
    answers = [
        next(make_adapter(make_gpt(), on_overflow=policy).answer([request]))
        for policy in ("error", "truncate", "window", "skip")
    ]
    assert {answer.token_count for answer in answers} == {50}
    assert len(set(answers)) == 1


def test_the_longest_prompt_that_fits_is_answered_as_it_is(make_gpt, make_adapter):
    # 45 tokens and 4 new ones, the last of which is never read
    fits = GenerateRequest(example_id="g", prompt="x" * 45, max_new_tokens=4)
    assert next(make_adapter(make_gpt()).answer([fits])).token_count == 4
    with pytest.raises(ValueError, match="46 tokens and 4 new ones in its 48 tokens"):
        make_adapter(make_gpt()).answer([GenerateRequest(example_id="g", prompt="x" * 46, max_new_tokens=4)])


@pytest.mark.parametrize("limit", [48, 1000])
def test_an_answer_as_long_as_the_model_leaves_half_of_it_to_a_cut_prompt(
    make_gpt, make_adapter, make_tokenizer, limit
):
    tokenizer = make_tokenizer(eos_id=None)
    request = GenerateRequest(example_id="g", prompt="x" * 30, max_new_tokens=limit)
    answer = next(make_adapter(make_gpt(), tokenizer, on_overflow="truncate").answer([request]))
    assert (answer.token_count, answer.truncated) == (25, True)


def test_a_continuation_longer_than_the_model_cannot_be_cut(make_gpt, make_adapter):
    request = ScoreRequest(example_id="s", context="a", continuations=("x" * 49,))
    with pytest.raises(ValueError, match="use --on-overflow skip"):
        make_adapter(make_gpt(), on_overflow="truncate").answer([request])


def test_special_tokens_before_a_text_are_not_cut(make_gpt, make_adapter, make_tokenizer):
    framed = make_tokenizer(eos_id=None, before=(65,))
    cut = next(make_adapter(make_gpt(), framed, on_overflow="truncate").answer([CASES["generate"]]))
    short = GenerateRequest(example_id="g", prompt="A" + LONG[-44:], max_new_tokens=4)
    assert cut.text == next(make_adapter(make_gpt(), make_tokenizer(eos_id=None)).answer([short])).text


def test_an_unknown_policy_names_the_nearest(make_gpt, make_adapter):
    with pytest.raises(ValueError, match="unknown overflow policy 'truncated'; did you mean 'truncate'"):
        make_adapter(make_gpt(), on_overflow="truncated")


@pytest.mark.parametrize("policy", ["error", "truncate", "window", "skip"])
def test_known_policies_are_accepted_and_what_fits_stays(policy):
    check_policy(policy)
    fit = fit_left((1, 2, 3), 3, policy, "e", "nothing")
    assert (fit.ids, fit.is_cut, fit.error) == ((1, 2, 3), False, None)


@pytest.mark.parametrize("batch_size", [0, -1])
def test_a_batch_size_below_one_is_refused(make_gpt, make_adapter, batch_size):
    with pytest.raises(ValueError, match=f"batch size is {batch_size}; expected at least 1, or auto"):
        make_adapter(make_gpt(), batch_size=batch_size)


def test_less_than_one_new_token_is_refused(make_gpt, make_adapter):
    with pytest.raises(ValueError, match="'g': max_new_tokens is 0; expected at least 1"):
        make_adapter(make_gpt()).answer([GenerateRequest(example_id="g", prompt="a", max_new_tokens=0)])


def test_a_request_of_another_kind_is_refused(make_gpt, make_adapter):
    with pytest.raises(ValueError, match="a causal model cannot answer a 'label' request"):
        make_adapter(make_gpt()).answer([LabelRequest(example_id="l", tokens=("a",))])
