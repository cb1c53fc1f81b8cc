"""`predictions:FILE`: the outputs of any system, from a file that is checked as a whole before the first answer."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from evalkit.adapters.prediction_files import read_predictions
from evalkit.adapters.prediction_files.answers import FileAnswer, LogprobAnswer, TagsAnswer, TextAnswer, WordsAnswer
from evalkit.adapters.responses import text_response, unanswerable, words_response
from evalkit.data.text import check_regular, find_file
from evalkit.errors import DataError, UnknownNameError
from evalkit.requests import (
    ClassifyRequest,
    LabelRequest,
    LabelResponse,
    ModelInfo,
    Request,
    Response,
    RollingRequest,
    RollingResponse,
    TaskContext,
)

_FORMAT_SUFFIXES = frozenset(
    {
        ".txt",
        ".json",
        ".jsonl",
        ".ndjson",
        ".tsv",
        ".conll",
        ".iob",
        ".iob2",
        ".bio",
        ".utf8",
        ".out",
        ".pred",
        ".preds",
    }
)


class PredictionsAdapter:
    """Answers requests from a file of predictions.

    Args:
        target: The file; ``target.gz`` is read where only that exists.

    Raises:
        DataError: There is no such file, or it cannot be read.
    """

    def __init__(self, target: str) -> None:
        self._path = find_file(target)
        self._info = ModelInfo(
            ref=f"predictions:{target}",
            name=short_name(self._path),
            digest=_file_digest(self._path),
            family="predictions",
            determined_by="file",
        )
        self._answers: Mapping[str, FileAnswer] = {}

    @property
    def info(self) -> ModelInfo:
        """The file, by name and by the digest of its bytes."""
        return self._info

    @property
    def supports(self) -> frozenset[str]:
        """Everything but log-probabilities of continuations, which no file format holds."""
        return frozenset({"generate", "rolling", "label", "span", "classify"})

    def prepare(self, context: TaskContext) -> tuple[str, ...]:
        """Read the whole file and check it against all examples of the split.

        Raises:
            DataError: The file does not fit the task; says where and what was expected.
        """
        read = read_predictions(self._path, context)
        self._answers = read.answers
        return read.warnings

    def answer(self, requests: Sequence[Request]) -> Iterator[Response]:
        """Give the file's answer to each request.

        Raises:
            DataError: A class is not among those that the request allows; checked for all requests before the first answer.
        """
        answers = [self._answers[request.example_id] for request in requests]
        for request, answer in zip(requests, answers, strict=True):
            self._check_class(request, answer)
        for request, answer in zip(requests, answers, strict=True):
            yield _respond(request, answer)

    def _check_class(self, request: Request, answer: FileAnswer) -> None:
        if not (isinstance(request, ClassifyRequest) and isinstance(answer, TextAnswer) and request.labels):
            return
        if answer.text not in request.labels:
            unknown = UnknownNameError("class", str(answer.text), request.labels)
            raise DataError(self._path, f"example {request.example_id!r}: {unknown}")


def short_name(path: Path) -> str:
    """The file's name without what only says its format.

    >>> short_name(Path("out/test2022.en-zh.hyp.Online-A.zh.gz")), short_name(Path("v1.1_bidaf.json.gz"))
    ('test2022.en-zh.hyp.Online-A.zh', 'v1.1_bidaf')
    """
    name = path.name.removesuffix(".gz")
    stem, dot, suffix = name.rpartition(".")
    return stem if stem and (dot + suffix).lower() in _FORMAT_SUFFIXES else name


def _respond(request: Request, answer: FileAnswer) -> Response:
    match request, answer:
        case RollingRequest(), LogprobAnswer(logprob_nats=logprob_nats, token_count=token_count):
            return RollingResponse(example_id=request.example_id, logprob_nats=logprob_nats, token_count=token_count)
        case LabelRequest(), TagsAnswer(tags=tags):
            return LabelResponse(example_id=request.example_id, labels=tags)
        case _, WordsAnswer(words=words):
            return words_response(request, words)
        case _, TextAnswer(text=text, no_answer_probability=no_answer_probability):
            return text_response(request, text, no_answer_probability)
    raise unanswerable(request, f"a {type(answer).__name__}")


def _file_digest(path: Path) -> str:
    if path.is_dir():
        raise DataError(path, "this is a folder; expected one file of predictions")
    check_regular(path)
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()[:16]
    except OSError as error:
        raise DataError(path, f"cannot be read: {error.strerror or error}") from error
