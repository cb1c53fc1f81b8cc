"""`openai:MODEL@URL`: a model behind any server with the OpenAI interface, asked by several threads, answered in order."""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from evalkit.adapters.openai_api import (
    Endpoint,
    TokenScore,
    check_decoding,
    echo_payload,
    parse_endpoint,
    read_echo,
    read_text,
)
from evalkit.adapters.openai_http import JsonClient, RefusedError, RetryPolicy, UnansweredError, ask_in_order
from evalkit.adapters.openai_probe import Server, probe, probe_policy
from evalkit.adapters.responses import unanswerable
from evalkit.digests import digest_json
from evalkit.errors import EvalkitError, InvalidInputError, UnknownNameError
from evalkit.requests import (
    GenerateRequest,
    GenerateResponse,
    ModelInfo,
    ModelSettings,
    Request,
    Response,
    RollingRequest,
    RollingResponse,
    ScoreRequest,
    ScoreResponse,
    TaskContext,
)

VERSION = 1
"""Rises when the same server would be asked otherwise."""

KEY_VARIABLE = "OPENAI_API_KEY"
"""Environment variable of the key; there is no other way to give one."""

CONCURRENCY = 8
"""Requests at once where no batch size is set."""

GIVE_UP_AFTER = 5
"""Examples that fail in a row, each after all its attempts, before the run stops."""

POLICIES = ("error", "skip")
"""What can happen to texts that are too long: cutting them needs the model's tokenizer, which only the server has."""

_TOO_LONG = ("context length", "context size", "context window", "maximum context", "too long", "max model len")
_LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})


def open_openai(
    target: str,
    settings: ModelSettings | None = None,
    policy: RetryPolicy | None = None,
    pause: Callable[[float], bool] | None = None,
) -> OpenAIAdapter:
    """Open a model on a server, and find out what it can do.

    Args:
        target: ``MODEL@URL``, see `parse_endpoint`.
        settings: `batch_size` is the number of requests at once; `on_overflow` and `decoding` are used too.
        policy: When to ask again; None for the defaults.
        pause: Waits between attempts, see `JsonClient`.

    Raises:
        InvalidInputError: Target or settings cannot be used, or the server refuses to answer.
        EvalkitError: The server does not answer.
    """
    settings = settings or ModelSettings()
    endpoint = parse_endpoint(target)
    _check_settings(settings)
    key = api_key()
    policy = policy or RetryPolicy(seed=settings.decoding.seed)

    def connect(policy: RetryPolicy = policy) -> JsonClient:
        return JsonClient(endpoint.url, key=key, timeout_s=endpoint.timeout_s, policy=policy, pause=pause)

    client = connect(probe_policy(policy))
    try:
        server = probe(client, endpoint)
    finally:
        client.stop()
    parts = urlsplit(endpoint.url)
    if key and parts.scheme == "http" and parts.hostname not in _LOCAL_HOSTS:
        warning = f"{KEY_VARIABLE} is sent to {parts.hostname} without encryption; use https where others can listen"
        server = replace(server, warnings=(*server.warnings, warning))
    return OpenAIAdapter(target, endpoint, settings, server, connect)


def api_key() -> str | None:
    """The key of the environment; None where there is none.

    Raises:
        InvalidInputError: It holds characters that cannot be sent; the message does not show it.
    """
    key = os.environ.get(KEY_VARIABLE, "").strip()
    if any(not "!" <= character <= "~" for character in key):
        raise InvalidInputError(f"{KEY_VARIABLE} holds spaces or characters that are not ASCII; expected a bare key")
    return key or None


def _check_settings(settings: ModelSettings) -> None:
    check_decoding(settings.decoding)
    if settings.on_overflow not in POLICIES:
        known = UnknownNameError("overflow policy", settings.on_overflow, POLICIES)
        raise InvalidInputError(f"{known}: only the server has the tokenizer that could cut a text")
    if settings.compile:
        raise InvalidInputError("--compile is for models that are computed here, not on a server; leave it out")
    if settings.batch_size is not None and settings.batch_size < 1:
        raise InvalidInputError(f"batch size is {settings.batch_size}; expected at least 1 request at once, or auto")


class OpenAIAdapter:
    """Answers generate requests, and score and rolling requests where the server scores a prompt's own tokens.

    Args:
        target: The target as the user wrote it.
        endpoint: What it means.
        settings: Requests at once, overflow policy and decoding.
        server: What the server can do.
        connect: Makes a client of the server.
    """

    def __init__(
        self,
        target: str,
        endpoint: Endpoint,
        settings: ModelSettings,
        server: Server,
        connect: Callable[[], JsonClient],
    ) -> None:
        self._endpoint, self._settings, self._server, self._connect = endpoint, settings, server, connect
        self._ref = f"openai:{target}"
        self._served = {server.served: None}

    @property
    def info(self) -> ModelInfo:
        """The model by name and address, with what the server has reported about it so far."""
        models, fingerprints = zip(*self._served, strict=True)
        endpoint, api = self._endpoint, self._server.text.api
        return ModelInfo(
            ref=self._ref,
            name=endpoint.model,
            # The server may change the model behind a name, and no digest can know that.
            digest=digest_json(["openai", VERSION, endpoint.model, endpoint.url, api, self._server.prefix]),
            family="openai",
            likelihood="causal",
            determined_by="service",
            details={
                "url": endpoint.url,
                "api": api,
                "served_models": sorted({name for name in models if name}),
                "system_fingerprints": sorted({name for name in fingerprints if name}),
                **self._server.reported,
            },
        )

    @property
    def supports(self) -> frozenset[str]:
        """Text always; scores of given texts where the server was found to give them."""
        return self._server.supports

    def prepare(self, context: TaskContext) -> tuple[str, ...]:
        """Warn about what was found when the server was asked first."""
        return self._server.warnings

    def answer(self, requests: Sequence[Request]) -> Iterator[Response]:
        """Answer every request, in order, several at once.

        An example that the server fails to answer in all attempts has an error in its response. What the server refuses
        stops everything, and so do several failures in a row.

        Raises:
            InvalidInputError: A request is of a kind that the server cannot answer, or the server refuses it.
            EvalkitError: The server no longer answers.
        """
        for request in requests:
            if request.kind not in self.supports:
                raise unanswerable(request, f"{self._ref!r}")
            if isinstance(request, GenerateRequest) and request.max_new_tokens < 1:
                raise InvalidInputError(
                    f"example {request.example_id!r}: max_new_tokens is {request.max_new_tokens}; expected at least 1"
                )
        return self._answer(requests)

    def _answer(self, requests: Sequence[Request]) -> Iterator[Response]:
        client = self._connect()
        asking = _Asking(client, self._endpoint, self._settings, self._server)
        workers = self._settings.batch_size or CONCURRENCY
        try:
            yield from ask_in_order(requests, asking.respond, workers, client.stop)
        finally:
            self._served.update(asking.served)


class _Asking:
    """One round of requests, from several threads."""

    def __init__(self, client: JsonClient, endpoint: Endpoint, settings: ModelSettings, server: Server) -> None:
        self._client, self._endpoint, self._settings, self._server = client, endpoint, settings, server
        self._lock = threading.Lock()
        self._failures_in_a_row = 0
        self._end: EvalkitError | None = None
        self.served: dict[tuple[str, str], None] = {}

    def respond(self, request: Request) -> Response:
        """Answer one request, or say in the response why it could not be answered."""
        try:
            response = self._ask(request)
            self._count(None)
        except UnansweredError as error:
            response = _failed(request, str(error))
            self._count(error)
        except RefusedError as error:
            if not _is_too_long(error):
                raise self._stop(error) from error
            if self._settings.on_overflow == "error":
                raise self._stop(InvalidInputError(f"{error}; use --on-overflow skip")) from error
            response = _failed(request, str(error))
        except _UnscorableError as error:
            response = _failed(request, str(error))
        except EvalkitError as error:
            raise self._stop(error) from error
        return response

    def _count(self, error: UnansweredError | None) -> None:
        with self._lock:
            self._failures_in_a_row = self._failures_in_a_row + 1 if error else 0
            is_over = self._failures_in_a_row >= GIVE_UP_AFTER
        if is_over:
            raise self._stop(
                EvalkitError(f"the server no longer answers: {GIVE_UP_AFTER} examples in a row failed; {error}")
            )

    def _stop(self, error: EvalkitError) -> EvalkitError:
        """End all other questions; the first reason to do so is the one to tell."""
        with self._lock:
            self._end = self._end or error
        self._client.stop()
        return self._end

    def _ask(self, request: Request) -> Response:
        if isinstance(request, GenerateRequest):
            return self._generate(request)
        if isinstance(request, ScoreRequest):
            return self._score(request)
        if isinstance(request, RollingRequest):
            return self._roll(request)
        raise unanswerable(request, "a server")

    def _generate(self, request: GenerateRequest) -> GenerateResponse:
        api = self._server.text
        stop = [text for text in request.stop if text]
        payload = api.payload(request.prompt, request.max_new_tokens, stop, self._settings.decoding)
        answer = self._client.ask(api.path, payload, read_text, _label(request))
        with self._lock:
            self.served[self._client.hide(answer.served[0]), self._client.hide(answer.served[1])] = None
        return GenerateResponse(
            example_id=request.example_id,
            text=None if answer.text is None else _cut(answer.text, stop),
            token_count=answer.token_count,
            truncated=not answer.is_complete,
        )

    def _score(self, request: ScoreRequest) -> ScoreResponse:
        # White space at the end of a context goes to the continuation, for tokens begin with it.
        context = request.context.rstrip()
        space = request.context[len(context) :]
        before = len(self._echo(context, request)) if context else self._opening(request)
        scores = [self._scored(before, context, space + text, request) for text in request.continuations]
        is_greedy = [[token.is_greedy for token in tokens] for tokens in scores]
        is_known = all(one is not None for tokens in is_greedy for one in tokens)
        return ScoreResponse(
            example_id=request.example_id,
            logprobs_nats=tuple(map(_sum, scores)),
            token_counts=tuple(map(len, scores)),
            is_greedy=tuple(map(all, is_greedy)) if is_known else (),
        )

    def _roll(self, request: RollingRequest) -> RollingResponse:
        tokens = self._scored(self._opening(request), "", request.text, request)
        return RollingResponse(example_id=request.example_id, logprob_nats=_sum(tokens), token_count=len(tokens))

    def _opening(self, request: Request) -> int:
        if self._server.opening is None:
            raise InvalidInputError(
                f"example {request.example_id!r}: the context is empty and the server puts no token before a text;"
                " name one in the URL, e.g. ?prefix=%3C%7Cendoftext%7C%3E"
            )
        return self._server.opening

    def _scored(self, before: int, context: str, text: str, request: Request) -> list[TokenScore]:
        """Score a text's tokens: all but as many as are before it."""
        if not text:
            return []
        tokens = self._echo((context or self._server.prefix) + text, request)[before:]
        if not tokens or any(token.logprob_nats is None for token in tokens):
            raise _UnscorableError(f"{_label(request)}: {text[:40]!r} has no token of its own behind its context")
        return tokens

    def _echo(self, prompt: str, request: Request) -> list[TokenScore]:
        limit = self._server.echo_limit or 0
        payload = echo_payload(self._endpoint.model, prompt, limit)
        return self._client.ask("completions", payload, lambda answer: read_echo(answer, limit), _label(request))


class _UnscorableError(EvalkitError):
    """The border between context and continuation is inside of a token."""


def _label(request: Request) -> str:
    return f"example {request.example_id!r}"


def _sum(tokens: Sequence[TokenScore]) -> float:
    return math.fsum(token.logprob_nats for token in tokens if token.logprob_nats is not None)


def _cut(text: str, stop: Sequence[str]) -> str:
    """Cut at the first stop string: servers take few of them, and some leave them in the text."""
    found = [place for end in stop if (place := text.find(end)) >= 0]
    return text[: min(found)] if found else text


def _is_too_long(error: RefusedError) -> bool:
    """Whether a server refused a text for its length; each of them says so in its own words."""
    if error.status not in (400, 413, 422):
        return False
    said = f"{error.code} {error}".lower().replace("_", " ")
    return error.status == 413 or any(sign in said for sign in _TOO_LONG)


def _failed(request: Request, error: str) -> Response:
    if isinstance(request, ScoreRequest):
        return ScoreResponse(example_id=request.example_id, logprobs_nats=(), error=error)
    if isinstance(request, RollingRequest):
        return RollingResponse(example_id=request.example_id, logprob_nats=0.0, token_count=0, error=error)
    return GenerateResponse(example_id=request.example_id, text=None, error=error)
