//===- EmulateKernels.h - Kernels as code of the host -----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Turns the bitcode that PTX is made from into a shared object that the
// emulator opens, and breaks kernels on purpose, so that tests can show that
// the emulator notices.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_EMULATOR_EMULATEKERNELS_H
#define TP_TEST_EMULATOR_EMULATEKERNELS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tp::emulator {

/// XXH3-64 of PTX's text.
uint64_t hashPtx(llvm::StringRef ptx);

/// Rewrites optimised NVPTX IR for x86-64 with calls of the emulator; `ptxHash`
/// goes into its table. Without `checked`, memory is accessed directly.
llvm::Error rewriteKernels(llvm::Module &module, uint64_t ptxHash,
                           bool checked);

/// Generates code for rewritten kernels and links it with the emulator into the
/// shared object `path`.
llvm::Error linkKernels(llvm::Module &module, llvm::StringRef path);

/// The two above for bitcode.
llvm::Error emulateKernels(llvm::StringRef bitcode, uint64_t ptxHash,
                           bool checked, llvm::StringRef path);

/// The faults that a kernel can be given.
enum class Fault {
  DropBarrier,   ///< a barrier of the block is left out
  DropCopyWait,  ///< a cp.async.wait is left out
  SkipInit,      ///< a store to shared memory is left out
  WrongLane,     ///< a shuffle takes another lane's value
  OffByOneBound, ///< an index may be equal to its bound
  OverlapBlocks, ///< two blocks next to each other do the same part
  WrongPart,     ///< an index is divided by another number
  // Faults of kernels for sm_90:
  DropProductWait,  ///< a wait for products is left out
  DropProductFence, ///< a wgmma.fence is left out
  DropProxyFence,   ///< a fence before products and copies is left out
  DropPhaseWait,    ///< a wait for an mbarrier is left out
  DropArrival,      ///< an arrival at an mbarrier is left out
  WrongBytes,       ///< an mbarrier expects 16 bytes more
};
llvm::ArrayRef<Fault> getFaults();
/// "drop-barrier", ...
llvm::StringRef getFaultName(Fault fault);
std::optional<Fault> parseFault(llvm::StringRef name);

/// An instruction of `kernel` at which `fault` can be made, as text.
struct FaultPlace {
  std::string kernel;
  Fault fault;
  std::string text;
};
/// Gives the kernels of `module` the faults at all places where they can be
/// made. While tpEmulatorSetFault is i + 1 the one at place i of the result is
/// made; while it is -(i + 1) the place ends the launch with a finding, which
/// tells whether it is reached.
std::vector<FaultPlace> armFaults(llvm::Module &module,
                                  llvm::ArrayRef<Fault> faults);
/// The word that tpEmulatorSetFault sets.
inline constexpr llvm::StringLiteral chosenFaultSymbol = "tpEmulatorFault";

} // namespace tp::emulator

#endif // TP_TEST_EMULATOR_EMULATEKERNELS_H
