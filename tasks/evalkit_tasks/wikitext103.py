"""WikiText-103: how well a model predicts articles of the English Wikipedia, words as in the tokenized version.

Paper: Merity et al. (2017), "Pointer Sentinel Mixture Models".
Licence: WikiText is text of Wikipedia, CC BY-SA 3.0 and GFDL.
Files: wiki.{train,valid,test}.tokens of the archive; an example is an article, and joined the examples are the file. dev and test
are those of WikiText-2 with a larger vocabulary, and so with fewer <unk>.
Hub: EleutherAI/wikitext_document_level, configuration wikitext-103-v1, pinned; an example is an article there too.
Metrics: word perplexity with the words of lm-evaluation-harness, as for wikitext2.
Example (made up in the same form):
    text:  = Green Mill =
           The Green Mill is a watermill in the county of Holt . It was built in 1742 , and burned down twice .
"""

from evalkit.metrics.perplexity import Perplexity
from evalkit.spec import Files, Hub, TaskSpec

TASK = TaskSpec(
    name="wikitext103",
    kind="lm",
    version=1,
    summary="Predict articles of the English Wikipedia (tokenized, large vocabulary).",
    language="en",
    paper="Merity et al. (2017). Pointer Sentinel Mixture Models.",
    licence="CC BY-SA 3.0 and GFDL (text of Wikipedia)",
    files=Files(
        format="plain_text",
        splits={
            "train": ("lm/wikitext103/wiki.train.tokens",),
            "dev": ("lm/wikitext103/wiki.valid.tokens",),
            "test": ("lm/wikitext103/wiki.test.tokens",),
        },
        options={"unit": "wikitext"},
    ),
    hub=Hub(
        name="EleutherAI/wikitext_document_level",
        revision="647234772b9554e208af6c826f23b99e3cac88c8",
        config="wikitext-103-v1",
        splits={"train": "train", "dev": "validation", "test": "test"},
        fields={"text": "page"},
        checked="Name, revision, Parquet files and column read in public projects that load wikitext-103-raw-v1; this "
        "configuration in code without a revision. Not loaded from here.",
    ),
    metrics=(Perplexity(main="word_perplexity"),),
)
