import math
import re
from itertools import pairwise, product
from pathlib import Path
from random import Random
from statistics import mean, stdev

import pytest

from evalkit_tasks import mini_lm
from evalkit_tasks.mini import stories
from evalkit_tasks.mini.source import Choice, Draw, Recall, Repeat, Series, Switch, Words, joined, logprob, split

FACTS = stories.facts()
SAMPLE = stories.rows("train", 2000, 11)


@pytest.fixture(scope="module")
def written():
    """Texts of the unrestricted source with the log-probability that writing them had."""
    rng, whole = Random(7), stories.story().whole
    texts = []
    for _ in range(2000):
        out = []
        value = whole.write(rng, {}, out)
        texts.append((joined(out), value))
    return texts


def error_in_standard_errors(values, expected):
    return abs(mean(values) - expected) / (stdev(values) / math.sqrt(len(values)))


def test_sampled_surprise_agrees_with_the_closed_form(written):
    assert error_in_standard_errors([-value for _, value in written], FACTS["entropy_nats_per_text"]) < 4


def test_sampled_lengths_agree_with_the_closed_form():
    assert error_in_standard_errors([len(row["text"].split()) for row in SAMPLE], FACTS["tokens_per_text"]) < 4
    assert error_in_standard_errors([len(row["text"]) for row in SAMPLE], FACTS["characters_per_text"]) < 4


def test_rows_of_a_split_have_the_entropy_of_the_source():
    values = [-stories.true_logprob(row["text"]) for row in SAMPLE[:600]]
    assert error_in_standard_errors(values, FACTS["entropy_nats_per_text"]) < 4


def test_scoring_a_text_gives_the_probability_of_writing_it(written):
    for text, value in written[:150]:
        assert stories.true_logprob(text) == pytest.approx(value, rel=1e-12)


def test_a_text_may_be_as_long_as_it_likes():
    text = SAMPLE[0]["text"]
    sentence = "Meanwhile it began to rain. "
    assert text.count(sentence) == 0
    ending = re.search(r"(At last|In the end|Much later) \w+ and ", text).start()
    once, often = (stories.true_logprob(text[:ending] + sentence * count + text[ending:]) for count in (1, 3000))
    assert often == pytest.approx(stories.true_logprob(text) + 3000 * (once - stories.true_logprob(text)), rel=1e-9)


def test_each_text_can_be_written_in_one_way_only(written):
    whole = stories.story().whole
    for text, _ in written[:150]:
        tokens = split(text)
        assert sum(end == len(tokens) for end, _, _ in whole.parse(tokens, 0, {})) == 1


def test_entropy_per_token_is_the_quotient_of_expectations():
    assert FACTS["entropy_nats_per_token"] == FACTS["entropy_nats_per_text"] / FACTS["tokens_per_text"]
    assert mini_lm.TASK.generated.facts() == FACTS


def test_documented_entropy_is_that_of_the_source():
    page = (Path(__file__).parents[3] / "docs" / "mini.md").read_text(encoding="utf-8")
    assert f"| entropy | {FACTS['entropy_nats_per_text']:.4f} nats a text |" in page
    assert (
        f"**{FACTS['entropy_nats_per_token']:.4f} nats** (perplexity {math.exp(FACTS['entropy_nats_per_token']):.3f})"
        in page
    )
    assert f"| characters a text | {FACTS['characters_per_text']:.4f} |" in page


@pytest.mark.parametrize(
    "text", ["", "One day", "One cold morning, Anna and Anna went to the forest.", "One  cold morning"]
)
def test_other_texts_are_impossible(text):
    assert stories.true_logprob(text) == -math.inf


def test_a_wrong_pronoun_or_thing_is_impossible():
    row = next(row["text"] for row in SAMPLE if "Then she " in row["text"])
    assert stories.true_logprob(row) > -math.inf
    assert stories.true_logprob(row.replace("Then she ", "Then he ", 1)) == -math.inf
    owner, colour, thing = re.search(r"They had (\S+) (\S+) (\S+) and", row).groups()
    assert row.count(f"{owner} {colour} {thing}") >= 2
    assert stories.true_logprob(f"{owner} {colour} kite".join(row.rsplit(f"{owner} {colour} {thing}", 1))) == -math.inf


def test_vocabulary_has_hundreds_of_words():
    assert 400 < len({token for row in SAMPLE for token in split(row["text"])}) < 1000


def test_word_pairs_predict_much_less_than_the_source():
    """A bigram model with Witten-Bell smoothing stays more than a nat a word above the entropy."""
    train = [["<s>", *row["text"].split()] for row in SAMPLE]
    pairs, firsts, singles, followers = {}, {}, {}, {}
    for words in train:
        for before, word in pairwise(words):
            pairs[before, word] = pairs.get((before, word), 0) + 1
            firsts[before] = firsts.get(before, 0) + 1
            singles[word] = singles.get(word, 0) + 1
            followers.setdefault(before, set()).add(word)
    total, types = sum(singles.values()), len(singles)

    def chance(before, word):
        single = (singles.get(word, 0) + 1) / (total + types + 1)
        if before not in firsts:
            return single
        kinds = len(followers[before])
        return (pairs.get((before, word), 0) + kinds * single) / (firsts[before] + kinds)

    nats, count = 0.0, 0
    for row in stories.rows("test", 200, 11):
        words = ["<s>", *row["text"].split()]
        for before, word in pairwise(words):
            nats -= math.log(chance(before, word))
            count += 1
    assert nats / count > FACTS["entropy_nats_per_token"] + 1.0


def tiny():
    """A grammar of 40 texts with every kind of node but repetition."""
    names = Draw("who", ["Ann", "Bo"], True)
    other = Draw("whom", ["Ann", "Bo"], True, "who")
    animal = Draw("animal", ["a cat", "a dog", "an owl"])
    pronoun = Recall("who", {"Ann": "she", "Bo": "he"})
    plain = Series(Recall("who"), Words("slept ."))
    seen = Series(pronoun, Choice((3, Words("saw")), (1, Words("fed"))), animal, Words("."))
    told = Switch(
        "who", {"Ann": Series(other, Words("ran .")), "Bo": Choice((1, Words("sat .")), (2, Words("stood .")))}
    )
    return Series(names, Words("came ,"), Choice((1, plain), (2, seen), (1, told)))


def all_texts(tokens, longest):
    for length in range(1, longest + 1):
        yield from product(tokens, repeat=length)


def enumerated(node, tokens, longest):
    """Every text over the tokens with its probability, by trying all of them."""
    found = {}
    for candidate in all_texts(tokens, longest):
        ways = [value for end, _, value in node.parse(candidate, 0, {}) if end == len(candidate)]
        if ways:
            found[candidate] = sum(math.exp(value) for value in ways)
    return found


def written_texts(node, count):
    rng, found = Random(1), set()
    for _ in range(count):
        out = []
        node.write(rng, {}, out)
        found.add(tuple(out))
    return found


def test_closed_form_equals_enumeration_on_a_tiny_grammar():
    node = tiny()
    texts = {text: math.exp(logprob(node, joined(text))) for text in written_texts(node, 3000)}
    assert sum(texts.values()) == pytest.approx(1, abs=1e-12)
    measure = node.measure({})
    assert measure.entropy == pytest.approx(-sum(p * math.log(p) for p in texts.values()), rel=1e-12)
    words = sum(p * len(joined(text).split()) for text, p in texts.items())
    assert measure.words == pytest.approx(words, rel=1e-12)
    assert measure.characters - 1 == pytest.approx(sum(p * len(joined(text)) for text, p in texts.items()), rel=1e-12)


def test_enumeration_over_all_strings_finds_no_other_text():
    node = Series(Draw("x", ["a", "b", "c"]), Choice((1, Recall("x")), (2, Draw("", ["d", "e"], True))))
    texts = enumerated(node, "abcde", 3)
    assert len(texts) == 9
    assert sum(texts.values()) == pytest.approx(1, abs=1e-12)
    assert node.measure({}).entropy == pytest.approx(-sum(p * math.log(p) for p in texts.values()), rel=1e-12)


def test_repetition_has_the_entropy_of_its_series():
    node = Series(Repeat(Draw("", ["a", "b"]), 0.7), Words("z"))
    texts = enumerated(node, "abz", 9)
    missing = 1 - sum(texts.values())
    assert missing < 1e-3
    entropy = -sum(p * math.log(p) for p in texts.values())
    assert node.measure({}).entropy == pytest.approx(entropy, abs=20 * missing)
    assert node.measure({}).words == pytest.approx(1 / 0.7 + 1, rel=1e-12)


def test_draws_follow_their_weights():
    node, rng = Draw("", ["a", "b", "c"]), Random(3)
    counts = {"a": 0, "b": 0, "c": 0}
    for _ in range(6000):
        out = []
        node.write(rng, {}, out)
        counts[out[0]] += 1
    weights = [1 / 3, 1 / 4, 1 / 5]
    for word, weight in zip("abc", weights, strict=True):
        assert counts[word] / 6000 == pytest.approx(weight / sum(weights), abs=0.03)


def test_texts_are_split_as_they_were_joined():
    tokens = ["One", "day", ",", "it", "rained", "."]
    assert joined(tokens) == "One day, it rained."
    assert split("One day, it rained.") == tokens
