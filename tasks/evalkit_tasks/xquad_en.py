"""XQuAD, English part: the SQuAD questions whose translations make up XQuAD, as the yardstick of the other languages.

Paper: Artetxe, Ruder and Yogatama (2020), "On the Cross-lingual Transferability of Monolingual Representations".
Licence: CC BY-SA 4.0.
Files: xquad.en.json, 1,190 questions about 240 paragraphs; a test set only, models are trained on SQuAD 1.1.
Hub: google/xquad, configuration xquad.en, pinned.
Metrics: the SQuAD 1.1 script, which XQuAD and XTREME use for all languages; MLQA's as a second.
Example (made up in the same form):
    context: The mill was built in 1742 and burned down twice. Its last owner sold it to the town.
    question: Who bought the mill?
    answers: the town
"""

from evalkit.metrics.mlqa import Mlqa
from evalkit.metrics.squad import SquadV1
from evalkit.spec import Files, Hub, TaskSpec

TASK = TaskSpec(
    name="xquad_en",
    kind="qa",
    version=1,
    summary="Answer English questions about Wikipedia paragraphs; parallel to xquad_zh.",
    language="en",
    paper="Artetxe et al. (2020). On the Cross-lingual Transferability of Monolingual Representations.",
    licence="CC BY-SA 4.0",
    files=Files(format="squad_json", splits={"test": ("qa/xquad/xquad.en.json",)}),
    hub=Hub(
        name="google/xquad",
        revision="51adfef1c1287aab1d2d91b5bead9bcfb9c68583",
        config="xquad.en",
        splits={"test": "validation"},
        fields={"answers": "answers.text", "answer_starts": "answers.answer_start"},
        checked="Name, revision, configuration and columns read in mteb and other public projects. Not loaded from here.",
    ),
    shots_split=None,
    metrics=(SquadV1(), Mlqa(lang="en")),
    max_new_tokens=64,
)
