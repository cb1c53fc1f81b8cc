"""How a training uses a CPU: threads, the memory of kernels, and memory that is freed. Does not load torch by itself."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager

_CACHED_KERNELS = 16
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Numbers that glibc's mallopt(3) knows its parameters by."""
_LARGEST_FROM_HEAP = 32 << 20
"""Bytes; glibc takes no more."""
_MOST_KEPT = 256 << 20
"""Bytes."""


@contextmanager
def limited_threads(count: int | None) -> Iterator[None]:
    """Let torch use so many threads, but at most one a core, and as many as before afterwards; None changes nothing."""
    import torch

    before = torch.get_num_threads()
    if count is not None:
        torch.set_num_threads(min(count, os.cpu_count() or 1))
    try:
        yield
    finally:
        torch.set_num_threads(before)


def prepare_processor() -> None:
    """Set what the libraries below torch read from the environment, unless the user has set it.

    Threads that wait by spinning take the processor from whoever else works on the machine, themselves among them: a small model
    then trains several times slower. That is read when torch is loaded.

    oneDNN keeps 1,024 kernels otherwise, some of them of megabytes, and the batches of a training come in as many shapes.
    Finetuning a BERT of 22M weights went from 1.15 to 1.54 GB in 130 steps and to 2.2 GB in 1,600; with 16 it stays at 1.2 GB, at
    the same speed. That is read when the first kernel is made.
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", str(_CACHED_KERNELS))
    _keep_freed_memory()


def _keep_freed_memory() -> None:
    """Let glibc keep up to 256 MB that are free, unless the environment says how it allocates; other libraries are left alone.

    It gives back what lies free at the end of the heap, and the pages of large tensors whenever one is freed. A step frees and
    asks for the same ones again, and the kernel clears each page anew: 3,100 in a step of t5-mini, a tenth of its time.
    """
    is_set = {"MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"} & os.environ.keys()
    if is_set or "glibc.malloc." in os.environ.get("GLIBC_TUNABLES", "") or os.name != "posix":
        return
    try:
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    except OSError:  # linked statically
        return
    if mallopt is not None:
        mallopt(_MMAP_THRESHOLD, _LARGEST_FROM_HEAP)
        mallopt(_TRIM_THRESHOLD, _MOST_KEPT)
