import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalkit.adapters.baselines.sentences import sentences

SPLIT = {
    "plain": ("One ran. Two sat! Did three? Yes", ["One ran.", "Two sat!", "Did three?", "Yes"]),
    "titles": ("Mr. Lee saw Dr. Wu. They spoke.", ["Mr. Lee saw Dr. Wu.", "They spoke."]),
    "initials": ("J. R. Hill wrote it. It sold.", ["J. R. Hill wrote it.", "It sold."]),
    "country": ("The U.S. Army left. It rained.", ["The U.S. Army left.", "It rained."]),
    "lower case goes on": ("It was 3 p.m. and dark. Go.", ["It was 3 p.m. and dark.", "Go."]),
    "numbers": ("It fell 3.5 percent. Then 2.1.", ["It fell 3.5 percent.", "Then 2.1."]),
    "addresses": ("See example.com for more. Bye.", ["See example.com for more.", "Bye."]),
    "quotes": ('He said "Stop." She did. ("Why?") Well.', ['He said "Stop."', "She did.", '("Why?")', "Well."]),
    "quote goes on": ('"Stop!" he said. She did.', ['"Stop!" he said.', "She did."]),
    "dots": ("Wait... Now go.", ["Wait...", "Now go."]),
    "lines": ("A headline\nOne ran. Two sat.\n\n", ["A headline", "One ran.", "Two sat."]),
    "Chinese": ("他来了。她走了！为什么？不知道", ["他来了。", "她走了！", "为什么？", "不知道"]),
    "Chinese quotes": ("他说：“走吧。”她笑了。（真的！）好", ["他说：“走吧。”", "她笑了。", "（真的！）", "好"]),
    "Chinese with Latin stops": ("方法有效(P<0.05).结论可靠.完", ["方法有效(P<0.05).", "结论可靠.", "完"]),
    "numbered Chinese": ("1.目的明确.2.方法简单", ["1.目的明确.", "2.方法简单"]),
    "Chinese numbers": ("增长3.5万。完", ["增长3.5万。", "完"]),
    "nothing": (" \n", []),
}


@pytest.mark.parametrize(("text", "expected"), SPLIT.values(), ids=SPLIT)
def test_sentences_end_where_a_reader_ends_them(text, expected):
    assert sentences(text) == expected


@given(st.text(alphabet='aB1 .!?。！？”"\n中Dr\u3000'))
def test_sentences_keep_every_character_but_space(text):
    assert "".join("".join(sentences(text)).split()) == "".join(text.split())
