"""Hongloumeng, Dream of the Red Chamber: how well a small model predicts a Chinese novel of the 18th century.

Paper: none; Cao Xueqin, 18th century; file of the repository bigeagle/picoGPT.
Licence: MIT (repository); the novel is in the public domain.
Files: one file, 879,195 characters, a paragraph a line, cut into blocks of 25 lines; joined, the blocks are the file.
Splits: in the order of the file, the first 108 of the 120 blocks are train, the last 12, from within chapter 104 on, are test.
The last forty chapters are held to be by another hand, so test is harder than a part taken at random would be.
Hub: none.
Metrics: bits per character first; a character is a code point, line ends included.
Example (made up in the same form):
    text: 第一回　磨坊主夜渡青溪　老书生晨访旧友
              话说江南有一小镇，镇外有一座磨坊……
"""

from evalkit.metrics.perplexity import Perplexity
from evalkit.spec import Files, TaskSpec

_FILE = ("lm/hongloumeng/hongloumeng.txt",)

TASK = TaskSpec(
    name="hongloumeng",
    kind="lm",
    version=1,
    summary="Predict a Chinese novel of the 18th century, character by character.",
    language="zh",
    paper="Cao Xueqin, 18th century; file of bigeagle/picoGPT",
    licence="MIT (repository); public domain text",
    files=Files(
        format="plain_text",
        splits={"train": _FILE, "test": _FILE},
        options={"unit": "block", "lines": 25, "split_in_order": True, "split_shares": {"train": 0.9, "test": 0.1}},
    ),
    metrics=(Perplexity(main="bits_per_char", language="zh"),),
)
