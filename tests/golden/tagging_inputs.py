"""Inputs of the conformance cases of tagging, spans and word segmentation.

Tags are written as one string, sentences divided by " / "; entities as "LABEL start end" divided by ";".
"""

from __future__ import annotations

from typing import Any

Input = dict[str, Any]


def tags(text: str) -> list[list[str]]:
    return [sentence.split() for sentence in text.split("/")]


def tagged(pred: str, gold: str, kinds: str, note: str = "", **params: Any) -> Input:
    return {
        "params": params,
        "predictions": tags(pred),
        "references": [[sentence] for sentence in tags(gold)],
        "tags": kinds,
        "note": note,
    }


def spans(text: str, end_shift: int = 0) -> list[list[Any]]:
    triples = [part.split() for part in text.split(";") if part.strip()]
    return [[int(start), int(end) + end_shift, label] for label, start, end in triples]


def entities(text: str) -> list[dict[str, Any]]:
    return [{"label": label, "start": start, "end": end} for start, end, label in spans(text)]


def ner(preds: list[str], golds: list[str], kinds: str, note: str = "", **params: Any) -> Input:
    return {
        "params": params,
        "predictions": [entities(text) for text in preds],
        "references": [[entities(text)] for text in golds],
        "tags": kinds,
        "note": note,
    }


def spanned(preds: list[str], golds: list[str], kinds: str, note: str = "", **params: Any) -> Input:
    return {
        "params": params,
        "predictions": [spans(text) for text in preds],
        "references": [[spans(text)] for text in golds],
        "tags": kinds,
        "note": note,
    }


def segmented(preds: list[str], golds: list[str], kinds: str, note: str = "", words: str = "") -> list[Input]:
    """The same lines for both variants."""
    return [
        {
            "params": {"variant": variant, "train_words": words.split()},
            "predictions": preds,
            "references": [[line] for line in golds],
            "tags": f"{kinds} {variant}",
            "note": note,
        }
        for variant in ("sighan", "span")
    ]


def refused(error: str, predictions: Any, references: Any, note: str, **params: Any) -> Input:
    return {
        "params": params,
        "predictions": predictions,
        "references": references,
        "error": error,
        "tags": "error",
        "note": note,
    }


_MIXED_GOLD = "B-SHIP I-SHIP O B-PORT / O O / B-港口 I-港口 O B-船 / O B-SHIP B-SHIP I-SHIP / B-PORT I-PORT I-PORT O O"
_MIXED_PRED = (
    "B-SHIP I-SHIP O B-SHIP / O B-PORT / B-港口 I-港口 O O / O B-SHIP I-SHIP I-SHIP / O I-PORT I-PORT O B-港口"
)

_SEQEVAL = [
    tagged(_MIXED_PRED, _MIXED_GOLD, "default corpus zh", "types with and without gold, found and missed"),
    tagged("O I-SHIP I-SHIP", "O B-SHIP I-SHIP", "default", "an inside tag behind O begins an entity"),
    tagged("B-SHIP I-PORT", "B-SHIP I-SHIP", "default", "a change of type begins an entity"),
    tagged("B-SHIP I-SHIP B-SHIP", "B-SHIP B-SHIP I-SHIP", "default neighbours"),
    tagged("S-SHIP O B-PORT E-PORT", "S-SHIP O B-PORT E-PORT", "default IOBES"),
    tagged(
        "B-SHIP E-SHIP E-SHIP", "B-SHIP E-SHIP S-SHIP", "default IOBES", "an end tag behind an end tag begins an entity"
    ),
    tagged("B-SHIP I-SHIP I-SHIP", "B-SHIP E-SHIP I-SHIP", "default IOBES", "an inside tag behind an end tag too"),
    tagged("U-SHIP U-SHIP O", "B-SHIP L-SHIP O", "default BILOU pitfall", "unknown prefixes of one type run together"),
    tagged("B I O B", "B I O I", "default untyped", "the type of bare prefixes is _"),
    tagged("ORG O BAY", "B-AY O O", "default pitfall", "ORG is outside, BAY a begin tag of type AY"),
    tagged("B-SHIP-OLD I-SHIP-OLD", "B-SHIP-OLD I-SHIP-NEW", "default", "types may hold hyphens"),
    tagged("船-B 船-I O 港-S", "船-B 船-I O 港-B", "suffix zh", suffix=True),
    tagged("O O O", "O B-SHIP O", "zero_division", "nothing predicted", zero_division=1),
    tagged("O B-SHIP O", "O O O", "zero_division", "nothing to find", zero_division=1),
    tagged("B-SHIP I-SHIP / I-SHIP", "B-SHIP I-SHIP / I-SHIP", "default sentence-boundary"),
    tagged(_MIXED_PRED, _MIXED_GOLD, "strict IOB2 corpus zh", mode="strict", scheme="IOB2"),
    tagged("I-SHIP I-SHIP O", "B-SHIP I-SHIP O", "strict IOB2", mode="strict", scheme="IOB2"),
    tagged("B-SHIP I-PORT I-SHIP", "B-SHIP I-SHIP I-SHIP", "strict IOB2", mode="strict", scheme="IOB2"),
    tagged("I-SHIP B-SHIP O", "I-SHIP B-SHIP I-SHIP", "strict IOB1", mode="strict", scheme="IOB1"),
    tagged(
        "O B-SHIP I-SHIP",
        "O I-SHIP I-SHIP",
        "strict IOB1 pitfall",
        "B that splits nothing is overlooked",
        mode="strict",
        scheme="IOB1",
    ),
    tagged("I-SHIP I-SHIP E-SHIP O", "I-SHIP E-SHIP E-SHIP O", "strict IOE1", mode="strict", scheme="IOE1"),
    tagged("I-SHIP E-SHIP E-PORT I-PORT", "I-SHIP E-SHIP E-PORT E-PORT", "strict IOE2", mode="strict", scheme="IOE2"),
    tagged("B-SHIP I-SHIP O S-PORT", "B-SHIP E-SHIP O S-PORT", "strict IOBES", mode="strict", scheme="IOBES"),
    tagged("U-SHIP B-PORT L-PORT L-PORT", "U-SHIP B-PORT L-PORT U-PORT", "strict BILOU", mode="strict", scheme="BILOU"),
    tagged("B-SHIP O", "O O", "strict zero_division", mode="strict", scheme="IOB2", zero_division=1),
    refused("ValueError", [["O"], ["B-SHIP"]], [[["O"]], [["B-SHIP", "O"]]], "one tag too few"),
    refused("ValueError", [["S-SHIP"]], [[["B-SHIP"]]], "a prefix that the scheme lacks", mode="strict", scheme="IOB2"),
    refused("ValueError", [["O"]], [[["O"]]], "unknown scheme", mode="strict", scheme="BMEWO"),
    refused("ValueError", [], [], "empty corpus"),
    refused("TypeError", [None], [[["O"]]], "no prediction"),
]

_CONLLEVAL = [
    tagged(_MIXED_PRED, _MIXED_GOLD, "IOB corpus zh"),
    tagged("B-SHIP I-SHIP O", "I-SHIP I-SHIP O", "IOB1", "the two schemes agree without neighbours"),
    tagged("I-SHIP B-SHIP I-SHIP", "I-SHIP B-SHIP B-SHIP", "IOB1 neighbours"),
    tagged("B-SHIP I-SHIP / O I-PORT", "B-SHIP I-SHIP / B-PORT I-PORT", "IOB"),
    tagged("I-SHIP / I-SHIP I-SHIP", "I-SHIP / I-SHIP I-SHIP", "sentence-boundary", "a sentence ends its phrases"),
    tagged("B-SHIP I-PORT I-PORT", "B-SHIP I-SHIP I-PORT", "IOB", "types change inside"),
    tagged("O O O", "O O O", "empty"),
    tagged("B-SHIP O B-SHIP O", "O O O O", "empty", "nothing to find"),
    tagged("S-SHIP S-SHIP B-SHIP E-SHIP", "S-SHIP B-SHIP I-SHIP E-SHIP", "IOBES pitfall", "neighbours run together"),
    tagged("B-SHIP E-SHIP E-SHIP I-SHIP", "B-SHIP E-SHIP S-SHIP I-SHIP", "IOBES pitfall"),
    tagged("B-SHIP E-SHIP O S-PORT", "B-SHIP E-SHIP O B-PORT", "IOBES"),
    tagged("B-0 I-0 O B-1", "B-0 I-0 O B-1", "pitfall", "the type 0 is lost: it is false in Perl"),
    tagged("[-SHIP ]-SHIP O", "[-SHIP [-SHIP O", "brackets", "bracket tags are phrases of length one"),
    tagged(".-SHIP I-SHIP O", "B-SHIP I-SHIP O", "dot"),
    tagged("B-SHIP-OLD I-SHIP-OLD O", "B-SHIP-OLD I-SHIP-NEW O", "hyphen"),
    tagged("B I O B", "B I O O", "untyped"),
    tagged("U-SHIP U-SHIP L-SHIP O", "U-SHIP B-SHIP L-SHIP O", "BILOU pitfall"),
    tagged("SHIP PORT O SHIP", "SHIP SHIP O SHIP", "raw", raw=True),
    tagged("名词 动词 O 0", "名词 名词 O 0", "raw zh", raw=True),
    tagged("B-SHIP I-SHIP B-SHIP O B-PORT O O", "B-SHIP I-SHIP O O B-PORT O B-PORT", "rounding", "thirds"),
    refused("ValueError", [["O", "O"]], [[["O"]]], "one tag too many"),
    refused("TypeError", [["O"]], ["O"], "a bare string in place of references"),
]

_NERVALUATE = [
    ner(["SHIP 0 1; PORT 4 6"], ["SHIP 0 1; PORT 4 6"], "exact"),
    ner(["SHIP 0 2; PORT 4 6"], ["SHIP 0 1; PORT 4 6"], "partial"),
    ner(["PORT 0 1"], ["SHIP 0 1"], "type", "right boundaries, wrong label"),
    ner(["PORT 1 3"], ["SHIP 0 2"], "type partial"),
    ner([""], ["SHIP 0 1; SHIP 3 3"], "missed"),
    ner(["SHIP 0 1; SHIP 3 3"], [""], "spurious"),
    ner(["SHIP 0 9"], ["SHIP 0 3; SHIP 5 9"], "overlap", "one prediction over two gold entities"),
    ner(["SHIP 0 3; SHIP 5 9"], ["SHIP 0 9"], "overlap", "two predictions over one gold entity"),
    ner(["SHIP 2 3; SHIP 0 3"], ["SHIP 0 3"], "order", "the first prediction uses the gold entity up"),
    ner(["SHIP 0 3; SHIP 2 3"], ["SHIP 0 3"], "order"),
    ner(["SHIP 3 6"], ["SHIP 0 4; SHIP 4 6"], "distance", "the nearest boundaries win for ent_type"),
    ner(["SHIP 2 6"], ["PORT 0 3; SHIP 5 8"], "type overlap", "an overlap of the same label wins for ent_type"),
    ner(["SHIP 0 4"], ["SHIP 4 4"], "boundary", "ends are inclusive"),
    ner(["SHIP 0 3"], ["SHIP 4 4"], "boundary"),
    ner(["船 0 1; 港口 3 5"], ["船 0 1; 港口 4 5"], "zh"),
    ner(
        ["SHIP 0 1; TIDE 3 4"],
        ["SHIP 0 1; TIDE 3 5"],
        "labels",
        "labels outside of the list are dropped",
        labels=["SHIP", "NONE"],
    ),
    ner(["SHIP 0 4"], ["SHIP 0 9"], "min_overlap", "half of the gold span suffices", min_overlap_percentage=50.0),
    ner(["SHIP 0 3"], ["SHIP 0 9"], "min_overlap", "less than half does not", min_overlap_percentage=50.0),
    ner(["SHIP 0 1"], ["SHIP 0 1; SHIP 0 1"], "duplicate", "gold entities twice"),
    ner(["SHIP 0 1; SHIP 0 1"], ["SHIP 0 1"], "duplicate", "predictions twice"),
    ner(
        ["SHIP 0 1", "", "PORT 2 5; SHIP 7 7", "PORT 0 0"],
        ["SHIP 0 1; PORT 3 3", "SHIP 1 4", "PORT 2 4; PORT 7 7", "PORT 0 0"],
        "corpus",
    ),
    refused("ValueError", [entities("SHIP 3 1")], [[entities("SHIP 1 3")]], "an end before its start"),
    refused("TypeError", [[[0, 1, "SHIP"]]], [[entities("SHIP 1 3")]], "a triple in place of an entity"),
    refused("ValueError", [[]], [[[]]], "an overlap of zero percent", min_overlap_percentage=0.0),
]

_SPAN_F1 = [
    spanned(["SHIP 0 2; PORT 3 4"], ["SHIP 0 2; PORT 3 4"], "exact"),
    spanned(["SHIP 0 3"], ["SHIP 0 2"], "boundary"),
    spanned(["PORT 0 2"], ["SHIP 0 2"], "type"),
    spanned(["PORT 0 2"], ["SHIP 0 2"], "unlabelled", labelled=False),
    spanned(["PORT 0 2; SHIP 0 2"], ["SHIP 0 2"], "unlabelled duplicate", "one span under two labels", labelled=False),
    spanned([""], [""], "empty"),
    spanned([""], ["SHIP 0 2"], "missed"),
    spanned(["SHIP 0 2"], [""], "spurious"),
    spanned(["SHIP 0 9; PORT 2 4; PORT 3 4"], ["SHIP 0 9; PORT 2 4"], "nested"),
    spanned(["SHIP 0 2; SHIP 0 2"], ["SHIP 0 2; SHIP 5 6"], "duplicate"),
    spanned(["SHIP 0 2", ""], ["", "SHIP 0 2"], "corpus", "spans belong to their example"),
    spanned(["船 0 2; 港口 4 6", "船 1 2"], ["船 0 2; 港口 4 5", "船 1 2"], "corpus zh"),
    tagged(_MIXED_PRED, _MIXED_GOLD, "from-tags corpus zh"),
    tagged(_MIXED_PRED, _MIXED_GOLD, "from-tags corpus unlabelled", labelled=False),
    tagged("S-SHIP O B-PORT E-PORT", "B-SHIP O B-PORT I-PORT", "from-tags IOBES"),
    refused("ValueError", [spans("SHIP 4 2")], [[spans("SHIP 2 4")]], "an end before its start"),
    refused("TypeError", ["SHIP"], [[[]]], "a string in place of spans"),
]

_TOKEN_ACCURACY = [
    tagged("NN VB DT", "NN VB DT", "pos"),
    tagged("NN NN DT / VB", "NN VB DT / NN", "pos corpus"),
    tagged("名词 动词 / 名词", "名词 名词 / 名词", "pos zh"),
    tagged("o O", "O O", "case"),
    tagged("B-SHIP O O", "B-SHIP I-SHIP O", "ignore", ignore=["O"]),
    tagged("B-SHIP O / B-SHIP", "B-SHIP O / O", "ignore", "the prediction's label does not matter", ignore=["O"]),
    {"params": {"ignore": [-100]}, "predictions": [[3, 3, 7]], "references": [[[3, 4, -100]]], "tags": "ids ignore"},
    {
        "params": {"ignore": [-100, 0]},
        "predictions": [[3], [0, 1]],
        "references": [[[-100]], [[0, 2]]],
        "tags": "ids ignore",
    },
    {
        "params": {"ignore": [0]},
        "predictions": [[1, 2]],
        "references": [[[0, 0]]],
        "tags": "ids ignore",
        "note": "nothing left",
    },
    {
        "params": {},
        "predictions": [[], [5]],
        "references": [[[]], [[5]]],
        "tags": "ids empty",
        "note": "an empty sentence",
    },
    {"params": {}, "predictions": [[1, 2, 3], [4]], "references": [[[1, 2, 3]], [[5]]], "tags": "ids corpus"},
    tagged("A-Ω é", "A-Ω e\u0301", "unicode", "composed and decomposed letters are different labels"),
    tagged("NN | NN", "NN , NN", "symbols"),
    tagged("A A A A A A A", "A A A A A A B", "sevenths"),
    refused("ValueError", [["NN"]], [[["NN", "VB"]]], "one label too few"),
    refused("TypeError", [None], [[["NN"]]], "no prediction"),
]

_LEXICON = "海鸥 在 码头 上 休息 。 渔船 傍晚 回来 了 灯塔 的 灯 亮 老 船长 看 潮水"
_CWS = [
    *segmented(["海鸥 在 码头 上 休息 。"], ["海鸥 在 码头 上 休息 。"], "perfect", words=_LEXICON),
    *segmented(["海 鸥 在 码头上 休息 。"], ["海鸥 在 码头 上 休息 。"], "split join", words=_LEXICON),
    *segmented(["渔船 傍晚 回来了"], ["渔船 傍晚 回来 了"], "join", words=_LEXICON),
    *segmented(["老船 长 看 潮水"], ["老 船长 看 潮水"], "shifted", words=_LEXICON),
    *segmented(["守塔 人 看 浪花"], ["守塔人 看 浪花"], "oov", words=_LEXICON),
    *segmented(["灯塔 的 灯 亮 了", "海鸥 回 来"], ["灯塔 的 灯 亮 了", "海鸥 回来"], "corpus", words=_LEXICON),
    *segmented(["浪 浪浪"], ["浪 浪 浪"], "repeated", words="浪"),
    *segmented(["浪浪 浪"], ["浪 浪浪"], "repeated pitfall", "aligned although the offsets differ"),
    *segmented(["一 一一 一"], ["一一 一一"], "repeated", words="一一"),
    *segmented(["潮水船 长"], ["潮 水 船长"], "zero", "nothing matches: the script dies", words=_LEXICON),
    *segmented(["渔船\u3000回来 了"], ["渔船  回来\t了\r"], "whitespace", words=_LEXICON),
    *segmented(["ＡＢ 码头 １２"], ["ＡＢ 码头 １ ２"], "full-width", words="码头"),
    *segmented(["pier 9 号 码头"], ["pier9 号 码头"], "mixed", words="号 码头"),
    *segmented(["", "灯 亮"], ["", "灯 亮"], "empty", "an empty line counts nothing", words=_LEXICON),
    *segmented(["渔船 回来"], ["渔船 回来"], "no-lexicon", "every word is unknown"),
    *segmented(
        ["守 塔 人 看 见 渔 船 的 桅 杆 灯 笼 熄 灭 的 时候 的 海鸥 的 叫声 的 回响 的 码头 的 石阶 的 一侧"],
        ["守塔人 看见 渔船 的 桅杆 灯笼 熄灭 的 时候 的 海鸥 的 叫声 的 回响 的 码头 的 石阶 的 一 侧"],
        "repeated long",
        "diff drops a frequent word inside a run of unmatched ones: 13 words found, though 14 could be aligned",
        words=_LEXICON,
    ),
    refused("ValueError", ["海鸥 来"], [["海鸥 去"]], "other characters", variant="span"),
    refused("ValueError", ["海鸥"], [["海鸥"], ["去"]], "one line too few", variant="sighan"),
    refused("ValueError", ["海鸥"], [[" "]], "words for an empty reference", variant="sighan"),
    refused("TypeError", [["海鸥"]], [["海鸥"]], "a list of words in place of a line"),
]

INPUTS: dict[str, list[Input]] = {
    "seqeval": _SEQEVAL,
    "conlleval": _CONLLEVAL,
    "nervaluate": _NERVALUATE,
    "span_f1": _SPAN_F1,
    "token_accuracy": _TOKEN_ACCURACY,
    "cws": _CWS,
}
