"""Tag schemes: how entities are written as one tag a token, and how to rewrite tags from one scheme into another.

    tokens   Anna   Berg   lives   in   New    York   Paris
    IO       I-PER  I-PER  O       O    I-LOC  I-LOC  I-LOC     neighbours of one type run together
    IOB1     I-PER  I-PER  O       O    I-LOC  I-LOC  B-LOC     B only where a neighbour of the type would run on
    IOB2     B-PER  I-PER  O       O    B-LOC  I-LOC  B-LOC     also called BIO
    IOE1     I-PER  I-PER  O       O    I-LOC  E-LOC  I-LOC     the mirror image of IOB1
    IOE2     I-PER  E-PER  O       O    I-LOC  E-LOC  E-LOC
    IOBES    B-PER  E-PER  O       O    B-LOC  E-LOC  S-LOC     also called BIOES
    BILOU    B-PER  L-PER  O       O    B-LOC  L-LOC  U-LOC

References:
    Ramshaw and Marcus (1995), Text chunking using transformation-based learning: IOB1.
    Tjong Kim Sang and Veenstra (1999), Representing text chunks: IOB2, IOE1, IOE2.
    Ratinov and Roth (2009), Design challenges and misconceptions in named entity recognition: BILOU.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evalkit.errors import InvalidInputError, UnknownNameError

ALIASES: Mapping[str, str] = {"BIO": "IOB2", "BIOES": "IOBES"}
"""Other names of schemes."""


@dataclass(frozen=True, slots=True)
class StrictRules:
    """When a scheme lets an entity begin, continue and close between two tags.

    Each rule is a previous prefix, a current prefix and a condition on the two types: ``=`` equal, ``!`` different, ``*`` any.
    The prefix ``?`` is any prefix. The rules are those by which seqeval's strict mode accepts entities.
    """

    alphabet: str
    """Prefixes that the scheme has."""
    begins: tuple[str, ...]
    """An entity begins with the current tag."""
    continues: tuple[str, ...]
    """The current tag belongs to the entity of the previous one."""
    closes: tuple[str, ...]
    """An entity that ends with the previous tag is well formed."""

    def allows(self, kind: str, prev: str, cur: str, same: bool) -> bool:
        """Whether a rule of a kind (``begins``, ``continues``, ``closes``) holds between two tags."""
        rules: tuple[str, ...] = getattr(self, kind)
        return any(
            rule[0] in (prev, "?") and rule[1] in (cur, "?") and rule[2] in ("*", "=" if same else "!")
            for rule in rules
        )


def _rules(alphabet: str, begins: str, continues: str, closes: str) -> StrictRules:
    return StrictRules(alphabet, tuple(begins.split()), tuple(continues.split()), tuple(closes.split()))


STRICT_RULES: Mapping[str, StrictRules] = {
    "IOB1": _rules("IOB", "OI* II! BI* IB= BB=", "BI= II=", "II! IO* IB* BO* BI! BB="),
    "IOB2": _rules("IOB", "?B*", "BI= II=", "IO* II! IB* BO* BI! BB*"),
    "IOE1": _rules("IOE", "OI* II! EI* EE=", "II= IE=", "II! IO* IE! EI= EE="),
    "IOE2": _rules("IOE", "OI* OE* EI* EE* II! IE!", "IE= II=", "E?*"),
    "IOBES": _rules("IOBES", "?B* ?S*", "BI= BE= II= IE=", "S?* E?*"),
    "BILOU": _rules("BILOU", "?B* ?U*", "BI= BL= II= IL=", "U?* L?*"),
}
"""Schemes of seqeval's strict mode."""

_PREFIXES: Mapping[str, Mapping[str, str]] = {
    "IO": {"I": "inside"},
    "IOB1": {"I": "inside", "B": "split"},
    "IOB2": {"B": "first", "I": "inside"},
    "IOBES": {"B": "first", "I": "inside", "E": "last", "S": "single"},
    "BILOU": {"B": "first", "I": "inside", "L": "last", "U": "single"},
}
CONVERTIBLE: tuple[str, ...] = tuple(_PREFIXES)
"""Schemes that `convert` reads; it writes all of them but IO, which cannot keep neighbours apart."""

Entity = tuple[int, int, str]
"""First token, token behind the last, type; an untyped entity has the type ''."""


def scheme_name(name: str, known: Sequence[str]) -> str:
    """Resolve a scheme's name or alias.

    Raises:
        UnknownNameError: The name is not known.
    """
    resolved = ALIASES.get(name, name)
    if resolved not in known:
        raise UnknownNameError("tag scheme", name, known)
    return resolved


def convert(tags: Sequence[str], source: str, target: str = "IOB2", *, strict: bool = True) -> list[str]:
    """Rewrite the tags of one sentence in another scheme; tags already in the target scheme stay as they are.

    Args:
        tags: One tag a token.
        source: Scheme of the tags: IO, IOB1, IOB2, IOBES or BILOU.
        target: Scheme to write: IOB1, IOB2, IOBES or BILOU.
        strict: Whether a tag that cannot stand where it stands is an error. Otherwise it begins an entity, which is how
            scorers read such tags; right for what a model wrote, never for gold data.

    Raises:
        InvalidInputError: A tag is not of the source scheme, or not at this place.
        UnknownNameError: A scheme is not known.

    >>> convert(["I-PER", "I-PER", "B-PER", "O"], "IOB1", "IOBES")
    ['B-PER', 'E-PER', 'S-PER', 'O']
    """
    source = scheme_name(source, CONVERTIBLE)
    target = scheme_name(target, CONVERTIBLE[1:])
    if source == target:
        return list(tags)
    return write_entities(read_entities(tags, source, strict=strict), len(tags), target)


def read_entities(tags: Sequence[str], scheme: str, *, strict: bool = True) -> list[Entity]:
    """Find the entities of one sentence, in order.

    Args:
        tags: One tag a token.
        scheme: IO, IOB1, IOB2, IOBES or BILOU.
        strict: As for `convert`.

    Raises:
        InvalidInputError: A tag is not of the scheme, or not at this place.
        UnknownNameError: The scheme is not known.
    """
    scheme = scheme_name(scheme, CONVERTIBLE)
    reader = _Reader(scheme, tuple(tags), strict)
    for position in range(len(tags)):
        reader.read(position)
    reader.close(len(tags))
    return reader.entities


class _Reader:
    """Reads one sentence tag by tag, holding the entity that is open."""

    def __init__(self, scheme: str, tags: tuple[str, ...], strict: bool) -> None:
        self.entities: list[Entity] = []
        self._scheme = scheme
        self._roles = _PREFIXES[scheme]
        self._needs_last = "last" in self._roles.values()
        self._tags = tags
        self._strict = strict
        self._open: tuple[int, str] | None = None

    def read(self, position: int) -> None:
        tag = self._tags[position]
        if tag == "O":
            self.close(position)
            return
        prefix, _, label = tag.partition("-")
        role = self._roles.get(prefix)
        if role is None:
            raise InvalidInputError(
                f"token {position}: tag {tag!r} is not of scheme {self._scheme};"
                f" expected O or one of the prefixes {', '.join(self._roles)} and a type"
            )
        runs_on = self._open is not None and self._open[1] == label
        if role in ("inside", "last") and runs_on:
            self._end_if_last(role, position)
            return
        self._check_place(role, tag, position, runs_on)
        self.close(position)
        self._open = (position, label)
        self._end_if_last(role, position)

    def close(self, end: int) -> None:
        """End the open entity in front of token `end`."""
        if self._open is None:
            return
        if self._needs_last and self._strict:
            raise InvalidInputError(
                f"token {end - 1}: tag {self._tags[end - 1]!r} leaves an entity open, which scheme {self._scheme} does not"
                " allow; fix the tags or name the scheme that they are in"
            )
        self._end(end)

    def _end_if_last(self, role: str, position: int) -> None:
        if role in ("last", "single"):
            self._end(position + 1)

    def _end(self, end: int) -> None:
        assert self._open is not None
        start, label = self._open
        self.entities.append((start, end, label))
        self._open = None

    def _check_place(self, role: str, tag: str, position: int, runs_on: bool) -> None:
        """A tag is about to begin an entity: may it?"""
        may_begin = role in ("first", "single") or (role == "split" and runs_on)
        if role == "inside" and "first" not in self._roles.values():
            may_begin = True
        if self._strict and not may_begin:
            before = repr(self._tags[position - 1]) if position else "the beginning of the sentence"
            raise InvalidInputError(
                f"token {position}: tag {tag!r} cannot stand behind {before} in scheme {self._scheme};"
                " fix the tags or name the scheme that they are in"
            )


def write_entities(entities: Sequence[Entity], length: int, scheme: str) -> list[str]:
    """Write entities as one tag a token.

    Args:
        entities: Entities in order, without overlap.
        length: Number of tokens.
        scheme: IOB1, IOB2, IOBES or BILOU.
    """
    letters = {role: prefix for prefix, role in _PREFIXES[scheme].items()}
    inside = letters["inside"]
    tags = ["O"] * length
    previous: Entity = (0, 0, "O")
    for start, end, label in entities:
        prefixes = [inside] * (end - start)
        if "split" in letters:
            prefixes[0] = letters["split"] if previous[1:] == (start, label) else inside
        else:
            prefixes[0] = letters["first"]
        if "last" in letters:
            prefixes[-1] = letters["last"] if end - start > 1 else letters["single"]
        tags[start:end] = [f"{prefix}-{label}" if label else prefix for prefix in prefixes]
        previous = (start, end, label)
    return tags
