"""A recipe that trains in a second: a narrow GPT of characters on lines that repeat themselves."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from evalkit.training.recipe import Recipe
from evalkit.training.recipe_file import read_recipe

TINY = """
summary = "characters of lines"
steps = 12
[model]
family = "gpt"
width = 16
layers = 2
heads = 2
max_length = 32
dropout = 0.1
[tokenizer]
kind = "characters"
vocab_size = 40
[data]
texts = ["lines.txt"]
part = [0.0, 0.8]
[objective]
kind = "causal_lm"
[optimizer]
lr = 3e-3
[schedule]
warmup = 2
final = 0.1
[batch]
tokens = 128
[evaluate]
every = 4
part = [0.8, 1.0]
[keep]
state_every = 5
"""


@pytest.fixture(scope="session", autouse=True)
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    """A folder with a text file of sixty lines of different lengths."""
    text = "".join(f"{'abcdefgh' * (number % 4)} {number:02d} the end\n" for number in range(60))
    (tmp_path / "lines.txt").write_text(text, encoding="utf-8")
    return tmp_path


@pytest.fixture
def tiny_recipe() -> str:
    """The text of the tiny recipe."""
    return TINY


@pytest.fixture
def recipe() -> Callable[..., Recipe]:
    """Make the tiny recipe with other values: ``recipe("steps=3")``."""
    return lambda *overrides: read_recipe(TINY, "tiny", "tiny.toml", overrides)
