"""Prompts: templates rendered over an example and its shots, in a sandbox.

Templates may come from a user's task file, so they run in Jinja's sandbox, and a name that the example does not have is an
error rather than an empty text.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
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
        values = kind.template_values(task, shot)
        blocks.append(_fill(task, "prompt", **values) + _fill(task, "answer", **values))
    blocks.append(_fill(task, "prompt", **kind.template_values(task, example)))
    return SHOT_SEPARATOR.join(blocks)


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
        return _template(source).render(**values)
    except jinja2.TemplateError as error:
        known = ", ".join(sorted(values))
        raise InvalidInputError(
            f"task {task.name!r}: {which} template {source!r} fails: {error}; it may use: {known}"
        ) from error


@lru_cache(maxsize=256)
def _template(source: str) -> jinja2.Template:
    import jinja2
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(
        undefined=jinja2.StrictUndefined, autoescape=False, keep_trailing_newline=True
    )
    return environment.from_string(source)
