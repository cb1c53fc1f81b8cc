"""Fuzz the parsers of files that others write with atheris, each for some minutes.

    python benchmarks/fuzzing.py --seconds 600 --out reports/fuzzing.md        # pip install atheris

A parser passes if nothing but errors of evalkit comes out of it, no input takes more than ten seconds, and the process stays
below 1 GB. Inputs that fail are kept in the folder that --corpus names; each becomes a test before it is mended.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TIMEOUT_S, MEMORY_MB = 10, 1024
STATE = re.compile(r"#(\d+).*?cov: (\d+)")


def fuzz_one(name: str, folder: Path, seconds: int) -> None:
    """Fuzz one parser in this process; libFuzzer ends the process."""
    import atheris

    with atheris.instrument_imports(include=["evalkit"]):
        from tests.fuzz.parsers import PARSERS

    parser = PARSERS[name]
    corpus = folder / name
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(parser.seeds):
        (corpus / f"seed-{number}").write_bytes(seed)
    place = Path(tempfile.mkdtemp())

    def try_one(content: bytes) -> None:
        parser.survives(content, place)

    flags = [f"-max_total_time={seconds}", f"-timeout={TIMEOUT_S}", f"-rss_limit_mb={MEMORY_MB}", "-max_len=4096"]
    atheris.Setup([sys.argv[0], str(corpus), f"-artifact_prefix={folder}/{name}-", *flags], try_one)
    atheris.Fuzz()


def summary(name: str, done: subprocess.CompletedProcess[str]) -> str:
    """One row of the table."""
    states = STATE.findall(done.stderr)
    inputs, coverage = states[-1] if states else ("?", "?")
    memory = re.findall(r"rss: (\d+)Mb", done.stderr)
    verdict = "passed" if done.returncode == 0 else f"failed: {done.stderr.strip().splitlines()[-1][:80]}"
    return f"| {name} | {int(inputs):,} | {coverage} | {memory[-1] if memory else '?'} MB | {verdict} |"


def main() -> None:
    """Fuzz each parser in a process of its own and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--parsers", help="names, comma-separated; all if left out")
    parser.add_argument("--corpus", type=Path, default=Path(tempfile.gettempdir()) / "evalkit-fuzzing")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    if options.one:
        fuzz_one(options.one, options.corpus, options.seconds)
        return
    from tests.fuzz.parsers import PARSERS

    lines = ["| parser | inputs | branches | memory | verdict |", "|---|---|---|---|---|"]
    for name in options.parsers.split(",") if options.parsers else PARSERS:
        command = [
            sys.executable,
            __file__,
            "--one",
            name,
            f"--seconds={options.seconds}",
            f"--corpus={options.corpus}",
        ]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        lines.append(summary(name, done))
        print(lines[-1], flush=True)
        if done.returncode:
            print(done.stderr[-3000:], flush=True)
    if options.out:
        head = f"<!-- python benchmarks/fuzzing.py --seconds {options.seconds} --out {options.out} -->\n# Fuzzing of parsers\n\n"
        text = (
            f"atheris, {options.seconds} seconds a parser; an input may take {TIMEOUT_S} s, the process {MEMORY_MB} MB;"
            " anything that is\nraised but an error of evalkit in one line is a failure.\n\n"
        )
        options.out.write_text(head + text + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
