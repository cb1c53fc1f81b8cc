"""Mini summarization, Chinese: news reports with a distracting earlier event.

Measures content selection: a report of six to twelve sentences tells a new event, an earlier one of the same kind and
some colour, in changing order; the summary holds the new event with two of its facts. Each summary has a paraphrase
as second reference.
Source: evalkit, embedded suite; written by a seeded grammar, see docs/mini.md. Splits are disjoint for all sizes and
seeds.
Licence: Apache-2.0, as evalkit.
Example (made up in the same form):
    document: 农民们担心今年的收成。2001年，利马也遭遇过洪水。2001年那次洪水持续了20个小时。星期五，奥斯陆遭遇暴风雨。
        这次暴风雨造成的损失达350万元。 由于这次暴风雨，962户人家没有电。
    references: 奥斯陆遭遇暴风雨，962户人家停电，损失达350万元。
        一场暴风雨使奥斯陆962户人家没有电，造成损失350万元。
"""

from typing import Any

from evalkit.spec import Generated, TaskSpec


def _rows(split: str, size: int, seed: int) -> list[dict[str, Any]]:
    from evalkit_tasks.mini import summaries

    return summaries.rows("zh", split, size, seed)


TASK = TaskSpec(
    name="mini_summarization_zh",
    kind="summarization",
    version=1,
    summary="Summarize short Chinese news reports in one sentence.",
    language="zh",
    paper="evalkit, embedded suite",
    licence="Apache-2.0",
    generated=Generated(rows=_rows, sizes={"train": 2000, "dev": 200, "test": 500}),
    max_new_tokens=96,
)
