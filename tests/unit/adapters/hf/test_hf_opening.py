import ast
import json
import shutil
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

import evalkit.adapters.hf
from evalkit.adapters.hf import INSTALL, files_digest, open_hf
from evalkit.errors import InvalidInputError, MissingResourceError
from evalkit.requests import GenerateRequest, LabelRequest, ModelSettings

CPU = ModelSettings(device="cpu")


@pytest.fixture
def copy(folder, tmp_path):
    """A function that copies a model's folder, to be spoilt."""

    def make(name):
        return shutil.copytree(folder(name), tmp_path / name)

    return make


@pytest.mark.parametrize(
    ("name", "family", "kinds"),
    [
        ("gpt", "hf-causal", {"generate", "score", "rolling"}),
        ("t5", "hf-seq2seq", {"generate", "score"}),
        ("tags", "hf-encoder", {"label"}),
        ("spans", "hf-encoder", {"span"}),
        ("classes", "hf-encoder", {"classify"}),
    ],
)
def test_the_architecture_decides_what_a_model_answers(folder, name, family, kinds):
    adapter = open_hf(str(folder(name)), CPU)
    info = adapter.info
    assert (info.family, adapter.supports, info.ref, info.name) == (family, kinds, f"hf:{folder(name)}", name)
    assert info.parameters > 1000
    assert info.details["dtype"] == "float32"
    json.dumps(dict(info.details), allow_nan=False)


def test_another_kind_of_model_or_of_request_is_refused(folder, make_context):
    with pytest.raises(InvalidInputError, match="architecture is 'BertForMaskedLM'; expected one that ends in"):
        open_hf(str(folder("masked")), CPU)
    adapter = open_hf(str(folder("gpt")), CPU)
    assert adapter.prepare(make_context("ner", "label", [("1", {})])) == ()
    with pytest.raises(InvalidInputError, match="cannot answer a 'label' request"):
        adapter.answer([GenerateRequest(example_id="1", prompt="a"), LabelRequest(example_id="2")])
    assert list(adapter.answer([])) == []


def test_the_longest_input_of_roberta_leaves_out_the_padding_position(folder):
    words = ("cat",) * 30
    with pytest.raises(InvalidInputError, match="but the model takes 24"):
        open_hf(str(folder("roberta")), CPU).answer([LabelRequest(example_id="1", tokens=words)])


def test_the_digest_covers_weights_and_tokenizer_and_not_the_place(folder, copy):
    first, other = folder("gpt"), copy("gpt")
    assert files_digest(first) == files_digest(other)
    (other / "README.md").write_text("notes")
    assert files_digest(first) == files_digest(other)
    (other / "tokenizer_config.json").write_text("{}")
    assert files_digest(first) != files_digest(other)


def test_missing_tensors_are_not_made_up(copy):
    path = copy("tags") / "model.safetensors"
    tensors = load_file(path)
    del tensors["classifier.weight"]
    save_file(tensors, path, {"format": "pt"})
    with pytest.raises(InvalidInputError, match=r"1 tensors are missing .*classifier\.weight"):
        open_hf(str(path.parent), CPU)


def test_misshapen_tensors_are_told(copy):
    path = copy("tags") / "model.safetensors"
    tensors = load_file(path)
    tensors["classifier.weight"] = torch.zeros(2, 16)
    save_file(tensors, path, {"format": "pt"})
    with pytest.raises(InvalidInputError, match=r"1 tensors are .*of another shape, e\.g\. classifier\.weight"):
        open_hf(str(path.parent), CPU)


def test_pickles_are_refused_with_a_way_out(copy):
    path = copy("gpt")
    torch.save(load_file(path / "model.safetensors"), path / "pytorch_model.bin")
    (path / "model.safetensors").unlink()
    with pytest.raises(InvalidInputError, match=r"no \.safetensors file; pickled weights are not read"):
        open_hf(str(path), CPU)


def test_code_of_a_model_is_not_run(copy, tmp_path):
    path, mark = copy("gpt"), tmp_path / "mark"
    (path / "evil.py").write_text(f"open({str(mark)!r}, 'w')\n")
    config = json.loads((path / "config.json").read_text())
    config |= {"model_type": "evil", "auto_map": {"AutoConfig": "evil.Config", "AutoModelForCausalLM": "evil.Model"}}
    (path / "config.json").write_text(json.dumps(config))
    with pytest.raises(InvalidInputError, match="transformers cannot load it") as raised:
        open_hf(str(path), CPU)
    assert not mark.exists()
    assert str(raised.value).isprintable()


def test_a_folder_that_is_no_model_is_told(tmp_path):
    with pytest.raises(InvalidInputError, match="transformers cannot load it"):
        open_hf(str(tmp_path), CPU)
    with pytest.raises(MissingResourceError, match="there is no such folder"):
        open_hf(str(tmp_path / "none"), CPU)


def test_a_name_is_fetched_from_the_hub_at_its_revision(folder, tmp_path, monkeypatch):
    import huggingface_hub

    snapshot = tmp_path / "snapshots" / "abc123"
    shutil.copytree(folder("gpt"), snapshot)
    asked = []

    def download(name, **options):
        asked.append((name, options["revision"]))
        return str(snapshot)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    info = open_hf("us/tiny@v2", CPU).info
    assert (asked, info.name, info.details["revision"]) == ([("us/tiny", "v2")], "us/tiny@v2", "abc123")
    assert info.digest == open_hf(str(folder("gpt")), CPU).info.digest


def test_a_name_that_the_hub_does_not_give_is_told_in_one_line(monkeypatch):
    import huggingface_hub

    def download(name, **options):
        raise OSError("no\nsuch  model")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    with pytest.raises(MissingResourceError, match=r"hf:us/none: .* the hub does not give it: no such model"):
        open_hf("us/none", CPU)


def test_without_transformers_the_command_that_installs_it_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingResourceError, match="need the package transformers") as raised:
        open_hf("any", CPU)
    assert INSTALL in str(raised.value)


def test_no_adapter_needs_transformers_to_be_imported():
    for path in Path(evalkit.adapters.hf.__file__).parent.glob("hf*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = (
                [alias.name for alias in node.names] if isinstance(node, ast.Import) else [getattr(node, "module", "")]
            )
            assert not any(str(name).startswith(("transformers", "huggingface_hub")) for name in names), path


def test_opening_sets_no_random_state(folder):
    state = torch.random.get_rng_state()
    open_hf(str(folder("gpt")), CPU)
    assert torch.equal(torch.random.get_rng_state(), state)
