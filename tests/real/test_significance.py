"""Decisions on published outputs: WMT17 beside the p-values that were published, WMT22 beside sacrebleu's randomization test."""

import gzip
import itertools
import json
from pathlib import Path

import pytest
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest

from evalkit.compare import CompareOptions, compare_pair
from evalkit.comparison.loaded import load_run
from evalkit.comparison.significance import Measure, Paired, bootstrap, randomize
from evalkit.gate import Verdict, judge
from evalkit.gating.policy import Check, Policy
from evalkit.metrics.bleu import Bleu
from tests.stored import keep_run

pytestmark = pytest.mark.real

WMT22_SYSTEMS = (
    "AISP-SJTU", "DLUT", "HuaweiTSC", "JDExploreAcademy", "Lan-Bridge", "LanguageX", "Online-A", "Online-B", "Online-W",
)  # fmt: skip


def lines(path: Path) -> list[str]:
    return gzip.decompress(path.read_bytes()).decode("utf-8").removesuffix("\n").split("\n")


@pytest.fixture(scope="module")
def wmt17(data_dir, tmp_path_factory):
    """Published p-values, and each system as a loaded run."""
    place = data_dir / "mt" / "wmt17_en_de"
    published = json.loads((place / "published_p_values.json").read_text(encoding="utf-8"))
    references = [[line] for line in lines(place / "reference.txt.gz")]
    names = [published["baseline"], *published["moses_paired_bootstrap_2000"]]
    folder = tmp_path_factory.mktemp("wmt17")
    metric = Bleu(tokenize=published["tokenize"])
    runs = {
        name: load_run(keep_run(folder, metric, lines(place / f"{name}.txt.gz"), references, name=name))
        for name in names
    }
    return published, runs


SYSTEMS17 = [("C-3MA.4959", True), ("FBK.4870", True), ("online-B.0", False)]


@pytest.mark.parametrize(("system", "is_worse"), SYSTEMS17)
def test_wmt17_systems_are_significantly_worse_where_published_tests_say_so(wmt17, system, is_worse):
    published, runs = wmt17
    name = f"newstest2017.{system}.en-de"
    [value] = compare_pair(runs[published["baseline"]], runs[name], CompareOptions(with_details=False)).values
    assert (value.p < 0.05, value.p_bootstrap < 0.05) == (is_worse, is_worse)
    assert (value.high < 0) == is_worse
    assert value.p == pytest.approx(published["multeval_ar_10000_bleu_ter"][name][0], abs=0.03)


@pytest.mark.parametrize(("system", "is_worse"), SYSTEMS17)
def test_the_gate_calls_the_same_systems_regressed(wmt17, system, is_worse):
    published, runs = wmt17
    policy = Policy(checks=(Check(task="toy", metric="bleu", margin=0.1),))
    result = judge([runs[published["baseline"]]], [runs[f"newstest2017.{system}.en-de"]], policy)
    assert result.verdict is (Verdict.REGRESSED if is_worse else Verdict.INCONCLUSIVE)


@pytest.fixture(scope="module")
def wmt22(data_dir):
    """References, and each system's text."""
    place = data_dir / "mt" / "wmt22" / "en-zh"
    references = [lines(place / f"generaltest2022.en-zh.ref.{name}.zh.gz") for name in "BA"]
    return references, {name: lines(place / f"generaltest2022.en-zh.hyp.{name}.zh.gz") for name in WMT22_SYSTEMS}


def test_both_tests_decide_alike_on_all_pairs_of_wmt22(wmt22):
    references, texts = wmt22
    metric = Bleu(language="zh")
    tables = {name: metric.statistics(text, list(zip(*references, strict=True))) for name, text in texts.items()}
    measure = Measure(metric, tables["DLUT"].columns, "bleu")
    open_pairs = []
    for first, second in itertools.combinations(WMT22_SYSTEMS, 2):
        pair = Paired(measure, (tables[first].rows,), (tables[second].rows,))
        [spread] = bootstrap([pair], 2000, 0)
        chance = randomize(pair, 2000, 0)
        assert (chance.p < 0.05) == (spread.p() < 0.05), (first, second)
        if chance.p >= 0.05:
            open_pairs.append((first, second))
    assert open_pairs == [("HuaweiTSC", "LanguageX"), ("JDExploreAcademy", "Online-A")]


@pytest.mark.parametrize(("first", "second"), [("HuaweiTSC", "LanguageX"), ("AISP-SJTU", "Online-A")])
def test_close_pairs_have_the_p_of_sacrebleus_randomization(wmt22, first, second):
    references, texts = wmt22
    systems = [(name, texts[name]) for name in (first, second)]
    _, scores = PairedTest(systems, {"BLEU": BLEU(tokenize="zh")}, references, test_type="ar", n_samples=2000)()
    theirs = next(values for name, values in scores.items() if name != "System")[1].p_value
    metric = Bleu(language="zh")
    tables = [metric.statistics(texts[name], list(zip(*references, strict=True))).rows for name in (first, second)]
    columns = metric.statistics(["一"], [["一"]]).columns
    ours = randomize(Paired(Measure(metric, columns, "bleu"), (tables[0],), (tables[1],)), 10_000, 0).p
    assert ours == pytest.approx(theirs, abs=0.03)
