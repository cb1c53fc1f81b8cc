"""Probabilistic grammars of texts whose entropy is computed in closed form.

A grammar is a tree of nodes. Each node can write a part of a text, say how likely a given text is, and give its
expected entropy, words and characters. Registers carry words over any distance: a name that was drawn once is
recalled later at no cost, so a model that remembers needs fewer nats than one that does not.

The entropy is that of the choices. It is the entropy of the texts if no text can be written in two ways, which the
grammar has to see to; `Node.parse` finds all ways.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import NamedTuple, TypeAlias

State: TypeAlias = dict[str, str]
"""Register to the words it holds."""
Holdings: TypeAlias = dict[str, dict[str, float]]
"""Register to the words it may hold and how likely each is.

Registers are kept one by one, not jointly. That is exact as long as the branches of a `Switch` recall no register that was drawn
apart from the one that they switch on.
"""

PUNCTUATION = frozenset(".,")


class Measure(NamedTuple):
    """Expected values of what a node writes."""

    entropy: float
    """In nats."""
    words: float
    """Words; punctuation marks are no words of their own."""
    characters: float
    """Characters, with one space before each word."""

    def plus(self, other: Measure) -> Measure:
        """Add two measures."""
        return Measure(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))

    def times(self, factor: float) -> Measure:
        """Scale a measure."""
        return Measure(*(factor * value for value in self))


NOTHING = Measure(0.0, 0.0, 0.0)


class Node(ABC):
    """A part of a grammar."""

    @abstractmethod
    def write(self, rng: Random, state: State, out: list[str]) -> float:
        """Append tokens to `out` and return the natural logarithm of the probability of the choices made."""

    @abstractmethod
    def parse(self, tokens: Sequence[str], start: int, state: State) -> Iterator[tuple[int, State, float]]:
        """Find all ways to write tokens from `start` on: where each ends, its registers, its log-probability in nats."""

    @abstractmethod
    def measure(self, holdings: Holdings) -> Measure:
        """Compute the expected values, and note in `holdings` what registers may hold afterwards."""


class Words(Node):
    """Fixed words and punctuation marks, separated by spaces."""

    def __init__(self, text: str) -> None:
        self.tokens = text.split()

    def write(self, rng: Random, state: State, out: list[str]) -> float:
        """Append the words."""
        out.extend(self.tokens)
        return 0.0

    def parse(self, tokens: Sequence[str], start: int, state: State) -> Iterator[tuple[int, State, float]]:
        """Match the words."""
        end = start + len(self.tokens)
        if list(tokens[start:end]) == self.tokens:
            yield end, state, 0.0

    def measure(self, holdings: Holdings) -> Measure:
        """Count the words."""
        return size_of(self.tokens)


class Series(Node):
    """Nodes one after the other."""

    def __init__(self, *nodes: Node) -> None:
        self.nodes = nodes

    def write(self, rng: Random, state: State, out: list[str]) -> float:
        """Write all nodes."""
        return sum(node.write(rng, state, out) for node in self.nodes)

    def parse(self, tokens: Sequence[str], start: int, state: State) -> Iterator[tuple[int, State, float]]:
        """Match all nodes."""
        yield from self._parse_from(0, tokens, start, state)

    def _parse_from(
        self, index: int, tokens: Sequence[str], start: int, state: State
    ) -> Iterator[tuple[int, State, float]]:
        if index == len(self.nodes):
            yield start, state, 0.0
            return
        for end, after, logprob in self.nodes[index].parse(tokens, start, state):
            for last, final, rest in self._parse_from(index + 1, tokens, end, after):
                yield last, final, logprob + rest

    def measure(self, holdings: Holdings) -> Measure:
        """Add up all nodes."""
        total = NOTHING
        for node in self.nodes:
            total = total.plus(node.measure(holdings))
        return total


class Choice(Node):
    """One of several nodes, each with its weight."""

    def __init__(self, *weighted: tuple[float, Node]) -> None:
        total = sum(weight for weight, _ in weighted)
        self.branches = tuple((weight / total, node) for weight, node in weighted)

    def write(self, rng: Random, state: State, out: list[str]) -> float:
        """Write one of the nodes."""
        roll = rng.random()
        probability, node = self.branches[-1]
        for branch in self.branches:
            roll -= branch[0]
            if roll < 0:
                probability, node = branch
                break
        return math.log(probability) + node.write(rng, state, out)

    def parse(self, tokens: Sequence[str], start: int, state: State) -> Iterator[tuple[int, State, float]]:
        """Match any of the nodes."""
        for probability, node in self.branches:
            for end, after, logprob in node.parse(tokens, start, state):
                yield end, after, logprob + math.log(probability)

    def measure(self, holdings: Holdings) -> Measure:
        """Average the nodes and add the entropy of the choice.

        What branches draw into registers can be recalled inside the branch only.
        """
        total = Measure(sum(-probability * math.log(probability) for probability, _ in self.branches), 0.0, 0.0)
        for probability, node in self.branches:
            total = total.plus(node.measure(dict(holdings)).times(probability))
        return total


class Draw(Node):
    """One of many words, likelier ones first, kept in a register.

    Args:
        register: Where the word is kept; '' where it is not needed again.
        options: The words; an option may be several words.
        is_even: Whether all are equally likely; else option i is drawn with a weight of 1 / (i + 3), as in Zipf's law.
        apart_from: Register whose word is not drawn again; '' for none.
    """

    def __init__(self, register: str, options: Sequence[str], is_even: bool = False, apart_from: str = "") -> None:
        self.register = register
        self.apart_from = apart_from
        weights = [1.0 if is_even else 1.0 / (index + 3) for index in range(len(options))]
        self.chances = {option: weight / sum(weights) for option, weight in zip(options, weights, strict=True)}
        self.split = {option: option.split() for option in options}
        self.lengths = sorted({len(words) for words in self.split.values()})

    def write(self, rng: Random, state: State, out: list[str]) -> float:
        """Draw a word."""
        taken = state[self.apart_from] if self.apart_from else ""
        left = 1.0 - self.chances.get(taken, 0.0)
        roll = rng.random() * left
        option = ""
        for candidate, chance in self.chances.items():
            if candidate != taken:
                option = candidate
                roll -= chance
                if roll < 0:
                    break
        if self.register:
            state[self.register] = option
        out.extend(self.split[option])
        return math.log(self.chances[option] / left)

    def parse(self, tokens: Sequence[str], start: int, state: State) -> Iterator[tuple[int, State, float]]:
        """Match one of the words."""
        taken = state[self.apart_from] if self.apart_from else ""
        for length in self.lengths:
            option = " ".join(tokens[start : start + length])
            if option in self.chances and option != taken:
                after = {**state, self.register: option} if self.register else state
                yield start + length, after, math.log(self.chances[option] / (1.0 - self.chances.get(taken, 0.0)))

    def measure(self, holdings: Holdings) -> Measure:
        """Average over what may be left out."""
        total = NOTHING
        drawn = dict.fromkeys(self.chances, 0.0)
        for taken, weight in (holdings[self.apart_from] if self.apart_from else {"": 1.0}).items():
            left = 1.0 - self.chances.get(taken, 0.0)
            for option, chance in self.chances.items():
                if option != taken:
                    share = chance / left
                    drawn[option] += weight * share
                    part = Measure(-math.log(share), 0.0, 0.0).plus(size_of(self.split[option]))
                    total = total.plus(part.times(weight * share))
        if self.register:
            holdings[self.register] = drawn
        return total


class Recall(Node):
    """The word of a register again, or what a table has for it.

    Args:
        register: Where the word is kept.
        table: Word to what is written for it, e.g. a name's pronoun; None for the word itself.
    """

    def __init__(self, register: str, table: Mapping[str, str] | None = None) -> None:
        self.register = register
        self.table = table

    def _words(self, held: str) -> list[str]:
        return (self.table[held] if self.table is not None else held).split()

    def write(self, rng: Random, state: State, out: list[str]) -> float:
        """Append what the register holds."""
        out.extend(self._words(state[self.register]))
        return 0.0

    def parse(self, tokens: Sequence[str], start: int, state: State) -> Iterator[tuple[int, State, float]]:
        """Match what the register holds."""
        words = self._words(state[self.register])
        end = start + len(words)
        if list(tokens[start:end]) == words:
            yield end, state, 0.0

    def measure(self, holdings: Holdings) -> Measure:
        """Average the size of what the register may hold; recalling costs no nats."""
        total = NOTHING
        for held, chance in holdings[self.register].items():
            total = total.plus(size_of(self._words(held)).times(chance))
        return total


class Switch(Node):
    """The node that belongs to what a register holds.

    Args:
        register: Where the word is kept.
        nodes: Word to node.
    """

    def __init__(self, register: str, nodes: Mapping[str, Node]) -> None:
        self.register = register
        self.nodes = nodes

    def write(self, rng: Random, state: State, out: list[str]) -> float:
        """Write the node."""
        return self.nodes[state[self.register]].write(rng, state, out)

    def parse(self, tokens: Sequence[str], start: int, state: State) -> Iterator[tuple[int, State, float]]:
        """Match the node."""
        yield from self.nodes[state[self.register]].parse(tokens, start, state)

    def measure(self, holdings: Holdings) -> Measure:
        """Average the nodes; the word is known already, so the choice costs nothing."""
        total = NOTHING
        for held, chance in holdings[self.register].items():
            known = {**holdings, self.register: {held: 1.0}}
            total = total.plus(self.nodes[held].measure(known).times(chance))
        return total


class Repeat(Node):
    """A node once or more, until it stops.

    Args:
        node: What is repeated.
        stop: Probability of stopping after each time.
    """

    def __init__(self, node: Node, stop: float) -> None:
        self.node = node
        self.stop = stop

    def write(self, rng: Random, state: State, out: list[str]) -> float:
        """Write the node until it stops."""
        logprob = self.node.write(rng, state, out)
        while rng.random() >= self.stop:
            logprob += math.log1p(-self.stop) + self.node.write(rng, state, out)
        return logprob + math.log(self.stop)

    def parse(self, tokens: Sequence[str], start: int, state: State) -> Iterator[tuple[int, State, float]]:
        """Match the node as often as possible, and fewer times."""
        stop, more = math.log(self.stop), math.log1p(-self.stop)
        ways = [(self.node.parse(tokens, start, state), 0.0)]
        while ways:
            found, before = ways[-1]
            way = next(found, None)
            if way is None:
                ways.pop()
                continue
            end, after, logprob = way
            yield end, after, before + logprob + stop
            ways.append((self.node.parse(tokens, end, after), before + logprob + more))

    def measure(self, holdings: Holdings) -> Measure:
        """Multiply by the expected number of times, 1 / stop; each ends with one choice to stop or go on."""
        choice = -self.stop * math.log(self.stop) - (1.0 - self.stop) * math.log1p(-self.stop)
        return self.node.measure(holdings).plus(Measure(choice, 0.0, 0.0)).times(1.0 / self.stop)


def size_of(tokens: Sequence[str]) -> Measure:
    """Count words and characters of tokens; they have no entropy."""
    words = [token for token in tokens if token not in PUNCTUATION]
    return Measure(0.0, float(len(words)), float(sum(map(len, tokens)) + len(words)))


def joined(tokens: Sequence[str]) -> str:
    """Join tokens to a text, without a space before punctuation."""
    return "".join(token if token in PUNCTUATION else f" {token}" for token in tokens).lstrip()


def split(text: str) -> list[str]:
    """Split a text that `joined` has made into its tokens."""
    spaced = "".join(f" {character}" if character in PUNCTUATION else character for character in text)
    return spaced.split()


def logprob(node: Node, text: str) -> float:
    """Return the exact log-probability of a text in nats; -inf for a text that the grammar does not write."""
    tokens = split(text)
    if joined(tokens) != text:
        return -math.inf
    ways = [value for end, _, value in node.parse(tokens, 0, {}) if end == len(tokens)]
    if not ways:
        return -math.inf
    best = max(ways)
    return best + math.log(sum(math.exp(value - best) for value in ways))
