"""Universal NER, Chinese PUD: names in news and Wikipedia, translated to traditional Chinese; parallel to uner_en_pud.

Paper: Mayhew et al. (2024), "Universal NER: A Gold-Standard Multilingual Named Entity Recognition Benchmark".
Licence: CC BY-SA 3.0.
Files: IOB2 columns with comments; 1,000 sentences in words, a test set only.
Hub: universalner/universal_ner is a script and cannot be loaded any more, so there is none here.
Example (made up in the same form):
    tokens: 林芳 去年 搬到 了 里斯本 。
    tags: B-PER O O O B-LOC O
"""

from evalkit.spec import Files, TaskSpec

TASK = TaskSpec(
    name="uner_zh_pud",
    kind="ner",
    version=1,
    summary="Find names of people, places and organisations in traditional Chinese news and Wikipedia text.",
    language="zh",
    paper="Mayhew et al. (2024). Universal NER: A Gold-Standard Multilingual Named Entity Recognition Benchmark.",
    licence="CC BY-SA 3.0",
    files=Files(
        format="conll",
        splits={
            "test": ("ner/uner_zh_pud/test.iob2",),
        },
        options={"comments": True, "token_column": 1, "scheme": "IOB2"},
    ),
    shots_split=None,
    labels=("LOC", "ORG", "PER"),
)
