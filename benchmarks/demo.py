"""Train every model of the embedded suite, measure all of them and all baselines, and hold each against what it should reach.

    python benchmarks/demo.py [--jobs 2] [--seeds 0 1 2] [--strict] [--report reports/mini_models.md]

Two jobs at a time unless told otherwise, one thread each; a model is trained, then asked the test split of the task that it is
for. Prints one table and writes `runs/demo.html`; trainings that have ended before are not repeated. The table names what a model
does not show: that it misses its target, does not beat every baseline by more than both intervals, or finds texts likelier than
their source does, which would be a leak. With --strict that ends with code 1. The first job that fails ends the others.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev

RUNS, PAGE = "runs/demo", "runs/demo.html"
LEAK = 3.0
"""Standard errors below the loss of the source itself from which a loss is taken for a leak."""
LEAKED = "finds texts likelier than their source does: a leak"
ENTROPY_MARGIN = 0.10
"""Nats a word above the entropy of its source that the largest language model may lose."""


@dataclass(frozen=True)
class Mini:
    """A recipe and the task that it is for."""

    recipe: str
    task: str
    target: float | None = None
    """What the headline value should reach; None where it is enough to beat the baselines."""
    is_trained_on_task: bool = False
    """Whether the task replaces the one of the recipe."""
    start: str = ""
    """Recipe of the model that training starts from; '' for new weights."""

    def folder(self, seed: int) -> str:
        """The checkpoint's folder."""
        return folder_of(f"{self.recipe}-{self.task}" if self.is_trained_on_task else self.recipe, seed)


START = "t5-mini"
"""What some start from; trained before all others."""
MINIS = (
    Mini("gpt-mini-lm", "mini_lm"),
    Mini("bert-mini-qa", "mini_qa", 80.0),
    Mini("t5-mini-mt", "mini_mt_en_zh", 60.0),
    Mini("t5-mini-mt", "mini_mt_zh_en", 60.0, is_trained_on_task=True),
    Mini("t5-mini-qa", "mini_qa", start=START),
    Mini("t5-mini-summarization", "mini_summarization", start=START),
    Mini("bert-mini-cws", "mini_cws", 0.95),
    Mini("bert-mini-ner", "mini_ner", 0.90),
    Mini("bert-mini-classification", "mini_classification"),
)
"""Longest trainings first, so that neither of the two jobs ends long before the other."""


@dataclass(frozen=True)
class Value:
    """The headline value of a run."""

    model: str
    name: str
    value: float
    low: float
    high: float
    is_higher_better: bool

    def beats(self, other: Value) -> bool:
        """Whether this value is better by more than both intervals."""
        return self.low > other.high if self.is_higher_better else self.high < other.low

    def __str__(self) -> str:
        digits = 2 if abs(self.value) > 1.5 and self.is_higher_better else 3
        return f"{self.value:.{digits}f} [{self.low:.{digits}f}, {self.high:.{digits}f}]"


@dataclass(frozen=True)
class Trained:
    """A trained model and its run."""

    mini: Mini
    seed: int
    cpu_s: float
    """Processor seconds of the training, all of the command; 0 where it had ended before."""
    run: dict
    start_cpu_s: float = 0.0
    """Those of the model that it starts from."""


def folder_of(name: str, seed: int) -> str:
    """The folder of a checkpoint."""
    return f"checkpoints/{name}" + (f"-seed{seed}" if seed else "")


class Commands:
    """Runs commands, and ends all of them once one has failed."""

    def __init__(self) -> None:
        self._running: list[subprocess.Popen[bytes]] = []
        self._lock = threading.Lock()
        self._is_stopped = False

    def run(self, *words: str) -> tuple[str, float]:
        """Run evalkit; return what it printed and its processor seconds.

        Raises:
            SystemExit: It failed, or another one had.
        """
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"}
        with self._lock:
            if self._is_stopped:
                raise SystemExit(1)
            print(f"$ evalkit {shlex.join(words)}", file=sys.stderr, flush=True)
            command = [sys.executable, "-m", "evalkit", *words]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment)
            self._running.append(process)
        assert process.stdout is not None
        printed = process.stdout.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            self.stop()
            raise SystemExit(f"evalkit {shlex.join(words)} ended with code {process.returncode}")
        return printed, usage.ru_utime + usage.ru_stime

    def stop(self) -> None:
        """End what is running; nothing starts any more."""
        with self._lock:
            self._is_stopped = True
            for process in self._running:
                if process.returncode is None:
                    process.terminate()


def make(commands: Commands, recipe: str, folder: str, seed: int, *more: str) -> float:
    """Train a checkpoint, and return its processor seconds; 0 where it had ended before."""
    is_new = not (Path(folder) / "config.json").is_file()
    words = ["train", "--recipe", recipe, "--out", folder, "--device", "cpu", *more]
    words += ["--set", f"seed={seed}"] if seed else []
    _, cpu_s = commands.run(*words)
    return cpu_s if is_new else 0.0


def train(commands: Commands, mini: Mini, seed: int, start: Future[float] | None) -> Trained:
    """Train a model, once what it starts from is there, and measure it on its task."""
    folder = mini.folder(seed)
    more = ["--task", mini.task] if mini.is_trained_on_task else []
    start_cpu_s = 0.0
    if start is not None:
        start_cpu_s = start.result()
        more += ["--init", folder_of(mini.start, seed)]
    cpu_s = make(commands, mini.recipe, folder, seed, *more)
    (run,) = measure(commands, mini.task, folder)
    return Trained(mini, seed, cpu_s, run, start_cpu_s)


def measure(commands: Commands, tasks: str, model: str) -> list[dict]:
    """Ask a model the test split of its tasks; return the records."""
    printed, _ = commands.run("run", "--task", tasks, "--model", model, "--device", "cpu", "--out", RUNS, "--json")
    return list(json.loads(printed)["runs"])


def headline(run: dict) -> Value:
    """The main value of a run; for a language model its loss in nats a word, so that it can be held against the entropy."""
    rows = {(row["metric"], row["name"]): row for row in run["metrics"]}
    if run["task"]["kind"] == "lm":
        row = rows["perplexity", "word_perplexity"]
        low, value, high = (math.log(row[end]) for end in ("low", "value", "high"))
        return Value(run["model"]["name"], "nats a word", value, low, high, is_higher_better=False)
    row = next(row for row in run["metrics"] if row["headline"])
    name = f"{row['metric']} {row['name']}" if row["metric"] != row["name"] else row["name"]
    return Value(run["model"]["name"], name, row["value"], row["low"], row["high"], row["higher_is_better"])


def best(values: Iterable[Value]) -> Value:
    """The baseline that is hardest to beat: the one whose interval reaches furthest."""
    return max(values, key=lambda value: value.high if value.is_higher_better else -value.low)


@dataclass(frozen=True)
class Entropy:
    """A language model's loss against that of the source of its texts, in nats a word."""

    source: float
    """Entropy of the source."""
    on_texts: float
    """What a perfect model loses on the scored texts."""
    errors_above: float
    """Standard errors by which the model's loss a text lies above the perfect one's."""

    @property
    def is_leak(self) -> bool:
        """Whether the model finds the texts likelier than their source does."""
        return self.errors_above < -LEAK


def entropy_of(run: dict) -> Entropy:
    """Hold the run of a language model on mini_lm against the source."""
    from evalkit.catalog import source_logprob, tasks

    logprob, generated = source_logprob("mini_lm"), tasks()["mini_lm"].generated
    assert logprob is not None
    assert generated is not None
    assert generated.facts is not None
    lines = (Path(RUNS) / run["id"] / "samples.jsonl").read_text(encoding="utf-8").splitlines()
    samples = [json.loads(line) for line in lines]
    texts = [sample["references"][0] for sample in samples]
    truth = [logprob(text) for text in texts]
    lost = [true - sample["response"]["logprob_nats"] for true, sample in zip(truth, samples, strict=True)]
    words = sum(len(text.split()) for text in texts)
    errors = mean(lost) / (stdev(lost) / math.sqrt(len(lost)))
    return Entropy(float(generated.facts()["entropy_nats_per_token"]), -sum(truth) / words, errors)


def verdict(trained: Trained, value: Value, baseline: Value) -> list[str]:
    """What a model fails to show."""
    missing = [] if value.beats(baseline) else [f"does not beat {baseline.model} by more than both intervals"]
    if trained.mini.target is not None and value.value < trained.mini.target:
        missing.append(f"misses {trained.mini.target:g}")
    if trained.run["task"]["kind"] == "lm":
        entropy = entropy_of(trained.run)
        if value.value > entropy.source + ENTROPY_MARGIN:
            missing.append(f"loses more than {ENTROPY_MARGIN} nats a word above the entropy")
        if entropy.is_leak:
            missing.append(LEAKED)
    return missing


def table(trained: Sequence[Trained], baselines: Sequence[dict]) -> tuple[list[str], bool]:
    """Lines of the report, and whether every model shows what it should."""
    lines = [
        "| task | value | model | seed | parameters | processor s | test split | best baseline | target | shows it |",
        "|---|---|---|---:|---:|---:|---|---|---:|---|",
    ]
    notes, is_fine = [], True
    for one in trained:
        value = headline(one.run)
        rivals = [headline(run) for run in baselines if run["task"]["name"] == one.mini.task]
        baseline = best(rivals)
        missing = verdict(one, value, baseline)
        is_fine &= not missing
        target = "" if one.mini.target is None else f"{one.mini.target:g}"
        if one.run["task"]["kind"] == "lm":
            entropy = entropy_of(one.run)
            target = f"{entropy.source + ENTROPY_MARGIN:.3f}"
            notes.append(
                f"- {value.model}: the entropy of the source is {entropy.source:.4f} nats a word, and a perfect model loses "
                f"{entropy.on_texts:.4f} on the scored texts; this one loses {value.value - entropy.on_texts:.4f} more, "
                f"{entropy.errors_above:.0f} standard errors (a loss more than {LEAK:g} below would be a leak)."
            )
        if one.start_cpu_s:
            notes.append(f"- {value.model} starts from {one.mini.start}, whose processor seconds stand behind its own.")
        notes += _oov(one.run, [run for run in baselines if run["task"]["name"] == one.mini.task])
        seconds = f"{one.cpu_s:.0f}" if one.cpu_s else ""
        seconds += f" + {one.start_cpu_s:.0f}" if one.start_cpu_s else ""
        parameters = f"{one.run['model']['parameters'] or 0:,}"
        cells = (one.mini.task, value.name, value.model, one.seed, parameters, seconds)
        ends = (value, f"{baseline.model} {baseline}", target, "; ".join(missing) or "yes")
        lines.append(f"| {' | '.join(str(cell) for cell in (*cells, *ends))} |")
    return [*lines, "", *notes], is_fine


def _oov(run: dict, baselines: Sequence[dict]) -> list[str]:
    """How many words that are not in training a segmenter finds, and max-match with it."""
    if run["task"]["kind"] != "cws":
        return []
    found = []
    for record in (run, *(record for record in baselines if record["model"]["name"] == "max-match")):
        row = next(row for row in record["metrics"] if row["name"] == "oov_recall")
        found.append(f"{record['model']['name']} {row['value']:.3f} [{row['low']:.3f}, {row['high']:.3f}]")
    return [f"- Recall of words that are not in training: {', '.join(found)}."]


def collect(seeds: Sequence[int], jobs_at_a_time: int) -> tuple[list[Trained], list[dict]]:
    """Train and measure everything.

    Raises:
        SystemExit: A job failed.
    """
    commands = Commands()
    with ThreadPoolExecutor(jobs_at_a_time) as pool:
        starts = {seed: pool.submit(make, commands, START, folder_of(START, seed), seed) for seed in seeds}
        jobs: list[Future] = [
            pool.submit(train, commands, mini, seed, starts[seed] if mini.start else None)
            for seed in seeds
            for mini in MINIS
        ]
        jobs.append(pool.submit(measure, commands, "mini_*", "baseline:all"))
        everything = [*starts.values(), *jobs]
        try:
            wait(everything, return_when=FIRST_EXCEPTION)
        except KeyboardInterrupt:
            commands.stop()
            raise
        failed = [job.exception() for job in everything if job.done() and job.exception() is not None]
    if failed:
        # Those that were ended, or not begun, because of another say no more than a code.
        raise SystemExit(next((str(error) for error in failed if not str(error).isdecimal()), str(failed[0])))
    *trained, baselines = (job.result() for job in jobs)
    return trained, baselines


def exit_code(lines: Sequence[str], is_fine: bool, is_strict: bool) -> int:
    """The code that a table ends with: a leak makes every number doubtful, a missed target only where that was asked for."""
    is_leaked = any(LEAKED in line for line in lines)
    return 1 if is_leaked or (is_strict and not is_fine) else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--jobs", type=int, choices=range(1, 65), metavar="N", default=2, help="how many at a time, one thread each"
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], help="seeds of the trainings")
    parser.add_argument(
        "--strict", action="store_true", help="end with code 1 where a model misses what it should show"
    )
    parser.add_argument("--report", type=Path, help="also write the table to this file")
    flags = parser.parse_args()
    trained, baselines = collect(list(dict.fromkeys(flags.seeds)), flags.jobs)
    subprocess.run([sys.executable, "-m", "evalkit", "report", RUNS, "--out", PAGE], check=True)
    lines, is_fine = table(trained, baselines)
    text = "\n".join(["# Models of the embedded suite", "", *lines, ""])
    print(text)
    if flags.report:
        words = ["python", "benchmarks/demo.py", *sys.argv[1:]]
        flags.report.write_text(f"<!-- {shlex.join(words)} -->\n{text}", encoding="utf-8")
    return exit_code(lines, is_fine, flags.strict)


if __name__ == "__main__":
    sys.exit(main())
