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
_HEAD_ROWS = range(3, 49)
_LARGE = 1 << 19
"""Weights above which a model's layers do not fit into the caches together, so that each step reads them from memory."""
_LARGE_ROWS = range(3, 33)
_GELU_FROM = 8


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
    """

    def __init__(
        self,
        weight: Tensor,
        bias: Tensor | None,
        *,
        gelu: bool = False,
        is_exact: bool = False,
        is_shared: bool = False,
    ) -> None:
        is_plain = weight.device.type == "cpu" and weight.dtype == torch.float32
        if weight.device.type == "cpu" and not is_shared and not weight.data.t().is_contiguous():
            weight.data = weight.data.t().contiguous().t()
        self._weight, self._bias, self._gelu = weight.data, bias, gelu
        self._form = "none" if is_exact else "tanh"
        self._rows = _rows_for_onednn(weight.shape[1], weight.shape[0], gelu) if is_plain and _onednn() else range(0)
        self._packed: Tensor | None = None

    def __call__(self, x: Tensor) -> Tensor:
        """Transform `(N, inputs)` to `(N, outputs)`."""
        if x.shape[0] in self._rows:
            return self._by_onednn(x)
        y = functional.linear(x, self._weight, self._bias)
        return functional.gelu(y, approximate=self._form) if self._gelu else y

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
    return _LARGE_ROWS if inputs * outputs > _LARGE else range(0)
