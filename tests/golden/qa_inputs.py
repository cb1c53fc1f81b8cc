"""Inputs of the conformance cases of question answering, written for this project."""

from __future__ import annotations

from typing import Any


def _case(
    tags: str,
    predictions: list[Any],
    references: list[Any],
    note: str = "",
    error: str | None = None,
    **params: Any,
) -> dict[str, Any]:
    return {
        "predictions": predictions,
        "references": references,
        "tags": tags,
        "note": note,
        "error": error,
        "params": params,
    }


_ENGLISH = [
    _case("en article case", ["The Lighthouse Keeper"], [["a lighthouse keeper"]]),
    _case("en partial", ["seven grey seals on a rock"], [["grey seals", "the seals"]]),
    _case("en punctuation", ["well-known tide-tables"], [["well known tide tables"]], "a hyphen glues its neighbours"),
    _case("en punctuation", ["$4.50 (about £3)"], [["450 about £3"]], "ASCII marks vanish, the pound sign stays"),
    _case("en bag", ["row row row the boat"], [["row the boat row"]], "tokens count as often as both sides have them"),
    _case("en max", ["harbour wall at noon"], [["harbour wall", "noon", "at the harbour wall at noon sharp"]]),
    _case("unicode punctuation", ["‘the gull’ — café"], [["the gull café"]], "only ASCII punctuation is deleted"),
    _case("unicode article", ["l’a the—a b"], [["l’ — b"]], "an article also ends at a mark that is not ASCII"),
    _case("unicode case", ["İSTANBUL ǅ ẞ"], [["i̇stanbul ǆ ß"]], "lowercase is Python's, not case folding"),
    _case("whitespace", ["\u2009tide\u00a0 pool\u3000\x1f"], [["tide pool"]], "every Unicode space separates"),
    _case("control", ["a\x00the net"], [["net"]], "a control character ends a word for \\b, not for split"),
    _case("underscore article", ["_a_ b"], [["b"]], "underscores go first, so a stands alone"),
    _case("zh", ["灯塔看守人"], [["灯塔 看守人", "灯塔看守人。"]], "Chinese is one token a run; 。 stays"),
    _case("emoji", ["🐚 shell", "shell"], [["🐚"], ["🐚 shell"]]),
    _case("empty-prediction", ["", "shell"], [["shell"], [""]]),
    _case("empty-after-normalisation", ["!?", "an"], [["the"], ["…"]], "nothing left on both sides, then on one"),
    _case("corpus", ["low tide", "a crab", "salt", "two gulls"], [["low tide"], ["crabs"], ["salt water"], ["gulls"]]),
    _case("digits", ["1,000", "10:30 am"], [["1000"], ["1030"]]),
    _case("long", ["net " * 40 + "buoy"], [["buoy " * 3 + "net net"]]),
    _case("nfc-nfd", ["cre\u0300me"], [["cr\u00e8me"]], "no Unicode normalisation"),
]
_MISSING = _case("missing-prediction", ["gull", None, None], [["gull"], ["crab"], ["net"]], "0, in the denominator")
_ERRORS = [
    _case("error", ["gull"], [[]], "no reference", "ValueError"),
    _case("error", ["gull", "crab"], [["gull"]], "lengths differ", "ValueError"),
    _case("error", [], [], "empty corpus", "ValueError"),
    _case("error", ["gull"], ["gull"], "a bare string where a list belongs", "TypeError"),
    _case("error", [7], [["7"]], "a prediction that is no text", "TypeError"),
]

_NO_ANSWER = [
    _case("no-answer", ["", "gull", ""], [[], [], ["gull"]]),
    _case("no-answer empty-after-normalisation", ["The!", "", "a b"], [["an"], ["the", "."], ["the", "b"]]),
    _case("no-answer whitespace", ["\t", "."], [[], []], "as good as empty to exact match"),
    _case(
        "threshold",
        ["gull", "crab", "net", ""],
        [["gull"], [], ["nets"], []],
        "a probability equal to the threshold keeps the answer",
        no_answer_probs=[0.5, 0.75, 0.25, 1.0],
        no_answer_threshold=0.5,
    ),
    _case(
        "threshold",
        ["gull", "crab"],
        [["gull"], []],
        "threshold 0: any positive probability is no answer",
        no_answer_probs=[0.0, 0.01],
        no_answer_threshold=0.0,
    ),
    _case(
        "best-threshold",
        ["gull", "crab", "net", "old rope", "."],
        [["gull"], [], ["net"], ["rope"], []],
        "'.' counts as an answer here, though exact match takes it for none",
        no_answer_probs=[0.1, 0.3, 0.4, 0.6, 0.2],
    ),
    _case(
        "best-threshold tie",
        ["crab", "gull", "net"],
        [[], ["gull"], ["net"]],
        "equal probabilities keep data order",
        no_answer_probs=[0.5, 0.5, 0.5],
    ),
    _case(
        "best-threshold",
        ["x", "", "y"],
        [["gull"], [], []],
        "never better than answering nothing: threshold 0",
        no_answer_probs=[0.2, 0.1, 0.3],
    ),
    _case(
        "best-threshold tie",
        ["gull", "crab", "net"],
        [["gull"], [], ["net"]],
        "the first of two equal maxima wins",
        no_answer_probs=[0.1, 0.2, 0.3],
    ),
    _case("error", ["gull", None], [["gull"], []], "a missing prediction", "ValueError"),
    _case("error", ["gull"], [["gull"]], "not a probability", "ValueError", no_answer_probs=[1.5]),
    _case("error", ["gull"], [["gull"]], "threshold above 1", "ValueError", no_answer_threshold=1.5),
    _case("error", ["a", "b"], [["a"], ["b"]], "too few probabilities", "ValueError", no_answer_probs=[0.5]),
    *_ERRORS[1:],
]

_CHINESE = [
    _case("substring", ["灯塔看守人的小屋"], [["看守人小屋", "小屋"]]),
    _case("substring", ["港口在北岸"], [["北岸的港口"]]),
    _case("punctuation", ["《潮汐表》（第三版）"], [["潮汐表第三版"]]),
    _case("punctuation pitfall", ["他说：‘好’……"], [["他说好"]], "‘ and … are not among the marks"),
    _case("punctuation", ["东北－西南～"], [["东北西南"]]),
    _case("mixed digits", ["1987年3月12日"], [["1987年3月", "3月12日"]]),
    _case("mixed", ["型号AB-12的灯"], [["AB12"]], "deleting the hyphen makes one token"),
    _case("mixed", ["约3.5公里"], [["3.5 公里"]], "a decimal point is no end of a sentence"),
    _case("mixed case", ["The Old Pier 码头"], [["the old pier码头"]], "exact match keeps spaces inside"),
    _case("whitespace", ["\u3000灯塔 \n"], [["灯塔"]]),
    _case("whitespace", ["灯 塔"], [["灯塔"]]),
    _case("full-width", ["ＡＢ１２"], [["AB12"]], "no width folding"),
    _case("unicode", ["𠮷野家餐馆"], [["吉野家餐馆"]], "a character outside U+4E00-9FA5 is a word of nltk's"),
    _case("unicode", ["〇九年", "鿿山"], [["零九年"], ["山"]]),
    _case("corpus multi-reference", ["退潮时", "三只海鸥"], [["退潮", "退潮时分"], ["海鸥", "三只"]]),
    _case("empty-prediction", ["", "。"], [["灯塔"], ["！"]], "equal when both are left empty: exact match 1, F1 0"),
    _case("variant", ["台灣海峽"], [["臺灣海峽", "台湾海峡"]], "no simplification"),
    _case("repeated", ["好好好好"], [["好好"]]),
    _case("traditional", ["「燈塔」守望者"], [["燈塔守望者"]]),
    _case("emoji", ["灯塔🗼"], [["灯塔"]]),
    _case("missing-prediction", ["灯塔", None], [["灯塔"], ["码头"]], "0, in the denominator"),
]

_CMRC = [
    *_CHINESE,
    _case("en tokenization", ["don't cannot gonna"], [["do n't can not gon na"]], "nltk splits contractions"),
    _case("en tokenization", ['"tide" (low), 5% & more'], [["tide low 5 % more"]]),
    _case("en punkt", ["He left. She stayed."], [["he left . she stayed"]], "two sentences for nltk's model"),
    _case("en punkt", ["Mr. Reed met Dr. Vane."], [["mr. reed met dr. vane"]], "abbreviations that the model knows"),
    _case("mixed punkt", ["他写道Stop! Go back.然后离开"], [["Stop ! go back"]]),
    _case("en", ["e.g.", "...", "what?!"], [["e.g."], ["…"], ["what ? !"]]),
    *_ERRORS,
]

_LANGUAGES = [
    _case("en article", ["“An” old pier"], [["the old pier"]], "all Unicode punctuation is deleted", lang="en"),
    _case("en symbols", ["5 € + 3 $ = 8°"], [["5 € 3 8°"]], "ASCII symbols go, others stay", lang="en"),
    _case("en whitespace", ["low\u00a0tide\u2028line"], [["low tide line"]], lang="en"),
    _case("de article", ["Der Leuchtturm einer Insel"], [["leuchtturm insel"]], lang="de"),
    _case("de case", ["GROẞE Straße"], [["große strasse"]], lang="de"),
    _case("es article", ["¡Los faros de la costa!"], [["faros de costa"]], lang="es"),
    _case("es", ["unas olas"], [["las olas", "olas altas"]], lang="es"),
    _case("vi article", ["cái thuyền của ông"], [["thuyền ông"]], lang="vi"),
    _case("vi nfc-nfd", ["la\u0300"], [["là"]], "the article is listed in its composed form only", lang="vi"),
    _case("hi", ["नीला, दीपक।"], [["नीला दीपक"]], lang="hi"),
    _case("hi en", ["the boat"], [["boat"]], "no articles are cut", lang="hi"),
    _case("ar article", ["المنارة القديمة"], [["منارة قديمة"]], lang="ar"),
    _case("ar pitfall", ["رمال"], [["رم"]], "the article is cut inside words as well", lang="ar"),
    _case("zh", ["灯塔，看守人"], [["灯塔的看守人"]], lang="zh"),
    _case("zh mixed", ["型号AB 12灯"], [["AB12 灯", "ab 12"]], lang="zh"),
    _case("zh full-width", ["ＡＢ，１２"], [["ab12"]], lang="zh"),
    _case("zh symbols", ["￥5＋3～4"], [["5+3 4"]], "～ and + go, ￥ and ＋ stay", lang="zh"),
    _case("zh unicode", ["𠮷 野"], [["吉野"]], lang="zh"),
    _case("empty-after-normalisation", ["？！", "灯"], [["。"], ["…"]], lang="zh"),
    _case("missing-prediction corpus", ["pier", None, "old pier"], [["pier"], ["sea"], ["pier"]], lang="en"),
    _case("error", ["x"], [["x"]], "a language that MLQA has not", "ValueError", lang="ja"),
    _case("error", ["x"], [[]], "no reference", "ValueError", lang="en"),
    _case("error", ["x", "y"], [["x"]], "lengths differ", "ValueError", lang="en"),
]

_DRCD = [
    _case("bag", ["守燈塔的人"], [["燈塔的守人"]], "same characters in another order: F1 1, exact match 0"),
    _case("whitespace", ["Pier 9 北岸"], [["pier9北岸"]], "a space is a character"),
    _case("article", ["the 燈塔", "A塔"], [["燈塔"], ["塔"]], "an article glued to Chinese stays"),
    _case("punctuation", ["《潮、汐》：表；？"], [["潮汐表"]], "the eight marks"),
]

INPUTS: dict[str, list[dict[str, Any]]] = {
    "squad_v1": [*_ENGLISH, _MISSING, *_ERRORS],
    "squad_v2": [*_ENGLISH[:16:3], *_NO_ANSWER],
    "cmrc2018": _CMRC,
    "drcd": [*_DRCD, *_CHINESE, *_ERRORS],
    "mlqa": _LANGUAGES,
}
"""Metric name to its cases; expected values come from `make_qa_cases.py`."""
