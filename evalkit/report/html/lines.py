"""The lines of samples.jsonl cut into what a sample browser shows, most of it without being parsed.

Outputs go into the page as JSON, and as JSON they are written: a line in the layout of `evalkit run` is cut at the names of
its parts. Inside of a text the quotes around such a name would be escaped, so that a text cannot look like a part.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from evalkit.comparison.loaded import LoadedRun
from evalkit.metrics.base import Statistics
from evalkit.record import RunRecord

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_PREDICTION, _REFERENCES, _INPUTS, _TRUNCATED = b',"prediction":', b',"references":', b',"inputs":', b',"truncated":'

_Cut: TypeAlias = tuple[bytes, bytes]
"""Prediction and references."""


@dataclass(frozen=True, slots=True, eq=False)
class SampleLines:
    """The samples of one run; every list has one entry an example, in the order of the file."""

    record: RunRecord
    ids: tuple[str, ...]
    outputs: Sequence[bytes]
    """As JSON."""
    references: Sequence[bytes]
    """As JSON."""
    truncated: npt.NDArray[np.bool_]
    scored: npt.NDArray[np.bool_]
    statistics: Mapping[str, Statistics]
    """The rows of unscored examples are 0."""
    lines: Sequence[bytes]
    """As they were written."""

    def whole(self, at: int) -> dict[str, Any]:
        """One sample, parsed."""
        sample: dict[str, Any] = json.loads(self.lines[at])
        return sample


def cut_up(run: LoadedRun) -> SampleLines | None:
    """Put the samples of a run into the order of the file and cut them; None where it holds no text."""
    import numpy as np

    if run.lines is None:
        return None
    order = np.argsort(np.array(run.positions, dtype=np.int64))
    places = order.tolist()
    lines = [run.lines[place] for place in places]
    try:
        cuts = list(map(_cut, lines))
    except ValueError:
        cuts = list(map(_parse, lines))
    return SampleLines(
        record=run.record,
        ids=tuple([run.ids[place] for place in places]),
        outputs=[prediction for prediction, _ in cuts],
        references=[references for _, references in cuts],
        truncated=np.array(run.truncated, dtype=np.bool_)[order],
        scored=run.scored[order],
        statistics={label: Statistics(one.columns, one.rows[order]) for label, one in run.statistics.items()},
        lines=lines,
    )


def _cut(line: bytes) -> _Cut:
    """Raises ValueError where a line has another layout."""
    start = line.index(_PREDICTION)
    tail = line.rindex(_TRUNCATED)
    end = line.rindex(_REFERENCES, start, tail)
    inputs = line.rfind(_INPUTS, end, tail)
    return line[start + len(_PREDICTION) : end], line[end + len(_REFERENCES) : inputs if inputs >= 0 else tail]


def _parse(line: bytes) -> _Cut:
    row = json.loads(line)
    return as_json(row.get("prediction")), as_json(row.get("references") or [])


def as_json(value: object) -> bytes:
    """Compact JSON in UTF-8."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # A lone surrogate, which UTF-8 cannot hold, becomes the JSON escape of the same character.
    return text.encode("utf-8", "backslashreplace")
