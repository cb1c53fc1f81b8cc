"""Mini question answering, English: three questions to a paragraph, one of which has no answer in it.

Measures which fact a question asks for, whether the paragraph tells it and, where two events of one kind are told, which of
them is meant. A paragraph is a cluster.
Source: evalkit, embedded suite; written by a seeded grammar, see docs/mini.md. Splits are disjoint for all sizes and
seeds.
Licence: Apache-2.0, as evalkit.
Example (made up in the same form):
    context: In 1993, Reading Stars beat Nanjing Rovers 2-0. The crowd at the 1993 match numbered 36,440. Changsha
        Bears beat Berlin Sharks 3-1 on Friday. The last goal of the match fell in minute 55.
    question: How large was the crowd at the match between Changsha Bears and Berlin Sharks?
    answers: (none)
"""

from typing import Any

from evalkit.spec import Generated, TaskSpec


def _rows(split: str, size: int, seed: int) -> list[dict[str, Any]]:
    from evalkit_tasks.mini import questions

    return questions.rows("en", True, split, size, seed)


TASK = TaskSpec(
    name="mini_qa",
    kind="qa",
    version=2,
    summary="Answer questions about short news reports, or see that the report has no answer.",
    language="en",
    paper="evalkit, embedded suite",
    licence="Apache-2.0",
    generated=Generated(rows=_rows, sizes={"train": 3000, "dev": 300, "test": 600}),
    max_new_tokens=32,
    options={"unanswerable": True},
)
