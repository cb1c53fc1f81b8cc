"""Random weights and padded batches for the tests of the models."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

PADDING = 1
"""What stands where there is padding: a token like any other, so that a wrong mask shows."""


@pytest.fixture(scope="session", autouse=True)
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def randomise() -> Callable[[nn.Module], nn.Module]:
    """Draw every parameter anew, biases and norms too, large enough that each of them changes the output."""

    def draw(model: nn.Module, seed: int = 0) -> nn.Module:
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                noise = torch.randn(parameter.shape, generator=generator)
                is_norm = "norm" in name.lower() or "ln_" in name
                parameter.copy_(0.2 * noise + (1.0 if is_norm and name.endswith("weight") else 0.0))
        return model.eval()

    return draw


@pytest.fixture(scope="session")
def rows() -> Callable[..., list[Tensor]]:
    """Random token rows of the given lengths."""

    def draw(*lengths: int, vocabulary: int = 31, seed: int = 0) -> list[Tensor]:
        generator = torch.Generator().manual_seed(seed)
        return [torch.randint(2, vocabulary, (length,), generator=generator) for length in lengths]

    return draw


@pytest.fixture(scope="session")
def pad() -> Callable[[list[Tensor], str], tuple[Tensor, Tensor]]:
    """Stack rows to ids and attention mask, padded on the left or right."""

    def stack(rows: list[Tensor], side: str, width: int | None = None) -> tuple[Tensor, Tensor]:
        width = width or max(len(row) for row in rows)
        ids = torch.full((len(rows), width), PADDING)
        mask = torch.zeros(len(rows), width, dtype=torch.long)
        for index, row in enumerate(rows):
            place = slice(0, len(row)) if side == "right" else slice(width - len(row), width)
            ids[index, place] = row
            mask[index, place] = 1
        return ids, mask

    return stack
