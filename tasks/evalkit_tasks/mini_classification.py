"""Mini classification, English: reviews that are positive, negative or neutral.

Measures more than words: praise may be negated, may be what others said or of the last visit, or may stand in the
half of a sentence that does not count, and neutral reviews weigh praise against blame.
Source: evalkit, embedded suite; written by a seeded grammar, see docs/mini.md. Splits are disjoint for all sizes and
seeds.
Licence: Apache-2.0, as evalkit.
Example (made up in the same form):
    text: Everybody else said that the staff was lovely; I cannot agree at all. It rained all Sunday.
    label: negative
"""

from typing import Any

from evalkit.spec import Generated, TaskSpec


def _rows(split: str, size: int, seed: int) -> list[dict[str, Any]]:
    from evalkit_tasks.mini import opinions

    return opinions.rows("en", split, size, seed)


TASK = TaskSpec(
    name="mini_classification",
    kind="classification",
    version=1,
    summary="Tell whether a short English review is positive, negative or neutral.",
    language="en",
    paper="evalkit, embedded suite",
    licence="Apache-2.0",
    generated=Generated(rows=_rows, sizes={"train": 2000, "dev": 200, "test": 500}),
    labels=("positive", "negative", "neutral"),
)
