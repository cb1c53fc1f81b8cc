"""Extractive question answering, with or without unanswerable questions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from evalkit.errors import InvalidInputError
from evalkit.kinds.base import Kind, cluster_field, generate_request, text_field, texts_field, unexpected
from evalkit.metrics.base import AnyMetric
from evalkit.metrics.cmrc2018 import Cmrc2018
from evalkit.metrics.mlqa import Mlqa
from evalkit.metrics.squad import SquadV1, SquadV2
from evalkit.spec import Row, TaskSpec

if TYPE_CHECKING:
    from evalkit.requests import (
        Answer,
        Example,
        GenerateRequest,
        Response,
        SpanRequest,
    )

_NO_ANSWER = frozenset({"unanswerable", "no answer", "n/a", "无法回答", "没有答案", "無法回答"})
_MLQA_LANGUAGES = frozenset({"es", "hi", "vi", "de", "ar"})


class QuestionAnswering(Kind):
    """A question, the text that it is about, and the acceptable answers."""

    name: ClassVar[str] = "qa"
    required: ClassVar[Mapping[str, str]] = {
        "question": "the question",
        "context": "the text that holds the answer",
        "answers": "acceptable answers, spans of the context; an empty list where the question has none",
    }
    optional: ClassVar[Mapping[str, str]] = {
        "answer_starts": "character offset of each answer in the context",
        "title": "title of the article",
    }
    requests: ClassVar[tuple[str, ...]] = ("span", "generate")

    def example(self, row: Row, example_id: str) -> Example:
        """Turn a row with question, context and answers into an example."""
        from evalkit.requests import Example

        inputs = {name: text_field(row, name) for name in ("question", "context")}
        return Example(
            id=example_id,
            inputs=inputs,
            references=texts_field(row, "answers", allow_single=True),
            cluster=cluster_field(row),
        )

    def check(self, task: TaskSpec, example: Example) -> None:
        """Refuse a question without answers in a task that does not say that it has such questions."""
        if not example.references and not has_unanswerable(task):
            raise InvalidInputError(
                "the question has no answer; expected at least one, or a task whose [options] say unanswerable = true"
            )

    def request(
        self, task: TaskSpec, example: Example, request_kind: str, prompt: str
    ) -> SpanRequest | GenerateRequest:
        """Ask for a span, or for text."""
        from evalkit.requests import SpanRequest

        if request_kind == "generate":
            return generate_request(task, example, prompt)
        return SpanRequest(
            example_id=example.id,
            inputs=example.inputs,
            question=example.inputs["question"],
            context=example.inputs["context"],
            allows_no_answer=has_unanswerable(task),
        )

    def prediction(self, task: TaskSpec, example: Example, response: Response) -> Answer:
        """Read the answer; a generated "unanswerable" means no answer where the task allows that."""
        from evalkit.requests import Answer, GenerateResponse, SpanResponse

        if isinstance(response, SpanResponse):
            return Answer(response.text, response.no_answer_probability)
        if isinstance(response, GenerateResponse):
            text = response.text
            if text is not None and has_unanswerable(task) and text.strip().rstrip(".。").lower() in _NO_ANSWER:
                return Answer("")
            return Answer(text if text is None else text.strip())
        raise unexpected(response, self.name)

    def default_metrics(self, task: TaskSpec) -> tuple[AnyMetric, ...]:
        """SQuAD for English, CMRC 2018 for Chinese, MLQA for its other languages."""
        if has_unanswerable(task):
            if task.language != "en":
                raise InvalidInputError(
                    f"task {task.name!r}: no official scorer for unanswerable questions in {task.language!r};"
                    " name the metrics of the task"
                )
            return (SquadV2(),)
        if task.language == "zh":
            return (Cmrc2018(),)
        if task.language in _MLQA_LANGUAGES:
            return (Mlqa(lang=task.language),)
        return (SquadV1(),)

    def default_prompt(self, task: TaskSpec) -> str:
        """Show the context, then the question."""
        if task.language == "zh":
            return "文章：{{ context }}\n问题：{{ question }}\n答案："
        return "Context: {{ context }}\nQuestion: {{ question }}\nAnswer:"

    def default_answer(self, task: TaskSpec) -> str:
        """The first answer, or the word for none."""
        if task.language == "zh":
            return "{{ references[0] if references else '无法回答' }}"
        return " {{ references[0] if references else 'unanswerable' }}"

    def default_instruction(self, task: TaskSpec) -> str:
        """Say where the answer comes from."""
        if task.language == "zh":
            none = "如果文章没有答案，请写“无法回答”。" if has_unanswerable(task) else ""
            return f"请用文章中的词语回答问题。{none}"
        none = " If the context holds no answer, write: unanswerable." if has_unanswerable(task) else ""
        return f"Answer the question with words of the context.{none}"


def has_unanswerable(task: TaskSpec) -> bool:
    """Whether some questions of the task have no answer."""
    return bool(task.options.get("unanswerable", False))
