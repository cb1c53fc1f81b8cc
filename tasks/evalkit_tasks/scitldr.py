"""SciTLDR: one sentence that says what a paper in computer science contributes, from its abstract.

Paper: Cachola et al. (2020), "TLDR: Extreme Summarization of Scientific Documents".
Licence: Apache-2.0.
Files: SciTLDR-A, whose source is the abstract; train 1,992, dev 619, test 618 papers. Dev and test papers have several
summaries. Two test papers have the abstract of a training paper, as published.
Hub: allenai/scitldr is a script and cannot be loaded any more, so there is none here.
Metrics: ROUGE with Porter stems, for each type against the reference that suits best, as the paper does.
Example (made up in the same form):
    document: Training large models is slow. We show that half of the layers can be frozen early. ...
    references: We freeze half of the layers early and train twice as fast. / Early freezing of layers halves training time.
"""

from evalkit.metrics.rouge import Rouge
from evalkit.spec import Files, TaskSpec

TASK = TaskSpec(
    name="scitldr",
    kind="summarization",
    version=1,
    summary="Say in one sentence what a paper contributes, from its abstract.",
    language="en",
    paper="Cachola et al. (2020). TLDR: Extreme Summarization of Scientific Documents.",
    licence="Apache-2.0",
    files=Files(
        format="jsonl",
        splits={
            "train": ("summarization/scitldr_a/train.jsonl",),
            "dev": ("summarization/scitldr_a/dev.jsonl",),
            "test": ("summarization/scitldr_a/test.jsonl",),
        },
        fields={"id": "paper_id", "document": "source", "references": "target"},
        options={"join": {"document": " "}},
    ),
    metrics=(Rouge(use_stemmer=True, language="en"),),
    instruction="Say in one sentence what the paper contributes.",
    prompt="Abstract: {{ document }}\nTL;DR:",
    max_new_tokens=128,
)
