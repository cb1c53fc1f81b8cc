"""Baselines: runs that a team has agreed to measure against, each a small file that can be committed.

    baselines/NAME/history.jsonl                    one line a blessing, only ever appended to: who, when, why, which file
    baselines/NAME/TASK-DIGEST.jsonl.gz             the record, then one line an example: ids and statistics, no text unless asked

The last line of a task in the history is its current baseline. Every line carries the digest of the line before and of its
file's content, so that a file or a history that was edited by hand is found out.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalkit.comparison.loaded import LoadedRun, from_lines
from evalkit.comparison.pairing import INCOMPLETE, TASK_VERSION, mismatches
from evalkit.digests import canonical, digest_json, digest_text
from evalkit.errors import DataError, InvalidInputError
from evalkit.json_files import read_text
from evalkit.record import RunRecord
from evalkit.result_files import replace_whole
from evalkit.store import sample_line

SCHEMA_VERSION = 1
HISTORY = "history.jsonl"
LARGEST_BYTES = 4 << 30
"""Longest content of a file, uncompressed: a small file can hold one that fills any memory."""
_NAME = re.compile(r"[A-Za-z0-9][\w.+-]{0,63}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Blessing:
    """Why a run is a baseline: one line of a history."""

    name: str
    """Name of the baseline."""
    why: str
    """Reason, in the words of whoever set it."""
    who: str
    when: str
    """UTC, ISO 8601."""


def is_name(text: str) -> bool:
    """Whether a text can name a baseline."""
    return _NAME.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class BaselineStore:
    """A folder of baselines."""

    root: str

    def names(self) -> list[str]:
        """All baselines, sorted."""
        return sorted(path.parent.name for path in Path(self.root).glob(f"*/{HISTORY}"))

    def holds(self, name: str) -> bool:
        """Whether there is a baseline of this name."""
        return is_name(name) and (Path(self.root) / name / HISTORY).is_file()

    def set(
        self, run: LoadedRun, blessing: Blessing, *, with_text: bool = False, allowed: frozenset[str] = frozenset()
    ) -> dict[str, Any]:
        """Keep a run as the baseline of a name and task.

        Args:
            run: A complete run.
            blessing: Name, reason, who and when.
            with_text: Whether predictions and references are kept, so that compare can show them.
            allowed: Kinds of difference from the current baseline that are accepted.

        Returns:
            The line that was added to the history.

        Raises:
            InvalidInputError: The name or the reason is missing, the run is incomplete, or its task has another version than
                the current baseline's.
        """
        if not is_name(blessing.name):
            raise InvalidInputError(
                f"{blessing.name!r} cannot name a baseline; expected letters, digits, '.', '-' and '_', such as 'main'"
            )
        if not blessing.why.strip():
            raise InvalidInputError("a baseline needs a reason; say it with --why")
        content = b"".join([sample_line(_header(run, with_text)), *map(sample_line, _rows(run, with_text))])
        if len(content) > LARGEST_BYTES:
            raise InvalidInputError(f"a baseline of {len(content):,} bytes; expected at most {LARGEST_BYTES:,}")
        digest = digest_text(content.decode("utf-8"))
        folder = Path(self.root) / blessing.name
        name = f"{re.sub(r'[^A-Za-z0-9_.+-]', '_', run.task)}-{digest}.jsonl.gz"
        main = run.record.main()
        line = {
            "schema_version": SCHEMA_VERSION,
            "baseline": blessing.name,
            "task": run.task,
            "task_version": run.record.task["version"],
            "run": run.record.id,
            "model": run.name,
            "metric": main.metric,
            "value_name": main.name,
            "value": main.value,
            "who": blessing.who,
            "when": blessing.when,
            "why": blessing.why,
            "has_text": with_text,
            "file": name,
            "content_digest": digest,
        }
        with _alone(folder):
            history = self.history(blessing.name) if self.holds(blessing.name) else []
            self._check(run, history, allowed)
            line["previous"] = history[-1]["digest"] if history else None
            line["digest"] = digest_json(line)
            replace_whole(folder / name, _packed(content))
            before = (folder / HISTORY).read_bytes() if history else b""
            end = b"" if before.endswith(b"\n") or not before else b"\n"
            replace_whole(folder / HISTORY, before + end + sample_line(line))
        return line

    def _check(self, run: LoadedRun, history: list[dict[str, Any]], allowed: frozenset[str]) -> None:
        for found in mismatches(run, run):
            if found.kind == INCOMPLETE:
                raise InvalidInputError(f"{found.detail}; only a complete run can be a baseline: run it again")
        current = current_lines(history).get(run.task)
        if current is None or TASK_VERSION in allowed:
            return
        version = run.record.task["version"]
        if current["task_version"] != version:
            raise InvalidInputError(
                f"baseline {current['baseline']!r} holds version {current['task_version']} of task {run.task!r}, the run"
                f" {version}; run the task of the same version, or start anew with --allow {TASK_VERSION}"
            )

    def history(self, name: str) -> list[dict[str, Any]]:
        """All lines of a baseline's history, oldest first.

        Raises:
            InvalidInputError: There is no such baseline, or it was written by a newer evalkit.
            DataError: The history was edited.
        """
        if not self.holds(name):
            known = ", ".join(self.names()) or "none yet"
            raise InvalidInputError(
                f"no baseline {name!r} in {self.root!r} (known: {known}); set one with evalkit baseline set"
            )
        path = Path(self.root) / name / HISTORY
        lines: list[dict[str, Any]] = []
        # JSON may hold other characters that Python takes for ends of lines, e.g. U+2028 in a reason.
        for number, text in enumerate(read_text(path).removesuffix("\n").split("\n"), start=1):
            line = _parse(text, path, number)
            _check_schema(line, path)
            stated = line.get("digest")
            content = {key: value for key, value in line.items() if key != "digest"}
            if stated != digest_json(content) or content.get("previous") != (lines[-1]["digest"] if lines else None):
                raise DataError(path, "this line was edited by hand (its digest is another); restore the file", number)
            lines.append(line)
        if not lines:
            raise DataError(path, "an empty history; restore the file or set the baseline again")
        return lines

    def load(self, name: str) -> list[LoadedRun]:
        """Read the current runs of a baseline, one a task, by task name.

        Raises:
            InvalidInputError: As `history`, or a file was written by a newer evalkit.
            DataError: A file is missing, damaged or edited.
        """
        current = current_lines(self.history(name))
        return [self._load(name, current[task]) for task in sorted(current)]

    def _load(self, name: str, line: Mapping[str, Any]) -> LoadedRun:
        import zlib

        path = Path(self.root) / name / str(line["file"])
        if path.parent.name != name or path.name != line["file"]:
            raise DataError(path, "the history names a file outside of its folder; restore it")
        try:
            content = _unpacked(path)
            text = content.decode("utf-8")
        except (OSError, EOFError, ValueError, zlib.error) as error:
            raise DataError(path, f"cannot be read ({error}); restore it or set the baseline again") from error
        if digest_text(text) != line["content_digest"]:
            raise DataError(
                path,
                f"was edited by hand: its content has digest {digest_text(text)}, the history says"
                f" {line['content_digest']}; restore it or set the baseline again",
            )
        first, _, rows = content.partition(b"\n")
        header = _parse(first.decode("utf-8"), path, 1)
        _check_schema(header, path)
        record = RunRecord.from_json(json.dumps(header["record"]))
        return from_lines(f"{SCHEME}{name}", record, rows, has_text=bool(header["has_text"]))


SCHEME = "baseline:"
"""How a baseline is told from a run folder where a name could be both."""


def current_lines(history: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The newest line of each task."""
    return {line["task"]: line for line in history}


def _header(run: LoadedRun, with_text: bool) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "evalkit": run.record.environment.get("evalkit"),
        "has_text": with_text,
        "record": json.loads(run.record.to_json()),
    }


def _rows(run: LoadedRun, with_text: bool) -> Iterator[dict[str, Any]]:
    """Samples in the layout of samples.jsonl, so that one reader reads both."""
    samples = run.samples(range(len(run.ids))) if with_text else None
    if with_text and run.lines is None:
        raise InvalidInputError(f"{run.place} holds no text; take the run folder itself")
    for place, example in enumerate(run.ids):
        row: dict[str, Any] = {
            "id": example,
            "cluster": run.clusters[place],
            "prompt_digest": run.prompts[place],
            "response": None,
        }
        if samples is not None:
            row["prediction"] = samples[place].get("prediction")
            row["references"] = samples[place].get("references")
        row["truncated"] = run.truncated[place]
        row["statistics"] = (
            {label: list(map(_plain, table.rows[place].tolist())) for label, table in run.statistics.items()}
            if run.scored[place]
            else None
        )
        yield row


def _plain(value: float) -> float | int:
    return int(value) if value.is_integer() else value


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep other processes from setting the same baseline, and say what the system refuses.

    Raises:
        InvalidInputError: The folder cannot be made or written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            with suppress(OSError):  # A file system without locks.
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)
    except OSError as error:
        raise InvalidInputError(
            f"baseline could not be kept in {str(folder)!r}: {error.strerror or error}; choose another with --dir"
        ) from error


def _packed(content: bytes) -> bytes:
    import gzip
    import io

    packed = io.BytesIO()
    # Without time and name in it, equal baselines are equal files.
    with gzip.GzipFile(filename="", mode="wb", fileobj=packed, mtime=0) as file:
        file.write(content)
    return packed.getvalue()


def _unpacked(path: Path) -> bytes:
    """Read a compressed file as far as it may reach.

    Raises:
        OSError: It cannot be read, is none, or holds too much.
        EOFError: It ends too early.
        zlib.error: It is damaged.
    """
    import gzip

    if not path.is_file():  # Of a pipe the end may never come.
        raise FileNotFoundError(2, "no such file")
    with gzip.open(path) as file:
        content = file.read(LARGEST_BYTES + 1)
    if len(content) > LARGEST_BYTES:
        raise OSError(f"it holds more than {LARGEST_BYTES:,} bytes")
    return content


def _parse(text: str, path: Path, number: int) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(path, f"not JSON ({error}); restore the file", number) from error
    if not isinstance(document, dict):
        raise DataError(path, f"found {canonical(document)[:40]}; expected a JSON object: restore the file", number)
    return document


def _check_schema(document: Mapping[str, Any], path: Path) -> None:
    version = document.get("schema_version")
    if not isinstance(version, int):
        raise DataError(path, "no schema_version; this is no baseline of evalkit")
    if version > SCHEMA_VERSION:
        writer = f", written by evalkit {document['evalkit']}" if document.get("evalkit") else ""
        raise InvalidInputError(
            f"{path}: baseline of schema {version}{writer}; this evalkit reads up to schema {SCHEMA_VERSION}:"
            " install that version or a newer one"
        )
