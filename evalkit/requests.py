"""What a model is asked and how it answers: examples, the six request kinds, their responses, the adapter protocol.

A task turns each `Example` into one request of a kind that the model supports; an adapter turns requests into responses of
the same kind, in the same order, with the same ids. Requests carry the example's inputs, never its references.

    kind       asks for                                                       answered by
    generate   text that continues a prompt                                   GPT, T5
    score      log-probability of given continuations of a context            GPT, T5
    rolling    log-probability of a whole text, in windows                    GPT (BERT: pseudo-log-likelihood)
    label      one tag a token (NER, CWS)                                     BERT; T5 and GPT by text
    span       a span of a context, or no answer (extractive QA)              BERT; T5 and GPT by text
    classify   one of several classes                                         BERT; T5 and GPT by text
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, TypeAlias


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One row of a task, in the form that its kind defines."""

    id: str
    """Unique within the split."""
    inputs: Mapping[str, Any]
    """What a model may see, by field name, e.g. ``source`` or ``question`` and ``context``."""
    references: tuple[Any, ...]
    """The acceptable answers, in the form that the kind's metrics take; empty where the kind allows it."""
    cluster: str | None = None
    """Paragraph, document or article that the example comes from; intervals resample clusters where this is given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateRequest:
    """Asks for text that continues a prompt, greedily unless the adapter is told otherwise."""

    kind: ClassVar[str] = "generate"
    example_id: str
    inputs: Mapping[str, Any] = field(default_factory=dict)
    """The example's inputs, for systems that do not read prompts."""
    prompt: str = ""
    stop: tuple[str, ...] = ()
    """Texts that end the answer; the answer does not contain them."""
    max_new_tokens: int = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRequest:
    """Asks for the log-probability of each continuation given the context."""

    kind: ClassVar[str] = "score"
    example_id: str
    inputs: Mapping[str, Any] = field(default_factory=dict)
    context: str = ""
    continuations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RollingRequest:
    """Asks for the log-probability of a whole text, every token scored once."""

    kind: ClassVar[str] = "rolling"
    example_id: str
    inputs: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelRequest:
    """Asks for one tag a token."""

    kind: ClassVar[str] = "label"
    example_id: str
    inputs: Mapping[str, Any] = field(default_factory=dict)
    tokens: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    """Tags that the task knows; empty where any tag is allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanRequest:
    """Asks for the span of a context that answers a question, or for no answer."""

    kind: ClassVar[str] = "span"
    example_id: str
    inputs: Mapping[str, Any] = field(default_factory=dict)
    question: str = ""
    context: str = ""
    allows_no_answer: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassifyRequest:
    """Asks for one of several classes."""

    kind: ClassVar[str] = "classify"
    example_id: str
    inputs: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""
    text_pair: str | None = None
    labels: tuple[str, ...] = ()


Request: TypeAlias = GenerateRequest | ScoreRequest | RollingRequest | LabelRequest | SpanRequest | ClassifyRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateResponse:
    """Generated text, without prompt and stop text."""

    example_id: str
    text: str | None
    """None where the system gave no answer for this example; '' is an (empty) answer."""
    token_count: int | None = None
    truncated: bool = False
    """Whether the prompt did not fit and was cut, or the answer ran into its length limit."""
    error: str | None = None
    """Why the example could not be answered; such an example is counted as failed and left unscored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreResponse:
    """Natural-log probability and token count of each continuation."""

    example_id: str
    logprobs_nats: tuple[float, ...]
    token_counts: tuple[int, ...] = ()
    is_greedy: tuple[bool, ...] = ()
    truncated: bool = False
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RollingResponse:
    """Summed natural-log probability of a text and the number of tokens that were scored."""

    example_id: str
    logprob_nats: float
    token_count: int
    is_pseudo: bool = False
    """Whether each token was guessed from both sides: a pseudo-log-likelihood, which is no log-probability of the text."""
    truncated: bool = False
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelResponse:
    """One tag for each token of the request."""

    example_id: str
    labels: tuple[str, ...] | None
    truncated: bool = False
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanResponse:
    """The answer text; '' means no answer, None means that the system did not answer."""

    example_id: str
    text: str | None
    start: int | None = None
    """Character offset of the answer in the context, if the model knows it."""
    no_answer_probability: float | None = None
    truncated: bool = False
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassifyResponse:
    """The chosen class, with probabilities in the order of the request's labels if the model has them."""

    example_id: str
    label: str | None
    probabilities: tuple[float, ...] | None = None
    truncated: bool = False
    error: str | None = None


Response: TypeAlias = (
    GenerateResponse | ScoreResponse | RollingResponse | LabelResponse | SpanResponse | ClassifyResponse
)


@dataclass(frozen=True, slots=True)
class Answer:
    """A question-answering prediction with the probability that there is no answer (SQuAD 2.0's na_prob)."""

    text: str | None
    """'' means no answer; None means that no prediction was given."""
    no_answer_probability: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInfo:
    """What a run records about the model that answered."""

    ref: str
    """The reference as the user wrote it."""
    name: str
    """Short name for tables and folder names."""
    digest: str
    """Digest of whatever determines the answers: weights and configuration, the predictions file, a baseline's version."""
    family: str
    """``gpt``, ``bert``, ``t5``, ``predictions``, ``baseline``."""
    likelihood: str | None = None
    """How whole texts are scored: ``causal``, each token from those before it, or ``pseudo``, each from both sides; None where
    they are not, or nobody knows how."""
    parameters: int | None = None
    tokens_seen: int | None = None
    determined_by: str = "request"
    """What an answer follows from, besides the model: ``request``, the request alone; ``batch``, its last bits also from what is
    computed together with it; ``file``, the example's id; ``service``, what a server makes of the request, if it answers."""
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def device_type(self) -> str:
        """What computes the answers: ``cpu``, ``cuda`` or ``mps``."""
        return str(self.details.get("device", "cpu")).partition(":")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskContext:
    """What an adapter may know about a task before the first request."""

    task: str
    kind: str
    """The task kind: mt, summarization, qa, ner, cws, lm or classification."""
    language: str
    """Language of the answers, ISO 639-1."""
    example_ids: Sequence[str]
    """All ids of the split in file order, also those that this run leaves out: line-aligned files are checked against it."""
    request_kind: str
    """The one kind that all requests of this run have."""
    training: Callable[[], Iterable[Example]]
    """Opens the training split; raises `MissingResourceError` where the task has none."""
    examples: Callable[[], Iterable[Example]]
    """All examples of the split in file order, references included: for checks such as CoNLL tokens, never for answers."""
    lexicon: Callable[[], frozenset[str]]
    """The training words of a segmentation task; raises `MissingResourceError` where there are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoding:
    """How text is generated; the defaults are greedy."""

    beams: int = 1
    """Beams of beam search; 1 means greedy or sampled."""
    length_penalty: float = 1.0
    """Exponent alpha of Wu et al. (2016), section 7, equation 14; 0 compares plain log-probabilities."""
    temperature: float = 0.0
    """Divides the logits before sampling; 0 takes the most probable token."""
    top_k: int = 0
    """Sample among so many most probable tokens; 0 for all."""
    top_p: float = 1.0
    """Sample among the most probable tokens that together have this probability."""
    repetition_penalty: float = 1.0
    """Divides (multiplies, if negative) the logits of tokens that are there already (Keskar et al., 2019)."""
    seed: int = 0
    """Seed of sampling; each example draws from its own generator, whatever the batch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """How a neural model is run; systems that are no neural models ignore all of it."""

    device: str = "auto"
    """``auto``, ``cpu``, ``cuda``, ``cuda:N`` or ``mps``."""
    dtype: str = "float32"
    """``float32``, ``bfloat16`` or ``float16``."""
    batch_size: int | None = None
    """Sequences at once; None finds a token budget and halves it when memory runs out."""
    compile: bool = False
    """Whether torch's compiler fuses kernels, which changes values in their last digits."""
    on_overflow: str = "error"
    """What happens to texts longer than the model: ``error``, ``truncate``, ``window`` or ``skip``."""
    decoding: Decoding = field(default_factory=Decoding)
    """How text is generated."""
    tag_decoding: str = "auto"
    """How tags are chosen: ``independent``, the likeliest of each word; ``constrained``, the likeliest sequence that the tagging
    scheme allows; ``auto``, as the checkpoint says, else independent."""


class ModelAdapter(Protocol):
    """A model behind one interface. Padding, batching, truncation and devices are its own business."""

    @property
    def info(self) -> ModelInfo:
        """What the record says about this model."""
        ...

    @property
    def supports(self) -> frozenset[str]:
        """The request kinds that this model can answer."""
        ...

    def prepare(self, context: TaskContext) -> tuple[str, ...]:
        """Check and load what the task needs, before any request is answered.

        Returns:
            Warnings, one line each: things a user should know though the run can go on.
        """
        ...

    def answer(self, requests: Sequence[Request]) -> Iterator[Response]:
        """Answer every request, in order, with the same ids, as soon as each is known.

        Taking requests may raise `StoppedError`: who has begun others by then may still answer them, and raises it then.
        """
        ...
