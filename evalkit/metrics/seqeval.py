"""Entity F1 as seqeval computes it, in its default and its strict mode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from evalkit.errors import InvalidInputError, UnknownNameError
from evalkit.metrics.base import Metric, Ratio, Statistics, none_if_nan
from evalkit.metrics.prf import MEASURES, averaged, micro_ratios, type_ratios, type_statistics, types_in
from evalkit.metrics.sequences import different_tags, paired_sequences
from evalkit.metrics.tag_schemes import STRICT_RULES, scheme_name

if TYPE_CHECKING:
    from evalkit.metrics.base import FloatArray
    from evalkit.metrics.chunking import Chunks, TagPair

MODES = ("default", "strict")


@dataclass(frozen=True, kw_only=True)
class Seqeval(Metric[Sequence[str], Sequence[str]]):
    """Precision, recall and F1 over entities: micro, macro, weighted and by type; and the accuracy of tokens.

    The default mode finds entities by rules close to conlleval's, whatever the scheme; the strict mode counts only those that
    are well formed in a scheme. Traps of the reference that are kept: adjacent BILOU entities merge in default mode; strict
    IOB1 overlooks a ``B-`` that does not follow an entity of its type; a tag without a prefix is read by its first letter, so
    that ``ORG`` is outside.

    References:
        seqeval 1.2.2, ``metrics/sequence_labeling.py``, ``metrics/v1.py`` and ``scheme.py``.
    """

    name: ClassVar[str] = "seqeval"
    kinds: ClassVar[tuple[str, ...]] = ("ner",)
    reference: ClassVar[str] = "seqeval 1.2.2"

    mode: str = "default"
    """``default`` or ``strict``."""
    scheme: str | None = None
    """Scheme of the tags; the strict mode needs one and the default mode takes none."""
    suffix: bool = False
    """Whether the prefix letter stands behind the type, as in ``PER-B``."""
    zero_division: int = 0
    """Value of precision without predictions and of recall without gold entities: 0 or 1."""

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise UnknownNameError("seqeval mode", self.mode, MODES)
        if self.zero_division not in (0, 1):
            raise InvalidInputError(f"zero_division is {self.zero_division!r}; expected 0 or 1")
        if self.mode == "strict" and self.scheme is None:
            raise InvalidInputError(f"strict mode needs a scheme; expected one of {', '.join(STRICT_RULES)}")
        if self.mode == "default" and self.scheme is not None:
            raise InvalidInputError(
                f"default mode reads tags of any scheme, but scheme {self.scheme!r} was given; use mode 'strict' or no scheme"
            )
        if self.scheme is not None:
            object.__setattr__(self, "scheme", scheme_name(self.scheme, tuple(STRICT_RULES)))

    @property
    def label(self) -> str:
        """``seqeval``, or ``seqeval-strict-SCHEME`` in strict mode."""
        return self.name if self.scheme is None else f"{self.name}-strict-{self.scheme}"

    @property
    def headline(self) -> tuple[str, ...]:
        """Micro F1, precision and recall, then macro F1."""
        return ("f1", "precision", "recall", "macro_f1")

    def statistics(
        self, predictions: Sequence[Sequence[str]], references: Sequence[Sequence[Sequence[str]]]
    ) -> Statistics:
        """Count entities by type, and tokens.

        Args:
            predictions: One sequence of tags an example.
            references: One sequence of tags an example, in a list.

        Returns:
            Columns ``tp[TYPE]``, ``pred[TYPE]``, ``gold[TYPE]`` for each type that occurs, ``correct`` and ``total`` tokens.

        Raises:
            InvalidInputError: The numbers of tags differ in an example, or a tag is empty or not of the strict scheme.
            InvalidTypeError: An example is not a list, or a tag not a string.
        """
        from evalkit.metrics.chunking import count_chunks, encode

        predicted, golds = paired_sequences(predictions, references, "tags")
        pair = encode(golds, predicted)
        gold, pred, types = self._chunks(pair)
        extra = {
            "correct": pair.by_sentence(pair.inside & (pair.gold == pair.pred)),
            "total": pair.by_sentence(pair.inside),
        }
        return type_statistics(types, count_chunks(pair, gold, pred, len(types)), extra)

    def _chunks(self, pair: TagPair) -> tuple[Chunks, Chunks, tuple[str, ...]]:
        from evalkit.metrics import chunking

        if self.scheme is None:
            parsed = chunking.parse_all(pair.tags, chunking.ALPHABET, chunking.parse_default(self.suffix))
            return chunking.default_chunks(pair.gold, parsed), chunking.default_chunks(pair.pred, parsed), parsed.names
        rules = STRICT_RULES[self.scheme]
        chunking.check_scheme(pair, rules, self.scheme, self.suffix)
        parsed = chunking.parse_all(pair.tags, rules.alphabet, chunking.parse_strict(self.suffix))
        gold, pred = (chunking.strict_chunks(codes, parsed, self.scheme) for codes in (pair.gold, pair.pred))
        return gold, pred, parsed.names

    def ratios(self, columns: Sequence[str]) -> Mapping[str, Ratio]:
        """Micro values, token accuracy and the values by type."""
        types = types_in(columns)
        return {
            **micro_ratios(types, zero_division=self.zero_division),
            "accuracy": Ratio({"correct": 1.0}, {"total": 1.0}),
            **type_ratios(types, zero_division=self.zero_division),
        }

    def score(self, sums: FloatArray, columns: Sequence[str]) -> dict[str, FloatArray]:
        """Micro values, macro and weighted averages, token accuracy and the values by type."""
        plain = super().score(sums, columns)
        values = {measure: plain.pop(measure) for measure in MEASURES}
        return {**values, **averaged(sums, columns, self.zero_division), **plain}

    def signature(self, references: Sequence[Sequence[Sequence[str]]] | None = None) -> str:
        """The label, then the other settings."""
        return f"{self.label}|suffix:{'yes' if self.suffix else 'no'}|zero_division:{self.zero_division}"

    def warnings(
        self, predictions: Sequence[Sequence[str]], references: Sequence[Sequence[Sequence[str]]]
    ) -> tuple[str, ...]:
        """Tags that the default mode does not know, as seqeval warns of them."""
        if self.mode == "strict":
            return ()
        odd = sorted(tag for tag in different_tags(predictions, references) if not self._is_known(tag))
        if not odd:
            return ()
        shown = ", ".join(odd[:5]) + (", ..." if len(odd) > 5 else "")
        return (
            f"{len(odd)} tags have none of the prefixes B, I, E, S ({shown}): neighbours of one type are read as one entity;"
            " convert the tags to IOB2 or use strict mode with their scheme",
        )

    def _is_known(self, tag: str) -> bool:
        prefix, hyphen = (tag[-1], tag[-2:-1]) if self.suffix else (tag[0], tag[1:2])
        return tag == "O" or (prefix in "BIES" and hyphen in ("", "-"))

    def report(
        self,
        predictions: Sequence[Sequence[str]],
        references: Sequence[Sequence[Sequence[str]]],
        statistics: Statistics | None = None,
    ) -> dict[str, Any]:
        """As seqeval's classification report: ``micro``, ``macro``, ``weighted``, ``per_type`` with support, ``accuracy``."""
        statistics = statistics or self.statistics(predictions, references)
        total, columns = statistics.total(), statistics.columns
        values = {name: none_if_nan(float(value)) for name, value in self.score(total, columns).items()}
        support = dict(zip(columns, total, strict=True))
        return {
            "micro": {measure: values[measure] for measure in MEASURES},
            **{kind: {measure: values[f"{kind}_{measure}"] for measure in MEASURES} for kind in ("macro", "weighted")},
            "per_type": {
                name: {measure: values[f"{measure}[{name}]"] for measure in MEASURES}
                | {"support": int(support[f"gold[{name}]"])}
                for name in types_in(columns)
            },
            "accuracy": values["accuracy"],
        }
