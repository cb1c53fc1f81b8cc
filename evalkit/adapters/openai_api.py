"""The OpenAI interface as evalkit uses it: addresses, payloads of completions and chat, and what is read from answers."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

from evalkit.adapters.openai_http import MalformedError
from evalkit.errors import InvalidInputError, UnknownNameError
from evalkit.requests import Decoding

APIS = ("completions", "chat")
"""The two ways to ask for text: a prompt that is continued, or a message that is answered."""

OPTIONS = ("api", "prefix", "timeout")
"""Options behind the URL's question mark."""

MAX_STOP = 4
"""Stop strings that the interface takes."""

_TARGET = re.compile(r"(?P<model>.+)@(?P<url>https?://.+)")
_EXAMPLE = "expected openai:MODEL@URL, e.g. openai:my-model@http://127.0.0.1:8000/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A model on a server."""

    model: str
    """The model's name there."""
    url: str
    """Base of the interface, e.g. ``http://127.0.0.1:8000/v1``."""
    api: str | None = None
    """One of `APIS`; None leaves it to what the server has."""
    prefix: str = ""
    """Text of the one token that stands before a text, for tokenizers that put none there."""
    timeout_s: float = 600.0
    """Longest wait for an answer."""


def parse_endpoint(target: str) -> Endpoint:
    """Read ``MODEL@URL``, with ``?api=completions|chat``, ``prefix=TEXT`` and ``timeout=SECONDS`` behind the URL.

    No message repeats the URL: it may hold what must not be shown.

    Raises:
        InvalidInputError: The target has another form, or its URL holds a user name or password.
        UnknownNameError: There is no such option or interface.
    """
    found = _TARGET.fullmatch(target)
    if found is None:
        raise InvalidInputError(f"the openai model has no URL or no name; {_EXAMPLE}")
    url = found["url"]
    if not url.isascii() or not url.isprintable() or " " in url:
        raise InvalidInputError(f"the URL holds spaces or characters that are not ASCII; {_EXAMPLE}")
    parts = urlsplit(url)
    if "@" in parts.netloc:
        raise InvalidInputError(
            "the URL holds a user name or password, which records would keep; leave it out and set OPENAI_API_KEY"
        )
    if not parts.hostname or parts.fragment:
        raise InvalidInputError(f"the URL has no host, or something behind '#'; {_EXAMPLE}")
    try:
        port = parts.port
    except ValueError:
        raise InvalidInputError(f"the URL's port is not a number from 0 to 65535; {_EXAMPLE}") from None
    path = parts.path.rstrip("/") or "/v1"
    if path.endswith("/completions"):
        raise InvalidInputError("the URL ends in 'completions'; expected the base before it, which usually ends in /v1")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    place = host if port is None else f"{host}:{port}"
    return Endpoint(model=found["model"], url=f"{parts.scheme}://{place}{path}", **_options(parts.query))


def _options(query: str) -> dict[str, Any]:
    if not query:
        return {}
    try:
        given = parse_qsl(query, strict_parsing=True, errors="strict")
    except ValueError:
        raise InvalidInputError("the URL's options cannot be read; expected ?NAME=VALUE&NAME=VALUE") from None
    options: dict[str, Any] = {}
    for name, value in given:
        if name not in OPTIONS:
            raise UnknownNameError("URL option", name, OPTIONS)
        if name == "api" and value not in APIS:
            raise UnknownNameError("api", value, APIS)
        if name == "timeout":
            options["timeout_s"] = _seconds(value)
        else:
            options[name] = value
    return options


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.0 < seconds < float("inf"):
        raise InvalidInputError(f"timeout is {text!r}; expected seconds above 0")
    return seconds


def check_decoding(decoding: Decoding) -> None:
    """Check that the interface can pass all settings on.

    Raises:
        InvalidInputError: It cannot, or one has a value that it cannot have.
    """
    for name, neutral in (("beams", 1), ("top_k", 0), ("repetition_penalty", 1.0), ("length_penalty", 1.0)):
        value = getattr(decoding, name)
        if value != neutral:
            raise InvalidInputError(
                f"{name} is {value!r}; the OpenAI interface has no such setting, expected {neutral!r}"
            )
    if not 0.0 <= decoding.temperature < float("inf"):
        raise InvalidInputError(f"temperature is {decoding.temperature!r}; expected at least 0")
    if not 0.0 < decoding.top_p <= 1.0:
        raise InvalidInputError(f"top_p is {decoding.top_p!r}; expected above 0 and at most 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class TextApi:
    """How a server is asked for text."""

    model: str
    """The model's name."""
    api: str
    """One of `APIS`."""
    limit_name: str = "max_tokens"
    """What the limit of new tokens is called; reasoning models of OpenAI want ``max_completion_tokens``."""

    @property
    def path(self) -> str:
        """Where to ask, below the base URL."""
        return "completions" if self.api == "completions" else "chat/completions"

    def payload(self, prompt: str, limit: int, stop: Sequence[str], decoding: Decoding) -> dict[str, Any]:
        """Ask for text that continues the prompt, or answers it."""
        asked: dict[str, Any] = {"model": self.model}
        if self.api == "completions":
            asked["prompt"] = prompt
        else:
            asked["messages"] = [{"role": "user", "content": prompt}]
        asked[self.limit_name] = limit
        asked["temperature"] = decoding.temperature
        asked["seed"] = decoding.seed
        if decoding.top_p < 1.0:
            asked["top_p"] = decoding.top_p
        if stop:
            asked["stop"] = list(stop[:MAX_STOP])
        return asked


class Text(NamedTuple):
    """A text that a server gave."""

    text: str | None
    """None where the model answered without text, e.g. refused to."""
    token_count: int | None
    """New tokens, where the server counts them."""
    is_complete: bool
    """Whether the text came to its own end, not to its limit."""
    served: tuple[str, str]
    """Model and system fingerprint that the server reports; '' where it does not."""


def read_text(answer: object) -> Text:
    """Take the text from an answer of either interface.

    Raises:
        MalformedError: There is none.
    """
    choice = _choice(answer)
    message = choice.get("message")
    if isinstance(message, Mapping):
        text = message.get("content")
    elif "text" in choice:
        text = choice["text"]
    else:
        raise MalformedError("the answer has neither text nor message")
    if text is not None and not isinstance(text, str):
        raise MalformedError(f"the answer's text is {type(text).__name__}")
    return Text(
        text=text,
        token_count=_usage(answer, "completion_tokens"),
        is_complete=choice.get("finish_reason") != "length",
        served=_served(answer),
    )


class TokenScore(NamedTuple):
    """One token of a prompt, as a server scores it."""

    text: str
    """The token's text; servers write tokens that are parts of characters in different ways."""
    logprob_nats: float | None
    """None where nothing stands before the token."""
    is_greedy: bool | None
    """Whether no token is more probable; None where the server does not say."""


def echo_payload(model: str, prompt: str, limit: int) -> dict[str, Any]:
    """Ask for the log-probabilities of a prompt's own tokens.

    Args:
        model: The model's name.
        prompt: The text.
        limit: New tokens, 0 or 1; some servers refuse 0.
    """
    return {"model": model, "prompt": prompt, "max_tokens": limit, "temperature": 0.0, "echo": True, "logprobs": 1}


def read_echo(answer: object, limit: int) -> list[TokenScore]:
    """Take the scores of the prompt's tokens from an answer.

    Args:
        answer: The parsed body.
        limit: As in `echo_payload`; new tokens are left out.

    Raises:
        MalformedError: The server did not echo the prompt, or lists do not fit each other.
    """
    found = _choice(answer).get("logprobs")
    if not isinstance(found, Mapping):
        raise MalformedError("the answer has no logprobs")
    texts, logprobs = found.get("tokens"), found.get("token_logprobs")
    if not isinstance(texts, list) or not isinstance(logprobs, list) or len(texts) != len(logprobs):
        raise MalformedError("the answer's logprobs hold no tokens, or another number of them")
    count = _usage(answer, "prompt_tokens")
    if limit and count is None:
        raise MalformedError("the answer does not say how many tokens the prompt has")
    if count is not None and not count <= len(texts) <= count + limit:
        raise MalformedError(f"the answer scores {len(texts)} tokens of a prompt of {count}")
    best = found.get("top_logprobs")
    if not isinstance(best, list) or len(best) != len(texts):
        best = [None] * len(texts)
    scores = [_token_score(*token) for token in zip(texts, logprobs, best, strict=True)]
    return scores[:count] if limit else scores


def _token_score(text: object, logprob: object, best: object) -> TokenScore:
    if not isinstance(text, str):
        raise MalformedError("a token of the answer has no text")
    if logprob is None:
        return TokenScore(text, None, None)
    if not _is_number(logprob):
        raise MalformedError(f"a token's log-probability is {logprob!r}")
    value = float(logprob)  # type: ignore[arg-type]
    if not isinstance(best, Mapping) or not best or not all(map(_is_number, best.values())):
        return TokenScore(text, value, None)
    return TokenScore(text, value, value >= max(best.values()))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _choice(answer: object) -> Mapping[str, Any]:
    if not isinstance(answer, Mapping):
        raise MalformedError(f"the answer is {type(answer).__name__}, not an object")
    if answer.get("error"):
        raise MalformedError(f"the answer is an error: {answer['error']}")
    choices = answer.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        raise MalformedError("the answer has no choices")
    return choices[0]


def _usage(answer: object, name: str) -> int | None:
    usage = answer.get("usage") if isinstance(answer, Mapping) else None
    count = usage.get(name) if isinstance(usage, Mapping) else None
    return count if isinstance(count, int) and not isinstance(count, bool) and count >= 0 else None


def _served(answer: object) -> tuple[str, str]:
    found = answer if isinstance(answer, Mapping) else {}
    return str(found.get("model") or ""), str(found.get("system_fingerprint") or "")
