"""Low-rank updates: what is trained, what is read of a model in evaluation, and what is written in the end."""

import copy
from dataclasses import replace

import pytest
import torch
from torch import nn

from evalkit.checkpoints import Card, load_checkpoint, save_checkpoint
from evalkit.errors import DataError, UnknownNameError
from evalkit.tokenization import train_characters
from evalkit.training.lora import LoraLinear, add_lora, has_lora, merged_state
from evalkit.training.recipe import LoraSection
from evalkit.training.train import TrainOptions, train
from evalkit_models.bert import BertConfig
from evalkit_models.bert_heads import BertForTokenLabels
from evalkit_models.decoder import Decoder, DecoderConfig
from evalkit_models.gpt import GPT, GPTConfig
from evalkit_models.t5 import T5, T5Config

_SIZES = {"vocab_size": 40, "max_length": 16, "width": 32, "layers": 2, "heads": 4, "ff_width": 48}
MODELS = {
    "gpt": lambda: GPT(GPTConfig(**_SIZES)),
    "decoder": lambda: Decoder(DecoderConfig(**_SIZES, kv_heads=2)),
    "bert": lambda: BertForTokenLabels(BertConfig(**_SIZES), 5),
    "t5": lambda: T5(T5Config(**_SIZES, head_width=8, decoder_layers=2)),
}


def section(**more) -> LoraSection:
    return LoraSection(**{"rank": 3, "alpha": 8.0, "targets": ("qkv", "mlp.up"), **more})


def add(model: nn.Module, **more) -> list[str]:
    return add_lora(model, section(**more), torch.Generator().manual_seed(0))


def trained(family: str, **more) -> nn.Module:
    """A model whose updates are large enough to matter."""
    torch.manual_seed(1)
    model = MODELS[family]()
    add(model, **more)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora" in name:
                parameter.normal_(std=0.3)
    return model


def outputs(model: nn.Module, family: str) -> torch.Tensor:
    ids = torch.randint(0, 40, (3, 11), generator=torch.Generator().manual_seed(2))
    return model(ids, None, ids) if family == "t5" else model(ids)


@pytest.mark.parametrize("family", MODELS)
def test_merged_equals_unmerged(family):
    model = trained(family).train()
    unmerged = outputs(model, family)
    plain = MODELS[family]()
    plain.load_state_dict(merged_state(model))
    torch.testing.assert_close(outputs(plain, family), unmerged, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(outputs(model.eval(), family), unmerged, atol=1e-5, rtol=1e-5)
    assert not torch.allclose(unmerged, outputs(MODELS[family](), family), atol=1e-2)


@pytest.mark.parametrize("family", MODELS)
def test_new_updates_change_nothing_and_only_they_and_a_new_head_are_trained(family):
    torch.manual_seed(1)
    model = MODELS[family]()
    before = outputs(model, family)
    names = add(model)
    torch.testing.assert_close(outputs(model, family), before, atol=1e-5, rtol=1e-5)
    outputs(model, family).sum().backward()
    moved = {name for name, parameter in model.named_parameters() if parameter.grad is not None}
    wanted = {f"{name}.{part}" for name in names for part in ("lora_down", "lora_up")}
    assert moved == wanted | ({"head.out.weight", "head.out.bias"} if family == "bert" else set())


def test_an_evaluation_leaves_the_weights_as_they_were_to_the_bit():
    model = trained("gpt").train()
    before = copy.deepcopy(model.state_dict())
    for _ in range(3):
        model.eval()
        model.train()
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


def test_evaluation_reads_the_update_from_the_weight_itself():
    model = trained("bert").eval()
    layer = model.bert.blocks[0].attention.qkv
    assert isinstance(layer, LoraLinear)
    update = layer.lora_up @ layer.lora_down * (8.0 / 3)
    model.train()
    base = layer.weight.detach().clone()
    model.eval()
    torch.testing.assert_close(layer.weight, base + update)


def test_dropout_before_the_update_is_for_training_only():
    model = trained("gpt", dropout=0.5).train()
    torch.manual_seed(0)
    first, second = outputs(model, "gpt"), outputs(model, "gpt")
    assert not torch.equal(first, second)
    model.eval()
    assert torch.equal(outputs(model, "gpt"), outputs(model, "gpt"))


def test_a_target_names_layers_by_their_last_parts():
    assert add(MODELS["gpt"](), targets=("attention.out",)) == ["blocks.0.attention.out", "blocks.1.attention.out"]
    assert len(add(MODELS["t5"](), targets=("q",))) == 2


@pytest.mark.parametrize("family", ["gpt", "decoder", "t5"])
def test_a_head_of_its_own_can_be_a_target(family):
    plain = MODELS[family]()
    model = type(plain)(replace(plain.config, tie_head=False))
    assert add(model, targets=("output",)) == ["output"]
    model.train()
    outputs(model, family).square().sum().backward()
    assert float(model.output.lora_up.grad.abs().max()) > 0
    nn.init.normal_(model.output.lora_up)
    unmerged = outputs(model, family)
    torch.testing.assert_close(outputs(model.eval(), family), unmerged, atol=1e-5, rtol=1e-5)


def test_an_unknown_target_is_one_line_with_the_nearest_name():
    with pytest.raises(
        UnknownNameError, match=r"unknown \[lora\] target 'kqv'; did you mean 'qkv'\? known: down, out, qkv, up"
    ):
        add(MODELS["gpt"](), targets=("kqv",))


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("lora.rank=0", r"\[lora\] rank is 0; expected a number of at least 1"),
        ("lora.targets=[]", r"\[lora\] targets names no layer"),
    ],
)
def test_no_rank_and_no_targets_are_one_line(recipe, setting, said):
    with pytest.raises(DataError, match=said):
        recipe("lora.rank=2", "lora.alpha=4", "lora.targets=['qkv']", setting)


@pytest.fixture
def start(lines):
    """A GPT of characters to start from."""
    tokenizer = train_characters([(lines / "lines.txt").read_text(encoding="utf-8")], 40)
    torch.manual_seed(3)
    config = GPTConfig(**{**_SIZES, "vocab_size": tokenizer.largest_id + 1, "max_length": 32})
    save_checkpoint(lines / "start", GPT(config), tokenizer, Card())
    return lines / "start"


def test_a_training_with_updates_writes_a_plain_checkpoint_that_differs_in_the_targets_only(recipe, lines, start):
    asked = recipe("lora.rank=2", "lora.alpha=4", "lora.targets=['qkv']", "optimizer.lr=0.05")
    options = TrainOptions(out=lines / "out", data_dir=str(lines), device="cpu", is_quiet=True, init=str(start))
    assert train(asked, options) is not None
    before, after = (load_checkpoint(folder).model for folder in (start, lines / "out"))
    assert not has_lora(after)
    changed = {
        name for name, tensor in after.state_dict().items() if not torch.equal(tensor, before.state_dict()[name])
    }
    assert changed == {"blocks.0.attention.qkv.weight", "blocks.1.attention.qkv.weight"}
