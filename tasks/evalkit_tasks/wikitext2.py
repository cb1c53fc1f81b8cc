"""WikiText-2: how well a model predicts articles of the English Wikipedia, words as in the tokenized version.

Paper: Merity et al. (2017), "Pointer Sentinel Mixture Models".
Licence: WikiText is text of Wikipedia, CC BY-SA 3.0 and GFDL; not stated where the files come from (pytorch/examples).
Files: the tokenized version with <unk>; an example is an article, and joined the examples are the file. dev has 217,646 and test
245,569 tokens where each line ends with one <eos>, which is what published closed-vocabulary perplexities divide by.
Hub: EleutherAI/wikitext_document_level, configuration wikitext-2-v1, pinned; an example is an article there too.
Metrics: word perplexity with the words of lm-evaluation-harness, the pieces between white space, 241,331 in test. A line's end is
no word to it, so it divides by less than the token count above, and is a little higher. It is not the harness's task
``wikitext``, which scores the raw version with its spacing undone.
Example (made up in the same form):
    text:  = Green Mill =
           The Green Mill is a <unk> in the county of Holt . It was built in 1742 , and burned down twice .
"""

from evalkit.metrics.perplexity import Perplexity
from evalkit.spec import Files, Hub, TaskSpec

TASK = TaskSpec(
    name="wikitext2",
    kind="lm",
    version=1,
    summary="Predict articles of the English Wikipedia (tokenized, small vocabulary).",
    language="en",
    paper="Merity et al. (2017). Pointer Sentinel Mixture Models.",
    licence="CC BY-SA 3.0 and GFDL (text of Wikipedia)",
    files=Files(
        format="plain_text",
        splits={
            "train": ("lm/wikitext2/train.txt",),
            "dev": ("lm/wikitext2/valid.txt",),
            "test": ("lm/wikitext2/test.txt",),
        },
        options={"unit": "wikitext"},
    ),
    hub=Hub(
        name="EleutherAI/wikitext_document_level",
        revision="647234772b9554e208af6c826f23b99e3cac88c8",
        config="wikitext-2-v1",
        splits={"train": "train", "dev": "validation", "test": "test"},
        fields={"text": "page"},
        checked="Name, revision, Parquet files and column read in public projects that load wikitext-2-raw-v1; this "
        "configuration in a link to it. Not loaded from here.",
    ),
    metrics=(Perplexity(main="word_perplexity"),),
)
