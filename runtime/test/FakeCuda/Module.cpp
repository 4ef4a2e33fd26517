//===- Module.cpp - kernels, run by the emulator --------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A module image is PTX; the shared object that TP_FAKE_CUDA_KERNELS names
// (several: separated by colons) holds the same kernels for the CPU, and is
// taken only if it was made from bitcode that gives exactly this PTX. Whatever
// the emulator finds wrong ends the program as a fault on a device would.
//
//===----------------------------------------------------------------------===//

#include "Module.h"
#include "../../../test/Emulator/Emulator.h"
#include "Device.h"
#include "Memory.h"
#include "Stream.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <sstream>
#include <unordered_set>

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace fake;

namespace {

/// One shared object of kernels and the emulator's functions.
struct Kernels {
  std::string path;
  TpEmulator *emulator = nullptr;
  decltype(&tpEmulatorRegister) add = nullptr;
  decltype(&tpEmulatorUnregister) remove = nullptr;
  decltype(&tpEmulatorFindKernel) find = nullptr;
  decltype(&tpEmulatorParameterCount) parameters = nullptr;
  decltype(&tpEmulatorStaticSharedBytes) staticShared = nullptr;
  decltype(&tpEmulatorLaunch) launch = nullptr;
  decltype(&tpEmulatorPtxHash) hash = nullptr;
};

} // namespace

// Types that the header leaves to the driver. A CUkernel and its CUfunction
// are the same object here.
struct CUfunc_st {
  const Kernels *kernels;
  std::string name;
  int parameters;
  int64_t staticShared;
  int maxDynamicShared = 48 * 1024;
};
struct CUlib_st {
  const Kernels *kernels;
  std::vector<CUfunction> functions;
};

namespace {

std::unordered_set<CUfunction> &functions() {
  static auto *all = new std::unordered_set<CUfunction>;
  return *all;
}
std::unordered_set<CUlibrary> &libraries() {
  static auto *all = new std::unordered_set<CUlibrary>;
  return *all;
}

template <typename T>
bool symbol(void *handle, const char *name, T &to) {
  to = reinterpret_cast<T>(dlsym(handle, name));
  return to != nullptr;
}

bool open(const std::string &path, Kernels &k) {
  k.path = path;
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  decltype(&tpEmulatorOpen) openEmulator;
  if (!handle || !symbol(handle, "tpEmulatorOpen", openEmulator) ||
      !symbol(handle, "tpEmulatorRegister", k.add) ||
      !symbol(handle, "tpEmulatorUnregister", k.remove) ||
      !symbol(handle, "tpEmulatorFindKernel", k.find) ||
      !symbol(handle, "tpEmulatorParameterCount", k.parameters) ||
      !symbol(handle, "tpEmulatorStaticSharedBytes", k.staticShared) ||
      !symbol(handle, "tpEmulatorLaunch", k.launch) ||
      !symbol(handle, "tpEmulatorPtxHash", k.hash)) {
    std::fprintf(stderr, "fake-cuda: %s: %s\n", path.c_str(), dlerror());
    return false;
  }
  char message[512];
  k.emulator = openEmulator(path.c_str(), message, sizeof(message));
  if (!k.emulator)
    std::fprintf(stderr, "fake-cuda: %s: %s\n", path.c_str(), message);
  return k.emulator != nullptr;
}

/// Everything that TP_FAKE_CUDA_KERNELS names, opened once.
const std::vector<Kernels> &kernels() {
  static const std::vector<Kernels> *all = [] {
    auto *list = new std::vector<Kernels>;
    const char *text = std::getenv("TP_FAKE_CUDA_KERNELS");
    std::istringstream paths(text ? text : "");
    for (std::string path; std::getline(paths, path, ':');) {
      Kernels k;
      if (!path.empty() && open(path, k))
        list->push_back(k);
    }
    if (!list->empty())
      forEachDeviceSpan(
          [](void *context, char *begin, size_t bytes) {
            static_cast<Kernels *>(context)->add(begin, bytes);
          },
          &list->front());
    return list;
  }();
  return *all;
}

bool opened = false;

void report(void *context, const char *text) {
  std::fprintf(stderr, "fake-cuda: %s\n", text);
}

/// Arguments as they were at the call.
struct Launch {
  CUfunction function;
  TpEmulatorDim grid, block;
  unsigned shared;
  std::vector<uint64_t> values;
};

Step execute(const Launch &launch) {
  openMemory();
  std::vector<uint64_t> values = launch.values;
  std::vector<void *> pointers;
  for (uint64_t &value : values)
    pointers.push_back(&value);
  const Kernels &k = *launch.function->kernels;
  const std::string &name = launch.function->name;
  // The same on every rank, so that replicated values stay equal bit by bit.
  static auto seed = uint64_t(environmentNumber("TP_FAKE_CUDA_SEED", 1));
  uint64_t order = XXH3_64bits_withSeed(name.data(), name.size(), seed);
  int findings;
  {
    Unlocked unlocked;
    findings = k.launch(k.emulator, name.c_str(), launch.grid, launch.block,
                        launch.shared, pointers.data(), seed ? order : 0,
                        report, nullptr);
  }
  if (findings != 0)
    Scheduler::get().fail(CUDA_ERROR_ILLEGAL_ADDRESS,
                          "kernel " + name + " did what a device would not");
  return Step::Done;
}

} // namespace

void fake::announce(char *begin, size_t bytes) {
  if (opened && !kernels().empty())
    kernels().front().add(begin, bytes);
}

void fake::renounce(char *begin) {
  if (opened && !kernels().empty())
    kernels().front().remove(begin);
}

CUresult cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *,
                           void **, unsigned int, CUlibraryOption *, void **,
                           unsigned int) {
  Guard guard;
  TRY(ready());
  if (!library || !code)
    return CUDA_ERROR_INVALID_VALUE;
  auto *text = static_cast<const char *>(code);
  if (std::memcmp(text, "\177ELF", 4) == 0)
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  if (!std::strstr(text, ".version") || !std::strstr(text, ".target"))
    return CUDA_ERROR_INVALID_IMAGE;
  uint64_t hash = XXH3_64bits(text, std::strlen(text));
  opened = true;
  for (const Kernels &k : kernels())
    if (k.hash(k.emulator) == hash) {
      *library = new CUlib_st{&k, {}};
      libraries().insert(*library);
      return CUDA_SUCCESS;
    }
  std::fprintf(stderr,
               "fake-cuda: none of the %zu shared objects in "
               "TP_FAKE_CUDA_KERNELS was made from the PTX with hash %016llx\n",
               kernels().size(), static_cast<unsigned long long>(hash));
  return CUDA_ERROR_INVALID_PTX;
}

CUresult cuLibraryUnload(CUlibrary library) {
  Guard guard;
  TRY(ready());
  if (!libraries().erase(library))
    return CUDA_ERROR_INVALID_HANDLE;
  Scheduler::get().waitAll();
  for (CUfunction function : library->functions) {
    functions().erase(function);
    delete function;
  }
  delete library;
  return Scheduler::get().failure();
}

CUresult cuLibraryGetKernel(CUkernel *pKernel, CUlibrary library,
                            const char *name) {
  Guard guard;
  TRY(ready());
  if (!libraries().count(library))
    return CUDA_ERROR_INVALID_HANDLE;
  const Kernels &k = *library->kernels;
  int index = k.find(k.emulator, name);
  if (index < 0)
    return CUDA_ERROR_NOT_FOUND;
  auto *function = new CUfunc_st{&k, name, k.parameters(k.emulator, index),
                                 k.staticShared(k.emulator, index)};
  library->functions.push_back(function);
  functions().insert(function);
  *pKernel = reinterpret_cast<CUkernel>(function);
  return CUDA_SUCCESS;
}

CUresult cuKernelGetFunction(CUfunction *pFunc, CUkernel kernel) {
  Guard guard;
  TRY(ready());
  auto function = reinterpret_cast<CUfunction>(kernel);
  if (!functions().count(function))
    return CUDA_ERROR_INVALID_HANDLE;
  *pFunc = function;
  return CUDA_SUCCESS;
}

CUresult cuFuncLoad(CUfunction function) {
  Guard guard;
  TRY(ready());
  return functions().count(function) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuFuncGetAttribute(int *pi, CUfunction_attribute attrib,
                            CUfunction hfunc) {
  Guard guard;
  TRY(ready());
  if (!functions().count(hfunc))
    return CUDA_ERROR_INVALID_HANDLE;
  switch (attrib) {
  case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    *pi = 1024;
    break;
  case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
    *pi = int(hfunc->staticShared);
    break;
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
    *pi = hfunc->maxDynamicShared;
    break;
  default:
    *pi = 0;
    break;
  }
  return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib,
                            int value) {
  Guard guard;
  TRY(ready());
  if (!functions().count(hfunc))
    return CUDA_ERROR_INVALID_HANDLE;
  switch (attrib) {
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
    if (value < 0 || value + hfunc->staticShared > kSharedLimitOptIn)
      return CUDA_ERROR_INVALID_VALUE;
    hfunc->maxDynamicShared = value;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    return CUDA_SUCCESS;
  default:
    return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult cuLaunchKernel(CUfunction f, unsigned int gridDimX,
                        unsigned int gridDimY, unsigned int gridDimZ,
                        unsigned int blockDimX, unsigned int blockDimY,
                        unsigned int blockDimZ, unsigned int sharedMemBytes,
                        CUstream hStream, void **kernelParams, void **extra) {
  Guard guard;
  TRY(ready());
  if (!functions().count(f))
    return CUDA_ERROR_INVALID_HANDLE;
  if (extra) // parameters as one buffer
    return CUDA_ERROR_NOT_SUPPORTED;
  uint64_t threads = uint64_t(blockDimX) * blockDimY * blockDimZ;
  if (gridDimX == 0 || gridDimY == 0 || gridDimZ == 0 || threads == 0 ||
      gridDimX > 2147483647u || gridDimY > 65535 || gridDimZ > 65535 ||
      blockDimX > 1024 || blockDimY > 1024 || blockDimZ > 64 ||
      threads > 1024 || int64_t(sharedMemBytes) > f->maxDynamicShared ||
      f->staticShared + int64_t(sharedMemBytes) >
          std::max<int64_t>(kSharedLimit, f->maxDynamicShared) ||
      (f->parameters > 0 && !kernelParams))
    return CUDA_ERROR_INVALID_VALUE;
  Launch launch = {f,
                   {gridDimX, gridDimY, gridDimZ},
                   {blockDimX, blockDimY, blockDimZ},
                   sharedMemBytes,
                   {}};
  for (int i = 0; i < f->parameters; ++i) {
    uint64_t value;
    std::memcpy(&value, kernelParams[i], sizeof(value));
    launch.values.push_back(value);
  }
  return submitWork(hStream, "kernel " + f->name,
                    [launch] { return execute(launch); });
}
