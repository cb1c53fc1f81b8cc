"""Word segmentation of the SIGHAN 2005 bakeoff, corpus of Microsoft Research.

Paper: Emerson (2005), "The Second International Chinese Word Segmentation Bakeoff".
Licence: for research and the bakeoff only, not commercial, as the page and the README of the corpora say.
Files: msr_training.utf8, msr_test_gold.utf8 and msr_training_words.utf8 of the archive icwb2-data; there is no dev part.
Hub: none; the corpora may not be passed on.
Metrics: the counts of the official script beside word F1 by spans; published tables are by the script. By it forward maximum
matching over the training words has an F of 0.933.
Example (made up in the same form):
    text: 林芳抵达里斯本
    words: 林芳 抵达 里斯本
"""

from evalkit.metrics.cws import Cws
from evalkit.spec import Files, TaskSpec

TASK = TaskSpec(
    name="cws_msr",
    kind="cws",
    version=1,
    summary="Cut Chinese news into words by the standard of Microsoft Research.",
    language="zh",
    paper="Emerson (2005). The Second International Chinese Word Segmentation Bakeoff.",
    licence="research and bakeoff use only",
    files=Files(
        format="sighan",
        splits={"train": ("cws/msr/msr_training.utf8",), "test": ("cws/msr/msr_test_gold.utf8",)},
        lexicon="cws/msr/msr_training_words.utf8",
    ),
    metrics=(Cws(), Cws(variant="sighan")),
    max_new_tokens=512,
)
