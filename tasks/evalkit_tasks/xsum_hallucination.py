"""XSum hallucination annotations: published summaries of XSum articles by four systems, with their published ROUGE.

Paper: Maynez et al. (2020), "On Faithfulness and Factuality in Abstractive Summarization".
Licence: CC BY 4.0.
Files: 1,992 lines, one for each of 498 articles and 4 systems, with the system's summary and the reference, but no article. So
the task serves for scoring these summaries (``predictions:FILE``, one summary a line in the order of the file); the document is
empty, and a model that is asked for a summary has nothing to read. An article is a cluster of four lines.
Hub: none in this form.
Metrics: ROUGE with Porter stems; the published values come from Perl ROUGE, which stems a few words otherwise.
Example (made up in the same form):
    document: (empty)
    reference: the winter ferry to an island has been cancelled because of low demand.
"""

from evalkit.metrics.rouge import Rouge
from evalkit.spec import Files, TaskSpec

TASK = TaskSpec(
    name="xsum_hallucination",
    kind="summarization",
    version=1,
    summary="Score published summaries of XSum articles; the articles are not part of the data.",
    language="en",
    paper="Maynez et al. (2020). On Faithfulness and Factuality in Abstractive Summarization.",
    licence="CC BY 4.0",
    files=Files(
        format="jsonl",
        splits={"test": ("summarization/xsum_hallucination/scored_summaries.jsonl",)},
        fields={"references": "reference", "cluster": "bbcid"},
        options={"constants": {"document": ""}},
    ),
    shots_split=None,
    metrics=(Rouge(use_stemmer=True, language="en"),),
    max_new_tokens=128,
)
