"""safetensors with the standard library, and tp-run as a function.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import array
import ctypes
import json
import math
import os
import pathlib
import platform
import signal
import struct
import subprocess
import sys
import time

SIZES = {"F32": 4, "BF16": 2, "F16": 2, "I64": 8, "I32": 4, "I8": 1, "U8": 1, "BOOL": 1}


def read_safetensors(path):
    """{name: (type, shape, bytes)} of a small file."""
    data = pathlib.Path(path).read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    return {name: (what["dtype"], tuple(what["shape"]),
                   data[8 + size + what["data_offsets"][0]:8 + size + what["data_offsets"][1]])
            for name, what in header.items() if name != "__metadata__"}


def write_safetensors(path, tensors):
    """`tensors`: {name: (type, shape, bytes-like, or a function that makes them)}."""
    header, at = {}, 0
    for name, (kind, shape, data) in tensors.items():
        size = SIZES[kind]
        for extent in shape:
            size *= extent
        header[name] = {"dtype": kind, "shape": list(shape), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, _, data in tensors.values():
            file.write(data() if callable(data) else data)
    return at


def torch_bytes(torch, value):
    """A tensor's bytes where they lie, whatever its type; without numpy."""
    value = value.detach().cpu().contiguous()
    size = value.numel() * value.element_size()
    place = (ctypes.c_char * size).from_address(value.data_ptr()) if size else b""
    if size:
        place.owner = value  # as long as somebody looks at them
    return memoryview(place).cast("B")


def write_torch(path, torch, values):
    kinds = {torch.float32: "F32", torch.bfloat16: "BF16", torch.float16: "F16",
             torch.int64: "I64", torch.int8: "I8"}
    write_safetensors(path, {name: (kinds[v.dtype], v.shape, torch_bytes(torch, v))
                             for name, v in values.items()})


def floats(tensor):
    kind, _, data = tensor
    assert kind == "F32", kind
    return array.array("f", data)


def difference(got, want):
    """The largest difference, the norm of all and the largest value; NaN anywhere is
    infinite."""
    a, b = floats(got), floats(want)
    if got[1] != want[1]:
        raise ValueError(f"shape {got[1]}, expected {want[1]}")
    each = [abs(x - y) if x == x else float("inf") for x, y in zip(a, b)]
    return max(each, default=0.0), math.hypot(*each), max((abs(y) for y in b), default=0.0)


class Run:
    """What became of a program: exit code, output, errors, seconds."""

    def __init__(self, code, out, err, seconds):
        self.code, self.out, self.err, self.seconds = code, out, err, seconds

    def why(self):
        lines = [line for line in self.err.splitlines() if line.strip()]
        code = f"signal {-self.code}" if self.code < 0 else f"exit {self.code}"
        return f"{code}: " + " | ".join(lines[-4:])[-600:]

    def fault(self):
        """What is recorded of a program that failed: the end in words, and its log."""
        log = "\n".join(self.err.splitlines()[-60:])[-6000:]
        return {"status": "failed", "why": self.why(), "log": log}


LIBC = ctypes.CDLL(None)


def end_with_parent():
    """Between fork and exec: what is started here does not outlive a step that is ended."""
    LIBC.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def execute(command, seconds, environment=None, directory=None):
    """Runs it in a process group of its own and ends all of that at the limit."""
    start = time.monotonic()
    process = subprocess.Popen(
        [str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, errors="replace", cwd=directory, start_new_session=True,
        preexec_fn=end_with_parent,
        env={**os.environ, **(environment or {})})
    try:
        out, err = process.communicate(timeout=max(1, seconds))
        code = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        code, err = 124, err + f"\nended after {seconds:.0f} s"
    return Run(code, out, err, time.monotonic() - start)


LIBRARIES = {"TPRT_CUDA_LIBRARY": ["libcuda.so.1"], "TPRT_NCCL_LIBRARY": ["libnccl.so.2"],
             "TPRT_CUBLASLT_LIBRARY": ["libcublasLt.so.13", "libcublasLt.so.12"]}


def libraries():
    """Where CUDA's libraries are: PyTorch's own, so that what is compared uses the same, or
    the loader's, or those of the toolkit and the driver."""
    found = {}
    python = [pathlib.Path(path) / "nvidia" for path in sys.path if path]
    others = [pathlib.Path(path) for path in (
        "/usr/local/cuda/lib64", "/usr/local/nvidia", "/usr/lib/x86_64-linux-gnu", "/usr/lib64")]
    for variable, names in LIBRARIES.items():
        if variable in os.environ:
            continue
        for name in names:
            candidates = [str(file) for place in python if place.is_dir()
                          for file in sorted(place.rglob(name))]
            if not any(map(loads, candidates)) and loads(name):
                break  # the loader finds it
            candidates += [str(file) for place in others if place.is_dir()
                           for file in sorted(place.rglob(name))]
            usable = next(filter(loads, candidates), None)  # not one of another architecture
            if usable:
                found[variable] = usable
                break
    return found


def loads(name):
    """Asked in a process of its own: a library that is opened here would stay."""
    return subprocess.run([sys.executable, "-c", f"import ctypes; ctypes.CDLL({str(name)!r})"],
                          capture_output=True, check=False).returncode == 0


class Pack:
    """The unpacked directory: programs, checkpoints, and what each is for."""

    def __init__(self, root, scratch=None):
        self.scratch = pathlib.Path(scratch) if scratch else None
        self.root = pathlib.Path(root).resolve()
        self.facts = json.loads((self.root / "pack.json").read_text())
        self.tp_run = self.root / "bin" / "tp-run"
        self.backend = self.facts["backend"]
        self.found = self.recall("found", {})

    def settle(self):
        """Before the first step: what tp-run needs of this machine is put into the
        environment. Says what is missing, if anything."""
        first = execute([self.tp_run, "--help"], 60)
        if first.code:
            # Its C++ library is too old, or there is none: the packed ones.
            os.environ["LD_LIBRARY_PATH"] = ":".join(filter(None, [
                str(self.root / "lib" / "compilers"), os.environ.get("LD_LIBRARY_PATH")]))
            second = execute([self.tp_run, "--help"], 60)
            if second.code:
                return (f"tp-run does not start: {first.why()}; with the packed C++ library: "
                        f"{second.why()}; it needs glibc {self.facts['glibc']} or later, here is "
                        f"{platform.libc_ver()[1] or 'none'}")
        if self.backend == "nccl":
            os.environ.update(libraries())
        return ""

    def remember(self, name, value):
        """For the steps that follow."""
        (self.scratch / f"{name}.json").write_text(json.dumps(value))

    def recall(self, name, otherwise=None):
        path = self.scratch / f"{name}.json" if self.scratch else None
        return json.loads(path.read_text()) if path and path.exists() else otherwise

    def items(self, kind):
        return [item for item in self.facts["items"] if item["kind"] == kind]

    def on_card(self, item):
        return self.backend == "nccl" and "environment" not in item

    def environment(self, item):
        """The item's own; with several ranks also what the first of them needed."""
        return {**(self.found if item.get("degree", 1) > 1 else {}),
                **{name: value.replace("{root}", str(self.root))
                   for name, value in item.get("environment", {}).items()}}

    def command(self, item, *options):
        return [self.tp_run, self.root / item["artifact"], "--backend", self.backend,
                "--weights", self.weights(item), *options]

    def weights(self, item):
        weights = item.get("weights", "random:1")
        return weights if weights.startswith(("random:", "init:", "/")) else self.root / weights

    def run(self, item, *options, seconds=60, environment=None):
        return execute(self.command(item, *options), seconds,
                       {**self.environment(item), **(environment or {})})
