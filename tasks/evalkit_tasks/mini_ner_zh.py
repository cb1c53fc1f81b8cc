"""Mini NER, Chinese: people, places and organisations.

Measures names that training does not show, and words that name different things: 黄山 is a person or a place, 高峰 a
person or the rush hour, 和平航空 an airline in 受雇于和平航空. Tokens are characters, tags are IOB2.
Source: evalkit, embedded suite; written by a seeded grammar, see docs/mini.md. Splits are disjoint for all sizes and
seeds.
Licence: Apache-2.0, as evalkit.
Example (made up in the same form):
    tokens: 黄 山 的 弟 弟 是 牙 医 。
    tags: B-PER I-PER O O O O O O O
"""

from typing import Any

from evalkit.spec import Generated, TaskSpec


def _rows(split: str, size: int, seed: int) -> list[dict[str, Any]]:
    from evalkit_tasks.mini import entities

    return entities.rows("zh", split, size, seed)


TASK = TaskSpec(
    name="mini_ner_zh",
    kind="ner",
    version=1,
    summary="Find people, places and organisations in Chinese sentences.",
    language="zh",
    paper="evalkit, embedded suite",
    licence="Apache-2.0",
    generated=Generated(rows=_rows, sizes={"train": 2000, "dev": 200, "test": 500}),
    labels=("LOC", "ORG", "PER"),
)
