"""Write the conformance cases of question answering by running the official scripts.

    python tests/golden/make_qa_cases.py SCRIPTS

SCRIPTS is a folder with the official scripts, which are not part of this project:

    evaluate-v1.1.py       SQuAD 1.1; copy in seominjoon/denspi
    evaluate-v2.0.py       SQuAD 2.0; rajpurkar/SQuAD-explorer
    cmrc2018_evaluate.py   v6; ymcui/cmrc2018, baseline/
    mlqa_evaluation_v1.py  facebookresearch/MLQA

CMRC 2018 also needs nltk's English punkt_tab. DRCD's authors publish no script, only what they changed in SQuAD's
(DRCKnowledgeTeam/DRCD issue 6); `_drcd_script` makes these changes.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from qa_inputs import INPUTS

CASES = Path(__file__).resolve().parents[2] / "evalkit" / "conformance" / "cases"
SOURCES = {
    "squad_v1": "SQuAD evaluate-v1.1.py",
    "squad_v2": "SQuAD evaluate-v2.0.py",
    "cmrc2018": "CMRC2018 cmrc2018_evaluate.py v6 (nltk {nltk} word_tokenize)",
    "drcd": "SQuAD evaluate-v1.1.py with the two changes of DRCKnowledgeTeam/DRCD#6",
    "mlqa": "MLQA mlqa_evaluation_v1.py",
}

Predictions = Sequence[str | None]
References = Sequence[Sequence[str]]


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem.replace("-", "_").replace(".", "_"), path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _dataset(references: References) -> list[dict[str, Any]]:
    questions = [
        {"id": str(index), "answers": [{"text": text} for text in several]} for index, several in enumerate(references)
    ]
    return [{"paragraphs": [{"qas": questions}]}]


def _given(predictions: Predictions) -> dict[str, str]:
    return {str(index): text for index, text in enumerate(predictions) if text is not None}


def _each(score: Callable[[str, Sequence[str]], list[float]], predictions: Predictions, references: References) -> list:
    return [
        None if text is None else score(text, several) for text, several in zip(predictions, references, strict=True)
    ]


def _squad_v1(script: ModuleType, predictions: Predictions, references: References, params: Mapping[str, Any]) -> dict:
    def score(text: str, several: Sequence[str]) -> list[float]:
        best = script.metric_max_over_ground_truths
        functions = (script.exact_match_score, script.f1_score)
        return [float(best(function, text, several, *params.values())) for function in functions]

    values = script.evaluate(_dataset(references), _given(predictions), *params.values())
    return {**values, "per_example": _each(score, predictions, references)}


def _drcd_script(squad: ModuleType) -> ModuleType:
    class Characters(str):
        def split(self, *_: Any) -> list[str]:
            return list(self)

    plain = squad.normalize_answer

    def normalize_answer(text: str) -> str:
        return Characters(plain("".join(character for character in text if character not in "《》？，。、；：")))

    squad.normalize_answer = normalize_answer
    return squad


def _squad_v2(script: ModuleType, predictions: Predictions, references: References, params: Mapping[str, Any]) -> dict:
    dataset, given = _dataset(references), _given(predictions)
    probabilities = dict(zip(given, params.get("no_answer_probs", [0.0] * len(given)), strict=True))
    has_answer = script.make_qid_to_has_ans(dataset)
    raw = script.get_raw_scores(dataset, given)
    threshold = params.get("no_answer_threshold", 1.0)
    exact, f1 = (script.apply_no_ans_threshold(scores, probabilities, has_answer, threshold) for scores in raw)
    values = dict(script.make_eval_dict(exact, f1))
    for prefix, wanted in (("HasAns", True), ("NoAns", False)):
        questions = [question for question, has in has_answer.items() if has == wanted]
        if questions:
            script.merge_eval(values, script.make_eval_dict(exact, f1, qid_list=questions), prefix)
    if "no_answer_probs" in params:
        script.find_all_best_thresh(values, given, *raw, probabilities, has_answer)
    return {**values, "per_example": [[exact[question], f1[question]] for question in given]}


def _cmrc2018(script: ModuleType, predictions: Predictions, references: References, params: Mapping[str, Any]) -> dict:
    def score(text: str, several: Sequence[str]) -> list[float]:
        return [float(script.calc_em_score(several, text)), float(script.calc_f1_score(several, text))]

    f1, em, total, skip = script.evaluate(_dataset(references), _given(predictions))
    per_example = _each(score, predictions, references)
    return {"em": em, "f1": f1, "average": (em + f1) * 0.5, "total": total, "skip": skip, "per_example": per_example}


def _scorers(scripts: Path) -> dict[str, Callable[..., dict]]:
    loaded = {
        "squad_v1": (_squad_v1, _load(scripts / "evaluate-v1.1.py")),
        "squad_v2": (_squad_v2, _load(scripts / "evaluate-v2.0.py")),
        "cmrc2018": (_cmrc2018, _load(scripts / "cmrc2018_evaluate.py")),
        "drcd": (_squad_v1, _drcd_script(_load(scripts / "evaluate-v1.1.py"))),
        "mlqa": (_squad_v1, _load(scripts / "mlqa_evaluation_v1.py")),
    }

    def bind(run: Callable[..., dict], script: ModuleType) -> Callable[..., dict]:
        return lambda predictions, references, params: run(script, predictions, references, params)

    return {metric: bind(*pair) for metric, pair in loaded.items()}


def cases(metric: str, scorer: Callable[..., dict]) -> Iterator[dict[str, Any]]:
    """Yield the cases of one metric, in the order of the format's ten fields."""
    import nltk

    for number, given in enumerate(INPUTS[metric], start=1):
        params, error = given.get("params", {}), given.get("error")
        expected = {"error": error} if error else scorer(given["predictions"], given["references"], params)
        yield {
            "id": f"{metric}-e{number:03}",
            "metric": metric,
            "params": params,
            "predictions": given["predictions"],
            "references": given["references"],
            "expected": expected,
            "tolerance": 0 if error else 1e-9,
            "source": "policy" if error else SOURCES[metric].format(nltk=nltk.__version__),
            "tags": given["tags"].split(),
            "note": given.get("note", ""),
        }


def main() -> None:
    for metric, scorer in _scorers(Path(sys.argv[1])).items():
        lines = [json.dumps(case, ensure_ascii=False) + "\n" for case in cases(metric, scorer)]
        (CASES / f"{metric}.jsonl").write_text("".join(lines), encoding="utf-8")
        print(f"{metric}: {len(lines)} cases")


if __name__ == "__main__":
    main()
