"""Fixtures of the tests that read files."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalkit.data import READERS, Located
from evalkit.errors import EvalkitError


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes a file below the test's own folder and returns its path; a name that ends in .gz is compressed."""

    def _write(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        raw = content.encode("utf-8") if isinstance(content, str) else content
        path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
        return path

    return _write


@pytest.fixture
def read() -> Callable[..., list[Located]]:
    """Reads files in a named format."""

    def _read(format_name: str, *paths: Path, fields: dict[str, str] | None = None, **options: Any) -> list[Located]:
        split = options.pop("split", None)
        return list(READERS[format_name].read(paths, fields or {}, options, split))

    return _read


@pytest.fixture
def complaint(tmp_path: Path) -> Callable[..., str]:
    """The message of the error that a call raises, with the test's own folder left out."""

    def _complaint(call: Callable[..., Any], *args: Any, **keywords: Any) -> str:
        with pytest.raises(EvalkitError) as caught:
            list(call(*args, **keywords))
        message = str(caught.value)
        assert "\n" not in message
        return message.replace(f"{tmp_path}/", "").replace(str(tmp_path), ".")

    return _complaint
