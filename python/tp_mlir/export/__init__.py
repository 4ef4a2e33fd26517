"""Any PyTorch module as a program of the compiler.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

    exported = tp_mlir.export(module, (ids,))
    outputs = exported.compile(mesh="tp=2").run(ids)

PyTorch is imported when `export` is called: `pip install './python[export]'` brings it.
"""

import sys

from .._errors import InputError
from .._packages import needed
from .._tools import find
from ._exported import Exported, ExportedProgram

__all__ = ["Exported", "ExportedProgram", "export"]

# Of the largest value, by which an export may differ from the module on one rank.
_TOLERANCE = {"f32": 2e-5, "f64": 2e-5, "bf16": 3e-2, "f16": 4e-3}


def export(module, args=(), kwargs=None, *, outputs=None, check=True):
    """Export a torch.nn.Module for arguments of these shapes and types.

    Args:
        module: in evaluation mode. Its weights may be on the meta device.
        args, kwargs: example arguments; tensors become inputs, everything else is fixed.
            A model of transformers is called with use_cache=False.
        outputs: names of those that are wanted, default all tensors of the result; of a
            result without names "output", or "output0", "output1", ...
        check: compile the program for one rank, run it on the arguments, and compare with the
            module itself.

    Returns:
        Exported.

    Raises:
        InputError: with all operations that have no form in the compiler, each with the module
            and the source line that it comes from.
        DifferenceError: if the comparison fails.
    """
    torch = needed("torch", "export")
    from . import (  # noqa: F401
        _attention,
        _choose,
        _experts,
        _layers,
        _losses,
        _movement,
        _pointwise,
        _reduce,
        _rotary,
    )
    from ._lower import Lowering
    from ._plan import to_json
    from ._trace import Traced

    if not isinstance(module, torch.nn.Module):
        raise InputError("export", 1, f"expected a torch.nn.Module, got {type(module).__name__}")
    traced = Traced(module, tuple(args), kwargs, outputs)
    lowering = Lowering(traced)
    text = lowering.run()
    plan = to_json(lowering.emitter, module, lowering.results, lowering.features)
    exported = Exported(text, plan,
                        {name: tuple(node.meta["val"].shape)
                         for node, name in traced.inputs.items()},
                        [name for name, _ in traced.outputs], traced.state, lowering.matched,
                        _config_of(module), traced.aliases, type(module).__name__)
    if not check:
        return exported
    if any(tensor.device.type == "meta" for tensor in traced.state.values()):
        _say("not compared with the module, which has no weights")
        return exported
    try:
        find("tp-compile")
    except InputError:
        _say("not compared with the module: tp-compile was not found")
        return exported
    with torch.no_grad():
        expected = dict(zip(traced.forward.names, traced.forward(*traced.tensors)))
    kinds = {lowering.kind_of_weight(tensor) for tensor in traced.state.values()}
    tolerance = max((_TOLERANCE.get(kind, 0) for kind in kinds), default=0) or _TOLERANCE["f32"]
    difference = exported.compare(traced.tensors, expected, tolerance)
    _say(f"agrees with the module on one rank: the largest difference is {difference:.1e} of the "
         "largest value")
    return exported


def _config_of(module):
    """The text of a configuration of transformers; None of other modules."""
    config = getattr(module, "config", None)
    return config.to_json_string() if hasattr(config, "to_json_string") else None


def _say(text):
    print(f"tp_mlir.export: {text}", file=sys.stderr)
