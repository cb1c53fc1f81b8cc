"""Inputs of the conformance cases of BLEU, chrF and TER: settings, predictions, references, tags and why the case is there."""

ENGLISH = [
    ("The baker opened his shop before the bells rang.", ["The baker opened the shop before the bells had rung."]),
    ("Two swans crossed the frozen pond, slowly.", ["Slowly two swans crossed the frozen pond."]),
    ("Our train was cancelled because of fallen trees.", ["Fallen trees meant that our train was cancelled."]),
    ('"Where is the ladder?" asked the painter.', ['"Where has the ladder gone?" the painter asked.']),
    ("The vase cost $1,200.50 -- a third of its value.", ["The vase cost $1,200.50, one third of what it is worth."]),
    ("She doesn't like well-known recipes.", ["She does not like recipes that are well known."]),
    ("Bring a coat; it's cold up there!", ["Bring a coat: it is cold up there!"]),
    ("the the the the", ["the gate by the mill"]),
]
MANY = [
    (
        "The old clock stopped at noon.",
        [
            "At noon the old clock stopped.",
            "The old clock came to a stop at midday.",
            "It was noon when the clock stopped.",
        ],
    ),
    ("Fresh snow covered every roof.", ["Every roof was covered by fresh snow."]),
    (
        "The bus waits at the corner.",
        ["A bus is waiting at the corner.", "", "The bus waits on the corner."],
    ),
    ("He paid and left.", ["He paid, then left.", "He paid and went away."]),
]
CHINESE = [
    ("面包师在钟声响起之前就开了店。", ["钟声响起前，面包师已经开了店。", "面包师在敲钟之前开门营业。"]),
    ("两只天鹅慢慢地游过结冰的池塘。", ["两只天鹅慢慢穿过了结冰的池塘。", "池塘结了冰，两只天鹅缓缓走过。"]),
    ("因为有树倒下，我们的火车取消了。", ["由于树木倒塌，我们的列车被取消。", "我们那班火车因倒树停运。"]),
    ("花瓶价格是1,200.50元——约为其价值的三分之一。", ["这个花瓶卖1,200.50元，是其价值的1/3。", "花瓶要价１２００元。"]),
    ("“梯子在哪里？”油漆匠问道……", ["油漆匠问：“梯子去哪儿了？”", "“梯子呢？”油漆匠问。"]),
    ("GPT 和 BERT 都是2018年出现的.", ["GPT与BERT均出现于2018年。", ".5 版之后 BERT 出现了"]),
]
NASTY = [
    ("", ["a reference without an output"]),
    ("an output without a reference", [""]),
    ("", [""]),
    ("   \t ", ["\u3000"]),
    ("cafe\u0301 ole\u0301", ["caf\u00e9 ol\u00e9"]),
    ("ＡＢＣ　１２３", ["ABC 123"]),
    (
        "flags \U0001f1eb\U0001f1ee and \U0001f469\u200d\U0001f33e",
        ["flags \U0001f1eb\U0001f1ee and \U0001f469\U0001f33e"],
    ),
    ("end of line-\nbreak and\nmore\r\n", ["end of linebreak and more"]),
    ("a\x0bb\x1cc\u2028d\u00a0e", ["a b c d e"]),
    ("İstanbul ΣΑΣ Straße", ["istanbul σας STRASSE"]),
]
ENTITIES = [
    ("&quot;Fish &amp; chips&quot; &lt;cheap&gt;", ['"Fish & chips" <cheap>']),
    ("&amp;lt; is written once<skipped>", ["&lt; is written once"]),
    ("3-4 days, 5.5.", ["3 - 4 days , 5.5 ."]),
]
TWICE = [("it's.", ["it's."]), ("one &lt; two", ["one &amp;lt; two"])]
SPARSE = [("the the the the", ["the gate by the mill"]), ("a dog barked at noon", ["at noon the dog slept"])]
SHORT = [("Yes.", ["Yes."]), ("Not now", ["Not yet"]), ("So", ["So it goes"])]
DISJOINT = [("apple pear", ["brick stone"]), ("plum", ["slate roof"])]
TIES = [("one two three four", ["one two three", "one two three four five"]), ("a b", ["a b c d", "a"])]
CROWD = [("a warm bowl of soup", [" ".join(["a warm bowl of soup today"] * (n % 4 + 1)) + f" {n}" for n in range(45)])]
EQUALS = [
    ("same same", ["same other", "other same"]),
    ("xyz", ["abc", "defghi"]),
    ("ab", ["ab"]),
    ("ab", ["abab", "ab"]),
]
PUNCTUATED = [("(hi) there!? -- 'tis", ["hi there ! ' tis --"]), ("...", ["."]), ("a.b, c", ["a.b , c"])]
PERFECT = [(reference, [reference]) for _, (reference, *_) in ENGLISH]

WORDS = [f"w{n}" for n in range(70)]
MOVED = [
    ("five six seven one two three four", ["one two three four five six seven"]),
    ("b a b a b a c", ["a b a b a b c"]),
    (" ".join([*WORDS[60:], *WORDS[:60]]), [" ".join(WORDS)]),
    (" ".join([*WORDS[:5], *WORDS[30:34], *WORDS[5:30], *WORDS[34:]]), [" ".join(WORDS)]),
]
UNBALANCED = [
    ("only three words", [" ".join(["only", *WORDS, "three", "words", *WORDS])]),
    (" ".join([*WORDS[40:], "x", *WORDS[:40], *WORDS]), ["w3 w2 w1 w0"]),
]
REPETITIVE = [
    (" ".join(["to", "and", "fro"] * 15), [" ".join(["fro", "to", "and", "to"] * 11)]),
    (" ".join("ab" * 20), [" ".join("ba" * 20)]),
]
"""More than a thousand candidate moves, where the search breaks off."""

BLEU = [
    ({}, ENGLISH, "en", "defaults"),
    ({}, MANY, "en variable-references", "clipped by the largest count of any reference; '' is a reference"),
    ({}, PERFECT, "en pitfall", "a perfect score is a little above 100"),
    ({"lowercase": True}, ENGLISH + NASTY, "en lowercase", "dotted capital I and final sigma"),
    ({"smooth_method": "none"}, SPARSE, "en smooth", "an order without matches makes the score 0"),
    ({"smooth_method": "floor"}, SPARSE, "en smooth", "default value 0.1"),
    ({"smooth_method": "floor", "smooth_value": 0.01}, SPARSE, "en smooth", ""),
    ({"smooth_method": "add-k"}, SPARSE, "en smooth", "counts and totals of orders above 1 include k"),
    ({"smooth_method": "add-k", "smooth_value": 0.5}, SPARSE, "en smooth", "counts that are not integers"),
    ({"smooth_method": "exp"}, SPARSE[:1], "en smooth", "the second zero order gets half of the first"),
    ({"max_ngram_order": 1}, ENGLISH, "en order", ""),
    ({"max_ngram_order": 6}, ENGLISH, "en order", ""),
    ({}, SHORT, "en short", "no 4-gram in the corpus: 0"),
    ({"effective_order": True}, SHORT, "en short", "orders without n-grams are left out"),
    ({}, DISJOINT, "en pitfall", "nothing matches: 0 whatever the smoothing"),
    ({"smooth_method": "add-k"}, DISJOINT, "en pitfall smooth", "nothing matches: nothing is added either"),
    ({}, TIES, "en", "closest reference length, the shorter of two"),
    ({}, CROWD, "en many-references", "45 references"),
    ({}, NASTY, "unicode empty whitespace", ""),
    ({}, ENTITIES, "13a", "entities once, <skipped>, hyphen at a line end, numbers"),
    ({"tokenize": "none"}, ENGLISH + NASTY, "tok:none", ""),
    ({"tokenize": "char"}, ENGLISH + CHINESE + NASTY, "tok:char zh", "white space vanishes"),
    ({"tokenize": "intl"}, ENGLISH + NASTY + ENTITIES + PUNCTUATED, "tok:intl", "marks at the ends of lines"),
    (
        {"tokenize": "zh"},
        CHINESE + NASTY,
        "tok:zh zh",
        "marks and numbers at the ends of lines, dashes and quotes split",
    ),
    ({}, CHINESE, "zh pitfall", "13a leaves a Chinese clause in one piece"),
    ({"level": "sentence"}, ENGLISH + SHORT + NASTY + TIES, "en sentence", "effective order"),
    ({"level": "sentence", "effective_order": False}, ENGLISH + SHORT, "en sentence", "without effective order"),
    ({"level": "sentence", "tokenize": "zh"}, CHINESE, "zh sentence", ""),
]
CHRF = [
    ({}, ENGLISH, "en", "defaults"),
    ({}, MANY, "en variable-references", "counts of the reference with the best score"),
    ({"word_order": 2}, ENGLISH + PUNCTUATED, "en chrf++", "one mark is split off a word"),
    ({"word_order": 2}, MANY + CHINESE, "zh chrf++ variable-references", ""),
    ({"word_order": 1}, ENGLISH, "en", ""),
    ({"beta": 1}, ENGLISH, "en", ""),
    ({"beta": 0.5}, ENGLISH, "en", "beta below 1"),
    ({"char_order": 1}, ENGLISH, "en order", ""),
    ({"char_order": 9, "word_order": 3}, ENGLISH + CHINESE, "en zh order", ""),
    ({"lowercase": True}, ENGLISH + NASTY, "lowercase unicode", ""),
    ({"whitespace": True}, ENGLISH + NASTY, "whitespace", "white space of every kind is characters"),
    ({}, CHINESE, "zh variable-references", ""),
    ({}, NASTY, "unicode empty whitespace", "an empty reference takes the prediction's counts away"),
    ({}, DISJOINT, "en pitfall", "without overlap the reference's n-grams still count"),
    ({}, EQUALS, "en", "the first of equally good references"),
    (
        {"eps_smoothing": True},
        EQUALS + NASTY,
        "eps pitfall",
        "an average over all orders: short texts cannot reach 100",
    ),
    ({"eps_smoothing": True, "word_order": 2}, ENGLISH, "en eps chrf++", ""),
    ({}, CROWD, "en many-references", "45 references"),
    ({}, PERFECT, "en", ""),
    ({"level": "sentence"}, ENGLISH + SHORT + NASTY + EQUALS, "en sentence", ""),
    ({"level": "sentence", "word_order": 2}, MANY + CHINESE + PUNCTUATED, "zh sentence chrf++", ""),
    ({"level": "sentence", "eps_smoothing": True}, SHORT + NASTY, "sentence eps", ""),
]
TER = [
    ({}, ENGLISH, "en", "defaults"),
    ({}, MANY, "en variable-references", "edits to the nearest reference over the mean reference length"),
    ({}, PERFECT, "en", ""),
    ({}, MOVED, "en shift", "phrases moved, one of them over more than 50 words"),
    ({}, UNBALANCED, "en beam", "lengths that differ so much that the beam around the diagonal matters"),
    ({}, REPETITIVE, "en shift", "the search for moves breaks off after 1000 candidates"),
    ({}, NASTY, "unicode empty whitespace", ""),
    ({}, [NASTY[2]], "empty pitfall", "both empty: 0"),
    ({}, [NASTY[1]], "empty pitfall", "an output for an empty reference: 100"),
    ({}, CHINESE, "zh pitfall", "a Chinese clause is one word"),
    ({"normalized": True}, ENGLISH + ENTITIES, "en normalized", ""),
    ({"normalized": True}, TWICE, "en normalized pitfall", "sacrebleu tokenizes references twice, predictions once"),
    ({"no_punct": True}, ENGLISH + ENTITIES, "en no_punct", ""),
    ({"normalized": True, "no_punct": True}, ENGLISH, "en normalized no_punct", ""),
    ({"case_sensitive": True}, ENGLISH + NASTY, "en case", ""),
    ({"asian_support": True}, CHINESE, "zh pitfall", "no effect without normalized or no_punct"),
    ({"asian_support": True, "normalized": True}, CHINESE + NASTY, "zh normalized", "characters are words"),
    ({"asian_support": True, "no_punct": True}, CHINESE, "zh no_punct", ""),
    ({"asian_support": True, "normalized": True, "no_punct": True}, CHINESE, "zh normalized no_punct", ""),
    ({"level": "sentence"}, ENGLISH + SHORT + NASTY + MOVED, "en sentence", ""),
    ({"level": "sentence"}, UNBALANCED + REPETITIVE, "en sentence beam", ""),
    ({"level": "sentence", "normalized": True, "asian_support": True}, CHINESE, "zh sentence", ""),
]

ERRORS = [
    ({}, ["a", "b"], [["a"]], "ValueError", "lengths differ"),
    ({}, [], [], "ValueError", "empty corpus"),
    ({}, ["a"], [[]], "ValueError", "an example without references"),
    ({}, ["a b"], ["a b"], "TypeError", "a bare string where a list of references belongs"),
    ({}, [None], [["a"]], "TypeError", "no prediction"),
    ({}, ["a"], [[None]], "TypeError", "a reference that is not a string"),
]
BLEU_ERRORS = [
    *ERRORS,
    ({"tokenize": "13b"}, ["a"], [["a"]], "ValueError", "unknown tokenizer"),
    ({"smooth_method": "laplace"}, ["a"], [["a"]], "ValueError", "unknown smoothing"),
    ({"smooth_method": "floor", "smooth_value": -1}, ["a"], [["a"]], "ValueError", "a negative value"),
    ({"max_ngram_order": 0}, ["a"], [["a"]], "ValueError", "order 0"),
]
CHRF_ERRORS = [
    *ERRORS,
    ({"char_order": 0}, ["a"], [["a"]], "ValueError", "order 0"),
    ({"word_order": -1}, ["a"], [["a"]], "ValueError", "a negative order"),
    ({"beta": 0}, ["a"], [["a"]], "ValueError", "recall without weight"),
]
TER_ERRORS = ERRORS
