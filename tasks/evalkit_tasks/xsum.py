"""XSum: one sentence that says what a BBC article is about.

Paper: Narayan, Cohen and Lapata (2018), "Don't Give Me the Details, Just the Summary!".
Licence: unknown, as the data set's card says; the articles are the BBC's.
Files: JSON lines with document, summary and id, which people make from the archive of the authors.
Hub: EdinburghNLP/xsum, pinned to a commit that holds Parquet files; train 204,045, dev 11,332, test 11,334.
Metrics: ROUGE with Porter stems, as papers on XSum report it.
Example (made up in the same form):
    document: The ferry to the island will not sail this winter. The company says too few people travel ...
    reference: The winter ferry to an island has been cancelled because of low demand.
"""

from evalkit.metrics.rouge import Rouge
from evalkit.spec import Files, Hub, TaskSpec

TASK = TaskSpec(
    name="xsum",
    kind="summarization",
    version=1,
    summary="Sum up a BBC article in one sentence.",
    language="en",
    paper="Narayan et al. (2018). Don't Give Me the Details, Just the Summary!",
    licence="unknown (data set card)",
    files=Files(
        format="jsonl",
        splits={
            "train": ("summarization/xsum/train.jsonl",),
            "dev": ("summarization/xsum/validation.jsonl",),
            "test": ("summarization/xsum/test.jsonl",),
        },
        fields={"references": "summary"},
    ),
    hub=Hub(
        name="EdinburghNLP/xsum",
        revision="7d4d486c2f8ef850b1a11aead99b894ff3dd7da9",
        splits={"train": "train", "dev": "validation", "test": "test"},
        fields={"references": "summary"},
        checked="Name, revision, its Parquet files and columns read in several public projects. Not loaded from here.",
    ),
    metrics=(Rouge(use_stemmer=True, language="en"),),
    instruction="Sum up the article in one sentence.",
    prompt="Article: {{ document }}\nSummary:",
    max_new_tokens=128,
)
