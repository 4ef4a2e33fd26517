"""tp_mlir.export refuses tensors that programs cannot hold, by name and with what to write.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import re
import warnings

import pytest

torch = pytest.importorskip(
    "torch", reason="PyTorch is not installed; pip install './python[export]'")

import tp_mlir  # noqa: E402

nn = torch.nn
X = torch.ones(2, 6, 4)


class Holder(nn.Module):
    """A function of the input and of a tensor that the module holds."""

    def __init__(self, tensor, function, how):
        super().__init__()
        self.function = function
        if how == "attribute":
            self.table = tensor
        else:
            self.register_buffer("table", tensor, persistent=how == "persistent")

    def forward(self, x):
        return self.function(x, self.table)


def refused(module, argument=X):
    with pytest.raises(tp_mlir.InputError) as caught:
        tp_mlir.export(module.eval(), (argument,), check=False)
    return str(caught.value)


def rotations():
    angles = torch.outer(torch.arange(6.0), torch.tensor([1.0, 0.1]))
    return torch.polar(torch.ones_like(angles), angles)


def rotate(x, table):
    """As the first Llama code did."""
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * table).flatten(-2)


def nested():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])


def quantized():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.quantize_per_tensor(torch.ones(4), 0.1, 0, torch.qint8)


def turned(x, table):
    """Products, sums, quotients and what moves elements; as many matrices."""
    pairs = torch.complex(x[..., :2], x[..., 2:])
    other = torch.view_as_complex(x.reshape(2, 6, 2, 2)).conj() * (2 - 1j)
    both = torch.cat([pairs, pairs.neg() / 3], -1) - torch.stack([other, pairs], 2).flatten(2)
    square = (both.transpose(1, 2) @ both)[:, :2] * x[:, :1, :1] + table.sum() * both[:, :2]
    return torch.view_as_real(square), square.abs(), (square * 0.01).exp().imag, square.real


@pytest.mark.parametrize("how", ["constant", "attribute"])
@pytest.mark.parametrize("function", [rotate, turned])
def test_complex_numbers(function, how):
    """They are pairs of real ones: the export compares itself with the module."""
    torch.manual_seed(2)
    export = tp_mlir.export(Holder(rotations(), function, how).eval(), (torch.randn(2, 6, 4),))
    assert export.difference < 2e-6


def test_derivatives_of_complex_numbers():
    torch.manual_seed(3)
    module = nn.Sequential(nn.Linear(4, 4), Holder(rotations(), rotate, "constant"),
                           nn.Linear(4, 5)).eval()
    x, targets = torch.randn(2, 6, 4), torch.randint(5, (2, 6))
    program = tp_mlir.export(module, (x,)).compile(mesh="tp=2", train="sgd")
    _, ours = program.gradients({"input": x.numpy(), "targets": targets.numpy()})
    nn.functional.cross_entropy(module(x).flatten(0, 1), targets.flatten()).backward()
    for name, parameter in module.named_parameters():
        assert abs(ours[name] - parameter.grad.numpy()).max() < 1e-6, name


def test_complex_parameter():
    text = refused(Holder(rotations(), rotate, "persistent"))
    assert re.search(r"\btable: values of type torch.complex64; keep the real and the imaginary part "
                     r"\(torch.view_as_real\) as real tensors and compute with these\n"
                     rf"    at the module itself, {re.escape(__file__)}:\d+", text), text


def test_complex_forms_that_are_refused():
    """The operation is named, and not those before it."""
    text = refused(Holder(rotations(), lambda x, table: torch.fft.fft(x).abs(), "constant"))
    assert "aten._fft_r2c.default: is not in the table" in text and text.count(" at ") == 1, text
    text = refused(Holder(rotations(), lambda x, table: torch.angle(
        torch.view_as_complex(x.reshape(2, 6, 2, 2)) * table), "constant"))
    assert "aten.angle.default: is not in the table" in text and text.count(" at ") == 1, text
    text = refused(Holder(rotations(), lambda x, table: torch.pow(
        torch.view_as_complex(x.reshape(2, 6, 2, 2)), 2 - 1j).abs(), "constant"))
    assert ("aten.pow.Tensor_Scalar: a complex number; write its real and imaginary part apart"
            in text), text


def test_complex_result():
    assert "constant table: values of type torch.complex64" in refused(
        Holder(rotations(), lambda x, table: (x + 1, table), "constant"))


def test_real_parts():
    """A constant that is complex on the way to a real one is no matter."""
    for module in (Holder(rotations(), lambda x, table: x * torch.view_as_real(table).sum(),
                          "constant"),
                   Holder(torch.ones(4).to(torch.float8_e4m3fn), lambda x, table: x * table.float(),
                          "constant")):
        exported = tp_mlir.export(module.eval(), (X,))
        assert exported.difference < 2e-5


@pytest.mark.parametrize("dtype, advice", [
    (torch.uint8, "convert them to torch.int16, torch.int32 or torch.int64 before the export"),
    (torch.uint16, "convert them to torch.int16, torch.int32 or torch.int64 before the export"),
    (torch.uint64, "convert them to torch.int16, torch.int32 or torch.int64 before the export"),
    (torch.float8_e4m3fn,
     "convert them to torch.bfloat16, torch.float16 or torch.float32 before the export"),
    (torch.float8_e5m2,
     "convert them to torch.bfloat16, torch.float16 or torch.float32 before the export")])
def test_other_types(dtype, advice):
    table = torch.ones(4).to(dtype)
    said = f"values of type {dtype}; {advice}"
    assert f"constant table: {said}" in refused(
        Holder(table, lambda x, table: (x, table), "constant"))
    assert f"  table: {said}" in refused(
        Holder(table, lambda x, table: x * table.to(torch.float32), "persistent"))
    text = refused(Holder(X, lambda x, table: table, "constant"), table)
    assert text == ("the module has tensors that have no form in the compiler:\n"
                    f"  argument x: {said}")


@pytest.mark.parametrize("make, said", [
    (nested, "a nested tensor; pad it (to_padded_tensor) and give a mask"),
    (quantized, "values of type torch.qint8; dequantize() them before the export"),
    (lambda: torch.eye(4).to_sparse(), "a tensor of layout torch.sparse_coo; make it dense"),
    (lambda: torch.eye(4).to_sparse_csr(), "a tensor of layout torch.sparse_csr; make it dense")])
def test_layouts(make, said):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert f"  table: {said}" in refused(Holder(make(), lambda x, table: x + 1, "persistent"))
        assert f"  argument x: {said}" in refused(Holder(X, lambda x, table: table, "constant"),
                                                  make())


def test_quantized_module():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = torch.ao.quantization.quantize_dynamic(
            nn.Sequential(nn.Linear(4, 4)), {nn.Linear}, dtype=torch.qint8)
        assert "  0._packed_params._packed_params: an object of TorchScript (ScriptObject); export " \
            "the module as it was before it was quantised or scripted" in refused(module)
        assert "  _c: an object of TorchScript (ScriptModule); export" in refused(
            torch.jit.script(nn.Linear(4, 4)))


@pytest.mark.parametrize("held", ["text", None, {1: 2}])
def test_no_tensor(held):
    """What the trace itself cannot do is one line, with where."""
    text = refused(Holder(held, lambda x, table: table * x, "attribute"))
    assert text.startswith("torch.export cannot trace the module: TypeError: "), text
    assert re.search(rf"\n  at {re.escape(__file__)}:\d+$", text), text
