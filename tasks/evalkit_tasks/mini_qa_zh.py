"""Mini question answering, Chinese: three questions to a paragraph, each with an answer in it.

Measures which fact a question asks for and, where two events of one kind are told, which of them it means. All questions
have answers, since the official scorer for Chinese, that of CMRC 2018, knows no others. A paragraph is a cluster.
Source: evalkit, embedded suite; written by a seeded grammar, see docs/mini.md. Splits are disjoint for all sizes and
seeds.
Licence: Apache-2.0, as evalkit.
Example (made up in the same form):
    context: 1993年，雷丁星队以2比0战胜了南京流浪者队。1993年那场比赛的现场观众有36440人。
        长沙黑熊队星期五以3比1赢了柏林鲨鱼队。有2107人到场观看了这场比赛。
    question: 有多少人观看了长沙黑熊队对柏林鲨鱼队的比赛？
    answers: 2107
"""

from typing import Any

from evalkit.spec import Generated, TaskSpec


def _rows(split: str, size: int, seed: int) -> list[dict[str, Any]]:
    from evalkit_tasks.mini import questions

    return questions.rows("zh", False, split, size, seed)


TASK = TaskSpec(
    name="mini_qa_zh",
    kind="qa",
    version=2,
    summary="Answer questions about short Chinese news reports.",
    language="zh",
    paper="evalkit, embedded suite",
    licence="Apache-2.0",
    generated=Generated(rows=_rows, sizes={"train": 3000, "dev": 300, "test": 600}),
    max_new_tokens=32,
)
