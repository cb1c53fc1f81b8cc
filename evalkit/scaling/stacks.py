"""What is counted of a model: its parameters, its operations, and the block stacks that hold most of both."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterCount:
    """Parameters of a model by where they stand; each tensor counts once, so a tied head counts as the embedding."""

    token_embedding: int
    """The table with a row a token."""
    positions: int
    """Learned positions, segments, and biases of relative positions."""
    head: int
    """An untied head's matrix; 0 where the head is the token embedding."""
    blocks: int
    """Everything inside the blocks."""
    rest: int
    """Norms outside of blocks, poolers, and what a head adds to the tied embedding."""

    @property
    def embedding(self) -> int:
        """Tables with a row a token or a position, an untied head among them."""
        return self.token_embedding + self.positions + self.head

    @property
    def non_embedding(self) -> int:
        """Everything else: the N of Kaplan et al. (2020)."""
        return self.blocks + self.rest

    @property
    def non_embedding_with_head(self) -> int:
        """Without embeddings, but with the matrix of the head whether it is tied or not: the N that costs compute."""
        return self.non_embedding + self.token_embedding

    @property
    def total(self) -> int:
        """All parameters: the N of Hoffmann et al. (2022)."""
        return self.embedding + self.non_embedding


@dataclass(frozen=True, slots=True, kw_only=True)
class FlopCount:
    """Floating-point operations of one forward pass over one sequence."""

    tokens: int
    """Tokens that go through the model in that pass: source and target of a T5."""
    attention_linear: int
    """Projections to queries, keys and values, and back."""
    attention_scores: int
    """Queries times keys, and weights times values."""
    softmax: int
    """Three operations a score (Hoffmann et al., 2022, appendix F); in no total."""
    feed_forward: int
    """The two or three matrices of the feed-forward layers."""
    head: int
    """Logits over the vocabulary, with what stands between the last block and them."""

    @property
    def blocks(self) -> int:
        """Matrix products of all blocks."""
        return self.attention_linear + self.attention_scores + self.feed_forward

    @property
    def forward(self) -> int:
        """Matrix products of one forward pass."""
        return self.blocks + self.head

    @property
    def train(self) -> int:
        """One forward and one backward pass, which costs twice as much."""
        return 3 * self.forward

    def training(self, tokens: float) -> float:
        """Operations of training on so many tokens, in sequences of this length."""
        return float(self.train) * (float(tokens) / self.tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stack:
    """Equal blocks of a transformer, each of attention and a feed-forward layer with norms."""

    layers: int
    """Number of blocks."""
    width: int
    """Width of the residual stream."""
    inner: int
    """Width of all queries, heads times the width of one."""
    kv_inner: int
    """Width of all keys, and of all values."""
    heads: int
    """Query heads."""
    ff_width: int
    """Width inside the feed-forward layer."""
    ff_matrices: int = 2
    """Matrices of the feed-forward layer: 3 with a gate."""
    qkv_bias: bool = True
    """Whether queries, keys and values have biases."""
    has_biases: bool = True
    """Whether the other linear layers have them."""
    norm_vectors: int = 2
    """Vectors of a norm: a weight, and a bias in a layer norm."""
    has_cross: bool = False
    """Whether each block also attends to another sequence."""
    has_relative: bool = False
    """Whether each block projects relative positions, as Transformer-XL does (Dai et al., 2019, section 3.3)."""

    @property
    def parameters(self) -> int:
        """Parameters of all blocks."""
        width, inner = self.width, self.inner
        qkv = inner + 2 * self.kv_inner
        attention = width * qkv + inner * width + self.qkv_bias * qkv + self.has_biases * width
        cross = 4 * width * inner if self.has_cross else 0
        feed_forward = self.ff_matrices * width * self.ff_width + self.has_biases * (self.ff_width + width)
        relative = width * inner + 2 * inner if self.has_relative else 0
        norms = (3 if self.has_cross else 2) * self.norm_vectors * width
        return self.layers * (attention + cross + feed_forward + relative + norms)

    def flops(self, length: int, source: int = 0) -> FlopCount:
        """Operations of one forward pass, without a head.

        Args:
            length: Tokens of the sequence.
            source: Tokens of the other sequence.
        """
        width, inner = self.width, self.inner
        linear = 2 * length * width * (inner + 2 * self.kv_inner) + 2 * length * inner * width
        scores = length * length
        if self.has_cross:
            linear += 4 * length * width * inner + 4 * source * width * inner
            scores += length * source
        return FlopCount(
            tokens=length,
            attention_linear=self.layers * linear,
            attention_scores=self.layers * 4 * scores * inner,
            softmax=self.layers * 3 * self.heads * scores,
            feed_forward=self.layers * 2 * length * self.ff_matrices * width * self.ff_width,
            head=0,
        )
