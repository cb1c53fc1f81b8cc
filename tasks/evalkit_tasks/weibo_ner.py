"""Weibo NER: names and nominal mentions in Chinese microblog posts.

Paper: Peng and Dredze (2015), "Named Entity Recognition for Chinese Social Media with Jointly Trained Embeddings"; data as
corrected by He and Sun (2017).
Licence: CC BY-SA 3.0 for the annotations; the messages follow the terms of the site.
Files: weiboNER_2nd_conll.{train,dev,test} without the digit of the word segmentation behind each character; character and tag.
Hub: PassbyGrocer/weibo-ner, a copy by a third party. Unpinned: no commit of it could be looked up, so the head is loaded and the
commit that it resolves to is written into the run.
Types: GPE, LOC, ORG and PER, each as a name (NAM) and as a nominal mention (NOM).
Example (made up in the same form):
    tokens: 想 去 里 斯 本 看 妹 妹
    tags: O O B-GPE.NAM I-GPE.NAM I-GPE.NAM O B-PER.NOM I-PER.NOM
"""

from evalkit.spec import Files, Hub, TaskSpec

TASK = TaskSpec(
    name="weibo_ner",
    kind="ner",
    version=1,
    summary="Find names and nominal mentions in Chinese microblog posts.",
    language="zh",
    paper="Peng and Dredze (2015). Named Entity Recognition for Chinese Social Media with Jointly Trained Embeddings.",
    licence="CC BY-SA 3.0 (annotations); the messages follow the site's terms",
    files=Files(
        format="conll",
        splits={
            "train": ("ner/weibo/weiboNER_2nd_conll.train",),
            "dev": ("ner/weibo/weiboNER_2nd_conll.dev",),
            "test": ("ner/weibo/weiboNER_2nd_conll.test",),
        },
        options={"scheme": "IOB2"},
    ),
    hub=Hub(
        name="PassbyGrocer/weibo-ner",
        revision="",
        splits={"train": "train", "dev": "validation", "test": "test"},
        fields={"tags": "ner_tags"},
        checked="Name, Parquet files and columns read in public code that loads them; no commit found, so not pinned.",
    ),
    labels=("GPE.NAM", "GPE.NOM", "LOC.NAM", "LOC.NOM", "ORG.NAM", "ORG.NOM", "PER.NAM", "PER.NOM"),
)
