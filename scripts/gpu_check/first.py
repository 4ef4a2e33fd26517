"""What has to work before anything else: the machine, the first launches, two ranks.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

Each rung of `launches` adds one thing to the one before, so that the first that
fails says which. Two ranks on one card are tried with more and more of NCCL
switched off until they work; what that took is used by the steps that follow.
"""

import ctypes
import os
import platform
import shutil
import socket
import sys

from . import correctness
from .files import LIBRARIES, execute

# Each adds to those before.
VARIANTS = [
    {},
    {"NCCL_NET": "Socket", "NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1"},
    {"NCCL_CUMEM_ENABLE": "0", "NCCL_CUMEM_HOST_ENABLE": "0", "NCCL_GRAPH_REGISTER": "0"},
    {"NCCL_ALGO": "Ring", "NCCL_PROTO": "Simple", "NCCL_MAX_NCHANNELS": "1"},
]


def device(pack, record, seconds):
    """What this machine is; nothing here can fail but the lack of a card."""
    record(name="machine", status="passed", host=platform.platform(),
           python=platform.python_version(), cores=os.cpu_count(),
           memory=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
           glibc=platform.libc_ver()[1], glibc_needed=pack.facts["glibc"])
    for name, command in {
            "gpu": ["nvidia-smi", "--query-gpu=name,driver_version,memory.total,clocks.sm,"
                    "clocks.max.sm,power.limit,pcie.link.gen.current,pcie.link.width.current",
                    "--format=csv,noheader"],
            "compute-sanitizer": ["compute-sanitizer", "--version"]}.items():
        if shutil.which(command[0]):
            record(name=name, status="note", says=execute(command, 15).out.strip()[:300])
    versions(record)
    try:
        import torch
    except ImportError:
        return record(name="PyTorch", status="skipped", why="not installed")
    facts = {"torch": torch.__version__}
    if torch.cuda.is_available():
        p = torch.cuda.get_device_properties(0)
        facts.update(cuda=torch.version.cuda, device=p.name, memory=p.total_memory,
                     multiprocessors=p.multi_processor_count,
                     nccl=".".join(map(str, torch.cuda.nccl.version())),
                     cudnn=torch.backends.cudnn.version())
    return record(name="PyTorch", status="passed", **facts)


def versions(record):
    """The libraries that tp-run opens, by what they say of themselves."""
    def number(library, function, *result):
        library[function].restype = ctypes.c_size_t if not result else ctypes.c_int
        if not result:
            return library[function]()
        value = ctypes.c_int()
        return value.value if library[function](ctypes.byref(value)) == 0 else None
    asked = {"TPRT_CUDA_LIBRARY": ("cuDriverGetVersion", True),
             "TPRT_CUBLASLT_LIBRARY": ("cublasLtGetVersion",),
             "TPRT_NCCL_LIBRARY": ("ncclGetVersion", True)}
    for variable, (function, *result) in asked.items():
        for name in [os.environ[variable]] if variable in os.environ else LIBRARIES[variable]:
            try:
                library = ctypes.CDLL(name)
                record(name=name, status="note", version=number(library, function, *result))
                break
            except (OSError, AttributeError) as error:
                record(name=name, status="note", why=str(error)[:200])


def launches(pack, record, seconds):
    """One thing more at each rung."""
    def kernel(name, kind="kernel"):
        return next((i for i in pack.items(kind) if i["name"].startswith(name)), None)

    def fixture(dtype):
        return next((i for i in pack.items("fixture")
                     if i["degree"] == 1 and i["dtype"] == dtype), None)
    rungs = [("a kernel", kernel("cast, f32") or kernel("swiglu, f32"), "0"),
             ("a kernel in a graph", kernel("cast, f32") or kernel("swiglu, f32"), "1"),
             ("a kernel from PTX", kernel("swiglu", "ptx kernel"), "1"),
             ("attention with mma", kernel("attention, bf16"), "1"),
             ("products, f32", fixture("f32"), "0"), ("a model in a graph", fixture("f32"), "1"),
             ("a model in bf16", fixture("bf16"), "1")]
    for name, item, graphs in rungs:
        if item is None:
            continue
        item = {**item, "name": f"{name}: {item['name']}"}
        environment = {"TPRT_CUDA_GRAPHS": graphs}
        try:
            if item["kind"] == "fixture":
                correctness.fixture(pack, item, record, seconds / 2, environment)
            else:
                correctness.kernel(pack, item, record, seconds / 2, environment)
        except ImportError as error:
            record(name=item["name"], status="skipped", why=f"needs {error.name}")
        except Exception as error:  # the next rung may tell more
            record(name=item["name"], status="failed", why=f"{type(error).__name__}: {error}")


def two_on_one(pack, record, seconds):
    """Processes with their own NCCL_HOSTID on one card: unproven until it runs."""
    items = [i for i in pack.items("fixture") if i["dtype"] == "f32" and i["plan"] == "megatron"]
    two = next((i for i in items if i["degree"] == 2), None)
    if two is None:
        return record(name="two ranks", status="skipped", why="the pack has no such program")
    found, worked = {}, {}

    def attempt(item, graphs, more, most=20):
        """The seconds, if it ran; whether its results are right is recorded."""
        item = {**item, "name": f"{item['name']}, {'graph' if graphs == '1' else 'no graph'}"
                + "".join(f", {k}={v}" for k, v in more.items())}
        log = pack.scratch / f"nccl-{item['degree']}-{graphs}"
        took = correctness.fixture(pack, item, record, min(most, seconds / 2), {
            **more, "NCCL_DEBUG": "INFO", "NCCL_DEBUG_FILE": f"{log}.%p",
            "TPRT_CUDA_GRAPHS": graphs})
        for path in pack.scratch.glob(log.name + ".*"):
            lines = path.read_text(errors="replace").splitlines()
            record(name="NCCL's log", status="note", lines=lines[:6] + lines[-14:])
            path.unlink()
        return took
    for variant in VARIANTS if pack.on_card(two) else VARIANTS[:1]:
        found.update(variant)
        took = attempt(two, "0", found, 20 if found else 40)  # the first reads its libraries
        if took:
            worked = {**found}
            break
    else:
        if pack.on_card(two):
            control(record, {})
        return None
    took = attempt(two, "1", worked)
    if not took:
        # Better without graphs than not at all.
        worked["TPRT_CUDA_GRAPHS"] = "0"
        took = 15
    pack.remember("found", worked)
    pack.remember("two ranks", took)
    four = next((i for i in items if i["degree"] == 4), None)
    if four:
        attempt(four, worked.get("TPRT_CUDA_GRAPHS", "1"),
                {k: v for k, v in worked.items() if k != "TPRT_CUDA_GRAPHS"})
    if worked and pack.on_card(two):
        record(name="what that took", status="note", **worked)
    return None


CONTROL = """
import os, sys, torch, torch.distributed as ranks
rank = int(sys.argv[1])
os.environ.update(NCCL_HOSTID=f"rank-{rank}", NCCL_IB_DISABLE="1", NCCL_SOCKET_IFNAME="lo",
                  NCCL_NVLS_ENABLE="0", NCCL_MNNVL_ENABLE="0", MASTER_ADDR="127.0.0.1",
                  MASTER_PORT=sys.argv[2], RANK=str(rank), WORLD_SIZE="2")
ranks.init_process_group("nccl")
x = torch.full((1024,), float(rank + 1), device="cuda")
ranks.all_reduce(x)
print("sum", x[0].item())
"""


def control(record, environment):
    """True if PyTorch's two processes can do it, where tp-run's cannot."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    from concurrent.futures import ThreadPoolExecutor
    with ThreadPoolExecutor(2) as pool:
        runs = list(pool.map(lambda rank: execute(
            [sys.executable, "-c", CONTROL, str(rank), str(port)], 30, environment), (0, 1)))
    good = all(run.code == 0 and "sum 3.0" in run.out for run in runs)
    record(name="two processes of PyTorch on one card", status="note", work=good,
           **({} if good else {"why": [run.why() for run in runs]}))
