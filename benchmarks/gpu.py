"""Test evalkit on a GPU, and time it there: everything that one short loan of a machine should show, in one command.

    python benchmarks/gpu.py [--smoke] [--no-tests] [--rounds N]

First the tests of tests/gpu, then one JSON line a row. Weights and prompts are random. Rates of the machine are measured in the
same run: the bandwidth of a large copy, and the rate of a large bfloat16 product. `share` is the part of them that the work
reaches: for generation, the time that reading the weights and the cache takes over the time that a token takes; for scoring,
the operations of the model over those of the product. A row without CUDA says why it was left out; `--smoke` runs all of the
code on a CPU with tiny models, whose numbers mean nothing.
"""

import argparse
import json
import math
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from signs import SignTokenizer

from evalkit.adapters.causal import CausalAdapter
from evalkit.adapters.encoder.passages import Passage
from evalkit.adapters.encoder.stack import BertStack
from evalkit.adapters.engine.packing import Tree, pack
from evalkit.requests import GenerateRequest, ModelInfo, ModelSettings, RollingRequest
from evalkit_models.bert import SIZES as BERT_SIZES
from evalkit_models.bert import Bert, BertConfig
from evalkit_models.gpt import GPT, GPTConfig
from evalkit_models.gpt import SIZES as GPT_SIZES

ROOT = Path(__file__).resolve().parents[1]
TESTS_LIMIT_S = {"cuda": 240, "cpu": 1200}
"""Seconds that the tests may take: on a GPU the whole script has six minutes."""


@dataclass(frozen=True)
class Setup:
    """The machine and the sizes of the work."""

    device: torch.device
    gpt: GPTConfig
    bert: BertConfig
    texts: int
    """Texts of 512 tokens that are scored, or as many tokens as the model takes."""
    new_tokens: int
    rounds: int

    @property
    def length(self) -> int:
        """Tokens of a text."""
        return min(512, self.gpt.max_length, self.bert.max_length)


def setup(is_smoke: bool, rounds: int) -> Setup:
    """Choose the sizes."""
    if is_smoke:
        gpt = GPTConfig(vocab_size=300, max_length=64, width=32, layers=2, heads=2, ff_width=64)
        bert = BertConfig(vocab_size=300, max_length=64, width=32, layers=2, heads=2, ff_width=64)
        return Setup(torch.device("cpu"), gpt, bert, 8, 12, 1)
    return Setup(torch.device("cuda"), GPT_SIZES["gpt2"], BERT_SIZES["bert-base-uncased"], 512, 256, rounds)


def seconds(device: torch.device, work: Callable[[], Any], rounds: int) -> float:
    """Measure the wall time of a call, the best of several after one that does not count."""
    best = math.inf
    for number in range(rounds + 1):
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        started = time.perf_counter()
        work()
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        if number:
            best = min(best, time.perf_counter() - started)
    return best


def rates(device: torch.device) -> tuple[float, float]:
    """Measure bytes a second of a copy, read and written, and operations a second of a bfloat16 product."""
    is_cuda = device.type == "cuda"
    block = torch.zeros((1 << 30) if is_cuda else (1 << 22), dtype=torch.uint8, device=device)
    other = torch.empty_like(block)
    copying = seconds(device, lambda: other.copy_(block), 5)
    size = 8192 if is_cuda else 256
    left, right = (torch.randn(size, size, device=device, dtype=torch.bfloat16) for _ in range(2))
    product = seconds(device, lambda: left @ right, 5)
    return 2 * block.numel() / copying, 2 * size**3 / product


def new_model(cls: Callable[[Any], Any], config: Any, device: torch.device, dtype: torch.dtype) -> Any:
    """Make a model with new weights."""
    torch.manual_seed(0)
    with device:
        return cls(config).to(dtype).eval()


def texts(config: GPTConfig | BertConfig, count: int, length: int, seed: int = 1) -> list[tuple[int, ...]]:
    """Draw token ids."""
    source = random.Random(seed)
    return [tuple(source.choices(range(1, config.vocab_size), k=length)) for _ in range(count)]


def adapter_of(model: GPT, made: Setup, **settings: Any) -> CausalAdapter:
    """Put an adapter around a model."""
    info = ModelInfo(ref="random", name="random", digest="", family="gpt")
    return CausalAdapter(model, SignTokenizer(bos_id=0), info, ModelSettings(device=str(made.device), **settings))


def generation(made: Setup, bandwidth: float) -> Iterator[dict[str, Any]]:
    """Time greedy generation in bfloat16, one prompt at a time and many, with plain and with recorded steps."""
    model = new_model(GPT, made.gpt, made.device, torch.bfloat16)
    for batch in (1, 64 if made.device.type == "cuda" else 4):
        plain, expected = _generated(made, model, batch, bandwidth, is_compiled=False)
        recorded, found = _generated(made, model, batch, bandwidth, is_compiled=True)
        # bfloat16 rounds by the kernel: where two tokens are nearly as good, texts may part.
        yield plain
        yield {**recorded, "equal": sum(map(str.__eq__, found, expected)) / batch}


def _generated(
    made: Setup, model: GPT, batch: int, bandwidth: float, *, is_compiled: bool
) -> tuple[dict[str, Any], list[str]]:
    config, tokenizer = made.gpt, SignTokenizer(bos_id=0)
    requests = [
        GenerateRequest(example_id=str(place), prompt=tokenizer.decode(ids), max_new_tokens=made.new_tokens)
        for place, ids in enumerate(texts(config, batch, made.length // 4))
    ]
    adapter = adapter_of(model, made, batch_size=batch, compile=is_compiled)
    answers = [one.text for one in adapter.answer(requests)]
    step = seconds(made.device, lambda: list(adapter.answer(requests)), made.rounds) / made.new_tokens
    blocks = sum(weight.numel() for block in model.blocks for weight in block.parameters())
    # On average a sequence is half as long as it gets.
    cache = batch * (made.length // 4 + made.new_tokens / 2) * 2 * config.layers * config.width * 2
    least = (2 * (blocks + config.vocab_size * config.width) + cache) / bandwidth
    name = "recorded steps" if is_compiled else "plain steps"
    row = {
        "benchmark": f"generate GPT-2 124M bfloat16, batch {batch}, {name}",
        "n": batch * made.new_tokens,
        "tokens_per_s": round(batch / step),
        "ms_a_token": round(1e3 * step, 3),
        "bound_ms": round(1e3 * least, 3),
        "share": round(least / step, 2),
        "target": 0.5 if batch == 1 and is_compiled else None,
    }
    return row, answers


def operations(config: GPTConfig | BertConfig, length: int, *, is_causal: bool, with_head: bool) -> float:
    """Count the operations of a forward pass for one text."""
    inner = 2 * config.layers * (4 * config.width**2 + 2 * config.width * config.ff_width)
    attention = 4 * config.layers * config.width * length / (2 if is_causal else 1)
    head = 2 * config.width * config.vocab_size if with_head else 0
    return length * (inner + attention + head)


def scoring(made: Setup, rate: float) -> Iterator[dict[str, Any]]:
    """Time the forward passes of GPT-2 and BERT in bfloat16, and a GPT-2's perplexity with all that is around it."""
    for is_compiled in (False, True):
        yield from _gpt_scored(made, rate, is_compiled=is_compiled)
        yield _bert_read(made, rate, is_compiled=is_compiled)


def _gpt_scored(made: Setup, rate: float, *, is_compiled: bool) -> Iterator[dict[str, Any]]:
    name, length = "GPT-2 124M, compiled" if is_compiled else "GPT-2 124M", made.length
    adapter = adapter_of(new_model(GPT, made.gpt, made.device, torch.bfloat16), made, compile=is_compiled)
    rows = texts(made.gpt, made.texts, length)
    requests = [
        RollingRequest(example_id=str(place), text=SignTokenizer(bos_id=0).decode(ids))
        for place, ids in enumerate(rows)
    ]
    work = operations(made.gpt, length, is_causal=True, with_head=True) * made.texts
    time_s = seconds(made.device, lambda: list(adapter.answer(requests)), made.rounds)
    yield _scored(f"rolling perplexity {name}, whole adapter", made.texts * length, work, time_s, rate, 0.6)
    some = rows[: min(made.texts, 65536 // length)]
    packed = pack([Tree(ids) for ids in some], [range(1)] * len(some), made.device)
    work = operations(made.gpt, length, is_causal=True, with_head=False) * len(some)
    with torch.inference_mode():
        time_s = seconds(made.device, lambda: adapter._stack.read(packed), made.rounds)
    yield _scored(f"read {name}, forward pass alone", len(some) * length, work, time_s, rate, 0.6)


def _bert_read(made: Setup, rate: float, *, is_compiled: bool) -> dict[str, Any]:
    stack = BertStack(new_model(Bert, made.bert, made.device, torch.bfloat16))
    if is_compiled:
        stack.compile()
    count = min(made.texts, 65536 // made.length)
    passages = [Passage(ids, (0,)) for ids in texts(made.bert, count, made.length)]
    work = operations(made.bert, made.length, is_causal=False, with_head=False) * count
    time_s = seconds(made.device, lambda: stack.read(passages), made.rounds)
    name = "read bert-base, compiled, forward pass" if is_compiled else "read bert-base, forward pass"
    return _scored(name, count * made.length, work, time_s, rate, 0.6)


def _scored(name: str, tokens: int, work: float, time_s: float, rate: float, target: float | None) -> dict[str, Any]:
    return {
        "benchmark": f"{name}, bfloat16",
        "n": tokens,
        "s": round(time_s, 4),
        "tokens_per_s": round(tokens / time_s),
        "tflop_s": round(work / time_s / 1e12, 1),
        "share": round(work / time_s / rate, 2),
        "target": target,
    }


def tests(made: Setup) -> dict[str, Any]:
    """Run tests/gpu, and count what became of them."""
    command = [sys.executable, "-m", "pytest", "-q", "-m", "gpu", "tests/gpu", "-p", "no:cacheprovider"]
    started, limit_s = time.perf_counter(), TESTS_LIMIT_S[made.device.type]
    environment = {**os.environ, "EVALKIT_GPU_DEVICE": made.device.type}
    try:
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=limit_s)
        lines, code = done.stdout.strip().splitlines(), done.returncode
    except subprocess.TimeoutExpired as error:
        lines, code = (error.stdout or b"").decode(errors="replace").strip().splitlines(), -1
    for line in lines:
        if code != 0:
            print(line, file=sys.stderr)
    summary = lines[-1] if lines and code != -1 else f"not done after {limit_s} s"
    return {
        "benchmark": "tests/gpu",
        "s": round(time.perf_counter() - started, 1),
        "passed": code == 0,
        "summary": summary,
    }


def machine(device: torch.device, bandwidth: float, rate: float) -> dict[str, Any]:
    """Say what is measured on."""
    return {
        "benchmark": "machine",
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "bandwidth_tb_s": round(bandwidth / 1e12, 3),
        "bfloat16_tflop_s": round(rate / 1e12, 1),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="tiny models on a CPU, to check this script")
    parser.add_argument("--no-tests", action="store_true", help="leave out tests/gpu")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    if not (given.smoke or torch.cuda.is_available()):
        print(json.dumps({"benchmark": "gpu", "skipped": "no CUDA device here; --smoke checks the script on a CPU"}))
        return 0
    made = setup(given.smoke, given.rounds)
    is_right = True
    if not given.no_tests:
        row = tests(made)
        is_right = row["passed"]
        print(json.dumps(row), flush=True)
    bandwidth, rate = rates(made.device)
    print(json.dumps(machine(made.device, bandwidth, rate)), flush=True)
    for rows in (generation(made, bandwidth), scoring(made, rate)):
        for row in rows:
            print(json.dumps(row), flush=True)
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
