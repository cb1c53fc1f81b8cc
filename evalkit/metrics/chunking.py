"""Entities in tag sequences, for a whole corpus at once.

All sentences are laid end to end as integer codes, an outside tag behind each. Whether an entity starts or ends between two tags
depends on their prefixes and on whether their types are equal, so each set of rules is a small table of booleans that is looked
up for all positions together. At most one entity ends at any position; that is what makes comparing two corpora cheap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from evalkit.errors import InvalidInputError, InvalidTypeError
from evalkit.metrics.tag_schemes import STRICT_RULES, StrictRules

IntArray: TypeAlias = npt.NDArray[np.int64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]
Parse: TypeAlias = Callable[[str], tuple[str, str]]
"""Splits a tag into its prefix symbol and its type."""
Rule: TypeAlias = Callable[[str, str, bool], bool]
"""Decides from the symbols of two neighbouring tags, and whether their types are equal."""


class _Codes(dict[str, int]):
    """Numbers tags in the order in which they are first asked for."""

    def __missing__(self, tag: str) -> int:
        self[tag] = code = len(self)
        return code


@dataclass(frozen=True, slots=True)
class TagPair:
    """The tags of gold and prediction under one numbering.

    Attributes:
        tags: The different tags; the first is ``O``.
        gold: Shape (N,): codes of all sentences, a 0 (``O``) behind each.
        pred: Shape (N,): the same for the predictions.
        sentence: Shape (N,): the sentence that each position belongs to.
        inside: Shape (N,): False at the added positions.
        count: Number of sentences.
    """

    tags: tuple[str, ...]
    gold: IntArray
    pred: IntArray
    sentence: IntArray
    inside: BoolArray
    count: int

    def by_sentence(self, where: BoolArray) -> IntArray:
        """Count marked positions in each sentence; returns shape (n,)."""
        return np.bincount(self.sentence[where], minlength=self.count)


@dataclass(frozen=True, slots=True)
class Chunks:
    """Entities, in the order in which they end.

    Attributes:
        starts: Position of the first token.
        ends: Position behind the last token; all different.
        types: Code of the type.
    """

    starts: IntArray
    ends: IntArray
    types: IntArray

    def untyped(self) -> Chunks:
        """The same entities, all of type 0."""
        return Chunks(self.starts, self.ends, np.zeros_like(self.types))


def encode(golds: Sequence[Sequence[str]], predictions: Sequence[Sequence[str]]) -> TagPair:
    """Number the tags of two corpora whose sentences have equal lengths.

    Raises:
        InvalidInputError: A tag is the empty string.
        InvalidTypeError: A tag is not a string.
    """
    lengths = np.fromiter(map(len, golds), dtype=np.int64, count=len(golds))
    sentence = np.repeat(np.arange(len(golds)), lengths + 1)
    inside = np.ones(len(sentence), dtype=np.bool_)
    inside[np.cumsum(lengths + 1) - 1] = False
    codes = _Codes(O=0)
    coded = []
    for side, corpus in (("reference", golds), ("prediction", predictions)):
        flat = np.zeros(len(sentence), dtype=np.int64)
        try:
            items = map(codes.__getitem__, chain.from_iterable(corpus))
            flat[inside] = np.fromiter(items, dtype=np.int64, count=int(lengths.sum()))
        except TypeError:
            raise InvalidTypeError(f"a {side} holds something that is not a tag; expected lists of strings") from None
        coded.append(flat)
    pair = TagPair(tuple(codes), coded[0], coded[1], sentence, inside, len(golds))
    _check_tags(pair)
    return pair


def _check_tags(pair: TagPair) -> None:
    for code, tag in enumerate(pair.tags):
        if not isinstance(tag, str):
            raise InvalidTypeError(f"example {_first_with(pair, code)}: tag {tag!r} is not a string")
        if not tag:
            raise InvalidInputError(
                f"example {_first_with(pair, code)}: a tag is empty; expected O or a prefix and a type"
            )


def _first_with(pair: TagPair, code: int) -> int:
    return int(pair.sentence[np.argmax((pair.gold == code) | (pair.pred == code))])


@dataclass(frozen=True, slots=True)
class Parsed:
    """What each different tag means.

    Attributes:
        symbols: Shape (tags,): code of the prefix symbol.
        types: Shape (tags,): code of the type.
        names: Names of the types, by code.
    """

    symbols: IntArray
    types: IntArray
    names: tuple[str, ...]


def parse_all(tags: Iterable[str], alphabet: str, parse: Parse) -> Parsed:
    """Parse each different tag once; symbols outside of the alphabet become its last one."""
    names = _Codes()
    symbols, types = [], []
    for tag in tags:
        symbol, name = parse(tag)
        place = alphabet.find(symbol) if len(symbol) == 1 else -1
        symbols.append(place if place >= 0 else len(alphabet) - 1)
        types.append(names[name])
    return Parsed(np.array(symbols, dtype=np.int64), np.array(types, dtype=np.int64), tuple(names))


def tabulate(alphabet: str, rule: Rule) -> BoolArray:
    """Evaluate a rule for all pairs of symbols; returns shape (symbols * symbols * 2,), see `neighbours`."""
    return np.array([rule(prev, cur, same) for prev in alphabet for cur in alphabet for same in (False, True)])


def neighbours(codes: IntArray, parsed: Parsed, alphabet: str, first: tuple[str, int]) -> IntArray:
    """Index each pair of neighbouring tags into the tables of `tabulate`.

    Args:
        codes: Shape (N,): tags of a corpus.
        parsed: Meaning of the tags.
        alphabet: Symbols of the tables.
        first: Symbol and type in front of the first position; type -1 equals no type.

    Returns:
        Shape (N,): the pair of each position and the one before it.
    """
    symbols, types = parsed.symbols[codes], parsed.types[codes]
    pairs = symbols * 2
    pairs[1:] += symbols[:-1] * (2 * len(alphabet))
    pairs[1:] += types[1:] == types[:-1]
    pairs[0] += alphabet.index(first[0]) * 2 * len(alphabet) + int(types[0] == first[1])
    return pairs


ALPHABET = "OBIES.?"
"""Prefixes that seqeval's default mode tells apart; the last one stands for all others."""


def _ends_by_default(prev: str, cur: str, same: bool) -> bool:
    if prev in "ES" or prev + cur in ("BB", "BS", "BO", "IB", "IS", "IO"):
        return True
    return prev not in "O." and not same


def _starts_by_default(prev: str, cur: str, same: bool) -> bool:
    if cur in "BS" or prev + cur in ("EE", "EI", "SE", "SI", "OE", "OI"):
        return True
    return cur not in "O." and not same


def parse_default(suffix: bool) -> Parse:
    """Read tags as seqeval's default mode does: the first (or last) letter, and the rest behind a hyphen."""
    if suffix:
        return lambda tag: (tag[-1], tag[:-1].rsplit("-", 1)[0] or "_")
    return lambda tag: (tag[0], tag[1:].split("-", 1)[-1] or "_")


def default_chunks(codes: IntArray, parsed: Parsed) -> Chunks:
    """Find entities by seqeval's default rules.

    An entity that ends without having started, which only unknown prefixes can do, gets the latest start of the corpus,
    even from another sentence: so does seqeval.
    """
    pairs = neighbours(codes, parsed, ALPHABET, ("O", -1))
    ends = np.flatnonzero(tabulate(ALPHABET, _ends_by_default)[pairs])
    begins = np.flatnonzero(tabulate(ALPHABET, _starts_by_default)[pairs])
    latest = np.zeros(len(codes), dtype=np.int64)
    latest[begins] = begins
    latest = np.maximum.accumulate(latest)
    return Chunks(latest[ends - 1], ends, parsed.types[codes[ends - 1]])


def parse_strict(suffix: bool) -> Parse:
    """Read tags as seqeval's strict mode does: all hyphens around the type are dropped."""
    if suffix:
        return lambda tag: (tag[-1], tag[:-1].strip("-") or "_")
    return lambda tag: (tag[0], tag[1:].strip("-") or "_")


def strict_chunks(codes: IntArray, parsed: Parsed, scheme: str) -> Chunks:
    """Find the entities that are well formed in a scheme, as seqeval's strict mode does."""
    rules = STRICT_RULES[scheme]
    pairs = neighbours(codes, parsed, rules.alphabet, ("O", int(parsed.types[0])))
    begins, continues, closes = (
        tabulate(rules.alphabet, partial(rules.allows, kind))[pairs] for kind in ("begins", "continues", "closes")
    )
    # Only IOB1 has pairs that either begin or continue (B then I of one type): they continue exactly where the B began.
    either = np.flatnonzero(begins & continues)
    began = begins[either - 1]
    begins[either], continues[either] = ~began, began
    breaks = np.flatnonzero(~continues)
    order = np.flatnonzero(begins[breaks])
    starts, ends = breaks[order], breaks[order + 1]
    whole = closes[ends]
    return Chunks(starts[whole], ends[whole], parsed.types[codes[starts[whole]]])


def check_scheme(pair: TagPair, rules: StrictRules, scheme: str, suffix: bool) -> None:
    """Refuse tags whose prefix the scheme does not have.

    Raises:
        InvalidInputError: Names the tag, an example with it and the prefixes of the scheme.
    """
    for code, tag in enumerate(pair.tags):
        if (tag[-1] if suffix else tag[0]) not in rules.alphabet:
            raise InvalidInputError(
                f"example {_first_with(pair, code)}: tag {tag!r} is not of scheme {scheme};"
                f" expected the prefixes {', '.join(sorted(rules.alphabet))}"
            )


def count_chunks(pair: TagPair, gold: Chunks, pred: Chunks, types: int) -> IntArray:
    """Count right, predicted and gold entities.

    Args:
        pair: The corpus.
        gold: Its gold entities.
        pred: Its predicted entities.
        types: Number T of types.

    Returns:
        Shape (n, T, 3).
    """
    start_of = np.full(len(pair.gold), -1)
    type_of = np.full(len(pair.gold), -1)
    start_of[gold.ends], type_of[gold.ends] = gold.starts, gold.types
    right = (start_of[pred.ends] == pred.starts) & (type_of[pred.ends] == pred.types)
    hits = Chunks(pred.starts[right], pred.ends[right], pred.types[right])
    counted = [
        np.bincount(pair.sentence[chunks.ends - 1] * types + chunks.types, minlength=pair.count * types)
        for chunks in (hits, pred, gold)
    ]
    return np.stack(counted, axis=-1).reshape(pair.count, types, 3)
