"""Check a task before anyone runs it: data of every split, ids, prompts, metrics, and leakage into the shots."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from evalkit.data.load import TaskData, lexicon, load
from evalkit.digests import digest_json
from evalkit.errors import EvalkitError, MissingResourceError
from evalkit.kinds import KINDS
from evalkit.prompts import render, shots_for
from evalkit.requests import Answer, Example, GenerateRequest, RollingResponse, ScoreRequest
from evalkit.spec import TaskSpec

OK, WARNING, PROBLEM = "ok", "warning", "problem"

DEFAULT_SHOTS_SPLIT = "train"
"""Where shots come from unless the task says otherwise; a task need not have it."""

METRIC_ROWS = 200
"""Examples that metrics are tried on."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was checked."""

    check: str
    status: str
    """``ok``, ``warning`` or ``problem``."""
    detail: str


def validate(task: TaskSpec, data_dir: Path | None) -> list[Finding]:
    """Run every check that the data at hand allows; a problem in one does not stop the others."""
    loaded: dict[str, TaskData] = {}
    findings = list(_splits(task, data_dir, loaded))
    scored = loaded.get(task.split)
    if scored is None:
        return findings
    pool = loaded[task.shots_split].examples if task.shots_split in loaded else ()
    for check, work in _checks(task, scored, pool, data_dir).items():
        try:
            findings.append(work())
        except MissingResourceError as error:
            findings.append(Finding(check, WARNING, str(error)))
        except (EvalkitError, ValueError, TypeError) as error:
            findings.append(Finding(check, PROBLEM, str(error)))
    return findings


def known_splits(task: TaskSpec) -> list[str]:
    """Names of all splits of a task, in order."""
    sources = (
        task.files.splits if task.files else {},
        task.hub.splits if task.hub else {},
        task.generated.sizes if task.generated else {},
    )
    return list(dict.fromkeys(name for splits in sources for name in splits))


def _splits(task: TaskSpec, data_dir: Path | None, loaded: dict[str, TaskData]) -> Iterator[Finding]:
    for split in known_splits(task):
        try:
            data = load(task, split, data_dir)
        except MissingResourceError as error:
            yield Finding(f"data {split}", PROBLEM if split == task.split else WARNING, str(error))
        except EvalkitError as error:
            yield Finding(f"data {split}", PROBLEM, str(error))
        else:
            loaded[split] = data
            clusters = len({example.cluster for example in data.examples if example.cluster is not None})
            within = f" in {clusters} clusters" if clusters else ""
            yield Finding(
                f"data {split}",
                OK,
                f"{len(data.examples)} examples{within}, ids unique, from {data.source}, digest {data.digest}",
            )
            for warning in data.warnings:
                yield Finding(f"data {split}", WARNING, warning)
    for use, named in (("scored split", task.split), ("split of shots", task.shots_split)):
        if named not in (None, DEFAULT_SHOTS_SPLIT) and named not in known_splits(task):
            yield Finding("data", PROBLEM, f"the {use} {named!r} is not among {', '.join(known_splits(task))}")


def _checks(
    task: TaskSpec, scored: TaskData, pool: Sequence[Example], data_dir: Path | None
) -> dict[str, Callable[[], Finding]]:
    return {
        "requests": lambda: _requests(task, scored.examples),
        "prompt": lambda: _prompts(task, scored.examples, pool),
        "metrics": lambda: _metrics(task, scored.examples, data_dir),
        "leakage": lambda: _leakage(task, scored.examples, pool),
    }


def _requests(task: TaskSpec, examples: Sequence[Example]) -> Finding:
    kind = KINDS[task.kind]
    for request_kind in task.requests:
        for example in _some(examples):
            kind.request(task, example, request_kind, prompt="")
    return Finding("requests", OK, f"asks by {', '.join(task.requests)}")


def _prompts(task: TaskSpec, examples: Sequence[Example], pool: Sequence[Example]) -> Finding:
    prompted = [kind for kind in task.requests if kind in (GenerateRequest.kind, ScoreRequest.kind)]
    if not prompted:
        return Finding("prompt", OK, "no request kind of this task shows a prompt")
    longest = 0
    for example in _some(examples):
        zero_shot = render(task, example)
        # Without a split for shots the answer template is still tried, on other examples of the scored split.
        few_shot = render(task, example, shots_for(example, (pool or examples)[:3], 2))
        longest = max(longest, len(zero_shot), len(few_shot) if pool else 0)
    shots = f"zero- and two-shot from {task.shots_split!r}" if pool else "zero-shot"
    return Finding("prompt", OK, f"renders {shots}; up to {longest} characters on the rows tried")


def _metrics(task: TaskSpec, examples: Sequence[Example], data_dir: Path | None) -> Finding:
    rows = examples[:METRIC_ROWS]
    perfect = [_perfect(task, example) for example in rows]
    references = [example.references for example in rows]
    notes = []
    for metric in task.metrics:
        bound = metric.with_lexicon(lambda: lexicon(task, data_dir))
        statistics = bound.statistics(perfect, references)
        name = bound.headline[0]
        value = float(bound.score(statistics.total(), statistics.columns)[name])
        notes.append(f"{bound.label} {name} of the references themselves is {value:.4g}")
    return Finding("metrics", OK, "; ".join(notes))


def _perfect(task: TaskSpec, example: Example) -> object:
    if task.kind == "qa":
        return Answer(example.references[0] if example.references else "", 0.0 if example.references else 1.0)
    if task.kind == "lm":
        return RollingResponse(example_id=example.id, logprob_nats=0.0, token_count=len(example.inputs["text"]))
    return example.references[0]


def _leakage(task: TaskSpec, examples: Sequence[Example], pool: Sequence[Example]) -> Finding:
    if task.shots_split == task.split:
        return Finding(
            "leakage", PROBLEM, f"shots come from {task.split!r}, the split that is scored; name another split"
        )
    if not pool:
        return Finding("leakage", OK, "no split to draw shots from at hand, so nothing can leak")
    seen = {digest_json(example.inputs) for example in pool}
    leaked = [example.id for example in examples if digest_json(example.inputs) in seen]
    if leaked:
        first = ", ".join(repr(example_id) for example_id in leaked[:3])
        return Finding(
            "leakage",
            WARNING,
            f"{len(leaked)} of {len(examples)} examples have the same inputs as one of {task.shots_split!r}, first {first}",
        )
    return Finding("leakage", OK, f"no example has the inputs of one of {task.shots_split!r} ({len(pool)})")


def _some(examples: Sequence[Example]) -> list[Example]:
    """First, middle and last example."""
    places = sorted({0, len(examples) // 2, len(examples) - 1})
    return [examples[place] for place in places]
