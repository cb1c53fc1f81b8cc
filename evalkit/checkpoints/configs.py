"""What transformers' `config.json` says, as our architectures, and ours as theirs; what we do not have is an error."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalkit.checkpoints.architectures import Architecture, make_config
from evalkit.errors import DataError, InvalidInputError, UnknownNameError

Settings = Mapping[str, Any]

_T5_LENGTH = 512
"""Longest text in the training of T5; its `config.json` does not always say."""


@dataclass(frozen=True, kw_only=True)
class _Family:
    """How the settings of one `model_type` are read."""

    read: Callable[[Settings], dict[str, Any]]
    """Makes the values of our shape of their settings."""
    table: str
    """Which table of names its weights have."""
    heads: Mapping[str, str | None]
    """Their architectures that are read, each to our head."""
    only: Mapping[str, tuple[Any, ...]]
    """Settings that may have these values alone; the first is meant where the setting is absent."""


def _read_gpt(settings: Settings) -> dict[str, Any]:
    width = settings["n_embd"]
    return dict(
        vocab_size=settings["vocab_size"],
        max_length=settings["n_positions"],
        width=width,
        layers=settings["n_layer"],
        heads=settings["n_head"],
        ff_width=settings.get("n_inner") or 4 * width,
        tie_head=settings.get("tie_word_embeddings", True),
        dropout=settings.get("resid_pdrop", 0.1),
        norm_eps=settings.get("layer_norm_epsilon", 1e-5),
    )


def _rope_base(settings: Settings) -> float:
    rope: Settings = settings.get("rope_parameters") or settings.get("rope_scaling") or {}
    kind = rope.get("rope_type", rope.get("type", "default"))
    if kind != "default":
        raise InvalidInputError(f"rope type {kind!r} is not supported, expected 'default'")
    return float(rope.get("rope_theta", settings.get("rope_theta", 10000.0)))


def _read_decoder(settings: Settings) -> dict[str, Any]:
    heads, width = settings["num_attention_heads"], settings["hidden_size"]
    if (head_width := settings.get("head_dim") or width // heads) * heads != width:
        raise InvalidInputError(
            f"head_dim {head_width} is not supported, expected hidden_size / heads = {width / heads}"
        )
    return dict(
        vocab_size=settings["vocab_size"],
        max_length=settings["max_position_embeddings"],
        width=width,
        layers=settings["num_hidden_layers"],
        heads=heads,
        kv_heads=settings.get("num_key_value_heads") or heads,
        ff_width=settings["intermediate_size"],
        rope_base=_rope_base(settings),
        qkv_bias=settings["model_type"] == "qwen2",
        tie_head=settings.get("tie_word_embeddings", False),
        dropout=settings.get("attention_dropout", 0.0),
        norm_eps=settings.get("rms_norm_eps", 1e-6),
    )


def _read_bert(settings: Settings) -> dict[str, Any]:
    offset = 0
    if settings["model_type"] == "roberta":
        # Positions begin behind that of the padding token.
        offset = settings.get("pad_token_id", 1) + 1
    return dict(
        vocab_size=settings["vocab_size"],
        max_length=settings["max_position_embeddings"] - offset,
        width=settings["hidden_size"],
        layers=settings["num_hidden_layers"],
        heads=settings["num_attention_heads"],
        ff_width=settings["intermediate_size"],
        segments=settings.get("type_vocab_size", 2),
        position_offset=offset,
        dropout=settings.get("hidden_dropout_prob", 0.1),
        norm_eps=settings.get("layer_norm_eps", 1e-12),
    )


def _read_t5(settings: Settings) -> dict[str, Any]:
    is_mt5 = settings["model_type"] == "mt5"
    # transformers 5 writes every T5 as tied, and in this setting whether its outputs are scaled as a tied head's are.
    is_scaled = settings.get("scale_decoder_outputs", settings.get("tie_word_embeddings", True))
    start = settings.get("decoder_start_token_id")
    return dict(
        vocab_size=settings["vocab_size"],
        max_length=settings.get("n_positions") or _T5_LENGTH,
        width=settings["d_model"],
        head_width=settings["d_kv"],
        layers=settings["num_layers"],
        decoder_layers=settings.get("num_decoder_layers") or settings["num_layers"],
        heads=settings["num_heads"],
        ff_width=settings["d_ff"],
        buckets=settings.get("relative_attention_num_buckets", 32),
        max_distance=settings.get("relative_attention_max_distance", 128),
        is_gated=settings.get("feed_forward_proj", "gated-gelu" if is_mt5 else "relu") == "gated-gelu",
        tie_head=is_scaled and not is_mt5,
        dropout=settings.get("dropout_rate", 0.1),
        norm_eps=settings.get("layer_norm_epsilon", 1e-6),
        start_id=None if start == settings.get("pad_token_id", 0) else start,
    )


_BERT_ONLY: Mapping[str, tuple[Any, ...]] = {
    "hidden_act": ("gelu",),
    "position_embedding_type": ("absolute", None),
    "is_decoder": (False,),
    "add_cross_attention": (False,),
    "tie_word_embeddings": (True,),
}
_DECODER_ONLY: Mapping[str, tuple[Any, ...]] = {
    "hidden_act": ("silu",),
    "attention_bias": (False,),
    "mlp_bias": (False,),
    "use_sliding_window": (False,),
    "partial_rotary_factor": (1.0, None),
}


def _bert_heads(name: str) -> dict[str, str | None]:
    return {
        f"{name}Model": "trunk",
        f"{name}ForMaskedLM": "masked_lm",
        f"{name}ForPreTraining": "masked_lm",
        f"{name}ForTokenClassification": "token_labels",
        f"{name}ForQuestionAnswering": "spans",
        f"{name}ForSequenceClassification": "classes",
    }


_T5_ONLY: Mapping[str, tuple[Any, ...]] = {
    "feed_forward_proj": ("relu", "gated-gelu"),
    "dense_act_fn": ("gelu_new", "relu"),
    "is_decoder": (False,),
}

_FAMILIES: Mapping[str, _Family] = {
    "gpt2": _Family(
        read=_read_gpt,
        table="gpt2",
        heads={"GPT2LMHeadModel": None, "GPT2Model": None},
        only={
            # Two spellings of the tanh form of GELU.
            "activation_function": ("gelu_new", "gelu_pytorch_tanh"),
            "scale_attn_weights": (True,),
            "scale_attn_by_inverse_layer_idx": (False,),
            "add_cross_attention": (False,),
        },
    ),
    "llama": _Family(read=_read_decoder, table="llama", heads={"LlamaForCausalLM": None}, only=_DECODER_ONLY),
    "qwen2": _Family(read=_read_decoder, table="llama", heads={"Qwen2ForCausalLM": None}, only=_DECODER_ONLY),
    "bert": _Family(read=_read_bert, table="bert", heads=_bert_heads("Bert"), only=_BERT_ONLY),
    "roberta": _Family(read=_read_bert, table="roberta", heads=_bert_heads("Roberta"), only=_BERT_ONLY),
    "t5": _Family(read=_read_t5, table="t5", heads={"T5ForConditionalGeneration": None}, only=_T5_ONLY),
    "mt5": _Family(read=_read_t5, table="t5", heads={"MT5ForConditionalGeneration": None}, only=_T5_ONLY),
}


def _labels(settings: Settings) -> tuple[str, ...]:
    """Read the names of labels in the order of their numbers; transformers means two where none are written."""
    names = settings.get("id2label")
    if names is None:
        return tuple(f"LABEL_{number}" for number in range(settings.get("num_labels", 2)))
    by_number = {int(number): str(name) for number, name in names.items()}
    if sorted(by_number) != list(range(len(by_number))):
        raise InvalidInputError(f"id2label numbers labels {sorted(by_number)}, expected 0 to {len(by_number) - 1}")
    return tuple(by_number[number] for number in range(len(by_number)))


def _head_by_tensors(names: Collection[str]) -> str:
    """Choose a BERT's head by its tensors, where no architecture is named."""
    if any(name.startswith(("cls.predictions.", "lm_head.")) for name in names):
        return "masked_lm"
    if "qa_outputs.weight" in names:
        return "spans"
    if any(name.startswith("classifier.") for name in names):
        raise InvalidInputError("'architectures' is missing, so the classifier could be for tokens or texts; name it")
    return "trunk"


def _head(family: _Family, settings: Settings, names: Collection[str]) -> str | None:
    named = settings.get("architectures")
    if named:
        if named[0] not in family.heads:
            raise UnknownNameError("architecture", named[0], family.heads)
        return family.heads[named[0]]
    return _head_by_tensors(names) if settings["model_type"] in ("bert", "roberta") else None


def _check_settings(settings: Settings, only: Mapping[str, tuple[Any, ...]]) -> None:
    wrong = [
        f"{key} = {settings[key]!r} (expected {' or '.join(map(repr, allowed))})"
        for key, allowed in only.items()
        if key in settings and settings[key] not in allowed
    ]
    if wrong:
        raise InvalidInputError(f"this model has what evalkit's does not: {'; '.join(wrong)}")


def read_architecture(settings: Settings, names: Collection[str], path: Path) -> tuple[Architecture, str]:
    """Read which model a folder in the layout of transformers holds.

    Args:
        settings: The content of `config.json`.
        names: The names of its tensors, which tell what `config.json` leaves open.
        path: Where the settings come from, for messages.

    Returns:
        The architecture, and which table of names its weights have.

    Raises:
        DataError: The model is none that evalkit has, or a setting is missing or wrong.
    """
    model_type = str(settings.get("model_type"))
    try:
        if model_type not in _FAMILIES:
            raise UnknownNameError("model_type", model_type, _FAMILIES)
        family = _FAMILIES[model_type]
        _check_settings(settings, family.only)
        head = _head(family, settings, names)
        config = make_config(_OUR_NAMES[family.table], family.read(settings))
        architecture = Architecture(
            family=_OUR_NAMES[family.table],
            config=config,
            head=head,
            labels=_labels(settings) if head in ("token_labels", "classes") else (),
            has_pooler=head == "trunk" and any(name.endswith("pooler.dense.weight") for name in names),
            has_next_sentence=head == "masked_lm" and "cls.seq_relationship.weight" in names,
        )
    except KeyError as error:
        raise DataError(path, f"has no {error.args[0]!r}, which a {model_type} needs") from error
    except (TypeError, ValueError, AttributeError) as error:
        raise DataError(path, str(error)) from error
    return architecture, family.table


_OUR_NAMES = {"gpt2": "gpt", "llama": "decoder", "bert": "bert", "roberta": "bert", "t5": "t5"}
