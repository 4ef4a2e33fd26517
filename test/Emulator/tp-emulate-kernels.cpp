//===- tp-emulate-kernels.cpp - Kernels as a shared object of the host ----===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the bitcode that tp-compile saves to what the emulator opens. The PTX
// beside it must be what that bitcode gives, so that what is tested is what
// runs on a device. Exit codes: 0 done, 1 the input, 2 the command line.
//
//===----------------------------------------------------------------------===//

#include "EmulateKernels.h"

#include "tp/Target/Cuda/DeviceCode.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"

namespace cl = llvm::cl;

static int refuse(const llvm::Twine &text) {
  llvm::errs() << "tp-emulate-kernels: " << text << "\n";
  return 1;
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::OptionCategory category("tp-emulate-kernels options");
  cl::opt<std::string> input(cl::Positional, cl::Required,
                             cl::desc("kernels.bc"), cl::cat(category));
  cl::opt<std::string> output("o", cl::Required,
                              cl::desc("Where to write the shared object"),
                              cl::value_desc("kernels.so"), cl::cat(category));
  cl::opt<std::string> ptxPath(
      "ptx", cl::desc("PTX that must be what the bitcode gives"),
      cl::value_desc("kernels.ptx"), cl::cat(category));
  cl::opt<bool> noChecks("no-checks",
                         cl::desc("Leave out the checks of memory accesses"),
                         cl::cat(category));
  cl::HideUnrelatedOptions(category);
  if (!cl::ParseCommandLineOptions(
          argc, argv, "Makes GPU kernels run on the CPU\n", &llvm::errs()))
    return 2;

  auto bitcode = llvm::MemoryBuffer::getFile(input);
  if (!bitcode)
    return refuse(input + ": " + bitcode.getError().message());
  auto ptx = tp::makePtx((*bitcode)->getBuffer());
  if (!ptx)
    return refuse(input + ": " + llvm::toString(ptx.takeError()));
  uint64_t hash = tp::emulator::hashPtx(*ptx);
  if (!ptxPath.empty()) {
    auto given = llvm::MemoryBuffer::getFile(ptxPath);
    if (!given)
      return refuse(ptxPath + ": " + given.getError().message());
    uint64_t givenHash = tp::emulator::hashPtx((*given)->getBuffer());
    if (givenHash != hash)
      return refuse(
          llvm::formatv("{0} is not the PTX of {1}: expected hash {2:x-16}, "
                        "got {3:x-16}",
                        ptxPath, input, hash, givenHash)
              .str());
  }
  if (llvm::Error error = tp::emulator::emulateKernels((*bitcode)->getBuffer(),
                                                       hash, !noChecks, output))
    return refuse(input + ": " + llvm::toString(std::move(error)));
  return 0;
}
