import dataclasses
import json
import threading
import time

import pytest

from evalkit.adapters.openai import KEY_VARIABLE, open_openai
from evalkit.adapters.openai_http import RefusedError, RetryPolicy
from evalkit.errors import EvalkitError, InvalidInputError, UnknownNameError
from evalkit.requests import ClassifyRequest, Decoding, GenerateRequest, ModelSettings

KEY = "sk-0123456789"
FAST = RetryPolicy(first_wait_s=0.0)


def questions(count, **options):
    return [GenerateRequest(example_id=str(i), prompt=f"Q say a{i}", **options) for i in range(count)]


def texts(adapter, requests):
    responses = list(adapter.answer(requests))
    assert [response.example_id for response in responses] == [request.example_id for request in requests]
    return [response.text for response in responses]


def test_prompts_are_continued_in_order_whoever_is_slow(toy):
    def slow(payload):
        time.sleep(0.03 if payload["prompt"].endswith(("0", "3")) else 0.0)

    server, adapter = toy(wrong=slow)
    assert texts(adapter, questions(30)) == [f"A{i}" for i in range(30)]
    assert len(server.asked) == 30


def test_as_many_are_asked_at_once_as_the_batch_size_says(toy):
    lock, running, most = threading.Lock(), 0, 0

    def count(payload):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.01)
        with lock:
            running -= 1

    _, adapter = toy(wrong=count, batch_size=3)
    texts(adapter, questions(12))
    assert most == 3


def test_settings_are_passed_on(toy):
    decoding = Decoding(temperature=0.5, top_p=0.75, seed=7)
    server, adapter = toy(decoding=decoding)
    texts(adapter, questions(1, stop=("\n", ""), max_new_tokens=9))
    assert server.asked == [
        {
            "model": "toy",
            "prompt": "Q say a0",
            "max_tokens": 9,
            "temperature": 0.5,
            "top_p": 0.75,
            "seed": 7,
            "stop": ["\n"],
        }
    ]


def test_the_default_is_greedy_and_asks_for_nothing_more(toy):
    server, adapter = toy()
    texts(adapter, questions(1))
    assert server.asked == [{"model": "toy", "prompt": "Q say a0", "max_tokens": 256, "temperature": 0.0, "seed": 0}]


def test_chat_sends_the_prompt_as_a_message(toy):
    server, adapter = toy(options="?api=chat")
    assert texts(adapter, questions(1, stop=("x",))) == ["A0"]
    assert server.asked[0]["messages"] == [{"role": "user", "content": "Q say a0"}]
    assert server.asked[0]["stop"] == ["x"]
    assert (adapter.info.details["api"], adapter.supports) == ("chat", {"generate"})


def test_a_server_without_completions_is_asked_by_chat_with_a_warning(toy, make_model, make_context):
    _, adapter = toy(make_model(has_completions=False))
    assert texts(adapter, questions(2)) == ["A0", "A1"]
    (warning,) = adapter.prepare(make_context("qa", "generate", [("1", {})]))
    assert "sent as chat messages" in warning
    assert adapter.info.details["api"] == "chat"


def test_completions_that_are_asked_for_are_not_replaced_by_chat(toy, make_model):
    with pytest.raises(RefusedError, match="Not Found"):
        toy(make_model(has_completions=False), options="?api=completions")


def test_a_model_that_wants_another_name_of_the_limit_gets_it(serve, make_model, make_reply):
    model = make_model(has_completions=False)

    def reply(path, payload, headers):
        if payload and "max_tokens" in payload and path.endswith("chat/completions"):
            return make_reply({"error": {"message": "use 'max_completion_tokens' instead"}}, 400)
        return model(path, payload, headers)

    server = serve(reply)
    adapter = open_openai(f"toy@{server.url}", policy=FAST)
    assert texts(adapter, questions(1, max_new_tokens=5)) == ["A0"]
    assert server.asked[-1]["max_completion_tokens"] == 5


@pytest.mark.parametrize("prompt", ["Q 你好 世界", "Q é e\u0301", "Q 😀", "Q \u2028x", "Q a\x00b"])
def test_any_text_comes_through(toy, prompt):
    server, adapter = toy()
    assert texts(adapter, [GenerateRequest(example_id="é", prompt=prompt)]) == [prompt.split()[-1].upper()]
    assert server.asked[0]["prompt"] == prompt


def test_stop_strings_that_a_server_leaves_in_or_cannot_take_cut_the_text(toy, make_reply):
    def wrong(payload):
        return make_reply({"choices": [{"text": "one\ntwo five 6", "finish_reason": "stop"}]})

    server, adapter = toy(wrong=wrong)
    assert texts(adapter, questions(1, stop=("\n", "two"))) == ["one"]
    assert texts(adapter, questions(1, stop=("a", "b", "c", "d", "five"))) == ["one\ntwo "]
    assert server.asked[-1]["stop"] == ["a", "b", "c", "d"]


def test_tokens_are_counted_and_a_text_that_met_its_limit_is_marked(toy, make_reply):
    def wrong(payload):
        return make_reply({"choices": [{"text": "on", "finish_reason": "length"}], "usage": {"completion_tokens": 4}})

    _, adapter = toy(wrong=wrong)
    (response,) = adapter.answer(questions(1))
    assert (response.text, response.token_count, response.truncated, response.error) == ("on", 4, True, None)


def test_a_model_that_refuses_to_speak_gives_no_answer(serve, make_model, make_reply):
    model = make_model()

    def reply(path, payload, headers):
        is_refused = payload and "Q" in str(payload.get("messages"))
        silence = {"choices": [{"message": {"content": None, "refusal": "no"}, "finish_reason": "stop"}]}
        return make_reply(silence) if is_refused else model(path, payload, headers)

    adapter = open_openai(f"toy@{serve(reply).url}?api=chat", policy=FAST)
    (response,) = adapter.answer(questions(1))
    assert (response.text, response.error) == (None, None)


def test_passing_trouble_changes_no_answer(toy, make_reply):
    seen, lock = {}, threading.Lock()
    troubles = [
        make_reply({}, 429, {"Retry-After": "1"}),
        make_reply({}, 500),
        make_reply(is_dropped=True),
        make_reply(b"{", 200),
        None,
    ]

    def wrong(payload):
        number = int(payload["prompt"].rpartition("a")[2])
        with lock:
            turn = seen[number] = seen.get(number, -1) + 1
        return troubles[number % 5] if turn == 0 else None

    waits = []
    _, adapter = toy(wrong=wrong, pause=lambda seconds: waits.append(seconds))
    assert texts(adapter, questions(20)) == [f"A{i}" for i in range(20)]
    assert sorted(waits) == [0.0] * 12 + [1.0] * 4


def test_an_example_that_fails_in_all_attempts_has_an_error_and_the_others_an_answer(toy, make_reply):
    def wrong(payload):
        return make_reply({"error": {"message": "crashed"}}, 500) if payload["prompt"].endswith("a1") else None

    _, adapter = toy(wrong=wrong)
    first, second, third = adapter.answer(questions(3))
    assert (first.text, second.text, third.text) == ("A0", None, "A2")
    assert "example '1'" in second.error
    assert "crashed (8 attempts)" in second.error


@pytest.mark.parametrize("body", [b"not json", b"[]", b'{"choices": []}', b'{"choices": [{}]}', b'{"error": "busy"}'])
def test_a_malformed_answer_is_an_error_of_its_example(toy, make_reply, body):
    _, adapter = toy(wrong=lambda payload: make_reply(body) if payload["prompt"].endswith("a0") else None)
    first, second = adapter.answer(questions(2))
    assert (first.text, second.text) == (None, "A1")
    assert "(2 attempts)" in first.error


def test_a_slow_answer_is_an_error_of_its_example(toy):
    is_over = threading.Event()

    def wrong(payload):
        if payload["prompt"].endswith("a0"):
            is_over.wait(5)

    _, adapter = toy(wrong=wrong, options="?timeout=0.1", policy=RetryPolicy(first_wait_s=0.0, timeouts=2))
    first, second = adapter.answer(questions(2))
    is_over.set()
    assert (first.text, second.text) == (None, "A1")
    assert "no answer within 0.1 s (2 attempts)" in first.error


def test_a_server_that_no_longer_answers_stops_the_run(toy, make_reply):
    server, adapter = toy(wrong=lambda payload: make_reply(is_dropped=True), batch_size=2)
    with pytest.raises(EvalkitError, match="no longer answers: 5 examples in a row failed; example '"):
        list(adapter.answer(questions(100)))
    assert len(server.asked) <= 8 * 7


def test_a_refusal_stops_the_run_before_more_is_asked(toy, make_reply):
    server, adapter = toy(
        wrong=lambda payload: make_reply({"error": "no"}, 403) if payload["prompt"].endswith("a3") else None,
        batch_size=2,
    )
    answered = []
    with pytest.raises(RefusedError, match=r"example '3': POST .*: status 403: no; set OPENAI_API_KEY"):
        answered.extend(adapter.answer(questions(200)))
    assert [response.text for response in answered] == ["A0", "A1", "A2"][: len(answered)]
    assert len(server.asked) < 12


TOO_LONG = {"error": {"message": "maximum context length is 8 tokens", "code": "context_length_exceeded"}}


def test_a_prompt_that_is_too_long_stops_the_run_or_is_skipped(toy, make_reply):
    def wrong(payload):
        return make_reply(TOO_LONG, 400) if payload["prompt"].endswith("a1") else None

    with pytest.raises(InvalidInputError, match="maximum context length is 8 tokens; use --on-overflow skip"):
        list(toy(wrong=wrong)[1].answer(questions(3)))
    first, second, third = toy(wrong=wrong, on_overflow="skip")[1].answer(questions(3))
    assert (first.text, second.text, third.text) == ("A0", None, "A2")
    assert "maximum context length" in second.error


def test_answers_that_are_no_longer_wanted_are_no_longer_asked_for(toy):
    server, adapter = toy(batch_size=1)
    stream = adapter.answer(questions(100))
    assert next(stream).text == "A0"
    stream.close()
    assert len(server.asked) < 10
    assert texts(adapter, questions(2)) == ["A0", "A1"]


def test_a_wrong_model_names_those_that_the_server_has(serve, make_model):
    server = serve(make_model(name="gpt-small"))
    with pytest.raises(UnknownNameError, match=r"unknown model of .*'gpt-smal'; did you mean 'gpt-small'"):
        open_openai(f"gpt-smal@{server.url}", policy=FAST)


def test_a_url_that_serves_something_else_is_told(serve, make_reply):
    server = serve(lambda *_: make_reply(b"<html>hello</html>"))
    with pytest.raises(EvalkitError, match="the answer is no JSON: '<html>hello</html>'"):
        open_openai(f"m@{server.url}", policy=FAST)


def test_a_server_that_is_not_there_is_told_after_three_attempts():
    with pytest.raises(EvalkitError, match=r"127\.0\.0\.1:1/v1/completions: the connection failed: .*\(3 attempts\)"):
        open_openai("m@http://127.0.0.1:1", policy=FAST)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"decoding": Decoding(beams=4)}, "beams is 4"),
        ({"decoding": Decoding(top_k=5)}, "top_k is 5"),
        ({"decoding": Decoding(repetition_penalty=1.2)}, "repetition_penalty is 1.2"),
        ({"decoding": Decoding(temperature=-1.0)}, "temperature is -1.0"),
        ({"decoding": Decoding(top_p=0.0)}, "top_p is 0.0"),
        ({"on_overflow": "truncate"}, "only the server has the tokenizer"),
        ({"batch_size": 0}, "batch size is 0"),
    ],
)
def test_settings_that_cannot_be_passed_on_are_refused_before_anything_is_asked(settings, message):
    with pytest.raises(InvalidInputError, match=message):
        open_openai("m@http://127.0.0.1:1", ModelSettings(**settings), FAST)


def test_other_kinds_of_requests_and_empty_limits_are_refused_before_anything_is_asked(toy):
    server, adapter = toy()
    with pytest.raises(InvalidInputError, match="cannot answer a 'classify' request"):
        adapter.answer([*questions(1), ClassifyRequest(example_id="1", text="a")])
    with pytest.raises(InvalidInputError, match="max_new_tokens is 0"):
        adapter.answer(questions(1, max_new_tokens=0))
    assert server.asked == []


def test_the_record_says_which_model_the_server_reported(toy):
    server, adapter = toy()
    texts(adapter, questions(1))
    info = adapter.info
    assert (info.ref, info.name, info.family) == (f"openai:toy@{server.url}", "toy", "openai")
    assert info.details == {
        "url": server.url,
        "api": "completions",
        "served_models": ["toy-2"],
        "system_fingerprints": ["fp"],
        "owned_by": "us",
        "max_model_len": 64,
    }


def test_the_digest_depends_on_what_is_asked_and_not_on_how_long_one_waits(serve, make_model):
    server, other = serve(make_model()), serve(make_model())

    def digest(url):
        return open_openai(f"toy@{url}", policy=FAST).info.digest

    first = digest(server.url)
    same = [server.url, server.url + "/", f"{server.url}?timeout=9", f"{server.url}?api=completions"]
    assert {digest(url) for url in same} == {first}
    assert len({first, digest(other.url), digest(f"{server.url}?api=chat")}) == 3


def test_the_key_is_sent_and_appears_nowhere(toy, make_reply, make_context, monkeypatch, capfd, caplog):
    monkeypatch.setenv(KEY_VARIABLE, f" {KEY}\n")

    def wrong(payload):
        leak = {"model": KEY, "choices": [{"text": "ok"}], "error": f"bad key {KEY}" if "a1" in str(payload) else None}
        return make_reply(leak)

    server, adapter = toy(wrong=wrong)
    responses = list(adapter.answer(questions(2)))
    warnings = adapter.prepare(make_context("qa", "generate", [("1", {})]))
    assert set(server.keys) == {f"Bearer {KEY}"}
    shown = [repr(adapter), repr(vars(adapter)), repr(responses), repr(warnings), *capfd.readouterr(), caplog.text]
    shown.append(json.dumps(dataclasses.asdict(adapter.info)))
    assert "ok" in str(shown)
    assert "***" in responses[1].error
    assert not [text for text in shown if KEY in text]


@pytest.mark.parametrize("key", ["sk-0\n1", "sk 0", "ключ"])
def test_a_key_that_cannot_be_sent_is_refused_without_showing_it(monkeypatch, key):
    monkeypatch.setenv(KEY_VARIABLE, key)
    with pytest.raises(InvalidInputError, match="OPENAI_API_KEY holds spaces") as raised:
        open_openai("m@http://127.0.0.1:1", policy=FAST)
    assert key not in str(raised.value)


def test_a_key_sent_without_encryption_is_warned_of(toy, make_context, monkeypatch):
    monkeypatch.setenv(KEY_VARIABLE, KEY)
    context = make_context("qa", "generate", [("1", {})])
    assert toy()[1].prepare(context) == ()
    monkeypatch.setattr("evalkit.adapters.openai._LOCAL_HOSTS", frozenset())
    (warning,) = toy()[1].prepare(context)
    assert "without encryption" in warning
