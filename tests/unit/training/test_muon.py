"""Muon: which matrices it steps, what a step is, and that it agrees with torch's."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from evalkit.checkpoints import build
from evalkit.checkpoints.architectures import Architecture
from evalkit.errors import InvalidInputError
from evalkit.training import muon
from evalkit.training.lora import add_lora
from evalkit.training.muon import matrices_of, orthogonalised
from evalkit.training.optimizers import build_optimizer
from evalkit.training.recipe import LoraSection, OptimizerSection
from evalkit_models.bert import BertConfig
from evalkit_models.decoder import DecoderConfig
from evalkit_models.gpt import GPTConfig
from evalkit_models.t5 import T5Config

SIZE = {"vocab_size": 40, "max_length": 24, "width": 16, "layers": 2, "heads": 4, "ff_width": 24}
MODELS = {
    "gpt": Architecture(family="gpt", config=GPTConfig(**SIZE, tie_head=False)),
    "decoder": Architecture(family="decoder", config=DecoderConfig(**SIZE, kv_heads=2)),
    "bert": Architecture(family="bert", config=BertConfig(**SIZE), head="masked_lm", has_next_sentence=True),
    "t5": Architecture(family="t5", config=T5Config(**SIZE, head_width=4, decoder_layers=2)),
}
HEIGHTS = {
    "gpt": {"qkv": (16, 16, 16), "out": (16,), "up": (24,), "down": (16,)},
    "decoder": {"qkv": (16, 8, 8), "out": (16,), "gate": (24,), "up": (24,), "down": (16,)},
    "bert": {"qkv": (16, 16, 16), "out": (16,), "up": (24,), "down": (16,)},
    "t5": {"qkv": (16, 16, 16), "q": (16,), "kv": (16, 16), "out": (16,), "up": (24,), "down": (16,)},
}
SECTION = OptimizerSection(lr=0.02, kind="muon", momentum=0.8, weight_decay=0.1)


class OneLayer(nn.Module):
    """A model with a single linear layer in its only block, and an embedding."""

    def __init__(self, rows: int, columns: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.tokens = nn.Embedding(5, columns)
        self.blocks = nn.ModuleList([nn.Sequential(nn.Linear(columns, rows))])
        for parameter in self.parameters():
            nn.init.normal_(parameter, generator=generator)
        self.double()

    @property
    def linear(self) -> nn.Linear:
        return self.blocks[0][0]


def set_gradients(model: nn.Module, step: int) -> None:
    generator = torch.Generator().manual_seed(100 + step)
    for parameter in model.parameters():
        parameter.grad = torch.randn(parameter.shape, generator=generator).to(parameter)


@pytest.mark.parametrize("name", MODELS)
def test_the_matrices_of_the_blocks_are_found_with_the_projections_in_them(name: str):
    model = build(MODELS[name])
    names = {id(parameter): n for n, parameter in model.named_parameters()}
    found = {names[id(matrix.parameter)]: matrix.heights for matrix in matrices_of(model)}
    in_blocks = {n for n, p in model.named_parameters() if "blocks." in n and p.dim() == 2}
    assert set(found) == in_blocks
    assert {n: HEIGHTS[name][n.split(".")[-2]] for n in in_blocks} == found
    for matrix in matrices_of(model):
        assert sum(matrix.heights) == matrix.parameter.shape[0]


def test_of_a_model_with_low_rank_updates_those_are_stepped():
    model = build(MODELS["gpt"])
    add_lora(model, LoraSection(rank=2, targets=("qkv",)), torch.Generator())
    assert [tuple(matrix.parameter.shape) for matrix in matrices_of(model)] == [(2, 16), (48, 2)] * 2
    assert [matrix.heights for matrix in matrices_of(model)] == [(2,), (48,)] * 2


def test_singular_values_come_near_one_and_singular_vectors_stay():
    matrices = torch.randn(3, 12, 30, generator=torch.Generator().manual_seed(1)).double() * 100
    left, values, right = torch.linalg.svd(matrices, full_matrices=False)
    inside = left.mT @ orthogonalised(matrices) @ right.mT
    after = torch.diagonal(inside, dim1=-2, dim2=-1)
    torch.testing.assert_close(inside, torch.diag_embed(after), atol=1e-9, rtol=0)
    assert float(values.min() / values.max()) < 0.4
    assert 0.68 < float(after.min()) <= float(after.max()) < 1.21


def test_a_matrix_of_zeros_stays_one():
    assert torch.equal(orthogonalised(torch.zeros(1, 3, 4)), torch.zeros(1, 3, 4))


def bent(value: float) -> float:
    """What becomes of a singular value, by the polynomial of Jordan et al. (2024)."""
    for _ in range(5):
        value = 3.4445 * value - 4.7750 * value**3 + 2.0315 * value**5
    return value


@pytest.mark.parametrize("shape", [(4, 4), (3, 7), (7, 3)], ids=str)
@pytest.mark.parametrize("scale", [1.0, 0.25])
def test_a_step_is_that_of_its_paper(shape: tuple[int, int], scale: float):
    model = OneLayer(*shape)
    optimizer = build_optimizer(model, SECTION)
    weight = model.linear.weight.detach().numpy().copy()
    momentum = np.zeros(shape)
    for step in range(3):
        set_gradients(model, step)
        gradient = model.linear.weight.grad.numpy() * scale
        optimizer.step(0.01, scale)
        momentum = 0.8 * momentum + 0.2 * gradient
        left, values, right = np.linalg.svd(0.8 * momentum + 0.2 * gradient, full_matrices=False)
        values = np.array([bent(value) for value in values / np.linalg.norm(values)])
        # Liu et al. (2025), section 2.2, equation 4.
        weight = weight - 0.01 * (0.2 * max(shape) ** 0.5 * (left * values) @ right + 0.1 * weight)
        np.testing.assert_allclose(model.linear.weight.detach().numpy(), weight, rtol=0, atol=1e-10)


def test_torch_steps_the_same_but_for_its_bf16():
    theirs = getattr(torch.optim, "Muon", None)
    if theirs is None:
        pytest.skip("torch has Muon since 2.9")
    model = OneLayer(24, 16).float()
    before = model.linear.weight.detach().clone()
    copy = nn.Parameter(before.clone())
    ours = build_optimizer(model, SECTION)
    other = theirs([copy], lr=0.02, weight_decay=0.1, momentum=0.8, adjust_lr_fn="match_rms_adamw")
    for step in range(4):
        set_gradients(model, step)
        copy.grad = model.linear.weight.grad.clone()
        ours.step(0.02, 1.0)
        other.step()
    moved, expected = model.linear.weight.detach() - before, copy.detach() - before
    assert float((moved - expected).norm() / expected.norm()) < 0.02


def test_projections_in_one_matrix_step_as_if_each_had_its_own():
    model = build(MODELS["decoder"])
    optimizer = build_optimizer(model, SECTION)
    qkv = model.blocks[0].attention.qkv
    parts = [nn.Parameter(part.detach().clone()) for part in qkv.weight.split([16, 8, 8])]
    set_gradients(model, 0)
    gradients = [part.clone() for part in qkv.weight.grad.split([16, 8, 8])]
    optimizer.step(0.02, 1.0)
    for part, gradient in zip(parts, gradients, strict=True):
        alone = OneLayer(*part.shape).float()
        alone.linear.weight.data.copy_(part.detach())
        rule = build_optimizer(alone, SECTION)
        set_gradients(alone, 1)
        alone.linear.weight.grad.copy_(gradient)
        rule.step(0.02, 1.0)
        part.data.copy_(alone.linear.weight.detach())
    torch.testing.assert_close(qkv.weight.detach(), torch.cat([part.detach() for part in parts]), atol=1e-6, rtol=1e-5)


def stepped(model: nn.Module, section: OptimizerSection, rate: float) -> dict[str, Tensor]:
    optimizer = build_optimizer(model, section)
    for step in range(3):
        set_gradients(model, step)
        optimizer.step(rate, 0.5)
    return {name: parameter.detach() for name, parameter in model.named_parameters()}


@pytest.mark.parametrize("name", MODELS)
def test_everything_else_steps_by_adamw_at_a_rate_of_its_own(name: str):
    first, second = build(MODELS[name]), build(MODELS[name])
    second.load_state_dict(first.state_dict())
    matrices = {id(matrix.parameter) for matrix in matrices_of(first)}
    others = {n for n, parameter in first.named_parameters() if id(parameter) not in matrices}
    section = OptimizerSection(lr=0.02, kind="muon", adamw_lr=0.1)
    ours = stepped(first, section, 0.01)
    theirs = stepped(second, OptimizerSection(lr=0.1), 0.05)
    for n, tensor in ours.items():
        assert torch.equal(tensor, theirs[n]) == (n in others)


def test_how_many_matrices_are_made_orthogonal_at_once_changes_nothing(monkeypatch):
    first, second = build(MODELS["t5"]), build(MODELS["t5"])
    second.load_state_dict(first.state_dict())
    together = stepped(first, SECTION, 0.01)
    monkeypatch.setattr(muon, "_LARGEST_STACK", 1)
    apart = stepped(second, SECTION, 0.01)
    for name, tensor in together.items():
        torch.testing.assert_close(tensor, apart[name], atol=1e-6, rtol=1e-4)


def test_parameters_without_a_gradient_stay():
    model = OneLayer(4, 4)
    optimizer = build_optimizer(model, SECTION)
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    optimizer.step(0.1, 1.0)
    assert all(torch.equal(parameter, before[name]) for name, parameter in model.named_parameters())


def test_what_only_muon_reads_is_refused_elsewhere():
    with pytest.raises(InvalidInputError, match=r"adamw_lr goes with kind 'muon', found kind 'adafactor'; take it out"):
        OptimizerSection(lr=0.1, kind="adafactor", adamw_lr=0.1)
    with pytest.raises(InvalidInputError, match=r"momentum goes with kind 'muon', found kind 'adamw'"):
        OptimizerSection(lr=0.1, momentum=0.9)
    with pytest.raises(InvalidInputError, match=r"\[optimizer\] momentum is 1\.5"):
        OptimizerSection(lr=0.1, kind="muon", momentum=1.5)
