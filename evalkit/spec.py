"""Frozen descriptions: what a task is, where its data comes from, which model is meant, how a run is set up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeAlias

from evalkit.errors import InvalidInputError
from evalkit.languages import language_code
from evalkit.metrics.base import AnyMetric

if TYPE_CHECKING:
    from evalkit.requests import ModelSettings

REQUEST_KINDS: tuple[str, ...] = ("generate", "score", "rolling", "label", "span", "classify")
"""The kinds of requests of `evalkit.requests`, by name."""

Row: TypeAlias = Mapping[str, Any]
"""One record of a data file under the field names of the task's kind, before it becomes an `Example`."""


@dataclass(frozen=True, kw_only=True)
class Files:
    """Data in files below a data folder; any path may also lie there with ``.gz`` behind it."""

    format: str
    """Name of the reader, see `evalkit.data.READERS`."""
    splits: Mapping[str, tuple[str, ...]]
    """Split name to paths relative to the data folder; several where a split spans files (source, references)."""
    fields: Mapping[str, str] = field(default_factory=dict)
    """Field of the kind to column or key of the file, where the two differ."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the reader, e.g. ``scheme`` of CoNLL tags."""
    lexicon: str | None = None
    """Word list of a segmentation task, one word a line; without it the training split's words are used."""


@dataclass(frozen=True, kw_only=True)
class Hub:
    """A data set on the Hugging Face hub, pinned."""

    name: str
    """``owner/name`` on the hub."""
    revision: str
    """Commit or branch that is loaded; '' means the newest commit. The commit is written into the run."""
    splits: Mapping[str, str]
    """Split name of the task to split name on the hub."""
    checked: str
    """How far name and revision could be checked, and where."""
    config: str | None = None
    """Configuration (subset) on the hub."""
    fields: Mapping[str, str] = field(default_factory=dict)
    """Field of the kind to column on the hub; ``a.b`` reaches into a nested column."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the conversion, e.g. ``scheme`` and ``names`` of integer tags."""


@dataclass(frozen=True, kw_only=True)
class Generated:
    """Data from a seeded generator in the package: no download, any size, splits disjoint by construction."""

    rows: Callable[[str, int, int], Iterable[Row]]
    """Called with split, number of examples and seed."""
    sizes: Mapping[str, int]
    """Default number of examples of each split."""
    seed: int = 0
    """Default seed; part of the data's identity."""
    facts: Callable[[], Mapping[str, Any]] | None = None
    """Known truths of the source, e.g. its entropy in nats a token; None where there are none."""


@dataclass(frozen=True, kw_only=True)
class TaskSpec:
    """A task: data, prompt, request kinds and metrics under one name and version."""

    name: str
    """Unique name, lower case with underscores."""
    kind: str
    """mt, summarization, qa, ner, cws, lm or classification."""
    version: int
    """Rises when a prompt, a split or a metric changes."""
    summary: str
    """What it measures, one line."""
    language: str
    """Language of the answers; any form of its code becomes the one of `language_code`."""
    paper: str
    """Source: authors, year, title or venue."""
    licence: str
    """Licence of the data, as its source states it."""
    source_language: str | None = None
    """Language of the inputs where it differs from `language`."""
    files: Files | None = None
    """Where the data lies in files."""
    hub: Hub | None = None
    """Where the data lies on the hub."""
    generated: Generated | None = None
    """How the data is generated."""
    split: str = "test"
    """Split that is scored by default."""
    shots_split: str | None = "train"
    """Split that few-shot examples come from; None where the task has none."""
    metrics: tuple[AnyMetric, ...] = ()
    """Metrics, main one first; empty means the defaults of kind and language."""
    requests: tuple[str, ...] = ()
    """Request kinds that the task allows, in order of preference; empty means those of the kind."""
    instruction: str = ""
    """Template of the text before all shots, e.g. what to do; may be empty."""
    prompt: str = ""
    """Template of one example up to where the answer begins; empty means the default of kind and language."""
    answer: str = ""
    """Template of an example's answer in a shot; empty means the default of the kind."""
    stop: tuple[str, ...] = ("\n",)
    """Texts that end a generated answer."""
    max_new_tokens: int = 256
    """Longest generated answer."""
    labels: tuple[str, ...] = ()
    """Classes or entity types, where the task knows them."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the kind, e.g. ``unanswerable`` for question answering."""

    def __post_init__(self) -> None:
        for name in ("language", "source_language"):
            given = getattr(self, name)
            if given is not None:
                object.__setattr__(self, name, self._code(given))
        for request in self.requests:
            if request not in REQUEST_KINDS:
                raise InvalidInputError(
                    f"task {self.name!r}: request kind {request!r} is not one of {', '.join(REQUEST_KINDS)}"
                )
        if not (self.files or self.hub or self.generated):
            raise InvalidInputError(f"task {self.name!r} has no data: expected files, hub or generated")

    @property
    def metric_labels(self) -> tuple[str, ...]:
        """Names of the metrics in records: their labels, with settings where one label would stand for several.

        Raises:
            InvalidInputError: One metric stands there twice with the same settings.
        """
        plain = [metric.label for metric in self.metrics]
        labels = tuple(
            label if plain.count(label) == 1 else f"{label}{_settings(metric)}"
            for label, metric in zip(plain, self.metrics, strict=True)
        )
        for label in labels:
            if labels.count(label) > 1:
                raise InvalidInputError(
                    f"task {self.name!r}: metric {label!r} stands there twice with the same settings"
                )
        return labels

    def _code(self, language: str) -> str:
        try:
            return language_code(language)
        except InvalidInputError as error:
            raise InvalidInputError(f"task {self.name!r}: {error}") from error

    @property
    def main_metric(self) -> str:
        """Name of the value that leaderboards and the gate use."""
        return self.metrics[0].headline[0]


def _settings(metric: AnyMetric) -> str:
    """Settings that differ from a metric's defaults, in brackets; '' if none does."""
    changed = [
        f"{setting.name}={getattr(metric, setting.name)}"
        for setting in fields(metric)  # type: ignore[arg-type]
        if setting.init and getattr(metric, setting.name) != setting.default
    ]
    return f"[{','.join(changed)}]" if changed else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRef:
    """A model as named on the command line: a scheme and what it points to."""

    scheme: str
    """``predictions``, ``baseline``, ``openai``, ``hf`` or ``checkpoint``."""
    target: str
    """The file, the baseline's name, the folder or the address."""

    def __str__(self) -> str:
        return self.target if self.scheme == "checkpoint" else f"{self.scheme}:{self.target}"


@dataclass(frozen=True, kw_only=True)
class RunSpec:
    """How one run of one task with one model is set up; every setting is written into the record."""

    task: str
    """Name of the task, or path of its file."""
    model: ModelRef
    """Which model answers."""
    split: str
    """Split that is scored."""
    data_dir: str | None = None
    """Folder of data files; None means the hub or the task's generator."""
    limit: int | None = None
    """Score only the first so many examples."""
    sample_ids: tuple[str, ...] | None = None
    """Score only these examples."""
    shots: int = 0
    """Number of solved examples in a prompt."""
    max_new_tokens: int | None = None
    """Longest generated answer, where it is not the task's own."""
    seed: int = 0
    """Seed of shots and of the bootstrap."""
    confidence: float = 0.95
    """Level of the intervals."""
    resamples: int = 1000
    """Bootstrap resamples; 0 switches bootstrap intervals off."""
    neural: ModelSettings | None = None
    """How a neural model is run; None for systems that are none."""
