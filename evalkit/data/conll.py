"""Tokens in columns, one a line, with a blank line after each sentence (CoNLL, and Universal NER's IOB2 files)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from evalkit.data.located import Located
from evalkit.data.options import option
from evalkit.data.text import find_file, open_text
from evalkit.errors import DataError, InvalidInputError
from evalkit.metrics.tag_schemes import CONVERTIBLE, read_entities, scheme_name

CONLL_OPTIONS: Mapping[str, str] = {
    "token_column": "column of the token, from 0; negative counts from the end; 0 unless said otherwise",
    "tag_column": "column of the tag; -1, the last, unless said otherwise",
    "comments": "true where lines that begin with '# ' are comments; without it a '#' is a token like any other",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    token_column: int
    tag_column: int
    has_comments: bool
    scheme: str


@dataclass(slots=True)
class _Sentence:
    """A sentence as far as it has been read."""

    line: int = 0
    tokens: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    id: str | None = None


def read_conll(paths: Sequence[Path], options: Mapping[str, Any]) -> Iterator[Located]:
    """Read sentences as lists of tokens and of tags in the scheme of the file.

    Columns are separated by tabs where a line has one, else by spaces. ``-DOCSTART-`` lines and ``# newdoc`` comments begin a
    new cluster; ``# sent_id`` comments give the id.

    Raises:
        InvalidInputError: An option has a wrong value.
        DataError: A line has too few columns, more or fewer than the first, or a tag that the scheme does not have.
    """
    layout = _Layout(
        token_column=option(options, "token_column", 0),
        tag_column=option(options, "tag_column", -1),
        has_comments=option(options, "comments", False),
        scheme=scheme_name(option(options, "scheme", "IOB2"), CONVERTIBLE),
    )
    return _rows(paths, layout)


def _rows(paths: Sequence[Path], layout: _Layout) -> Iterator[Located]:
    """Sentences of all files; those before the first document mark of a file are a document too, if it has marks."""
    documents = map(str, count(1))
    for path in paths:
        sentences = _Parser(find_file(path), layout, documents).sentences()
        if not _has_documents(path, layout):
            yield from sentences
            continue
        leading: list[Located] = []
        for located in sentences:
            if "cluster" not in located.row:
                leading.append(located)
                continue
            if leading:
                yield from _in_cluster(leading, next(documents))
                leading = []
            yield located
        yield from leading


def _has_documents(path: Path, layout: _Layout) -> bool:
    """Whether a file marks documents; in one that does not, sentences need not wait for the first mark."""
    return any(
        line.startswith("-DOCSTART-")
        or (layout.has_comments and _is_comment(line) and line[1:].split("=")[0].split()[:1] == ["newdoc"])
        for _, line in open_text(path)
    )


def _in_cluster(rows: Iterable[Located], cluster: str) -> Iterator[Located]:
    return (located._replace(row={**located.row, "cluster": cluster}) for located in rows)


class _Parser:
    """Reads one file."""

    def __init__(self, file: Path, layout: _Layout, documents: Iterator[str]) -> None:
        self.file, self.layout, self.documents = file, layout, documents
        self.sentence = _Sentence()
        self.width = 0
        self.cluster: str | None = None
        self.known_tags = {"O"}

    def sentences(self) -> Iterator[Located]:
        for number, line in open_text(self.file):
            if not line or line.isspace():
                yield from self.finish()
            elif self.layout.has_comments and _is_comment(line):
                self.comment(line)
            elif line.startswith("-DOCSTART-"):
                yield from self.finish()
                self.begin_document("")
            else:
                self.token(line, number)
        yield from self.finish()

    def finish(self) -> Iterator[Located]:
        done, self.sentence = self.sentence, _Sentence()
        if not done.tokens:
            self.sentence.id = done.id
            return
        row: dict[str, Any] = {"tokens": done.tokens, "tags": done.tags}
        if done.id is not None:
            row["id"] = done.id
        if self.cluster is not None:
            row["cluster"] = self.cluster
        yield Located(row, self.file, done.line)

    def begin_document(self, name: str) -> None:
        self.cluster = name or next(self.documents)

    def comment(self, line: str) -> None:
        key, _, value = line[1:].partition("=")
        words = key.split()
        if words == ["sent_id"]:
            self.sentence.id = value.strip()
        elif words[:1] == ["newdoc"]:
            self.begin_document(value.strip())

    def token(self, line: str, number: int) -> None:
        cells = line.split("\t") if "\t" in line else [cell for cell in line.split(" ") if cell]
        self.check_columns(cells, number)
        token, tag = cells[self.layout.token_column], cells[self.layout.tag_column]
        if tag not in self.known_tags:
            self.check_tag(tag, number)
        if not token:
            raise DataError(self.file, "the token is empty; expected a token and a tag", number)
        if not self.sentence.tokens:
            self.sentence.line = number
        self.sentence.tokens.append(token)
        self.sentence.tags.append(tag)

    def check_columns(self, cells: list[str], number: int) -> None:
        if len(cells) == self.width:
            return
        if self.width:
            problem = f"column count is {len(cells)}; expected {self.width} as in the lines before"
            raise DataError(self.file, problem, number)
        reach = (self.layout.token_column, self.layout.tag_column)
        needed = max(2, *(column + 1 if column >= 0 else -column for column in reach))
        if len(cells) < needed:
            raise DataError(
                self.file, f"column count is {len(cells)}; expected at least {needed}, token and tag among them", number
            )
        self.width = len(cells)

    def check_tag(self, tag: str, number: int) -> None:
        try:
            read_entities([tag], self.layout.scheme, strict=False)
        except InvalidInputError as error:
            problem = (
                f"tag {tag!r} is not of scheme {self.layout.scheme}; fix it or name the scheme that the file is in"
            )
            raise DataError(self.file, problem, number) from error
        self.known_tags.add(tag)


def _is_comment(line: str) -> bool:
    return line.startswith("# ") or (line.startswith("#") and "\t" not in line and " " not in line.strip())
