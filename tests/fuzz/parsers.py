"""Parsers of files that others write, each as a function from bytes: what they raise must be an error of ours, soon.

Every parser comes with a few small files in its format, from which fuzzing starts.
"""

from __future__ import annotations

import itertools
import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from evalkit.adapters import open_adapter
from evalkit.checkpoints.tensor_files import tensor_places
from evalkit.comparison.loaded import load_run
from evalkit.data.conll import read_conll
from evalkit.data.sighan import read_sighan
from evalkit.data.squad import read_squad_json
from evalkit.errors import EvalkitError
from evalkit.gating.policy import read_policy
from evalkit.requests import Example, TaskContext

IDS = ("s1", "s2")


@dataclass(frozen=True)
class Parser:
    """One parser and where its fuzzing starts."""

    file: str
    """Name of the file that the bytes are written to."""
    parse: Callable[[Path], object]
    """Reads that file to its end."""
    seeds: tuple[bytes, ...]
    """Valid files."""

    def survives(self, content: bytes, folder: Path) -> bool:
        """Parse bytes; whether they were accepted. Anything but an error of ours goes on to the caller."""
        path = folder / self.file
        path.write_bytes(content)
        try:
            self.parse(path)
        except EvalkitError as error:
            if "\n" in str(error):
                raise AssertionError("an error of more than one line") from error
            return False
        return True


def _context(kind: str, request_kind: str, inputs: Mapping[str, object]) -> TaskContext:
    examples = [Example(id=name, inputs=inputs, references=("O",)) for name in IDS]
    return TaskContext(
        task="fuzzed",
        kind=kind,
        language="en",
        example_ids=IDS,
        request_kind=request_kind,
        training=lambda: (),
        examples=lambda: examples,
        lexicon=frozenset,
    )


CONTEXTS = (
    _context("mt", "generate", {"source": "a b"}),
    _context("qa", "span", {"question": "who", "context": "a b"}),
    _context("ner", "label", {"tokens": ("a", "b")}),
    _context("cws", "label", {"text": "ab"}),
    _context("lm", "rolling", {"text": "ab"}),
    _context("classification", "classify", {"text": "ab"}),
)


def _predictions(path: Path) -> None:
    problems = []
    for context in CONTEXTS:
        try:
            open_adapter("predictions", str(path)).prepare(context)
        except EvalkitError as error:
            problems.append(error)
    if len(problems) == len(CONTEXTS):
        raise problems[0]


def _tensors(path: Path) -> None:
    tensor_places(path)


def _header(entries: Mapping[str, object], body: bytes = b"") -> bytes:
    text = json.dumps(entries).encode()
    return struct.pack("<Q", len(text)) + text + body


RECORD = {
    "id": "r", "created": "2026-01-01T00:00:00+00:00", "status": "complete",
    "task": {"name": "t", "kind": "mt", "language": "en", "version": 1, "digest": "d"},
    "data": {"source": "files", "revision": None, "split": "test", "digest": "x", "n": 1, "scored_n": 1},
    "model": {"ref": "m", "name": "m", "digest": "m", "family": "predictions"}, "settings": {},
    "metrics": [{"metric": "squad_v1", "name": "f1", "value": 1.0, "low": None, "high": None, "stderr": None, "n": 1,
                 "unscored": 0, "signature": "s", "higher_is_better": True, "scale": 100.0, "headline": True}],
    "statistics": {"squad_v1": {"metric": "squad_v1", "settings": {}, "columns": ["exact_match", "f1", "questions"]}},
    "details": {}, "counts": {"examples": 1}, "timing": {}, "environment": {"evalkit": "0.0.0"}, "warnings": [],
    "schema_version": 1,
}  # fmt: skip


def _record(path: Path) -> None:
    (path.parent / "samples.jsonl").write_text("", encoding="utf-8")
    load_run(path.parent)


def _samples(path: Path) -> None:
    (path.parent / "run.json").write_text(json.dumps(RECORD), encoding="utf-8")
    load_run(path.parent)


def _policy(path: Path) -> None:
    read_policy(path)


def _rows(read: Callable[..., object]) -> Callable[[Path], None]:
    def parse(path: Path) -> None:
        for _ in itertools.islice(read([path], {}), 100_000):  # type: ignore[call-overload]
            pass

    return parse


PARSERS: Mapping[str, Parser] = {
    "conll": Parser(
        "a.conll", _rows(read_conll), (b"Rome\tB-LOC\ncalls\tO\n\nAnn B-PER\n", b"-DOCSTART- -X- O\n\n# x\n1\ta\tO\n")
    ),
    "sighan": Parser("a.utf8", _rows(read_sighan), ("我  们\n他 们\n".encode(), b"a\n\n")),
    "squad": Parser(
        "a.json",
        _rows(read_squad_json),
        (
            b'{"version":"1.1","data":[{"title":"t","paragraphs":[{"context":"a b","qas":[{"id":"1","question":"q",'
            b'"answers":[{"text":"a","answer_start":0}]}]}]}]}',
            b'[{"context_id":"1","context_text":"a","qas":[{"query_id":"1","query_text":"q","answers":["a"]}]}]',
        ),
    ),
    "predictions": Parser(
        "a.jsonl",
        _predictions,
        (
            b'{"id":"s1","prediction":"a"}\n{"id":"s2","prediction":"b"}\n',
            b"a\nb\n",
            b'{"s1":"a","s2":""}',
            b"a\tO\nb\tO\n\na\tO\nb\tO\n",
            b'{"id":"s1","prediction":{"logprob_nats":-1.5,"token_count":2}}\n',
        ),
    ),
    "policy": Parser(
        "gate.toml",
        _policy,
        (b'alpha = 0.05\non-inconclusive = "fail"\n[[check]]\ntask = "t"\nmargin = "1%"\nmin = 0.5\n',),
    ),
    "record": Parser("run.json", _record, (json.dumps(RECORD).encode(),)),
    "samples": Parser(
        "samples.jsonl",
        _samples,
        (
            b'{"id":"a","cluster":null,"prompt_digest":"p","response":{"text":"x"},"prediction":"x","references":["x"],'
            b'"truncated":false,"statistics":{"squad_v1":[1,1,1]}}\n',
        ),
    ),
    "safetensors": Parser(
        "model.safetensors",
        _tensors,
        (
            _header({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}, bytes(8)),
            _header({"__metadata__": {"format": "pt"}}),
        ),
    ),
}
