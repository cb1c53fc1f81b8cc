"""E2E NLG: text about a restaurant from a list of its attributes.

Paper: Novikova, Dušek and Rieser (2017), "The E2E Dataset: New Challenges For End-to-End Generation"; scores: Dušek et al.
(2020), "Evaluating the State-of-the-Art of End-to-End Natural Language Generation".
Licence: CC BY-SA 4.0 (data set); that of the published system outputs is not stated.
Kind: mt, as its form is a source text and references; the source is a meaning representation and nothing is translated.
Files: 630 inputs of the test set with 4,693 references, 1 to 45 each, in the order in which the inputs are first seen.
Hub: tuetschek/e2e_nlg is a script; what is loaded is the branch in which the hub keeps its Parquet conversion of it. The branch
moves with the script only; the commit that it resolves to is written into the run.
Metrics: BLEU with lower case, as the official script of the challenge (mteval-v13a) counts it.
Example (made up in the same form):
    source: name[The Green Boat], eatType[pub], food[Thai], area[riverside]
    references: The Green Boat is a pub by the river that serves Thai food. / By the riverside is a Thai pub, The Green Boat.
"""

from evalkit.metrics.bleu import Bleu
from evalkit.metrics.chrf import Chrf
from evalkit.spec import Files, Hub, TaskSpec

TASK = TaskSpec(
    name="e2e_nlg",
    kind="mt",
    version=1,
    summary="Write fluent English about a restaurant from its attributes.",
    language="en",
    paper="Novikova et al. (2017). The E2E Dataset: New Challenges For End-to-End Generation.",
    licence="CC BY-SA 4.0",
    files=Files(
        format="csv",
        splits={
            "train": ("nlg/e2e/trainset.csv",),
            "dev": ("nlg/e2e/devset.csv",),
            "test": ("nlg/e2e/testset_w_refs.csv",),
        },
        fields={"source": "mr", "references": "ref"},
        options={"group_by": "source"},
    ),
    hub=Hub(
        name="tuetschek/e2e_nlg",
        revision="refs/convert/parquet",
        splits={"train": "train", "dev": "validation", "test": "test"},
        fields={"source": "meaning_representation", "references": "human_reference"},
        options={"group_by": "source"},
        checked="Name, branch, splits and columns read in public code that loads them; no commit of the branch found.",
    ),
    metrics=(Bleu(language="en", lowercase=True), Chrf()),
    instruction="Write a fluent English text that says all of the restaurant's attributes and nothing else.",
    prompt="Attributes: {{ source }}\nText:",
    max_new_tokens=128,
)
