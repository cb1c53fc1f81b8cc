"""A recipe: everything that decides which checkpoint a training makes, as frozen data.

One TOML file holds one recipe; `evalkit.training.recipe_file` reads it strictly. Tables of the file are the sections here,
keys are their fields. What a section says about impossible values is said when it is made.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from evalkit.errors import InvalidInputError
from evalkit.training.recipe_checks import check_choice, check_part, check_range
from evalkit.training.recipe_objectives import ObjectiveOptions

FAMILIES = ("gpt", "decoder", "bert", "t5")
"""Model families, as in `evalkit.checkpoints`."""
TOKENIZERS = ("bpe", "wordpiece", "unigram", "characters", "folder")
SCHEDULES = ("cosine", "linear", "wsd", "constant")
PRECISIONS = ("float32", "bf16", "auto")
OPTIMIZERS = ("adamw", "adafactor", "muon")
MOST_GENERATED = 10_000_000
"""Examples of an embedded task that a recipe may ask for: they are all in memory."""
DOCUMENTS = ("line", "paragraph", "file")
PARALLEL = ("ddp", "fsdp")
KEPT = ("best", "last")
LAYOUTS = ("evalkit", "huggingface")


_INFINITY = float("inf")


@dataclass(frozen=True, kw_only=True)
class ModelSection:
    """Which model: a family and either a published shape, or sizes, or neither where training starts from a checkpoint."""

    family: str
    """``gpt``, ``decoder``, ``bert`` or ``t5``."""
    size: str | None = None
    """A published shape, e.g. ``gpt2`` or ``bert-base-uncased``; sizes below change it."""
    init_std: float | None = None
    """Standard deviation of new weight matrices; None for the family's own rule. About 0.6 / sqrt(width) suits narrow models."""
    vocab_size: int | None = None
    """Rows of the embedding; None for as many as the tokenizer has tokens."""
    max_length: int | None = None
    """Longest sequence in tokens."""
    width: int | None = None
    """Width of the residual stream."""
    layers: int | None = None
    """Blocks; of the encoder in a T5."""
    decoder_layers: int | None = None
    """Blocks of a T5's decoder; None for as many as `layers`."""
    heads: int | None = None
    """Attention heads of a block."""
    kv_heads: int | None = None
    """Key and value heads of a ``decoder``; None for as many as `heads`."""
    head_width: int | None = None
    """Width of one head of a T5; None for width / heads."""
    ff_width: int | None = None
    """Width inside the feed-forward layers; None for 4 * width."""
    dropout: float | None = None
    """Probability of dropout in training; also changes that of a checkpoint that training starts from."""
    rope_base: float | None = None
    """Base of the rotation angles of a ``decoder``."""
    qkv_bias: bool | None = None
    """Whether queries, keys and values have biases (``gpt`` and ``decoder``)."""
    tie_head: bool | None = None
    """Whether the head is the token embedding."""
    is_gated: bool | None = None
    """Whether the feed-forward layers of a T5 are gated."""
    segments: int | None = None
    """Segment ids of a BERT."""
    buckets: int | None = None
    """Relative-position buckets of a T5."""
    max_distance: int | None = None
    """Distance from which all share the last bucket of a T5."""
    norm_eps: float | None = None
    """What the norms add to the variance."""

    def __post_init__(self) -> None:
        check_choice("[model] family", self.family, FAMILIES)
        check_range("[model] dropout", self.dropout, 0.0, 0.99)
        check_range("[model] init_std", self.init_std, 0.0, _INFINITY, is_open=True)
        for name in ("vocab_size", "max_length", "width", "layers", "decoder_layers", "heads", "kv_heads"):
            check_range(f"[model] {name}", getattr(self, name), 1, _INFINITY)


@dataclass(frozen=True, kw_only=True)
class TokenizerSection:
    """Where the tokenizer comes from; a checkpoint that training starts from brings its own."""

    kind: str
    """``bpe``, ``wordpiece``, ``unigram`` or ``characters``: trained on the training texts; ``folder``: read from one."""
    vocab_size: int | None = None
    """Tokens, special ones included; fewer where the texts do not give as many. A ``bpe`` of 257 is one of bytes."""
    folder: str | None = None
    """Folder with a `tokenizer.json` and the like, for the kind ``folder``."""
    lowercase: bool = True
    """Whether a ``wordpiece`` loses case and accents."""
    min_frequency: int = 2
    """How often a pair has to occur to be joined, in ``bpe`` and ``wordpiece``."""

    def __post_init__(self) -> None:
        check_choice("[tokenizer] kind", self.kind, TOKENIZERS)
        check_range("[tokenizer] vocab_size", self.vocab_size, 1, _INFINITY)
        check_range("[tokenizer] min_frequency", self.min_frequency, 1, _INFINITY)
        if (self.kind == "folder") != (self.folder is not None):
            raise InvalidInputError(f"[tokenizer] kind is {self.kind!r} and folder {self.folder!r}; they go together")
        if (self.kind == "folder") == (self.vocab_size is not None):
            raise InvalidInputError("[tokenizer] vocab_size is for a kind that is trained, and needed there")


@dataclass(frozen=True, kw_only=True)
class DataSection:
    """What is trained on: a task's split, or text files."""

    task: str | None = None
    """Name of the task, or path of its file; ``--task`` replaces it."""
    split: str = "train"
    """Split of the task."""
    texts: tuple[str, ...] = ()
    """Texts instead of a task: files (plain or gzip), below ``--data-dir`` where that is given, ``task:NAME/SPLIT`` for what the
    examples of a task are about, and ``prompt:NAME/SPLIT`` for their prompts with the answers."""
    documents: str = "line"
    """What one text of a text file is: a ``line``, a ``paragraph`` (up to a blank line) or the whole ``file``."""
    unspaced: bool = False
    """Whether blanks in text files only separate words of a language written without them; they are left out, and masking of
    whole words knows the words."""
    exclude: tuple[str, ...] = ()
    """``NAME/SPLIT`` of tasks that will be measured: texts that hold one of theirs are left out."""
    part: tuple[float, ...] = (0.0, 1.0)
    """From where to where the examples are taken, as fractions of all; a cluster (document, article) is never cut."""
    limit: int | None = None
    """At most so many examples, the first ones of the part."""
    size: int | None = None
    """Number of examples that an embedded task generates, each one of those among `texts`; None for its own number."""

    def __post_init__(self) -> None:
        check_choice("[data] documents", self.documents, DOCUMENTS)
        check_part("[data] part", self.part)
        check_range("[data] limit", self.limit, 1, _INFINITY)
        check_range("[data] size", self.size, 1, MOST_GENERATED)
        if self.task is not None and self.texts:
            raise InvalidInputError("[data] has both task and texts; give one of them")
        if self.task is not None and (self.exclude or self.unspaced):
            raise InvalidInputError("[data] exclude and unspaced go with texts; a task has splits and words of its own")


@dataclass(frozen=True, kw_only=True)
class OptimizerSection:
    """How a step follows from a gradient."""

    lr: float
    """Highest learning rate."""
    kind: str = "adamw"
    """``adamw``; or ``adafactor``, as T5 was trained with: steps are scaled to the size of the weights, the rate is the smaller
    of `lr` and 1 / sqrt(step), and neither betas nor `eps` are read; or ``muon``, which steps the matrices of the blocks along
    their orthogonalised momentum, and all else as ``adamw``."""
    beta1: float = 0.9
    """Decay of the mean of gradients."""
    beta2: float = 0.999
    """Decay of the mean of their squares."""
    eps: float = 1e-8
    """What is added to the root of the mean of squares."""
    momentum: float | None = None
    """With ``muon`` only: decay of the mean of gradients of the matrices; None for 0.95."""
    adamw_lr: float | None = None
    """With ``muon`` only: highest learning rate of embeddings, heads, norms and biases; None for `lr`."""
    weight_decay: float = 0.01
    """Decoupled decay of weight matrices and embeddings; norms and biases have none."""
    clip: float = 1.0
    """Longest gradient, as a Euclidean norm over all parameters; 0 for any."""

    def __post_init__(self) -> None:
        check_choice("[optimizer] kind", self.kind, OPTIMIZERS)
        check_range("[optimizer] lr", self.lr, 0.0, _INFINITY, is_open=True)
        check_range("[optimizer] beta1", self.beta1, 0.0, 0.999999)
        check_range("[optimizer] beta2", self.beta2, 0.0, 0.999999)
        check_range("[optimizer] eps", self.eps, 0.0, _INFINITY, is_open=True)
        check_range("[optimizer] momentum", self.momentum, 0.0, 0.999999)
        check_range("[optimizer] adamw_lr", self.adamw_lr, 0.0, _INFINITY, is_open=True)
        check_range("[optimizer] weight_decay", self.weight_decay, 0.0, _INFINITY)
        check_range("[optimizer] clip", self.clip, 0.0, _INFINITY)
        for name in ("momentum", "adamw_lr"):
            if getattr(self, name) is not None and self.kind != "muon":
                raise InvalidInputError(
                    f"[optimizer] {name} goes with kind 'muon', found kind {self.kind!r}; take it out, or set"
                    f" optimizer.{name}= to nothing"
                )


@dataclass(frozen=True, kw_only=True)
class ScheduleSection:
    """How the learning rate goes over the steps, as a share of `OptimizerSection.lr`."""

    kind: str = "cosine"
    """``cosine``, ``linear``, ``wsd`` (warm up, stay, decay) or ``constant``."""
    warmup: int | float = 0
    """Steps of linear warm-up: a whole number counts steps, a fraction below 1 is one of all steps."""
    final: float = 0.0
    """Share of the highest rate that is left after the last step; ``constant`` ignores it."""
    decay: float = 0.2
    """Fraction of all steps that ``wsd`` decays over."""

    def __post_init__(self) -> None:
        check_choice("[schedule] kind", self.kind, SCHEDULES)
        check_range("[schedule] warmup", self.warmup, 0, _INFINITY)
        if isinstance(self.warmup, float) and self.warmup >= 1 and not self.warmup.is_integer():
            raise InvalidInputError(
                f"[schedule] warmup is {self.warmup!r}; expected whole steps, or a fraction below 1"
            )
        check_range("[schedule] final", self.final, 0.0, 1.0)
        check_range("[schedule] decay", self.decay, 0.0, 1.0)


@dataclass(frozen=True, kw_only=True)
class BatchSection:
    """How much one optimiser step sees."""

    tokens: int | None = None
    """Tokens of a step, padding counted with them; never fewer than one example."""
    examples: int | None = None
    """Examples of a step, instead of tokens."""
    accumulate: int = 1
    """In how many pieces a step is computed, over all processes; changes memory, and of the result only
    what is drawn for each piece: dropout, masks and where windows begin."""
    buckets: int = 32
    """Batches whose examples are sorted by length together before they are cut; 1 for examples in random order."""

    def __post_init__(self) -> None:
        if (self.tokens is None) == (self.examples is None):
            raise InvalidInputError("[batch] takes one of tokens and examples")
        for name in ("tokens", "examples", "accumulate", "buckets"):
            check_range(f"[batch] {name}", getattr(self, name), 1, _INFINITY)


@dataclass(frozen=True, kw_only=True)
class EvaluateSection:
    """What is measured during training, and what follows from it."""

    every: int | None = None
    """Steps between evaluations; None for the end only."""
    task: str | None = None
    """Task that is scored; None for the one that is trained on."""
    split: str = "dev"
    """Its split; for text files nothing, there `part` and `texts` decide."""
    texts: tuple[str, ...] = ()
    """Text files that are held out, where training is on text files; none means `part` of the same ones."""
    part: tuple[float, ...] = (0.0, 1.0)
    """From where to where its examples are taken, as in `DataSection.part`."""
    limit: int | None = None
    """At most so many examples."""
    metric: str = "loss"
    """``loss`` of the objective, ``main`` for the task's main value, or a value's name, e.g. ``f1`` or ``chrf.chrf``."""
    patience: int | None = None
    """Evaluations without a better value after which training stops; None for never."""

    def __post_init__(self) -> None:
        check_range("[evaluate] every", self.every, 1, _INFINITY)
        check_range("[evaluate] limit", self.limit, 1, _INFINITY)
        check_range("[evaluate] patience", self.patience, 1, _INFINITY)
        check_part("[evaluate] part", self.part)


@dataclass(frozen=True, kw_only=True)
class KeepSection:
    """What is written."""

    checkpoint: str = "best"
    """The ``best`` one by the evaluations (the last without any), or the ``last``."""
    layout: str = "evalkit"
    """``evalkit``, or ``huggingface`` for a folder that opens in transformers too."""
    state_every_s: float = 60.0
    """Seconds between saves of the state that a stopped training goes on from."""
    state_every: int | None = None
    """Steps between them, instead."""

    def __post_init__(self) -> None:
        check_choice("[keep] checkpoint", self.checkpoint, KEPT)
        check_choice("[keep] layout", self.layout, LAYOUTS)
        check_range("[keep] state_every_s", self.state_every_s, 0.0, _INFINITY, is_open=True)
        check_range("[keep] state_every", self.state_every, 1, _INFINITY)


@dataclass(frozen=True, kw_only=True)
class LoraSection:
    """Low-rank updates in place of all weights; merged when the checkpoint is written."""

    rank: int
    """Rank of the update of one matrix."""
    alpha: float = 16.0
    """The update is scaled by alpha / rank."""
    targets: tuple[str, ...] = ("qkv", "out")
    """Last parts of the names of the linear layers that get one, e.g. ``qkv`` or ``attention.out``."""
    dropout: float = 0.0
    """Probability of dropout before the update."""

    def __post_init__(self) -> None:
        check_range("[lora] rank", self.rank, 1, _INFINITY)
        check_range("[lora] alpha", self.alpha, 0.0, _INFINITY, is_open=True)
        check_range("[lora] dropout", self.dropout, 0.0, 0.99)
        if not self.targets:
            raise InvalidInputError("[lora] targets names no layer; expected e.g. targets = ['qkv', 'out']")


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a checkpoint is made."""

    name: str
    """Name of a bundled recipe, or the stem of the user's file."""
    summary: str
    """What it makes, one line."""
    hardware: str = ""
    """The machine that its batch and its length assume."""
    references: tuple[str, ...] = ()
    """Papers that its numbers come from: authors, year, section."""
    steps: int | None = None
    """Optimiser steps."""
    epochs: float | None = None
    """Passes over the training data, instead of steps."""
    seed: int = 0
    """Seed of weights, order, masks and dropout."""
    precision: str = "float32"
    """``float32``, ``bf16`` (autocast, weights stay float32), or ``auto``: the faster of the two on this machine."""
    threads: int | None = None
    """Threads of a process on a CPU, at most one a core; None for torch's own number. Very small models are faster with one."""
    compile: bool = False
    """Whether the model goes through torch.compile."""
    activation_checkpointing: bool = False
    """Whether blocks are computed again in the backward pass instead of kept."""
    parallel: str = "ddp"
    """Under torchrun: ``ddp`` keeps the whole model in every process, ``fsdp`` a shard of it."""
    model: ModelSection
    """Which model."""
    tokenizer: TokenizerSection | None = None
    """Which tokenizer; None where training starts from a checkpoint."""
    data: DataSection = field(default_factory=DataSection)
    """What is trained on."""
    objective: ObjectiveOptions
    """What the model learns to do."""
    optimizer: OptimizerSection
    """How it steps."""
    schedule: ScheduleSection = field(default_factory=ScheduleSection)
    """How the learning rate goes."""
    batch: BatchSection
    """How much a step sees."""
    evaluate: EvaluateSection | None = None
    """What is measured during training; None for nothing."""
    keep: KeepSection = field(default_factory=KeepSection)
    """What is written."""
    lora: LoraSection | None = None
    """Low-rank updates; None to train all weights."""

    def __post_init__(self) -> None:
        check_choice("precision", self.precision, PRECISIONS)
        check_choice("parallel", self.parallel, PARALLEL)
        if self.parallel == "fsdp" and self.optimizer.kind != "adamw":
            raise InvalidInputError(
                f"parallel 'fsdp' shards parameters, which {self.optimizer.kind!r} cannot step; use 'ddp' or 'adamw'"
            )
        if (self.steps is None) == (self.epochs is None):
            raise InvalidInputError("a recipe takes one of steps and epochs")
        check_range("steps", self.steps, 1, _INFINITY)
        check_range("epochs", self.epochs, 0.0, _INFINITY, is_open=True)
        check_range("seed", self.seed, 0, 2**53)
        check_range("threads", self.threads, 1, _INFINITY)
        self.objective.check_family(self.model.family)
