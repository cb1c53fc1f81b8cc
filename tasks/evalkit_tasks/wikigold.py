"""WikiGold: names in sentences of the English Wikipedia, annotated by hand.

Paper: Balasuriya et al. (2009), "Named Entity Recognition in Wikipedia".
Licence: CC BY 4.0.
Files: one file in CoNLL columns, 1,696 sentences of 145 articles; an article is a cluster. Its tags have no B-, so neighbouring
names of one type cannot be told apart; they become IOB2. A test set only; models are trained elsewhere, e.g. on CoNLL-2003.
Hub: none that was found in public code with its columns.
Example (made up in the same form):
    tokens: Karin Holt moved to Lisbon in 1987 .
    tags: B-PER I-PER O O B-LOC O O O
"""

from evalkit.metrics.conlleval import Conlleval
from evalkit.metrics.seqeval import Seqeval
from evalkit.spec import Files, TaskSpec

TASK = TaskSpec(
    name="wikigold",
    kind="ner",
    version=1,
    summary="Find names of people, places, organisations and others in the English Wikipedia.",
    language="en",
    paper="Balasuriya et al. (2009). Named Entity Recognition in Wikipedia.",
    licence="CC BY 4.0",
    files=Files(
        format="conll",
        splits={"test": ("ner/wikigold/wikigold.conll.txt",)},
        options={"scheme": "IO"},
    ),
    shots_split=None,
    metrics=(Seqeval(), Conlleval()),
    labels=("LOC", "MISC", "ORG", "PER"),
)
