"""CoNLL-2003, English: names in news of Reuters.

Paper: Tjong Kim Sang and De Meulder (2003), "Introduction to the CoNLL-2003 Shared Task".
Licence: the annotations are free for research; the text is Reuters' and needs an agreement with NIST.
Files: eng.train, eng.testa (dev) and eng.testb (test) with four columns; their tags are IOB1 and become IOB2. An article is a
cluster.
Hub: tomaarsen/conll2003, a copy with the columns of the original. Unpinned: no commit of it could be looked up, so the head is
loaded and the commit that it resolves to is written into the run. eriktks/conll2003 is a script and cannot be loaded any more.
Metrics: seqeval, and conlleval, which is the shared task's own scorer; on IOB2 both agree.
Example (made up in the same form):
    tokens: Karin Holt of Nordbank said in Oslo
    tags: B-PER I-PER O B-ORG O O B-LOC
"""

from evalkit.metrics.conlleval import Conlleval
from evalkit.metrics.seqeval import Seqeval
from evalkit.spec import Files, Hub, TaskSpec

TASK = TaskSpec(
    name="conll2003",
    kind="ner",
    version=1,
    summary="Find names of people, places, organisations and others in English news.",
    language="en",
    paper="Tjong Kim Sang and De Meulder (2003). Introduction to the CoNLL-2003 Shared Task.",
    licence="annotations for research; Reuters text under an agreement with NIST",
    files=Files(
        format="conll",
        splits={
            "train": ("ner/conll2003/eng.train",),
            "dev": ("ner/conll2003/eng.testa",),
            "test": ("ner/conll2003/eng.testb",),
        },
        options={"scheme": "IOB1"},
    ),
    hub=Hub(
        name="tomaarsen/conll2003",
        revision="",
        splits={"train": "train", "dev": "validation", "test": "test"},
        fields={"tags": "ner_tags"},
        options={"names": ("O", "B-PER", "I-PER", "B-ORG", "I-ORG", "B-LOC", "I-LOC", "B-MISC", "I-MISC")},
        checked="Name, Parquet files, columns and names of tags read in public code that loads them; no commit found, so not "
        "pinned.",
    ),
    metrics=(Seqeval(), Conlleval()),
    labels=("LOC", "MISC", "ORG", "PER"),
)
