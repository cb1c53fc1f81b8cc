"""WNUT 2017: new and rare names in noisy English text from Twitter, Reddit, YouTube and StackExchange.

Paper: Derczynski et al. (2017), "Results of the WNUT2017 Shared Task on Novel and Emerging Entity Recognition".
Licence: CC BY 4.0; the posts keep the user names with which they were published.
Files: those of the shared task; train 3,394, dev 1,009, test 1,287 sentences. A line that begins with # is a token, a hashtag.
Hub: leondz/wnut_17, pinned to a commit of the hub's Parquet conversion, as the set itself is a script.
Metrics: seqeval as it is, then strictly by IOB2; the published entity F1 of the shared task is the first.
Example (made up in the same form):
    tokens: just saw @mira at Kola Cafe lol
    tags: O O B-person O B-location I-location O
"""

from evalkit.metrics.seqeval import Seqeval
from evalkit.spec import Files, Hub, TaskSpec

TASK = TaskSpec(
    name="wnut17",
    kind="ner",
    version=1,
    summary="Find new and rare names of six types in noisy English text.",
    language="en",
    paper="Derczynski et al. (2017). Results of the WNUT2017 Shared Task on Novel and Emerging Entity Recognition.",
    licence="CC BY 4.0",
    files=Files(
        format="conll",
        splits={
            "train": ("ner/wnut17/wnut17train.conll",),
            "dev": ("ner/wnut17/emerging.dev.conll",),
            "test": ("ner/wnut17/emerging.test.annotated",),
        },
        options={"scheme": "IOB2"},
    ),
    hub=Hub(
        name="leondz/wnut_17",
        revision="1ac0b6d18c8a1a1d1606b24bef78b8af2f92d2d9",
        splits={"train": "train", "dev": "validation", "test": "test"},
        fields={"tags": "ner_tags"},
        checked="Name, revision, its Parquet files and columns read in one public project. Not loaded from here.",
    ),
    metrics=(Seqeval(), Seqeval(mode="strict", scheme="IOB2")),
    labels=("corporation", "creative-work", "group", "location", "person", "product"),
)
