"""XQuAD, Chinese part: SQuAD paragraphs and questions in Chinese translation, for models that were trained in English.

Paper: Artetxe, Ruder and Yogatama (2020), "On the Cross-lingual Transferability of Monolingual Representations".
Licence: CC BY-SA 4.0.
Files: xquad.zh.json, 1,190 questions about 240 paragraphs; a test set only, models are trained on SQuAD 1.1.
Hub: google/xquad, configuration xquad.zh, pinned.
Metrics: the SQuAD 1.1 script comes first, since XQuAD and XTREME use it for all languages; to it a Chinese answer is one token,
so that its F1 says little more than its exact match. MLQA's and CMRC 2018's, which count characters, stand beside it.
Example (made up in the same form):
    context: 这座磨坊建于1742年，曾两次毁于大火。最后一任主人把它卖给了镇上。
    question: 磨坊是哪一年建的？
    answers: 1742年
"""

from evalkit.metrics.cmrc2018 import Cmrc2018
from evalkit.metrics.mlqa import Mlqa
from evalkit.metrics.squad import SquadV1
from evalkit.spec import Files, Hub, TaskSpec

TASK = TaskSpec(
    name="xquad_zh",
    kind="qa",
    version=1,
    summary="Answer Chinese questions about translated Wikipedia paragraphs; parallel to xquad_en.",
    language="zh",
    paper="Artetxe et al. (2020). On the Cross-lingual Transferability of Monolingual Representations.",
    licence="CC BY-SA 4.0",
    files=Files(format="squad_json", splits={"test": ("qa/xquad/xquad.zh.json",)}),
    hub=Hub(
        name="google/xquad",
        revision="51adfef1c1287aab1d2d91b5bead9bcfb9c68583",
        config="xquad.zh",
        splits={"test": "validation"},
        fields={"answers": "answers.text", "answer_starts": "answers.answer_start"},
        checked="Name, revision, configuration and columns read in mteb and other public projects. Not loaded from here.",
    ),
    shots_split=None,
    metrics=(SquadV1(), Mlqa(lang="zh"), Cmrc2018()),
    max_new_tokens=64,
)
