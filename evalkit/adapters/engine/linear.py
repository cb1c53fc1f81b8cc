"""One linear layer, computed by the kernel that is fastest for its shape and the number of rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

_MIN_WIDTH = 256
_WIDE = 16
"""How many times wider than its input an output must be to be a head."""
_HEAD_ROWS = range(3, 129)
_LARGE = 1 << 20
"""Weights from which a model's layers do not fit into the caches together, so that each step reads them from memory."""
_LARGE_ROWS = range(3, 33)
_GELU_FROM = 8
_FEW_ROWS = 2
"""Rows for which a product is read from memory as fast as the weight's layout lets it."""


@cache
def _onednn() -> tuple[Callable[..., Tensor], Callable[..., Tensor]] | None:
    """Find oneDNN's linear over prepacked weights and what packs them; None where torch, whose private ops they are, differs."""
    try:
        pack, apply = torch.ops.mkldnn._reorder_linear_weight, torch.ops.mkldnn._linear_pointwise
        weight = torch.eye(2)
        if not torch.equal(apply(weight, pack(weight, None), None, "none", [], ""), weight):
            return None
    except (AttributeError, RuntimeError, TypeError):
        return None
    return pack, apply


@cache
def _has_fast_blas() -> bool:
    """Whether MKL runs its own kernels, as on Intel's processors with AMX: there oneDNN gains at few shapes only."""
    supported: Any = getattr(torch.cpu, "_is_amx_tile_supported", None)
    return bool(supported is not None and supported())


class FastLinear:
    """Applies a linear layer, and a GELU if told so, to rows.

    On a CPU the layer's weight is laid out anew, input by output, which is what the product reads; its values and shape
    stay. oneDNN's prepacked form is used where it is faster: with the GELU fused, for heads, and, on processors where MKL
    is slow, for all wide layers.

    Args:
        weight: `(outputs, inputs)`, a parameter of the model.
        bias: `(outputs,)` or None.
        gelu: Whether a GELU follows, in its tanh form.
        is_exact: Whether that GELU is the exact one instead.
        is_shared: Whether something else reads the weight by rows, as a tied embedding does; then its layout stays.
        is_plain: Whether it is for torch's compiler, which has its own kernels: the layer then is what torch says it is.
    """

    def __init__(
        self,
        weight: Tensor,
        bias: Tensor | None,
        *,
        gelu: bool = False,
        is_exact: bool = False,
        is_shared: bool = False,
        is_plain: bool = False,
    ) -> None:
        # A bool of its own, for torch's compiler cannot follow a test of the range where it is empty.
        can_pack = weight.device.type == "cpu" and weight.dtype == torch.float32 and not is_plain
        if weight.device.type == "cpu" and not is_shared and not weight.data.t().is_contiguous():
            weight.data = weight.data.t().contiguous().t()
        self._weight, self._bias, self._gelu = weight.data, bias, gelu
        self._form = "none" if is_exact else "tanh"
        self._can_pack = can_pack and _onednn() is not None
        self._rows = _rows_for_onednn(weight.shape[1], weight.shape[0], gelu)
        self._packed: Tensor | None = None
        self._turned: Tensor | None = None
        self._has_turned = can_pack and is_shared and weight.numel() >= _LARGE

    def __call__(self, x: Tensor) -> Tensor:
        """Transform `(N, inputs)` to `(N, outputs)`."""
        if self._can_pack and x.shape[0] in self._rows:
            return self._by_onednn(x)
        weight = self._turned_weight() if self._has_turned and x.shape[0] <= _FEW_ROWS else self._weight
        y = functional.linear(x, weight, self._bias)
        return functional.gelu(y, approximate=self._form) if self._gelu else y

    def _turned_weight(self) -> Tensor:
        """Give a shared weight in the layout of the others: a copy, made when it is needed first."""
        if self._turned is None:
            self._turned = self._weight.t().contiguous().t()
        return self._turned

    def _by_onednn(self, x: Tensor) -> Tensor:
        kernels = _onednn()
        assert kernels is not None
        pack, apply = kernels
        if self._packed is None:
            self._packed = pack(self._weight.contiguous(), None)
        name, form = ("gelu", self._form) if self._gelu else ("none", "")
        return apply(x, self._packed, self._bias, name, [], form)


def _rows_for_onednn(inputs: int, outputs: int, gelu: bool) -> range:
    """The numbers of rows for which oneDNN is faster than MKL, as measured on both kinds of processors."""
    unlimited = 1 << 62
    if inputs < _MIN_WIDTH:
        return range(0)
    if not _has_fast_blas():
        return range(2, unlimited)
    if gelu:
        return range(_GELU_FROM, unlimited)
    if outputs >= _WIDE * inputs:
        return _HEAD_ROWS
    return _LARGE_ROWS if inputs * outputs >= _LARGE else range(0)
