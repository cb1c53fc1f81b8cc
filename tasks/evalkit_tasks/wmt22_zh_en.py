"""WMT22 general translation, Chinese to English: news, social, e-commerce and conversational text.

Paper: Kocmi et al. (2022), "Findings of the 2022 Conference on Machine Translation (WMT22)".
Licence: not stated in the repository of the shared task (wmt-conference/wmt22-news-systems).
Files: 1,875 lines with references A and B, under the names of that repository; no training part. B stands before A, as the
published chrF of the other direction needs it.
Hub: haoranxu/WMT22-Test, one reference only, so its scores are not those of the files. Unpinned: no commit of it could be
looked up, so the head is loaded and the commit that it resolves to is written into the run.
Example (made up in the same form):
    source: 包裹晚到了一天，但是卖家马上回复了。
    references: The parcel came a day late, but the seller answered at once. / The package was a day late, yet the seller
    replied right away.
"""

from evalkit.metrics.bleu import Bleu
from evalkit.metrics.chrf import Chrf, ChrfPlusPlus
from evalkit.spec import Files, Hub, TaskSpec

_FOLDER = "mt/wmt22/zh-en/generaltest2022.zh-en"

TASK = TaskSpec(
    name="wmt22_zh_en",
    kind="mt",
    version=1,
    summary="Translate general-domain Chinese of the WMT22 shared task to English.",
    language="en",
    source_language="zh",
    paper="Kocmi et al. (2022). Findings of the 2022 Conference on Machine Translation (WMT22).",
    licence="not stated in the repository",
    files=Files(
        format="parallel_text",
        splits={"test": (f"{_FOLDER}.src.zh", f"{_FOLDER}.ref.B.en", f"{_FOLDER}.ref.A.en")},
    ),
    hub=Hub(
        name="haoranxu/WMT22-Test",
        revision="",
        config="zh-en",
        splits={"test": "test"},
        fields={"source": "zh-en.zh", "references": "zh-en.en"},
        checked="Name, configuration, split and columns read in public code that loads them; no commit found, so not pinned.",
    ),
    shots_split=None,
    metrics=(Bleu(language="en"), Chrf(), ChrfPlusPlus()),
    max_new_tokens=512,
)
