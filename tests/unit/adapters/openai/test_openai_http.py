import threading
import time
import traceback
from datetime import UTC, datetime

import pytest

from evalkit.adapters.openai_http import (
    ClosedClientError,
    JsonClient,
    MalformedError,
    RefusedError,
    RetryPolicy,
    UnansweredError,
    ask_in_order,
    retry_after_s,
)
from evalkit.errors import StoppedError

KEY = "sk-0123456789"


class Waits:
    """Stands in for waiting: keeps what was asked for."""

    def __init__(self):
        self.seconds = []

    def __call__(self, seconds):
        self.seconds.append(seconds)
        return False


def identity(answer):
    return answer


def in_turn(*replies):
    """A server's behaviour: one reply after the other, the last one again and again."""
    rest = list(replies)
    return lambda path, payload, headers: rest.pop(0) if len(rest) > 1 else rest[0]


@pytest.fixture
def ask(serve):
    """A function that asks a server of the given replies: gives answer, waits and server."""

    def start(*replies, read=identity, **options):
        server, waits = serve(in_turn(*replies)), Waits()
        client = JsonClient(server.url, pause=waits, **{"key": KEY, **options})
        try:
            return client.ask("x", {"a": 1}, read, "question"), waits.seconds, server
        except Exception as error:
            error.waits, error.server = waits.seconds, server
            raise
        finally:
            client.stop()

    return start


def test_an_answer_is_read_and_the_key_is_sent(ask, make_reply):
    answer, waits, server = ask(make_reply({"b": "你好"}))
    assert (answer, waits, server.asked, server.keys) == ({"b": "你好"}, [], [{"a": 1}], [f"Bearer {KEY}"])


def test_no_key_sends_no_header(ask, make_reply):
    assert ask(make_reply({}), key=None)[2].keys == [None]


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503, 504, 529])
def test_a_passing_failure_is_asked_again(ask, make_reply, status):
    answer, waits, server = ask(make_reply({}, status), make_reply({}, status), make_reply([1]))
    assert (answer, len(waits), len(server.asked)) == ([1], 2, 3)


def test_waits_grow_with_jitter_that_the_seed_decides(ask, make_reply):
    replies = [make_reply({}, 500)] * 7 + [make_reply(1)]
    policy = RetryPolicy(seed=3)
    _, waits, _ = ask(*replies, policy=policy)
    bounds = [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0]
    assert all(0.75 * bound <= wait <= 1.25 * bound for wait, bound in zip(waits, bounds, strict=True))
    assert waits == [policy.wait_s(attempt, "question") for attempt in range(1, 8)]
    assert waits != [RetryPolicy(seed=4).wait_s(attempt, "question") for attempt in range(1, 8)]


def test_a_longer_wait_that_the_server_asks_for_is_kept(ask, make_reply):
    busy = make_reply({}, 429, {"Retry-After": "7"})
    assert ask(busy, busy, make_reply(1))[1] == [7.0, 7.0]


def test_a_server_that_asks_to_wait_too_long_is_not_asked_again(ask, make_reply):
    with pytest.raises(RefusedError, match="it asks to wait for 3600 s") as raised:
        ask(make_reply({}, 429, {"Retry-After": "3600"}))
    assert raised.value.waits == []


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, 0.0),
        ("", 0.0),
        ("3", 3.0),
        ("-3", 0.0),
        ("nan", 0.0),
        ("inf", 0.0),
        ("soon", 0.0),
        ("Sun, 01 Mar 2026 12:00:30 GMT", 30.0),
        ("Sun, 01 Mar 2026 11:00:00 GMT", 0.0),
        ("Sun, 01 Mar 2026 12:00:30 -0000", 30.0),
    ],
)
def test_retry_after_is_seconds_or_a_date(value, seconds):
    assert retry_after_s(value, datetime(2026, 3, 1, 12, tzinfo=UTC)) == seconds


def test_all_attempts_in_vain_tell_the_last_reason(ask, make_reply):
    busy = make_reply({"error": {"message": "over\nloaded"}}, 503)
    with pytest.raises(
        UnansweredError, match=r"question: POST .*/v1/x: status 503: over loaded \(8 attempts\)"
    ) as raised:
        ask(busy)
    assert (len(raised.value.server.asked), raised.value.status) == (8, 503)


@pytest.mark.parametrize("trouble", [{"is_dropped": True}, {"is_cut": True}])
def test_a_dropped_connection_is_asked_again(ask, make_reply, trouble):
    answer, waits, _ = ask(make_reply({"long": "body"}, **trouble), make_reply(1))
    assert (answer, len(waits)) == (1, 1)


def test_a_server_that_is_not_there_is_told_with_its_address():
    waits = Waits()
    client = JsonClient("http://127.0.0.1:1/v1", pause=waits)
    with pytest.raises(UnansweredError, match=r"GET http://127\.0\.0\.1:1/v1/x: the connection failed: .*refused"):
        client.ask("x", None, identity, "question")
    assert len(waits.seconds) == 7


def test_a_slow_answer_is_given_up_and_asked_again(serve, make_reply):
    is_over = threading.Event()

    def reply(path, payload, headers):
        if payload == {"is_slow": True}:
            is_over.wait(5)
        return make_reply("done")

    client = JsonClient(serve(reply).url, timeout_s=0.1, pause=Waits())
    assert client.ask("x", {"is_slow": False}, identity, "question") == "done"
    with pytest.raises(UnansweredError, match=r"no answer within 0\.1 s \(3 attempts\)"):
        client.ask("x", {"is_slow": True}, identity, "question")
    is_over.set()


def test_an_answer_that_trickles_is_given_up(serve, make_reply, monkeypatch):
    clock = iter(range(100))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(clock)))
    policy = RetryPolicy(timeouts=1)
    client = JsonClient(serve(lambda *_: make_reply("x" * 300_000)).url, timeout_s=2.0, policy=policy, pause=Waits())
    with pytest.raises(UnansweredError, match=r"no answer within 2 s"):
        client.ask("x", {}, identity, "question")


@pytest.mark.parametrize("body", [b"", b"{", b"<html>", b"\xff\xfe", b"[" * 100_000])
def test_malformed_json_is_asked_again_once(ask, make_reply, body):
    answer, waits, _ = ask(make_reply(body), make_reply(1))
    assert (answer, len(waits)) == (1, 1)
    with pytest.raises(UnansweredError, match=r"the answer is no JSON: .* \(2 attempts\)") as raised:
        ask(make_reply(body))
    assert raised.value.status == 200


def test_an_answer_of_another_form_is_asked_again_once(ask, make_reply):
    def read(answer):
        if "text" not in answer:
            raise MalformedError("no text")
        return answer["text"]

    assert ask(make_reply({}), make_reply({"text": "a"}), read=read)[0] == "a"
    with pytest.raises(UnansweredError, match=r"no text \(2 attempts\)"):
        ask(make_reply({}), read=read)


def test_an_endless_answer_is_cut_off(ask, make_reply, monkeypatch):
    monkeypatch.setattr("evalkit.adapters.openai_http.MAX_BODY_BYTES", 1000)
    with pytest.raises(UnansweredError, match="the answer is longer than 1000 bytes"):
        ask(make_reply("x" * 2000))


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 413, 422, 501, 301, 307])
def test_a_lasting_failure_is_not_asked_again(ask, make_reply, status):
    with pytest.raises(RefusedError, match=f"status {status}") as raised:
        ask(make_reply({}, status))
    assert (raised.value.status, raised.value.waits, len(raised.value.server.asked)) == (status, [], 1)


def test_spent_credit_is_a_lasting_failure(ask, make_reply):
    with pytest.raises(RefusedError, match="no credit"):
        ask(make_reply({"error": {"message": "no credit", "code": "insufficient_quota"}}, 429))


def test_a_redirection_is_not_followed(ask, make_reply):
    with pytest.raises(RefusedError, match=r"moved to http://other/; name the URL") as raised:
        ask(make_reply({}, 302, {"Location": "http://other/?token=1"}))
    assert len(raised.value.server.asked) == 1


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"error": {"message": "one"}}, "one"),
        ({"object": "error", "message": "two"}, "two"),
        ({"error": "three"}, "three"),
        ({"detail": [{"msg": "four"}]}, "four"),
        (b"five\x1b[31m", "five [31m"),
        (b"", "no reason given"),
        ([6], "[6]"),
        (b"s" * 9999, "sss..."),
    ],
)
def test_a_refusal_says_what_the_server_says(ask, make_reply, body, said):
    with pytest.raises(RefusedError) as raised:
        ask(make_reply(body, 400))
    assert said in str(raised.value)
    assert str(raised.value).isprintable()
    assert len(str(raised.value)) < 500


@pytest.mark.parametrize(("key", "hint"), [(KEY, "check OPENAI_API_KEY"), (None, "set OPENAI_API_KEY")])
def test_a_missing_or_wrong_key_is_told(ask, make_reply, key, hint):
    with pytest.raises(RefusedError, match=hint):
        ask(make_reply({}, 401), key=key)


@pytest.mark.parametrize("status", [200, 302, 400, 401, 500])
def test_no_message_holds_the_key_even_if_the_server_sends_it_back(ask, make_reply, status):
    reply = make_reply(f"your header was Bearer {KEY}".encode(), status, {"Location": f"http://h/{KEY}"})
    with pytest.raises((RefusedError, UnansweredError)) as raised:
        ask(reply)
    assert KEY not in "".join(traceback.format_exception(raised.value))


def test_proxies_of_the_environment_are_not_asked(ask, make_reply, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert ask(make_reply(1))[0] == 1


def test_a_connection_is_used_again_and_replaced_once_the_server_closed_it(serve, make_reply):
    ports = []

    def reply(path, payload, headers):
        return make_reply(1, headers={"Connection": "close"} if payload == {"n": 1} else {})

    server = serve(reply)
    handle = server.handle
    server.handle = lambda handler, payload: (ports.append(handler.client_address[1]), handle(handler, payload))
    waits = Waits()
    client = JsonClient(server.url, pause=waits)
    for number in (0, 1, 2, 3):
        client.ask("x", {"n": number}, identity, "question")
    assert (ports[0] == ports[1], ports[1] == ports[2], ports[2] == ports[3]) == (True, False, True)
    assert waits.seconds == []


def test_a_stopped_client_asks_nothing_more_and_ends_what_it_asks(serve, make_reply):
    is_asked, is_over = threading.Event(), threading.Event()

    def reply(path, payload, headers):
        is_asked.set()
        is_over.wait(5)
        return make_reply(1)

    server = serve(reply)
    client = JsonClient(server.url)
    errors = []

    def ask():
        try:
            client.ask("x", {}, identity, "question")
        except ClosedClientError as error:
            errors.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    assert is_asked.wait(5)
    client.stop()
    thread.join(5)
    is_over.set()
    assert len(errors) == 1
    with pytest.raises(ClosedClientError):
        client.ask("x", {}, identity, "question")
    assert len(server.asked) == 1


def test_answers_come_in_order_and_no_more_than_the_workers_are_asked_at_once():
    lock, running, most = threading.Lock(), 0, 0

    def ask(number):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.002 * (number % 3))
        with lock:
            running -= 1
        return number * 2

    assert list(ask_in_order(range(40), ask, 4, lambda: None)) == [number * 2 for number in range(40)]
    assert 1 < most <= 4


def test_when_no_more_is_wanted_what_is_being_asked_is_answered_and_what_waits_is_not_asked():
    asked, wanted = [], threading.Event()

    def items():
        for number in range(100):
            if number == 7:
                wanted.set()
                raise StoppedError("enough")
            yield number

    def ask(number):
        asked.append(number)
        assert wanted.wait(10)
        return number

    answers = []
    with pytest.raises(StoppedError, match="enough"):
        answers.extend(ask_in_order(items(), ask, 2, lambda: None))
    assert answers == sorted(asked), "every answer that was paid for arrives"
    assert answers[:2] == [0, 1]
    assert len(answers) <= 4


def test_answers_leave_before_all_is_asked():
    asked = []
    stream = ask_in_order(range(1000), asked.append, 1, lambda: None)
    next(stream)
    stream.close()
    assert len(asked) <= 5
