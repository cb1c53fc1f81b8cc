"""Mini translation, English to Chinese: everyday sentences of a bilingual grammar.

Measures word choice that only the sentence decides (play is 弹, 拉, 吹, 打, 踢, 下 or 玩; old is 老 or 旧), measure
words, aspect, word order of time and place, 把 and 被, relative clauses, and names that training does not show but
whose parts it does.
Source: evalkit, embedded suite; written by a seeded grammar, see docs/mini.md. Splits are disjoint for all sizes and
seeds.
Licence: Apache-2.0, as evalkit.
Example (made up in the same form):
    source: Where is that mechanic going to repair this old lorry tomorrow?
    references: 那名修理工明天准备在哪里修这辆旧卡车？
"""

from typing import Any

from evalkit.spec import Generated, TaskSpec


def _rows(split: str, size: int, seed: int) -> list[dict[str, Any]]:
    from evalkit_tasks.mini import translation

    return translation.rows("en", split, size, seed)


TASK = TaskSpec(
    name="mini_mt_en_zh",
    kind="mt",
    version=1,
    summary="Translate everyday sentences from English to Chinese.",
    language="zh",
    source_language="en",
    paper="evalkit, embedded suite",
    licence="Apache-2.0",
    generated=Generated(rows=_rows, sizes={"train": 2000, "dev": 200, "test": 500}),
    max_new_tokens=96,
)
