"""A model compiled for a device, and run on the library that stands for CUDA.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

The kernels of the artifact are executed by the emulator; CUDA, cuBLASLt and NCCL are
one test library on host memory that runs what is asynchronous in any legal order.
"""

import json
import os
import pathlib
import subprocess

from safetensors.numpy import load_file

import tp_mlir

BIN = pathlib.Path(os.environ["TP_MLIR_BIN"])
LIBRARY = BIN.parent / "lib/libtp-fake-cuda.so"
FIXTURES = pathlib.Path(__file__).resolve().parents[2] / "fixtures"


class Artifact:
    """An artifact with its kernels made for the emulator, in a folder."""

    def __init__(self, folder, model, *, degree=1, plan="megatron", checks=True, **options):
        """Options of a checkpoint: batch, seq, dtype, layers."""
        self.folder, self.degree, self.model = folder, degree, model
        arguments = [BIN / "tp-compile", model, f"--mesh=tp={degree}", f"--plan={plan}",
                     "--target=cuda:ptx", f"--save-kernels={folder}", "--explain=json", "-o",
                     folder / "model.tpa"]
        arguments += [f"--{name}={value}" for name, value in options.items() if value]
        result = subprocess.run(arguments, capture_output=True, text=True, check=False)
        if result.returncode == 1:
            raise tp_mlir.InputError("tp-compile", 1, result.stderr)
        assert result.returncode == 0, result.stderr
        self.explanation = json.loads(result.stdout)
        emulate = [BIN / "tp-emulate-kernels", folder / "kernels.bc", "--ptx",
                   folder / "kernels.ptx", "-o", folder / "kernels.so"]
        subprocess.run(emulate + ([] if checks else ["--no-checks"]), check=True)

    def environment(self, **changes):
        """What puts the library in the place of CUDA's; a change to None unsets."""
        values = dict(os.environ)
        for name in ("CUDA", "CUBLASLT", "NCCL"):
            values[f"TPRT_{name}_LIBRARY"] = str(LIBRARY)
        values["TP_FAKE_CUDA_KERNELS"] = str(self.folder / "kernels.so")
        values.update({name: str(value) for name, value in changes.items()
                       if value is not None})
        for name, value in changes.items():
            if value is None:
                values.pop(name, None)
        return values

    def start(self, inputs, *options, weights=None, **environment):
        command = [BIN / "tp-run", self.folder / "model.tpa", "--backend=nccl",
                   "--weights", weights or self.model, "--output", self.folder / "out.safetensors",
                   *options]
        if inputs:
            command += ["--input", inputs]
        return subprocess.Popen(command, env=self.environment(**environment),
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def attempt(self, inputs, *options, **environment):
        """Runs; returns exit status and standard error."""
        process = self.start(inputs, *options, **environment)
        _, errors = process.communicate(timeout=300)
        return process.returncode, errors

    def run(self, inputs, *options, **environment):
        status, errors = self.attempt(inputs, *options, **environment)
        assert status == 0, errors
        return load_file(self.folder / "out.safetensors")
