"""Element types and layouts that programs have, and what to do about the others.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import torch

from .._errors import InputError

KINDS = {torch.float32: "f32", torch.bfloat16: "bf16", torch.float16: "f16",
         torch.float64: "f64", torch.int64: "i64", torch.int32: "i32", torch.int16: "i16",
         torch.int8: "i8", torch.bool: "i1"}


class Unsupported(Exception):
    """Something that has no form here.

    Args:
        text: what it is.
        subject: what the text is about, such as a constant; None for the operation.
    """

    def __init__(self, text, subject=None):
        super().__init__(text)
        self.subject = subject


def expect_kind(dtype, subject=None):
    """The compiler's name of a PyTorch type; Unsupported, with what to write, if it has none."""
    if dtype not in KINDS:
        raise Unsupported(f"values of type {dtype}; {_advice(dtype)}", subject)
    return KINDS[dtype]


def _advice(dtype):
    if dtype.is_complex:
        return ("keep the real and the imaginary part (torch.view_as_real) as real tensors and "
                "compute with these")
    if dtype.is_floating_point:
        return "convert them to torch.bfloat16, torch.float16 or torch.float32 before the export"
    if dtype in (torch.quint8, torch.qint8, torch.qint32, torch.quint4x2, torch.quint2x4):
        return "dequantize() them before the export"
    return "convert them to torch.int16, torch.int32 or torch.int64 before the export"


def expect_dense(tensor, subject):
    """Unsupported, with what to write, of a tensor that is not one dense array."""
    if tensor.is_nested:
        raise Unsupported("a nested tensor; pad it (to_padded_tensor) and give a mask", subject)
    if tensor.is_quantized:
        raise Unsupported(f"values of type {tensor.dtype}; {_advice(tensor.dtype)}", subject)
    if tensor.layout != torch.strided:
        raise Unsupported(f"a tensor of layout {tensor.layout}; make it dense (to_dense())", subject)


def check_tensors(module, arguments):
    """InputError, of all at once, if a parameter, a buffer or another attribute of the module or
    an argument is none that torch.export can trace and the compiler can hold.

    Args:
        arguments: (name, tensor) of each argument.
    """
    persistent = set(module.state_dict(keep_vars=True))
    problems = []

    def check(test, *args):
        try:
            test(*args)
        except Unsupported as problem:
            problems.append(f"{problem.subject}: {problem}")

    for name, tensor in arguments:
        check(expect_dense, tensor, f"argument {name}")
        if not tensor.is_quantized:
            check(expect_kind, tensor.dtype, f"argument {name}")
    for path, part in module.named_modules(remove_duplicate=False):
        for key, value in [*part.named_parameters("", recurse=False),
                           *part.named_buffers("", recurse=False), *vars(part).items()]:
            name = f"{path}.{key}" if path else key
            if isinstance(value, torch.ScriptObject):
                problems.append(f"{name}: an object of TorchScript ({type(value).__name__}); export "
                                "the module as it was before it was quantised or scripted")
            elif isinstance(value, torch.Tensor) and (
                    name in persistent or value.is_nested or value.is_quantized):
                check(expect_dense, value, name)
    if problems:
        raise InputError("export", 1, "the module has tensors that have no form in the compiler:\n"
                         + "\n".join(f"  {problem}" for problem in problems))
