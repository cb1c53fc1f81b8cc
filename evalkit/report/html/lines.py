"""The lines of samples.jsonl cut into what a sample browser shows, most of it without being parsed.

Outputs go into the page as JSON, and as JSON they are written: a line in the layout of `evalkit run` is cut at the names of
its parts. Inside of a text the quotes around such a name would be escaped, so that a text cannot look like a part.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from evalkit.comparison.loaded import load_record, load_samples, read_part
from evalkit.errors import InvalidInputError
from evalkit.metrics.base import Statistics
from evalkit.record import RunRecord
from evalkit.store import SAMPLES

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_ID = b'{"id":"'
_PREDICTION, _REFERENCES, _INPUTS, _TRUNCATED = b',"prediction":', b',"references":', b',"inputs":', b',"truncated":'
_NO_STATISTICS = b'"statistics":null'

_Cut: TypeAlias = tuple[bytes, bytes, bytes, bytes]
"""Id, prediction, references, and the rest from ``truncated`` on."""


@dataclass(frozen=True, slots=True, eq=False)
class SampleLines:
    """The samples of one run; every list has one entry an example, in the order of the file."""

    record: RunRecord
    ids: tuple[str, ...]
    outputs: Sequence[bytes]
    """As JSON."""
    references: Sequence[bytes]
    """As JSON."""
    truncated: Sequence[bool]
    scored: npt.NDArray[np.bool_]
    statistics: Mapping[str, Statistics]
    """Of the wanted metrics; the rows of unscored examples are 0."""
    lines: Sequence[bytes]
    """As they were written."""

    def whole(self, at: int) -> dict[str, Any]:
        """One sample, parsed."""
        sample: dict[str, Any] = json.loads(self.lines[at])
        return sample


def read_lines(place: str, wanted: frozenset[str]) -> SampleLines:
    """Read the samples of a run folder.

    Args:
        place: A local folder, or an address.
        wanted: Metrics whose statistics are wanted.

    Raises:
        EvalkitError: The folder cannot be read as what it should be.
    """
    record = load_record(place)
    record = replace(record, statistics={label: row for label, row in record.statistics.items() if label in wanted})
    lines = read_part(place, SAMPLES).split(b"\n")
    lines.pop()
    try:
        return _cut_up(record, lines)
    except (ValueError, TypeError):
        return _parsed(place, record)


def _cut_up(record: RunRecord, lines: Sequence[bytes]) -> SampleLines:
    """Raises ValueError where a line has another layout."""
    import numpy as np

    cuts = list(map(_cut, lines))
    ids = tuple(str(part, "utf-8") for part, _, _, _ in cuts)
    if len(set(ids)) != len(ids) or any("\\" in part for part in ids):
        raise ValueError("ids that occur twice or need parsing")
    tails = [tail for _, _, _, tail in cuts]
    scored = [_NO_STATISTICS not in tail for tail in tails]
    return SampleLines(
        record=record,
        ids=ids,
        outputs=[prediction for _, prediction, _, _ in cuts],
        references=[references for _, _, references, _ in cuts],
        truncated=[tail.startswith(b"true", len(_TRUNCATED)) for tail in tails],
        scored=np.array(scored, dtype=np.bool_),
        statistics={
            label: Statistics(stored.columns, _numbers(label, len(stored.columns), tails, scored))
            for label, stored in record.statistics.items()
        },
        lines=lines,
    )


def _cut(line: bytes) -> _Cut:
    if not line.startswith(_ID):
        raise ValueError("a line that does not begin with its id")
    start = line.index(_PREDICTION)
    tail = line.rindex(_TRUNCATED)
    end = line.rindex(_REFERENCES, start, tail)
    inputs = line.rfind(_INPUTS, end, tail)
    return (
        line[len(_ID) : line.index(b'"', len(_ID))],
        line[start + len(_PREDICTION) : end],
        line[end + len(_REFERENCES) : inputs if inputs >= 0 else tail],
        line[tail:],
    )


def _numbers(label: str, width: int, tails: Sequence[bytes], scored: Sequence[bool]) -> npt.NDArray[np.float64]:
    """The statistics of one metric, shape (n, width)."""
    import numpy as np

    name = json.dumps(label, ensure_ascii=False).encode() + b":["
    blank = b",".join([b"0"] * width)
    rows = []
    for tail, is_scored in zip(tails, scored, strict=True):
        start = tail.index(name) + len(name) if is_scored else 0
        rows.append(tail[start : tail.index(b"]", start)] if is_scored else blank)
    return np.array(json.loads(b"[" + b",".join(rows) + b"]"), dtype=np.float64).reshape(len(rows), width)


def _parsed(place: str, record: RunRecord) -> SampleLines:
    """Read lines of any layout, in the order of their ids."""
    loaded = load_samples(place, record)
    if loaded.lines is None:
        raise InvalidInputError(f"{place} holds no text")
    rows = [json.loads(line) for line in loaded.lines]
    return SampleLines(
        record=record,
        ids=loaded.ids,
        outputs=[as_json(row.get("prediction")) for row in rows],
        references=[as_json(row.get("references") or []) for row in rows],
        truncated=loaded.truncated,
        scored=loaded.scored,
        statistics=loaded.statistics,
        lines=loaded.lines,
    )


def as_json(value: object) -> bytes:
    """Compact JSON in UTF-8."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # A lone surrogate, which UTF-8 cannot hold, becomes the JSON escape of the same character.
    return text.encode("utf-8", "backslashreplace")
