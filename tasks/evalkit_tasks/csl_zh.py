"""CSL title generation: the title of a Chinese journal article from its abstract.

Paper: Li et al. (2022), "CSL: A Large-scale Chinese Scientific Literature Dataset".
Licence: Apache-2.0.
Files: the ts task of the benchmark; dev 1,000 and test 1,000 abstracts, and its training part as train.tsv; three
columns, the words "to title", the abstract and the title.
Hub: none whose splits are those of the benchmark.
Metrics: ROUGE over characters, as rouge-score's own tokenizer keeps Latin letters and digits only. The paper's ROUGE-L counts
characters too, but by other code.
Example (made up in the same form):
    document: 为了减少城市内涝，本文比较了三种透水路面在暴雨条件下的排水能力……
    reference: 三种透水路面的暴雨排水能力比较
"""

from evalkit.metrics.rouge import Rouge
from evalkit.spec import Files, TaskSpec

TASK = TaskSpec(
    name="csl_zh",
    kind="summarization",
    version=1,
    summary="Write the title of a Chinese journal article from its abstract.",
    language="zh",
    paper="Li et al. (2022). CSL: A Large-scale Chinese Scientific Literature Dataset.",
    licence="Apache-2.0",
    files=Files(
        format="tsv",
        splits={
            "train": ("summarization/csl_ts_zh/train.tsv",),
            "dev": ("summarization/csl_ts_zh/dev.tsv",),
            "test": ("summarization/csl_ts_zh/test.tsv",),
        },
        fields={"references": "title"},
        options={"columns": ("task", "document", "title")},
    ),
    shots_split="dev",
    metrics=(Rouge(tokenizer="cjk_char", language="zh"),),
    instruction="请根据论文摘要写出论文的标题。",
    prompt="摘要：{{ document }}\n标题：",
    max_new_tokens=64,
)
