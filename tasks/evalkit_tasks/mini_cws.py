"""Mini Chinese word segmentation: sentences whose words are known exactly.

Measures word borders that only the sentence decides (研究/生命 and 研究生, 和/服装 and 和服, 从/小学 and 从小/学) and
words that training does not show, most of them names. The standard is described in docs/mini.md.
Source: evalkit, embedded suite; written by a seeded grammar, see docs/mini.md. Splits are disjoint for all sizes and
seeds.
Licence: Apache-2.0, as evalkit.
Example (made up in the same form):
    words: 这 位 研究生 在 柏林 研究 生命 科学 。
"""

from typing import Any

from evalkit.spec import Generated, TaskSpec


def _rows(split: str, size: int, seed: int) -> list[dict[str, Any]]:
    from evalkit_tasks.mini import segmentation

    return segmentation.rows(split, size, seed)


TASK = TaskSpec(
    name="mini_cws",
    kind="cws",
    version=1,
    summary="Divide Chinese sentences into words.",
    language="zh",
    paper="evalkit, embedded suite",
    licence="Apache-2.0",
    generated=Generated(rows=_rows, sizes={"train": 2000, "dev": 200, "test": 500}),
)
