import gzip
import math
import random
import sys
from collections import Counter, defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalkit.adapters import open_adapter
from evalkit.adapters.baselines.kneser_ney import KneserNey
from evalkit.requests import RollingRequest

CODE_POINTS = sys.maxunicode + 1
START = ""


class Naive:
    """Modified Kneser-Ney from dictionaries, straight from the formula of Chen and Goodman (1999)."""

    def __init__(self, texts, order):
        self.order = order
        self.counts = [Counter() for _ in range(order + 1)]
        padded = [[START] * (order - 1) + list(text) for text in texts]
        for symbols in padded:
            for end in range(order, len(symbols) + 1):
                self.counts[order][tuple(symbols[end - order : end])] += 1
        for k in range(order - 1, 0, -1):
            left = defaultdict(set)
            for symbols in padded:
                for end in range(order, len(symbols) + 1):
                    left[tuple(symbols[end - k : end])].add(symbols[end - k - 1])
            self.counts[k] = Counter({gram: len(before) for gram, before in left.items()})

    def discount(self, k, count):
        of = Counter(self.counts[k].values())
        usual = {1: 0.5, 2: 1.0, 3: 1.5}
        if not (of[1] and of[2] and of[3]):
            return usual[min(count, 3)]
        y = of[1] / (of[1] + 2 * of[2])
        found = {i: i - (i + 1) * y * of[i + 1] / of[i] for i in (1, 2, 3)}
        if any(not 0 < value <= i for i, value in found.items()):
            return usual[min(count, 3)]
        return found[min(count, 3)]

    def probability(self, symbol, history):
        k = len(history) + 1
        lower = self.probability(symbol, history[1:]) if history else 1 / CODE_POINTS
        followers = {gram[-1]: count for gram, count in self.counts[k].items() if gram[:-1] == tuple(history)}
        if not followers:
            return lower
        total = sum(followers.values())
        gamma = sum(self.discount(k, count) for count in followers.values()) / total
        count = followers.get(symbol, 0)
        own = (count - self.discount(k, count)) / total if count else 0
        return own + gamma * lower

    def of_text(self, text):
        symbols = [START] * (self.order - 1) + list(text)
        return [
            self.probability(symbols[end], symbols[end - self.order + 1 : end])
            for end in range(self.order - 1, len(symbols))
        ]


TRAINING = ["the cat sat on the mat.\nthe cat ran.", "a rat ate the oat", "那只猫坐在垫子上。那只猫跑了。", "ab"]
SCORED = ["the rat sat.", "那只狗跑了", "zzz \U0001f600\n", "a", "atetheca", "t"]


@pytest.mark.parametrize("order", [1, 2, 3, 6])
@pytest.mark.parametrize("text", SCORED)
def test_probabilities_equal_a_dictionary_implementation_of_the_formula(order, text):
    found = KneserNey.train(TRAINING, order).probabilities(text)
    assert found == pytest.approx(Naive(TRAINING, order).of_text(text), rel=1e-12)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.text(alphabet="abc中\n", min_size=1, max_size=40), min_size=1, max_size=3),
    st.text(alphabet="abcd中", max_size=12),
    st.integers(1, 4),
)
def test_any_texts_give_the_probabilities_of_the_formula(training, text, order):
    found = KneserNey.train(training, order).probabilities(text)
    assert list(found) == pytest.approx(Naive(training, order).of_text(text), rel=1e-10)


@pytest.mark.parametrize("history", ["", "t", "the c", "the cat ", "那只", "zzzzzzz", "the cat sat on the mat."])
@pytest.mark.parametrize("order", [1, 3, 6])
def test_probabilities_of_what_may_follow_sum_to_one_over_all_code_points(history, order):
    model = KneserNey.train(TRAINING, order)
    alphabet = sorted(set("".join(TRAINING)))
    seen = math.fsum(model.probabilities(history + character)[-1] for character in alphabet)
    unseen = model.probabilities(history + "\U0010ffff")[-1]
    assert unseen == model.probabilities(history + "é")[-1]
    assert seen + unseen * (CODE_POINTS - len(alphabet)) == pytest.approx(1, abs=1e-9)


def test_discounts_come_from_the_counts_of_counts_where_there_are_enough():
    generator = random.Random(1)
    text = "".join(generator.choices("abcdefghijklmnopqrstuvwxyz", [1 / rank for rank in range(1, 27)], k=400))
    naive = Naive([text], 3)
    assert naive.discount(3, 1) != 0.5
    assert KneserNey.train([text], 3).probabilities("banana") == pytest.approx(naive.of_text("banana"), rel=1e-12)


def test_a_text_has_the_product_of_its_characters_probabilities():
    model = KneserNey.train(TRAINING, 4)
    assert model.logprob_nats("the cat") == pytest.approx(
        sum(math.log(p) for p in model.probabilities("the cat")), abs=1e-12
    )
    assert model.logprob_nats("") == 0


def test_lone_surrogates_have_a_probability_like_any_unseen_character():
    model = KneserNey.train(TRAINING, 3)
    assert model.logprob_nats("\ud800") == model.logprob_nats("\u0416")


def test_rolling_requests_are_answered_with_characters_as_tokens(make_context):
    training = [(str(place), {"text": text}) for place, text in enumerate(TRAINING)]
    adapter = open_adapter("baseline", "ngram")
    adapter.prepare(make_context("lm", "rolling", [], training=training))
    requests = [RollingRequest(example_id=str(place), text=text) for place, text in enumerate(SCORED)]
    responses = list(adapter.answer(requests))
    assert [r.example_id for r in responses] == [r.example_id for r in requests]
    assert [r.token_count for r in responses] == [len(text) for text in SCORED]
    model = KneserNey.train(TRAINING, 6)
    assert [r.logprob_nats for r in responses] == [model.logprob_nats(text) for text in SCORED]


def test_text_like_the_training_text_is_more_probable():
    model = KneserNey.train(["abcabcabcabcabc" * 5], 4)
    assert model.logprob_nats("abcabc") > model.logprob_nats("cbacba")


@pytest.mark.real
@pytest.mark.parametrize("file", ["tinyshakespeare/input.txt.gz", "hongloumeng/hongloumeng.txt.gz"])
def test_real_text_has_the_probabilities_of_the_formula(data_dir, file):
    text = gzip.decompress((data_dir / "lm" / file).read_bytes()).decode()
    training, scored = text[10_000:11_500], text[20_000:20_030]
    found = KneserNey.train([training], 4).probabilities(scored)
    assert found == pytest.approx(Naive([training], 4).of_text(scored), rel=1e-10)


@pytest.mark.real
def test_a_longer_history_and_more_text_make_real_text_more_probable(data_dir):
    text = gzip.decompress((data_dir / "lm" / "tinyshakespeare" / "input.txt.gz").read_bytes()).decode()
    scored = text[-20_000:]
    bits = {
        (order, length): -KneserNey.train([text[:length]], order).logprob_nats(scored) / len(scored) / math.log(2)
        for order, length in [(1, 200_000), (3, 200_000), (6, 20_000), (6, 200_000)]
    }
    assert bits[6, 200_000] < bits[3, 200_000] < bits[1, 200_000]
    assert bits[6, 200_000] < bits[6, 20_000]
