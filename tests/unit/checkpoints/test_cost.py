"""What reading a checkpoint costs, measured in processes of their own."""

import subprocess
import sys

import pytest

from evalkit.checkpoints import save_checkpoint
from evalkit_models.gpt import GPT, GPTConfig

_COMMON = """
import resource, sys, torch
from evalkit.checkpoints import load_checkpoint
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
"""


def run(program: str, *arguments: str) -> list[str]:
    command = [sys.executable, "-c", _COMMON + program, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()


def test_loading_does_not_load_the_compiler_of_torch(tmp_path, new_model, tokenizer):
    save_checkpoint(tmp_path / "c", new_model("t5"), tokenizer)
    program = (
        "load_checkpoint(sys.argv[1]); print(sorted({'torch._dynamo', 'sympy', 'transformers'} & set(sys.modules)))"
    )
    assert run(program, str(tmp_path / "c")) == ["[]"]


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["evalkit", "huggingface"])
def test_loading_holds_the_weights_and_at_most_one_tensor_more(tmp_path, new_model, tokenizer, layout):
    model = GPT(GPTConfig(vocab_size=20000, max_length=8, width=768, layers=24, heads=2, ff_width=1536))
    save_checkpoint(tmp_path / "small", new_model("gpt"), tokenizer, layout=layout)
    save_checkpoint(tmp_path / "large", model, tokenizer, layout=layout)
    program = """
load_checkpoint(sys.argv[1])
before = peak()
load_checkpoint(sys.argv[2])
print(peak() - before)
"""
    used = int(run(program, str(tmp_path / "small"), str(tmp_path / "large"))[0])
    weights = sum(parameter.nbytes for parameter in model.parameters())
    largest = max(parameter.nbytes for parameter in model.parameters())
    assert used < weights + largest + 0.1 * weights
