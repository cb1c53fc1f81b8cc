"""Universal NER, Chinese GSDSimp: names in the simplified Chinese Wikipedia.

Paper: Mayhew et al. (2024), "Universal NER: A Gold-Standard Multilingual Named Entity Recognition Benchmark".
Licence: CC BY-SA 4.0.
Files: IOB2 columns with comments; train 3,997, dev 500, test 500 sentences in words.
Hub: universalner/universal_ner is a script and cannot be loaded any more, so there is none here.
Example (made up in the same form):
    tokens: 林芳 去年 搬 到 了 里斯本 。
    tags: B-PER O O O O B-LOC O
"""

from evalkit.spec import Files, TaskSpec

TASK = TaskSpec(
    name="uner_zh_gsdsimp",
    kind="ner",
    version=1,
    summary="Find names of people, places and organisations in simplified Chinese text of Wikipedia.",
    language="zh",
    paper="Mayhew et al. (2024). Universal NER: A Gold-Standard Multilingual Named Entity Recognition Benchmark.",
    licence="CC BY-SA 4.0",
    files=Files(
        format="conll",
        splits={
            "train": ("ner/uner_zh_gsdsimp/train.iob2",),
            "dev": ("ner/uner_zh_gsdsimp/dev.iob2",),
            "test": ("ner/uner_zh_gsdsimp/test.iob2",),
        },
        options={"comments": True, "token_column": 1, "scheme": "IOB2"},
    ),
    labels=("LOC", "ORG", "PER"),
)
