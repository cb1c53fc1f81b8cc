"""A tokenizer of the benchmarks: one character a token, so that tokenizing costs next to nothing on either side."""

from types import SimpleNamespace

_FIRST = 0x10000


class SignTokenizer:
    """Characters from U+10000 on, numbered from 0; no answer has an end of its own.

    Args:
        bos_id: Token before a whole text, where there is one.
        after: Tokens behind every text, such as the end that a T5 reads.
    """

    eos_id = None
    pad_id = 0

    def __init__(self, bos_id: int | None = None, after: tuple[int, ...] = ()) -> None:
        self.bos_id = bos_id
        self.frame = SimpleNamespace(before=(), after=after)

    def ids_of_each(self, texts: list[str]) -> list[list[int]]:
        """Split texts into characters."""
        return [[ord(sign) - _FIRST for sign in text] for text in texts]

    def decode(self, ids: list[int]) -> str:
        """Join characters."""
        return "".join(chr(_FIRST + index) for index in ids)
