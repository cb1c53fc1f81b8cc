"""A server of the test's own on 127.0.0.1, and a toy model that it serves."""

import json
import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from evalkit.adapters.openai import KEY_VARIABLE, open_openai
from evalkit.adapters.openai_http import RetryPolicy
from evalkit.requests import ModelSettings

FAST = RetryPolicy(first_wait_s=0.0)


@dataclass
class Reply:
    """What the server sends back."""

    body: object = None
    """Sent as JSON; bytes are sent as they are."""
    status: int = 200
    headers: dict = field(default_factory=dict)
    is_dropped: bool = False
    """Close the connection without a word."""
    is_cut: bool = False
    """Close it in the middle of the body."""


class ToyModel:
    """Continues a prompt by its last word in capitals, and scores a word by its length: -0.1 nats a character."""

    def __init__(self, *, name="toy", opens_with="<s>", echoes=True, least_limit=0, has_completions=True):
        self.name, self.opens_with, self.echoes = name, opens_with, echoes
        self.least_limit, self.has_completions = least_limit, has_completions

    def __call__(self, path, payload, headers):
        if path == "/v1/models":
            return Reply({"data": [{"id": self.name, "owned_by": "us", "max_model_len": 64}]})
        if path == "/v1/chat/completions":
            return self.chat(payload)
        if path != "/v1/completions" or not self.has_completions:
            return Reply({"detail": "Not Found"}, 404)
        return self.complete(payload)

    def complete(self, payload):
        if payload["model"] != self.name:
            return Reply({"error": {"message": "no such model", "code": "model_not_found"}}, 404)
        if payload.get("echo") and payload["max_tokens"] < self.least_limit:
            return Reply({"error": {"message": "max_tokens must be at least 1"}}, 400)
        choice = {"text": self.answer(payload["prompt"]), "finish_reason": "stop"}
        tokens = self.tokens(payload["prompt"])
        if payload.get("echo") and self.echoes:
            choice = {"text": payload["prompt"], "logprobs": self.logprobs(tokens + ["!"] * payload["max_tokens"])}
        usage = {"prompt_tokens": len(tokens), "completion_tokens": 1}
        return Reply({"model": f"{self.name}-2", "system_fingerprint": "fp", "choices": [choice], "usage": usage})

    def chat(self, payload):
        if payload["model"] != self.name:
            return Reply({"error": {"message": "no such model", "code": "model_not_found"}}, 404)
        message = {"role": "assistant", "content": self.answer(payload["messages"][-1]["content"])}
        return Reply({"model": self.name, "choices": [{"message": message, "finish_reason": "stop"}]})

    def tokens(self, text):
        specials = [self.opens_with] if self.opens_with else []
        return specials + re.findall(r"<\|end\|>| ?[^ <]+| ", text)

    def logprobs(self, tokens):
        first = [None] if tokens else []
        scores = first + [round(-0.1 * len(token), 6) for token in tokens[1:]]
        best = [None if score is None else {"x": -0.35, "y": score} for score in scores]
        return {"tokens": tokens, "token_logprobs": scores, "top_logprobs": best}

    def answer(self, prompt):
        return (prompt.split() or [""])[-1].upper()


class Served:
    """A running server: its address, and what it was asked."""

    def __init__(self, reply):
        self.asked, self.keys, self._reply, self._lock = [], [], reply, threading.Lock()
        served = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self):
                served.handle(self, None)

            def do_POST(self):
                served.handle(self, json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

            def log_message(self, *arguments):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda request, address: None  # clients that have left
        self.server.block_on_close = False
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self.thread.start()

    def handle(self, handler, payload):
        with self._lock:
            self.asked.append(payload)
            self.keys.append(handler.headers.get("Authorization"))
        reply = self._reply(handler.path, payload, handler.headers)
        body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        handler.close_connection = handler.close_connection or reply.is_dropped or reply.is_cut
        if reply.is_dropped:
            return
        handler.send_response(reply.status)
        for name, value in {**reply.headers, "Content-Length": str(len(body))}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body[: len(body) // 2] if reply.is_cut else body)

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def serve():
    """A function that starts a server from ``reply(path, payload, headers) -> Reply``."""
    servers = []

    def start(reply):
        servers.append(Served(reply))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


@pytest.fixture
def toy(serve):
    """A function that serves a toy model and opens it: gives server and adapter."""

    def start(model=None, *, options="", wrong=None, policy=FAST, pause=None, **settings):
        model = model or ToyModel()

        def reply(path, payload, headers):
            other = wrong(payload) if wrong and payload and "Q" in str(payload.get("prompt")) else None
            return other or model(path, payload, headers)

        server = serve(reply)
        adapter = open_openai(f"toy@{server.url}{options}", ModelSettings(**settings), policy, pause)
        server.asked.clear()
        return server, adapter

    return start


@pytest.fixture(autouse=True)
def no_key(monkeypatch):
    """Tests run without the user's own key."""
    monkeypatch.delenv(KEY_VARIABLE, raising=False)


@pytest.fixture
def make_model():
    """The toy model's class: with other features, or none."""
    return ToyModel


@pytest.fixture
def make_reply():
    """The class of a server's replies."""
    return Reply
