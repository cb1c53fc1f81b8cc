"""CMRC 2018: questions about paragraphs of the Chinese Wikipedia that a span of the paragraph answers.

Paper: Cui et al. (2019), "A Span-Extraction Dataset for Chinese Machine Reading Comprehension".
Licence: CC BY-SA 4.0.
Files: the SQuAD-style files of the repository; dev, 3,219 questions with 3 answers each, is scored, as the test set is not
public.
Hub: hfl/cmrc2018, pinned; its splits named test are not the hidden test set.
Example (made up in the same form):
    context: 青山水库建于1958年，库容三千万立方米，主要用于灌溉和防洪。
    question: 青山水库主要用来做什么？
    answers: 灌溉和防洪 / 用于灌溉和防洪 / 灌溉和防洪
"""

from evalkit.metrics.cmrc2018 import Cmrc2018
from evalkit.spec import Files, Hub, TaskSpec

TASK = TaskSpec(
    name="cmrc2018",
    kind="qa",
    version=1,
    summary="Answer questions about paragraphs of the Chinese Wikipedia by a span of the paragraph.",
    language="zh",
    paper="Cui et al. (2019). A Span-Extraction Dataset for Chinese Machine Reading Comprehension.",
    licence="CC BY-SA 4.0",
    files=Files(
        format="squad_json",
        splits={
            "train": ("qa/cmrc2018/cmrc2018_train.squad.json",),
            "dev": ("qa/cmrc2018/cmrc2018_dev.squad.json",),
        },
    ),
    hub=Hub(
        name="hfl/cmrc2018",
        revision="137f2c45a24275fb68f6961c4d357f46288886aa",
        splits={"train": "train", "dev": "validation"},
        fields={"answers": "answers.text", "answer_starts": "answers.answer_start"},
        checked="Name, revision, its Parquet files and columns read in several public projects. Not loaded from here.",
    ),
    split="dev",
    metrics=(Cmrc2018(),),
    max_new_tokens=64,
)
