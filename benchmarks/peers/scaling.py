"""Times a public package on points from standard input, in whatever interpreter has it; `benchmarks/scaling.py` calls this.

    PYTHON benchmarks/peers/scaling.py chinchilla | chinchilla-log-huber | simple-scaling-laws | simple-scaling-laws-draws

Prints one JSON line with processor seconds and the parameters E, A, alpha, B, beta.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from functools import partial
from typing import Any


def chinchilla(points: dict[str, list[float]], is_log_huber: bool) -> dict[str, Any]:
    """Run 243 starts of BFGS, one process."""
    from chinchilla import Chinchilla
    from chinchilla._metrics import asymmetric_mae, log_huber

    grid = {"e": (-1, 0, 1), "a": (5, 10, 15), "b": (5, 10, 15), "alpha": (0.2, 0.5, 1.0), "beta": (0.2, 0.5, 1.0)}
    loss = partial(log_huber, delta=1e-3) if is_log_huber else asymmetric_mae
    with tempfile.TemporaryDirectory() as folder:
        peer = Chinchilla(folder, param_grid=grid, loss_fn=loss, log_level=50)
        for n, d, value in zip(points["N"], points["D"], points["loss"], strict=True):
            peer.database.append(N=n, D=d, loss=value)
        started = time.process_time()
        peer.fit(parallel=False)
        seconds = time.process_time() - started
    values = {name: float(getattr(peer, name)) for name in ("E", "A", "alpha", "B", "beta")}
    return {"seconds": seconds, "values": values}


def simple_scaling_laws(points: dict[str, list[float]], draws: int) -> dict[str, Any]:
    """Fit with bootstrap draws; two draws stand for none."""
    import polars
    from simple_scaling_laws import fit

    frame = polars.DataFrame(
        {
            "training_run_id": [str(k) for k in range(len(points["N"]))],
            "model_size__n_params": points["N"],
            "dataset_size__n_tokens": points["D"],
            "test_loss__cross_entropy": points["loss"],
        }
    )
    started = time.process_time()
    model = fit(frame, n_draws=draws, seed=0)
    seconds = time.process_time() - started
    values = {name: float(value) for name, value in model.params("test_loss__cross_entropy").items()}
    # Its amplitudes are at reference scales, not at N = D = 1.
    for amplitude, exponent, column in (
        ("A", "alpha", "model_size__n_params"),
        ("B", "beta", "dataset_size__n_tokens"),
    ):
        values[amplitude] *= float(model.observed_domain[column]["reference"]) ** values[exponent]
    return {"seconds": seconds, "values": {name: values[name] for name in ("E", "A", "alpha", "B", "beta")}}


def main() -> None:
    """Read points, run one peer, print one line."""
    points = json.load(sys.stdin)
    runs = {
        "chinchilla": partial(chinchilla, points, False),
        "chinchilla-log-huber": partial(chinchilla, points, True),
        "simple-scaling-laws": partial(simple_scaling_laws, points, 2),
        "simple-scaling-laws-draws": partial(simple_scaling_laws, points, 1000),
    }
    result = runs[sys.argv[1]]()
    print(json.dumps(result))


if __name__ == "__main__":
    main()
