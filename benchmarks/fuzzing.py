"""Fuzz the parsers of files that others write with atheris, each for some minutes.

    python benchmarks/fuzzing.py --seconds 600 --out reports/fuzzing.md        # pip install atheris

A parser passes if nothing but errors of evalkit comes out of it, no input takes more than ten seconds of the processor, and the
process stays below 1 GB. Inputs that fail are kept in the folder that --corpus names; each becomes a test before it is mended.
"""

from __future__ import annotations

import argparse
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TIMEOUT_S, MEMORY_MB = 10, 1024
STUCK_S = 1800
"""Where Python itself is stuck, libFuzzer's clock ends it, which also runs while other work has the processors."""
STATE = re.compile(r"#(\d+).*?cov: (\d+).*?corp: (\d+)")
HEAD = "| parser | seconds | processor s | inputs | branches | corpus | memory MB | findings |\n" + "|---" * 8 + "|\n"


def fuzz_one(name: str, folder: Path, seconds: int) -> None:
    """Fuzz one parser in this process; libFuzzer ends the process."""
    import atheris

    with atheris.instrument_imports(include=["evalkit"]):
        from tests.fuzz.parsers import PARSERS

    from tests.fuzz.odd_json import altered

    parser = PARSERS[name]
    corpus = folder / name
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(parser.seeds):
        (corpus / f"seed-{number}").write_bytes(seed)
    place = Path(tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None))

    def too_slow(number: int, frame: object) -> None:
        raise AssertionError(f"{TIMEOUT_S} s of the processor for one input")

    signal.signal(signal.SIGPROF, too_slow)

    def try_one(content: bytes) -> None:
        signal.setitimer(signal.ITIMER_PROF, TIMEOUT_S)
        parser.survives(content, place)
        signal.setitimer(signal.ITIMER_PROF, 0)

    def mutate(content: bytes, size: int, seed: int) -> bytes:
        if seed % 2:
            with suppress(ValueError):
                return altered(content, seed)[:size]
        changed: bytes = atheris.Mutate(content, size)
        return changed

    flags = [
        f"-max_total_time={seconds}",
        f"-timeout={STUCK_S}",
        f"-rss_limit_mb={MEMORY_MB}",
        "-max_len=4096",
        "-len_control=0",
    ]
    atheris.Setup(
        [sys.argv[0], str(corpus), f"-artifact_prefix={folder}/{name}-", *flags], try_one, custom_mutator=mutate
    )
    atheris.Fuzz()


def summary(name: str, done: subprocess.CompletedProcess[str], seconds: str, findings: int) -> str:
    """One row of the table."""
    states = STATE.findall(done.stderr)
    inputs, branches, kept = states[-1] if states else (0, "?", "?")
    memory = max(map(int, re.findall(r"rss: (\d+)Mb", done.stderr)), default="?")
    verdict = "none" if done.returncode == 0 else f"{findings}: {done.stderr.strip().splitlines()[-1][:80]}"
    return f"| {name} | {seconds} | {int(inputs):,} | {branches} | {kept} | {memory} | {verdict} |"


def fuzz(name: str, folder: Path, seconds: int) -> str:
    """Fuzz one parser in a process of its own; its row, and what it printed last where it failed."""
    command = [sys.executable, __file__, "--one", name, f"--seconds={seconds}", f"--corpus={folder}"]
    started, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    row = summary(
        name, done, f"{time.monotonic() - started:.0f} | {processor:.0f}", len(list(folder.glob(f"{name}-*")))
    )
    print(row, done.stderr[-3000:] if done.returncode else "", flush=True)
    return row


def write(path: Path, rows: Mapping[str, str], options: argparse.Namespace) -> None:
    """Write the table; rows that stand there already stay, unless their parser was fuzzed again."""
    standing = path.read_text("utf-8") if path.exists() else ""
    old = {match[1]: match[0] for match in re.finditer(r"^\| ([a-z]+) \| \d.*", standing, re.M)}
    head = (
        f"<!-- python benchmarks/fuzzing.py --seconds {options.seconds} --out {options.out} -->\n# Fuzzing of parsers\n"
    )
    text = (
        f"\natheris, {options.seconds} seconds a parser (processor: what it got of them beside other work); an input may take"
        f" {TIMEOUT_S} s, the\nprocess {MEMORY_MB} MB. A finding is whatever is raised but an error of evalkit in one line.\n\n"
    )
    path.write_text(head + text + HEAD + "".join(f"{row}\n" for row in {**old, **rows}.values()), encoding="utf-8")


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

    print(HEAD, end="", flush=True)
    rows: dict[str, str] = {}
    for name in options.parsers.split(",") if options.parsers else PARSERS:
        rows[name] = fuzz(name, options.corpus, options.seconds)
        if options.out:
            write(options.out, rows, options)


if __name__ == "__main__":
    main()
