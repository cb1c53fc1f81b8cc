"""Measure what one thread of this machine reads, in bytes a second, and multiplies, in operations a second.

    python benchmarks/roofline.py

The benchmarks of models import it: the share of the roofline that they print is the time that the arithmetic and the reading
of the weights would take at these rates, measured in the same run, divided by the time that the work takes.
"""

import json
import time
from collections.abc import Callable
from typing import Any

import torch


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """Measure the processor time of one call."""
    started = time.process_time()
    result = work()
    return time.process_time() - started, result


def rates() -> tuple[float, float]:
    """Measure the memory's bandwidth in bytes a second, and the rate of a matrix product in operations a second."""
    block = torch.zeros(64 << 20)
    left, right = torch.rand(512, 1024), torch.rand(1024, 1024)
    reading = min(seconds(block.sum)[0] for _ in range(5))
    product = min(seconds(lambda: left @ right)[0] for _ in range(10))
    return block.numel() * 4 / reading, 2 * 512 * 1024 * 1024 / product


def least_seconds(operations: float, read_bytes: float) -> float:
    """Compute what so much arithmetic and, one after the other, so much reading takes at least."""
    bandwidth, rate = rates()
    return operations / rate + read_bytes / bandwidth


def main() -> None:
    torch.set_num_threads(1)
    bandwidth, rate = rates()
    print(
        json.dumps({"benchmark": "roofline", "bandwidth_gb_s": round(bandwidth / 1e9, 1), "gflop_s": round(rate / 1e9)})
    )


if __name__ == "__main__":
    main()
