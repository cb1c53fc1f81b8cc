"""Numbers and untrusted text in words: for terminals, Markdown, JSON and XML."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from evalkit.table import printable

SIGNIFICANT_DIGITS = 10
"""Digits of numbers in JSON: more than any decision needs, fewer than differ between machines."""

_MARKDOWN = re.compile(r"[\\`*_{}\[\]<>#|~&$@]|:(?=//)|(?<=www)\.|^[-+=\d]")
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def number(value: float | None, scale: float, signed: bool = False) -> str:
    """A value as its field prints it: two decimals in percent and above 10, else four; a dash where undefined."""
    if value is None:
        return "-"
    digits = 2 if scale == 100 or abs(value) >= 10 else 4
    text = f"{value:+.{digits}f}" if signed else f"{value:.{digits}f}"
    # A rounded zero has no sign.
    return text.lstrip("+-") if not text.strip("+-0.") else text


def interval(low: float | None, high: float | None, scale: float) -> str:
    """An interval of differences in brackets; a dash where there is none."""
    if low is None or high is None:
        return "-"
    return f"[{number(low, scale, signed=True)}, {number(high, scale, signed=True)}]"


def p_value(p: float | None) -> str:
    """A p-value with four decimals."""
    if p is None:
        return "-"
    return "<0.0001" if p < 0.0001 else f"{p:.4f}"


def percent(share: float, digits: int = 1) -> str:
    """A share in percent."""
    return f"{100 * share:.{digits}f}%"


def plain_json(value: Any) -> Any:  # noqa: ANN401
    """A document with every number rounded alike, so that equal results print equal bytes."""
    if isinstance(value, float):
        return float(f"{value:.{SIGNIFICANT_DIGITS}g}")
    if isinstance(value, Mapping):
        return {key: plain_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(item) for item in value]
    return value


def markdown(text: str) -> str:
    """A text as one line of a Markdown table cell that shows it as it is and does nothing else."""
    line = " ".join(printable(xml(text)).split())
    return _MARKDOWN.sub(lambda mark: f"&#{ord(mark[0])};", line)


def xml(text: str) -> str:
    """A text without the characters that XML 1.0 cannot hold; each becomes a replacement character."""
    return _NOT_XML.sub("\ufffd", text)


def clip(value: object, length: int = 160) -> str:
    """A prediction or reference on one line, cut to a length."""
    text = value if isinstance(value, str) else "" if value is None else _flat(value)
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 3]}..."


def _flat(value: object) -> str:
    if isinstance(value, dict):
        return str(value.get("text", value))
    if isinstance(value, list | tuple):
        joiner = " " if all(isinstance(item, str) and len(item) < 20 for item in value) else " / "
        return joiner.join(map(_flat, value))
    return str(value)
