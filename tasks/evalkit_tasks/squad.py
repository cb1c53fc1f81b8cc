"""SQuAD 1.1: questions about Wikipedia paragraphs that a span of the paragraph answers.

Paper: Rajpurkar et al. (2016), "SQuAD: 100,000+ Questions for Machine Comprehension of Text".
Licence: CC BY-SA 4.0.
Files: train-v1.1.json and dev-v1.1.json; dev, 10,570 questions, is scored, as the test set is not public.
Hub: rajpurkar/squad, pinned. There an article is a cluster; in the files, a paragraph is.
Example (made up in the same form):
    context: The mill was built in 1742 and burned down twice. Its last owner sold it to the town.
    question: When was the mill built?
    answers: 1742 / in 1742
"""

from evalkit.metrics.squad import SquadV1
from evalkit.spec import Files, Hub, TaskSpec

TASK = TaskSpec(
    name="squad",
    kind="qa",
    version=1,
    summary="Answer questions about Wikipedia paragraphs by a span of the paragraph.",
    language="en",
    paper="Rajpurkar et al. (2016). SQuAD: 100,000+ Questions for Machine Comprehension of Text.",
    licence="CC BY-SA 4.0",
    files=Files(
        format="squad_json",
        splits={"train": ("qa/squad/train-v1.1.json",), "dev": ("qa/squad/dev-v1.1.json",)},
    ),
    hub=Hub(
        name="rajpurkar/squad",
        revision="7b6d24c440a36b6815f21b70d25016731768db1f",
        splits={"train": "train", "dev": "validation"},
        fields={"answers": "answers.text", "answer_starts": "answers.answer_start", "cluster": "title"},
        checked="Name, revision and columns read in several public projects. Not loaded from here.",
    ),
    split="dev",
    metrics=(SquadV1(),),
    max_new_tokens=64,
)
