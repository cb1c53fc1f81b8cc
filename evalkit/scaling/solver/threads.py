"""One thread for linear algebra: on matrices this small two threads are slower, and may add in another order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from threadpoolctl import ThreadpoolController


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def one_thread() -> Iterator[None]:
    """Hold BLAS to one thread within the context, and give back what was set before."""
    with _controller().limit(limits=1, user_api="blas"):
        yield
