"""Compilations of programs that generate, kept for the next start.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

A program is found by a hash of all that it depends on: the checkpoint's folder and files, the
options, the compiler, and what of the machine the compiler looks at. It appears in the cache as
a whole, by the renaming of a folder, so that several processes may share one. The folder is
$TP_MLIR_CACHE, or tp-mlir in $XDG_CACHE_HOME or ~/.cache; TP_MLIR_CACHE=none does without.
"""

import hashlib
import json
import logging
import os
import pathlib
import shutil
import subprocess
import tempfile

from . import _tools
from ._errors import from_exit

_LOG = logging.getLogger(__name__)
# Programs that were used the longest ago go when there are more bytes.
MOST_BYTES = 4 << 30
# Of a checkpoint's files these are read whole; of others name, size and time count.
_READ = (".json", ".jinja")
_MOST_READ = 64 << 20
_ENVIRONMENT = ("TP_PTXAS", "CUDA_HOME", "CUDA_PATH")


def folder():
    """Where programs are kept; None if they are not."""
    named = os.environ.get("TP_MLIR_CACHE")
    if named == "none":
        return None
    if named:
        return pathlib.Path(named)
    home = os.environ.get("XDG_CACHE_HOME")
    try:
        return (pathlib.Path(home) if home else pathlib.Path.home() / ".cache") / "tp-mlir"
    except RuntimeError:  # There is no home.
        return None


def _file(path):
    """What tells a file from another, or from itself after a change."""
    try:
        about = path.stat()
    except OSError:
        return None
    told = [about.st_size, about.st_mtime_ns]
    if path.suffix in _READ and about.st_size <= _MOST_READ:
        told = [hashlib.sha256(path.read_bytes()).hexdigest()]
    return told


def _files(path):
    path = pathlib.Path(path)
    if not path.is_dir():
        return _file(path)
    return {one.name: _file(one) for one in sorted(path.iterdir()) if one.is_file()}


def _machine():
    """What of it a program may depend on: the processor's features, and its memory."""
    told = [os.sysconf("SC_PHYS_PAGES"), os.cpu_count()]
    for path, begins in (("/proc/cpuinfo", ("flags", "model name")), ("/proc/self/cgroup", ("",))):
        try:
            lines = pathlib.Path(path).read_text(encoding="utf-8").splitlines()
        except OSError:
            continue
        told.append(sorted({line for line in lines if line.startswith(begins)}))
    for path in sorted(pathlib.Path("/sys/fs/cgroup").glob("memory.max")):
        told.append(path.read_text(encoding="utf-8"))
    return told


def _key(model, options):
    """Of the program that these options make; None where that cannot be known."""
    given = {name: value for name, value in options.items() if value not in (None, False)}
    memory, target = str(given.get("memory", "B")), str(given.get("target", "cpu"))
    if not memory.endswith("B") and not target.startswith("cpu"):
        return None  # A share of a device's memory, which only its driver tells.
    compiler = pathlib.Path(_tools.find("tp-compile")).resolve()
    told = {
        "model": [str(pathlib.Path(model).resolve()), _files(model)],
        "options": given,
        "named": {name: _files(given[name]) for name in ("plan", "generation_config")
                  if name in given},
        "compiler": [str(compiler), _tools.run("tp-compile", ["--version"]), _file(compiler)],
        "machine": _machine(),
        "tools": [[found, _file(pathlib.Path(found).resolve())] if found else None for found in
                  map(shutil.which, ("ptxas", "ld.lld-22", "ld.lld"))],
        "environment": [os.environ.get(name) for name in _ENVIRONMENT],
    }
    return hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()


def _take(kept, path):
    """Gives `path` the program of a folder of the cache, and says what the compiler said of it.
    False if there is none that is whole."""
    if not kept.is_dir():
        return False
    try:
        about = json.loads((kept / "about.json").read_text(encoding="utf-8"))
        program, said = (kept / "program.tpa").read_bytes(), about["said"]
        is_whole = hashlib.sha256(program).hexdigest() == about["sha256"]
        os.utime(kept)
    except (OSError, ValueError, KeyError, TypeError):
        is_whole = False
    if not is_whole:
        _LOG.warning("%s is damaged, and is made again", kept)
        shutil.rmtree(kept, ignore_errors=True)
        return False
    path.write_bytes(program)
    _tools.relay_remarks(said)
    return True


def _put(kept, path, said):
    """Keeps a program, where the cache can be written."""
    made = None
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        made = pathlib.Path(tempfile.mkdtemp(prefix="new-", dir=kept.parent))
        shutil.copyfile(path, made / "program.tpa")
        (made / "about.json").write_text(json.dumps({
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "said": said}),
            encoding="utf-8")
        made.rename(kept)  # Fails if another process was faster.
    except OSError as error:
        if not kept.is_dir():
            _LOG.warning("the program is not kept for the next start: %s", error)
        if made:
            shutil.rmtree(made, ignore_errors=True)
        return
    _prune(kept.parent)


def _prune(place):
    """Removes the programs that were used the longest ago, until the rest fits."""
    found = []
    for one in place.iterdir():
        try:
            size = (one / "program.tpa").stat().st_size
            found.append((one.stat().st_mtime, size, one))
        except OSError:
            continue
    total = sum(size for _, size, _ in found)
    for _, size, one in sorted(found)[:-1]:
        if total <= MOST_BYTES:
            break
        shutil.rmtree(one, ignore_errors=True)
        total -= size


def compile_into(path, model, options):
    """Has the program of a checkpoint at `path`, a Path: from the cache, or from tp-compile.

    Raises what _tools.run raises.
    """
    place = folder()
    key = None if place is None else _key(model, options)
    if key and _take(place / key, path):
        return
    command = [_tools.find("tp-compile"), model, "--generate", "-o", path,
               *_tools.options(**options)]
    done = subprocess.run(list(map(str, command)), stdin=subprocess.DEVNULL, capture_output=True,
                          text=True)
    if done.returncode != 0:
        raise from_exit("tp-compile", done.returncode, done.stderr)
    _tools.relay_remarks(done.stderr)
    # The key does not describe inputs that have changed meanwhile.
    if key and key == _key(model, options):
        _put(place / key, path, done.stderr)
