//===- Link.cpp - Rewritten kernels as a shared object --------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code generation for this machine and LLVM's linker. An intrinsic that the
// emulator does not define is an undefined symbol, and an error here.
//
//===----------------------------------------------------------------------===//

#include "EmulateKernels.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/xxhash.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"

using namespace llvm;

uint64_t tp::emulator::hashPtx(StringRef ptx) { return xxh3_64bits(ptx); }

static Expected<std::unique_ptr<TargetMachine>> makeMachine(Module &module) {
  static bool initialised = [] {
    InitializeNativeTarget();
    InitializeNativeTargetAsmPrinter();
    return true;
  }();
  (void)initialised;
  // Not the newest instructions: those for bf16 flush small numbers.
  StringMap<bool> host = sys::getHostCPUFeatures();
  std::string features;
  for (StringRef feature : {"avx2", "fma", "f16c", "bmi2"}) {
    if (!host.lookup(feature))
      return createStringError("emulated kernels need a CPU of x86-64-v3; " +
                               feature + " is missing");
    features += (features.empty() ? "+" : ",+") + feature.str();
  }
  std::string error;
  const Target *target =
      TargetRegistry::lookupTarget(module.getTargetTriple(), error);
  if (!target)
    return createStringError(error);
  return std::unique_ptr<TargetMachine>(target->createTargetMachine(
      module.getTargetTriple(), "x86-64", features, TargetOptions(),
      Reloc::PIC_, std::nullopt, CodeGenOptLevel::None));
}

Error tp::emulator::linkKernels(Module &module, StringRef path) {
  auto machine = makeMachine(module);
  if (!machine)
    return machine.takeError();
  SmallString<128> object, log;
  auto removeFiles = scope_exit([&] {
    for (StringRef file : {object, log})
      if (!file.empty())
        sys::fs::remove(file);
  });
  int descriptor = -1;
  if (std::error_code error =
          sys::fs::createTemporaryFile("tp-emulated", "o", descriptor, object))
    return createStringError("cannot write a temporary file: " +
                             error.message());
  {
    raw_fd_ostream stream(descriptor, /*shouldClose=*/true);
    legacy::PassManager emitter;
    if ((*machine)->addPassesToEmitFile(emitter, stream, nullptr,
                                        CodeGenFileType::ObjectFile))
      return createStringError("the host's code generator emits no objects");
    emitter.run(module);
  }
  if (std::error_code error =
          sys::fs::createTemporaryFile("tp-emulated", "txt", log))
    return createStringError("cannot write a temporary file: " +
                             error.message());
  ErrorOr<std::string> linker = std::string(TP_LLD);
  if (!sys::fs::can_execute(*linker))
    linker = sys::findProgramByName("ld.lld-22");
  if (!linker)
    return createStringError("cannot link: expected LLVM's linker as " TP_LLD
                             " or ld.lld-22 on the path");
  StringRef library = TP_EMULATOR_LIBRARY;
  SmallString<128> searched(library);
  searched = StringRef(library).rsplit('/').first;
  StringRef arguments[] = {*linker,
                           "-shared",
                           "--no-undefined",
                           "--build-id=none",
                           "-rpath",
                           searched,
                           "-o",
                           path,
                           object,
                           library};
  std::optional<StringRef> redirects[] = {std::nullopt, StringRef(log),
                                          StringRef(log)};
  std::string message;
  if (sys::ExecuteAndWait(*linker, arguments, std::nullopt, redirects, 0, 0,
                          &message) != 0) {
    if (auto text = MemoryBuffer::getFile(log))
      message += (*text)->getBuffer();
    return createStringError("linking the emulated kernels failed (an "
                             "undefined tpEmulate_<name> is an intrinsic that "
                             "the emulator does not have): " +
                             message);
  }
  return Error::success();
}

Error tp::emulator::emulateKernels(StringRef bitcode, uint64_t ptxHash,
                                   bool checked, StringRef path) {
  LLVMContext context;
  auto module =
      parseBitcodeFile(MemoryBufferRef(bitcode, "kernels.bc"), context);
  if (!module)
    return module.takeError();
  if (Error error = rewriteKernels(**module, ptxHash, checked))
    return error;
  return linkKernels(**module, path);
}
