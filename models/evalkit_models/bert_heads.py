"""What a BERT predicts: hidden tokens and next sentences, a label a token, a span, a class a sequence.

Every model here is a trunk `bert` and a `head` from what the trunk gives to logits, so that the head can be asked for chosen
positions only. Letters in shapes: B batch, T tokens, D model width, V vocabulary, L labels.

References:
    Devlin et al. (2019), "BERT", section 3.1 (the two objectives), section 4.1 (sequences), section 4.2 and 4.3 (spans, and
    the span of [CLS] for no answer), section 5.3 (token labels).
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from evalkit_models.bert import INITIAL_STD, Bert, BertConfig
from evalkit_models.layers import initialise_normal


class MaskedLmHead(nn.Module):
    """Logits over the vocabulary: `dense` D to D, GELU, `norm`, then the token embedding and a `bias` a token.

    The transformation before the embedding is the released code's; the embedding is the trunk's own, so it is passed.
    """

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(config.width, config.width)
        self.norm = nn.LayerNorm(config.width, eps=config.norm_eps)
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))

    def forward(self, hidden: Tensor, embedding: Tensor) -> Tensor:
        """Turn hidden states `(..., D)` into logits `(..., V)`, by the token embedding `(V, D)`."""
        return functional.linear(self.norm(functional.gelu(self.dense(hidden))), embedding, self.bias)


class NextSentenceHead(nn.Module):
    """Logits of "sentence B follows A" and "B is from elsewhere": `out` D to 2, on what the trunk pools."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.out = nn.Linear(config.width, 2)

    def forward(self, pooled: Tensor) -> Tensor:
        """Turn pooled rows `(B, D)` into logits `(B, 2)`: follows, does not."""
        logits: Tensor = self.out(pooled)
        return logits


class TokenHead(nn.Module):
    """Logits of a label a token: `out` D to L."""

    def __init__(self, config: BertConfig, labels: int) -> None:
        super().__init__()
        self.dropout = nn.Dropout(config.dropout)
        self.out = nn.Linear(config.width, labels)

    def forward(self, hidden: Tensor) -> Tensor:
        """Turn hidden states `(..., D)` into logits `(..., L)`."""
        logits: Tensor = self.out(self.dropout(hidden))
        return logits


class SpanHead(nn.Module):
    """Logits of a span's first and last token: `ends` D to 2."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.ends = nn.Linear(config.width, 2)

    def forward(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """Turn hidden states `(..., D)` into two logits a position, `(...)` each: starts here, ends here."""
        start, end = self.ends(hidden).unbind(dim=-1)
        return start, end


class ClassHead(nn.Module):
    """Logits of a class a sequence: `out` D to L, on what the trunk pools."""

    def __init__(self, config: BertConfig, labels: int) -> None:
        super().__init__()
        self.dropout = nn.Dropout(config.dropout)
        self.out = nn.Linear(config.width, labels)

    def forward(self, pooled: Tensor) -> Tensor:
        """Turn pooled rows `(B, D)` into logits `(B, L)`."""
        logits: Tensor = self.out(self.dropout(pooled))
        return logits


class BertWithHead(nn.Module):
    """A trunk `bert`, for a subclass to add its head."""

    def __init__(self, config: BertConfig, *, has_pooler: bool = False) -> None:
        super().__init__()
        self.config = config
        self.bert = Bert(config, has_pooler=has_pooler)

    def initialise(self, generator: torch.Generator | None = None) -> None:
        """Draw new weights, those of the head too, by the rule of `Bert.initialise`."""
        initialise_normal(self, INITIAL_STD, generator)


class BertForMaskedLm(BertWithHead):
    """BERT as it is pre-trained.

    Attributes:
        bert: The trunk; with a pooler if there is a `next_sentence`.
        masked_lm: The `MaskedLmHead`; `head` applies it.
        next_sentence: The `NextSentenceHead`, or None.
    """

    def __init__(self, config: BertConfig, *, has_next_sentence: bool = False) -> None:
        super().__init__(config, has_pooler=has_next_sentence)
        self.masked_lm = MaskedLmHead(config)
        self.next_sentence = NextSentenceHead(config) if has_next_sentence else None
        self.initialise()

    def initialise(self, generator: torch.Generator | None = None) -> None:
        """Draw new weights by the rule of `Bert.initialise`."""
        super().initialise(generator)
        nn.init.zeros_(self.masked_lm.bias)

    def head(self, hidden: Tensor) -> Tensor:
        """Turn hidden states `(..., D)` into logits over the vocabulary `(..., V)`."""
        logits: Tensor = self.masked_lm(hidden, self.bert.tokens.weight)
        return logits

    def forward(self, ids: Tensor, attention_mask: Tensor | None = None, segments: Tensor | None = None) -> Tensor:
        """Predict the token at every position, `(B, T, V)`; arguments and errors are those of `Bert.forward`."""
        return self.head(self.bert(ids, attention_mask, segments))

    def next_sentence_logits(
        self, ids: Tensor, attention_mask: Tensor | None = None, segments: Tensor | None = None
    ) -> Tensor:
        """Predict whether sentence B follows A.

        Returns:
            `(B, 2)`: it follows, it does not.

        Raises:
            ValueError: If the model was built without that head, or as in `Bert.forward`.
        """
        if self.next_sentence is None:
            raise ValueError("this model has no next-sentence head; build it with has_next_sentence=True")
        hidden = self.bert(ids, attention_mask, segments)
        logits: Tensor = self.next_sentence(self.bert.pool(hidden, attention_mask))
        return logits


class BertForTokenLabels(BertWithHead):
    """BERT with a `TokenHead`: named entities, word segmentation, parts of speech."""

    def __init__(self, config: BertConfig, labels: int) -> None:
        super().__init__(config)
        self.head = TokenHead(config, labels)
        self.initialise()

    def forward(self, ids: Tensor, attention_mask: Tensor | None = None, segments: Tensor | None = None) -> Tensor:
        """Label every position, `(B, T, L)`; arguments and errors are those of `Bert.forward`."""
        logits: Tensor = self.head(self.bert(ids, attention_mask, segments))
        return logits


class BertForSpans(BertWithHead):
    """BERT with a `SpanHead`: extractive question answering."""

    def __init__(self, config: BertConfig) -> None:
        super().__init__(config)
        self.head = SpanHead(config)
        self.initialise()

    def forward(
        self, ids: Tensor, attention_mask: Tensor | None = None, segments: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Score every position as start and as end, `(B, T)` each; arguments and errors are those of `Bert.forward`.

        Padding scores the lowest number there is, so that it takes no part in a softmax over positions. Start and end at
        [CLS] is "no answer" (Devlin et al., 2019, section 4.3).
        """
        start, end = self.head(self.bert(ids, attention_mask, segments))
        if attention_mask is None:
            return start, end
        padding, lowest = attention_mask == 0, torch.finfo(start.dtype).min
        return start.masked_fill(padding, lowest), end.masked_fill(padding, lowest)


class BertForClasses(BertWithHead):
    """BERT with a `ClassHead` on the pooled first token: sentences and pairs of sentences."""

    def __init__(self, config: BertConfig, labels: int) -> None:
        super().__init__(config, has_pooler=True)
        self.head = ClassHead(config, labels)
        self.initialise()

    def forward(self, ids: Tensor, attention_mask: Tensor | None = None, segments: Tensor | None = None) -> Tensor:
        """Classify every row, `(B, L)`; arguments and errors are those of `Bert.forward`."""
        pooled = self.bert.pool(self.bert(ids, attention_mask, segments), attention_mask)
        logits: Tensor = self.head(pooled)
        return logits
