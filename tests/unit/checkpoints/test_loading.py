import json
import re
import subprocess
import sys

import pytest
import torch
from safetensors.torch import load_file, save_file

from evalkit.checkpoints import Card, load_checkpoint, save_checkpoint
from evalkit.errors import DataError, EvalkitError, MissingResourceError
from evalkit.tokenization import save_tokenizer, train_characters


@pytest.fixture
def folder(tmp_path, new_model, tokenizer):
    """Save a small model; its architecture and layout are the test's."""

    def make(name="gpt", layout="huggingface", labels=()):
        save_checkpoint(tmp_path / "c", new_model(name), tokenizer, layout=layout, labels=labels)
        return tmp_path / "c"

    return make


def change_tensors(folder, change):
    tensors = load_file(folder / "model.safetensors")
    change(tensors)
    save_file(tensors, folder / "model.safetensors")


def change_settings(folder, **settings):
    content = json.loads((folder / "config.json").read_text()) | settings
    content = {key: value for key, value in content.items() if value is not ...}
    (folder / "config.json").write_text(json.dumps(content))


def problem_of(folder, kind=DataError):
    with pytest.raises(kind) as caught:
        load_checkpoint(folder)
    assert str(folder) in str(caught.value)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(("layout", "prefix"), [("evalkit", ""), ("huggingface", "transformer.")])
def test_missing_unexpected_and_misshapen_tensors_are_one_error(folder, layout, prefix):
    found = folder(layout=layout)
    embedding = "tokens.weight" if layout == "evalkit" else "transformer.wte.weight"
    norm = "norm.bias" if layout == "evalkit" else "transformer.ln_f.bias"

    def change(tensors):
        del tensors[norm]
        tensors["adapter.weight"] = torch.zeros(2)
        tensors[embedding] = torch.zeros(3, 16)

    change_tensors(found, change)
    problem = problem_of(found)
    assert f"missing 1: {norm}" in problem
    assert "unexpected 1: adapter.weight" in problem
    assert f"misshapen 1: {embedding} [3, 16] instead of [40, 16]" in problem


def test_a_part_of_a_fused_tensor_is_missed_by_its_own_name(folder):
    found = folder("decoder")
    change_tensors(found, lambda tensors: tensors.pop("model.layers.1.self_attn.k_proj.weight"))
    assert "missing 1: model.layers.1.self_attn.k_proj.weight" in problem_of(found)


def test_many_missing_tensors_are_counted_and_the_first_named(folder):
    found = folder()
    change_tensors(found, lambda tensors: [tensors.pop(name) for name in list(tensors) if ".h." in name])
    assert re.search(r"missing 24: transformer\.h\.0\.attn\.c_attn\.bias, .* and 16 more", problem_of(found))


def test_two_copies_of_a_tied_table_have_to_agree(folder):
    found = folder()
    change_tensors(found, lambda tensors: tensors.update({"lm_head.weight": tensors["transformer.wte.weight"] + 1}))
    assert "lm_head.weight differs from" in problem_of(found)


@pytest.mark.parametrize(
    ("name", "settings", "problem"),
    [
        ("gpt", {"model_type": "gpt3"}, "unknown model_type 'gpt3'; did you mean 'gpt2'?"),
        ("gpt", {"model_type": ...}, "unknown model_type 'None'"),
        ("gpt", {"architectures": ["GPT2ForSequenceClassification"]}, "unknown architecture 'GPT2ForSequenceClassification'"),
        ("gpt", {"activation_function": "relu"}, "activation_function = 'relu' (expected 'gelu_new' or"),
        ("gpt", {"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx = True (expected False)"),
        ("gpt", {"n_embd": ...}, "has no 'n_embd', which a gpt2 needs"),
        ("gpt", {"n_head": 3}, "width 16 is not divisible by heads 3"),
        ("gpt", {"n_layer": "two"}, "layers is 'two', expected a value of type int"),
        ("gpt", {"n_layer": True}, "layers is True, expected a value of type int"),
        ("gpt", {"n_layer": 10**9}, "describes 1000000000 layers, the files have 28 tensors"),
        ("gpt", {"vocab_size": 1 << 62}, "describes a model that cannot be"),
        ("gpt", {"n_layer": 3}, "missing 12"),
        ("decoder", {"rope_parameters": {"rope_type": "yarn"}}, "rope type 'yarn' is not supported"),
        ("decoder", {"rope_parameters": None, "rope_scaling": {"type": "linear", "factor": 2}}, "rope type 'linear'"),
        ("decoder", {"head_dim": 32}, "head_dim 32 is not supported"),
        ("decoder", {"attention_bias": True, "hidden_act": "gelu"}, "hidden_act = 'gelu' (expected 'silu'); attention_bias"),
        ("bert-spans", {"hidden_act": "relu"}, "hidden_act = 'relu'"),
        ("bert-spans", {"position_embedding_type": "relative_key"}, "position_embedding_type = 'relative_key'"),
        ("t5", {"feed_forward_proj": "gated-silu"}, "feed_forward_proj = 'gated-silu'"),
        ("t5", {"d_kv": 5}, "misshapen"),
    ],
)  # fmt: skip
def test_models_that_evalkit_does_not_have_are_refused_by_name(folder, name, settings, problem):
    found = folder(name)
    change_settings(found, **settings)
    assert problem in problem_of(found)


@pytest.mark.parametrize("id2label", [{"0": "O", "2": "B"}, {"a": "O"}, {"0": "O", "1": "O", "2": "B"}, ["O"]])
def test_labels_have_to_be_numbered_and_different(folder, id2label, architectures):
    found = folder("bert-tags", labels=architectures["bert-tags"].labels)
    change_settings(found, id2label=id2label)
    problem_of(found)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"evalkit_checkpoint": 2}, "version 2, expected 1"),
        ({"family": "rnn"}, "'rnn'"),
        ({"model": ...}, "has no 'model'"),
        ({"model": {"vocab_size": 40, "width": 16, "depth": 3}}, "unknown settings depth"),
        ({"model": {"vocab_size": 40, "width": 16}}, "missing"),
        ({"labels": ["O"]}, "labels"),
    ],
)
def test_broken_settings_of_our_own_are_named(folder, settings, problem):
    found = folder(layout="evalkit")
    change_settings(found, **settings)
    assert problem in problem_of(found)


@pytest.mark.parametrize("content", ["", "[]", "{" * 3000, '{"a":' * 100_000, '{"vocab_size": NaN}', "\ud83d"])
def test_settings_that_are_no_json_object_are_refused(folder, content):
    found = folder()
    (found / "config.json").write_bytes(content.encode("utf-8", "surrogatepass"))
    problem_of(found)


def test_what_is_not_there_is_named(folder, tmp_path):
    assert "is no checkpoint: there is no such folder" in problem_of(tmp_path / "nowhere", MissingResourceError)
    (tmp_path / "begun" / "training").mkdir(parents=True)
    assert "its training has not ended" in problem_of(tmp_path / "begun", MissingResourceError)
    assert "it has no config.json" in problem_of(tmp_path, MissingResourceError)
    found = folder()
    (found / "tokenizer.json").rename(found / "kept.json")
    assert "has no tokenizer" in problem_of(found, MissingResourceError)
    (found / "kept.json").rename(found / "tokenizer.json")
    (found / "model.safetensors").unlink()
    assert "has no weights" in problem_of(found, MissingResourceError)


def test_a_pickle_is_refused_with_the_command_that_converts_it(folder):
    found = folder()
    torch.save(load_file(found / "model.safetensors"), found / "pytorch_model.bin")
    (found / "model.safetensors").unlink()
    command = problem_of(found).partition("if you trust it: ")[2]
    assert command == f"python -m evalkit.checkpoints.convert --allow-pickle {found}"
    subprocess.run([sys.executable, *command.split()[1:]], check=True, capture_output=True)
    assert load_checkpoint(found).family == "gpt"


def test_a_tokenizer_larger_than_the_model_is_refused(folder):
    found = folder()
    save_tokenizer(found, train_characters(["".join(map(chr, range(97, 200)))], 60))
    assert "ids up to 59, the model's vocabulary 40 tokens" in problem_of(found)


@pytest.mark.parametrize("card", ['{"step": 3}', '{"steps": -1}', '{"tokens_seen": true}', '{"details": 3}', "[]"])
def test_a_broken_card_is_named(folder, card):
    found = folder()
    (found / "card.json").write_text(card)
    assert "card.json" in problem_of(found)


def test_a_folder_without_card_has_an_empty_one(folder):
    found = folder()
    (found / "card.json").unlink()
    assert load_checkpoint(found).card == Card()


def test_any_cut_of_the_weights_is_refused(folder):
    found = folder()
    content = (found / "model.safetensors").read_bytes()
    for size in (0, 5, 8, 200, len(content) // 2, len(content) - 1):
        (found / "model.safetensors").write_bytes(content[:size])
        with pytest.raises(EvalkitError):
            load_checkpoint(found)
