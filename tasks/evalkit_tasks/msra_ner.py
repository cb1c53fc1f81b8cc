"""MSRA NER: names in Chinese news, character by character.

Paper: Levow (2006), "The Third International Chinese Language Processing Bakeoff".
Licence: not stated.
Files: msra_train_bio.txt and msra_test_bio.txt, a character and its tag a line. There is no dev part.
Hub: PassbyGrocer/msra-ner, a copy by a third party whose test split has 4,365 sentences; other copies cut the text otherwise.
Unpinned: no commit of it could be looked up, so the head is loaded and the commit that it resolves to is written into the run.
levow/msra_ner is a script and cannot be loaded any more.
Example (made up in the same form):
    tokens: 林 芳 昨 天 抵 达 里 斯 本
    tags: B-PER I-PER O O O O B-LOC I-LOC I-LOC
"""

from evalkit.spec import Files, Hub, TaskSpec

TASK = TaskSpec(
    name="msra_ner",
    kind="ner",
    version=1,
    summary="Find names of people, places and organisations in Chinese news.",
    language="zh",
    paper="Levow (2006). The Third International Chinese Language Processing Bakeoff.",
    licence="not stated",
    files=Files(
        format="conll",
        splits={"train": ("ner/msra/msra_train_bio.txt",), "test": ("ner/msra/msra_test_bio.txt",)},
        options={"scheme": "IOB2"},
    ),
    hub=Hub(
        name="PassbyGrocer/msra-ner",
        revision="",
        splits={"train": "train", "test": "test"},
        fields={"tags": "ner_tags"},
        options={"names": ("O", "B-LOC", "I-LOC", "B-ORG", "I-ORG", "B-PER", "I-PER")},
        checked="Name, columns and names of tags read in public code that loads them; no commit found, so not pinned.",
    ),
    labels=("LOC", "ORG", "PER"),
)
