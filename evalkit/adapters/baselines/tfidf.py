"""`baseline:tfidf`: nearest neighbours and a linear classifier over weighted words or characters, with scikit-learn.

Texts are compared by TF-IDF vectors of words and word pairs, or of one to three characters where words have no spaces between
them. The vectors of questions, contexts and documents come from the text at hand alone, so that no answer depends on which
other examples are asked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from evalkit.adapters.baselines.base import Baseline, training_examples
from evalkit.adapters.baselines.sentences import sentences
from evalkit.adapters.responses import class_response, text_response
from evalkit.requests import ClassifyRequest, Request, Response, SpanRequest, TaskContext

_WORD = re.compile(r"\w")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_UNSPACED_SHARE = 0.3
_SAMPLE_TEXTS = 1000
_WORD_NGRAMS = (1, 2)
_CHARACTER_NGRAMS = (1, 3)
_CACHED_CONTEXTS = 64


class Tfidf(Baseline):
    """The nearest sentence, the central sentences, the nearest training translation, or a linear classifier."""

    name: ClassVar[str] = "tfidf"
    summary: ClassVar[str] = (
        "the sentence nearest to the question, the three most central sentences, the translation of the nearest training"
        " source, a logistic regression"
    )
    requests: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "mt": ("generate",),
        "summarization": ("generate",),
        "qa": ("span", "generate"),
        "classification": ("classify", "generate"),
    }
    settings: ClassVar[Mapping[str, Any]] = {
        "summary_sentences": 3,
        "word_ngrams": _WORD_NGRAMS,
        "character_ngrams": _CHARACTER_NGRAMS,
        "inverse_regularization": 1.0,
        "iterations": 1000,
    }

    def learn(self, context: TaskContext) -> None:
        """Fit what the kind of the task needs."""
        by_kind: Mapping[str, Callable[[Request], Response]] = {
            "mt": self._translate,
            "summarization": self._summarize,
            "qa": self._find_answer,
            "classification": self._classify,
        }
        self._respond = by_kind[context.kind]
        if context.kind == "mt":
            examples = training_examples(self.name, context)
            self._index = _Index.of([example.inputs["source"] for example in examples])
            self._translations = [example.references[0] for example in examples]
        elif context.kind == "classification":
            examples = training_examples(self.name, context)
            self._learn_classes([_whole(example.inputs) for example in examples], [e.references[0] for e in examples])

    def respond(self, request: Request) -> Response:
        """Answer with what is nearest."""
        return self._respond(request)

    def _translate(self, request: Request) -> Response:
        place = self._index.nearest(request.inputs["source"])
        return text_response(request, "" if place is None else self._translations[place])

    def _summarize(self, request: Request) -> Response:
        found = sentences(request.inputs["document"])
        most = self.settings["summary_sentences"]
        central = _Index.of(found).central()[:most] if len(found) > most else range(len(found))
        return text_response(request, "\n".join(found[place] for place in sorted(central)))

    def _find_answer(self, request: Request) -> Response:
        found, index = _sentences_of(request.inputs["context"])
        place = index.nearest(request.inputs["question"]) if index else None
        if place is None and isinstance(request, SpanRequest) and request.allows_no_answer:
            return text_response(request, "")
        return text_response(request, found[place or 0] if found else "")

    def _learn_classes(self, texts: Sequence[str], labels: Sequence[str]) -> None:
        from sklearn.linear_model import LogisticRegression

        self._index = _Index.of(texts)
        self._model = None
        self._classes = sorted(set(labels))
        if len(self._classes) > 1:
            self._model = LogisticRegression(
                C=self.settings["inverse_regularization"], max_iter=self.settings["iterations"]
            ).fit(self._index.vectors, labels)

    def _classify(self, request: Request) -> Response:
        probabilities = [1.0]
        if self._model is not None:
            vectors = self._index.vectorizer.transform([_whole(request.inputs)])
            probabilities = [float(value) for value in self._model.predict_proba(vectors)[0]]
        by_class = dict(zip(self._classes, probabilities, strict=True))
        best = max(self._classes, key=by_class.__getitem__)
        if isinstance(request, ClassifyRequest):
            return class_response(request, best, by_class)
        return text_response(request, best)


@dataclass(frozen=True, slots=True)
class _Index:
    """Texts as rows of unit length."""

    vectorizer: Any
    vectors: Any
    """Sparse, one row a text."""
    columns: Any
    """The same, transposed and sorted for products with a query."""

    @classmethod
    def of(cls, texts: Sequence[str]) -> _Index:
        vectorizer = _vectorizer(texts)
        vectors = vectorizer.fit_transform(texts)
        return cls(vectorizer, vectors, vectors.T.tocsr())

    def nearest(self, query: str) -> int | None:
        """Place of the text nearest to the query, the first of equally near ones; None where nothing is shared."""
        likeness = (self.vectorizer.transform([query]) @ self.columns).toarray()[0]
        place = int(likeness.argmax())
        return place if likeness[place] > 0 else None

    def central(self) -> list[int]:
        """Places of the texts, nearest to the mean of all texts first."""
        centre = self.vectors.sum(axis=0).A1
        likeness = self.vectors @ centre
        return sorted(range(len(likeness)), key=lambda place: (-likeness[place], place))


@lru_cache(maxsize=_CACHED_CONTEXTS)
def _sentences_of(context: str) -> tuple[list[str], _Index | None]:
    """The sentences of a context and their index; questions about one context tend to follow each other."""
    found = sentences(context)
    return found, _Index.of(found) if found else None


def _vectorizer(texts: Sequence[str]) -> Any:  # noqa: ANN401 - scikit-learn is imported here only
    from sklearn.feature_extraction.text import TfidfVectorizer

    sample = "".join("".join(texts[:_SAMPLE_TEXTS]).split())
    is_unspaced = len(_UNSPACED.findall(sample)) > _UNSPACED_SHARE * len(sample)
    if is_unspaced or not any(map(_WORD.search, texts)):
        return TfidfVectorizer(analyzer="char", ngram_range=_CHARACTER_NGRAMS)
    return TfidfVectorizer(token_pattern=r"(?u)\w+", ngram_range=_WORD_NGRAMS)


def _whole(inputs: Mapping[str, Any]) -> str:
    """The text to classify, or both texts of a pair."""
    return "\n".join(inputs[name] for name in ("text", "text_pair") if inputs.get(name) is not None)
