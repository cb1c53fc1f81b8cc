"""Our architectures as transformers' `config.json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evalkit.checkpoints.architectures import Architecture
from evalkit.errors import InvalidInputError
from evalkit.tokenization import Tokenizer
from evalkit_models.bert import BertConfig
from evalkit_models.decoder import DecoderConfig
from evalkit_models.gpt import GPTConfig
from evalkit_models.t5 import T5Config

_BERT_HEADS: Mapping[str | None, str] = {
    "trunk": "Model",
    "masked_lm": "ForMaskedLM",
    "token_labels": "ForTokenClassification",
    "spans": "ForQuestionAnswering",
    "classes": "ForSequenceClassification",
}


def _gpt(config: GPTConfig) -> dict[str, Any]:
    return {
        "model_type": "gpt2",
        "architectures": ["GPT2LMHeadModel"],
        "vocab_size": config.vocab_size,
        "n_positions": config.max_length,
        "n_embd": config.width,
        "n_layer": config.layers,
        "n_head": config.heads,
        "n_inner": config.ff_width,
        "activation_function": "gelu_new",
        "tie_word_embeddings": config.tie_head,
        "resid_pdrop": config.dropout,
        "embd_pdrop": config.dropout,
        "attn_pdrop": config.dropout,
        "layer_norm_epsilon": config.norm_eps,
    }


def _decoder(config: DecoderConfig) -> dict[str, Any]:
    return {
        "model_type": "qwen2" if config.qkv_bias else "llama",
        "architectures": ["Qwen2ForCausalLM" if config.qkv_bias else "LlamaForCausalLM"],
        "vocab_size": config.vocab_size,
        "max_position_embeddings": config.max_length,
        "hidden_size": config.width,
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads,
        "num_key_value_heads": config.kv_heads,
        "intermediate_size": config.ff_width,
        "hidden_act": "silu",
        # transformers 5 reads the first, earlier ones the second.
        "rope_parameters": {"rope_type": "default", "rope_theta": config.rope_base},
        "rope_theta": config.rope_base,
        "tie_word_embeddings": config.tie_head,
        "attention_dropout": config.dropout,
        "rms_norm_eps": config.norm_eps,
    }


def _bert(config: BertConfig, architecture: Architecture) -> dict[str, Any]:
    is_roberta = config.position_offset > 0
    name = "Roberta" if is_roberta else "Bert"
    head = "ForPreTraining" if architecture.has_next_sentence else _BERT_HEADS[architecture.head]
    settings: dict[str, Any] = {
        "model_type": name.lower(),
        "architectures": [name + head],
        "vocab_size": config.vocab_size,
        "max_position_embeddings": config.max_length + config.position_offset,
        "hidden_size": config.width,
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads,
        "intermediate_size": config.ff_width,
        "type_vocab_size": config.segments,
        "hidden_act": "gelu",
        "hidden_dropout_prob": config.dropout,
        "attention_probs_dropout_prob": config.dropout,
        "layer_norm_eps": config.norm_eps,
    }
    if architecture.labels:
        settings["id2label"] = {str(number): label for number, label in enumerate(architecture.labels)}
        settings["label2id"] = {label: number for number, label in enumerate(architecture.labels)}
    if is_roberta:
        settings["pad_token_id"] = config.position_offset - 1
    return settings


def _t5(config: T5Config) -> dict[str, Any]:
    return {
        "model_type": "t5",
        "architectures": ["T5ForConditionalGeneration"],
        "is_encoder_decoder": True,
        "vocab_size": config.vocab_size,
        "n_positions": config.max_length,
        "d_model": config.width,
        "d_kv": config.head_width,
        "num_layers": config.layers,
        "num_decoder_layers": config.decoder_layers,
        "num_heads": config.heads,
        "d_ff": config.ff_width,
        "relative_attention_num_buckets": config.buckets,
        "relative_attention_max_distance": config.max_distance,
        "feed_forward_proj": "gated-gelu" if config.is_gated else "relu",
        "tie_word_embeddings": config.tie_head,
        "dropout_rate": config.dropout,
        "layer_norm_epsilon": config.norm_eps,
    }


def write_settings(architecture: Architecture, tokenizer: Tokenizer) -> tuple[dict[str, Any], str]:
    """Write an architecture as transformers' settings.

    Args:
        architecture: The architecture.
        tokenizer: The tokenizer, whose special ids the settings hold too.

    Returns:
        The content of `config.json`, and which table of names the weights have.

    Raises:
        InvalidInputError: A RoBERTa's padding token is not the one that its positions begin behind.
    """
    config = architecture.config
    ids = {f"{role}_token_id": getattr(tokenizer, f"{role}_id") for role in ("bos", "eos", "pad")}
    if isinstance(config, GPTConfig):
        return _gpt(config) | ids, "gpt2"
    if isinstance(config, DecoderConfig):
        return _decoder(config) | ids, "llama"
    if isinstance(config, T5Config):
        start = tokenizer.pad_id if config.start_id is None else config.start_id
        return _t5(config) | ids | {"decoder_start_token_id": start}, "t5"
    offset = config.position_offset
    if offset and tokenizer.pad_id not in (None, offset - 1):
        raise InvalidInputError(
            f"the padding token is {tokenizer.pad_id}, transformers' RoBERTa needs position_offset - 1 = {offset - 1}"
        )
    return ids | _bert(config, architecture), "roberta" if offset else "bert"
