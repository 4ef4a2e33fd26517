"""Linear attention: the gated delta rule and the scan of Mamba-2 as one operation.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Models of transformers compute both in chunks, by functions that a kernel may stand for. A trace
through them is hundreds of operations that put positions together, so that steps of generation
cannot be derived. Within `as_operations` these functions are written with an operation of
PyTorch's, tp_mlir::gated_delta_rule, which becomes nn.gated_delta_rule:

    P = exp(decay[t]) S
    S = P + key[t] (beta[t] (value[t] - Pᵀ key[t]))ᵀ        without beta: P + key[t] value[t]ᵀ
    result[t] = Sᵀ query[t]

The export is compared with the module as it is.
"""

import contextlib
import sys
from typing import Optional

import torch
from torch.nn import functional

from . import _text
from ._lower import lowers
from ._trace import shape_of


@torch.library.custom_op("tp_mlir::gated_delta_rule", mutates_args=())
def gated_delta_rule(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
                     decay: torch.Tensor, beta: Optional[torch.Tensor]) -> torch.Tensor:
    """query, key [b, s, hk, d], value [b, s, hv, e], decay, beta [b, s, hv] -> [b, s, hv, e]."""
    repeats = value.shape[2] // key.shape[2]
    query, key = (x.repeat_interleave(repeats, 2) for x in (query, key))
    state = value.new_zeros(*value.shape[:1], value.shape[2], key.shape[3], value.shape[3])
    results = []
    for t in range(value.shape[1]):
        state = state * decay[:, t, :, None, None].exp()
        new = value[:, t]
        if beta is not None:
            stored = (state * key[:, t, :, :, None]).sum(2)
            new = beta[:, t, :, None] * (new - stored)
        state = state + key[:, t, :, :, None] * new[:, :, None]
        results.append((state * query[:, t, :, :, None]).sum(2))
    return torch.stack(results, 1)


@gated_delta_rule.register_fake
def _(query, key, value, decay, beta):
    return value.new_empty(value.shape)


@lowers(torch.ops.tp_mlir.gated_delta_rule.default)
def _lower(lowering, node, query, key, value, decay, beta):
    values = [lowering.get(x) for x in (query, key, value, decay)]
    values += [lowering.get(beta)] if beta is not None else []
    names = [lowering.emitter.plain(x) for x in values]
    types = [_text.tensor(x.shape, x.kind) for x in values]
    extra = f" beta {names[4]}" if beta is not None else ""
    shape = shape_of(node)
    return lowering.emitter.tensor(
        f"nn.gated_delta_rule {', '.join(names[:4])}{extra} : ({', '.join(types)}) -> "
        f"{_text.tensor(shape, 'f32')}", shape, "f32")


# -- the functions of transformers

def _delta_rule(original):
    def call(query, key, value, g, beta, chunk_size=64, initial_state=None,
             output_final_state=False, use_qk_l2norm_in_kernel=False, **options):
        if initial_state is not None or output_final_state or options.get("cu_seqlens") is not None:
            return original(query, key, value, g, beta, chunk_size, initial_state,
                            output_final_state, use_qk_l2norm_in_kernel, **options)
        kind = query.dtype
        query, key, value, g, beta = (x.float() for x in (query, key, value, g, beta))
        if use_qk_l2norm_in_kernel:
            query, key = (x * torch.rsqrt((x * x).sum(-1, keepdim=True) + 1e-6)
                          for x in (query, key))
        query = query * query.shape[-1] ** -0.5
        return torch.ops.tp_mlir.gated_delta_rule(query, key, value, g, beta).to(kind), None
    return call


def _scan(original):
    def call(hidden_states, dt, A, B, C, chunk_size, D=None, dt_bias=None, initial_states=None,
             dt_softplus=False, dt_limit=(0.0, float("inf")), return_final_states=False, **options):
        if initial_states is not None or return_final_states:
            return original(hidden_states, dt, A, B, C, chunk_size, D, dt_bias, initial_states,
                            dt_softplus, dt_limit, return_final_states, **options)
        if dt_bias is not None:
            dt = dt + dt_bias.to(dt.dtype)
        if dt_softplus:
            dt = functional.softplus(dt)
        dt = torch.clamp(dt, *dt_limit).float()
        x = hidden_states.float()
        y = torch.ops.tp_mlir.gated_delta_rule(C.float(), B.float(), x * dt[..., None],
                                               A.float() * dt, None)
        return y if D is None else y + D[..., None] * x
    return call


_FUNCTIONS = {"torch_chunk_gated_delta_rule": _delta_rule, "mamba2_chunk_scan": _scan}


@contextlib.contextmanager
def as_operations(module):
    """Within it the files of transformers that a module's parts are from call these."""
    files = {sys.modules.get(type(part).__module__) for part in module.modules()}
    was = [(file, name, getattr(file, name)) for file in files for name in _FUNCTIONS
           if file is not None and file.__name__.startswith("transformers.")
           and hasattr(file, name)]
    try:
        for file, name, original in was:
            setattr(file, name, _FUNCTIONS[name](original))
        yield
    finally:
        for file, name, original in was:
            setattr(file, name, original)
