"""Multi30k, German to English: how well short descriptions of everyday photographs are translated.

Paper: Elliott et al. (2016), "Multi30K: Multilingual English-German Image Descriptions"; Elliott et al. (2017) for test_2017.
Licence: not stated in the repository (multi30k/dataset).
Files: those of multi30k_en_de, the other way round; train 29,000, dev 1,014, test and test_2017 1,000 each.
Hub: bentrevett/multi30k, whose test split is test_2016_flickr; test_2017 is in the files only. Unpinned: no commit of it could
be looked up, so the head is loaded and the commit that it resolves to is written into the run.
Example (made up in the same form):
    source: Eine Frau in einem roten Mantel füttert Tauben auf einem Platz.
    reference: A woman in a red coat feeds pigeons in a square.
"""

from evalkit.spec import Files, Hub, TaskSpec

TASK = TaskSpec(
    name="multi30k_de_en",
    kind="mt",
    version=1,
    summary="Translate image descriptions from German to English.",
    language="en",
    source_language="de",
    paper="Elliott et al. (2016). Multi30K: Multilingual English-German Image Descriptions.",
    licence="not stated",
    files=Files(
        format="parallel_text",
        splits={
            "train": ("mt/multi30k/train.de", "mt/multi30k/train.en"),
            "dev": ("mt/multi30k/val.de", "mt/multi30k/val.en"),
            "test": ("mt/multi30k/test_2016_flickr.de", "mt/multi30k/test_2016_flickr.en"),
            "test_2017": ("mt/multi30k/test_2017_flickr.de", "mt/multi30k/test_2017_flickr.en"),
        },
    ),
    hub=Hub(
        name="bentrevett/multi30k",
        revision="",
        splits={"train": "train", "dev": "validation", "test": "test"},
        fields={"source": "de", "references": "en"},
        checked="Name, splits, sizes and columns read in public code that loads them; no commit found, so not pinned.",
    ),
    max_new_tokens=128,
)
