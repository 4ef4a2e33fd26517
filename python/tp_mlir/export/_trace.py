"""From a module to a graph of core ATen operations.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

torch.export traces the module with the given arguments; operations that have an `nn` operation
of their own stay whole, the others are decomposed. Then what depends on neither inputs nor
parameters is computed here (masks, tables of angles, positions), and operations that change
nothing are taken out, so that patterns need not look through them.
"""

import contextlib
import copy
import inspect
import io
import logging
import math
import traceback

import torch
from torch.utils import _pytree

from .._errors import InputError
from ._bands import find_band
from ._complex import split_complex
from ._rewrite import sink_slices
from ._types import check_tensors, expect_kind

aten = torch.ops.aten

# Operations that are not decomposed: they become nn operations, or contractions of N dimensions.
_WHOLE = [aten.linear.default, aten.scaled_dot_product_attention.default,
          aten.layer_norm.default, aten.rms_norm.default, aten.silu.default, aten.softmax.int,
          aten.matmul.default, aten.cross_entropy_loss.default]

_IDENTITIES = {aten.alias.default, aten.clone.default, aten.contiguous.default,
               aten.detach.default, aten.lift_fresh_copy.default, aten.dropout.default,
               aten.native_dropout.default}
# The same if the result has the operand's shape and type.
_RESHAPES = {aten._to_copy.default, aten.slice.Tensor, aten.expand.default, aten.view.default,
             aten.reshape.default, aten._unsafe_view.default}

# Read only the shape of their operand; the number that they fill with, None if it is given.
_FILLS = {aten.full_like.default: None, aten.zeros_like.default: 0, aten.ones_like.default: 1}

_LENIENT = {aten.view.default: aten.reshape.default, aten._unsafe_view.default:
            aten.reshape.default}


def is_mask(tensor):
    """Whether a buffer says which positions see which, and nothing that a checkpoint could say
    otherwise: a square matrix of two values, a band of which is one of them."""
    matrix = tensor.squeeze() if tensor.device.type != "meta" else tensor
    if tensor.device.type == "meta" or matrix.dim() != 2 or matrix.shape[0] != matrix.shape[1]:
        return False
    inside = matrix == matrix[-1, 0]
    outside = matrix[~inside]
    return bool(outside.numel()) and bool((outside == outside[0]).all()) and find_band(
        inside.cpu().numpy()) is not None


class _Called:
    """What a call leaves. An object of its own: torch.export sets a module's attributes back."""
    names = ()


class _Forward(torch.nn.Module):
    """The module as a function of its tensors alone, which gives a tuple of tensors."""

    def __init__(self, module, spec, leaves, wanted):
        super().__init__()
        self.module = module
        self._spec, self._leaves, self._wanted = spec, leaves, wanted
        self._called = _Called()

    @property
    def names(self):
        """Of the outputs, after a call."""
        return self._called.names

    def forward(self, *tensors):
        supply = iter(tensors)
        leaves = [next(supply) if isinstance(leaf, torch.Tensor) else leaf
                  for leaf in self._leaves]
        args, kwargs = _pytree.tree_unflatten(leaves, self._spec)
        named = name_outputs(self.module(*args, **kwargs))
        if self._wanted:
            missing = [name for name in self._wanted if name not in named]
            if missing:
                raise InputError("export", 1, f"no output {missing[0]!r}; expected one of "
                                 + ", ".join(named))
            named = {name: named[name] for name in self._wanted}
        if not named:
            raise InputError("export", 1, "expected a module that returns tensors")
        self._called.names = list(named)
        return tuple(named.values())


def name_outputs(result):
    """The tensors of a result by name: those of a dict or an output class directly, of a tuple
    by number. What is neither a tensor nor holds one at its top, such as a cache, is left out."""
    if isinstance(result, torch.Tensor):
        return {"output": result}
    if hasattr(result, "items"):
        return {str(k): v for k, v in result.items() if isinstance(v, torch.Tensor)}
    if isinstance(result, (tuple, list)):
        return {f"output{i}": v for i, v in enumerate(result) if isinstance(v, torch.Tensor)}
    return {}


def _bind(module, args, kwargs):
    """args and kwargs, with use_cache=False where the forward takes it, and a name for each
    tensor among them."""
    kwargs = dict(kwargs or {})
    signature = inspect.signature(module.forward)
    config = getattr(module, "config", None)
    if "use_cache" not in kwargs and getattr(config, "use_cache", False):
        accepts = any(p.name == "use_cache" or p.kind is p.VAR_KEYWORD
                      for p in signature.parameters.values())
        bound = signature.bind_partial(*args, **kwargs).arguments
        if accepts and "use_cache" not in bound:
            kwargs["use_cache"] = False
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        raise InputError("export", 1, f"the arguments do not fit the module's forward: {error}") \
            from None
    positional = [p.name for p in signature.parameters.values()
                  if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    paths, spec = _pytree.tree_flatten_with_path((tuple(args), kwargs))
    names = []
    for path, leaf in paths:
        if not isinstance(leaf, torch.Tensor):
            continue
        where, first, *rest = [getattr(key, "key", getattr(key, "idx", None)) for key in path]
        if where == 0:
            first = positional[first] if first < len(positional) else f"arg{first}"
        names.append(".".join(map(str, [first, *rest])))
    return kwargs, spec, [leaf for _, leaf in paths], names


class Traced:
    """A graph, and what its nodes are.

    Attributes:
        nodes: FX nodes in order, without what is constant.
        constants: node to tensor, of what depends on no input or parameter.
        origins: constant node to the names in the module of what it is computed from.
        inputs: node to name; parameters: node to its name in the module's state.
        outputs: list of (name, node).
        aliases: parameter name to the other names of the same tensor.
        paired: complex nodes that pairs of real ones stand for.
        state: name to tensor of all parameters and persistent buffers, each once.
    """

    def __init__(self, module, args, kwargs, outputs):
        if module.training:
            raise InputError("export", 1, "the module is in training mode, in which dropout is "
                             "random; expected module.eval()")
        kwargs, spec, leaves, names = _bind(module, args, kwargs)
        self.tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        check_tensors(module, list(zip(names, self.tensors)))
        self.forward = _Forward(module, spec, leaves, outputs)
        # Registers an operation of PyTorch's, and lowers it.
        from ._recurrence import as_operations
        with (torch.no_grad(), _plain_transformer_layers(), _batched_experts(module),
              as_operations(module)):
            program = self._trace()
        self.module = module
        self._read_state(module)
        graph = program.graph_module.graph
        signature = program.graph_signature
        self.graph = graph
        self.constants, self.inputs, self.parameters, self.origins = {}, {}, {}, {}
        self._read_placeholders(graph, signature, program, names)
        if signature.buffers_to_mutate or signature.user_inputs_to_mutate:
            changed = [*signature.buffers_to_mutate.values(),
                       *signature.user_inputs_to_mutate.values()]
            raise InputError("export", 1, "the forward changes " + ", ".join(changed)
                             + " in place; expected a function of its inputs")
        results = graph.output_node().args[0]
        _remove_identities(graph)
        self._fold(graph)
        self.paired = split_complex(self)
        sink_slices(self)
        results = graph.output_node().args[0]
        self.outputs = list(zip(self.forward.names, results))
        self.nodes = [node for node in graph.nodes if node not in self.constants]

    def _trace(self):
        """torch.export's program of the forward, decomposed."""
        table = torch.export.default_decompositions()
        for operation in _WHOLE:
            table.pop(operation, None)
        try:
            with _torch_quiet():
                program = torch.export.export(self.forward, tuple(self.tensors), strict=False)
                return program.run_decompositions(table)
        except InputError:
            raise
        except Exception as error:
            said = (str(error).strip().splitlines() or [""])[0]
            raise InputError("export", 1, "torch.export cannot trace the module: "
                             f"{type(error).__name__}: {said}\n  at {_raised_at(error)}") from error

    def _read_state(self, module):
        self.state, self.aliases, self.canonical = {}, {}, {}
        persistent = set(module.state_dict(keep_vars=True))
        named = [*module.named_parameters(remove_duplicate=False),
                 *((name, tensor) for name, tensor in module.named_buffers(
                     remove_duplicate=False) if name in persistent)]
        owners = {}
        for name, tensor in named:
            # Tied tensors are one object, or views of the same memory.
            key = (id(tensor) if tensor.device.type == "meta" else
                   (tensor.data_ptr(), tuple(tensor.shape), tensor.stride(), tensor.dtype)
                   if tensor.numel() else id(tensor))
            first = owners.setdefault(key, name)
            self.canonical[name] = first
            if first == name:
                self.state[name] = tensor.detach()
            else:
                self.aliases.setdefault(first, []).append(name)

    def _read_placeholders(self, graph, signature, program, names):
        given = iter(names)
        for node in graph.nodes:
            if node.op != "placeholder":
                continue
            source = (signature.inputs_to_parameters.get(node.name)
                      or signature.inputs_to_buffers.get(node.name))
            name = source and source.removeprefix("module.")
            if node.name in signature.inputs_to_buffers and name in self.canonical and is_mask(
                    self.state[self.canonical[name]]):
                self.constants[node] = self.state[self.canonical[name]]
            elif name in self.canonical:
                self.parameters[node] = self.canonical[name]
            elif source:
                held = program.constants.get(source)
                held = (program.state_dict[source] if held is None else held).detach()
                self.constants[node] = _initial(self.module, name) if held.is_meta else held
                self.origins[node] = {name}
            elif node.name in signature.inputs_to_lifted_tensor_constants:
                key = signature.inputs_to_lifted_tensor_constants[node.name]
                self.constants[node] = program.constants[key].detach()
                name = key.removeprefix("module.")
                if not name.startswith("lifted_tensor_"):
                    self.origins[node] = {name}
            elif node.name in signature.user_inputs:
                self.inputs[node] = next(given)
            else:
                self.constants[node] = None     # the order of effects

    def _fold(self, graph):
        """Compute what depends on constants alone."""
        for node in graph.nodes:
            if node.op != "call_function":
                continue
            if "_assert" in str(node.target):
                self.constants[node] = None
                continue
            operands = node.all_input_nodes
            if isinstance(node.target, torch._ops.HigherOrderOperator) or (
                    torch.Tag.nondeterministic_seeded in getattr(node.target, "tags", ())):
                continue
            if node.target in _FILLS:
                shape, fill = shape_of(node), _FILLS[node.target]
                self.constants[node] = torch.full(
                    shape, node.args[1] if fill is None else fill, dtype=node.meta["val"].dtype)
                continue
            if all(operand in self.constants for operand in operands):
                def value(operand):
                    return self.constants[operand]
                args = torch.fx.node.map_arg(node.args, value)
                kwargs = dict(torch.fx.node.map_arg(dict(node.kwargs), value))
                if kwargs.get("device") is not None:
                    kwargs["device"] = torch.device("cpu")      # also of a module on meta
                # Constants need not lie in memory as the trace believed.
                target = _LENIENT.get(node.target, node.target)
                try:
                    with torch.no_grad():
                        self.constants[node] = target(*args, **kwargs)
                except RuntimeError:
                    continue    # PyTorch does not compute it in this type; nor do we
                self.origins[node] = set().union(*(self.origins.get(operand, ())
                                                   for operand in operands))


def _initial(module, name):
    """The values of a buffer on the meta device that no checkpoint has, such as a rotary
    table's frequencies: as a model of transformers makes them anew."""
    path, _, buffer = name.rpartition(".")
    owner = copy.deepcopy(module.get_submodule(path)).to_empty(device="cpu")
    value = getattr(owner, buffer)
    if value.is_floating_point():
        value.fill_(math.nan)
        parents = [module, *(module.get_submodule(".".join(path.split(".")[:depth + 1]))
                             for depth in range(len(path.split("."))))] if path else [module]
        for parent in reversed(parents):
            if hasattr(parent, "_init_weights"):
                parent._init_weights(owner)
                break
        value = getattr(owner, buffer)
        if not value.isnan().any():
            return value.detach()
    raise InputError("export", 1, f"buffer {name} is on the meta device and no part of the "
                     "module's state, so that its values are part of the program; expected it on "
                     "the CPU")


def shape_of(node):
    return tuple(node.meta["val"].shape)


def kind_of(node):
    return expect_kind(node.meta["val"].dtype)


def without_widening(node):
    """The node before casts to a wider float type, which change no number."""
    while isinstance(node, torch.fx.Node) and node.target is aten._to_copy.default:
        old, new = node.args[0].meta["val"].dtype, node.meta["val"].dtype
        if not (old.is_floating_point and new.is_floating_point and old.itemsize < new.itemsize):
            break
        node = node.args[0]
    return node


def path_of(node):
    """The path of the module that the operation is in."""
    stack = node.meta.get("nn_module_stack")
    if not stack:
        return ""
    path = list(stack.values())[-1][0]
    return path.removeprefix("L['self']").removeprefix(".").removeprefix("module").removeprefix(".")


def _raised_at(error):
    """The innermost line of an exception that is not PyTorch's, as FILE:LINE."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__)
              if "/torch/" not in frame.filename and frame.filename != __file__]
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "a line of PyTorch"


def line_of(node):
    """The line of the module's source, as FILE:LINE."""
    frames = [line.strip() for line in (node.meta.get("stack_trace") or "").splitlines()
              if line.strip().startswith('File "')]
    for frame in reversed(frames):
        file, _, rest = frame.removeprefix('File "').partition('", line ')
        if "/torch/" not in file:
            return f"{file}:{rest.partition(',')[0]}"
    return "source unknown"


def _remove_identities(graph):
    for node in list(graph.nodes):
        if node.op != "call_function" or not node.args:
            continue
        source = node.args[0]
        if node.target is aten.cat.default:
            filled = [part for part in source if math.prod(shape_of(part))]
            if len(filled) == 1:
                node.replace_all_uses_with(filled[0])
            elif len(filled) != len(source) and filled:
                node.args = (filled, *node.args[1:])
            continue
        if not isinstance(source, torch.fx.Node) or "val" not in source.meta:
            continue
        old, new = source.meta["val"], node.meta.get("val")
        if not isinstance(old, torch.Tensor) or not isinstance(new, torch.Tensor):
            continue
        if node.target in _IDENTITIES or (node.target in _RESHAPES and old.shape == new.shape
                                          and old.dtype == new.dtype):
            node.replace_all_uses_with(source)


@contextlib.contextmanager
def _torch_quiet():
    """Keeps the trace from being logged and printed: where it fails, the exception says why."""
    was = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
            yield
    finally:
        logging.disable(was)


@contextlib.contextmanager
def _plain_transformer_layers():
    """nn.TransformerEncoder written out, rather than as one fused operation."""
    was = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(was)


@contextlib.contextmanager
def _batched_experts(module):
    """Experts of transformers as products of fixed shapes, which is one of the ways in which it
    computes them; others sort the tokens or loop over the experts that are used."""
    attribute = "_experts_implementation"
    configs = {id(part.config): part.config for part in module.modules()
               if isinstance(getattr(part, "config", None), object)
               and hasattr(getattr(part, "config", None), attribute)}
    was = {key: getattr(config, attribute) for key, config in configs.items()}
    try:
        for config in configs.values():
            setattr(config, attribute, "batched_mm")
        yield
    finally:
        for key, config in configs.items():
            setattr(config, attribute, was[key])
