"""`evalkit report` of many stored runs, start-up included: 20 runs, and 200 runs of 5,000 samples.

Processor time and peak memory of the whole command; wall time is printed beside them. The last row is the wall time until a
browser can use the page, where chromium and playwright are installed. There is no peer: the other harnesses write
no leaderboard from stored statistics. Runs are made up: 20 systems on ten tasks of six kinds, whose outputs are mixed from four
of different quality, so that systems differ a little, as those of a leaderboard do.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from corpus import pairs  # noqa: E402

from evalkit.metrics.base import AnyMetric  # noqa: E402
from evalkit.metrics.bleu import Bleu  # noqa: E402
from evalkit.metrics.chrf import Chrf  # noqa: E402
from evalkit.metrics.classification import Classification  # noqa: E402
from evalkit.metrics.rouge import Rouge  # noqa: E402
from evalkit.metrics.seqeval import Seqeval  # noqa: E402
from evalkit.metrics.squad import SquadV1  # noqa: E402
from evalkit.provenance import describe_statistics, plain, plain_numbers  # noqa: E402
from evalkit.record import MetricValue, RunRecord  # noqa: E402
from evalkit.store import RunStore  # noqa: E402

SYSTEMS = 20
QUALITIES = 4
KINDS_OF_TAGS = ("O",) * 27 + ("B-PER", "B-LOC", "B-ORG")
TASKS: tuple[tuple[str, str, tuple[AnyMetric, ...]], ...] = (
    *((f"mt_{number}", "mt", (Bleu(), Chrf())) for number in range(3)),
    *((f"qa_{number}", "qa", (SquadV1(),)) for number in range(2)),
    *((f"ner_{number}", "ner", (Seqeval(),)) for number in range(2)),
    *((f"sums_{number}", "summarization", (Rouge(language="en"),)) for number in range(2)),
    ("topics", "classification", (Classification(labels=tuple("abcdefgh")),)),
)


def outputs_of(kind: str, n: int, seed: int) -> tuple[list[list[Any]], list[list[Any]]]:
    """Outputs of each quality, and references."""
    generator = random.Random(seed)
    if kind == "ner":
        tags = [[generator.choice(KINDS_OF_TAGS) for _ in range(24)] for _ in range(n)]
        spoil = [lambda tag, share=share: "O" if generator.random() < share else tag for share in (0.1, 0.2, 0.3, 0.4)]
        return [[[one(tag) for tag in row] for row in tags] for one in spoil], [[row] for row in tags]
    if kind == "classification":
        labels = [generator.choice("abcdefgh") for _ in range(n)]
        shares = (0.1, 0.2, 0.3, 0.4)
        wrong = [
            [generator.choice("abcdefgh") if generator.random() < s else label for label in labels] for s in shares
        ]
        return wrong, [[label] for label in labels]
    _, references = pairs(n, seed=seed)
    qualities = [pairs(n, seed=seed + 10 * quality)[0] for quality in range(QUALITIES)]
    if kind == "qa":
        answers = [" ".join(line.split()[:3]) for line in references]
        said = [[" ".join(line.split()[:3]) for line in lines] for lines in qualities]
        return said, [[answer] for answer in answers]
    return [
        [
            text if generator.random() < 0.8 - 0.1 * place else reference
            for text, reference in zip(lines, references, strict=True)
        ]
        for place, lines in enumerate(qualities)
    ], [[line] for line in references]


def make_runs(store: Path, n: int, tasks: Sequence[tuple[str, str, tuple[AnyMetric, ...]]], systems: int) -> None:
    """Keep one run of every system on every task."""
    for number, (task, kind, metrics) in enumerate(tasks):
        qualities, references = outputs_of(kind, n, seed=100 * number)
        tables = [[metric.statistics(outputs, references) for outputs in qualities] for metric in metrics]
        for system in range(systems):
            keep(store, (task, kind, metrics), system, qualities, references, tables)


def keep(
    store: Path,
    task: Any,
    system: int,
    qualities: list[list[Any]],
    references: list[list[Any]],
    tables: list[list[Any]],
) -> None:
    """Mix the outputs of a system from those of all qualities, better systems from better ones, and keep them."""
    import numpy as np

    name, kind, metrics = task
    n = len(references)
    generator = np.random.default_rng(system)
    weights = np.exp(-np.arange(QUALITIES) * (0.3 + system / SYSTEMS / 4))
    mix = generator.choice(QUALITIES, size=n, p=weights / weights.sum())
    values, statistics, rows = [], {}, {}
    for metric, parts in zip(metrics, tables, strict=True):
        columns = parts[0].columns
        rows[metric.label] = np.stack([part.rows for part in parts])[mix, np.arange(n)]
        statistics[metric.label] = describe_statistics(metric, parts[0])
        scores = metric.score(rows[metric.label].sum(axis=0), columns)
        values += [
            MetricValue(
                metric=metric.label, name=value, value=float(scores[value]), low=float(scores[value]) * 0.98,
                high=float(scores[value]) * 1.02, stderr=None, n=n, unscored=0, signature=metric.signature(references),
                higher_is_better=True, scale=metric.scale, headline=value in metric.headline,
            )
            for value in scores
        ]  # fmt: skip
    record = RunRecord(
        id=f"20260101T000000.000000Z-{name}-system-{system:02}-000000",
        created="2026-01-01T00:00:00+00:00",
        status="complete",
        task={"name": name, "kind": kind, "language": "en", "version": 1, "digest": name},
        data={"source": "files", "revision": None, "split": "test", "digest": name, "n": n, "scored_n": n},
        model={"ref": f"ckpt/{system}", "name": f"system-{system:02}", "digest": str(system), "family": "gpt"},
        settings={"shots": 0, "seed": 0, "confidence": 0.95, "resamples": 1000},
        metrics=tuple(values),
        statistics=statistics,
        details={},
        counts={"examples": n, "truncated": 0, "failed": 0, "cached": 0, "empty": 0},
        timing={"answer_s": 10.0, "tokens_per_s": 1000.0},
        environment={"evalkit": "0.1.0", "command": ["evalkit", "run", "--task", name]},
    )
    samples = (
        {
            "id": str(place),
            "cluster": None,
            "prompt_digest": "0123456789abcdef",
            "response": {"text": plain(qualities[quality][place])},
            "prediction": plain(qualities[quality][place]),
            "references": plain(references[place]),
            "inputs": {},
            "truncated": False,
            "statistics": {label: plain_numbers(table[place]) for label, table in rows.items()},
        }
        for place, quality in enumerate(mix.tolist())
    )
    RunStore(str(store)).keep(record, samples)


def report(store: Path, *arguments: str) -> tuple[float, float, float]:
    """Run the command in a process of its own; returns processor seconds, wall seconds and its peak memory in MB."""
    path = os.pathsep.join(str(ROOT / part) for part in (".", "tasks", "models"))
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPATH"] = path
    command = [sys.executable, "-m", "evalkit", "report", str(store), *arguments]
    started = time.perf_counter()
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    _, status, used = os.wait4(process.pid, 0)
    if os.waitstatus_to_exitcode(status):
        raise RuntimeError(process.stderr.read() if process.stderr else "evalkit report failed")
    return used.ru_utime + used.ru_stime, time.perf_counter() - started, used.ru_maxrss / 1024


def interactive_s(page: Path) -> float | None:
    """Seconds from opening a page until it can be used, the best of three; None without a browser to drive."""
    program = os.environ.get("EVALKIT_CHROMIUM") or shutil.which("chromium")
    if program is None or importlib.util.find_spec("playwright") is None:
        return None
    from playwright.sync_api import sync_playwright

    found = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        for _ in range(3):
            tab = browser.new_context(viewport={"width": 1366, "height": 900}).new_page()
            started = time.perf_counter()
            tab.goto(page.as_uri(), wait_until="commit")
            tab.wait_for_selector("html[data-ready]", state="attached")
            found.append(time.perf_counter() - started)
            tab.context.close()
        browser.close()
    return min(found)


def main() -> None:
    """Time reports of 20 and 200 runs, and the page of 200, and print one JSON line each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=5_000, help="samples a run")
    parser.add_argument("--rounds", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_runs(folder / "few", options.n, TASKS[::2], 4)
        make_runs(folder / "many", options.n, TASKS, SYSTEMS)
        texts = [part for ending in ("md", "csv", "tex", "json") for part in ("--out", str(folder / f"r.{ending}"))]
        page = folder / "r.html"
        for row, store, arguments, target_s, target_mb in (
            ("20 runs, four text formats", "few", texts, 2.0, 1000),
            ("200 runs, four text formats", "many", texts, 20.0, 1000),
            ("200 runs, HTML without samples", "many", ["--out", str(page), "--no-samples"], 20.0, 1000),
            ("200 runs, HTML", "many", ["--out", str(page)], 20.0, 1000),
        ):
            found = [report(folder / store, *arguments) for _ in range(options.rounds)]
            cpu_s, wall_s, memory_mb = (min(part) for part in zip(*found, strict=True))
            measured = {"evalkit_s": round(cpu_s, 2), "evalkit_wall_s": round(wall_s, 2), "memory_mb": round(memory_mb)}
            target = f"<= {target_s:g} s, {target_mb:g} MB"
            tell(f"{row}, start-up included", options.n, measured, target, cpu_s <= target_s and memory_mb <= target_mb)
        wall_s = interactive_s(page)
        if wall_s is not None:
            measured = {"evalkit_wall_s": round(wall_s, 2)}
            tell("200 runs, until the page can be used", options.n, measured, "<= 2 s", wall_s <= 2.0)


def tell(row: str, n: int, measured: dict[str, float], target: str, is_met: bool) -> None:
    """Print one line."""
    line = {"benchmark": f"evalkit report, {row}", "n": n, **measured, "target": target, "met": is_met}
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
