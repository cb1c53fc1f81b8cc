"""Where cells run: processes of this machine, Slurm through submitit, or a Ray cluster.

An engine takes cells and yields each with its outcome as soon as it is known, in any order. When it is asked to stop it begins no
further cell, asks those that go on to finish what they have in hand, and yields what is known by then. What an engine needs is
imported when it is chosen.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any, TypeAlias

from evalkit.errors import InvalidInputError, MissingResourceError
from evalkit.stopping import Stop
from evalkit.sweep.cells import KILLED, Cell, Outcome, Running, run_cell
from evalkit.sweep.grid import EngineSettings

Engine: TypeAlias = Callable[[Sequence[Cell], EngineSettings, Path, Stop], Iterator[tuple[Cell, Outcome]]]
"""Called with cells, settings, a folder for its own files, and whether someone wants the sweep to end."""

_POLL_S = 0.2
"""How often engines look whether they shall stop."""


def run_here(
    cells: Sequence[Cell], settings: EngineSettings, folder: Path, stop: Stop
) -> Iterator[tuple[Cell, Outcome]]:
    """Run cells as processes of this machine, as many at once as there are workers."""
    threads = settings.threads or max(1, (os.cpu_count() or 1) // settings.workers)
    running = Running()
    with ThreadPoolExecutor(settings.workers) as pool:
        waiting = {pool.submit(run_cell, cell, threads, running): cell for cell in cells}
        try:
            while waiting:
                done, _ = wait(waiting, _POLL_S, FIRST_COMPLETED)
                for future in done:
                    yield waiting.pop(future), future.result()
                if stop.is_asked:
                    running.ask()
                    waiting = {future: cell for future, cell in waiting.items() if not future.cancel()}
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            running.kill()


def run_on_slurm(
    cells: Sequence[Cell], settings: EngineSettings, folder: Path, stop: Stop
) -> Iterator[tuple[Cell, Outcome]]:
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
        yield from _outcomes(dict(zip(jobs, part, strict=True)), stop)
        if stop.is_asked:
            return


def _outcomes(waiting: dict[Any, Cell], stop: Stop) -> Iterator[tuple[Cell, Outcome]]:
    """Wait for jobs, and cancel those that are left once someone wants to stop."""
    try:
        while waiting and not stop.is_asked:
            for job in [job for job in waiting if job.done()]:
                yield waiting.pop(job), _collected(job)
            time.sleep(_POLL_S)
    finally:
        for job in waiting:
            job.cancel(check=False)


def _collected(job: Any) -> Outcome:  # noqa: ANN401 (a job of submitit)
    """Wait for a job; one that Slurm killed has no result."""
    try:
        outcome: Outcome = job.result()
    except Exception as error:  # submitit raises its own kinds for timeouts, preemption and lost nodes
        lines = str(error).strip().splitlines()
        return Outcome(status=KILLED, message=f"job {job.job_id} ended without a result: {lines[-1] if lines else '?'}")
    return outcome


def run_on_ray(
    cells: Sequence[Cell], settings: EngineSettings, folder: Path, stop: Stop
) -> Iterator[tuple[Cell, Outcome]]:
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
        _start_ray(settings)
    memory = {} if settings.memory_gb is None else {"memory": settings.memory_gb * 2**30}
    task = ray.remote(num_cpus=settings.cpus, num_gpus=settings.gpus, max_retries=0, **memory)(run_cell)
    try:
        waiting = {task.remote(cell, settings.threads or settings.cpus): cell for cell in cells}
        while waiting and not stop.is_asked:
            for ready in ray.wait(list(waiting), num_returns=1, timeout=_POLL_S)[0]:
                yield waiting.pop(ready), _ray_outcome(ready)
        for left in waiting:
            ray.cancel(left)
    finally:
        if started:
            ray.shutdown()


def _start_ray(settings: EngineSettings) -> None:
    """Join a cluster, or start one here.

    Raises:
        MissingResourceError: It is not to be reached.
    """
    import ray

    here = {} if settings.address else {"num_cpus": settings.workers * settings.cpus, "include_dashboard": False}
    handler = signal.getsignal(signal.SIGTERM)
    try:
        ray.init(address=settings.address, log_to_driver=False, logging_level="ERROR", **here)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise MissingResourceError(f"engine 'ray': {' '.join(str(error).split()):.200}") from error
    finally:
        # Ray ends the process on SIGTERM, where a sweep shall stop in order.
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, handler)


def _ray_outcome(ready: Any) -> Outcome:  # noqa: ANN401 (a reference of Ray)
    import ray

    try:
        outcome: Outcome = ray.get(ready)
    except ray.exceptions.RayError as error:
        return Outcome(status=KILLED, message=f"lost by Ray: {' '.join(str(error).split()):.200}")
    return outcome


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
