"""A kernel that one architecture has for itself, beside the portable one.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

The image's kernel is given half of the row, so that results tell which kernel ran: on a device
of exactly the image's architecture that of the image, on all others the portable one.
"""

import os
import subprocess

import numpy
import pytest
from device import BIN, LIBRARY
from safetensors.numpy import load_file, save_file

PROGRAM = """
module {
  tp.mesh @mesh <["tp"=1]>
  func.func @main(%k: tensor<5x2x24xf32> {tp.global_type = tensor<5x2x24xf32>, tp.sharding = #tp.sharding<@mesh, [{}, {}, {}]>}, %cells: tensor<5xi32> {tp.global_type = tensor<5xi32>, tp.sharding = #tp.sharding<@mesh, [{}]>}, %pool: tensor<16x2x24xf32> {tp.global_type = tensor<16x2x24xf32>, tp.sharding = #tp.sharding<@mesh, [{}, {}, {}]>}) -> (tensor<16x2x24xf32> {tp.global_type = tensor<16x2x24xf32>, tp.sharding = #tp.sharding<@mesh, [{}, {}, {}]>}) attributes {tp.arena_bytes = 0 : i64, tp.comm_bytes = 0 : i64} {
    %0 = nn.cache_write %k, %cells, %pool {tp.buffers = [#tp.buffer<"output", 0>], tp.kernel = @write} : (tensor<5x2x24xf32>, tensor<5xi32>, tensor<16x2x24xf32>) -> tensor<16x2x24xf32>
    return %0 : tensor<16x2x24xf32>
  }
  gpu.module @kernels {
    llvm.func @write(i64, i64, i64, !llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr) attributes {tp.block = array<i64: 32, 1, 1>, tp.device_entry = {entry = "cache_write_4_16", shape = {cells = 16 : i64, parts = 1 : i64, rowBytes = 192 : i64}, source = "cache_write"}, tp.grid = array<i64: 5, 1, 1>, tp.images = {sm_90a = {block = array<i64: 64, 1, 1>, entry = "cache_write_4_4", grid = array<i64: 5, 2, 1>, shape = {cells = 32 : i64, parts = 2 : i64, rowBytes = 96 : i64}, shared_bytes = 0 : i64, source = "cache_write"}}, tp.shared_bytes = 0 : i64}
  }
}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The artifact, inputs, and the kernels of both for the emulator."""
    folder = tmp_path_factory.mktemp("images")
    (folder / "program.mlir").write_text(PROGRAM)
    subprocess.run([BIN / "tp-compile", "--compile-from=schedule", folder / "program.mlir",
                    "--target=cuda", f"--save-kernels={folder}", "-o", folder / "model.tpa"],
                   check=True, capture_output=True, env=dict(os.environ, TP_PTXAS=""))
    for name in ("kernels", "kernels.sm_90a"):
        subprocess.run([BIN / "tp-emulate-kernels", folder / f"{name}.bc", "--ptx",
                        folder / f"{name}.ptx", "-o", folder / f"{name}.so"], check=True)
    assert ".target sm_90a" in (folder / "kernels.sm_90a.ptx").read_text()
    random = numpy.random.default_rng(1)
    save_file({"arg0": random.standard_normal((5, 2, 24), dtype=numpy.float32),
               "arg1": numpy.array([3, 15, -1, 0, 16], numpy.int32),
               "arg2": random.standard_normal((16, 2, 24), dtype=numpy.float32)},
              folder / "in.safetensors")
    return folder


def run(folder, architecture, *kernels):
    environment = dict(os.environ, TP_FAKE_CUDA_ARCH=architecture,
                       TP_FAKE_CUDA_KERNELS=":".join(str(folder / name) for name in kernels))
    for name in ("CUDA", "CUBLASLT", "NCCL"):
        environment[f"TPRT_{name}_LIBRARY"] = str(LIBRARY)
    return subprocess.run([BIN / "tp-run", folder / "model.tpa", "--weights", "random:1",
                           "--input", folder / "in.safetensors", "--output",
                           folder / "out.safetensors"], check=False, capture_output=True,
                          text=True, env=environment)


def written(folder, halves):
    """The pool, of whose rows the first half is regarded as a row, or all."""
    inputs = load_file(folder / "in.safetensors")
    pool = inputs["arg2"].reshape(16 * halves, -1).copy()
    rows = inputs["arg0"].reshape(5 * halves, -1)
    for token, cell in enumerate(inputs["arg1"]):
        if 0 <= cell < 16 * halves:
            pool[cell] = rows[token]
    return pool.reshape(16, 2, 24)


@pytest.mark.parametrize("architecture", ["8.0", "9.0", "9.9", "10.0"])
def test_which_kernel_runs(folder, architecture):
    result = run(folder, architecture, "kernels.so", "kernels.sm_90a.so")
    assert result.returncode == 0, result.stderr
    halves = 2 if architecture == "9.0" else 1
    pool, = load_file(folder / "out.safetensors").values()
    assert (pool == written(folder, halves)).all()


def test_image_that_cannot_be_loaded(folder):
    result = run(folder, "9.0", "kernels.so")
    assert result.returncode == 5
    assert "cannot load the kernels (sm_90a.ptx) on " in result.stderr


def test_portable_program_has_no_image(folder):
    saved = folder / "portable"
    subprocess.run([BIN / "tp-compile", "--compile-from=schedule", folder / "program.mlir",
                    "--target=cuda:ptx", f"--save-kernels={saved}", "-o", folder / "ptx.tpa"],
                   check=True, capture_output=True)
    assert sorted(path.name for path in saved.iterdir()) == [
        "kernels.bc", "kernels.json", "kernels.ptx"]
