"""A store of runs: an append-only folder in which run folders appear whole or not at all.

Local folders are written aside and renamed. On other file systems (through fsspec, e.g. ``s3://bucket/runs``) a rename is not
atomic, so run.json is written last: a folder without it is no run.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalkit.errors import DataError, EvalkitError, InvalidInputError, MissingResourceError, reason_of
from evalkit.json_files import CONFIG_BYTES
from evalkit.record import RunRecord

RECORD = "run.json"
SAMPLES = "samples.jsonl"
_LOCAL = ("file://", "local://")
_ASIDE = re.compile(r"\.\d{8}T\d{6}\.\d+Z-.+")
"""Names of folders that are being written: a dot and the id of the run."""
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
            with tempfile.TemporaryFile(dir=root):
                pass
            remove_abandoned(root)
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
        return InvalidInputError(
            f"cannot write runs into {self.root!r}: {reason_of(error)}; choose another folder or address with --out"
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
        with _aside(root, record.id) as aside:
            _write(aside / SAMPLES, map(sample_line, samples))
            _write(aside / RECORD, [_utf8(record.to_json())])
            aside.chmod(0o777 & ~_umask())
        return str(root / record.id)

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


@contextmanager
def _aside(root: Path, run_id: str) -> Iterator[Path]:
    """A folder to write a run into, locked as long as this process lives; it gets the run's name when all is written."""
    while True:
        aside = Path(tempfile.mkdtemp(dir=root, prefix=f".{run_id}-"))
        descriptor = os.open(aside, os.O_RDONLY)
        with suppress(OSError):  # A file system without locks: nobody will think that the folder is abandoned.
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if aside.exists():
            break
        os.close(descriptor)  # Taken for an abandoned one before it was locked.
    try:
        yield aside
        os.fsync(descriptor)
        if (root / run_id).exists():
            raise InvalidInputError(
                f"run {run_id} is in {str(root)!r} already: the clock stands still or was set back; run again"
            )
        aside.rename(root / run_id)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise
    finally:
        os.close(descriptor)


def remove_abandoned(root: Path) -> None:
    """Remove folders that processes were writing when they were killed; what nobody holds a lock on has nobody to finish it."""
    for path in root.glob(".*"):
        if not _ASIDE.fullmatch(path.name) or path.is_symlink() or not path.is_dir():
            continue
        with suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(descriptor)


def _write(path: Path, lines: Iterable[bytes]) -> None:
    with path.open("wb") as file:
        file.writelines(lines)
        file.flush()
        os.fsync(file.fileno())


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
