"""Word segmentation of UD Chinese GSDSimp: simplified Chinese text of Wikipedia, cut into the words of the treebank.

Paper: Nivre et al. (2020), "Universal Dependencies v2"; the treebank is UD_Chinese-GSDSimp.
Licence: CC BY-SA 4.0.
Files: SIGHAN layout; train 3,997, dev 500, test 500 sentences with 98,616, 12,663 and 12,012 words; 17,532 word types of train.
Hub: none in this form.
Metrics: word F1 by spans, then the counts of the official SIGHAN script, which aligns the word lists.
Example (made up in the same form):
    text: 林芳去年搬到了里斯本。
    words: 林芳 去年 搬 到 了 里斯本 。
"""

from evalkit.metrics.cws import Cws
from evalkit.spec import Files, TaskSpec

TASK = TaskSpec(
    name="cws_gsdsimp",
    kind="cws",
    version=1,
    summary="Cut simplified Chinese text of Wikipedia into words.",
    language="zh",
    paper="Nivre et al. (2020). Universal Dependencies v2; treebank UD_Chinese-GSDSimp.",
    licence="CC BY-SA 4.0",
    files=Files(
        format="sighan",
        splits={
            "train": ("cws/gsdsimp_seg/train_gold.utf8",),
            "dev": ("cws/gsdsimp_seg/dev_gold.utf8",),
            "test": ("cws/gsdsimp_seg/test_gold.utf8",),
        },
        lexicon="cws/gsdsimp_seg/train_words.utf8",
    ),
    metrics=(Cws(), Cws(variant="sighan")),
    max_new_tokens=512,
)
