"""Inputs of the conformance cases of ROUGE and METEOR: settings, predictions, references, tags, and why the case exists."""

LIGHTHOUSE = [
    "The keeper climbed the tower at dusk and lit the old lamp.",
    "Three fishing boats returned before the fog rolled in.",
    "Nobody in the village remembers who built the stone pier.",
    "A quick repair kept the radio working through the winter storms.",
    "Tickets cost 12.50 euros, or 1,000 for the whole season!",
    "Children love feeding the gulls; the gulls love stealing sandwiches.",
    "Her brother's physician wasn't worried about the bruise.",
    "It rained and rained and rained until the cellar flooded.",
]
LIGHTHOUSE_REFERENCES = [
    ["At dusk, the keeper went up the tower to light the lamp."],
    ["Before the fog came in, three boats were back from fishing."],
    ["No villager remembers the builders of the stone pier.", "Nobody remembers who built the pier of stone."],
    ["Thanks to fast repairs the radio worked during every winter storm."],
    ["A ticket is 12.50 euros; season tickets cost 1000 euros."],
    ["Gulls steal the sandwiches of children who love to feed them."],
    ["Her brother's doctor was not worried about his bruises.", "The doctor did not worry."],
    ["It rained until the cellar was flooded."],
]
HARBOUR = [
    "The dredger arrived on Monday.\nWork on the harbour starts next week.\nShop owners fear the noise.",
    "Divers found an anchor.\n\nIt may be four centuries old.\nA museum will clean it.",
    "anchor chain anchor chain\nanchor",
    "One line only, about the old crane.",
]
HARBOUR_REFERENCES = [
    ["Harbour work begins next week.\nA dredger has arrived.\nThe noise worries owners of shops."],
    [
        "A museum will restore the anchor that divers found.\nIt is perhaps 400 years old.",
        "Divers found an old anchor.",
    ],
    ["chain anchor\nanchor chain chain"],
    ["The crane is old.\nThe crane stays."],
]
PROSE = ["The tide rose at 4 p.m. today. Mr. Holm saw it. Nobody drowned.", "One sentence. Two sentences! Three?"]
PROSE_REFERENCES = [["Nobody drowned. Mr. Holm saw the tide rise at 4 p.m. today."], ["Three? One sentence. Two."]]
CHINESE = [
    "守塔人黄昏时爬上灯塔，点亮了旧灯。",
    "三艘渔船赶在大雾之前回港。",
    "门票12.50欧元，全季1000欧元！",
    "雨一直下，地窖被淹了。",
]
CHINESE_REFERENCES = [
    ["黄昏时，守塔人上塔点灯。"],
    ["大雾来临前，三条渔船回到了港口。", "三艘船在起雾前回来了。"],
    ["每张门票12.50欧元，季票1000欧元。"],
    ["雨下个不停，淹了地窖。"],
]
ALL_ROUGE = [*(f"rouge{n}" for n in range(1, 10)), "rougeL", "rougeLsum"]
CJK = {"tokenizer": "cjk_char"}
STEM = {"use_stemmer": True}
WORDS = {"tokenize": "nltk_word_tokenize"}


def one(prediction, *references):
    return [prediction], [list(references)]


def characters(texts):
    return [" ".join(text) for text in texts]


ROUGE = [
    ({}, LIGHTHOUSE, LIGHTHOUSE_REFERENCES, "en corpus multi-reference", ""),
    (STEM, LIGHTHOUSE, LIGHTHOUSE_REFERENCES, "en corpus multi-reference stemmer", ""),
    ({"rouge_types": ALL_ROUGE}, LIGHTHOUSE, LIGHTHOUSE_REFERENCES, "en corpus", "every type"),
    ({}, HARBOUR, HARBOUR_REFERENCES, "en corpus rougeLsum", "lines are sentences"),
    (STEM, HARBOUR, HARBOUR_REFERENCES, "en corpus rougeLsum stemmer", ""),
    ({"rouge_types": ["rougeLsum"]}, HARBOUR, HARBOUR_REFERENCES, "en rougeLsum", "rougeLsum alone"),
    ({"split_summaries": True}, PROSE, PROSE_REFERENCES, "en rougeLsum split_summaries", "sentences by punkt"),
    ({}, PROSE, PROSE_REFERENCES, "en rougeLsum", "no newline: rougeLsum equals rougeL"),
    (
        {"rouge_types": ["rougeL", "rouge2", "rougeLsum"], "bootstrap": {"seed": 7, "n_samples": 100}},
        LIGHTHOUSE,
        LIGHTHOUSE_REFERENCES,
        "en bootstrap",
        "one stream of random numbers, types in the order of rouge_types",
    ),
    ({}, CHINESE, CHINESE_REFERENCES, "zh pitfall", "only the digits of Chinese text are read"),
    (CJK, CHINESE, CHINESE_REFERENCES, "zh cjk_char corpus multi-reference", ""),
    ({**CJK, **STEM}, *one("GPU集群running了3天", "GPU集群跑runs了三天"), "zh en cjk_char stemmer", "mixed text"),
    (CJK, *one("灯塔 と 灯台 等대\n丽\U00020000\ufa0e", "灯台。等대\n丽\U00020000\ufa0e塔"), "cjk_char astral", ""),
    (CJK, LIGHTHOUSE, LIGHTHOUSE_REFERENCES, "en cjk_char", "English as with the default tokenizer"),
    ({}, *one("Маяк погас в полночь.", "В полночь маяк погас."), "ru pitfall", "no token: 0"),
    ({}, *one("", "a lamp"), "empty-prediction", ""),
    ({}, *one("a lamp", ""), "empty-reference", ""),
    ({}, *one("", ""), "empty-prediction empty-reference", "0, not 1"),
    ({}, *one("?!\n...", "?!\n..."), "empty-after-tokenisation", "identical, but without a token"),
    ({}, *one("lamp\r\nkeeper\r\n\r\ntower", "keeper\nlamp\ttower"), "crlf rougeLsum", ""),
    ({}, *one("Zoë's naïve résumé, déjà-vu", "zoe s na ve r sum"), "unicode pitfall", "accents split words"),
    (
        {},
        *one("Zoe\u0308 \u212aeeper \u0130ris", "zoe keeper i ris"),
        "unicode",
        "combining mark, Kelvin sign, dotted I",
    ),
    ({}, *one("ＬＡＭＰ lamp\u3000lamp\u2028lamp", "lamp lamp"), "unicode", "full-width letters are no letters"),
    (STEM, *one("skies dying news was his agreed", "sky die new wa hi agree"), "stemmer", "irregular and short words"),
    (
        {},
        *one("a b c a b c a", "c b a c b a c", "a b"),
        "repetition multi-reference",
        "types choose their own reference",
    ),
    ({}, *one("x y", "x z", "y z", "z x"), "multi-reference tie", "equal F1: the first one"),
    ({}, *one("a b a b a\nb b a", "b a a b\na a b b a\nb"), "rougeLsum", "the union depends on the back-tracking rule"),
    (
        {},
        *one("b a b a b a a b", "a a b b a b\nb a b"),
        "rougeLsum",
        "one prediction sentence, several of the reference",
    ),
]
ROUGE_ERRORS = [
    ({}, ["a"], [["a"], ["b"]], "ValueError", "lengths differ"),
    ({}, [], [], "ValueError", "empty corpus"),
    ({}, ["a"], [[]], "ValueError", "no reference"),
    ({}, ["a"], ["a"], "TypeError", "a bare string where a list belongs"),
    ({"rouge_types": ["rouge0"]}, ["a"], [["a"]], "ValueError", "n starts at 1"),
    ({"tokenizer": "words"}, ["a"], [["a"]], "ValueError", "unknown tokenizer"),
]
METEOR = [
    ({}, LIGHTHOUSE, LIGHTHOUSE_REFERENCES, "en corpus multi-reference", ""),
    (WORDS, LIGHTHOUSE, LIGHTHOUSE_REFERENCES, "en corpus word_tokenize multi-reference", ""),
    ({}, HARBOUR, HARBOUR_REFERENCES, "en corpus", "newlines are whitespace"),
    ({"alpha": 0.5, "beta": 2.0, "gamma": 0.25}, LIGHTHOUSE, LIGHTHOUSE_REFERENCES, "en weights", ""),
    ({"alpha": 0.0}, LIGHTHOUSE, LIGHTHOUSE_REFERENCES, "en weights", "recall has no weight"),
    ({"alpha": 1.0, "gamma": 0.0}, LIGHTHOUSE, LIGHTHOUSE_REFERENCES, "en weights", "no penalty"),
    ({}, CHINESE, CHINESE_REFERENCES, "zh pitfall", "without spaces a sentence is one word"),
    ({}, characters(CHINESE), [characters(group) for group in CHINESE_REFERENCES], "zh characters", ""),
    ({}, *one("lamp", "lamp"), "pitfall", "one identical word scores 0.5"),
    ({}, *one("the lamp is lit now", "the lamp is lit now"), "pitfall", "identical, below 1"),
    ({}, *one("", "a lamp"), "empty-prediction", ""),
    ({}, *one("a lamp", ""), "empty-reference", ""),
    ({}, *one(" ", "\n"), "empty-prediction empty-reference", ""),
    ({}, *one("green boats", "red lamps"), "no-match", ""),
    ({}, *one("a doctor came", "a physician came"), "synonym", "both words are their own stems"),
    ({}, *one("a large boat", "a big boat"), "synonym pitfall", "the stem larg has no synonyms"),
    ({}, *one("he purchased fish", "he bought fish"), "synonym pitfall", "the stem purchas has no synonyms"),
    ({}, *one("auto car auto", "car machine car auto"), "synonym", "the rightmost free word"),
    ({}, *one("geese ran", "goose run"), "stem pitfall", "irregular forms are looked up by their stem"),
    ({}, *one("feeding lamps lit", "feeds lamp lights"), "stem", ""),
    ({}, *one("The LAMP Burned", "the lamp burned"), "case", ""),
    ({}, *one("ΟΔΟΣ İris STRASSE", "οδος i\u0307ris straße"), "unicode case", "lowercasing only, no folding"),
    ({}, *one("lamp\u3000keeper\x1ctower", "lamp keeper tower"), "unicode whitespace", ""),
    ({}, *one("lamp, keeper.", "lamp keeper"), "punctuation pitfall", "marks belong to the words"),
    (WORDS, *one("lamp, keeper. Can't we?", "lamp keeper can not we"), "punctuation word_tokenize", ""),
    ({}, *one("a b c a b c", "a c b a"), "repetition", "matched from the right"),
    ({}, *one("d c b a", "a b c d"), "order", "as many chunks as words"),
    ({}, *one("ice_cream New_York", "ice_cream new_york"), "underscore", ""),
]
METEOR_ERRORS = [
    ({}, ["a"], [["a"], ["b"]], "ValueError", "lengths differ"),
    ({}, [], [], "ValueError", "empty corpus"),
    ({}, ["a"], [[]], "ValueError", "no reference"),
    ({}, ["a"], ["a"], "TypeError", "a bare string where a list belongs"),
    ({"alpha": 1.5}, ["a"], [["a"]], "ValueError", "alpha is a weight"),
    ({"tokenize": "13a"}, ["a"], [["a"]], "ValueError", "unknown tokenizer"),
]
