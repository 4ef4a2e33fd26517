//===- Module.h - What rewritten kernels export -----------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tables in the data of a shared object made by tp-emulate-kernels. The
// rewriter writes them, the emulator reads them; both are built from this file.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_EMULATOR_MODULE_H
#define TP_TEST_EMULATOR_MODULE_H

#include <cstdint>

namespace tp::emulator {

inline constexpr uint32_t moduleVersion = 2;
inline constexpr char moduleSymbol[] = "tp_emulated_module";
/// Bytes that nothing may touch after each static shared variable.
inline constexpr uint32_t redzoneBytes = 64;
/// Alignment of dynamic shared memory.
inline constexpr uint32_t dynamicAlignment = 1024;

/// The memory that a block may have on sm_80, and where instructions of sm_90
/// are used.
inline constexpr uint32_t maxShared = 163 << 10, maxSharedSm90 = 227 << 10;

/// A variable in shared memory; size 0 is the dynamic part.
struct SharedVariable {
  const char *name;
  uint32_t offset, size;
};

struct KernelEntry {
  const char *name;
  /// `arguments[i]` points to the value of parameter i.
  void (*function)(void **arguments);
  const SharedVariable *shared;
  uint32_t sharedCount;
  /// The offset at which dynamic shared memory begins; the memory before it is
  /// static, with redzones.
  uint32_t dynamicOffset;
  uint32_t parameterCount;
  /// The values of .maxntid (product) and .reqntid; 0 if not given.
  uint32_t maxThreads;
  uint32_t requiredThreads[3];
  /// Bytes of shared memory that a block may have.
  uint32_t maxShared;
};

/// Memory of the module itself that kernels may read: constants.
struct ConstantRange {
  const void *base;
  uint64_t bytes;
};

struct ModuleTable {
  uint32_t version;
  uint32_t checked;
  uint64_t ptxHash;
  const KernelEntry *kernels;
  const ConstantRange *constants;
  uint32_t kernelCount, constantCount;
};

} // namespace tp::emulator

#endif // TP_TEST_EMULATOR_MODULE_H
