"""DRCD: questions about paragraphs of the Chinese Wikipedia, in traditional characters.

Paper: Shao et al. (2018), "DRCD: a Chinese Machine Reading Comprehension Dataset".
Licence: CC BY-SA 3.0.
Files: DRCD_training.json, DRCD_dev.json and DRCD_test.json; test has 3,493 questions.
Hub: clue/clue, configuration drcd, pinned.
Metrics: the authors' convention first (characters of the normalised answer); that of CMRC 2018, by which HFL's models are scored
on DRCD, second. Both are published under the name of DRCD and differ.
Example (made up in the same form):
    context: 青山水庫建於1958年，庫容三千萬立方公尺，主要用於灌溉與防洪。
    question: 青山水庫建於哪一年？
    answers: 1958年
"""

from evalkit.metrics.cmrc2018 import Cmrc2018
from evalkit.metrics.drcd import Drcd
from evalkit.spec import Files, Hub, TaskSpec

TASK = TaskSpec(
    name="drcd",
    kind="qa",
    version=1,
    summary="Answer questions about paragraphs in traditional Chinese by a span of the paragraph.",
    language="zh",
    paper="Shao et al. (2018). DRCD: a Chinese Machine Reading Comprehension Dataset.",
    licence="CC BY-SA 3.0",
    files=Files(
        format="squad_json",
        splits={
            "train": ("qa/drcd/DRCD_training.json",),
            "dev": ("qa/drcd/DRCD_dev.json",),
            "test": ("qa/drcd/DRCD_test.json",),
        },
    ),
    hub=Hub(
        name="clue/clue",
        revision="28178267a609dd08bdc703dd6c931dfc2c2f4431",
        config="drcd",
        splits={"train": "train", "dev": "validation", "test": "test"},
        fields={"answers": "answers.text", "answer_starts": "answers.answer_start"},
        checked="Name and revision read in two public projects, which use other configurations; configuration and splits in code "
        "that loads an older revision; columns by analogy with cmrc2018. Not loaded from here.",
    ),
    metrics=(Drcd(), Cmrc2018()),
    instruction="請用文章中的詞語回答問題。",
    prompt="文章：{{ context }}\n問題：{{ question }}\n答案：",
    max_new_tokens=64,
)
