"""The record of one run, and its JSON: written once, never edited.

A record says everything that is needed to trust a number, to trace it and to make it again: the task with its version and
digests, the data, the model, the settings, each value with interval and signature, counts, timing and environment. JSON has
no NaN: an undefined value is null.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from evalkit.errors import InvalidInputError
from evalkit.table import printable

COMPLETE = "complete"
"""Status of a run that answered all its examples."""

SCHEMA_VERSION = 1
"""Rises when a field changes its meaning or goes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricValue:
    """One named value of one metric."""

    metric: str
    """Label of the metric, e.g. ``rouge`` or ``seqeval-strict-IOB2``."""
    name: str
    """Name of the value, e.g. ``rouge1`` or ``f1``."""
    value: float | None
    """None where it is undefined."""
    low: float | None
    """Lower end of the interval."""
    high: float | None
    """Upper end of the interval."""
    stderr: float | None
    """Standard error."""
    n: int
    """Examples that were scored."""
    unscored: int
    """Examples that could not be scored."""
    signature: str
    """Every setting that changes the value."""
    higher_is_better: bool
    """Direction."""
    scale: float
    """100 where the official scorer prints percent, else 1."""
    headline: bool
    """Whether tables show it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredStatistics:
    """How to read a metric's numbers in the samples, and how to score their sums again."""

    metric: str
    """Name of the metric."""
    settings: Mapping[str, Any]
    """Settings that differ from the metric's defaults, as `evalkit.metrics.configure` takes them."""
    columns: tuple[str, ...]
    """Names of the statistics, in the order of the samples' numbers."""


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """Everything about one run but its samples."""

    id: str
    """Name of the run's folder."""
    created: str
    """Start of the run, UTC, ISO 8601."""
    status: str
    """``complete``, or why not."""
    task: Mapping[str, Any]
    """name, kind, language, version, digest."""
    data: Mapping[str, Any]
    """source, revision, digest, n, split."""
    model: Mapping[str, Any]
    """ref, name, digest, family, parameters, tokens_seen and more that the adapter tells."""
    settings: Mapping[str, Any]
    """Everything of the command that changes answers or intervals."""
    metrics: tuple[MetricValue, ...]
    """Values, the task's main one first."""
    statistics: Mapping[str, StoredStatistics]
    """Metric label to what its stored statistics are."""
    details: Mapping[str, Any]
    """Metric label to all that the official scorer prints."""
    counts: Mapping[str, int]
    """examples, truncated, failed, cached, empty."""
    timing: Mapping[str, float]
    """load_s, answer_s, measure_s, tokens_per_s."""
    environment: Mapping[str, Any]
    """Versions, git commit, device."""
    warnings: tuple[str, ...] = ()
    """What a reader of the numbers should know."""
    schema_version: int = field(default=SCHEMA_VERSION)

    def main(self) -> MetricValue:
        """The value that leaderboards and the gate use."""
        return self.metrics[0]

    def to_json(self) -> str:
        """One JSON document, keys in the order of the fields."""
        return json.dumps(asdict(self), ensure_ascii=False, indent=1, allow_nan=False) + "\n"

    @staticmethod
    def from_json(text: str) -> RunRecord:
        """Read a record.

        Raises:
            InvalidInputError: The text is no record, or one of a newer schema.
        """
        try:
            document = json.loads(text)
            version = document["schema_version"]
            if version > SCHEMA_VERSION:
                writer = printable(str(document.get("environment", {}).get("evalkit", "a newer version")))
                raise InvalidInputError(
                    f"run record of schema {version}, written by evalkit {writer}; this evalkit reads up to schema"
                    f" {SCHEMA_VERSION}: install that version or a newer one"
                )
            document["metrics"] = tuple(MetricValue(**value) for value in document["metrics"])
            document["statistics"] = {label: _statistics(stored) for label, stored in document["statistics"].items()}
            document["warnings"] = tuple(document["warnings"])
            return RunRecord(**document)
        except InvalidInputError:
            raise
        except RecursionError as error:
            raise InvalidInputError("not a run record: run.json is nested too deeply; the folder was edited") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            problem = printable(str(error))
            raise InvalidInputError(f"not a run record: {problem}; expected the run.json of a run folder") from error


def _statistics(stored: Mapping[str, Any]) -> StoredStatistics:
    return StoredStatistics(**{**stored, "columns": tuple(stored["columns"])})
