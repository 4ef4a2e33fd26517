# How lit runs the tests: every .mlir, .test and .py file outside Inputs,
# fixtures and Unit is a shell test with our tools and LLVM's on the PATH.
import os
import shlex
import shutil
import subprocess
import sys

import lit.formats

config.name = "tp-mlir"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "families", "fixtures", "Unit", "Package", "Python", "lib"]
config.test_source_root = os.path.dirname(__file__)
config.environment["PATH"] = os.pathsep.join(
    [config.tp_bin_dir, config.llvm_tools_dir, os.environ.get("PATH", "")]
)
# The language and the folders, because ccache tells compilations apart by them.
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "HOME", "OMP_NUM_THREADS", "LANG", "LC_ALL",
             "CCACHE_DIR", "XDG_CACHE_HOME", "CUDA_HOME", "CUDA_PATH", "VERIFY_SCRIPTS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
# Tests share the cores: a pool that spins while it waits takes them from others.
config.environment["OMP_WAIT_POLICY"] = "passive"
# Nothing that another run has compiled.
config.environment["TP_MLIR_CACHE"] = "none"
config.substitutions.append(("%fixtures", os.path.join(config.tp_source_dir, "test", "fixtures")))
config.substitutions.append(("%families", os.path.join(config.tp_source_dir, "test", "families")))
config.substitutions.append(("%tp_source", config.tp_source_dir))
config.substitutions.append(("%tp_bin", config.tp_bin_dir))
config.substitutions.append(("%python", sys.executable))
# Configures another build with the same compilers and cache.
config.substitutions.append(("%cmake", shlex.join(config.cmake_command)))
# CUDA's assembler, where the compiler looks for it. Tests of machine code need one
# that knows all architectures.
toolkits = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
ptxas = shutil.which("ptxas") or next(
    filter(None, (shutil.which(f"{toolkit}/bin/ptxas") for toolkit in toolkits)), None
)
if not ptxas:
    config.available_features.add("no-ptxas")
elif "sm_100" in subprocess.run([ptxas, "--help"], capture_output=True, text=True).stdout:
    config.available_features.add("ptxas")
# Those that the many kernels of a kind are assembled for; some of each are for all.
config.substitutions.append(
    ("%architectures", os.environ.get("ARCHITECTURES", "sm_90"))
)
if config.has_emulator:
    config.available_features.add("emulator")
# The runtime has the device, and the library that stands for CUDA is there.
config.substitutions.append(
    ("%fake_cuda", os.path.join(config.tp_bin_dir, os.pardir, "lib", "libtp-fake-cuda.so"))
)
if config.has_cuda:
    config.available_features.add("cuda")
# The runtime has its plug-in for an MPI, which is there.
if os.path.exists(os.path.join(config.tp_bin_dir, os.pardir, "lib", "libtprt-mpi.so")):
    config.available_features.add("mpi")
root = "env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
config.substitutions.append(("%mpirun", root + " mpirun --oversubscribe"))
