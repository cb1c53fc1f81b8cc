"""Time and memory of `evalkit run` from ten thousand examples to a million and more: linear time, flat memory.

    python benchmarks/scale.py [--sizes 10000,100000,1000000,5000000] [--task classification|translation]

Short texts with two classes (or a translation each) are written to files, with the outputs of a system beside them, and scored
by the command in a process of its own. `memory_mb` is the most that the process held, less what it holds for a hundred examples,
less the statistics: eight bytes a number. The folder is the one for temporary files (TMPDIR).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SIZES = "10000,100000"
BASE = 100
METRIC = {"classification": "classification", "translation": "chrf"}
_WORDS = ("tea", "rain", "river", "house", "green", "small", "old", "bread", "stone", "light", "bird", "road")


def write_task(folder: Path, kind: str, size: int) -> tuple[Path, Path]:
    """Write a task file, its data and the outputs of a system; returns the task file and the outputs."""
    source = random.Random(f"{kind} {size}")
    data, outputs = folder / "test.jsonl", folder / "system.jsonl"
    with data.open("w", encoding="utf-8") as rows, outputs.open("w", encoding="utf-8") as answers:
        for number in range(size):
            text = " ".join(source.choices(_WORDS, k=6))
            if kind == "classification":
                gold = source.choice("ab")
                said = gold if source.random() < 0.8 else "a"
                row = {"id": f"e{number}", "text": text, "label": gold}
            else:
                said = " ".join(source.choices(_WORDS, k=6))
                row = {"id": f"e{number}", "source": text, "references": [text]}
            rows.write(json.dumps(row) + "\n")
            answers.write(json.dumps({"id": row["id"], "prediction": said}) + "\n")
    name = {"classification": "classification", "translation": "mt"}[kind]
    labels = 'labels = ["a", "b"]\n' if kind == "classification" else 'source_language = "de"\n'
    task = folder / "task.toml"
    task.write_text(
        f'name = "scale"\nkind = "{name}"\nlanguage = "en"\n{labels}metrics = ["{METRIC[kind]}"]\n'
        '[files]\nformat = "jsonl"\nsplits = { test = ["test.jsonl"] }\n',
        encoding="utf-8",
    )
    return task, outputs


def measure(kind: str, size: int) -> dict[str, float]:
    """Run the command on so many examples; gives seconds, peak memory and the size of the statistics."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        task, outputs = write_task(folder, kind, size)
        command = [sys.executable, "-m", "evalkit", "run", "--task", str(task), "--model", f"predictions:{outputs}"]
        started = time.perf_counter()
        process = subprocess.Popen(
            [*command, "--out", str(folder / "runs"), "--json"], stdout=subprocess.PIPE, cwd=folder, text=True
        )
        assert process.stdout is not None
        printed = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        assert status == 0, f"{kind} {size}: {status}"
        record = json.loads(printed)["runs"][0]
        assert record["counts"]["examples"] == size
        columns = len(record["statistics"][METRIC[kind]]["columns"])
        return {
            "seconds": seconds,
            "cpu_seconds": usage.ru_utime + usage.ru_stime,
            "peak_mb": _peak_mb(usage),
            "statistics_mb": columns * 8 * size / 2**20,
            "samples_mb": next((folder / "runs").glob("*/samples.jsonl")).stat().st_size / 2**20,
        }


def _peak_mb(usage: resource.struct_rusage) -> float:
    # Kilobytes on Linux, bytes on macOS.
    return usage.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def main() -> None:
    """Measure all sizes and print one JSON line each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default=SIZES)
    parser.add_argument("--task", choices=list(METRIC), default="classification")
    arguments = parser.parse_args()
    base = measure(arguments.task, BASE)
    for size in map(int, arguments.sizes.split(",")):
        found = measure(arguments.task, size)
        row = {
            "benchmark": "scale",
            "row": arguments.task,
            "n": size,
            "seconds": round(found["seconds"], 1),
            "cpu_seconds": round(found["cpu_seconds"], 1),
            "cpu_microseconds_an_example": round(1e6 * (found["cpu_seconds"] - base["cpu_seconds"]) / size, 1),
            "peak_mb": round(found["peak_mb"]),
            "statistics_mb": round(found["statistics_mb"]),
            "memory_mb": round(found["peak_mb"] - base["peak_mb"] - found["statistics_mb"]),
            "samples_mb": round(found["samples_mb"]),
        }
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
