"""Start-up: `evalkit --help` and `evalkit list tasks` beside `python -c pass`, bytecode compiled.

Prints one JSON line a command: best wall time of interleaved rounds, its ratio to `python -c pass`, and the target.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time

TARGET_S = 0.10

COMMANDS = {
    "--help": ["-m", "evalkit", "--help"],
    "list tasks": ["-m", "evalkit", "list", "tasks"],
    "list metrics": ["-m", "evalkit", "list", "metrics"],
}
BASE = ["-c", "pass"]


def wall_s(arguments: list[str]) -> float:
    """Seconds that one fresh interpreter takes."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    started = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, env=environment)
    return time.perf_counter() - started


def main() -> None:
    """Alternate the commands with the bare interpreter and print the best of each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    for arguments in COMMANDS.values():
        wall_s(arguments)
    best = {name: float("inf") for name in ("pass", *COMMANDS)}
    for _ in range(rounds):
        best["pass"] = min(best["pass"], wall_s(BASE))
        for name, arguments in COMMANDS.items():
            best[name] = min(best[name], wall_s(arguments))
    for name in COMMANDS:
        row = {
            "benchmark": f"startup {name}",
            "evalkit_s": round(best[name], 4),
            "peer": "python -c pass",
            "peer_s": round(best["pass"], 4),
            "ratio": round(best[name] / best["pass"], 2),
            "target": f"<= {TARGET_S} s",
            "met": best[name] <= TARGET_S,
        }
        print(json.dumps(row))


if __name__ == "__main__":
    main()
