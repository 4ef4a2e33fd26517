"""What the compiler says of a program: its memory, its kernels, its collectives.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Each candidate is compiled up to its schedule, which needs no weights and takes about a
second; nothing here knows the shapes of a model.
"""

import concurrent.futures
import dataclasses
import json
import math
import os
import pathlib
import re
import tempfile

from .. import _tools
from .._errors import InputError, UsageError

# The most tokens of a step, tp-compile's default.
CHUNK = 512


@dataclasses.dataclass(frozen=True)
class Workload:
    """What the ranks are to do: one of serving, training, and one run of the program.

    Serving: users, each with up to `context` tokens. Otherwise sequences of `seq` tokens,
    `batch` at a time (of each data-parallel group, if it is training).
    """
    kind: str               # "serve", "train" or "run"
    context: int = None
    users: int = 1
    prompt: int = None      # tokens of the prompt whose time is told; None: the context
    seq: int = None
    batch: int = None
    optimizer: str = None
    accumulate: int = 1
    recompute: str = None
    dtype: str = None
    kv_dtype: str = None    # of the cache; None: dtype
    data: int = 1           # data-parallel groups
    shard_optimizer: str = None  # the axis over which moments and masters are divided
    logits: str = None
    untie: bool = False
    ignore: str = None
    quantize: str = None    # format that weights are quantised to while they are read
    own_mesh: str = None    # the program's own, the only one that it can be cut over

    def __post_init__(self):
        if self.kind not in ("serve", "train", "run"):
            raise ValueError(f"kind: expected 'serve', 'train' or 'run', got {self.kind!r}")
        if (self.kind == "train") != (self.optimizer is not None):
            raise ValueError("optimizer: expected one where kind is 'train', and there alone; got "
                             f"{self.optimizer!r} of kind {self.kind!r}")

    def mesh(self, degree):
        if self.own_mesh:
            return self.own_mesh
        return f"dp={self.data},tp={degree}" if self.data > 1 else f"tp={degree}"

    def options(self):
        """tp-compile's, but for mesh and plan."""
        if self.kind == "serve":
            # main is not what serves; one token of it is least in the way.
            options = {"generate": True, "seq": 1, "rows": self.users, "context": self.context,
                       "chunk": self.chunk, "kv-dtype": self.kv_dtype}
        else:
            options = {"seq": self.seq, "batch": self.batch and self.batch * self.data,
                       "train": self.optimizer, "recompute": self.recompute,
                       "shard-optimizer": self.shard_optimizer,
                       "logits": self.logits}
        return {**options, "dtype": self.dtype, "untie": self.untie or None,
                "ignore": self.ignore, "quantize": self.quantize}

    @property
    def chunk(self):
        """Tokens of the largest step: one for each user, if there are that many."""
        least = 1
        while least < self.users:
            least *= 2
        chunk = max(CHUNK, least)
        return min(chunk, max(self.context, least)) if self.context else chunk


def ranks_of(mesh):
    """How many ranks a mesh such as dp=2,tp=4 has."""
    return math.prod(int(axis.split("=")[1]) for axis in mesh.split(","))


def mesh_of(model):
    """The mesh that a .mlir file declares, as --mesh has it; None of others."""
    path = pathlib.Path(model)
    if path.suffix != ".mlir" or not path.is_file():
        return None
    found = re.findall(r'tp\.mesh\s+@\S+\s+<\[([^\]]*)\]>', path.read_text("utf-8", "replace"))
    axes = re.findall(r'"([^"]+)"\s*=\s*(\d+)', found[0]) if len(found) == 1 else ()
    return ",".join(f"{name}={size}" for name, size in axes) or None


@dataclasses.dataclass(frozen=True)
class Candidate:
    """One way to cut the model, and what the compiler says of it."""
    plan: str
    degree: int
    mesh: str
    data: dict = None      # --explain=json
    refusal: str = None    # or why it is none

    @property
    def ranks(self):
        return ranks_of(self.mesh)

    def function(self, name):
        for function in self.data["functions"]:
            if function["name"] == name:
                return function
        return None

    def functions(self, names):
        return [function for function in map(self.function, names) if function]

    def collectives(self, name):
        return [line for line in self.data["collectives"] if line["function"] == name]


def _arguments(model, workload, plan, degree, target, link):
    arguments = [model, "--mesh", workload.mesh(degree), "--plan", plan, "--target", target,
                 "--link", link, "--explain=json"]
    for name, value in workload.options().items():
        if value is True:
            arguments.append(f"--{name}")
        elif value is not None:
            arguments += [f"--{name}", value]
    return arguments


def _errors(text):
    """The errors among what a compiler printed, without its progress and its notes, in the words of
    tp-plan, whose --users are --rows."""
    lines = [line.split("error: ", 1)[1] for line in text.splitlines() if "error: " in line]
    words = re.sub(r"--rows\b", "--users", "; ".join(lines) or text.strip())
    # An option of the compiler's that tp-plan does not have.
    return re.sub(r"--allow-padding\b", "tp-compile's --allow-padding", words)


_QUANTISED = ("; weights of 4 and 8 bits are those of a checkpoint whose config.json has a "
              "quantization_config, as tp-quantize makes them, or what --quantize makes of others")


def _of_our_options(error):
    """tp-compile's refusal of an option, as one of the option of tp-plan that it comes from."""
    found = re.fullmatch(r"(?:tp-compile: )?for the --([\w-]+) option: (.*)", str(error), re.DOTALL)
    if not found or found[1] == "target":
        return error
    # 8 and 4 are no part of a type that is read.
    more = _QUANTISED if found[1] == "dtype" and re.search("got '.*[48].*'", found[2]) else ""
    return UsageError("tp-plan", 2, f"for --{found[1]}: {found[2]}{more}")


def _explained(model, workload, plan, degree, target, figures):
    """What tp-compile prints of a candidate, with times by a profile's figures."""
    with tempfile.NamedTemporaryFile("w", prefix="tp-plan-", suffix=".json") as link:
        link.write(figures)
        link.flush()
        return _tools.run("tp-compile", _arguments(model, workload, plan, degree, target,
                                                   link.name))


def compile_one(model, workload, plan, degree, target, figures):
    """The Candidate. A degree that does not fit the model is one with a refusal.

    Args:
        figures: a profile as JSON, which the times are computed from.
    """
    try:
        printed = _explained(model, workload, plan, degree, target, figures)
    except UsageError as error:
        raise _of_our_options(error) from error
    except InputError as error:
        return Candidate(plan, degree, workload.mesh(degree), refusal=_errors(str(error)))
    told = json.loads(printed)
    return Candidate(plan, degree, workload.mesh(degree), told, refusal=told.get("untimed"))


def each(function, pairs):
    """function(*pair) of each pair, in order; several at a time, as compilers are processes."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda pair: function(*pair), pairs))
