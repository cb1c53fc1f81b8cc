"""How the learning rate goes: shares of the highest rate as functions of the step, nothing to keep or restore."""

from __future__ import annotations

import math

from evalkit.training.recipe import ScheduleSection


def warmup_steps(schedule: ScheduleSection, steps: int) -> int:
    """Count the steps of the warm-up: at least one step is left after it."""
    wanted = schedule.warmup if schedule.warmup >= 1 else round(schedule.warmup * steps)
    return max(0, min(int(wanted), steps - 1))


def rate_share(schedule: ScheduleSection, step: int, steps: int) -> float:
    """Compute the share of the highest learning rate at a step.

    The first step of W warm-up steps has 1 / (W + 1), for a step with a rate of 0 is wasted; after them the curves are those of
    Loshchilov and Hutter (2017, equation 5) for ``cosine``, a line, or (Hu et al., 2024, section 4.1) flat with a linear decay.

    Args:
        schedule: The recipe's section.
        step: The step, from 0.
        steps: All steps of the training.
    """
    warmup = warmup_steps(schedule, steps)
    if step < warmup:
        return (step + 1) / (warmup + 1)
    if schedule.kind == "constant":
        return 1.0
    begin = max(warmup, steps - round(schedule.decay * steps)) if schedule.kind == "wsd" else warmup
    done = min(1.0, max(0.0, (step - begin) / max(1, steps - begin)))
    left = 0.5 * (1.0 + math.cos(math.pi * done)) if schedule.kind == "cosine" else 1.0 - done
    return schedule.final + (1.0 - schedule.final) * left
