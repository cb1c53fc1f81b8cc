"""WMT22 general translation, English to Chinese: news, social, e-commerce and conversational text.

Paper: Kocmi et al. (2022), "Findings of the 2022 Conference on Machine Translation (WMT22)".
Licence: not stated in the repository of the shared task (wmt-conference/wmt22-news-systems).
Files: 2,037 lines with references A and B, under the names of that repository; no training part.
Hub: haoranxu/WMT22-Test, one reference only, so its scores are not those of the files. Unpinned: no commit of it could be
looked up, so the head is loaded and the commit that it resolves to is written into the run.
Scores of the shared task: BLEU with tokenizer zh and chrF over both references are its ``bleu-all`` and ``chrf-all``. chrF takes
the first of two references that are equally near, and the published values come out only with B before A.
Example (made up in the same form):
    source: The parcel came a day late, but the seller answered at once.
    references: 包裹晚到了一天，但是卖家马上回复了。 / 快递迟了一天，不过卖家立刻就答复了。
"""

from evalkit.metrics.bleu import Bleu
from evalkit.metrics.chrf import Chrf
from evalkit.spec import Files, Hub, TaskSpec

_FOLDER = "mt/wmt22/en-zh/generaltest2022.en-zh"

TASK = TaskSpec(
    name="wmt22_en_zh",
    kind="mt",
    version=1,
    summary="Translate general-domain English of the WMT22 shared task to Chinese.",
    language="zh",
    source_language="en",
    paper="Kocmi et al. (2022). Findings of the 2022 Conference on Machine Translation (WMT22).",
    licence="not stated in the repository",
    files=Files(
        format="parallel_text",
        splits={"test": (f"{_FOLDER}.src.en", f"{_FOLDER}.ref.B.zh", f"{_FOLDER}.ref.A.zh")},
    ),
    hub=Hub(
        name="haoranxu/WMT22-Test",
        revision="",
        config="en-zh",
        splits={"test": "test"},
        fields={"source": "en-zh.en", "references": "en-zh.zh"},
        checked="Name, configuration, split and columns read in public code that loads them; no commit found, so not pinned.",
    ),
    shots_split=None,
    metrics=(Bleu(language="zh"), Chrf()),
    max_new_tokens=512,
)
