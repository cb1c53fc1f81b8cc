"""Kill `evalkit run` at random moments and start it again: nothing is lost, nothing half done is left, nothing is asked twice.

    python benchmarks/crash.py [--kills 20] [--examples 400] [--model server|checkpoint] [--seed 0]

`server` is a slow model behind a server of the script's own, which counts how often it is asked for each prompt; requests go
one at a time. `checkpoint` is a small GPT on the CPU, whose answers are log-probabilities, so that a last bit would show. Each
job is killed (SIGKILL) and started again until it ends by itself; then its samples must have the bytes of a run that was never
disturbed, and the store must hold that one folder alone. A new job begins until there were enough kills. Prints one JSON line.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PAUSE_S = 0.03
"""How long the slow model thinks."""
CPU_UNIT = 128
"""Requests that a checkpoint on the CPU answers at one go."""


@dataclass
class SlowModel:
    """Answers with the prompt's last word in capitals, after a while; knows how often it was asked."""

    asked: Counter[str] = field(default_factory=Counter)
    pause_s: float = PAUSE_S
    first_at: float | None = None
    """When the first example was asked for, since `forget`."""

    def forget(self) -> None:
        """Begin to wait for the first example again."""
        self.first_at = None

    def answer(self, path: str, payload: dict) -> tuple[int, dict]:
        """Reply to a request: status and document."""
        if path.endswith("/models"):
            return 200, {"data": [{"id": "slow"}]}
        if not path.endswith("/completions") or "chat" in path or payload.get("echo"):
            return 400, {"error": {"message": "not here"}}
        prompt = payload["prompt"]
        if "Chinese:" in prompt:
            self.first_at = self.first_at or time.monotonic()
            time.sleep(self.pause_s)
            self.asked[prompt] += 1
        text = f" {prompt.split()[-2].upper()}" if len(prompt.split()) > 1 else ""
        return 200, {"model": "slow", "choices": [{"text": text, "finish_reason": "stop"}]}


@contextmanager
def serving(model: SlowModel) -> Iterator[str]:
    """A server on this machine; gives its address."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            self.reply({})

        def do_POST(self) -> None:
            self.reply(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def reply(self, payload: dict) -> None:
            status, document = model.answer(self.path, payload)
            body = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda request, address: None  # clients that were killed
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()


def write_checkpoint(folder: Path) -> None:
    """A small GPT with random weights."""
    import torch

    from evalkit.checkpoints import save_checkpoint
    from evalkit.tokenization.training import train_bpe
    from evalkit_models.gpt import GPT, GPTConfig

    torch.manual_seed(0)
    tokenizer = train_bpe([f"the {word} saw a small house" for word in ("cat", "dog", "bird")], 300)
    config = GPTConfig(vocab_size=320, max_length=256, width=64, layers=4, heads=4, ff_width=256)
    save_checkpoint(folder, GPT(config), tokenizer)


@dataclass
class Job:
    """One command, killed and started again until it ends."""

    folder: Path
    arguments: list[str]
    kills: int = 0
    attempts: int = 0

    def start(self) -> subprocess.Popen[bytes]:
        """Start the command."""
        self.attempts += 1
        command = [sys.executable, "-m", "evalkit", "run", *self.arguments, "--out", "runs", "--cache", "cache.sqlite"]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def run(self) -> None:
        """Let it run to its end."""
        process = self.start()
        assert process.stderr is not None
        said = process.stderr.read().decode()
        assert process.wait() == 0, said

    @property
    def is_done(self) -> bool:
        """Whether its run is kept; it may be killed between that and its last breath."""
        return any((self.folder / "runs").glob("2*"))

    def run_killed_after(self, delay_s: float) -> None:
        """Kill it after a while, unless it has ended by itself."""
        process = self.start()
        assert process.stderr is not None
        try:
            code = process.wait(delay_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            self.kills, code = self.kills + 1, 0
        said = process.stderr.read().decode()
        process.stderr.close()
        assert code == 0, said

    def samples(self) -> bytes:
        """The samples of the one run that is there."""
        entries = sorted(path.name for path in (self.folder / "runs").iterdir())
        assert len(entries) == 1, f"left behind: {entries}"
        folder = self.folder / "runs" / entries[0]
        assert sorted(path.name for path in folder.iterdir()) == ["run.json", "samples.jsonl"]
        assert json.loads((folder / "run.json").read_text(encoding="utf-8"))["status"] == "complete"
        return (folder / "samples.jsonl").read_bytes()


@dataclass
class Tally:
    """What happened so far."""

    kills: int = 0
    jobs: int = 0
    attempts: int = 0
    asked_again: int = 0
    """Answers that the server had to give once more."""


def crash(arguments: list[str], kills: int, source: random.Random, model: SlowModel | None) -> Tally:
    """Kill jobs until there were enough kills, and check each."""
    tally = Tally()
    with tempfile.TemporaryDirectory() as undisturbed:
        job = Job(Path(undisturbed), arguments)
        started = time.monotonic()
        job.run()
        whole_s = time.monotonic() - started
        expected = job.samples()
    first_s = whole_s / 3 if model is None or model.first_at is None else model.first_at - started
    while tally.kills < kills:
        if model is not None:
            model.asked.clear()
        with tempfile.TemporaryDirectory() as temporary:
            job = Job(Path(temporary), arguments)
            longest = first_s + min(whole_s - first_s, 3.0 * first_s)
            while tally.kills + job.kills < kills and not job.is_done:
                job.run_killed_after(source.uniform(0, longest))
            if not job.is_done:
                job.run()
            assert job.samples() == expected, "samples differ from those of an undisturbed run"
        tally.jobs, tally.attempts, tally.kills = tally.jobs + 1, tally.attempts + job.attempts, tally.kills + job.kills
        if model is not None:
            again = sum(count - 1 for count in model.asked.values())
            assert again <= job.kills, f"{again} answers were asked for again, more than one a kill"
            tally.asked_again += again
    return tally


def main() -> None:
    """Kill and check, and print what happened."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--examples", type=int, default=400)
    parser.add_argument("--model", choices=["server", "checkpoint"], default="server")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    source, size = random.Random(given.seed), ["--size", str(given.examples)]
    if given.model == "server":
        model = SlowModel()
        with serving(model) as url:
            reference = f"openai:slow@{url}?api=completions"
            arguments = ["--task", "mini_mt_en_zh", "--model", reference, "--batch-size", "1", *size]
            tally = crash(arguments, given.kills, source, model)
    else:
        with tempfile.TemporaryDirectory() as temporary:
            write_checkpoint(Path(temporary) / "gpt")
            arguments = ["--task", "mini_lm", "--model", str(Path(temporary) / "gpt"), "--device", "cpu", *size]
            tally = crash(arguments, given.kills, source, None)
    row = {
        "benchmark": "crash",
        "row": given.model,
        "examples": given.examples,
        "kills": tally.kills,
        "jobs": tally.jobs,
        "attempts": tally.attempts,
        "asked_again": tally.asked_again if given.model == "server" else None,
        "samples_equal": True,
        "left_behind": 0,
    }
    print(json.dumps(row))


if __name__ == "__main__":
    main()
