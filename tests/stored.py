"""Stored runs made by hand for tests: a metric, outputs and references in, a run folder out."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evalkit.metrics.base import AnyMetric, none_if_nan
from evalkit.provenance import describe_statistics, plain, plain_numbers
from evalkit.record import MetricValue, RunRecord
from evalkit.store import RunStore


def keep_run(
    folder: Path,
    metric: AnyMetric,
    predictions: Sequence[Any],
    references: Sequence[Sequence[Any]],
    *,
    name: str = "system",
    ids: Sequence[str] | None = None,
    clusters: Sequence[str | None] | None = None,
    changes: dict[str, Any] | None = None,
    task: dict[str, Any] | None = None,
) -> str:
    """Measure outputs and keep them as a run; returns the folder."""
    statistics = metric.statistics(predictions, references)
    scores = metric.score(statistics.total(), statistics.columns)
    n = len(predictions)
    record = {
        "id": name,
        "created": "2026-01-01T00:00:00+00:00",
        "status": "complete",
        "task": {"name": "toy", "kind": "mt", "language": "en", "version": 1, "digest": "d1", **(task or {})},
        "data": {"source": "files", "revision": None, "split": "test", "digest": "data", "n": n, "scored_n": n},
        "model": {"ref": f"predictions:{name}", "name": name, "digest": name, "family": "predictions"},
        "settings": {},
        "metrics": tuple(
            MetricValue(
                metric=metric.label, name=value, value=none_if_nan(float(scores[value])), low=None, high=None, stderr=None, n=n,
                unscored=0, signature=metric.signature(references), higher_is_better=metric.higher_is_better,
                scale=metric.scale, headline=True,
            )
            for value in metric.headline
        ),
        "statistics": {metric.label: describe_statistics(metric, statistics)},
        "details": {},
        "counts": {"examples": n, "truncated": 0, "failed": 0, "cached": 0, "empty": 0},
        "timing": {},
        "environment": {"evalkit": "0.0.0"},
        **(changes or {}),
    }  # fmt: skip
    samples = [
        {
            "id": ids[place] if ids else f"e{place:04}",
            "cluster": clusters[place] if clusters else None,
            "prompt_digest": f"p{ids[place] if ids else place}",
            "response": {"text": plain(predictions[place])},
            "prediction": plain(predictions[place]),
            "references": plain(references[place]),
            "truncated": False,
            "statistics": {metric.label: plain_numbers(statistics.rows[place])},
        }
        for place in range(n)
    ]
    return RunStore(str(folder)).keep(RunRecord(**record), samples)
