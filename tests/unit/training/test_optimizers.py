"""Which parameters decay, and a step of AdamW against the equations of its paper."""

import pytest
import torch
from torch import nn

from evalkit.checkpoints import build
from evalkit.checkpoints.architectures import Architecture
from evalkit.training.optimizers import build_optimizer, parameter_groups
from evalkit.training.recipe import OptimizerSection
from evalkit_models.bert import BertConfig
from evalkit_models.decoder import DecoderConfig
from evalkit_models.gpt import GPTConfig
from evalkit_models.t5 import T5Config

SIZE = {"vocab_size": 40, "max_length": 24, "width": 16, "layers": 2, "heads": 2, "ff_width": 24}
MODELS = {
    "gpt": Architecture(family="gpt", config=GPTConfig(**SIZE)),
    "decoder": Architecture(family="decoder", config=DecoderConfig(**SIZE, kv_heads=1)),
    "bert": Architecture(family="bert", config=BertConfig(**SIZE), head="masked_lm", has_next_sentence=True),
    "t5": Architecture(family="t5", config=T5Config(**SIZE, head_width=8, decoder_layers=2)),
}


@pytest.mark.parametrize("name", MODELS)
def test_norms_and_biases_do_not_decay_and_everything_else_does(name: str):
    model = build(MODELS[name])
    norms = {f"{n}.weight" for n, module in model.named_modules() if isinstance(module, nn.LayerNorm | nn.RMSNorm)}
    plain = {n for n, _ in model.named_parameters() if n in norms or n.endswith("bias")}
    names = {id(parameter): n for n, parameter in model.named_parameters()}
    decays = {names[id(p)]: group.weight_decay for group in parameter_groups(model, 0.3) for p in group.parameters}
    assert decays == {n: 0.0 if n in plain else 0.3 for n, _ in model.named_parameters()}


def test_what_needs_no_gradient_is_left_out():
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    model[0].requires_grad_(False)
    assert sum(len(group.parameters) for group in parameter_groups(model, 0.1)) == 2


@pytest.mark.parametrize("is_sharded", [False, True])
@pytest.mark.parametrize("scale", [1.0, 0.25])
def test_a_step_of_adamw_is_that_of_its_paper(is_sharded: bool, scale: float):
    section = OptimizerSection(lr=0.1, beta1=0.8, beta2=0.9, eps=1e-3, weight_decay=0.5)
    layer = nn.Linear(2, 1).double()
    optimizer = build_optimizer(layer, section, is_sharded=is_sharded)
    weight, bias = layer.weight.detach().clone(), layer.bias.detach().clone()
    mean, square = torch.zeros_like(weight), torch.zeros_like(weight)
    for step in (1, 2, 3):
        gradient = torch.tensor([[1.0, -2.0]], dtype=torch.double) * step
        layer.weight.grad, layer.bias.grad = gradient.clone(), torch.zeros_like(bias)
        optimizer.step(0.01, scale)
        gradient = gradient * scale
        # Loshchilov and Hutter (2019), algorithm 2, with the schedule multiplier inside the rate.
        mean = 0.8 * mean + 0.2 * gradient
        square = 0.9 * square + 0.1 * gradient**2
        update = mean / (1 - 0.8**step) / ((square / (1 - 0.9**step)).sqrt() + 1e-3)
        weight = weight - 0.01 * update - 0.01 * 0.5 * weight
    torch.testing.assert_close(layer.weight.detach(), weight)
    torch.testing.assert_close(layer.bias.detach(), bias)


def test_adafactor_takes_the_smaller_of_the_rate_and_the_root_of_the_step():
    layer = nn.Linear(4, 4, bias=False)
    nn.init.constant_(layer.weight, 2.0)
    optimizer = build_optimizer(layer, OptimizerSection(lr=0.01, kind="adafactor", weight_decay=0.0))
    layer.weight.grad = torch.ones_like(layer.weight)
    optimizer.step(0.01, 0.5)
    # Shazeer and Stern (2018), algorithm 4: relative step 0.01, scaled by the parameter's root mean square of 2.
    torch.testing.assert_close(layer.weight.detach(), torch.full((4, 4), 2.0 - 0.01 * 2.0), atol=1e-4, rtol=0)
