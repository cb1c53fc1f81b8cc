"""T5 behind the interface that generation and scoring use: prompts go to the encoder, answers grow in the decoder.

Letters in shapes: N tokens of all sequences, M wanted tokens, n running sequences, B sequences, T target tokens, S source
tokens, H heads, W width of one head, D model width, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from evalkit.adapters.engine.cache import SlotCache
from evalkit.adapters.engine.choosing import Prompt
from evalkit.adapters.engine.compiling import region
from evalkit.adapters.engine.linear import FastLinear
from evalkit.adapters.engine.packing import Packed
from evalkit.adapters.seq2seq_steps.cache import PairCache
from evalkit.adapters.seq2seq_steps.layers import DecoderLayer, EncoderLayer, Norm
from evalkit.adapters.seq2seq_steps.runs import Pairs, Run, split_pairs
from evalkit_models.t5 import T5, T5DecoderBlock, T5EncoderBlock


class T5Steps:
    """Runs a T5 as a `CausalStack`.

    A packed batch's trunks are sources, its branches targets. The decoder's start token stands for the last token of a
    source: what is asked of that one, the start token answers.

    Args:
        model: The model; its weights are used as they are, laid out anew on a CPU.
        start_id: The token that every target begins with.
        rows: Sequences that answer one source at once: beams.
        is_compiled: Whether torch's compiler fuses what is around attention.
    """

    shares_context = True

    def __init__(self, model: T5, start_id: int, rows: int = 1, *, is_compiled: bool = False) -> None:
        config = model.config
        self.max_length, self.vocab_size = config.max_length, config.vocab_size
        self._table, self._heads, self._width = model.tokens.weight, config.heads, config.head_width
        self.device = self._table.device
        self._start_id, self._rows = start_id, rows
        self.token_bytes = 2 * config.decoder_layers * config.heads * config.head_width * self._table.element_size()
        self._room: tuple[int, int] | None = None
        encoder, decoder = model.encoder.blocks, model.decoder.blocks
        self._encoder = [
            EncoderLayer(block, is_plain=is_compiled) for block in encoder if isinstance(block, T5EncoderBlock)
        ]
        self._decoder = [
            DecoderLayer(block, is_plain=is_compiled) for block in decoder if isinstance(block, T5DecoderBlock)
        ]
        self._project = region(EncoderLayer.project, is_compiled=is_compiled)
        self._add_attention = region(EncoderLayer.add_attention, is_compiled=is_compiled)
        self._ask_source = region(DecoderLayer.source_queries, is_compiled=is_compiled)
        self._add_source = region(DecoderLayer.add_source, is_compiled=is_compiled)
        self._add_mlp = region(EncoderLayer.add_mlp, is_compiled=is_compiled)
        self._encoder_norm, self._decoder_norm = Norm(model.encoder.norm), Norm(model.decoder.norm)
        self._relative = model.encoder.relative
        self._nearness = torch.empty(0, config.heads, 0, 0)
        self._by_distance = _by_distance(model)
        if model.output is None:
            self._head, self._scale = FastLinear(self._table, None, is_shared=True), config.width**-0.5
        else:
            self._head, self._scale = FastLinear(model.output.weight, None), 1.0

    def expect(self, prompts: Sequence[Prompt]) -> None:
        """Size the next cache for these prompts."""
        self._room = max(len(prompt.ids) for prompt in prompts), max(prompt.limit for prompt in prompts)

    def new_cache(self, slots: int, capacity: int) -> PairCache:
        """Allocate slots for that many answers to the expected prompts, or to any that need at most `capacity` tokens."""
        source, target = self._room or (capacity, capacity)
        return PairCache(
            len(self._decoder),
            slots,
            slots // self._rows,
            target_capacity=target,
            source_capacity=source,
            heads=self._heads,
            like=self._table.new_empty(self._width),
        )

    def read(self, packed: Packed, cache: SlotCache | None = None) -> Tensor:
        """Compute the hidden states of the wanted tokens, `(M, D)`: the start token's, and those of the branches.

        Args:
            packed: See `split_pairs`; with a cache, trees without branches.
            cache: Where the sequences are written, into its next free slots.
        """
        pairs = split_pairs(packed, self._start_id)
        encoded = self._encode(pairs.sources)
        target_places = source_places = None
        if isinstance(cache, PairCache):
            first, first_source = cache.begin(pairs.sources.lengths)
            target_places = cache.places(pairs.targets.owners + first, pairs.positions)
            source_places = cache.sources.places(pairs.sources.owners + first_source, pairs.sources.offsets)
        bias, mask = self._bias(pairs), pairs.sources.is_token()
        shown = None if mask is None else mask[:, None, None]  # (B, 1, 1, S)
        x = functional.embedding(pairs.targets.ids, self._table)
        for number, layer in enumerate(self._decoder):
            queries, kept = self._project(layer, x)
            if isinstance(cache, PairCache) and target_places is not None:
                cache.write(number, target_places, kept)
            x = self._add_attention(layer, x, _attend(queries, kept, pairs.targets, pairs.targets, bias))
            told = layer.source_pairs(encoded)
            if isinstance(cache, PairCache) and source_places is not None:
                cache.sources.write(number, source_places, told)
            asked = self._ask_source(layer, x).view(queries.shape)
            x = self._add_source(layer, x, _attend(asked, told, pairs.targets, pairs.sources, shown))
            x = self._add_mlp(layer, x)
        return self._decoder_norm(x)

    def step(self, ids: Tensor, cache: SlotCache) -> Tensor:
        """Append one token to every running answer, and compute its hidden state: `(n,)` to `(n, D)`."""
        assert isinstance(cache, PairCache)
        lengths = cache.lengths()
        places, bias = cache.next_places(lengths), self._step_bias(lengths, cache.longest + 1)
        x = functional.embedding(ids, self._table)
        for number, layer in enumerate(self._decoder):
            queries, kept = self._project(layer, x)
            cache.write(number, places, kept)
            x = self._add_attention(layer, x, cache.mix(number, queries, bias))
            x = self._add_source(layer, x, cache.mix_sources(number, self._ask_source(layer, x)))
            x = self._add_mlp(layer, x)
        cache.grow()
        return self._decoder_norm(x)

    def logits(self, hidden: Tensor) -> Tensor:
        """Turn hidden states `(M, D)` into float32 logits `(M, V)`."""
        return self._head(hidden * self._scale if self._scale != 1.0 else hidden).float()

    def _encode(self, run: Run) -> Tensor:
        """Compute the states of source tokens, `(N, D)`."""
        if self._nearness.shape[-1] < run.width:
            steps = torch.arange(run.width, device=self.device)
            self._nearness = self._relative(steps, steps)
        bias = self._nearness[:, :, : run.width, : run.width]
        is_token = run.is_token()
        if is_token is not None:
            bias = bias.masked_fill(~is_token[:, None, None], float("-inf"))
        x = functional.embedding(run.ids, self._table)
        for layer in self._encoder:
            queries, kept = self._project(layer, x)
            x = self._add_attention(layer, x, _attend(queries, kept, run, run, bias))
            x = self._add_mlp(layer, x)
        return self._encoder_norm(x)

    def _bias(self, pairs: Pairs) -> Tensor | None:
        """Add up what the decoder's tokens know of their distances, and -inf for those that they may not see.

        Returns:
            `(1 or B, H, T, T)`; None where there are start tokens only.
        """
        width = pairs.targets.width
        if width == 1:
            return None
        steps = torch.arange(width, device=self.device)[None]
        positions = steps if pairs.mask is None else pairs.targets.apart(pairs.positions)
        distances = positions[:, :, None] - positions[:, None, :]
        hidden = distances < 0 if pairs.mask is None else ~pairs.mask
        return self._by_distance[distances.masked_fill(hidden, -1)].permute(0, 3, 1, 2)

    def _step_bias(self, lengths: Tensor, longest: int) -> Tensor:
        """Look up what the newest tokens know of their distances to all before them, `(n * H, 1, L)`."""
        distances = lengths[:, None] - torch.arange(longest, device=lengths.device)
        bias = self._by_distance[distances.clamp_(min=-1)]  # (n, L, H)
        return bias.transpose(1, 2).reshape(-1, 1, longest)


def _by_distance(model: T5) -> Tensor:
    """List the decoder's bias for each distance back, `(max_length + 1, H)`; the last one, -inf, is for hidden tokens."""
    size, device = model.config.max_length, model.tokens.weight.device
    with torch.no_grad():
        back = model.decoder.relative(
            torch.zeros(1, dtype=torch.long, device=device), -torch.arange(size, device=device)
        )
        hidden = back.new_full((1, model.config.heads), float("-inf"))
        return torch.cat((back[0, :, 0].t(), hidden))


def _attend(queries: Tensor, pairs: Tensor, asking: Run, asked: Run, bias: Tensor | None) -> Tensor:
    """Let the tokens of some sequences attend to those of others, sequence by sequence, without scaling.

    Args:
        queries: `(N, H, W)`, the asking tokens'.
        pairs: Keys and values `(N, 2, H, W)` of the tokens that are asked.
        asking: Where the queries belong.
        asked: Where keys and values belong.
        bias: Added to the scores, or True where a token is seen, broadcast to `(B, H, T, S)`; None for nothing.

    Returns:
        `(N, H * W)`.
    """
    q = asking.apart(queries).transpose(1, 2)  # (B, H, T, W)
    k, v = asked.apart(pairs).permute(2, 0, 3, 1, 4)  # each (B, H, S, W)
    mixed = functional.scaled_dot_product_attention(q, k, v, bias, scale=1.0)
    return asking.joined(mixed.transpose(1, 2)).flatten(1)
