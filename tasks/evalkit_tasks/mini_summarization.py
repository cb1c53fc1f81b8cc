"""Mini summarization, English: news reports with a distracting earlier event.

Measures content selection: a report of six to twelve sentences tells a new event, an earlier one of the same kind and
some colour, in changing order; the summary holds the new event with two of its facts. Each summary has a paraphrase
as second reference.
Source: evalkit, embedded suite; written by a seeded grammar, see docs/mini.md. Splits are disjoint for all sizes and
seeds.
Licence: Apache-2.0, as evalkit.
Example (made up in the same form):
    document: Farmers fear for the harvest. Lima had seen a flood in 2001. The 2001 flood lasted 20 hours. A storm hit
        Oslo on Friday. The damage from the storm came to 3.5 million yuan. Because of the storm, 962 homes had no
        electricity.
    references: A storm in Oslo left 962 homes without electricity and caused damage of 3.5 million yuan.
        962 homes lost electricity when a storm hit Oslo, with damage put at 3.5 million yuan.
"""

from typing import Any

from evalkit.spec import Generated, TaskSpec


def _rows(split: str, size: int, seed: int) -> list[dict[str, Any]]:
    from evalkit_tasks.mini import summaries

    return summaries.rows("en", split, size, seed)


TASK = TaskSpec(
    name="mini_summarization",
    kind="summarization",
    version=1,
    summary="Summarize short English news reports in one sentence.",
    language="en",
    paper="evalkit, embedded suite",
    licence="Apache-2.0",
    generated=Generated(rows=_rows, sizes={"train": 2000, "dev": 200, "test": 500}),
    max_new_tokens=96,
)
