"""File formats that evalkit reads, by name."""

from collections.abc import Mapping

from evalkit.data.conll import CONLL_OPTIONS, read_conll
from evalkit.data.delimited import CSV_OPTIONS, TSV_OPTIONS, read_csv, read_tsv
from evalkit.data.json_rows import read_json, read_jsonl
from evalkit.data.located import Located
from evalkit.data.parallel import read_parallel_text
from evalkit.data.plain import PLAIN_TEXT_OPTIONS, read_plain_text
from evalkit.data.reader import Reader
from evalkit.data.sighan import read_sighan
from evalkit.data.squad import read_squad_json

_ALL = (
    Reader(
        name="parallel_text",
        summary="line-aligned files: a source and one or more files of references",
        records=read_parallel_text,
    ),
    Reader(name="jsonl", summary="one JSON object a line", records=read_jsonl),
    Reader(name="json", summary="a JSON array of objects", records=read_json),
    Reader(name="csv", summary="comma-separated values with a header", records=read_csv, options=CSV_OPTIONS),
    Reader(name="tsv", summary="tab-separated values with a header", records=read_tsv, options=TSV_OPTIONS),
    Reader(
        name="squad_json",
        summary="SQuAD 1.1 or 2.0 JSON, as DRCD, XQuAD and CMRC 2018 use it too",
        records=read_squad_json,
    ),
    Reader(
        name="conll",
        summary="a token and its tag a line, a blank line after each sentence",
        records=read_conll,
        options=CONLL_OPTIONS,
    ),
    Reader(name="sighan", summary="one sentence a line, spaces between words", records=read_sighan),
    Reader(
        name="plain_text",
        summary="running text, cut into documents, lines, paragraphs, articles or blocks",
        records=read_plain_text,
        options=PLAIN_TEXT_OPTIONS,
    ),
)

READERS: Mapping[str, Reader] = {reader.name: reader for reader in _ALL}
"""All readers by name."""

__all__ = ["READERS", "Located", "Reader"]
