"""WMT17 news translation, English to German: articles of newstest2017.

Paper: Bojar et al. (2017), "Findings of the 2017 Conference on Machine Translation (WMT17)".
Licence: Apache-2.0 (repository mjpost/sacrebleu, from whose tests the files come); the terms of the WMT17 texts are not stated
there.
Files: 3,004 reference lines without their source, so they serve for scoring outputs that exist (``predictions:FILE``); the
source is empty, and a model that is asked for a translation has nothing to translate. With sources, load from the hub.
Hub: wmt/wmt17, configuration de-en, pinned; its test split is newstest2017 with sources.
Example (made up in the same form):
    source: (empty in the files) The council will vote on the new bridge next week.
    reference: Der Rat wird nächste Woche über die neue Brücke abstimmen.
"""

from evalkit.metrics.bleu import Bleu
from evalkit.metrics.chrf import Chrf, ChrfPlusPlus
from evalkit.spec import Files, Hub, TaskSpec

TASK = TaskSpec(
    name="wmt17_en_de",
    kind="mt",
    version=1,
    summary="Translate news from English to German; the files have references only.",
    language="de",
    source_language="en",
    paper="Bojar et al. (2017). Findings of the 2017 Conference on Machine Translation (WMT17).",
    licence="Apache-2.0 (repository); terms of the WMT17 texts not stated there",
    files=Files(
        format="tsv",
        splits={"test": ("mt/wmt17_en_de/reference.txt",)},
        options={"columns": ("references",), "constants": {"source": ""}},
    ),
    hub=Hub(
        name="wmt/wmt17",
        revision="54d3aacfb5429020b9b85b170a677e4bc92f2449",
        config="de-en",
        splits={"test": "test"},
        fields={"source": "translation.en", "references": "translation.de"},
        checked="Name, revision, configuration and columns read in public code that loads them. Not loaded from here.",
    ),
    shots_split=None,
    metrics=(Bleu(language="de"), Chrf(), ChrfPlusPlus()),
)
