"""Small random BERTs, tokenizers trained on a few sentences, and adapters of them."""

import random

import pytest
import torch
import transformers

from evalkit.adapters.masked import MaskedAdapter
from evalkit.checkpoints.huggingface import to_ours
from evalkit.requests import ModelInfo, ModelSettings
from evalkit.tokenization import train_bpe, train_characters, train_unigram, train_wordpiece
from evalkit_models.bert import BertConfig
from evalkit_models.bert_heads import BertForClasses, BertForMaskedLm, BertForSpans, BertForTokenLabels

LONGEST = 24
TRAINERS = {"bpe": train_bpe, "wordpiece": train_wordpiece, "unigram": train_unigram, "characters": train_characters}
_NOUNS = ["harbour", "lantern", "ferryman", "café", "market", "tide", "码头", "灯笼", "渡船", "老人", "桥"]
_VERBS = ["opens", "closes", "waits", "drifts", "打开", "等着", "don't"]
_PEERS = {
    "labels": (BertForTokenLabels, transformers.BertForTokenClassification),
    "classes": (BertForClasses, transformers.BertForSequenceClassification),
    "spans": (BertForSpans, transformers.BertForQuestionAnswering),
    "masked_lm": (BertForMaskedLm, transformers.BertForMaskedLM),
}
_LABELS = {"labels": ("O", "B-PER", "I-PER", "B-LOC", "I-LOC"), "classes": ("world", "sports", "arts"), "spans": ()}


@pytest.fixture(scope="session", autouse=True)
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def write_text():
    """A function that writes a text of so many words, the same ones for the same seed."""

    def write(words, seed=0):
        draw = random.Random(seed)
        return " ".join(draw.choice(_NOUNS if place % 2 == 0 else _VERBS) for place in range(words))

    return write


@pytest.fixture(scope="session")
def tokenizers_by_kind(write_text):
    texts = [f"{write_text(5, seed)}。 😀, 3." for seed in range(300)]
    return {name: train(texts, 460, family="bert") for name, train in TRAINERS.items()}


@pytest.fixture(scope="session")
def wordpiece(tokenizers_by_kind):
    return tokenizers_by_kind["wordpiece"]


@pytest.fixture(params=list(TRAINERS))
def tokenizer(request, tokenizers_by_kind):
    return tokenizers_by_kind[request.param]


@pytest.fixture(scope="session")
def make_pair():
    """A function that makes a model with one head, and transformers' model with the same random weights."""
    made = {}

    def draw(head):
        config = transformers.BertConfig(
            vocab_size=470,
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=64,
            max_position_embeddings=LONGEST,
            num_labels=len(_LABELS.get(head, ())) or 2,
        )
        ours_class, theirs_class = _PEERS[head]
        theirs = theirs_class._from_config(config, attn_implementation="eager").eval()
        source = torch.Generator().manual_seed(3)
        with torch.no_grad():
            for name, parameter in theirs.named_parameters():
                is_norm = "LayerNorm.weight" in name
                parameter.copy_(0.3 * torch.randn(parameter.shape, generator=source) + float(is_norm))
        shape = BertConfig(vocab_size=470, max_length=LONGEST, width=32, layers=2, heads=4, ff_width=64)
        arguments = [len(_LABELS[head])] if _LABELS.get(head) else []
        ours = ours_class(shape, *arguments)
        ours.load_state_dict(to_ours(theirs.state_dict(), "bert"))
        return ours.eval(), theirs

    def make(head):
        if head not in made:
            made[head] = draw(head)
        return made[head]

    return make


@pytest.fixture(scope="session")
def make_adapter(make_pair):
    """A function that makes the adapter of the model with a head."""

    def make(head, tokenizer, *, labels=None, max_answer_tokens=30, model=None, **settings):
        info = ModelInfo(ref="toy", name="toy", digest="0" * 64, family="bert")
        names = _LABELS.get(head, ()) if labels is None else labels
        return MaskedAdapter(
            model or make_pair(head)[0],
            tokenizer,
            info,
            ModelSettings(**settings),
            labels=names,
            max_answer_tokens=max_answer_tokens,
        )

    return make


@pytest.fixture(scope="session")
def naive_windows():
    """A function that lists the windows over a text and, for each of its tokens, the one with the most context."""

    def list_windows(length, size, step):
        windows, start = [], 0
        while start + size < length:
            windows.append((start, start + size))
            start += step
        windows.append((max(0, length - size), length))

        def shorter_side(place, window):
            start, stop = window
            return min(place - start, stop - 1 - place) if start <= place < stop else -1

        best = [max(windows, key=lambda window: shorter_side(place, window)) for place in range(length)]
        return windows, best

    return list_windows


NASTY = (
    "",
    "cafe\u0301",
    "\t",
    "ｆｕｌｌ",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "👍🏽",
    "zero\u200bwidth",
    "\u200b",
    "\x00",
    "\u3000",
    "老人等着",
    "[SEP]",
    "[MASK]",
    "ﬁne㍿½",
    "harbour",
    "한국어",
    "a b",
)


@pytest.fixture(scope="session")
def nasty_words():
    """Words that tokenizers drop, take apart, normalise, or might read as special tokens."""
    return NASTY
