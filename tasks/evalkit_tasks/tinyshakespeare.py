"""Tiny Shakespeare: how well a small model predicts lines of Shakespeare's plays.

Paper: Karpathy (2015), "The Unreasonable Effectiveness of Recurrent Neural Networks"; file of char-rnn.
Licence: MIT (repository karpathy/char-rnn); the text is in the public domain.
Files: one file of 40,000 lines, cut into blocks of 151 lines and the blank lines that follow; joined, the blocks are the file.
Splits: in the order of the file, the first 235 of the 265 blocks are train, the last 30 test. It is nanoGPT's cut, at 90% of the
characters, moved on to the next speech: test is its validation part of 111,540 characters but for the first three. A block is
scored without the one before it, so bits per character are a little above nanoGPT's loss over ln 2.
Hub: none here; karpathy/tiny_shakespeare is a script and cuts the last 10% in two.
Metrics: bits per character first.
Example (made up in the same form):
    text: First Miller:
          Good morrow, neighbour. Hath the river risen?
"""

from evalkit.metrics.perplexity import Perplexity
from evalkit.spec import Files, TaskSpec

_FILE = ("lm/tinyshakespeare/input.txt",)

TASK = TaskSpec(
    name="tinyshakespeare",
    kind="lm",
    version=1,
    summary="Predict lines of Shakespeare's plays, character by character.",
    language="en",
    paper="Karpathy (2015). The Unreasonable Effectiveness of Recurrent Neural Networks.",
    licence="MIT (repository); public domain text",
    files=Files(
        format="plain_text",
        splits={"train": _FILE, "test": _FILE},
        options={
            "unit": "block",
            "lines": 151,
            "split_in_order": True,
            "split_shares": {"train": 235 / 265, "test": 30 / 265},
        },
    ),
    metrics=(Perplexity(main="bits_per_char"),),
)
