"""Whether the forward pass runs in float32 or under bf16 autocast, measured where the recipe leaves it open."""

from __future__ import annotations

import time
from collections.abc import Sequence

import torch

from evalkit.training.stepping import Stepper

_ROUNDS = 3


def faster_is_bf16(stepper: Stepper, places: Sequence[int]) -> tuple[bool, str]:
    """Measure three steps of each precision, without changing the weights.

    Args:
        stepper: The model, before its first step.
        places: A batch to measure on.

    Returns:
        Whether bf16 is faster, and both times as a text.
    """
    times: dict[bool, list[float]] = {False: [], True: []}
    for is_bf16 in (False, True):
        _one(stepper, places, is_bf16)  # the first pass of a kind prepares kernels
    for _ in range(_ROUNDS):
        for is_bf16, spent in times.items():
            spent.append(_one(stepper, places, is_bf16))
    float32_s, bf16_s = min(times[False]), min(times[True])
    chosen = "bf16" if bf16_s < float32_s else "float32"
    return (
        bf16_s < float32_s,
        f"precision auto: {chosen} (a step takes {1000 * float32_s:.0f} ms in float32, {1000 * bf16_s:.0f} ms in bf16)",
    )


def _one(stepper: Stepper, places: Sequence[int], is_bf16: bool) -> float:
    stepper.is_bf16 = is_bf16
    started = time.perf_counter()
    stepper.add_gradients(places, 0)
    if stepper.device.type == "cuda":
        torch.cuda.synchronize(stepper.device)
    spent = time.perf_counter() - started
    stepper.drop_gradients()
    return spent
