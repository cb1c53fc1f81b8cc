"""Training tokenizers: byte-level BPE, WordPiece, Unigram and characters. The same texts give the same tokenizer."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evalkit.errors import InvalidInputError, UnknownNameError
from evalkit.tokenization.tokenizer import Tokenizer

if TYPE_CHECKING:
    import tokenizers

_LONGEST_PIECE = 16
_LONGEST_FRAGMENT = 64
_SENTINELS = 100


@dataclass(frozen=True, kw_only=True)
class _Family:
    """The special tokens of a family of models, and where they stand."""

    special: Mapping[str, str]
    """Role to token; the order of first appearance is the order of ids."""
    single: str
    """Frame of one text, as `TemplateProcessing` writes it; '' for none."""
    pair: str
    """Frame of two texts."""
    more: tuple[str, ...] = ()
    """Further special tokens."""


_FAMILIES: Mapping[str, _Family] = {
    "gpt": _Family(special={"bos": "<|endoftext|>", "eos": "<|endoftext|>"}, single="", pair=""),
    "bert": _Family(
        special={"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"},
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
    ),
    "t5": _Family(
        special={"pad": "<pad>", "eos": "</s>", "unk": "<unk>"},
        single="$A </s>",
        pair="$A </s> $B </s>",
        more=tuple(f"<extra_id_{number}>" for number in range(_SENTINELS)),
    ),
}


def _family(name: str) -> _Family:
    if name not in _FAMILIES:
        raise UnknownNameError("model family", name, _FAMILIES)
    return _FAMILIES[name]


def _special(name: str, *, needs_unk: bool) -> tuple[_Family, dict[str, str], list[str]]:
    """Look up a family: itself, its roles, and its special tokens in the order of their ids."""
    family = _family(name)
    roles = dict(family.special)
    if needs_unk:
        roles.setdefault("unk", "<|unknown|>")
    return family, roles, list(dict.fromkeys([*roles.values(), *family.more]))


def _finished(backend: tokenizers.Tokenizer, family: _Family, roles: Mapping[str, str], names: list[str]) -> Tokenizer:
    """Add the special tokens and the frame."""
    import tokenizers
    from tokenizers import processors

    backend.add_special_tokens([tokenizers.AddedToken(name, special=True, normalized=False) for name in names])
    if family.single:
        used = [name for name in names if name in family.pair]
        ids = [(name, backend.token_to_id(name)) for name in used]
        backend.post_processor = processors.TemplateProcessing(
            single=family.single, pair=family.pair, special_tokens=ids
        )
    return Tokenizer(backend, roles)


def _check_size(vocab_size: int, least: int, what: str) -> None:
    if vocab_size < least:
        raise InvalidInputError(f"vocab_size is {vocab_size}, expected at least {least} for {what}")


def train_bpe(texts: Iterable[str], vocab_size: int, *, family: str = "gpt", min_frequency: int = 2) -> Tokenizer:
    """Train byte-level byte pair encoding, which can write every text and keeps it to the byte.

    Args:
        texts: Texts to learn from, read once.
        vocab_size: Number of tokens, special ones included; fewer where the texts have not so many pairs.
        family: Whose special tokens it gets: ``gpt``, ``bert`` or ``t5``.
        min_frequency: How often a pair has to occur to be joined.

    Raises:
        InvalidInputError: There is no room for the 256 bytes and the special tokens.

    References:
        Radford et al. (2019), "Language Models are Unsupervised Multitask Learners", section 2.2.
    """
    import tokenizers
    from tokenizers import decoders, models, pre_tokenizers, trainers

    settings, roles, names = _special(family, needs_unk=False)
    _check_size(vocab_size, len(names) + 256, f"256 bytes and {len(names)} special tokens")
    backend = tokenizers.Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=min_frequency,
        special_tokens=names,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    backend.train_from_iterator(texts, trainer)
    return _finished(backend, settings, roles, names)


def _alphabet(words: Mapping[str, int], room: int) -> tuple[list[str], list[str]]:
    """Choose the most frequent characters that have room: those kept, and those of them that occur inside words."""
    counts, inside = Counter[str](), Counter[str]()
    for word, count in words.items():
        for character in word:
            counts[character] += count
        inside.update(word[1:])
    kept: list[str] = []
    for character in sorted(counts, key=lambda c: (-counts[c], c)):
        room -= 2 if character in inside else 1
        if room < 0:
            break
        kept.append(character)
    return sorted(kept), sorted(character for character in kept if character in inside)


def _only(texts: Iterable[str], alphabet: Iterable[str]) -> list[str]:
    """Replace every character outside of an alphabet by a blank."""
    outside = re.compile(f"[^{re.escape(''.join(alphabet))}]")
    return [outside.sub(" ", text) for text in texts]


def train_wordpiece(
    texts: Iterable[str], vocab_size: int, *, family: str = "bert", lowercase: bool = True, min_frequency: int = 2
) -> Tokenizer:
    """Train WordPiece as BERT has it: words and punctuation apart, Chinese characters one by one.

    Up to two thirds of the vocabulary go to characters, twice for those that also stand inside words; words with rarer
    ones become the unk token.

    Args:
        texts: Texts to learn from, read once and held in memory.
        vocab_size: Number of tokens, special ones included; fewer where the texts have not so many pairs.
        family: Whose special tokens it gets: ``gpt``, ``bert`` or ``t5``.
        lowercase: Whether letters lose their case and accents, as in BERT's uncased models.
        min_frequency: How often a pair has to occur to be joined.

    Raises:
        InvalidInputError: There is no room for any character, or there is no text.

    References:
        Devlin et al. (2019), "BERT", section 3; the splitting of Chinese is that of the released code.
    """
    import tokenizers
    from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

    settings, roles, names = _special(family, needs_unk=True)
    _check_size(vocab_size, len(names) + 3, f"{len(names)} special tokens and some characters")
    normalizer, splitter = normalizers.BertNormalizer(lowercase=lowercase), pre_tokenizers.BertPreTokenizer()
    clean = [normalizer.normalize_str(text) for text in texts]
    words = Counter(word for text in clean for word, _ in splitter.pre_tokenize_str(text))
    alphabet, inside = _alphabet(words, (vocab_size - len(names)) * 2 // 3)
    if not alphabet:
        raise InvalidInputError("found no text to train on, expected at least one")
    backend = tokenizers.Tokenizer(models.WordPiece(unk_token=roles["unk"]))
    backend.pre_tokenizer = splitter
    trainer = trainers.WordPieceTrainer(
        vocab_size=vocab_size,
        min_frequency=min_frequency,
        # Named here, or the library numbers the characters inside words in a random order, which decides ties.
        special_tokens=[*names, *(f"##{character}" for character in inside)],
        show_progress=False,
    )
    backend.train_from_iterator(_only(clean, alphabet), trainer)
    backend = _without_added_tokens(backend)
    backend.normalizer = normalizer
    backend.decoder = decoders.WordPiece()
    return _finished(backend, settings, roles, names)


def _without_added_tokens(backend: tokenizers.Tokenizer) -> tokenizers.Tokenizer:
    import tokenizers

    content: dict[str, Any] = json.loads(backend.to_str())
    content["added_tokens"] = []
    return tokenizers.Tokenizer.from_str(json.dumps(content))


def _fragments(texts: Iterable[str]) -> Counter[str]:
    """Cut texts into what a piece may not reach across: a blank with the word after it, or with one mark."""
    counts = Counter[str]()
    for text in texts:
        blanked = "▁" + text.replace(" ", "▁").removeprefix("▁")
        for found in re.findall(r"▁?\w+|▁?[^\w▁]|▁", blanked):
            counts.update(found[at : at + _LONGEST_FRAGMENT] for at in range(0, len(found), _LONGEST_FRAGMENT))
    return counts


def train_unigram(texts: Iterable[str], vocab_size: int, *, family: str = "t5") -> Tokenizer:
    """Train a Unigram language model, as T5 has it, without changing the text's characters.

    Up to half of the vocabulary goes to characters; rarer ones become the unk token.

    Args:
        texts: Texts to learn from, read once; their words are held in memory.
        vocab_size: Number of tokens, special ones included; fewer where the texts have not so many repeated strings.
        family: Whose special tokens it gets: ``gpt``, ``bert`` or ``t5``.

    Raises:
        InvalidInputError: There is no room for any character, or there is no text.

    References:
        Kudo (2018), "Subword Regularization", section 3.2; Raffel et al. (2020), "T5", section 2.2.
    """
    import tokenizers
    from tokenizers import decoders, models, pre_tokenizers

    from evalkit.tokenization.unigram import unigram_pieces

    settings, roles, names = _special(family, needs_unk=True)
    _check_size(vocab_size, len(names) + 2, f"{len(names)} special tokens and some characters")
    fragments = _fragments(texts)
    if not fragments:
        raise InvalidInputError("found no text to train on, expected at least one")
    room = vocab_size - len(names)
    inside = _kept_fragments(fragments, room // 2)
    first, last = [n for n in names if n not in settings.more], list(settings.more)
    pieces = unigram_pieces(inside, room, _LONGEST_PIECE)
    vocabulary = [(name, 0.0) for name in first] + pieces + [(name, 0.0) for name in last]
    backend = tokenizers.Tokenizer(models.Unigram(vocabulary, unk_id=first.index(roles["unk"])))
    backend.pre_tokenizer = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    backend.decoder = decoders.Metaspace(replacement="▁", prepend_scheme="always")
    return _finished(backend, settings, roles, names)


def _kept_fragments(fragments: Counter[str], room: int) -> Counter[str]:
    """Cut fragments where a character is too rare to have a piece."""
    characters = Counter[str]()
    for fragment, count in fragments.items():
        for character in fragment:
            characters[character] += count
    ranked = sorted(characters, key=lambda c: (c != "▁", -characters[c], c))
    outside = re.compile(f"[^{re.escape(''.join(ranked[:room]))}]")
    kept = Counter[str]()
    for fragment, count in fragments.items():
        for part in filter(None, outside.split(fragment)):
            kept[part] += count
    return kept


def train_characters(texts: Iterable[str], vocab_size: int, *, family: str = "gpt") -> Tokenizer:
    """Make a vocabulary of the most frequent characters; every character, blanks too, is a token.

    Args:
        texts: Texts to learn from, read once.
        vocab_size: Number of tokens, special ones included; fewer where the texts have not so many characters.
        family: Whose special tokens it gets: ``gpt``, ``bert`` or ``t5``.

    Raises:
        InvalidInputError: There is no room for any character.
    """
    import tokenizers
    from tokenizers import decoders, models, pre_tokenizers

    settings, roles, names = _special(family, needs_unk=True)
    _check_size(vocab_size, len(names) + 1, f"{len(names)} special tokens and some characters")
    counts = Counter[str]()
    for text in texts:
        counts.update(text)
    kept = sorted(counts, key=lambda character: (-counts[character], character))[: vocab_size - len(names)]
    vocabulary = {name: index for index, name in enumerate([*names, *kept])}
    backend = tokenizers.Tokenizer(models.WordLevel(vocabulary, unk_token=roles["unk"]))
    backend.pre_tokenizer = pre_tokenizers.Split(tokenizers.Regex("[\\s\\S]"), "isolated")
    backend.decoder = decoders.Fuse()
    return _finished(backend, settings, roles, names)
