"""Tatoeba, Chinese to English: short everyday sentences, mostly in simplified, some in traditional characters.

Paper: none; sentence pairs of the Tatoeba contributors as manythings.org publishes them (cmn-eng).
Licence: CC BY 2.0 FR; the third column of the file is the attribution and belongs to each pair.
Files: 24,026 pairs, English TAB Chinese TAB attribution, and no splits of their own.
Splits: by SHA-256 of the Chinese sentence, so that none is in two of them; expected shares are test 0.1, dev 0.05 and train 0.85.
Pairs with the same Chinese sentence are one example with several references. Train has 18,741, dev 1,084 and test 2,229
examples. An English sentence with several Chinese ones can still be in two splits: 125 test examples have a reference that train
has too.
Hub: none with these splits.
Example (made up in the same form):
    source: 我把伞忘在公交车上了。
    references: I left my umbrella on the bus. / I forgot my umbrella on the bus.
"""

from evalkit.spec import Files, TaskSpec

_FILE = ("mt/tatoeba_cmn_eng/cmn.txt",)

TASK = TaskSpec(
    name="tatoeba_zh_en",
    kind="mt",
    version=1,
    summary="Translate short everyday sentences from Chinese to English.",
    language="en",
    source_language="zh",
    paper="Tatoeba contributors, sentence pairs by manythings.org",
    licence="CC BY 2.0 FR; keep the attribution column",
    files=Files(
        format="tsv",
        splits={"train": _FILE, "dev": _FILE, "test": _FILE},
        fields={"source": "chinese", "references": "english"},
        options={
            "columns": ("english", "chinese", "attribution"),
            "split_by": "chinese",
            "split_shares": {"train": 0.85, "dev": 0.05, "test": 0.1},
            "group_by": "source",
        },
    ),
    max_new_tokens=128,
)
