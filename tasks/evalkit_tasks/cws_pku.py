"""Word segmentation of the SIGHAN 2005 bakeoff, corpus of Peking University.

Paper: Emerson (2005), "The Second International Chinese Word Segmentation Bakeoff".
Licence: for research and the bakeoff only, not commercial, as the page and the README of the corpora say.
Files: pku_training.utf8, pku_test_gold.utf8 and pku_training_words.utf8 of the archive icwb2-data; there is no dev part.
Hub: none; the corpora may not be passed on.
Metrics: the counts of the official script beside word F1 by spans; published tables are by the script. By it forward maximum
matching over the training words has an F of 0.869.
Example (made up in the same form):
    text: 林芳抵达里斯本
    words: 林 芳 抵达 里斯本
"""

from evalkit.metrics.cws import Cws
from evalkit.spec import Files, TaskSpec

TASK = TaskSpec(
    name="cws_pku",
    kind="cws",
    version=1,
    summary="Cut Chinese news into words by the standard of Peking University.",
    language="zh",
    paper="Emerson (2005). The Second International Chinese Word Segmentation Bakeoff.",
    licence="research and bakeoff use only",
    files=Files(
        format="sighan",
        splits={"train": ("cws/pku/pku_training.utf8",), "test": ("cws/pku/pku_test_gold.utf8",)},
        lexicon="cws/pku/pku_training_words.utf8",
    ),
    metrics=(Cws(), Cws(variant="sighan")),
    max_new_tokens=512,
)
