"""What `evalkit run` does with its flags: each task with each model, one after the other, and all that goes on around them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from evalkit.errors import EvalkitError, InvalidInputError, StoppedError

if TYPE_CHECKING:
    from evalkit.asking import Asking
    from evalkit.data.load import TaskData
    from evalkit.ranks import Leader
    from evalkit.record import RunRecord
    from evalkit.requests import ModelAdapter, ModelSettings
    from evalkit.spec import RunSpec, TaskSpec
    from evalkit.store import RunStore

Say: TypeAlias = Callable[[str], None]
"""Shows one line to the user, apart from the results."""

SHARED_SCHEMES = ("checkpoint", "hf")
"""Models that several ranks answer for; the others are answered by one."""


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The flags of `run`."""

    task: tuple[str, ...]
    """Task names or files; each may be a comma-separated list."""
    model: tuple[str, ...]
    """Model references."""
    metrics: tuple[str, ...]
    """Metrics instead of the tasks' own."""
    data_dir: str | None
    """Folder of data files."""
    split: str | None
    """Split instead of the tasks' own."""
    size: int | None
    """Number of examples of an embedded task."""
    limit: int | None
    """First so many examples."""
    part: str | None
    """Part of the split, ``FROM:TO``."""
    sample_ids: str | None
    """Comma-separated ids, or @FILE with one a line."""
    shots: int
    """Solved examples in a prompt."""
    seed: int
    """Seed of shots, sampled answers and resampling."""
    confidence: float
    """Level of intervals."""
    resamples: int
    """Bootstrap resamples."""
    out: str
    """Store of runs."""
    cache: str | None
    """File of the response cache, or ``off``; None for the environment's or the default one."""
    device: str
    """Device of neural models."""
    dtype: str
    """Floating-point type of neural models."""
    batch_size: str
    """Sequences at once, or auto."""
    compile: bool
    """Whether torch's compiler fuses kernels."""
    on_overflow: str
    """What happens to texts longer than the model."""
    tag_decoding: str
    """How tags are chosen."""
    beams: int
    """Beams of generation."""
    length_penalty: float
    """Exponent of beam search's length penalty."""
    temperature: float
    """Temperature of generation; 0 is greedy."""
    top_k: int
    """Tokens to sample among; 0 for all."""
    top_p: float
    """Probability of the tokens to sample among."""
    repetition_penalty: float
    """Penalty of tokens that are there already; 1 for none."""
    max_new_tokens: int | None
    """Longest generated answer, instead of the tasks' own."""


@dataclass(slots=True)
class Outcome:
    """What became of the runs of one command."""

    records: list[RunRecord] = field(default_factory=list)
    """Those that were kept, a stopped one included."""
    failures: list[EvalkitError] = field(default_factory=list)
    """Why the others were not."""
    is_stopped: bool = False
    """Whether someone stopped the command before it was done."""
    is_resumable: bool = False
    """Whether responses were cached."""


@dataclass(frozen=True, slots=True)
class Around:
    """What all runs of one command share."""

    options: RunOptions
    store: RunStore
    asking: Asking
    leader: Leader | None
    """Leads the other ranks; None where this process is alone."""
    say: Say
    outcome: Outcome

    def is_over(self) -> bool:
        """Whether no further run should be begun."""
        from evalkit.ranks import LostRankError

        self.outcome.is_stopped |= self.asking.stop.is_asked
        return self.outcome.is_stopped or any(isinstance(error, LostRankError) for error in self.outcome.failures)


def run_all(options: RunOptions, say: Say) -> Outcome:
    """Resolve everything first, then run each task with each model; a run that fails does not stop the others.

    Args:
        options: The flags.
        say: Told what the user should know while it goes on.

    Raises:
        EvalkitError: Something is wrong with the flags; nothing was run.
    """
    from evalkit.resolve import parse_model
    from evalkit.stats import Resampling
    from evalkit.store import RunStore

    tasks = resolve_tasks(options)
    for model in options.model:
        parse_model(model)
    model_settings(options)
    Resampling(resamples=options.resamples, confidence=options.confidence, seed=options.seed)
    store = RunStore(options.out)
    store.check_writable()
    with _surroundings(options, say) as (asking, leader):
        around = Around(options, store, asking, leader, say, Outcome(is_resumable=asking.cache is not None))
        for number, (task, folder) in enumerate(tasks):
            if not around.is_over():
                run_task(around, number, task, folder)
        if around.outcome.is_stopped and leader is not None and leader.lost:
            # The launcher asks the other ranks to stop when one dies, and that is nobody's wish.
            around.outcome.is_stopped = False
            around.outcome.failures.append(leader.lost[0])
    return around.outcome


def resolve_tasks(options: RunOptions) -> list[tuple[TaskSpec, str | None]]:
    """The tasks of the flags, each with its folder of data files."""
    from evalkit.resolve import expand_tasks, resolve_data_dir, resolve_task

    metrics = split_commas(options.metrics)
    names = expand_tasks(split_commas(options.task))
    tasks = [resolve_task(name, metrics) for name in names]
    folders = [resolve_data_dir(name, task, options.data_dir) for name, task in zip(names, tasks, strict=True)]
    return list(zip(tasks, folders, strict=True))


@contextmanager
def _surroundings(options: RunOptions, say: Say) -> Iterator[tuple[Asking, Leader | None]]:
    """Ranks, signals and cache, from the first run to the last."""
    from evalkit.asking import Asking
    from evalkit.cache.responses import open_cache
    from evalkit.ranks import leading
    from evalkit.stopping import stop_on_signals

    def notice(line: str) -> None:
        say(f"evalkit: {line}")

    with leading() as leader, stop_on_signals(notice) as stop:
        cache = open_cache(options.cache, notice)
        try:
            yield Asking(cache=cache, crew=None, stop=stop), leader
        finally:
            if cache is not None:
                cache.close()


def run_task(around: Around, number: int, task: TaskSpec, folder: str | None) -> None:
    """Load a task's data once and run every model on it.

    Args:
        around: What all runs share.
        number: Which of the tasks it is.
        task: The task.
        folder: Its folder of data files.
    """
    from evalkit.data.load import load
    from evalkit.progress import show_waiting
    from evalkit.record import COMPLETE
    from evalkit.resolve import expand_models, resize

    options, outcome = around.options, around.outcome
    try:
        split = options.split or task.split
        task = resize(task, split, options.size)
        with show_waiting(f"{task.name}: reading {split}"):
            data = load(task, split, folder)
        chosen = {"split": split, "data_dir": folder, "sample_ids": chosen_ids(options, data)}
    except EvalkitError as error:
        outcome.failures.append(error)
        return
    for model in expand_models(options.model, task):
        if around.is_over():
            return
        try:
            record = run_model(around, number, task, data, spec_of(options, task, model, **chosen))
        except StoppedError:
            outcome.is_stopped = True
        except EvalkitError as error:
            outcome.failures.append(error)
        else:
            announce(record, options.out, around.say)
            outcome.records.append(record)
            outcome.is_stopped |= record.status != COMPLETE


def spec_of(options: RunOptions, task: TaskSpec, model: str, **chosen: Any) -> RunSpec:  # noqa: ANN401
    """How one run is set up.

    Args:
        options: The flags.
        task: The task.
        model: Reference of the model.
        chosen: Split, folder and sample ids.
    """
    from evalkit.resolve import parse_model
    from evalkit.spec import RunSpec

    reference = parse_model(model)
    is_neural = reference.scheme not in ("predictions", "baseline")
    return RunSpec(
        task=task.name,
        model=reference,
        limit=options.limit,
        shots=options.shots,
        max_new_tokens=options.max_new_tokens,
        seed=options.seed,
        confidence=options.confidence,
        resamples=options.resamples,
        neural=model_settings(options) if is_neural else None,
        **chosen,
    )


def run_model(around: Around, number: int, task: TaskSpec, data: TaskData, spec: RunSpec) -> RunRecord:
    """Open a model, on all ranks where it is one to share, and run it on one task."""
    from evalkit.progress import show_progress
    from evalkit.resolve import limit_answers
    from evalkit.runner import run

    leader = around.leader if spec.model.scheme in SHARED_SCHEMES else None
    if leader is not None:
        leader.open({"task": number, "model": str(spec.model)})
    adapter = open_here(around.options, str(spec.model))
    if leader is not None:
        leader.join(adapter)
    asking = replace(around.asking, crew=leader)
    task = limit_answers(task, adapter, spec.max_new_tokens)
    return run(spec, task, data, adapter, around.store, show_progress, asking)


def open_here(options: RunOptions, model: str) -> ModelAdapter:
    """Open a model on this rank's own device."""
    from evalkit.ranks import own_device
    from evalkit.resolve import resolve_model

    settings = model_settings(options)
    _, adapter = resolve_model(model, replace(settings, device=own_device(settings.device)))
    return adapter


def assist(options: RunOptions) -> None:
    """What ranks other than the first do: answer with the models of its runs; they print nothing and keep nothing.

    Raises:
        LostRankError: The first rank is gone.
    """
    from evalkit.data.load import TaskData
    from evalkit.ranks import Wires, follow
    from evalkit.runner import task_context
    from evalkit.stopping import stop_on_signals

    tasks = resolve_tasks(options)

    def open_model(order: Mapping[str, Any]) -> ModelAdapter:
        task, folder = tasks[order["task"]]
        adapter = open_here(options, order["model"])
        # Models that are shared look at no data: only the first rank reads it.
        data = TaskData(examples=(), source="", revision=None, digest="", split="")
        spec = spec_of(options, task, order["model"], split="", data_dir=folder)
        adapter.prepare(task_context(spec, task, data, adapter))
        return adapter

    # The first rank hears the same signals, and decides what they mean.
    with stop_on_signals(lambda line: None):
        follow(Wires(), open_model)


def model_settings(options: RunOptions) -> ModelSettings:
    """The flags of neural models.

    Raises:
        InvalidInputError: The batch size is neither ``auto`` nor a positive number, or a setting of generation cannot be.
    """
    from evalkit.adapters.decoding import check_decoding
    from evalkit.requests import Decoding, ModelSettings

    size = options.batch_size
    if size != "auto" and not (size.isdecimal() and int(size) > 0):
        raise InvalidInputError(f"--batch-size {size!r} is neither auto nor a number of 1 or more")
    decoding = Decoding(
        beams=options.beams,
        length_penalty=options.length_penalty,
        temperature=options.temperature,
        top_k=options.top_k,
        top_p=options.top_p,
        repetition_penalty=options.repetition_penalty,
        seed=options.seed,
    )
    check_decoding(decoding)
    return ModelSettings(
        device=options.device,
        dtype=options.dtype,
        compile=options.compile,
        batch_size=None if size == "auto" else int(size),
        on_overflow=options.on_overflow,
        decoding=decoding,
        tag_decoding=options.tag_decoding,
    )


def announce(record: RunRecord, out: str, say: Say) -> None:
    """Say what a reader of the numbers should know, and where the run is kept, as soon as it is."""
    for warning in record.warnings:
        say(f"warning: {record.task['name']}, {record.model['name']}: {warning}")
    say(f"kept: {out.rstrip('/')}/{record.id}")


def split_commas(values: Sequence[str]) -> list[str]:
    """Flatten repeated, comma-separated flags; empty parts are dropped."""
    return [part.strip() for value in values for part in value.split(",") if part.strip()]


def chosen_ids(options: RunOptions, data: TaskData) -> tuple[str, ...] | None:
    """Ids of the examples that ``--part`` or ``--sample-ids`` choose; None for all.

    Raises:
        InvalidInputError: Both are given, one of them cannot be read, or the part holds no example.
    """
    if options.part is None:
        return read_sample_ids(options.sample_ids)
    from evalkit.data.parts import parse_part, part_of

    if options.sample_ids is not None:
        raise InvalidInputError("--part and --sample-ids each choose the examples; give one of them")
    places = part_of([example.cluster for example in data.examples], parse_part(options.part))
    if not places:
        raise InvalidInputError(f"--part {options.part!r} holds none of the {len(data.examples)} examples; widen it")
    return tuple(data.examples[place].id for place in places)


def read_sample_ids(given: str | None) -> tuple[str, ...] | None:
    """The ids of ``--sample-ids``, from the flag or from a file.

    Raises:
        InvalidInputError: No id is given.
    """
    if given is None:
        return None
    if given.startswith("@"):
        from evalkit.data.text import open_text

        ids = [line.strip() for _, line in open_text(given[1:]) if line.strip()]
    else:
        ids = split_commas([given])
    if not ids:
        raise InvalidInputError(f"--sample-ids {given!r} holds no id; expected ID[,ID] or @FILE with one id a line")
    return tuple(ids)
