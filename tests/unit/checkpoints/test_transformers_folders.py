"""Folders that transformers wrote, and those that are as its hub's are: old names, bare names, tables held twice."""

import json

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from evalkit.adapters.seq2seq import Seq2SeqAdapter
from evalkit.checkpoints import load_checkpoint
from evalkit.requests import ModelInfo, ModelSettings, ScoreRequest
from evalkit.tokenization import save_tokenizer

_BERT = {
    "vocab_size": 40,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 26,
    "num_labels": 3,
}
_ROBERTA = {**_BERT, "pad_token_id": 1, "type_vocab_size": 1, "layer_norm_eps": 1e-5}
_LLAMA = {**_BERT, "num_key_value_heads": 1, "rope_parameters": {"rope_type": "default", "rope_theta": 77.0}}
_T5 = {"vocab_size": 40, "d_model": 16, "d_kv": 4, "d_ff": 24, "num_layers": 2, "num_decoder_layers": 3, "num_heads": 2}

PEERS = {
    "GPT2LMHeadModel": {"vocab_size": 40, "n_positions": 24, "n_embd": 16, "n_layer": 2, "n_head": 2},
    "LlamaForCausalLM": _LLAMA,
    "Qwen2ForCausalLM": {**_LLAMA, "tie_word_embeddings": True},
    "BertModel": _BERT,
    "BertForMaskedLM": _BERT,
    "BertForPreTraining": _BERT,
    "BertForTokenClassification": _BERT,
    "BertForQuestionAnswering": _BERT | {"num_labels": 2},
    "BertForSequenceClassification": _BERT,
    "RobertaForMaskedLM": _ROBERTA,
    "RobertaForTokenClassification": _ROBERTA,
    "RobertaForQuestionAnswering": _ROBERTA | {"num_labels": 2},
    "RobertaForSequenceClassification": _ROBERTA,
    "T5ForConditionalGeneration": {**_T5, "n_positions": 30},
    "MT5ForConditionalGeneration": {**_T5, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": False},
}


@pytest.fixture
def peer(tokenizer, tmp_path):
    """Make a model of transformers with random weights, and save it with a tokenizer."""

    def make(class_name, settings):
        torch.manual_seed(3)
        model_class = getattr(transformers, class_name)
        model = model_class(model_class.config_class(**settings, attn_implementation="eager")).eval()
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.normal_(0.3, 0.3)
        model.save_pretrained(tmp_path)
        save_tokenizer(tmp_path, tokenizer)
        return model

    return make


def rewrite(folder, change):
    """Change the tensors of a folder, which may give new ones or change the mapping."""
    tensors = load_file(folder / "model.safetensors")
    tensors = change(tensors) or tensors
    save_file({name: tensor.clone() for name, tensor in tensors.items()}, folder / "model.safetensors")


def settings_of(folder):
    return json.loads((folder / "config.json").read_text())


@pytest.mark.parametrize("class_name", PEERS)
def test_folders_of_transformers_give_its_outputs(tmp_path, peer, outputs, class_name):
    model = peer(class_name, PEERS[class_name])
    checkpoint = load_checkpoint(tmp_path)
    ours, theirs = outputs(checkpoint.model), outputs(model)
    assert ours.shape == theirs.shape
    assert torch.allclose(ours, theirs, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(("start", "expected"), [(0, None), (7, 7)])
def test_the_start_token_of_targets_is_read_and_used_as_in_transformers(tmp_path, peer, start, expected):
    model = peer(
        "T5ForConditionalGeneration",
        {**_T5, "num_decoder_layers": 2, "decoder_start_token_id": start, "pad_token_id": 0, "eos_token_id": 39},
    )
    checkpoint = load_checkpoint(tmp_path)
    assert checkpoint.config.start_id == expected
    info = ModelInfo(ref="toy", name="toy", digest="", family="t5")
    adapter = Seq2SeqAdapter(checkpoint.model, checkpoint.tokenizer, info, ModelSettings())
    (answer,) = adapter.answer([ScoreRequest(example_id="1", context="ab", continuations=("ba",))])
    source = torch.tensor([checkpoint.tokenizer.frame.single(checkpoint.tokenizer.ids("ab"))])
    target = torch.tensor([checkpoint.tokenizer.ids("ba")])
    # Of a target, transformers itself makes what its decoder reads.
    with torch.no_grad():
        loss_nats = model(input_ids=source, labels=target).loss.item()
    assert answer.logprobs_nats[0] == pytest.approx(-loss_nats * target.shape[1], abs=1e-4)


@torch.no_grad()
def test_next_sentence_logits_are_those_of_transformers(tmp_path, peer):
    model = peer("BertForPreTraining", _BERT)
    ids = torch.arange(8).view(2, 4)
    theirs = model(input_ids=ids).seq_relationship_logits
    assert torch.allclose(load_checkpoint(tmp_path).model.next_sentence_logits(ids), theirs, atol=1e-4)


@pytest.mark.parametrize("is_tied", [True, False])
def test_t5_1_1_of_the_hub_has_its_own_head(tmp_path, peer, outputs, is_tied):
    model = peer(
        "T5ForConditionalGeneration", {**_T5, "feed_forward_proj": "gated-gelu", "tie_word_embeddings": is_tied}
    )
    if not is_tied:
        with torch.no_grad():
            model.lm_head.weight = torch.nn.Parameter(torch.randn(40, 16))
        model.save_pretrained(tmp_path)
        # The hub's own files say so in the older words.
        settings = settings_of(tmp_path) | {"tie_word_embeddings": False}
        del settings["scale_decoder_outputs"]
        (tmp_path / "config.json").write_text(json.dumps(settings))
    checkpoint = load_checkpoint(tmp_path)
    assert checkpoint.config.tie_head is is_tied
    assert torch.allclose(outputs(checkpoint.model), outputs(model), atol=1e-4, rtol=1e-4)


def test_published_bert_has_old_names_a_pooler_buffers_and_tables_twice(tmp_path, peer, outputs):
    model = peer("BertForPreTraining", _BERT)

    def age(tensors):
        table, bias = tensors["bert.embeddings.word_embeddings.weight"], tensors["cls.predictions.bias"]
        aged = {
            name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): tensor
            for name, tensor in tensors.items()
        }
        return aged | {
            "cls.predictions.decoder.weight": table,
            "cls.predictions.decoder.bias": bias,
            "bert.embeddings.position_ids": torch.arange(26)[None],
        }

    rewrite(tmp_path, age)
    # The hub's bert-base-uncased names the architecture without the second head, which its file has.
    settings = settings_of(tmp_path) | {"architectures": ["BertForMaskedLM"]}
    (tmp_path / "config.json").write_text(json.dumps(settings))
    checkpoint = load_checkpoint(tmp_path)
    assert checkpoint.architecture.has_next_sentence
    assert torch.allclose(outputs(checkpoint.model), outputs(model), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("class_name", ["BertForMaskedLM", "BertForTokenClassification", "RobertaForMaskedLM"])
def test_a_pooler_that_no_head_reads_is_left_out(tmp_path, peer, class_name):
    peer(class_name, PEERS[class_name])
    prefix = class_name.removesuffix("ForMaskedLM").removesuffix("ForTokenClassification").lower()
    rewrite(
        tmp_path,
        lambda tensors: (
            tensors
            | {f"{prefix}.pooler.dense.weight": torch.zeros(16, 16), f"{prefix}.pooler.dense.bias": torch.zeros(16)}
        ),
    )
    assert "bert.pooler.weight" not in load_checkpoint(tmp_path).model.state_dict()


def test_t5_of_the_hub_has_its_table_four_times_and_one_that_nobody_reads(tmp_path, peer, outputs):
    model = peer("T5ForConditionalGeneration", _T5)
    unread = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"
    names = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight")
    rewrite(
        tmp_path,
        lambda tensors: tensors | dict.fromkeys(names, tensors["shared.weight"]) | {unread: torch.randn(32, 2)},
    )
    assert torch.allclose(outputs(load_checkpoint(tmp_path).model), outputs(model), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("is_bare", [True, False])
def test_a_trunk_is_read_with_and_without_prefix(tmp_path, peer, outputs, is_bare):
    model = peer("BertModel", _BERT)
    if not is_bare:
        rewrite(tmp_path, lambda tensors: {f"bert.{name}": tensor for name, tensor in tensors.items()})
    assert torch.allclose(outputs(load_checkpoint(tmp_path).model), outputs(model), atol=1e-4, rtol=1e-4)


def test_gpt2_of_the_hub_has_bare_names_and_mask_buffers(tmp_path, peer, outputs):
    model = peer("GPT2LMHeadModel", PEERS["GPT2LMHeadModel"])

    def age(tensors):
        bare = {name.removeprefix("transformer."): tensor for name, tensor in tensors.items()}
        masks = {f"h.{layer}.attn.bias": torch.ones(1, 1, 24, 24).tril() for layer in range(2)}
        return bare | masks | {"h.0.attn.masked_bias": torch.tensor(-1e4), "lm_head.weight": bare["wte.weight"]}

    rewrite(tmp_path, age)
    settings = settings_of(tmp_path) | {"architectures": None}
    (tmp_path / "config.json").write_text(json.dumps(settings))
    assert torch.allclose(outputs(load_checkpoint(tmp_path).model), outputs(model), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(
    ("class_name", "head"),
    [("BertModel", "trunk"), ("BertForMaskedLM", "masked_lm"), ("BertForQuestionAnswering", "spans")],
)
def test_without_architecture_the_tensors_tell_the_head(tmp_path, peer, class_name, head):
    peer(class_name, PEERS[class_name])
    settings = settings_of(tmp_path)
    del settings["architectures"]
    (tmp_path / "config.json").write_text(json.dumps(settings))
    assert load_checkpoint(tmp_path).architecture.head == head
