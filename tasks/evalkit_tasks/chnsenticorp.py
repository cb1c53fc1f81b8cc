"""ChnSentiCorp: whether a Chinese review of a hotel, book or computer is positive or negative.

Paper: Tan and Zhang (2008), "An empirical study of sentiment analysis for Chinese documents".
Licence: not stated.
Files: train.tsv, dev.tsv and test.tsv with the columns label and text_a, as copies for BERT models have them.
Hub: lansinuote/ChnSentiCorp, pinned; train 9,600, dev and test 1,200.
Example (made up in the same form):
    text: 房间干净，窗外能看到河，早餐也不错，下次还会住这里。
    label: 正面
"""

from evalkit.spec import Files, Hub, TaskSpec

TASK = TaskSpec(
    name="chnsenticorp",
    kind="classification",
    version=1,
    summary="Tell whether a Chinese review is positive or negative.",
    language="zh",
    paper="Tan and Zhang (2008). An empirical study of sentiment analysis for Chinese documents.",
    licence="not stated",
    files=Files(
        format="tsv",
        splits={
            "train": ("classification/chnsenticorp/train.tsv",),
            "dev": ("classification/chnsenticorp/dev.tsv",),
            "test": ("classification/chnsenticorp/test.tsv",),
        },
        fields={"text": "text_a"},
        options={"values": {"label": {"0": "负面", "1": "正面"}}},
    ),
    hub=Hub(
        name="lansinuote/ChnSentiCorp",
        revision="b0c4c119c3fb33b8e735969202ef9ad13d717e5a",
        splits={"train": "train", "dev": "validation", "test": "test"},
        options={"names": ("负面", "正面")},
        checked="Name, revision, columns, splits and meaning of labels read in several public projects. Not loaded from here.",
    ),
    labels=("负面", "正面"),
    instruction="请判断评论的情感是正面还是负面。",
    prompt="评论：{{ text }}\n情感：",
    max_new_tokens=8,
)
