import math

import pytest

from evalkit.adapters.openai import open_openai
from evalkit.adapters.openai_http import RetryPolicy, UnansweredError
from evalkit.errors import InvalidInputError
from evalkit.requests import RollingRequest, ScoreRequest

FAST = RetryPolicy(first_wait_s=0.0)


def score(context, *continuations):
    return ScoreRequest(example_id="1", context=context, continuations=continuations)


def nats(text):
    """The toy model's log-probability of a text's tokens: -0.1 nats a character."""
    return pytest.approx(-0.1 * len(text))


@pytest.mark.parametrize("least_limit", [0, 1])
def test_continuations_are_scored_by_the_tokens_behind_the_context(toy, make_model, least_limit):
    _, adapter = toy(make_model(least_limit=least_limit))
    (response,) = adapter.answer([score("Is it good?", " yes", " not at all", "")])
    assert response.logprobs_nats == (nats(" yes"), nats(" not at all"), 0.0)
    assert response.token_counts == (1, 3, 0)
    assert response.error is None


def test_blanks_at_the_end_of_a_context_go_to_the_continuation(toy):
    server, adapter = toy()
    (response,) = adapter.answer([score("Is it? ", "yes")])
    assert response.logprobs_nats == (nats(" yes"),)
    assert [payload["prompt"] for payload in server.asked] == ["Is it?", "Is it? yes"]


def test_a_continuation_is_greedy_if_no_token_is_more_probable(toy):
    _, adapter = toy()
    (response,) = adapter.answer([score("Is it", " a", " yes", " a yes")])
    assert response.is_greedy == (True, False, False)


def test_chinese_is_scored_too(toy):
    _, adapter = toy()
    (response,) = adapter.answer([score("天气 怎么样？", " 很好")])
    assert response.logprobs_nats == (nats(" 很好"),)


def test_a_border_inside_of_a_token_is_an_error_of_its_example(toy):
    _, adapter = toy()
    first, second = adapter.answer([score("go", "od"), score("go", " on")])
    assert (first.logprobs_nats, second.logprobs_nats) == ((), (nats(" on"),))
    assert "'od' has no token of its own" in first.error


@pytest.mark.parametrize("least_limit", [0, 1])
def test_a_whole_text_is_scored_behind_the_token_that_opens_it(toy, make_model, least_limit):
    _, adapter = toy(make_model(least_limit=least_limit))
    (response,) = adapter.answer([RollingRequest(example_id="1", text="The cat sat.")])
    assert (response.logprob_nats, response.token_count) == (nats("The cat sat."), 3)


def test_an_opening_token_can_be_named_where_the_server_puts_none(toy, make_model):
    server, adapter = toy(make_model(opens_with=""), options="?prefix=%3C%7Cend%7C%3E")
    assert adapter.supports == {"generate", "score", "rolling"}
    rolled, scored, empty = adapter.answer(
        [RollingRequest(example_id="1", text="The cat"), score("The", " cat"), score("", "The cat")]
    )
    assert (rolled.logprob_nats, rolled.token_count) == (nats("The cat"), 2)
    assert scored.logprobs_nats == (nats(" cat"),)
    assert empty.logprobs_nats == (nats("The cat"),)
    assert "<|end|>The cat" in [payload["prompt"] for payload in server.asked]


def test_without_an_opening_token_whole_texts_are_not_supported(toy, make_model):
    _, adapter = toy(make_model(opens_with=""))
    assert adapter.supports == {"generate", "score"}
    (response,) = adapter.answer([score("The", " cat")])
    assert response.logprobs_nats == (nats(" cat"),)
    with pytest.raises(InvalidInputError, match=r"context is empty .*\?prefix="):
        list(adapter.answer([score("", "The")]))


def test_a_prefix_of_several_tokens_is_refused(toy, make_model):
    with pytest.raises(InvalidInputError, match=r"prefix 'a b c ' is 3 tokens before a text"):
        toy(make_model(opens_with=""), options="?prefix=a%20b%20c%20")


@pytest.mark.parametrize("model", [{"echoes": False}, {"least_limit": 99}])
def test_a_server_that_scores_no_prompts_supports_text_only(toy, make_model, model):
    _, adapter = toy(make_model(**model))
    assert adapter.supports == {"generate"}
    with pytest.raises(InvalidInputError, match="cannot answer a 'score' request"):
        adapter.answer([score("a", " b")])


@pytest.mark.parametrize("options", ["?api=chat&prefix=x", "?prefix=x"])
def test_a_prefix_is_refused_where_nothing_is_scored(toy, make_model, options):
    with pytest.raises(InvalidInputError, match="prefix"):
        toy(make_model(echoes=False), options=options)


def test_a_server_that_fails_when_it_should_score_supports_text_only(serve, make_model, make_reply):
    model = make_model()

    def reply(path, payload, headers):
        return make_reply({}, 500) if payload and payload.get("echo") else model(path, payload, headers)

    assert open_openai(f"toy@{serve(reply).url}", policy=FAST).supports == {"generate"}


def broken(make_reply, **changes):
    logprobs = {"tokens": ["<s>", "Q", " a"], "token_logprobs": [None, -1.0, -2.0], **changes}
    return make_reply({"choices": [{"text": "Q a", "logprobs": logprobs}], "usage": {"prompt_tokens": 3}})


@pytest.mark.parametrize(
    "changes",
    [
        {"tokens": ["Q"]},
        {"tokens": None},
        {"tokens": [1, 2, 3]},
        {"token_logprobs": [None, "-1", -2.0]},
        {"token_logprobs": [None, math.nan, -2.0]},
        {"token_logprobs": [None, -1.0, -math.inf]},
        {"tokens": ["a"] * 9, "token_logprobs": [-1.0] * 9},
    ],
)
def test_malformed_scores_are_an_error_of_their_example(toy, make_reply, changes):
    _, adapter = toy(wrong=lambda payload: broken(make_reply, **changes))
    (response,) = adapter.answer([score("Q", " a")])
    assert response.logprobs_nats == ()
    assert "(2 attempts)" in response.error


def test_scores_without_alternatives_leave_greediness_unknown(toy, make_reply):
    _, adapter = toy(wrong=lambda payload: broken(make_reply) if payload["prompt"] == "Q a" else None)
    (response,) = adapter.answer([score("Q", " a")])
    assert (response.logprobs_nats, response.is_greedy) == ((-2.0,), ())


def test_an_example_without_scores_keeps_its_kind(toy, make_reply):
    _, adapter = toy(wrong=lambda payload: make_reply({}, 500))
    rolled, scored = adapter.answer([RollingRequest(example_id="1", text="Q a"), score("Q", " a")])
    assert (rolled.token_count, scored.logprobs_nats) == (0, ())
    assert all("(8 attempts)" in response.error for response in (rolled, scored))


def test_passing_trouble_in_the_first_questions_does_not_decide_what_is_supported(serve, make_model, make_reply):
    model = make_model()

    def reply(path, payload, headers):
        return make_reply({}, 429) if payload and payload.get("echo") else model(path, payload, headers)

    with pytest.raises(UnansweredError, match="status 429"):
        open_openai(f"toy@{serve(reply).url}", policy=FAST)
