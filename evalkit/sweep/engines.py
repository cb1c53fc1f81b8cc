"""Where cells run: processes of this machine, Slurm through submitit, or a Ray cluster.

An engine takes cells and yields each with its outcome as soon as it is known, in any order. What an engine needs is imported
when it is chosen.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any, TypeAlias

from evalkit.errors import InvalidInputError, MissingResourceError
from evalkit.sweep.cells import KILLED, Cell, Outcome, run_cell
from evalkit.sweep.grid import EngineSettings

Engine: TypeAlias = Callable[[Sequence[Cell], EngineSettings, Path], Iterator[tuple[Cell, Outcome]]]
"""Called with cells, settings and a folder for its own files."""


def run_here(cells: Sequence[Cell], settings: EngineSettings, folder: Path) -> Iterator[tuple[Cell, Outcome]]:
    """Run cells as processes of this machine, as many at once as there are workers."""
    threads = settings.threads or max(1, (os.cpu_count() or 1) // settings.workers)
    with ThreadPoolExecutor(settings.workers) as pool:
        waiting = {pool.submit(run_cell, cell, threads): cell for cell in cells}
        try:
            for future in as_completed(waiting):
                yield waiting[future], future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def run_on_slurm(cells: Sequence[Cell], settings: EngineSettings, folder: Path) -> Iterator[tuple[Cell, Outcome]]:
    """Submit cells as one job array, so many at a time as there are workers.

    Raises:
        MissingResourceError: submitit is not installed, or there is no Slurm here.
    """
    # Its import would set up logging anew for the whole process and close the handlers that are there, and their streams.
    os.environ.setdefault("SUBMITIT_LOG_LEVEL", "NOCONFIG")
    try:
        import submitit
    except ImportError as error:
        raise MissingResourceError("engine 'slurm' needs submitit: pip install 'evalkit[slurm]'") from error
    try:
        executor = submitit.AutoExecutor(folder=str(folder / "slurm"), cluster=settings.cluster)
    except RuntimeError as error:
        raise MissingResourceError(f"engine 'slurm': {error}; run it where srun is, or take --engine local") from error
    asked: dict[str, Any] = {
        "timeout_min": settings.timeout_min,
        "cpus_per_task": settings.cpus,
        "gpus_per_node": settings.gpus,
        "name": "evalkit",
    }
    if settings.memory_gb is not None:
        asked["mem_gb"] = settings.memory_gb
    if settings.cluster == "slurm":
        asked["slurm_array_parallelism"] = settings.workers
        if settings.partition is not None:
            asked["slurm_partition"] = settings.partition
    executor.update_parameters(**asked)
    # A job array may be submitted whole; processes of this machine have to be counted out.
    step = len(cells) if settings.cluster == "slurm" else settings.workers
    for start in range(0, len(cells), step):
        part = cells[start : start + step]
        jobs = executor.map_array(run_cell, part, [settings.threads or settings.cpus] * len(part))
        for job, cell in zip(jobs, part, strict=True):
            yield cell, _collected(job)


def _collected(job: Any) -> Outcome:  # noqa: ANN401 (a job of submitit)
    """Wait for a job; one that Slurm killed has no result."""
    try:
        outcome: Outcome = job.result()
    except Exception as error:  # submitit raises its own kinds for timeouts, preemption and lost nodes
        lines = str(error).strip().splitlines()
        return Outcome(status=KILLED, message=f"job {job.job_id} ended without a result: {lines[-1] if lines else '?'}")
    return outcome


def run_on_ray(cells: Sequence[Cell], settings: EngineSettings, folder: Path) -> Iterator[tuple[Cell, Outcome]]:
    """Run cells as tasks of a Ray cluster, or of one that is started on this machine.

    Raises:
        MissingResourceError: Ray is not installed, or its cluster is not to be reached.
    """
    try:
        import ray
    except ImportError as error:
        raise MissingResourceError("engine 'ray' needs Ray: pip install 'evalkit[ray]'") from error
    started = not ray.is_initialized()
    if started:
        here = {} if settings.address else {"num_cpus": settings.workers * settings.cpus, "include_dashboard": False}
        try:
            ray.init(address=settings.address, log_to_driver=False, logging_level="ERROR", **here)
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise MissingResourceError(f"engine 'ray': {' '.join(str(error).split()):.200}") from error
    memory = {} if settings.memory_gb is None else {"memory": settings.memory_gb * 2**30}
    task = ray.remote(num_cpus=settings.cpus, num_gpus=settings.gpus, max_retries=0, **memory)(run_cell)
    try:
        waiting = {task.remote(cell, settings.threads or settings.cpus): cell for cell in cells}
        while waiting:
            [ready], _ = ray.wait(list(waiting), num_returns=1)
            cell = waiting.pop(ready)
            try:
                yield cell, ray.get(ready)
            except ray.exceptions.RayError as error:
                yield cell, Outcome(status=KILLED, message=f"lost by Ray: {' '.join(str(error).split()):.200}")
    finally:
        if started:
            ray.shutdown()


ENGINES: Mapping[str, Engine] = {"local": run_here, "slurm": run_on_slurm, "ray": run_on_ray}
"""Engines by name."""

_CONCERNS: Mapping[str, frozenset[str]] = {
    "local": frozenset({"workers", "threads", "retries"}),
    "slurm": frozenset(EngineSettings.__dataclass_fields__) - {"address"},
    "ray": frozenset({"workers", "threads", "retries", "cpus", "gpus", "memory_gb", "address"}),
}


def check_settings(engine: str, settings: EngineSettings) -> None:
    """Refuse settings that an engine does not have.

    Raises:
        InvalidInputError: A setting has a value of its own that the engine would pass over.
    """
    plain = EngineSettings()
    for name in EngineSettings.__dataclass_fields__:
        if name not in _CONCERNS[engine] and getattr(settings, name) != getattr(plain, name):
            raise InvalidInputError(
                f"[engine] {name.replace('_', '-')} means nothing to engine {engine!r}; take it out or choose another engine"
            )
