"""All metrics by name. Adding one is a file beside this one and a line here."""

from collections.abc import Mapping

from evalkit.metrics.base import AnyMetric
from evalkit.metrics.bleu import Bleu
from evalkit.metrics.chrf import Chrf, ChrfPlusPlus
from evalkit.metrics.classification import Classification
from evalkit.metrics.cmrc2018 import Cmrc2018
from evalkit.metrics.conlleval import Conlleval
from evalkit.metrics.cws import Cws
from evalkit.metrics.drcd import Drcd
from evalkit.metrics.meteor import Meteor
from evalkit.metrics.mlqa import Mlqa
from evalkit.metrics.nervaluate import Nervaluate
from evalkit.metrics.perplexity import Perplexity
from evalkit.metrics.pseudo_perplexity import PseudoPerplexity
from evalkit.metrics.rouge import Rouge
from evalkit.metrics.seqeval import Seqeval
from evalkit.metrics.span_f1 import SpanF1
from evalkit.metrics.squad import SquadV1, SquadV2
from evalkit.metrics.ter import Ter
from evalkit.metrics.token_accuracy import TokenAccuracy

METRICS: Mapping[str, type[AnyMetric]] = {
    "bleu": Bleu,
    "chrf": Chrf,
    "chrf++": ChrfPlusPlus,
    "ter": Ter,
    "rouge": Rouge,
    "meteor": Meteor,
    "squad_v1": SquadV1,
    "squad_v2": SquadV2,
    "cmrc2018": Cmrc2018,
    "drcd": Drcd,
    "mlqa": Mlqa,
    "seqeval": Seqeval,
    "conlleval": Conlleval,
    "nervaluate": Nervaluate,
    "span_f1": SpanF1,
    "token_accuracy": TokenAccuracy,
    "cws": Cws,
    "classification": Classification,
    "perplexity": Perplexity,
    "pseudo_perplexity": PseudoPerplexity,
}

__all__ = ["METRICS", "AnyMetric"]
