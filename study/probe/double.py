"""A float64 model whose forward pass stays float64.

transformers casts to float32 inside some layers whatever the model's type: norms, the decay of the gated-delta rule,
its chunks, rotary angles, attention's softmax. A score would then carry seven digits under a float64 label, and
finite differences are off by 3e-2. `double_precision` turns each such cast, wherever it stands, into one to float64.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from study.errors import StudyError

_FLOAT = torch.Tensor.float
_TO = torch.Tensor.to


class DoublePrecision(TorchFunctionMode):
    """While it is active, what asks for float32 gets float64."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Replace float32 by float64 in the request, and pass everything else on."""
        named = {key: _doubled(value) for key, value in (kwargs or {}).items()}
        if func is _FLOAT:
            return args[0].double()
        if func is _TO:
            args = (args[0], *(_doubled(value) for value in args[1:]))
        return func(*args, **named)


def _doubled(value: object) -> object:
    return torch.float64 if value is torch.float32 else value


def doubled(model: nn.Module) -> nn.Module:
    """The model with float64 parameters and buffers, in evaluation mode (no dropout); changed in place.

    Raises:
        StudyError: something of it stayed in another floating type.
    """
    model.double().eval()
    tensors = [*model.named_parameters(), *model.named_buffers()]
    strays = [
        name for name, tensor in tensors if tensor.is_floating_point() and tensor.dtype != torch.float64
    ]
    if strays:
        raise StudyError("the model is not float64 throughout", expected="every tensor", found=strays[:3])
    return model
