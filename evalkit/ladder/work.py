"""The trainings and runs of a ladder: several at once, each in a process of one thread, none done twice.

A rung is one `evalkit train` and one `evalkit run`, so that whatever they keep, refuse and resume holds here too: the same
command again goes on where a ladder was stopped.
"""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from pathlib import Path

from evalkit.comparison.loaded import run_folders
from evalkit.errors import IncompleteError, InvalidInputError
from evalkit.ladder.presets import RECIPE, Preset, Rung
from evalkit.store import read_record

_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS")
_TOKENIZERS = "TOKENIZERS_PARALLELISM"


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """What a ladder is climbed on."""

    preset: Preset
    """The models."""
    folder: Path
    """Where checkpoints and runs go."""
    task: str
    """Task whose loss is measured: an embedded one, or the file of one."""
    train: tuple[str, ...]
    """What a training is told of its data, as ``--set`` takes it."""
    score: tuple[str, ...] = ()
    """What a run is told of its data, as flags."""
    version: int | None = None
    """Version of the task, where runs on another one may lie in the folder; None for a task of the folder's own."""
    about: str = ""
    """What a reader of the report should know of the texts, one line."""
    say: Callable[[str], None] = field(default=lambda line: None)
    """Told of each rung that is done."""

    @property
    def runs(self) -> Path:
        """Folder of the runs."""
        return self.folder / "runs"

    def checkpoint(self, rung: Rung) -> Path:
        """Folder of a rung's checkpoint."""
        return self.folder / "checkpoints" / rung.name

    def commands(self, rung: Rung) -> list[list[str]]:
        """The two commands of a rung."""
        place = str(self.checkpoint(rung))
        settings = [*self.preset.overrides(rung), *self.train]
        train = ["train", "--recipe", RECIPE, "--out", place, "--device", self.preset.device]
        run = ["run", "--task", self.task, "--model", place, "--out", str(self.runs), "--device", self.preset.device]
        return [
            [*train, *(part for setting in settings for part in ("--set", setting))],
            [*run, *self.score, "--resamples", "200", "--cache", "off"],
        ]


def climb(course: Course) -> list[str]:
    """Train and measure every rung that is not measured yet.

    Returns:
        The run folders of all rungs, in the order of the preset.

    Raises:
        IncompleteError: A rung failed; the others were kept.
        InvalidInputError: The folder holds rungs on another version of the task.
    """
    measured = _measured(course)
    rungs = course.preset.rungs()
    waiting = [rung for rung in rungs if rung.name not in measured]
    failures = []
    with _one_thread(), _pool(course.preset.processes) as pool:
        futures: dict[Future[str | None], Rung] = {
            pool.submit(run_commands, course.commands(rung)): rung for rung in waiting
        }
        for done, future in enumerate(as_completed(futures), start=1):
            problem = future.result()
            course.say(f"{done} of {len(waiting)} rungs: {futures[future].name}{f': {problem}' if problem else ''}")
            if problem:
                failures.append(f"{futures[future].name}: {problem}")
    if failures:
        raise IncompleteError(
            f"{len(failures)} of {len(rungs)} rungs failed, the others are kept below {course.folder}; first: {failures[0]}"
        )
    measured = _measured(course)
    return [measured[rung.name] for rung in rungs]


def run_commands(commands: Sequence[Sequence[str]]) -> str | None:
    """Call evalkit with each list of arguments until one fails; gives its last line, or None where none did."""
    from evalkit.cli import run_cli

    for arguments in commands:
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run_cli(list(arguments))
        if code:
            lines = err.getvalue().strip().splitlines()
            return lines[-1] if lines else f"evalkit {arguments[0]} ended with {code}"
    return None


def _measured(course: Course) -> dict[str, str]:
    """Name of a rung to its run folder."""
    if not course.runs.is_dir():
        return {}
    found: dict[str, str] = {}
    versions: set[int] = set()
    with contextlib.suppress(InvalidInputError):  # a folder without runs
        for folder in run_folders(course.runs):
            record = read_record(folder)
            versions.add(int(record.task["version"]))
            if record.status == "complete":
                found[str(record.model.get("name"))] = folder
    if course.version is not None and not versions <= {course.version}:
        raise InvalidInputError(
            f"{course.folder} holds rungs on version {min(versions - {course.version})} of {course.task}, which is at"
            f" {course.version} now; choose another --folder, or remove that one"
        )
    return found


def _pool(processes: int) -> ProcessPoolExecutor:
    # Spawned, not forked: threads of numpy and torch do not survive a fork.
    return ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn"))


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Let new processes compute with one thread each: two small models side by side beat one on two threads."""
    before = {name: os.environ.get(name) for name in (*_THREADS, _TOKENIZERS)}
    os.environ.update(dict.fromkeys(_THREADS, "1") | {_TOKENIZERS: "false"})
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
