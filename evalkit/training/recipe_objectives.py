"""The `[objective]` table of a recipe: one dataclass for each kind of objective."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from evalkit.errors import InvalidInputError, UnknownNameError

PACKINGS = ("separate", "joined", "none")
REFERENCES = ("first", "all")
TAG_DECODINGS = ("constrained", "independent")
CORRUPTION_TARGETS = ("spans", "text")


def _check_share(what: str, value: float, *, most: float = 1.0) -> None:
    if not 0.0 <= value <= most:
        raise InvalidInputError(f"[objective] {what} is {value!r}; expected a number from 0 to {most:g}")


def _check_count(what: str, value: int | None) -> None:
    if value is not None and value < 1:
        raise InvalidInputError(f"[objective] {what} is {value!r}; expected at least 1")


def _check_packing(value: str) -> None:
    if value not in PACKINGS:
        raise UnknownNameError("[objective] pack", value, PACKINGS)


@dataclass(frozen=True, kw_only=True)
class _Options:
    kind: ClassVar[str]
    families: ClassVar[tuple[str, ...]]

    def check_family(self, family: str) -> None:
        """Check that a family of models can learn this.

        Raises:
            InvalidInputError: It cannot.
        """
        if family not in self.families:
            raise InvalidInputError(
                f"[objective] kind {self.kind!r} is for {', '.join(self.families)}; [model] family is {family!r}"
            )


@dataclass(frozen=True, kw_only=True)
class CausalLmOptions(_Options):
    """Predict every next token."""

    kind: ClassVar[str] = "causal_lm"
    families: ClassVar[tuple[str, ...]] = ("gpt", "decoder")

    max_length: int | None = None
    """Tokens of a sequence; None for the model's own maximum."""
    pack: str = "separate"
    """``separate``: short texts share a sequence and do not see one another; ``joined``: they see those before them, as in
    GPT-2; ``none``: one text a sequence."""
    label_smoothing: float = 0.0
    """Share of each target that is spread over the vocabulary."""

    def __post_init__(self) -> None:
        _check_count("max_length", self.max_length)
        _check_packing(self.pack)
        _check_share("label_smoothing", self.label_smoothing, most=0.99)


@dataclass(frozen=True, kw_only=True)
class MaskedLmOptions(_Options):
    """Guess hidden tokens from both sides (Devlin et al., 2019, section 3.1)."""

    kind: ClassVar[str] = "masked_lm"
    families: ClassVar[tuple[str, ...]] = ("bert",)

    max_length: int | None = None
    """Tokens of a sequence, special ones included; None for the model's own maximum."""
    mask_rate: float = 0.15
    """Share of the tokens that are guessed."""
    mask_share: float = 0.8
    """Share of those that the mask token hides."""
    random_share: float = 0.1
    """Share of those that a random token hides; the rest stays as it is."""
    whole_word: bool = False
    """Whether the tokens of a word are hidden together; a Chinese character is a word unless the data has words."""
    dynamic: bool = True
    """Whether every epoch hides other tokens (Liu et al., 2019, section 4.1)."""
    next_sentence: bool = False
    """Whether the model also learns if the second half of a pair follows the first."""
    pack: str = "none"
    """``separate``, ``joined`` or ``none``, as for a causal model; pairs are never packed."""

    def __post_init__(self) -> None:
        _check_count("max_length", self.max_length)
        _check_packing(self.pack)
        for name in ("mask_rate", "mask_share", "random_share"):
            _check_share(name, getattr(self, name))
        if self.mask_rate == 0.0:
            raise InvalidInputError("[objective] mask_rate is 0.0; expected a number above it")
        if self.mask_share + self.random_share > 1.0 + 1e-9:
            raise InvalidInputError(
                f"[objective] mask_share {self.mask_share} and random_share {self.random_share} are more than 1 together"
            )
        if self.next_sentence and self.pack != "none":
            raise InvalidInputError("[objective] next_sentence needs pack = 'none': pairs are never packed")


@dataclass(frozen=True, kw_only=True)
class SpanCorruptionOptions(_Options):
    """Write what sentinels stand for (Raffel et al., 2020, section 3.1.4)."""

    kind: ClassVar[str] = "span_corruption"
    families: ClassVar[tuple[str, ...]] = ("t5",)

    max_length: int | None = None
    """Tokens of a source after corruption; None for the model's own maximum."""
    noise_rate: float = 0.15
    """Share of the tokens that are taken out."""
    mean_span: float = 3.0
    """Mean number of tokens that one sentinel stands for."""
    target: str = "spans"
    """What is written: the ``spans`` that were taken out, each behind its sentinel, or the whole ``text`` (Lewis et al., 2020,
    section 2.2, text infilling), from which a small model learns to copy."""
    label_smoothing: float = 0.0
    """Share of each target that is spread over the vocabulary."""

    def __post_init__(self) -> None:
        _check_count("max_length", self.max_length)
        if not 0.0 < self.noise_rate < 1.0:
            raise InvalidInputError(f"[objective] noise_rate is {self.noise_rate!r}; expected a number between 0 and 1")
        if self.target not in CORRUPTION_TARGETS:
            raise UnknownNameError("[objective] target", self.target, CORRUPTION_TARGETS)
        if self.mean_span < 1.0:
            raise InvalidInputError(f"[objective] mean_span is {self.mean_span!r}; expected at least 1")
        _check_share("label_smoothing", self.label_smoothing, most=0.99)


@dataclass(frozen=True, kw_only=True)
class FinetuneOptions(_Options):
    """Learn a task: tags, spans or classes with a BERT, answers to prompts with a GPT or T5."""

    kind: ClassVar[str] = "finetune"
    families: ClassVar[tuple[str, ...]] = ("gpt", "decoder", "bert", "t5")

    max_length: int | None = None
    """Tokens of an input, special ones included; None for the model's own maximum. Longer ones go through windows where the
    task allows it, and are cut otherwise."""
    max_target_length: int | None = None
    """Tokens of an answer of a T5; None for the model's own maximum."""
    references: str = "first"
    """Which of several acceptable answers a GPT or T5 learns to write: the ``first``, or ``all``, each as an example."""
    label_smoothing: float = 0.0
    """Share of each target that is spread over the other labels or tokens."""
    tag_decoding: str = "constrained"
    """How the checkpoint chooses tags when it is scored: ``constrained`` to what the scheme allows, or ``independent``."""
    pack: bool = False
    """Whether short examples of a GPT share a sequence without seeing one another."""

    def __post_init__(self) -> None:
        _check_count("max_length", self.max_length)
        _check_count("max_target_length", self.max_target_length)
        _check_share("label_smoothing", self.label_smoothing, most=0.99)
        for name, known in (("references", REFERENCES), ("tag_decoding", TAG_DECODINGS)):
            if getattr(self, name) not in known:
                raise UnknownNameError(f"[objective] {name}", getattr(self, name), known)


ObjectiveOptions: TypeAlias = CausalLmOptions | MaskedLmOptions | SpanCorruptionOptions | FinetuneOptions

OBJECTIVE_OPTIONS: Mapping[str, type[ObjectiveOptions]] = {
    options.kind: options for options in (CausalLmOptions, MaskedLmOptions, SpanCorruptionOptions, FinetuneOptions)
}
"""Value of `kind` to the class that its table becomes."""
