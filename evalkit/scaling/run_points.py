"""Points from stored runs: what a language-modelling run says about its model and its loss.

Size, tokens seen, shape and training of a model are in the record of every run of a checkpoint; the loss is the summed
log-probability over tokens or bytes. Checkpoints of one training are one cluster, trainings that differ in their seed alone
are replicates, and compute is counted from the shape.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalkit.comparison.loaded import run_folders
from evalkit.digests import digest_json
from evalkit.errors import InvalidInputError, UnknownNameError
from evalkit.record import MetricValue, RunRecord
from evalkit.scaling.flops import FAMILIES, count_flops, count_parameters
from evalkit.store import read_record

COUNTINGS = ("total", "non-embedding", "with-head")
"""How N is counted: all parameters; without embeddings; without embeddings but with the head's matrix."""
UNITS = ("nats/token", "nats/byte", "bits/byte")
"""Units of loss that a run can give."""
FLOPS = "from the shapes, with attention and head, three forward passes a step"
"""How compute is counted."""

_VALUES: Mapping[str, tuple[str, str]] = {
    "perplexity": ("token_perplexity", "bits_per_byte"),
    "pseudo_perplexity": ("token_pseudo_perplexity", ""),
}
"""Metric to its values in nats a token (as an exponential) and bits a byte."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """What is taken from the runs."""

    task: str | None = None
    """Task whose loss is taken; needed where the runs are of several."""
    counting: str = "non-embedding"
    """One of `COUNTINGS`."""
    unit: str = "nats/token"
    """One of `UNITS`."""

    def __post_init__(self) -> None:
        if self.counting not in COUNTINGS:
            raise UnknownNameError("way to count N", str(self.counting), COUNTINGS)
        if self.unit not in UNITS:
            raise UnknownNameError("unit of loss", str(self.unit), UNITS)


def run_columns(places: Sequence[str], options: RunOptions | None = None) -> dict[str, Any]:
    """Gather the columns of stored runs as `evalkit.scaling.make_points` takes them.

    Args:
        places: Run folders, or folders of run folders.
        options: What is taken from them.

    Raises:
        InvalidInputError: A place has no run, a run is incomplete or no run of a checkpoint's language modelling, or runs are
            of several tasks or data.
    """
    chosen = options or RunOptions()
    records = list(_of_one_task(places, chosen.task))
    _check_alike(records)
    rows = [_row(place, record, chosen) for place, record in records]
    columns: dict[str, Any] = {name: [row[name] for row in rows] for name in rows[0]}
    if any(compute is None for compute in columns["C"]):
        del columns["C"]
    for name in ("stderr", "lr", "layers"):
        if any(value is None for value in columns[name]):
            del columns[name]
    latest = _latest(columns["cluster"], columns["D"])
    columns["final"] = [tokens == latest[name] for name, tokens in zip(columns["cluster"], columns["D"], strict=True)]
    return {**columns, "loss_unit": chosen.unit, "loss_source": "held-out", "size_counting": chosen.counting}


def _of_one_task(places: Sequence[str], task: str | None) -> Iterable[tuple[str, RunRecord]]:
    found: dict[str, list[tuple[str, RunRecord]]] = {}
    for place in places:
        for folder in run_folders(place):
            record = read_record(folder)
            if record.task.get("kind") == "lm":
                found.setdefault(str(record.task["name"]), []).append((folder, record))
    if task is not None:
        if task not in found:
            raise UnknownNameError("task among the runs", task, found)
        return found[task]
    if len(found) != 1:
        named = ", ".join(sorted(found)) or "none"
        raise InvalidInputError(
            f"runs of language-modelling tasks found: {named}; expected those of one task: name it with --task"
        )
    return next(iter(found.values()))


def _check_alike(records: Sequence[tuple[str, RunRecord]]) -> None:
    """Refuse losses that were not measured alike."""
    first_place, first = records[0]
    for place, record in records:
        if record.status != "complete":
            raise InvalidInputError(f"{place}: the run is {record.status!r}; expected a complete one: run it again")
        for what, one, other in (
            ("task version", record.task.get("version"), first.task.get("version")),
            ("data", record.data.get("digest"), first.data.get("digest")),
            ("metric", record.metrics[0].signature, first.metrics[0].signature),
        ):
            if one != other:
                raise InvalidInputError(
                    f"{place} and {first_place} differ in {what}: {one!r} and {other!r}; such losses cannot be compared,"
                    " so run one of them again"
                )


def _row(place: str, record: RunRecord, options: RunOptions) -> dict[str, Any]:
    model = record.model
    tokens = model.get("tokens_seen")
    if not tokens:
        raise InvalidInputError(
            f"{place}: the record does not say how many tokens {model.get('name')!r} has seen; expected a checkpoint of"
            " evalkit train, or tokens_seen in its card.json"
        )
    loss, stderr = _loss(place, record, options.unit)
    shape, training = model.get("shape") or {}, model.get("training") or {}
    return {
        "N": float(_size(place, model, options.counting)),
        "D": float(tokens),
        "C": _compute(model, float(tokens)),
        "loss": loss,
        "stderr": stderr,
        "run": record.id,
        "cluster": _cluster(model),
        "seed": str(training.get("seed", 0)),
        "tokenizer": str(model.get("digest", "")).rpartition("-")[2] or "unknown",
        "lr": training.get("lr"),
        "layers": shape.get("layers"),
    }


def _loss(place: str, record: RunRecord, unit: str) -> tuple[float, float | None]:
    """Loss and its standard error; perplexity's is that of its logarithm times itself."""
    values = {(value.metric, value.name): value for value in record.metrics}
    for metric, (by_token, by_byte) in _VALUES.items():
        name = by_token if unit == "nats/token" else by_byte
        if (metric, name) in values:
            return _in_nats(values[metric, name], unit)
    raise InvalidInputError(
        f"{place}: no loss in {unit} among its values {', '.join(dict.fromkeys(name for _, name in values))};"
        " expected a run of a language model on texts"
    )


def _in_nats(value: MetricValue, unit: str) -> tuple[float, float | None]:
    if value.value is None:
        return math.nan, None
    if unit == "nats/token":
        return math.log(value.value), None if value.stderr is None else value.stderr / value.value
    factor = math.log(2) if unit == "nats/byte" else 1.0
    return factor * value.value, None if value.stderr is None else factor * value.stderr


def _size(place: str, model: Mapping[str, Any], counting: str) -> int:
    names = {"total": "parameters", "non-embedding": "parameters_non_embedding"}
    if counting == "with-head":
        if _is_counted(model):
            return count_parameters(model["family"], model["shape"]).non_embedding_with_head
    elif isinstance(model.get(names[counting]), int):
        return int(model[names[counting]])
    raise InvalidInputError(
        f"{place}: the record does not say the {counting} number of parameters of {model.get('name')!r};"
        " expected a run of a checkpoint: run it again with this evalkit"
    )


def _is_counted(model: Mapping[str, Any]) -> bool:
    return model.get("family") in FAMILIES and isinstance(model.get("shape"), Mapping)


def _compute(model: Mapping[str, Any], tokens: float) -> float | None:
    """Training compute at the model's full length; None where the shape is not known."""
    if not _is_counted(model):
        return None
    return count_flops(model["family"], model["shape"], int(model["shape"]["max_length"])).training(tokens)


def _cluster(model: Mapping[str, Any]) -> str:
    """Name the training that a checkpoint is of: those of one recipe and seed are one; else each is its own."""
    training = model.get("training") or {}
    if training.get("recipe_digest"):
        return digest_json([training["recipe_digest"], training.get("seed"), model.get("shape")])
    return json.dumps([model.get("ref"), model.get("digest")])


def _latest(clusters: Sequence[str], tokens: Sequence[float]) -> dict[str, float]:
    latest: dict[str, float] = {}
    for name, seen in zip(clusters, tokens, strict=True):
        latest[name] = max(seen, latest.get(name, 0.0))
    return latest
