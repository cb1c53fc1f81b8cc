"""Mini language modelling: short English stories from a source whose entropy is known.

Measures how close a model comes to the best possible: `TASK.generated.facts()` gives the entropy in nats a token, a
token being what stands between spaces; `evalkit_tasks.mini.stories.true_logprob` gives the exact log-probability of a
text. Names, what people carry, pronouns, agreement and the nouns of a place reach over the whole story, so a model
gains by looking back further.
Source: evalkit, embedded suite; written by a seeded grammar, see docs/mini.md. Splits are disjoint for all sizes and
seeds.
Licence: Apache-2.0, as evalkit.
Example (made up in the same form):
    text: One rainy morning, Ivan and Clara went to the forest. They had Ivan's black lantern and Clara's blue bell
        with them. Clara asked Ivan about the owls. The paths behind the hut were dirty. At last Ivan and Clara went home
        with Ivan's black lantern and Clara's blue bell.
"""

from collections.abc import Mapping
from typing import Any

from evalkit.spec import Generated, TaskSpec


def _rows(split: str, size: int, seed: int) -> list[dict[str, Any]]:
    from evalkit_tasks.mini import stories

    return stories.rows(split, size, seed)


def _facts() -> Mapping[str, Any]:
    from evalkit_tasks.mini import stories

    return stories.facts()


def true_logprob(text: str) -> float:
    """Return the exact natural-log probability of a text, its end included; -inf for what is no story."""
    from evalkit_tasks.mini import stories

    return stories.true_logprob(text)


TASK = TaskSpec(
    name="mini_lm",
    kind="lm",
    version=2,
    summary="Predict short English stories whose true entropy is known.",
    language="en",
    paper="evalkit, embedded suite",
    licence="Apache-2.0",
    generated=Generated(rows=_rows, sizes={"train": 2000, "dev": 200, "test": 500}, facts=_facts),
)
