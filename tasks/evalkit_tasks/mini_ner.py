"""Mini NER, English: people, places and organisations.

Measures names that training does not show, and words that name different things: Chelsea is a person, a place or a
club, Rose a person or a flower at the start of a sentence. Tokens are words and punctuation marks, tags are IOB2.
Source: evalkit, embedded suite; written by a seeded grammar, see docs/mini.md. Splits are disjoint for all sizes and
seeds.
Licence: Apache-2.0, as evalkit.
Example (made up in the same form):
    tokens: Chelsea signed a new goalkeeper .
    tags: B-ORG O O O O O
"""

from typing import Any

from evalkit.spec import Generated, TaskSpec


def _rows(split: str, size: int, seed: int) -> list[dict[str, Any]]:
    from evalkit_tasks.mini import entities

    return entities.rows("en", split, size, seed)


TASK = TaskSpec(
    name="mini_ner",
    kind="ner",
    version=1,
    summary="Find people, places and organisations in English sentences.",
    language="en",
    paper="evalkit, embedded suite",
    licence="Apache-2.0",
    generated=Generated(rows=_rows, sizes={"train": 2000, "dev": 200, "test": 500}),
    labels=("LOC", "ORG", "PER"),
)
