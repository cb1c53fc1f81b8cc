"""SQuAD 2.0: as SQuAD 1.1, and about half of the questions have no answer in their paragraph.

Paper: Rajpurkar, Jia and Liang (2018), "Know What You Don't Know: Unanswerable Questions for SQuAD".
Licence: CC BY-SA 4.0.
Files: train-v2.0.json and dev-v2.0.json; dev, 11,873 questions of which 5,945 have no answer, is scored.
Hub: rajpurkar/squad_v2, pinned. There an article is a cluster; in the files, a paragraph is.
Example (made up in the same form):
    context: The mill was built in 1742 and burned down twice. Its last owner sold it to the town.
    question: Who built the bridge beside the mill?
    answers: (none)
"""

from evalkit.metrics.squad import SquadV2
from evalkit.spec import Files, Hub, TaskSpec

TASK = TaskSpec(
    name="squad_v2",
    kind="qa",
    version=1,
    summary="Answer questions about Wikipedia paragraphs, or see that the paragraph has no answer.",
    language="en",
    paper="Rajpurkar et al. (2018). Know What You Don't Know: Unanswerable Questions for SQuAD.",
    licence="CC BY-SA 4.0",
    files=Files(
        format="squad_json",
        splits={"train": ("qa/squad/train-v2.0.json",), "dev": ("qa/squad/dev-v2.0.json",)},
    ),
    hub=Hub(
        name="rajpurkar/squad_v2",
        revision="3ffb306f725f7d2ce8394bc1873b24868140c412",
        splits={"train": "train", "dev": "validation"},
        fields={"answers": "answers.text", "answer_starts": "answers.answer_start", "cluster": "title"},
        checked="Name, revision, columns and sizes read in several public projects. Not loaded from here.",
    ),
    split="dev",
    metrics=(SquadV2(),),
    max_new_tokens=64,
    options={"unanswerable": True},
)
