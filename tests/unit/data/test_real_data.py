"""The published data sets, read as their descriptions count them."""

import pytest

from evalkit.data.load import lexicon, load
from evalkit.data.text import read_text
from evalkit.spec import Files, TaskSpec

pytestmark = pytest.mark.real

UNER = {"comments": True, "token_column": 1}
WMT22 = "mt/wmt22/en-zh/generaltest2022.en-zh"
TATOEBA = {
    "columns": ["source", "references", "attribution"],
    "split_by": "source",
    "split_shares": {"test": 0.1, "dev": 0.05, "train": 0.85},
    "group_by": "source",
}


def examples(data_dir, kind, format_name, *paths, fields=None, split="test", lexicon_file=None, **options):
    return load(
        task(kind, format_name, *paths, fields=fields, split=split, lexicon=lexicon_file, **options), split, data_dir
    )


def task(kind, format_name, *paths, fields=None, split="test", lexicon=None, **options):
    files = Files(format=format_name, splits={split: paths}, fields=fields or {}, options=options, lexicon=lexicon)
    return TaskSpec(
        name="real",
        kind=kind,
        version=1,
        summary="Real data.",
        language="zh",
        paper="none",
        licence="none",
        files=files,
        options={"unanswerable": True} if kind == "qa" else {},
    )


@pytest.mark.parametrize(
    ("path", "options", "sentences", "tokens", "clusters"),
    [
        ("ner/wnut17/wnut17train.conll", {}, 3394, 62730, 0),
        ("ner/wnut17/emerging.dev.conll", {}, 1009, 15733, 0),
        ("ner/wnut17/emerging.test.annotated", {}, 1287, 23394, 0),
        ("ner/wnut17/submissions/arcada.txt", {}, 1287, 23394, 0),
        ("ner/wnut17/submissions/drexel_cci.txt", {}, 1287, 23394, 0),
        ("ner/wnut17/submissions/spinningbytes.txt", {}, 1287, 23394, 0),
        # 145 of the 1,841 blocks and of the 39,152 tokens are marks of document starts
        ("ner/wikigold/wikigold.conll.txt", {"scheme": "IO"}, 1696, 39007, 145),
        ("ner/uner_zh_gsdsimp/train.iob2", UNER, 3997, 98616, 134),
        ("ner/uner_zh_gsdsimp/dev.iob2", UNER, 500, 12663, 17),
        ("ner/uner_zh_gsdsimp/test.iob2", UNER, 500, 12012, 17),
        ("ner/uner_zh_pud/test.iob2", UNER, 1000, 21415, 34),
        ("ner/uner_en_pud/test.iob2", UNER, 1000, 21176, 397),
    ],
)
def test_named_entities(data_dir, path, options, sentences, tokens, clusters):
    data = examples(data_dir, "ner", "conll", path, **options)
    assert len(data.examples) == sentences
    assert sum(len(row.inputs["tokens"]) for row in data.examples) == tokens
    assert len({row.cluster for row in data.examples} - {None}) == clusters


def test_hashtags_of_tweets_are_tokens(data_dir):
    data = examples(data_dir, "ner", "conll", "ner/wnut17/emerging.test.annotated")
    assert sum(token.startswith("#") for row in data.examples for token in row.inputs["tokens"]) == 247


def test_chinese_sentences_consist_of_words(data_dir):
    first = examples(data_dir, "ner", "conll", "ner/uner_zh_gsdsimp/test.iob2", **UNER).examples[0]
    assert first.id == "batch-0000-0001"
    assert len(first.inputs["tokens"]) == 11
    assert max(map(len, first.inputs["tokens"])) == 2


@pytest.mark.parametrize(
    ("path", "questions", "paragraphs", "without_answer", "answers"),
    [
        ("qa/squad/dev-v1.1.json", 10570, 2067, 0, None),
        ("qa/squad/dev-v2.0.json", 11873, 1204, 5945, None),
        ("qa/xquad/xquad.en.json", 1190, 240, 0, 1190),
        ("qa/xquad/xquad.zh.json", 1190, 240, 0, 1190),
        ("qa/cmrc2018/cmrc2018_dev.squad.json", 3219, 848, 0, 3 * 3219),
        ("qa/drcd/DRCD_test.json", 3493, 1000, 0, None),
    ],
)
def test_questions(data_dir, path, questions, paragraphs, without_answer, answers):
    data = examples(data_dir, "qa", "squad_json", path)
    assert len(data.examples) == questions
    assert len({row.cluster for row in data.examples}) == paragraphs
    assert sum(not row.references for row in data.examples) == without_answer
    if answers is not None:
        assert sum(len(row.references) for row in data.examples) == answers


@pytest.mark.parametrize(
    ("source", "references", "lines"),
    [
        (f"{WMT22}.src.en", [f"{WMT22}.ref.A.zh", f"{WMT22}.ref.B.zh"], 2037),
        ("mt/multi30k/train.en", ["mt/multi30k/train.de"], 29000),
        ("mt/multi30k/val.en.gz", ["mt/multi30k/val.de.gz"], 1014),
        ("mt/multi30k/test_2016_flickr.en", ["mt/multi30k/test_2016_flickr.de"], 1000),
        ("mt/multi30k/test_2017_flickr.en", ["mt/multi30k/test_2017_flickr.de"], 1000),
    ],
)
def test_translations(data_dir, source, references, lines):
    data = examples(data_dir, "mt", "parallel_text", source, *references)
    assert [row.id for row in data.examples] == [str(number) for number in range(1, lines + 1)]
    assert {len(row.references) for row in data.examples} == {len(references)}
    assert data.warnings == ()


def test_tatoeba_splits_by_english_sentence(data_dir):
    path = "mt/tatoeba_cmn_eng/cmn.txt"
    parts = [
        examples(data_dir, "mt", "tsv", path, split=split, **TATOEBA).examples for split in ("train", "dev", "test")
    ]
    assert sum(len(row.references) for part in parts for row in part) == 24026
    assert len({row.inputs["source"] for part in parts for row in part}) == sum(map(len, parts)) == 23147
    assert [len(part) / 23147 for part in parts] == pytest.approx([0.85, 0.05, 0.1], abs=0.005)


def test_e2e_groups_references_by_meaning(data_dir):
    fields = {"source": "mr", "references": "ref"}
    rows = examples(data_dir, "mt", "csv", "nlg/e2e/testset_w_refs.csv", fields=fields, group_by="source").examples
    counts = [len(row.references) for row in rows]
    assert (len(rows), sum(counts), min(counts), max(counts)) == (630, 4693, 1, 45)


@pytest.mark.parametrize(("split", "papers"), [("train", 1992), ("dev", 619), ("test", 618)])
def test_abstracts_are_joined(data_dir, split, papers):
    fields = {"id": "paper_id", "document": "source", "references": "target"}
    path = f"summarization/scitldr_a/{split}.jsonl"
    rows = examples(data_dir, "summarization", "jsonl", path, fields=fields, join={"document": " "}).examples
    assert len(rows) == papers
    assert any(len(row.references) > 1 for row in rows) == (split != "train")


@pytest.mark.parametrize("split", ["dev", "test"])
def test_tables_without_header(data_dir, split):
    columns = ["task", "document", "references"]
    data = examples(data_dir, "summarization", "tsv", f"summarization/csl_ts_zh/{split}.tsv", columns=columns)
    assert len(data.examples) == 1000


@pytest.mark.parametrize(
    ("path", "sentences", "words"),
    [
        ("gsdsimp_seg/train_gold.utf8", 3997, 98616),
        ("gsdsimp_seg/dev_gold.utf8", 500, 12663),
        ("gsdsimp_seg/test_gold.utf8", 500, 12012),
        ("people_daily_199801/train_words.utf8", 7000, None),
    ],
)
def test_segmented_sentences(data_dir, path, sentences, words):
    data = examples(data_dir, "cws", "sighan", f"cws/{path}")
    assert len(data.examples) == sentences
    if words is not None:
        assert sum(len(row.references[0].split()) for row in data.examples) == words


def test_the_word_list_is_that_of_the_training_split(data_dir):
    train = "cws/gsdsimp_seg/train_gold.utf8"
    listed = task("cws", "sighan", train, split="train", lexicon="cws/gsdsimp_seg/train_words.utf8")
    known = lexicon(listed, data_dir)
    assert len(known) == 17532
    assert known == lexicon(task("cws", "sighan", train, split="train"), data_dir)


@pytest.mark.parametrize(
    ("path", "options", "units"),
    [
        ("wikitext2/test.txt", {"unit": "wikitext"}, 60),
        ("wikitext2/valid.txt", {"unit": "wikitext"}, 60),
        ("tinyshakespeare/input.txt", {"unit": "block", "lines": 100}, 400),
        ("hongloumeng/hongloumeng.txt", {"unit": "block", "lines": 100}, 30),
        ("hongloumeng/hongloumeng.txt", {"unit": "line"}, 2998),
    ],
)
def test_running_text_is_kept_to_the_character(data_dir, path, options, units):
    data = examples(data_dir, "lm", "plain_text", f"lm/{path}", **options)
    assert len(data.examples) == units
    assert "".join(row.inputs["text"] for row in data.examples) == read_text(data_dir / "lm" / path)


@pytest.mark.parametrize(("split", "lines", "tokens"), [("valid", 3760, 217646), ("test", 4358, 245569)])
def test_wikitext_has_its_lines_and_tokens(data_dir, split, lines, tokens):
    rows = examples(data_dir, "lm", "plain_text", f"lm/wikitext2/{split}.txt", unit="wikitext").examples
    assert sum(row.inputs["text"].count("\n") for row in rows) == lines
    assert sum(len(row.inputs["text"].split()) for row in rows) + lines == tokens
