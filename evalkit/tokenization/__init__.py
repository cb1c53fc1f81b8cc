"""Text to token ids and back, with the place of every token in the user's own characters."""

from evalkit.tokenization.folders import load_tokenizer, save_tokenizer
from evalkit.tokenization.frame import Frame
from evalkit.tokenization.stream import TextStream
from evalkit.tokenization.tokenizer import Encoding, Tokenizer, WordEncoding
from evalkit.tokenization.training import train_bpe, train_characters, train_unigram, train_wordpiece

__all__ = [
    "Encoding",
    "Frame",
    "TextStream",
    "Tokenizer",
    "WordEncoding",
    "load_tokenizer",
    "save_tokenizer",
    "train_bpe",
    "train_characters",
    "train_unigram",
    "train_wordpiece",
]
