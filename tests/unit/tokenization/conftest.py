"""A small bilingual corpus, and one tokenizer of each kind trained on it."""

import random

import pytest

from evalkit.tokenization import Tokenizer, train_bpe, train_characters, train_unigram, train_wordpiece

TRAINERS = {
    "bpe": train_bpe,
    "wordpiece": train_wordpiece,
    "unigram": train_unigram,
    "characters": train_characters,
}

_NOUNS = [
    "harbour",
    "lantern",
    "ferryman",
    "café",
    "naïve",
    "market",
    "tide",
    "码头",
    "灯笼",
    "渡船",
    "市场",
    "老人",
    "桥",
]
_VERBS = ["opens", "closes", "waits", "drifts", "打开", "关上", "等着", "漂走", "don't"]


def corpus(count: int = 400) -> list[str]:
    """Sentences of a seeded grammar in English and Chinese, with punctuation, digits and emoji."""
    draw = random.Random(5)
    ends = [".", "!", "。", "，", " 😀", " ３5"]
    return [
        f"{draw.choice(_NOUNS)} {draw.choice(_VERBS)} {draw.choice(_NOUNS)}{draw.choice(ends)}" for _ in range(count)
    ]


@pytest.fixture(scope="session")
def texts() -> list[str]:
    return corpus()


@pytest.fixture(scope="session")
def tokenizers_by_kind(texts: list[str]) -> dict[str, Tokenizer]:
    return {name: train(texts, 460) for name, train in TRAINERS.items()}


@pytest.fixture(params=list(TRAINERS))
def tokenizer(request: pytest.FixtureRequest, tokenizers_by_kind: dict[str, Tokenizer]) -> Tokenizer:
    return tokenizers_by_kind[request.param]
