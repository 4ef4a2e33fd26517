//===- Target.h - What code is made for -------------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A target answers what schedule, lower and the writer of artifacts want to
// know of what runs a program. They ask this interface, never for a target by
// name: each is a folder of lib/Target, and one line there registers it
// (docs/Adding.md).
//
//===----------------------------------------------------------------------===//

#ifndef TP_TARGET_TARGET_H
#define TP_TARGET_TARGET_H

#include "mlir/IR/BuiltinOps.h"
#include "tp/Interfaces/LibraryInterface.h"
#include "llvm/Support/CommandLine.h"
#include <memory>
#include <string>
#include <vector>

namespace mlir {
class OpPassManager;
} // namespace mlir

namespace tp {

/// How a target runs what the step asks for.
struct TargetTraits {
  /// Kernels are launched on a device (tprt_launch), whose scratch is one;
  /// otherwise the step passes their bodies to tprt_parallel_for, and each
  /// thread has a scratch of its own.
  bool launchesKernels = false;
  /// A collective goes on beside the step until it is awaited.
  bool startsCollectives = false;
  /// A collective that is not awaited is done when the call returns. So only
  /// those are started whose tensor has so many bytes and which stand beside
  /// work on as many; 0: all are started.
  int64_t leastStartedBytes = 0;
  /// Kernels can read the addends of other ranks (tprt_api::peers).
  bool readsPeers = false;
  /// Products of up to so many rows are row kernels, with all that is computed
  /// on the way, rather than calls of a GEMM: what takes time is to read
  /// weights once.
  int64_t mostRowsWithoutGemm = 0;
  /// A GEMM's factors may differ in type, and what is added to it from its
  /// result; otherwise it takes one type, and adds what has the result's, which
  /// is that type or f32.
  bool mixesTypes = true;
};

/// The processor that runs the step: a set of features, never a model, for
/// virtual machines report models that lack what the name promises.
struct HostCpu {
  std::string triple = "x86_64-unknown-linux-gnu";
  /// LLVM's names of the features that the code may use, all of those that
  /// tprt/features.def knows.
  llvm::SmallVector<std::string> features;
  /// Width of its vector registers.
  int64_t vectorBits = 128;
};

struct NamedBytes {
  std::string name, bytes;
};

/// Code of kernels beside that of the step.
class KernelCode {
public:
  virtual ~KernelCode() = default;
  /// Adds to the manifest's `target` what the runtime must know to load it.
  virtual void describe(llvm::json::Object &target) const = 0;
  /// The sections of an artifact.
  virtual std::vector<NamedBytes> getSections() const = 0;
  /// The files that tp-compile --save-kernels writes.
  virtual std::vector<NamedBytes> getFiles() const = 0;
};

class Target {
public:
  explicit Target(llvm::StringRef text) : text(text) {}
  virtual ~Target() = default;

  /// As it was asked for, "cuda:sm_90", and the target's name in that.
  llvm::StringRef getText() const { return text; }
  llvm::StringRef getName() const { return getText().split(':').first; }

  virtual TargetTraits getTraits() const = 0;
  /// The processor that runs the step.
  virtual HostCpu getHost() const = 0;

  /// The profile that times are computed from unless --link names one; empty
  /// if the target says nothing of the device.
  virtual llvm::StringRef getProfileName() const { return ""; }

  /// The epilogues of its GEMM.
  virtual EpilogueSet getEpilogues() const = 0;
  /// False if it lacks this function of tprt/abi.h, which operations with a
  /// library form call.
  virtual bool hasFunction(llvm::StringRef function) const { return true; }
  /// The pass that writes a kernel for each operation that would call
  /// `function`, and names it in the operation's `tp.kernel` (`tp.then`,
  /// `tp.scratch_bytes`): the step launches that instead. Empty where the
  /// runtime has the function.
  virtual llvm::StringRef getKernelPass(llvm::StringRef function) const {
    return "";
  }

  /// Adds the passes that write the code of kernels; tp-lower-step follows.
  virtual void buildKernels(mlir::OpPassManager &manager) const = 0;
  /// Adds the passes that take kernels in a module of their own to the LLVM
  /// dialect; those for the step, and for bodies beside it, follow.
  virtual void buildKernelsToLLVM(mlir::OpPassManager &manager) const {}

  /// Compiles kernels that stand in a module of their own, null if there are
  /// none. Emits errors on `module`.
  virtual mlir::FailureOr<std::unique_ptr<KernelCode>>
  compileKernels(mlir::ModuleOp module) const {
    return std::unique_ptr<KernelCode>();
  }

private:
  std::string text;
};

/// A target as the value of an option; made without one, it is `defaultTarget`.
class TargetHandle {
public:
  TargetHandle() = default;
  TargetHandle(std::shared_ptr<const Target> target)
      : target(std::move(target)) {}

  const Target &operator*() const;
  const Target *operator->() const { return &**this; }

private:
  std::shared_ptr<const Target> target;
};

/// The host, at the level that every program's code needs.
inline constexpr llvm::StringLiteral defaultTarget = "cpu:x86-64-v3";

using ErrorFunction = llvm::function_ref<void(const llvm::Twine &)>;

/// A row of the table of targets.
struct TargetRow {
  llvm::StringLiteral name;   ///< "cuda"
  llvm::StringLiteral syntax; ///< for usage: "cuda[:sm_90,...|:ptx]"
  /// Texts that it takes, for an error.
  llvm::SmallVector<llvm::StringLiteral> examples;
  /// The target that `text` names, whose part before the colon is `name`, or
  /// nothing, having told `emitError` what it does not know.
  mlir::FailureOr<TargetHandle> (*parse)(llvm::StringRef text,
                                         ErrorFunction emitError);
  /// Registers what translation of its kernels to LLVM IR needs, if anything.
  void (*registerDialects)(mlir::DialectRegistry &registry) = nullptr;
};

/// Enters a row; a second of its name is ignored. tp/InitDialects.h enters
/// those of lib/Target.
void registerTarget(const TargetRow &row);
llvm::ArrayRef<TargetRow> getTargetRows();

/// Tells `emitError` that `text` is no target, and what targets there are.
void emitUnknownTarget(llvm::StringRef text, ErrorFunction emitError);

/// The target that `text` names. Reports through `emitError` what is not known.
mlir::FailureOr<TargetHandle> parseTarget(llvm::StringRef text,
                                          ErrorFunction emitError);

// registerCpuTarget() and so on, one per folder of lib/Target.
#define TP_TARGET(name) void register##name##Target();
#include "tp/Target/Targets.def"

/// The texts that all rows take, for the usage of an option.
std::string getTargetSyntax();

} // namespace tp

/// So that passes have options of targets.
template <>
class llvm::cl::parser<tp::TargetHandle>
    : public llvm::cl::basic_parser<tp::TargetHandle> {
public:
  parser(Option &option) : basic_parser(option) {}
  /// True on failure, as LLVM's command line has it.
  bool parse(Option &option, StringRef name, StringRef text,
             tp::TargetHandle &target);
  static void print(raw_ostream &os, const tp::TargetHandle &target) {
    os << target->getText();
  }
  void printOptionDiff(const Option &option, const tp::TargetHandle &target,
                       const OptVal &, size_t width) const {
    printOptionName(option, width);
    outs() << "= " << target->getText() << '\n';
  }
  StringRef getValueName() const override { return "target"; }
};

#endif // TP_TARGET_TARGET_H
