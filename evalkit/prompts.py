"""Prompts: templates rendered over an example and its shots, in a sandbox.

Templates may come from a user's task file, so they run in Jinja's sandbox, and a name that the example does not have is an
error rather than an empty text.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from evalkit.errors import InvalidInputError
from evalkit.kinds import KINDS
from evalkit.requests import Example
from evalkit.spec import TaskSpec

if TYPE_CHECKING:
    import jinja2

SHOT_SEPARATOR = "\n\n"


def render(task: TaskSpec, example: Example, shots: Sequence[Example] = ()) -> str:
    """The prompt of one example: instruction, solved shots, then the example up to where its answer begins.

    Raises:
        InvalidInputError: A template is broken or names something that the example does not have.
    """
    kind = KINDS[task.kind]
    blocks = [task.instruction] if task.instruction else []
    for shot in shots:
        blocks.append(_fill(task, "prompt", **kind.template_values(task, shot)) + render_answer(task, shot))
    blocks.append(_fill(task, "prompt", **kind.template_values(task, example)))
    return SHOT_SEPARATOR.join(blocks)


def render_answer(task: TaskSpec, example: Example) -> str:
    """The answer of a solved example, as it stands behind its prompt in a shot: what a model is to write.

    Raises:
        InvalidInputError: The template is broken or names something that the example does not have.
    """
    return _fill(task, "answer", **KINDS[task.kind].template_values(task, example))


def choose_shots(pool: Sequence[Example], count: int, seed: int) -> tuple[Example, ...]:
    """Draw the shots of a run, one more than asked so that an example among them can be left out of its own prompt.

    Raises:
        InvalidInputError: The pool is too small.
    """
    if count == 0:
        return ()
    if len(pool) <= count:
        raise InvalidInputError(f"{count} shots asked for, but only {len(pool)} examples to choose from; lower --shots")
    return tuple(random.Random(f"shots {seed}").sample(pool, count + 1))


def shots_for(example: Example, chosen: Sequence[Example], count: int) -> tuple[Example, ...]:
    """The first `count` chosen shots that are not the example itself."""
    others = (shot for shot in chosen if (shot.id, shot.inputs) != (example.id, example.inputs))
    return tuple(shot for shot, _ in zip(others, range(count), strict=False))


def _fill(task: TaskSpec, which: str, **values: object) -> str:
    import jinja2

    source: str = getattr(task, which)
    try:
        return _limited(_template(source), values)
    except Exception as error:  # whatever an expression of a template may raise
        reason = " ".join(str(error).split()) or "no reason given"
        if not isinstance(error, jinja2.TemplateError | InvalidInputError):
            reason = f"{type(error).__name__}: {reason}"
        known = ", ".join(sorted(values))
        raise InvalidInputError(
            f"task {task.name!r}: {which} template {source!r:.200} fails: {reason:.300}; it may use: {known}"
        ) from error


def _limited(template: jinja2.Template, values: Mapping[str, object]) -> str:
    """Render piece by piece, so that an endless text is stopped before it fills the memory."""
    from evalkit.sandbox import LARGEST_TEXT, TemplateEnvironment

    assert isinstance(template.environment, TemplateEnvironment)
    template.environment.begin()

    limit = LARGEST_TEXT + sum(len(value) for value in values.values() if isinstance(value, str))
    pieces, length = [], 0
    for piece in template.generate(**values):
        length += len(piece)
        if length > limit:
            raise InvalidInputError(f"its text is longer than {limit} characters; shorten it")
        pieces.append(piece)
    return "".join(pieces)


@lru_cache(maxsize=256)
def _template(source: str) -> jinja2.Template:
    from evalkit.sandbox import TemplateEnvironment

    return TemplateEnvironment().from_string(source)
