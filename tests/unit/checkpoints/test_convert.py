import json
import os
import pickle

import pytest
import torch
import transformers

from evalkit.checkpoints import load_checkpoint
from evalkit.checkpoints.convert import convert_pickle, main
from evalkit.errors import DataError, InvalidInputError, MissingResourceError
from evalkit.tokenization import save_tokenizer

_GPT2 = {"vocab_size": 40, "n_positions": 24, "n_embd": 16, "n_layer": 2, "n_head": 2}


class Harmful:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


@pytest.fixture
def model(tmp_path, tokenizer):
    torch.manual_seed(3)
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config(**_GPT2)).eval()
    model.config.architectures = ["GPT2LMHeadModel"]
    model.config.save_pretrained(tmp_path)
    save_tokenizer(tmp_path, tokenizer)
    return model


@pytest.mark.parametrize("shards", [1, 3])
def test_converted_weights_give_the_same_outputs(tmp_path, model, outputs, shards):
    # The tied head is in the pickle under both names, as one memory.
    state = model.state_dict()
    assert state["lm_head.weight"].data_ptr() == state["transformer.wte.weight"].data_ptr()
    names = list(state)
    if shards == 1:
        torch.save(state, tmp_path / "pytorch_model.bin")
    else:
        files = {name: f"pytorch_model-{number % shards}.bin" for number, name in enumerate(names)}
        for file in set(files.values()):
            torch.save({name: state[name] for name in names if files[name] == file}, tmp_path / file)
        (tmp_path / "pytorch_model.bin.index.json").write_text(json.dumps({"weight_map": files}))
    written = convert_pickle(tmp_path, allow_pickle=True)
    assert [path.name for path in written] == ["model.safetensors"]
    assert torch.allclose(outputs(load_checkpoint(tmp_path).model), outputs(model), atol=1e-4)


def test_code_in_a_pickle_is_not_run(tmp_path):
    (tmp_path / "pytorch_model.bin").write_bytes(pickle.dumps({"a": Harmful(tmp_path / "harmed")}, protocol=2))
    with pytest.raises(DataError, match="holds more than weights") as caught:
        convert_pickle(tmp_path, allow_pickle=True)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "harmed").exists()


@pytest.mark.parametrize(
    ("content", "problem"),
    [([torch.zeros(2)], "holds a list"), ({"model": {"a": torch.zeros(2)}}, "other things than tensors: model")],
)
def test_a_pickle_of_other_things_is_refused(tmp_path, content, problem):
    torch.save(content, tmp_path / "pytorch_model.bin")
    with pytest.raises(DataError, match=problem):
        convert_pickle(tmp_path, allow_pickle=True)
    assert [path.name for path in tmp_path.iterdir()] == ["pytorch_model.bin"]


def test_converting_needs_the_flag_a_pickle_and_no_safetensors(tmp_path):
    with pytest.raises(MissingResourceError, match="nothing to convert"):
        convert_pickle(tmp_path, allow_pickle=True)
    torch.save({"a": torch.zeros(2)}, tmp_path / "pytorch_model.bin")
    with pytest.raises(InvalidInputError, match="--allow-pickle"):
        convert_pickle(tmp_path)
    convert_pickle(tmp_path, allow_pickle=True)
    with pytest.raises(InvalidInputError, match="has safetensors already"):
        convert_pickle(tmp_path, allow_pickle=True)


def test_an_index_that_leaves_the_folder_is_refused(tmp_path):
    (tmp_path / "pytorch_model.bin.index.json").write_text('{"weight_map": {"a": "../a.bin"}}')
    with pytest.raises(DataError, match="same folder"):
        convert_pickle(tmp_path, allow_pickle=True)


def test_command_prints_the_file_or_one_line_of_error(tmp_path, capsys):
    assert main([str(tmp_path), "--allow-pickle"]) == 2
    assert capsys.readouterr().err.startswith("error: ")
    torch.save({"a": torch.zeros(2)}, tmp_path / "pytorch_model.bin")
    assert main([str(tmp_path), "--allow-pickle"]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'model.safetensors'}\n"
