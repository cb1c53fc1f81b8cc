"""Codes of languages in one form."""

import re

import pytest

from evalkit import languages
from evalkit.errors import InvalidInputError
from evalkit.languages import language_code, language_name
from evalkit.spec import Generated, TaskSpec


@pytest.mark.parametrize(
    ("text", "code"),
    [
        *[(text, "zh") for text in ("zh", "ZH", "zh-CN", "zh-Hans", "zh_TW", "zho_Hant", "cmn", "zho", "chi", "yue")],
        ("en-US", "en"),
        ("eng", "en"),
        ("jpn_Jpan", "ja"),
        ("pt-BR", "pt"),
        ("de", "de"),
        ("fil", "fil"),
    ],
)
def test_every_form_of_a_code_becomes_one(text, code):
    assert language_code(text) == code
    assert language_code(code) == code


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("Chinese", "did you mean 'zh'"),
        ("chinese (simplified)", "did you mean 'zh'"),
        ("Mandarin", "did you mean 'zh'"),
        ("Englisch", "did you mean 'en'"),
        ("jp", "did you mean 'ja'"),
        ("cn", "did you mean 'zh'"),
        ("xx", "expected a code such as"),
        ("", "expected a code such as"),
        ("zh CN", "expected a code such as"),
        ("zh-", "expected a code such as"),
        ("ｚｈ", "expected a code such as"),
        ("e", "expected a code such as"),
    ],
)
def test_what_is_no_code_is_refused_with_the_code_that_may_be_meant(text, hint):
    with pytest.raises(InvalidInputError, match=re.escape(hint)) as caught:
        language_code(text)
    assert str(caught.value).startswith(f"language {text!r} is no code of ISO 639;")


def test_names_are_english_and_an_unknown_code_names_itself():
    assert [language_name(code) for code in ("zh", "en", "el", "fil")] == ["Chinese", "English", "Greek", "fil"]


def test_the_table_names_each_code_once_and_the_sets_hold_codes_of_it():
    rows = languages._rows()
    longs = [long for _, several, _ in rows for long in several.split(",")]
    assert len({code for code, _, _ in rows}) == len(rows) == 184
    assert len(set(longs)) == len(longs)
    assert all(len(code) == 2 for code, _, _ in rows)
    assert all(len(long) == 3 for long in longs)
    assert {code for code, _, _ in rows} >= languages.NON_LATIN >= languages.UNSPACED


def spec(**changes):
    values = {"language": "zh", "version": 1, "summary": "", "paper": "", "licence": "", **changes}
    return TaskSpec(name="toy", kind="mt", generated=Generated(rows=lambda *_: [], sizes={"test": 1}), **values)


def test_a_task_has_its_languages_in_the_one_form():
    made = spec(language="zh-Hans", source_language="eng")
    assert (made.language, made.source_language) == ("zh", "en")
    with pytest.raises(InvalidInputError, match="task 'toy': language 'Chinese' is no code"):
        spec(language="Chinese")
    with pytest.raises(InvalidInputError, match="task 'toy': language 'xx' is no code"):
        spec(source_language="xx")
