"""`evalkit compare` and `evalkit gate` of two stored runs, start-up included, beside sacrebleu's paired test of the same outputs.

Processor time of the whole command, best of the rounds: it is one thread, so that this is the wall time of a quiet machine; wall
time is printed beside it. sacrebleu starts from text, as it must, and draws a tenth of the resamples; the differences of the
scores must be equal.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

from corpus import pairs  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
TARGET_S = 0.5
TASK = """
name = "bench"
kind = "mt"
language = "en"
source_language = "de"
[files]
format = "parallel_text"
splits = { test = ["source.txt", "reference.txt"] }
"""


def evalkit(*arguments: str, folder: Path) -> str:
    """Run the command line in a process of its own."""
    path = os.pathsep.join(str(ROOT / part) for part in (".", "tasks", "models"))
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPATH"] = path
    command = [sys.executable, "-m", "evalkit", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(done.stderr)
    return done.stdout


def make_runs(n: int, folder: Path) -> tuple[list[str], list[list[str]], list[str]]:
    """Keep two runs that differ in every tenth sentence; returns folders, outputs and references."""
    hypotheses, references = pairs(n, seed=0)
    others, _ = pairs(n, seed=1)
    outputs = [hypotheses, [others[i] if i % 10 == 0 else same for i, same in enumerate(hypotheses)]]
    for name, texts in (("source", references), ("reference", references), ("a", outputs[0]), ("b", outputs[1])):
        (folder / f"{name}.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
    (folder / "bench.toml").write_text(TASK, encoding="utf-8")
    for name in "ab":
        model = f"predictions:{name}.txt"
        evalkit("run", "--task", "bench.toml", "--model", model, "--metrics", "bleu", "--out", name, folder=folder)
    return [str(next((folder / name).iterdir())) for name in "ab"], outputs, references


def sacrebleu_difference(outputs: list[list[str]], references: list[str]) -> float:
    """Second minus first, after sacrebleu's paired bootstrap with its 1,000 resamples."""
    from sacrebleu.metrics import BLEU
    from sacrebleu.significance import PairedTest

    systems = list(zip("ab", outputs, strict=True))
    _, scores = PairedTest(systems, {"BLEU": BLEU()}, [references], test_type="bs", n_samples=1000)()
    first, second = next(values for name, values in scores.items() if name != "System")
    return float(second.score - first.score)


def children_s() -> float:
    """Processor time of all commands that have ended."""
    used = os.times()
    return used.children_user + used.children_system


def main() -> None:
    """Time both verbs and print one JSON line each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (first, second), outputs, references = make_runs(options.n, folder)
        started = time.process_time()
        expected = sacrebleu_difference(outputs, references)
        peer_s = time.process_time() - started
        commands = {
            "gate": ("gate", "--baseline", first, "--candidate", second, "--json"),
            "compare": ("compare", first, second, "--json"),
        }
        best, wall = dict.fromkeys(commands, math.inf), dict.fromkeys(commands, math.inf)
        printed = {}
        for _ in range(options.rounds):
            for verb, arguments in commands.items():
                started, used = time.perf_counter(), children_s()
                printed[verb] = json.loads(evalkit(*arguments, folder=folder))
                best[verb] = min(best[verb], children_s() - used)
                wall[verb] = min(wall[verb], time.perf_counter() - started)
    found = {
        "gate": printed["gate"]["findings"][0]["bounds"]["effect"],
        "compare": printed["compare"]["comparisons"][0]["values"][0]["difference"],
    }
    for verb in commands:
        row = {
            "benchmark": f"evalkit {verb}, two runs with BLEU, start-up included",
            "n": options.n,
            "evalkit_s": round(best[verb], 3),
            "evalkit_wall_s": round(wall[verb], 3),
            "peer": "sacrebleu PairedTest bs, 1,000 resamples, from text",
            "peer_s": round(peer_s, 3),
            "ratio": round(peer_s / best[verb], 1),
            "target": f"<= {TARGET_S} s",
            "met": best[verb] <= TARGET_S,
            "equal": math.isclose(found[verb], expected, rel_tol=1e-6),
        }
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
