"""Fixtures of the adapter tests: task contexts and prediction files made of a few lines."""

import gzip

import pytest

from evalkit.errors import MissingResourceError
from evalkit.requests import Example, TaskContext


def _no_training():
    raise MissingResourceError("task 'toy' has no training split")


def _no_lexicon():
    raise MissingResourceError("task 'toy' has no word list")


@pytest.fixture
def make_context():
    """A function that makes the context of a task from (id, inputs) or (id, inputs, references)."""

    def make(kind, request_kind, rows, *, training=None, words=None, language="en"):
        examples = [_example(*row) for row in rows]
        return TaskContext(
            task="toy",
            kind=kind,
            language=language,
            example_ids=tuple(example.id for example in examples),
            request_kind=request_kind,
            training=_no_training if training is None else lambda: iter([_example(*row) for row in training]),
            examples=lambda: iter(examples),
            lexicon=_no_lexicon if words is None else lambda: frozenset(words),
        )

    return make


def _example(name, inputs, references=()):
    return Example(id=name, inputs=inputs, references=tuple(references))


@pytest.fixture
def write(tmp_path):
    """A function that writes a file into a fresh folder and gives its path."""

    def make(name, content):
        path = tmp_path / name
        data = content.encode() if isinstance(content, str) else content
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return make
