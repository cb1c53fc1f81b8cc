"""Reads tensors from safetensors files: the header is checked against the file before any memory is asked for.

A file is 8 bytes with the size of the header (little-endian), the header (JSON: name to type, shape and place), and the bytes
of the tensors.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor

from evalkit.errors import DataError
from evalkit.json_files import read_object

SINGLE = "model.safetensors"
INDEX = "model.safetensors.index.json"

_HEADER_BYTES = 100 * 1024 * 1024
_DIMENSIONS = 8
_TYPES: Mapping[str, torch.dtype] = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}


@dataclass(frozen=True, slots=True)
class TensorPlace:
    """Where a tensor lies and what it is."""

    path: Path
    """The file."""
    type_name: str
    """Its type as the file names it, e.g. ``F32``."""
    shape: tuple[int, ...]
    """Its shape."""
    start: int
    """Its first byte, counted from the start of the file."""
    size_bytes: int
    """Its number of bytes."""

    @property
    def dtype(self) -> torch.dtype:
        """Its type in torch."""
        return _TYPES[self.type_name]


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name occurs twice")
    return found


def _header(path: Path) -> tuple[dict[str, Any], int, int]:
    """Read a file's header: itself, the place of the first tensor byte, and the size of the file."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            start = file.read(8)
            if len(start) < 8:
                raise DataError(path, f"found {size} bytes, too few for a safetensors file; copy it again")
            (length,) = struct.unpack("<Q", start)
            if length > min(_HEADER_BYTES, size - 8):
                raise DataError(path, f"its header claims {length} bytes of a file of {size}; copy it again")
            content = json.loads(file.read(length).decode("utf-8"), object_pairs_hook=_unique)
    except OSError as error:
        raise DataError(path, f"cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise DataError(path, f"its header is not JSON as safetensors has it ({error}); copy it again") from error
    if not isinstance(content, dict):
        raise DataError(path, "its header is not a JSON object, as safetensors has it; copy it again")
    content.pop("__metadata__", None)
    return content, 8 + length, size


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _place(path: Path, name: str, entry: Any, first: int) -> TensorPlace:  # noqa: ANN401 (any JSON)
    """Check one entry of a header against itself."""
    problem = DataError(path, f"the header's entry of tensor {name!r} is broken: {str(entry)[:120]}")
    if not isinstance(entry, Mapping) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise problem
    shape, offsets, kind = entry["shape"], entry["data_offsets"], entry["dtype"]
    if not isinstance(shape, list) or not isinstance(offsets, list) or len(offsets) != 2 or len(shape) > _DIMENSIONS:
        raise problem
    if not all(map(_is_count, (*shape, *offsets))) or not isinstance(kind, str):
        raise problem
    if kind not in _TYPES:
        raise DataError(path, f"tensor {name!r} has type {kind!r}, expected one of {', '.join(_TYPES)}")
    size = math.prod(shape) * _TYPES[kind].itemsize
    if offsets[1] - offsets[0] != size or max(shape, default=0) > 1 << 40:
        raise DataError(path, f"tensor {name!r} of {kind} {shape} needs {size} bytes, its place is {offsets}")
    return TensorPlace(path, kind, tuple(shape), first + offsets[0], size)


def tensor_places(path: Path) -> dict[str, TensorPlace]:
    """Read where the tensors of a file lie.

    Args:
        path: A safetensors file.

    Returns:
        Name to place, in the order of the bytes.

    Raises:
        DataError: The header is broken, or its tensors do not fill the file exactly.
    """
    content, first, size = _header(path)
    places = {name: _place(path, name, entry, first) for name, entry in content.items()}
    ordered = dict(sorted(places.items(), key=lambda item: (item[1].start, item[1].size_bytes)))
    end = first
    for name, place in ordered.items():
        if place.start != end:
            raise DataError(path, f"tensor {name!r} begins at byte {place.start}, expected {end}; copy the file again")
        end += place.size_bytes
    if end != size:
        raise DataError(path, f"its tensors end at byte {end} of {size}; the file is cut short or has been added to")
    return ordered


def _shards(folder: Path) -> Mapping[str, str]:
    """Read the index of a sharded checkpoint: tensor to file, all of them inside the folder."""
    path = folder / INDEX
    weights = read_object(path).get("weight_map")
    if not isinstance(weights, dict) or not weights:
        raise DataError(path, "has no weight_map, expected tensor names and their files")
    for name, file in weights.items():
        if not isinstance(file, str) or Path(file).name != file or "\\" in file or not file.endswith(".safetensors"):
            raise DataError(path, f"the file of {name!r} is {file!r}, expected a .safetensors file of the same folder")
    return weights


def folder_places(folder: Path) -> dict[str, TensorPlace] | None:
    """Read where the tensors of a checkpoint folder lie, in one file or several.

    Args:
        folder: The folder.

    Returns:
        Name to place, or None if the folder has no safetensors files.

    Raises:
        DataError: A file is broken, or the index and the files do not agree.
    """
    if (folder / SINGLE).is_file():
        return tensor_places(folder / SINGLE)
    if not (folder / INDEX).is_file():
        return None
    weights = _shards(folder)
    found: dict[str, TensorPlace] = {}
    for file in sorted(set(weights.values())):
        for name, place in tensor_places(folder / file).items():
            if weights.get(name) != file:
                raise DataError(folder / INDEX, f"tensor {name!r} is in {file}, the index says {weights.get(name)!r}")
            found[name] = place
    if absent := sorted(set(weights) - set(found)):
        raise DataError(folder / INDEX, f"the files lack {len(absent)} tensors of the index: {', '.join(absent[:8])}")
    return found


class TensorReader(Mapping[str, Tensor]):
    """Tensors by name, each read from its file when it is asked for, and digested on the way; to be used with `with`.

    Args:
        places: Name to place.
        device: Where the tensors go.
        dtype: What floating-point tensors become; None leaves them as they are.
    """

    def __init__(
        self, places: Mapping[str, TensorPlace], device: torch.device | str, dtype: torch.dtype | None = None
    ) -> None:
        self._places = places
        self._device = torch.device(device)
        self._dtype = dtype
        self._digests: dict[str, Future[str]] = {}
        self._digester = ThreadPoolExecutor(max_workers=1)
        self._last: Future[str] = self._digester.submit(str)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._digester.shutdown()

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __getitem__(self, name: str) -> Tensor:
        place = self._places[name]
        tensor = torch.empty(place.shape, dtype=place.dtype)
        content = memoryview(b"")
        if tensor.numel():
            content = tensor.view(-1).view(torch.uint8).numpy().data
            with place.path.open("rb", buffering=0) as file:
                file.seek(place.start)
                _fill(content, file, place.path)
        if name not in self._digests:
            # At most one tensor waits for its digest, so that no more than one is held beside the model.
            self._last.result()
            self._last = self._digests[name] = self._digester.submit(lambda: hashlib.sha256(content).hexdigest())
        return tensor.to(self._device, self._dtype if tensor.is_floating_point() else None)

    def digest(self) -> str:
        """Digest names, types, shapes and bytes of all tensors read, however they are spread over files.

        Raises:
            RuntimeError: A tensor was never read.
        """
        lines = []
        for name in sorted(self._places):
            if name not in self._digests:
                raise RuntimeError(f"tensor {name!r} was not read")
            place = self._places[name]
            lines.append(f"{name}\0{place.type_name}\0{list(place.shape)}\0{self._digests[name].result()}\n")
        return hashlib.sha256("".join(lines).encode("utf-8", "surrogatepass")).hexdigest()


def _fill(room: memoryview, file: Any, path: Path) -> None:  # noqa: ANN401 (a raw file)
    """Read until the room is full; one call reads at most 2 GiB."""
    while room:
        count = file.readinto(room)
        if not count:
            raise DataError(path, f"ended {len(room)} bytes early while it was read; was it changed meanwhile?")
        room = room[count:]
