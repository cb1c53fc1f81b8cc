"""What a server can do: found out by a few small questions before the first request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from evalkit.adapters.openai_api import Endpoint, Text, TextApi, TokenScore, echo_payload, read_echo, read_text
from evalkit.adapters.openai_http import JsonClient, MalformedError, RefusedError, RetryPolicy, UnansweredError
from evalkit.errors import InvalidInputError, UnknownNameError
from evalkit.requests import Decoding

PROBE = "The cat sat on the mat."
_LABEL = "first question"
_PROBE_ATTEMPTS = 3
_PROBE_LIMITS = {"completions": 1, "chat": 16}  # chat models may think before they speak
_SHOWN_MODELS = 20
_NO_SUCH_API = frozenset({400, 404, 405, 501})
_NO_SCORES = frozenset({200, 500})
_REPORTED = ("owned_by", "root", "max_model_len")


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """What a server can do for a model."""

    text: TextApi
    """How it is asked for text."""
    echo_limit: int | None = None
    """New tokens to ask for when a prompt's own tokens are scored; None where the server cannot score them."""
    opening: int | None = None
    """Echoed tokens before those of a text that begins; None where nothing stands there and its first token has no score."""
    prefix: str = ""
    """What evalkit puts before such a text, for the server does not; '' for nothing."""
    served: tuple[str, str] = ("", "")
    """Model and system fingerprint of the first answer."""
    reported: Mapping[str, Any] = field(default_factory=dict)
    """What the server's list of models says about the model."""
    warnings: tuple[str, ...] = ()
    """What a user should know."""

    @property
    def supports(self) -> frozenset[str]:
        """The request kinds that can be answered."""
        kinds = {"generate"}
        if self.echo_limit is not None:
            kinds |= {"score"} if self.opening is None else {"score", "rolling"}
        return frozenset(kinds)


def probe_policy(policy: RetryPolicy) -> RetryPolicy:
    """The policy for the first questions: a wrong address should be told soon."""
    return replace(policy, attempts=min(policy.attempts, _PROBE_ATTEMPTS))


def probe(client: JsonClient, endpoint: Endpoint) -> Server:
    """Find out what the server can do.

    Raises:
        RefusedError: The server does not let evalkit ask.
        UnansweredError: The server does not answer, or not in the way of the interface.
        UnknownNameError: The server has no such model.
        InvalidInputError: The prefix is not one token of the model.
    """
    text, first, warnings = _find_api(client, endpoint)
    served = (client.hide(first.served[0]), client.hide(first.served[1]))
    server = Server(text=text, served=served, warnings=warnings, reported=_reported(client, endpoint))
    if text.api == "chat":
        if endpoint.prefix:
            raise InvalidInputError("the URL option 'prefix' goes with completions; chat scores no text")
        return server
    return _find_scores(client, endpoint, server)


def _find_api(client: JsonClient, endpoint: Endpoint) -> tuple[TextApi, Text, tuple[str, ...]]:
    api = endpoint.api or "completions"
    try:
        return *_ask(client, endpoint, api), ()
    except RefusedError as refused:
        if endpoint.api is not None or refused.status not in _NO_SUCH_API:
            _check_name(client, endpoint, refused)
            raise
        try:
            text, first = _ask(client, endpoint, "chat")
        except RefusedError as second:
            _check_name(client, endpoint, second)
            raise second from refused
    warning = "the server has no completions for this model: prompts are sent as chat messages; add ?api=chat if meant"
    return text, first, (warning,)


def _ask(client: JsonClient, endpoint: Endpoint, api: str) -> tuple[TextApi, Text]:
    text = TextApi(model=endpoint.model, api=api)
    try:
        return text, _ask_once(client, text)
    except RefusedError as refused:
        if api != "chat" or "max_completion_tokens" not in str(refused):
            raise
    text = replace(text, limit_name="max_completion_tokens")
    return text, _ask_once(client, text)


def _ask_once(client: JsonClient, text: TextApi) -> Text:
    # A temperature of 1 is what models accept that accept one only.
    payload = text.payload(PROBE, _PROBE_LIMITS[text.api], (), Decoding(temperature=1.0))
    return client.ask(text.path, payload, read_text, _LABEL)


def _check_name(client: JsonClient, endpoint: Endpoint, refused: RefusedError) -> None:
    """Tell a wrong name of the model from other reasons to refuse, where the server lists its models."""
    if refused.status not in (400, 404):
        return
    names = [client.hide(str(model["id"])) for model in _models(client)]
    if names and endpoint.model not in names:
        raise UnknownNameError(f"model of {endpoint.url}", endpoint.model, names[:_SHOWN_MODELS]) from refused


def _reported(client: JsonClient, endpoint: Endpoint) -> dict[str, Any]:
    for model in _models(client):
        if model["id"] == endpoint.model:
            known = ((name, model.get(name)) for name in _REPORTED)
            return {
                name: client.hide(value) if isinstance(value, str) else value
                for name, value in known
                if isinstance(value, str | int)
            }
    return {}


def _models(client: JsonClient) -> list[Mapping[str, Any]]:
    """List the server's models; none where it does not list them, for not all servers do."""
    try:
        return client.ask("models", None, _read_models, _LABEL)
    except (RefusedError, UnansweredError):
        return []


def _read_models(answer: object) -> list[Mapping[str, Any]]:
    models = answer.get("data") if isinstance(answer, Mapping) else None
    if not isinstance(models, list):
        raise MalformedError("the list of models is none")
    return [model for model in models if isinstance(model, Mapping) and "id" in model]


def _find_scores(client: JsonClient, endpoint: Endpoint, server: Server) -> Server:
    for limit in (0, 1):
        tokens = _echo(client, endpoint, PROBE, limit)
        if tokens is None:
            continue
        opening = _opening(tokens)
        if opening is not None or not endpoint.prefix:
            return replace(server, echo_limit=limit, opening=opening)
        longer = len(_echo(client, endpoint, endpoint.prefix + PROBE, limit) or ()) - len(tokens)
        if longer != 1:
            raise InvalidInputError(
                f"prefix {endpoint.prefix!r} is {longer} tokens before a text; expected a special one"
            )
        return replace(server, echo_limit=limit, opening=1, prefix=endpoint.prefix)
    if endpoint.prefix:
        raise InvalidInputError("the URL option 'prefix' is for scoring; this server gives no logprobs of a prompt")
    return server


def _echo(client: JsonClient, endpoint: Endpoint, prompt: str, limit: int) -> list[TokenScore] | None:
    """Score a prompt's tokens; None where the server cannot."""

    def read(answer: object) -> list[TokenScore]:
        tokens = read_echo(answer, limit)
        # One token may be left without a score, the first; a server that does not echo gives a token or none.
        if len(tokens) < len(prompt.split()) or any(token.logprob_nats is None for token in tokens[1:]):
            raise MalformedError("the prompt is not echoed")
        return tokens

    try:
        return client.ask("completions", echo_payload(endpoint.model, prompt, limit), read, _LABEL)
    except RefusedError:
        return None
    except UnansweredError as error:
        if error.status in _NO_SCORES:
            return None
        raise


def _opening(tokens: list[TokenScore]) -> int | None:
    """Count the echoed tokens before the text's own; None where its first one has no score."""
    shown = tokens[0].text.lstrip("\u2581 ")
    if not shown or not PROBE.startswith(shown):
        return 1
    return None if tokens[0].logprob_nats is None else 0
