"""`hf:PATH`: any transformers model of five kinds, run by transformers itself.

The kind follows from the architecture that the configuration names. This way is for models that evalkit does not have, and to
check those that it has; it is not made to be fast. The package `transformers` is loaded when such a model is opened.
"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from evalkit.adapters.hf_model import HfAdapter, HfTokenizer, LoadedModel, longest_input
from evalkit.adapters.neural import DTYPES, find_device
from evalkit.errors import InvalidInputError, MissingResourceError, UnknownNameError
from evalkit.requests import ModelInfo, ModelSettings

if TYPE_CHECKING:
    from collections.abc import Callable

INSTALL = "pip install 'evalkit[hf]'"

VERSION = 1
"""Rises when the same files would answer otherwise."""

_FILES = ("*.json", "*.safetensors", "*.txt", "*.model", "*.jinja")
"""What determines a model: configuration, weights and tokenizer."""

_LOADING_ERRORS = (OSError, ValueError, KeyError, TypeError, RuntimeError, ImportError, AttributeError)
_MAX_TEXT = 200
_SHOWN_TENSORS = 3


class _Kind(NamedTuple):
    """How models of one kind are loaded and asked."""

    auto_class: str
    """Class of transformers that loads them."""
    family: str
    """What the record calls them."""
    open: Callable[[LoadedModel, ModelSettings], HfAdapter]
    """Makes the adapter."""


def _causal(loaded: LoadedModel, settings: ModelSettings) -> HfAdapter:
    from evalkit.adapters.hf_text import HfCausalAdapter

    return HfCausalAdapter(loaded, settings)


def _seq2seq(loaded: LoadedModel, settings: ModelSettings) -> HfAdapter:
    from evalkit.adapters.hf_text import HfSeq2SeqAdapter

    return HfSeq2SeqAdapter(loaded, settings)


def _label(loaded: LoadedModel, settings: ModelSettings) -> HfAdapter:
    from evalkit.adapters.hf_labels import HfLabelAdapter

    return HfLabelAdapter(loaded, settings)


def _span(loaded: LoadedModel, settings: ModelSettings) -> HfAdapter:
    from evalkit.adapters.hf_labels import HfSpanAdapter

    return HfSpanAdapter(loaded, settings)


def _classify(loaded: LoadedModel, settings: ModelSettings) -> HfAdapter:
    from evalkit.adapters.hf_labels import HfClassifyAdapter

    return HfClassifyAdapter(loaded, settings)


KINDS: Mapping[str, _Kind] = {
    "ForCausalLM": _Kind("AutoModelForCausalLM", "hf-causal", _causal),
    "LMHeadModel": _Kind("AutoModelForCausalLM", "hf-causal", _causal),
    "ForConditionalGeneration": _Kind("AutoModelForSeq2SeqLM", "hf-seq2seq", _seq2seq),
    "ForTokenClassification": _Kind("AutoModelForTokenClassification", "hf-encoder", _label),
    "ForQuestionAnswering": _Kind("AutoModelForQuestionAnswering", "hf-encoder", _span),
    "ForSequenceClassification": _Kind("AutoModelForSequenceClassification", "hf-encoder", _classify),
}
"""End of an architecture's name to the kind of model; transformers names all its models so."""


def open_hf(target: str, settings: ModelSettings | None = None) -> HfAdapter:
    """Load a transformers model.

    Args:
        target: A folder, or ``NAME`` or ``NAME@REVISION`` of a model on the Hugging Face hub.
        settings: Device, type, batch size, overflow policy and decoding.

    Raises:
        MissingResourceError: transformers or the model is not there.
        InvalidInputError: The model cannot be loaded, or is of another kind, or a setting cannot be used.
    """
    settings = settings or ModelSettings()
    device = find_device(settings.device)
    if settings.compile:
        raise InvalidInputError(f"hf:{target}: --compile is for evalkit's own models; leave it out")
    if settings.dtype not in DTYPES:
        raise UnknownNameError("dtype", settings.dtype, DTYPES)
    transformers = _import_transformers()
    folder = find_folder(target)
    config = _load(target, transformers.AutoConfig, folder)
    kind = find_kind(target, config.architectures)
    model = _load_weights(target, getattr(transformers, kind.auto_class), folder)
    model.to(device=device, dtype=DTYPES[settings.dtype]).eval()
    tokenizer = HfTokenizer(_load_tokenizer(target, transformers, folder, kind))
    if model.config.pad_token_id is None:
        model.config.pad_token_id = tokenizer.pad_id  # decoder-only classifiers look for it to find a text's end
    info = ModelInfo(
        ref=f"hf:{target}",
        name=folder.name if Path(target).expanduser().is_dir() else target,
        digest=f"{files_digest(folder)}-{settings.dtype}",
        family=kind.family,
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        likelihood="causal" if kind.open is _causal else None,
        determined_by="batch",
        details={
            "architecture": config.architectures[0],
            "revision": folder.name if folder.parent.name == "snapshots" else None,
            "transformers": transformers.__version__,
            "generation_config": _own_generation(model),
            "device": str(device),
            "dtype": settings.dtype,
            **({"labels": list(config.id2label.values())} if kind.open in (_label, _classify) else {}),
        },
    )
    loaded = LoadedModel(model=model, tokenizer=tokenizer, info=info, max_length=longest_input(model, tokenizer))
    return kind.open(loaded, settings)


def find_kind(target: str, architectures: list[str] | None) -> _Kind:
    """Find what kind of model an architecture is.

    Raises:
        InvalidInputError: None that can answer requests.
    """
    name = architectures[0] if architectures else ""
    for ending, kind in KINDS.items():
        if name.endswith(ending):
            return kind
    found = repr(name) if name else "none"
    raise InvalidInputError(
        f"hf:{target}: the configuration's architecture is {found}; expected one that ends in {', '.join(KINDS)}"
    )


def find_folder(target: str) -> Path:
    """The folder of a model's files, fetched from the hub unless it is here.

    Raises:
        MissingResourceError: It is neither here nor can it be fetched.
    """
    path = Path(target).expanduser()
    if path.is_dir():
        return path.resolve()
    name, _, revision = target.partition("@")
    if target.startswith((".", "/", "~")) or name.count("/") > 1:
        raise MissingResourceError(f"hf:{target}: there is no such folder; expected one, or NAME[@REVISION] on the hub")
    hub = importlib.import_module("huggingface_hub")
    try:
        # Files at the top only: folders below hold other forms of the same weights.
        return Path(
            hub.snapshot_download(name, revision=revision or None, allow_patterns=_FILES, ignore_patterns="*/*")
        )
    except (OSError, ValueError) as error:
        raise MissingResourceError(
            f"hf:{target}: no such folder, and the hub does not give it: {_first_line(error)}"
        ) from error


def files_digest(folder: Path) -> str:
    """Digest of all files that determine a model."""
    running = hashlib.sha256(f"hf {VERSION}\n".encode())
    for path in sorted({path for pattern in _FILES for path in folder.glob(pattern)}):
        with path.open("rb") as stream:
            running.update(f"{path.name} {hashlib.file_digest(stream, 'sha256').hexdigest()}\n".encode())
    return running.hexdigest()[:16]


def _import_transformers() -> Any:  # noqa: ANN401
    try:
        transformers = importlib.import_module("transformers")
    except ImportError as error:
        raise MissingResourceError(f"hf: models need the package transformers; {INSTALL}") from error
    logging = importlib.import_module("transformers.utils.logging")
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    return transformers


def _load(target: str, auto_class: Any, folder: Path, **options: Any) -> Any:  # noqa: ANN401
    try:
        return auto_class.from_pretrained(str(folder), trust_remote_code=False, local_files_only=True, **options)
    except _LOADING_ERRORS as error:
        raise InvalidInputError(f"hf:{target}: transformers cannot load it: {_first_line(error)}") from error


def _load_weights(target: str, auto_class: Any, folder: Path) -> Any:  # noqa: ANN401
    if not any(folder.glob("*.safetensors")):
        raise InvalidInputError(
            f"hf:{target}: no .safetensors file; pickled weights are not read: load them in transformers once, where you"
            " trust them, and write them again by model.save_pretrained(FOLDER)"
        )
    # Misshapen tensors are let pass only to be named below.
    model, report = _load(
        target, auto_class, folder, use_safetensors=True, output_loading_info=True, ignore_mismatched_sizes=True
    )
    misshapen = [name if isinstance(name, str) else name[0] for name in report["mismatched_keys"]]
    wrong = sorted({*report["missing_keys"], *misshapen})
    if wrong:
        raise InvalidInputError(
            f"hf:{target}: {len(wrong)} tensors are missing or of another shape, e.g. {', '.join(wrong[:_SHOWN_TENSORS])};"
            " transformers would make them up"
        )
    return model


def _load_tokenizer(target: str, transformers: Any, folder: Path, kind: _Kind) -> Any:  # noqa: ANN401
    tokenizer = _load(target, transformers.AutoTokenizer, folder)
    if kind.open is _label and not getattr(tokenizer, "add_prefix_space", True):
        # Words of a sentence that is split already are tokens as after a blank.
        tokenizer = _load(target, transformers.AutoTokenizer, folder, add_prefix_space=True)
    if kind.family == "hf-encoder" and not tokenizer.is_fast:
        raise InvalidInputError(f"hf:{target}: its tokenizer knows no offsets; expected one with tokenizer.json")
    return tokenizer


def _own_generation(model: Any) -> dict[str, Any]:  # noqa: ANN401
    """What the checkpoint says about generation, apart from defaults: it stays in force where no setting is given."""
    config = getattr(model, "generation_config", None)
    if config is None:
        return {}
    own = config.to_diff_dict()
    return {
        name: value
        for name, value in own.items()
        if not name.startswith("_") and isinstance(value, str | int | float | list) and name != "transformers_version"
    }


def _first_line(error: BaseException) -> str:
    text = " ".join(str(error).strip().split()) or type(error).__name__
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}..."
