"""Questions about paragraphs in the JSON layouts of SQuAD 1.1 and 2.0 (also DRCD, XQuAD, CMRC 2018) and of CMRC's trial set."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from evalkit.data.json_rows import load_json
from evalkit.data.located import Located
from evalkit.data.text import find_file
from evalkit.errors import DataError

T = TypeVar("T", str, list[Any])


def read_squad_json(paths: Sequence[Path], options: Mapping[str, Any]) -> Iterator[Located]:
    """Read questions in the order of the file; the cluster of a question is its paragraph, ``title/number``.

    Raises:
        DataError: The file has another layout; says where it departs.
    """
    for path in paths:
        file = find_file(path)
        for row in _questions(load_json(file), file):
            yield Located(row, file, None)


def _questions(value: object, file: Path) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict) and isinstance(value.get("data"), list):
        yield from _squad(value["data"], file)
    elif isinstance(value, list) and value and isinstance(value[0], dict) and "context_text" in value[0]:
        yield from _cmrc_trial(value, file)
    else:
        found = (
            f"an object with keys {', '.join(map(repr, value))}" if isinstance(value, dict) else type(value).__name__
        )
        raise DataError(
            file,
            f"found {found:.120}; expected SQuAD JSON, an object whose 'data' is a list of articles with paragraphs",
        )


def _squad(articles: list[Any], file: Path) -> Iterator[dict[str, Any]]:
    counts: Counter[str] = Counter()
    for number, article in enumerate(articles, start=1):
        place = f"article {number}"
        named = _object(article, file, place)
        title = str(named.get("title", number))
        shown = {"title": title} if "title" in named else {}
        for paragraph in _part(named, "paragraphs", list, file, place):
            counts[title] += 1
            cluster = f"{title}/{counts[title]}"
            inner = f"{place}, paragraph {cluster!r}"
            context = _part(_object(paragraph, file, inner), "context", str, file, inner)
            for question in _part(paragraph, "qas", list, file, inner):
                row = _squad_question(_object(question, file, inner), file, inner)
                yield {**row, **shown, "cluster": cluster, "context": context}


def _squad_question(question: dict[str, Any], file: Path, place: str) -> dict[str, Any]:
    if "id" not in question:
        raise DataError(file, f"{place}: a question has no 'id'; found {', '.join(map(repr, question)) or 'nothing'}")
    place = f"question {question['id']!r}"
    answers: list[Any] = []
    if not question.get("is_impossible", False):
        answers = [_object(answer, file, place) for answer in _part(question, "answers", list, file, place)]
    row = {
        "id": question["id"],
        "question": _part(question, "question", str, file, place),
        "answers": [_part(answer, "text", str, file, place) for answer in answers],
    }
    starts = [answer["answer_start"] for answer in answers if "answer_start" in answer]
    return {**row, "answer_starts": starts} if len(starts) == len(answers) else row


def _cmrc_trial(paragraphs: list[Any], file: Path) -> Iterator[dict[str, Any]]:
    for number, paragraph in enumerate(paragraphs, start=1):
        place = f"paragraph {number}"
        context = _part(_object(paragraph, file, place), "context_text", str, file, place)
        cluster = str(paragraph.get("context_id", number))
        for question in _part(paragraph, "qas", list, file, place):
            inner = f"{place}, question {_object(question, file, place).get('query_id')!r}"
            yield {
                "id": _part(question, "query_id", str, file, inner),
                "question": _part(question, "query_text", str, file, inner),
                "answers": _part(question, "answers", list, file, inner),
                "context": context,
                "cluster": cluster,
            }


def _object(value: Any, file: Path, place: str) -> dict[str, Any]:  # noqa: ANN401
    if isinstance(value, dict):
        return value
    raise DataError(file, f"{place}: found {value!r:.40}; expected an object")


def _part(value: dict[str, Any], name: str, kind: type[T], file: Path, place: str) -> T:
    part = value.get(name)
    if isinstance(part, kind):
        return part
    found = f"is {part!r:.40}" if name in value else "is missing"
    expected = "a text" if kind is str else "a list"
    raise DataError(file, f"{place}: {name!r} {found}; expected {expected}")
