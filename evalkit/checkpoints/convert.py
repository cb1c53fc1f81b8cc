"""Turns pickled weights into safetensors: ``python -m evalkit.checkpoints.convert --allow-pickle FOLDER``."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from evalkit.checkpoints.saving import write_tensors
from evalkit.checkpoints.tensor_files import INDEX, SINGLE
from evalkit.errors import DataError, EvalkitError, InvalidInputError, MissingResourceError
from evalkit.json_files import read_object

_SINGLE = "pytorch_model.bin"
_INDEX = "pytorch_model.bin.index.json"


def _pickles(folder: Path) -> list[Path]:
    if (folder / _SINGLE).is_file():
        return [folder / _SINGLE]
    if not (folder / _INDEX).is_file():
        raise MissingResourceError(f"{folder} has neither {_SINGLE} nor {_INDEX}, so there is nothing to convert")
    files = read_object(folder / _INDEX).get("weight_map")
    if not isinstance(files, dict) or not all(
        isinstance(name, str) and Path(name).name == name for name in files.values()
    ):
        raise DataError(folder / _INDEX, "has no weight_map of tensors and files of the same folder")
    return [folder / name for name in sorted(set(files.values()))]


def _tensors(path: Path) -> dict[str, Tensor]:
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises whatever the pickle leads to
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise DataError(path, f"holds more than weights, or is broken, and was not opened: {reason}") from error
    if not isinstance(content, dict):
        raise DataError(path, f"holds a {type(content).__name__}, expected names and tensors")
    others = [
        str(name) for name, value in content.items() if not isinstance(name, str) or not isinstance(value, Tensor)
    ]
    if others:
        raise DataError(path, f"holds other things than tensors: {', '.join(others[:8])}")
    # Tied tensors share memory in a pickle, which safetensors does not have.
    return {name: tensor.clone() for name, tensor in content.items()}


def convert_pickle(folder: Path | str, *, allow_pickle: bool = False) -> list[Path]:
    """Write the weights of `pytorch_model.bin` as safetensors beside it.

    torch reads the pickle with `weights_only=True`, which builds tensors and calls nothing else.

    Args:
        folder: The checkpoint folder.
        allow_pickle: Has to be True: whoever calls this trusts where the file comes from.

    Returns:
        The files written.

    Raises:
        InvalidInputError: `allow_pickle` is not set, or the folder has safetensors already.
        MissingResourceError: The folder has no pickled weights.
        DataError: A pickle holds anything but tensors.
    """
    folder = Path(folder)
    if not allow_pickle:
        raise InvalidInputError(
            "pickles are opened only with --allow-pickle, for files that come from people you trust"
        )
    if (folder / SINGLE).exists() or (folder / INDEX).exists():
        raise InvalidInputError(f"{folder} has safetensors already; remove them first")
    tensors: dict[str, Tensor] = {}
    for path in _pickles(folder):
        tensors |= _tensors(path)
    aside = Path(tempfile.mkdtemp(prefix=".convert-", dir=folder))
    try:
        names = write_tensors(aside, tensors)
        for name in names:
            os.rename(aside / name, folder / name)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return [folder / name for name in names]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and give its exit code.

    Args:
        arguments: The arguments; None for the process's own.
    """
    parser = argparse.ArgumentParser(
        prog="python -m evalkit.checkpoints.convert", description="Write pickled weights as safetensors."
    )
    parser.add_argument("folder", type=Path, help="checkpoint folder with pytorch_model.bin")
    parser.add_argument("--allow-pickle", action="store_true", help="open the pickle; use it for files that you trust")
    options = parser.parse_args(arguments)
    try:
        for path in convert_pickle(options.folder, allow_pickle=options.allow_pickle):
            print(path)
    except EvalkitError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
