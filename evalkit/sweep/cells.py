"""Cells of a grid: one `evalkit run` each, in a process of its own, so that what kills one leaves the others alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalkit.digests import digest_json
from evalkit.errors import StoppedError

DONE, FAILED, KILLED, STOPPED = "done", "failed", "killed", "stopped"
EXIT_INTERRUPTED = StoppedError.exit_code
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One task with one model."""

    task: str
    """Name or file of the task."""
    model: str
    """Model reference."""
    arguments: tuple[str, ...]
    """Words behind ``evalkit run`` that are the same for the whole grid."""
    out: str
    """Where the run folder is kept."""
    folder: str
    """Working folder, against which relative paths are read."""

    @property
    def words(self) -> list[str]:
        """The command as a user would type it."""
        return ["evalkit", "run", f"--task={self.task}", f"--model={self.model}", *self.arguments, f"--out={self.out}"]

    @property
    def key(self) -> str:
        """Digest of the command and of the state of the files that it names: what a finished cell is known by."""
        return digest_json([self.words, self.folder, _state(self.folder, self.task), _state(self.folder, self.model)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of a cell."""

    status: str
    """``done``, ``failed``, ``killed``, or ``stopped`` for one that was not run since the sweep was stopped."""
    runs: tuple[str, ...] = ()
    """Ids of the run folders."""
    message: str = ""
    """The last line that the command wrote about its failure."""
    is_earlier: bool = False
    """Whether an earlier sweep had done it."""


class Running:
    """Processes of cells that go on, so that they can be asked to stop."""

    def __init__(self) -> None:
        self._processes: set[subprocess.Popen[str]] = set()
        self._asked: set[subprocess.Popen[str]] = set()
        self._lock = threading.Lock()

    @contextmanager
    def listed(self, process: subprocess.Popen[str]) -> Iterator[None]:
        """Hold a process while it goes on."""
        with self._lock:
            self._processes.add(process)
        try:
            yield
        finally:
            with self._lock:
                self._processes.discard(process)

    def ask(self) -> None:
        """Ask each process once to finish what it has in hand."""
        with self._lock:
            for process in self._processes - self._asked:
                process.send_signal(signal.SIGTERM)
            # Under the same lock: one that begins meanwhile has not been asked yet.
            self._asked |= self._processes

    def kill(self) -> None:
        """End all processes at once."""
        with self._lock:
            for process in self._processes:
                process.kill()


def run_cell(cell: Cell, threads: int | None, running: Running | None = None) -> Outcome:
    """Run one cell to its end.

    Args:
        cell: The cell.
        threads: Threads for its arithmetic; None leaves the environment's.
        running: Where its process is listed; None for nowhere.
    """
    environment = dict(os.environ)
    if threads is not None:
        environment.update(dict.fromkeys(_THREADS, str(threads)))
    command = [sys.executable, "-m", "evalkit", *cell.words[1:], "--json"]
    with subprocess.Popen(
        command,
        cwd=cell.folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    ) as process:
        try:
            with running.listed(process) if running is not None else nullcontext():
                printed, said = process.communicate()
        except BaseException:
            process.kill()
            raise
    return read_outcome(process.returncode, printed, said)


def read_outcome(code: int, printed: str, said: str) -> Outcome:
    """Read what a cell's process left behind."""
    last = said.strip().splitlines()[-1] if said.strip() else ""
    # A shell or a scheduler turns the signal N that killed a process into 128 + N.
    if code < 0 or code in (128 + 9, 128 + 15):
        return Outcome(status=KILLED, message=f"killed by signal {-code if code < 0 else code - 128}")
    runs = _runs(printed)
    if code == EXIT_INTERRUPTED:
        return Outcome(status=KILLED, runs=runs, message="stopped by a signal")
    if code == 0 and runs:
        return Outcome(status=DONE, runs=runs)
    return Outcome(status=FAILED, runs=runs, message=last.removeprefix("evalkit: ") or f"exit code {code}")


def _runs(printed: str) -> tuple[str, ...]:
    try:
        document: Mapping[str, Any] = json.loads(printed)
        return tuple(str(run["id"]) for run in document["runs"])
    except (ValueError, KeyError, TypeError):
        return ()


def _state(folder: str, name: str) -> list[list[Any]]:
    """Names, sizes and times of the files behind a task or model; empty for one that is no path."""
    path = Path(folder) / name.partition(":")[2] if name.startswith("predictions:") else Path(folder) / name
    if path.is_file():
        files = [path]
    elif path.is_dir():
        files = sorted(file for file in path.iterdir() if file.is_file())
    else:
        return []
    return [[file.name, file.stat().st_size, file.stat().st_mtime_ns] for file in files]
