"""Lines and whole texts of UTF-8 files, compressed with gzip or not.

Only a line feed, alone or after a carriage return, ends a line, so that a file has as many lines here as it has for the
scorers that count segments. Vertical tabs, form feeds, U+0085 and U+2028 are characters like any other; so is a lone carriage
return, unless the file has no line feed at all.
"""

from __future__ import annotations

import difflib
import gzip
import io
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from evalkit.errors import DataError

LINE_BYTES = 64 << 20
"""Longest line that is read: a compressed file of kilobytes can hold one that fills any memory."""
TEXT_BYTES = 1 << 30
"""Longest text that is read whole."""
_GZIP_MAGIC = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def find_file(path: Path | str) -> Path:
    """Find the file itself, or the same name with ``.gz`` behind it.

    Raises:
        DataError: Neither is there; names the file of the folder that comes nearest.
    """
    wanted = Path(path)
    if os.path.exists(wanted):
        return wanted
    if wanted.name and os.path.exists(compressed := wanted.with_name(wanted.name + ".gz")):
        return compressed
    raise DataError(wanted, _missing_file(wanted))


def _missing_file(path: Path) -> str:
    """Say what is missing, the file or a folder above it, and what there is instead."""
    if os.path.islink(path):
        return f"this link leads to {os.readlink(path)!r}, which is not there; mend the link or give another file"
    folder = path.parent
    if not folder.is_dir():
        while not folder.parent.is_dir():
            folder = folder.parent
        return f"no such file; {str(folder.parent)!r} has no folder {folder.name!r}"
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        return f"cannot be found: the folder is not readable ({error.strerror}); check its permissions"
    close = difflib.get_close_matches(path.name, names, n=1, cutoff=0.5)
    return f"no such file; did you mean {close[0]!r}?" if close else "no such file; check the path"


def check_regular(file: Path) -> None:
    """Refuse pipes and devices: they may never end, and give their content only once.

    Raises:
        DataError: The path is there and is neither a file nor a folder.
    """
    try:
        mode = os.stat(file).st_mode
    except OSError:
        return  # Opening it will say why.
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        what = "a pipe" if stat.S_ISFIFO(mode) else "a socket" if stat.S_ISSOCK(mode) else "a device"
        raise DataError(
            file, f"this is {what}, which can be read only once or never ends; save its content as a file first"
        )


def open_text(path: Path | str, *, keep_ends: bool = False) -> Iterator[tuple[int, str]]:
    """Read a text file line by line, numbered from 1, without loading all of it.

    Args:
        path: The file; ``path.gz`` is read where only that exists. Gzip is recognised by content, not by name.
        keep_ends: Whether lines keep their line ends, so that joined they give the text of the file.

    Raises:
        DataError: The file is missing, unreadable, empty, a folder, not UTF-8 (with line and byte), or broken gzip.
    """
    file = find_file(path)
    number, offset = 0, 0
    for number, raw in enumerate(_raw_lines(file), start=1):
        try:
            line = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise _not_utf8(file, raw, error.start, offset, number) from error
        offset += len(raw)
        if number == 1 and raw.startswith(_BOM):
            line = line[1:]
        if not keep_ends:
            line = _without_end(line)
        yield number, line
    if number == 0:
        raise _empty(file)


def read_text(path: Path | str, limit_bytes: int = TEXT_BYTES) -> str:
    """Read a whole text file, line ends as they are, without its byte order mark.

    Args:
        path: The file; ``path.gz`` is read where only that exists.
        limit_bytes: Longest text that is read, uncompressed.

    Raises:
        DataError: As for `open_text`.
    """
    file = find_file(path)
    with _opened(file) as stream, _readable(file):
        raw = stream.read(limit_bytes + 1)
    if len(raw) > limit_bytes:
        raise DataError(file, f"holds more than {limit_bytes:,} bytes, which is more than is read at once; cut it")
    if not raw:
        raise _empty(file)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise _not_utf8(file, raw, error.start, 0, line) from error
    return text[1:] if raw.startswith(_BOM) else text


def _without_end(line: str) -> str:
    if line.endswith("\n"):
        return line[:-2] if line.endswith("\r\n") else line[:-1]
    return line[:-1] if line.endswith("\r") else line


def _raw_lines(file: Path) -> Iterator[bytes]:
    """Lines of bytes with their ends; a file without any line feed is cut at its carriage returns instead."""
    with _opened(file) as stream, _readable(file):
        lines = enumerate(iter(lambda: stream.readline(LINE_BYTES + 1), b""), start=1)
        _, first = next(lines, (1, b""))
        _check_line(file, first, 1)
        if not first.endswith(b"\n") and b"\r" in first:
            yield from first.splitlines(keepends=True)
            return
        if first:
            yield first
        for number, line in lines:
            _check_line(file, line, number)
            yield line


def _check_line(file: Path, line: bytes, number: int) -> None:
    if len(line) > LINE_BYTES:
        raise DataError(file, f"the line is longer than {LINE_BYTES:,} bytes; expected lines of text", number)


@contextmanager
def _opened(file: Path) -> Iterator[IO[bytes]]:
    check_regular(file)
    try:
        raw = file.open("rb")
    except IsADirectoryError as error:
        raise DataError(file, "this is a folder; expected a file") from error
    except OSError as error:
        raise DataError(
            file, f"cannot be opened: {error.strerror or error}; check the path and its permissions"
        ) from error
    with raw:
        if raw.peek(2)[:2] != _GZIP_MAGIC:
            yield raw
            return
        with io.BufferedReader(cast(io.RawIOBase, gzip.GzipFile(fileobj=raw))) as unpacked:
            yield unpacked


@contextmanager
def _readable(file: Path) -> Iterator[None]:
    try:
        yield
    except EOFError as error:
        raise DataError(file, "the gzip data ends too early; fetch the file again") from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise DataError(file, f"broken gzip data ({error}); fetch the file again") from error
    except OSError as error:
        raise DataError(file, f"cannot be read: {error.strerror or error}") from error


def _not_utf8(file: Path, raw: bytes, start: int, offset: int, line: int) -> DataError:
    if offset == 0 and raw.startswith(_UTF16_MARKS):
        return DataError(file, "the text is UTF-16; expected UTF-8: convert it, e.g. with iconv -f UTF-16 -t UTF-8")
    problem = f"byte {offset + start} (0x{raw[start]:02x}) is not UTF-8; expected UTF-8 text, plain or in gzip"
    return DataError(file, problem, line)


def _empty(file: Path) -> DataError:
    return DataError(file, "the file is empty; expected text")
