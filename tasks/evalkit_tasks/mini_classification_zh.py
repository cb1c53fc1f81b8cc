"""Mini classification, Chinese: reviews that are good, bad or in between.

Measures more than words: praise may be negated, may be what others said or of the last visit, or may stand in the
half of a sentence that does not count, and neutral reviews weigh praise against blame.
Source: evalkit, embedded suite; written by a seeded grammar, see docs/mini.md. Splits are disjoint for all sizes and
seeds.
Licence: Apache-2.0, as evalkit.
Example (made up in the same form):
    text: 其他人说服务员谈不上出色，我完全不同意。我花了76元。
    label: 好评
"""

from typing import Any

from evalkit.spec import Generated, TaskSpec


def _rows(split: str, size: int, seed: int) -> list[dict[str, Any]]:
    from evalkit_tasks.mini import opinions

    return opinions.rows("zh", split, size, seed)


TASK = TaskSpec(
    name="mini_classification_zh",
    kind="classification",
    version=1,
    summary="Tell whether a short Chinese review is good, bad or in between.",
    language="zh",
    paper="evalkit, embedded suite",
    licence="Apache-2.0",
    generated=Generated(rows=_rows, sizes={"train": 2000, "dev": 200, "test": 500}),
    labels=("好评", "差评", "中评"),
)
