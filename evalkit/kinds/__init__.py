"""The seven kinds of task."""

from collections.abc import Mapping

from evalkit.kinds.base import Kind
from evalkit.kinds.classification import TextClassification
from evalkit.kinds.cws import WordSegmentation
from evalkit.kinds.lm import LanguageModelling
from evalkit.kinds.mt import MachineTranslation
from evalkit.kinds.ner import NamedEntityRecognition
from evalkit.kinds.qa import QuestionAnswering
from evalkit.kinds.summarization import Summarization

KINDS: Mapping[str, Kind] = {
    "mt": MachineTranslation(),
    "summarization": Summarization(),
    "qa": QuestionAnswering(),
    "ner": NamedEntityRecognition(),
    "cws": WordSegmentation(),
    "lm": LanguageModelling(),
    "classification": TextClassification(),
}

__all__ = ["KINDS", "Kind"]
