"""Parts of a model that torch's compiler fuses, where a user asks for it.

A part is a function of one layer and its tokens, so that it is compiled once for all layers and all numbers of tokens. The
compiler adds up in another order than torch does: values differ in their last digits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import torch

from evalkit.errors import EvalkitError, InvalidInputError

F = TypeVar("F", bound=Callable[..., object])

_COMPILER = ("torch._dynamo", "torch._inductor", "torch._functorch")
"""Where the errors of torch's compiler are defined."""


def region(function: F, *, is_compiled: bool) -> F:
    """Give a function as it is, or compiled for any number of rows.

    A compiled one raises `EvalkitError` where the compiler fails.
    """
    if not is_compiled:
        return function
    compiled = torch.compile(function, dynamic=True)

    def run(*arguments: Any) -> object:  # noqa: ANN401 (the function's own)
        try:
            return compiled(*arguments)
        except RuntimeError as error:
            # What the compiled code itself raises, as when memory runs out, is not the compiler's.
            if not type(error).__module__.startswith(_COMPILER):
                raise
            raise EvalkitError(f"--compile fails here: {_first_line(error)}; leave out --compile") from error

    return cast("F", run)


def check_compiler(device: torch.device) -> None:
    """Compile something small, so that what is missing is known before a model is read.

    Raises:
        InvalidInputError: The compiler does not work on this machine, or not for the device.
    """
    if device.type == "mps":
        raise InvalidInputError("--compile works on a CPU and on CUDA; leave it out with --device mps")
    # Of another size than any kernel that may lie in the compiler's cache from before something went missing.
    try:
        torch.compile(_probe, dynamic=True)(torch.ones(3, 5, device=device))
    except Exception as error:  # the compiler raises whatever its parts raise
        needs = "Triton" if device.type == "cuda" else "a C++ compiler such as g++"
        raise InvalidInputError(
            f"--compile does not work here: {_first_line(error)}; it needs {needs}: install it, or leave out --compile"
        ) from error


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return f"{lines[0]:.200}"


def _probe(x: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.gelu(x * 2.0 + 1.0)
