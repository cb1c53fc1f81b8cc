"""Reads the pieces out of a SentencePiece model file, which is a protobuf message `ModelProto`.

References:
    Kudo and Richardson (2018), "SentencePiece"; field numbers are those of its `sentencepiece_model.proto`.
"""

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from evalkit.errors import DataError

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5

UNIGRAM = 1
"""`model_type` of a Unigram model, the default."""
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
"""Types of pieces."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One entry of the vocabulary; its place is its id."""

    text: str
    """The characters, with `▁` for a blank."""
    score: float
    """Natural-log probability."""
    kind: int
    """`NORMAL` or one of the other types."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SentencePieceModel:
    """What a model file says."""

    pieces: tuple[Piece, ...]
    """The vocabulary in the order of its ids."""
    model_type: int
    """`UNIGRAM`, or another model."""
    character_map: bytes
    """The compiled normaliser; empty for none."""
    adds_prefix: bool
    """Whether a blank is put before every text."""


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while shift < 64:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
    raise ValueError("a number has more than ten bytes")


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Read the fields of a message: number and value; numbers of fixed size come as their bytes."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == _VARINT:
            value, at = _varint(data, at)
            yield number, value
            continue
        if wire == _BYTES:
            size, at = _varint(data, at)
        elif wire in (_FIXED32, _FIXED64):
            size = 4 if wire == _FIXED32 else 8
        else:
            raise ValueError(f"field {number} has wire type {wire}")
        if size > len(data) - at:
            raise ValueError(f"field {number} has {size} bytes, {len(data) - at} are left")
        yield number, data[at : at + size]
        at += size


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise ValueError("found a number where bytes were expected")
    return value


def _number(value: int | bytes) -> int:
    if isinstance(value, bytes):
        raise ValueError("found bytes where a number was expected")
    return value


def _piece(data: bytes) -> Piece:
    text, score, kind = "", 0.0, NORMAL
    for number, value in _fields(data):
        if number == 1:
            text = _bytes(value).decode("utf-8")
        elif number == 2:
            (score,) = struct.unpack("<f", _bytes(value))
        elif number == 3:
            kind = _number(value)
    if not math.isfinite(score):
        raise ValueError(f"piece {text!r} has score {score}")
    return Piece(text, score, kind)


def read_sentencepiece(path: Path) -> SentencePieceModel:
    """Read a model file such as `spiece.model`.

    Args:
        path: The file.

    Raises:
        DataError: The file cannot be read, or is not a SentencePiece model.
    """
    pieces: list[Piece] = []
    trainer: dict[int, int | bytes] = {}
    normalizer: dict[int, int | bytes] = {}
    try:
        for number, value in _fields(path.read_bytes()):
            if number == 1:
                pieces.append(_piece(_bytes(value)))
            elif number == 2:
                trainer = dict(_fields(_bytes(value)))
            elif number == 3:
                normalizer = dict(_fields(_bytes(value)))
        if not pieces:
            raise ValueError("it has no pieces")
        return SentencePieceModel(
            pieces=tuple(pieces),
            model_type=_number(trainer.get(3, UNIGRAM)),
            character_map=_bytes(normalizer.get(2, b"")),
            adds_prefix=bool(normalizer.get(3, 1)),
        )
    except OSError as error:
        raise DataError(path, f"cannot be read: {error.strerror}") from error
    except (ValueError, IndexError, struct.error) as error:
        raise DataError(path, f"not a SentencePiece model: {error}; the file may be cut short") from error
