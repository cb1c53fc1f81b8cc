"""Mini translation, Chinese to English: everyday sentences of a bilingual grammar.

Measures tense from time words and particles, articles and number from measure words, word choice that only the
sentence decides (看 is read or watch, 打 is play or make), agreement, and names that training does not show but whose
parts it does. The pairs are those of mini_mt_en_zh.
Source: evalkit, embedded suite; written by a seeded grammar, see docs/mini.md. Splits are disjoint for all sizes and
seeds.
Licence: Apache-2.0, as evalkit.
Example (made up in the same form):
    source: 那名修理工明天准备在哪里修这辆旧卡车？
    references: Where is that mechanic going to repair this old lorry tomorrow?
"""

from typing import Any

from evalkit.spec import Generated, TaskSpec


def _rows(split: str, size: int, seed: int) -> list[dict[str, Any]]:
    from evalkit_tasks.mini import translation

    return translation.rows("zh", split, size, seed)


TASK = TaskSpec(
    name="mini_mt_zh_en",
    kind="mt",
    version=1,
    summary="Translate everyday sentences from Chinese to English.",
    language="en",
    source_language="zh",
    paper="evalkit, embedded suite",
    licence="Apache-2.0",
    generated=Generated(rows=_rows, sizes={"train": 2000, "dev": 200, "test": 500}),
    max_new_tokens=96,
)
