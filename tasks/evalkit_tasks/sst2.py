"""SST-2: whether a sentence of a film review is positive or negative.

Paper: Socher et al. (2013), "Recursive Deep Models for Semantic Compositionality Over a Sentiment Treebank"; as a task of GLUE,
Wang et al. (2019).
Licence: unknown, as the data set's card says.
Files: train.tsv and dev.tsv of GLUE's SST-2; dev, 872 sentences, is scored, as the labels of the test set are not public.
Hub: stanfordnlp/sst2, pinned.
Example (made up in the same form):
    text: a warm and quietly funny portrait of a village in winter
    label: positive
"""

from evalkit.spec import Files, Hub, TaskSpec

TASK = TaskSpec(
    name="sst2",
    kind="classification",
    version=1,
    summary="Tell whether a sentence of a film review is positive or negative.",
    language="en",
    paper="Socher et al. (2013). Recursive Deep Models for Semantic Compositionality Over a Sentiment Treebank.",
    licence="unknown (data set card)",
    files=Files(
        format="tsv",
        splits={"train": ("classification/sst2/train.tsv",), "dev": ("classification/sst2/dev.tsv",)},
        fields={"text": "sentence"},
        options={"values": {"label": {"0": "negative", "1": "positive"}}},
    ),
    hub=Hub(
        name="stanfordnlp/sst2",
        revision="8d51e7e4887a4caaa95b3fbebbf53c0490b58bbb",
        splits={"train": "train", "dev": "validation"},
        fields={"text": "sentence"},
        options={"names": ("negative", "positive")},
        checked="Name, revision, columns, labels and size of dev read in several public projects. Not loaded from here.",
    ),
    split="dev",
    labels=("negative", "positive"),
    instruction="Tell whether the review is negative or positive.",
    prompt="Review: {{ text }}\nSentiment:",
    max_new_tokens=8,
)
