"""CNN/DailyMail: three or four sentences with the main points of a news article.

Paper: Hermann et al. (2015), "Teaching Machines to Read and Comprehend"; as a summarization task Nallapati et al. (2016) and,
without anonymous entities (version 3.0.0), See et al. (2017), "Get To The Point".
Licence: Apache-2.0 for the prepared data set, as its card says; the articles are CNN's and the Daily Mail's.
Files: JSON lines with id, article and highlights, the highlights one a line.
Hub: abisee/cnn_dailymail, configuration 3.0.0, pinned; train 287,113, dev 13,368, test 11,490.
Metrics: ROUGE with Porter stems. rougeLsum takes each line as a sentence, so a model should write one sentence a line.
Example (made up in the same form):
    document: (Town Herald) -- The old cinema on Mill Street will open again in May, its new owners said. They want to ...
    reference: Cinema on Mill Street opens again in May .
    New owners plan live music on weekends .
"""

from evalkit.metrics.rouge import Rouge
from evalkit.spec import Files, Hub, TaskSpec

TASK = TaskSpec(
    name="cnn_dailymail",
    kind="summarization",
    version=1,
    summary="Give the main points of a news article in three or four sentences.",
    language="en",
    paper="Hermann et al. (2015). Teaching Machines to Read and Comprehend; See et al. (2017). Get To The Point.",
    licence="Apache-2.0 (prepared data set); the articles are their publishers'",
    files=Files(
        format="jsonl",
        splits={
            "train": ("summarization/cnn_dailymail/train.jsonl",),
            "dev": ("summarization/cnn_dailymail/validation.jsonl",),
            "test": ("summarization/cnn_dailymail/test.jsonl",),
        },
        fields={"document": "article", "references": "highlights"},
    ),
    hub=Hub(
        name="abisee/cnn_dailymail",
        revision="96df5e686bee6baa90b8bee7c28b81fa3fa6223d",
        config="3.0.0",
        splits={"train": "train", "dev": "validation", "test": "test"},
        fields={"document": "article", "references": "highlights"},
        checked="Name, revision, configuration and columns read in several public projects. Not loaded from here.",
    ),
    metrics=(Rouge(use_stemmer=True, language="en"),),
    instruction="Give the main points of the article in three or four sentences, one a line.",
    prompt="Article: {{ document }}\nMain points:",
    answer="\n{{ references[0] }}",
    stop=("\n\n",),
    max_new_tokens=256,
)
