//===- Api.cpp - The emulator's interface ---------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Opening shared objects of kernels, the registered ranges, and what a launch
// must satisfy before it can run.
//
//===----------------------------------------------------------------------===//

#include "Launch.h"
#include <atomic>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <mutex>

using namespace tp::emulator;

struct TpEmulator {
  void *handle;
  const ModuleTable *table;
};

static std::mutex rangesLock;
static std::map<char *, size_t> &getRanges() {
  static std::map<char *, size_t> ranges;
  return ranges;
}

std::vector<std::pair<char *, size_t>> tp::emulator::getRegisteredRanges() {
  std::lock_guard guard(rangesLock);
  return {getRanges().begin(), getRanges().end()};
}

void tpEmulatorRegister(void *base, size_t bytes) {
  std::lock_guard guard(rangesLock);
  getRanges()[static_cast<char *>(base)] = bytes;
}

void tpEmulatorUnregister(void *base) {
  std::lock_guard guard(rangesLock);
  getRanges().erase(static_cast<char *>(base));
}

static std::atomic<uint64_t> accessLimit;

void tpEmulatorSetAccessLimit(uint64_t accesses) { accessLimit = accesses; }

static std::atomic<bool> endsAtFinding;

void tpEmulatorSetEndsAtFinding(int32_t ends) { endsAtFinding = ends != 0; }

bool tp::emulator::getEndsAtFinding() { return endsAtFinding; }

extern "C" int32_t tpEmulatorFault;
int32_t tpEmulatorFault = 0;

void tpEmulatorSetFault(int32_t fault) { tpEmulatorFault = fault; }

uint64_t tp::emulator::getAccessLimit() { return accessLimit; }

TpEmulator *tpEmulatorOpen(const char *path, char *message,
                           size_t messageBytes) {
  auto fail = [&](const char *text) -> TpEmulator * {
    snprintf(message, messageBytes, "%s", text);
    return nullptr;
  };
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return fail(dlerror());
  auto *table = static_cast<const ModuleTable *>(dlsym(handle, moduleSymbol));
  if (!table || table->version != moduleVersion) {
    dlclose(handle);
    return fail((std::string(path) + ": expected kernels made by this build's "
                                     "tp-emulate-kernels")
                    .c_str());
  }
  return new TpEmulator{handle, table};
}

void tpEmulatorClose(TpEmulator *emulator) {
  if (!emulator)
    return;
  dlclose(emulator->handle);
  delete emulator;
}

uint64_t tpEmulatorPtxHash(const TpEmulator *emulator) {
  return emulator->table->ptxHash;
}

int32_t tpEmulatorIsChecked(const TpEmulator *emulator) {
  return emulator->table->checked;
}

int32_t tpEmulatorKernelCount(const TpEmulator *emulator) {
  return emulator->table->kernelCount;
}

static const KernelEntry *getKernel(const TpEmulator *emulator, int32_t index) {
  if (index < 0 || index >= int32_t(emulator->table->kernelCount))
    return nullptr;
  return &emulator->table->kernels[index];
}

const char *tpEmulatorKernelName(const TpEmulator *emulator, int32_t kernel) {
  const KernelEntry *entry = getKernel(emulator, kernel);
  return entry ? entry->name : nullptr;
}

int32_t tpEmulatorFindKernel(const TpEmulator *emulator, const char *name) {
  for (uint32_t i = 0; i < emulator->table->kernelCount; ++i)
    if (!strcmp(emulator->table->kernels[i].name, name))
      return i;
  return -1;
}

int32_t tpEmulatorParameterCount(const TpEmulator *emulator, int32_t kernel) {
  const KernelEntry *entry = getKernel(emulator, kernel);
  return entry ? int32_t(entry->parameterCount) : -1;
}

static int64_t getStaticBytes(const KernelEntry &entry) {
  int64_t bytes = 0;
  for (uint32_t i = 0; i < entry.sharedCount; ++i)
    bytes += entry.shared[i].size;
  return bytes;
}

int64_t tpEmulatorStaticSharedBytes(const TpEmulator *emulator,
                                    int32_t kernel) {
  const KernelEntry *entry = getKernel(emulator, kernel);
  return entry ? getStaticBytes(*entry) : -1;
}

/// Why the launch cannot run; empty if it can.
static std::string checkLaunch(const KernelEntry &entry, TpEmulatorDim grid,
                               TpEmulatorDim block, uint32_t dynamicBytes) {
  auto name = [](TpEmulatorDim dim) {
    return std::to_string(dim.x) + "x" + std::to_string(dim.y) + "x" +
           std::to_string(dim.z);
  };
  uint64_t threads = uint64_t(block.x) * block.y * block.z;
  uint32_t limit = entry.maxThreads ? entry.maxThreads : maxThreads;
  if (threads == 0 || threads > maxThreads || threads > limit || block.z > 64)
    return "expected a block of 1 to " + std::to_string(limit) +
           " threads, got " + name(block);
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > 0x7fffffff ||
      grid.y > 0xffff || grid.z > 0xffff)
    return "expected a grid of at least 1x1x1 and at most 2^31-1 x 65535 x "
           "65535 blocks, got " +
           name(grid);
  const uint32_t *required = entry.requiredThreads;
  if (required[0] && (block.x != required[0] || block.y != required[1] ||
                      block.z != required[2]))
    return "expected a block of " +
           name({required[0], required[1], required[2]}) + " threads, got " +
           name(block);
  int64_t statics = getStaticBytes(entry);
  if (statics > maxStaticShared)
    return "expected at most " + std::to_string(maxStaticShared) +
           " bytes of static shared memory, got " + std::to_string(statics);
  if (statics + dynamicBytes > entry.maxShared)
    return "expected at most " + std::to_string(entry.maxShared) +
           " bytes of shared memory, got " +
           std::to_string(statics + dynamicBytes);
  return "";
}

int32_t tpEmulatorLaunch(const TpEmulator *emulator, const char *kernel,
                         TpEmulatorDim grid, TpEmulatorDim block,
                         uint32_t dynamicSharedBytes, void **arguments,
                         uint64_t seed, TpEmulatorReport report,
                         void *reportContext) {
  const KernelEntry *entry =
      getKernel(emulator, tpEmulatorFindKernel(emulator, kernel));
  std::string problem = "no such kernel";
  if (entry)
    problem = checkLaunch(*entry, grid, block, dynamicSharedBytes);
  if (problem.empty() && current)
    problem = "another kernel is running in this thread";
  if (!problem.empty()) {
    problem =
        std::string("kernel ") + kernel + ": cannot be launched: " + problem;
    if (report)
      report(reportContext, problem.c_str());
    else
      fprintf(stderr, "emulator: %s\n", problem.c_str());
    return 1;
  }
  Launch launch(*emulator->table, *entry, grid, block, dynamicSharedBytes,
                arguments, seed, report, reportContext);
  return launch.run();
}
