"""A store of runs: an append-only folder in which run folders appear whole or not at all.

Local folders are written aside and renamed. On other file systems (through fsspec, e.g. ``s3://bucket/runs``) a rename is not
atomic, so run.json is written last: a folder without it is no run.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalkit.errors import DataError, EvalkitError, InvalidInputError, MissingResourceError
from evalkit.json_files import CONFIG_BYTES
from evalkit.record import RunRecord

RECORD = "run.json"
SAMPLES = "samples.jsonl"
_LOCAL = ("file://", "local://")
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class RunStore:
    """Where runs are kept."""

    root: str
    """A local folder, or an address that fsspec opens; ``file://`` is taken off."""

    def __post_init__(self) -> None:
        root = self.root
        for prefix in _LOCAL:
            root = root.removeprefix(prefix)
        if not root.strip() or "\0" in root:
            raise InvalidInputError(
                f"runs cannot be kept in {self.root!r}; expected a folder or an address: --out runs"
            )
        object.__setattr__(self, "root", root)

    @property
    def is_local(self) -> bool:
        """Whether the store is a folder of this machine."""
        return "://" not in self.root

    def check_writable(self) -> None:
        """Find out before any model work whether runs can be kept here.

        Raises:
            InvalidInputError: The folder cannot be made or written.
            MissingResourceError: The package that opens the address is not installed.
        """
        if not self.is_local:
            self._check_remote()
            return
        root = Path(self.root)
        try:
            root.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=root, prefix=".probe-"):
                pass
        except OSError as error:
            raise InvalidInputError(
                f"cannot write runs into {self.root!r}: {error.strerror or error}; choose another folder with --out"
            ) from error

    def _check_remote(self) -> None:
        try:
            import fsspec

            system, root = fsspec.core.url_to_fs(self.root)
        except ImportError as error:
            raise MissingResourceError(
                f"cannot write runs into {self.root!r}: {error}; install it with pip, or choose a folder with --out"
            ) from error
        except Exception as error:  # whatever a file system of fsspec may raise
            raise self._unwritable(error) from error
        probe = f"{root.rstrip('/')}/.probe-{secrets.token_hex(8)}"
        try:
            system.makedirs(root, exist_ok=True)
            system.pipe_file(probe, b"probe")
            system.rm_file(probe)
        except Exception as error:  # as above
            raise self._unwritable(error) from error

    def _unwritable(self, error: Exception) -> InvalidInputError:
        reason = " ".join(str(error).split()) or type(error).__name__
        return InvalidInputError(
            f"cannot write runs into {self.root!r}: {reason:.200}; choose another folder or address with --out"
        )

    def keep(self, record: RunRecord, samples: Iterable[Mapping[str, Any]]) -> str:
        """Write a run; the folder appears under its name only when everything is in it.

        Args:
            record: The record; its id names the folder.
            samples: One mapping an example, in order.

        Returns:
            The folder's path or address.

        Raises:
            InvalidInputError: The run cannot be written, e.g. since the disk is full; nothing half-written stays.
        """
        try:
            if self.is_local:
                return self._keep_local(record, samples)
            return self._keep_remote(record, samples)
        except EvalkitError:
            raise
        except OSError as error:
            raise self._not_kept(record, error.strerror or str(error)) from error
        except Exception as error:  # whatever a file system of fsspec may raise
            if self.is_local:
                raise
            raise self._not_kept(record, str(error) or type(error).__name__) from error

    def _not_kept(self, record: RunRecord, reason: str) -> InvalidInputError:
        return InvalidInputError(
            f"run {record.id} could not be kept in {self.root!r}: {' '.join(reason.split()):.200};"
            " free some space or choose another folder with --out"
        )

    def _keep_local(self, record: RunRecord, samples: Iterable[Mapping[str, Any]]) -> str:
        root = Path(self.root)
        root.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(dir=root, prefix=f".{record.id}-"))
        try:
            with (aside / SAMPLES).open("wb") as file:
                file.writelines(map(sample_line, samples))
                file.flush()
                os.fsync(file.fileno())
            (aside / RECORD).write_bytes(_utf8(record.to_json()))
            aside.chmod(0o777 & ~_umask())
            final = root / record.id
            aside.rename(final)
        except BaseException:
            shutil.rmtree(aside, ignore_errors=True)
            raise
        return str(final)

    def _keep_remote(self, record: RunRecord, samples: Iterable[Mapping[str, Any]]) -> str:
        import fsspec

        system, root = fsspec.core.url_to_fs(self.root)
        folder = f"{root.rstrip('/')}/{record.id}"
        try:
            system.makedirs(folder, exist_ok=True)
            with system.open(f"{folder}/{SAMPLES}", "wb") as file:
                for sample in samples:
                    file.write(sample_line(sample))
            with system.open(f"{folder}/{RECORD}", "wb") as file:
                file.write(_utf8(record.to_json()))
        except BaseException:
            # The record first: without it, what stays is no run.
            for name in (RECORD, SAMPLES):
                with suppress(Exception):
                    system.rm_file(f"{folder}/{name}")
            with suppress(Exception):
                system.rmdir(folder)
            raise
        return f"{self.root.rstrip('/')}/{record.id}"


def sample_line(sample: Mapping[str, Any]) -> bytes:
    """One line of samples.jsonl."""
    return _utf8(_ENCODER.encode(sample) + "\n")


def read_record(folder: Path | str) -> RunRecord:
    """Read the record of a run folder.

    Raises:
        InvalidInputError: The folder is no run folder, or its record cannot be read; names the file.
    """
    path = Path(folder) / RECORD
    try:
        # A pipe or device of that name would never end.
        text = path.read_text(encoding="utf-8") if path.is_file() and path.stat().st_size <= CONFIG_BYTES else None
    except (OSError, ValueError) as error:
        raise _no_run(folder) from error
    if text is None:
        raise _no_run(folder)
    try:
        return RunRecord.from_json(text)
    except RecursionError as error:
        raise DataError(path, "not a run record: it is nested too deeply; the folder was edited") from error
    except InvalidInputError as error:
        raise DataError(path, str(error)) from error


def _no_run(folder: Path | str) -> InvalidInputError:
    return InvalidInputError(f"{folder}: no readable {RECORD} in it; expected a run folder such as runs/<id>")


def read_samples(folder: Path | str) -> Iterator[dict[str, Any]]:
    """Read the samples of a run folder, one at a time.

    Raises:
        DataError: A line is not JSON.
    """
    path = Path(folder) / SAMPLES
    with path.open(encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            try:
                yield json.loads(line)
            except (ValueError, RecursionError) as error:
                raise DataError(path, f"not JSON ({error}); the folder was cut or edited", number) from error


def _utf8(text: str) -> bytes:
    # A lone surrogate, which UTF-8 cannot hold, becomes the JSON escape of the same character.
    return text.encode("utf-8", "backslashreplace")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
