"""The grammar of mini_lm: short stories about two people at one place.

What a story says first decides much of the rest, at any distance: the place decides which nouns are likely, the two
names and what each of them carries come again, he and she follow from the names, was and were from the subject before
a distracting noun. The last sentence can be told from the first two, but for its opening words. A model that looks
back only a few words has to guess all this.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from random import Random
from typing import Any, NamedTuple

from evalkit_tasks.mini.source import Choice, Draw, Node, Recall, Repeat, Series, Switch, Words, joined, logprob
from evalkit_tasks.mini.streams import Candidate, stream, take
from evalkit_tasks.mini.tables import sections

_STOP = 0.2
_PLURALS = {"fisherman": "fishermen", "leaf": "leaves", "goose": "geese"}


class Story(NamedTuple):
    """The grammar in two parts: the opening, from which the split is told, and the rest."""

    opening: Node
    rest: Node

    @property
    def whole(self) -> Node:
        """The grammar of a whole story."""
        return Series(self.opening, self.rest)


def _column(name: str, column: int = 0) -> list[str]:
    return [row[column] for row in sections("mini_stories.tsv")[name]]


def _plural(noun: str) -> str:
    from evalkit_tasks.mini.lexicon import plural_of

    return _PLURALS.get(noun) or plural_of(noun)


@cache
def story() -> Story:
    """Build the grammar."""
    names = _column("names")
    topics = [name.removeprefix("topic ") for name in sections("mini_stories.tsv") if name.startswith("topic ")]
    carried = (_owner("A"), Draw("colour A", _column("colours"), True), Draw("thing A", _column("things"), True))
    other = (
        _owner("B"),
        Draw("colour B", _column("colours"), True),
        Draw("thing B", _column("things"), True, "thing A"),
    )
    opening = _sequence(
        "One",
        Draw("", _column("days"), True),
        Draw("", _column("times"), True),
        ",",
        Draw("A", names, True),
        "and",
        Draw("B", names, True, "A"),
        "went to the",
        Draw("topic", topics, True),
        ".",
        *("They had", *carried, "and", *other, "with them ."),
    )
    rest = Switch("topic", {topic: _told(topic, number) for number, topic in enumerate(topics)})
    return Story(opening, rest)


def _owner(who: str) -> Node:
    """Whose something is: *Ivan's*."""
    return Recall(who, {name: f"{name}'s" for name in _column("names")})


def _belongings(who: str) -> tuple[Node, Node, Node]:
    """What one of the two carries, and whose it is."""
    return _owner(who), Recall(f"colour {who}"), Recall(f"thing {who}")


def _sequence(*parts: Node | str) -> Node:
    return Series(*(Words(part) if isinstance(part, str) else part for part in parts))


def _told(topic: str, number: int) -> Node:
    """The sentences between opening and end, and the end."""
    parts = _Parts(topic, number)
    sentences = Choice(
        (26, parts.seen()),
        (20, parts.was()),
        (16, parts.handled()),
        (14, parts.asked()),
        (12, parts.found()),
        (12, parts.weather()),
    )
    ending = Choice((2, Words("At last")), (1, Words("In the end")), (1, Words("Much later")))
    things = (*_belongings("A"), "and", *_belongings("B"))
    end = _sequence(ending, Recall("A"), "and", Recall("B"), "went home with", *things, ".")
    return _sequence(Repeat(sentences, _STOP), end)


class _Parts:
    """The kinds of sentences at one place; each place has its own nouns and its own likely verbs and adjectives."""

    def __init__(self, topic: str, number: int) -> None:
        nouns = dict(sections("mini_stories.tsv")[f"topic {topic}"])["nouns"].split()
        self.singular = nouns
        self.plural = [_plural(noun) for noun in nouns]
        self.verbs = _turned(_column("verbs"), 2 * number)
        self.adjectives = _turned(_column("adjectives"), 5 * number)
        self.adverbs = _column("adverbs")
        pronoun = {name: "she" if gender == "f" else "he" for name, gender in sections("mini_stories.tsv")["names"]}
        self.pronoun: Mapping[str, str] = pronoun

    def _either(self, make: Callable[[str, str], Node]) -> Node:
        """The same sentence about one or the other of the two."""
        return Choice((1, make("A", "B")), (1, make("B", "A")))

    def _any_noun(self) -> Node:
        return Choice((2, Draw("", self.singular)), (1, Draw("", self.plural)))

    def _adjective(self) -> Node:
        return Draw("", self.adjectives)

    def seen(self) -> Node:
        """Somebody notices something."""
        who = Choice((2, Recall("A")), (2, Recall("B")), (1, Words("They")))
        how = Choice((2, Words("")), (1, Draw("", self.adverbs)))
        what = Choice((1, self._any_noun()), (1, _sequence(self._adjective(), self._any_noun())))
        return _sequence(who, how, Draw("", self.verbs), "the", what, ".")

    def was(self) -> Node:
        """Something is somehow; what stands between may have the other number."""
        between = (Draw("", _column("relations")), "the", self._any_noun())
        one = _sequence("The", Draw("", self.singular), *between, "was", self._adjective(), ".")
        many = _sequence("The", Draw("", self.plural), *between, "were", self._adjective(), ".")
        return Choice((1, one), (1, many))

    def handled(self) -> Node:
        """Somebody does something with what the other one carries."""

        def make(who: str, whom: str) -> Node:
            verb, adverb = Draw("", _column("handled")), Draw("", self.adverbs)
            return _sequence(Recall(who), verb, *_belongings(whom), adverb, ".")

        return self._either(make)

    def asked(self) -> Node:
        """One of the two speaks to the other."""

        def make(who: str, whom: str) -> Node:
            ways = sections("mini_stories.tsv")["asking"]
            said = Choice(
                *((1, _sequence(verb, Recall(whom), preposition)) for verb, preposition in ways),
            )
            return _sequence(Recall(who), said, "the", self._any_noun(), ".")

        return self._either(make)

    def found(self) -> Node:
        """Somebody sees something and tells the other of it."""

        def make(who: str, whom: str) -> Node:
            adjective = Draw("", [f"a {word}" for word in self.adjectives if word[0] not in "aeiou"])
            picked = ("pointed at", adjective, Draw("found", self.singular), ".")
            given = ("Then", Recall(who, self.pronoun), Draw("", _column("giving")), "the", Recall("found"))
            return _sequence(Recall(who), *picked, *given, "to", Recall(whom), ".")

        return self._either(make)

    def weather(self) -> Node:
        """Something in the air."""
        return _sequence("Meanwhile", Draw("", _column("weather")), ".")


def _turned(words: list[str], places: int) -> list[str]:
    """Move the first words to the end, so that each place prefers other ones."""
    places %= len(words)
    return words[places:] + words[:places]


def true_logprob(text: str) -> float:
    """Return the exact natural-log probability of a text, its end included; -inf for what is no story."""
    return logprob(story().whole, text)


def facts() -> dict[str, Any]:
    """Return what is known of the source, exactly.

    No model can reach fewer nats a word in the long run. The end of a text costs nothing: the last sentence is known by its
    first words.
    """
    measure = story().whole.measure({})
    characters = measure.characters - 1
    return {
        "token": "a word: what stands between spaces, punctuation included; the end of a text is certain and no token",
        "entropy_nats_per_token": measure.entropy / measure.words,
        "entropy_nats_per_character": measure.entropy / characters,
        "entropy_nats_per_text": measure.entropy,
        "tokens_per_text": measure.words,
        "characters_per_text": characters,
    }


def rows(split: str, size: int, seed: int) -> list[dict[str, Any]]:
    """Return stories.

    The split is told from the opening alone, by a hash that no model knows, so the entropy of what follows is untouched.

    Args:
        split: train, dev or test.
        size: Number of rows.
        seed: Any whole number.
    """
    grammar = story()

    def draw(rng: Random) -> Candidate[dict[str, Any]]:
        state: dict[str, str] = {}
        out: list[str] = []
        grammar.opening.write(rng, state, out)

        def build() -> dict[str, Any]:
            grammar.rest.write(rng, state, out)
            return {"text": joined(out)}

        return Candidate(" ".join(out), build)

    return take(stream("mini_lm", split, seed, draw), size)
