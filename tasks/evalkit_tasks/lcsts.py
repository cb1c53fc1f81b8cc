"""LCSTS: the headline of a short news text that a newspaper or agency posted on Weibo.

Paper: Hu, Chen and Zhu (2015), "LCSTS: A Large Scale Chinese Short Text Summarization Dataset".
Licence: restricted; the authors give the data to those who apply for it, for research.
Files: JSON lines with text and summary; train 2.4 million, dev, and the 725 pairs of part III with a relevance of 3 to 5 as test.
Hub: hugcyp/LCSTS, a copy by a third party. Unpinned: no commit of it could be looked up, so the head is loaded and the commit
that it resolves to is written into the run.
Metrics: ROUGE over characters, as the paper does.
Example (made up in the same form):
    document: 昨日，市图书馆宣布从下月起每周五延长开放到晚上十点，自习室同时增加两百个座位……
    reference: 市图书馆下月起周五开放至晚十点
"""

from evalkit.metrics.rouge import Rouge
from evalkit.spec import Files, Hub, TaskSpec

TASK = TaskSpec(
    name="lcsts",
    kind="summarization",
    version=1,
    summary="Write the headline of a short Chinese news text.",
    language="zh",
    paper="Hu et al. (2015). LCSTS: A Large Scale Chinese Short Text Summarization Dataset.",
    licence="restricted, on application to the authors",
    files=Files(
        format="jsonl",
        splits={
            "train": ("summarization/lcsts/train.jsonl",),
            "dev": ("summarization/lcsts/valid.jsonl",),
            "test": ("summarization/lcsts/test_public.jsonl",),
        },
        fields={"document": "text", "references": "summary"},
    ),
    hub=Hub(
        name="hugcyp/LCSTS",
        revision="",
        splits={"train": "train", "dev": "validation", "test": "test"},
        fields={"document": "text", "references": "summary"},
        checked="Name, file names and columns read in public code that loads them; no commit found, so not pinned.",
    ),
    metrics=(Rouge(tokenizer="cjk_char", language="zh"),),
    instruction="请为新闻写一个标题。",
    prompt="新闻：{{ document }}\n标题：",
    max_new_tokens=64,
)
