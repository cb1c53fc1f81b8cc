import json

import pytest
import torch
import transformers

from evalkit.checkpoints import Card, describe, load_checkpoint, save_checkpoint, saving
from evalkit.errors import InvalidInputError, UnknownNameError
from evalkit_models.layers import parameter_counts

LAYOUTS = ["evalkit", "huggingface"]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_was_saved_is_what_is_loaded(tmp_path, new_model, tokenizer, outputs, name, layout, architectures):
    model, architecture = new_model(name), architectures[name]
    if name.startswith("roberta") and layout == "huggingface":
        assert tokenizer.pad_id == architecture.config.position_offset - 1
    card = Card(recipe="tide", data="mini 1", steps=3, tokens_seen=400, details={"seed": 5})
    save_checkpoint(tmp_path / "c", model, tokenizer, card, labels=architecture.labels, layout=layout)
    checkpoint = load_checkpoint(tmp_path / "c")
    assert describe(checkpoint.model, checkpoint.labels) == checkpoint.architecture
    if name != "gpt-untied" or layout == "evalkit":
        assert checkpoint.architecture == architecture
        assert {key: value.tolist() for key, value in checkpoint.model.state_dict().items()} == {
            key: value.tolist() for key, value in model.state_dict().items()
        }
    assert torch.equal(outputs(checkpoint.model), outputs(model))
    assert checkpoint.tokenizer.digest == tokenizer.digest
    assert checkpoint.parameters == parameter_counts(checkpoint.model)
    assert checkpoint.card.parameters == parameter_counts(model)
    assert (checkpoint.card.recipe, checkpoint.card.tokens_seen, checkpoint.card.details) == ("tide", 400, {"seed": 5})
    assert not checkpoint.model.training


def test_saved_checkpoint_opens_in_transformers_with_the_same_outputs(
    tmp_path, new_model, tokenizer, outputs, name, architectures
):
    model = new_model(name)
    save_checkpoint(tmp_path / "c", model, tokenizer, labels=architectures[name].labels, layout="huggingface")
    settings = json.loads((tmp_path / "c" / "config.json").read_text())
    peer_class = getattr(transformers, settings["architectures"][0])
    peer, found = peer_class.from_pretrained(tmp_path / "c", output_loading_info=True, attn_implementation="eager")
    assert {key for key in found["missing_keys"] if name != "bert-trunk" or "pooler" not in key} == set()
    assert not found["unexpected_keys"]
    assert not found["mismatched_keys"]
    theirs = outputs(peer.eval())
    assert torch.allclose(outputs(model), theirs, atol=1e-4, rtol=1e-4)
    assert peer.config.get_text_config().vocab_size == 40
    assert transformers.AutoTokenizer.from_pretrained(tmp_path / "c")("ab")["input_ids"] == tokenizer.frame.single(
        tokenizer.ids("ab")
    )
    if architectures[name].labels:
        assert tuple(peer.config.id2label.values()) == architectures[name].labels


@pytest.mark.parametrize("layout", LAYOUTS)
def test_shards_hold_the_same_model_with_the_same_digest(tmp_path, new_model, tokenizer, outputs, monkeypatch, layout):
    model = new_model("t5")
    save_checkpoint(tmp_path / "one", model, tokenizer, layout=layout)
    monkeypatch.setattr(saving.write_tensors, "__defaults__", (3000,))
    save_checkpoint(tmp_path / "many", model, tokenizer, layout=layout)
    assert len(list((tmp_path / "many").glob("model-*.safetensors"))) > 3
    one, many = load_checkpoint(tmp_path / "one"), load_checkpoint(tmp_path / "many")
    assert one.digest == many.digest
    assert torch.equal(outputs(one.model), outputs(many.model))
    if layout == "huggingface":
        peer = transformers.T5ForConditionalGeneration.from_pretrained(tmp_path / "many")
        assert torch.allclose(outputs(peer.eval()), outputs(model), atol=1e-4, rtol=1e-4)


def test_digest_changes_with_one_weight_and_with_the_shape(tmp_path, new_model, tokenizer):
    model = new_model("gpt")
    save_checkpoint(tmp_path / "a", model, tokenizer)
    save_checkpoint(tmp_path / "b", model, tokenizer, Card(recipe="other"))
    with torch.no_grad():
        model.norm.bias[3] += 1e-6
    save_checkpoint(tmp_path / "c", model, tokenizer)
    content = json.loads((tmp_path / "b" / "config.json").read_text())
    first = load_checkpoint(tmp_path / "a").digest
    assert load_checkpoint(tmp_path / "b").digest == first
    content["model"]["norm_eps"] = 1e-3
    (tmp_path / "b" / "config.json").write_text(json.dumps(content))
    assert len({first, load_checkpoint(tmp_path / "b").digest, load_checkpoint(tmp_path / "c").digest}) == 3


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_weights_come_in_the_type_asked_for_and_the_digest_is_the_files(
    tmp_path, new_model, tokenizer, dtype, architectures
):
    save_checkpoint(tmp_path / "c", new_model("bert-tags"), tokenizer, labels=architectures["bert-tags"].labels)
    checkpoint = load_checkpoint(tmp_path / "c", dtype=dtype)
    assert {parameter.dtype for parameter in checkpoint.model.parameters()} == {dtype}
    assert checkpoint.digest == load_checkpoint(tmp_path / "c").digest


@pytest.mark.parametrize("layout", LAYOUTS)
def test_type_of_the_files_is_kept_and_the_widest_of_several_taken(tmp_path, new_model, tokenizer, layout):
    model = new_model("gpt").to(torch.bfloat16)
    save_checkpoint(tmp_path / "narrow", model, tokenizer, layout=layout)
    model.norm.float()
    save_checkpoint(tmp_path / "mixed", model, tokenizer, layout=layout)
    narrow, mixed = load_checkpoint(tmp_path / "narrow").model, load_checkpoint(tmp_path / "mixed").model
    assert {parameter.dtype for parameter in narrow.parameters()} == {torch.bfloat16}
    assert {parameter.dtype for parameter in mixed.parameters()} == {torch.float32}


def test_an_existing_folder_is_replaced_only_when_asked_and_only_if_it_is_a_checkpoint(tmp_path, new_model, tokenizer):
    folder = tmp_path / "c"
    save_checkpoint(folder, new_model("gpt"), tokenizer)
    with pytest.raises(InvalidInputError, match="is there already"):
        save_checkpoint(folder, new_model("gpt"), tokenizer)
    save_checkpoint(folder, new_model("t5"), tokenizer, replace_existing=True)
    assert load_checkpoint(folder).family == "t5"
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "diary").write_text("mine")
    with pytest.raises(InvalidInputError, match="is no checkpoint"):
        save_checkpoint(tmp_path / "notes", new_model("gpt"), tokenizer, replace_existing=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c", "notes"]


def test_a_failed_save_leaves_nothing_behind_and_the_old_checkpoint_alone(tmp_path, new_model, tokenizer, monkeypatch):
    save_checkpoint(tmp_path / "c", new_model("gpt"), tokenizer)

    def fail(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(saving, "save_tokenizer", fail)
    with pytest.raises(OSError, match="No space"):
        save_checkpoint(tmp_path / "c", new_model("t5"), tokenizer, replace_existing=True)
    assert load_checkpoint(tmp_path / "c").family == "gpt"
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


def test_saving_refuses_what_it_cannot_write(tmp_path, new_model, tokenizer):
    with pytest.raises(InvalidInputError, match="Linear is not a model"):
        save_checkpoint(tmp_path / "c", torch.nn.Linear(2, 2), tokenizer)
    with pytest.raises(InvalidInputError, match="3 labels apart, found 0 names"):
        save_checkpoint(tmp_path / "c", new_model("bert-tags"), tokenizer)
    with pytest.raises(UnknownNameError, match="unknown layout 'huggingfaces'"):
        save_checkpoint(tmp_path / "c", new_model("gpt"), tokenizer, layout="huggingfaces")
    assert list(tmp_path.iterdir()) == []
