//===- ImportFlags.h - The import options of the tools ---*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `--batch`, `--seq`, `--dtype`, `--layers`, `--untie`, `--ignore`, `--logits`,
// `--generate` and `--train` and what goes with them, declared once for the
// tools that take a checkpoint directory, and a diagnostic handler that prints
// errors the way compilers do.
//
//===----------------------------------------------------------------------===//

#ifndef TP_IMPORT_IMPORTFLAGS_H
#define TP_IMPORT_IMPORTFLAGS_H

#include "mlir/IR/Diagnostics.h"
#include "tp/Import/Import.h"
#include "tp/Support/NumberOption.h"
#include "tp/Support/WordParser.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/CommandLine.h"

namespace tp {

/// A tool makes one of these before it parses its command line.
struct ImportFlags {
  explicit ImportFlags(llvm::cl::OptionCategory &category);

  /// The options as given. A value out of range is reported on stderr, as
  /// `program: for the --seq option: ...`, and gives nothing: exit code 2.
  std::optional<ImportOptions> get(llvm::StringRef program) const;

  /// True if those given have a meaning for the input, which all but --ignore
  /// have for a checkpoint directory alone; reported likewise.
  bool fit(llvm::StringRef program, llvm::StringRef input) const;

  NumberOption<int64_t> batch;
  NumberListOption<int64_t> seq;
  WordOption<FloatKind> dtype;
  NumberOption<int64_t> layers;
  llvm::cl::opt<bool> untie;
  llvm::cl::list<std::string> ignore;
  llvm::cl::opt<std::string> logits;
  llvm::cl::opt<std::string> activations;
  llvm::cl::opt<std::string> quantize;
  llvm::cl::opt<bool> generate;
  NumberOption<int64_t> context, rows, chunk, page, cells;
  WordOption<CacheType> kvDtype;
  llvm::cl::opt<std::string> generationConfig;
  llvm::cl::opt<std::string> train;
  NumberOption<double> clip;
  llvm::cl::opt<bool> momentum;
  llvm::cl::opt<std::string> shardOptimizer;
  WordOption<TrainOptions::Dropout> dropout;

private:
  using Reject = llvm::function_ref<void(llvm::StringRef, const llvm::Twine &)>;
  std::optional<TrainOptions> getTraining(Reject reject) const;
  std::vector<int64_t> getSeqs(Reject reject) const;
};

/// Says what `path` is, to follow its name, if it is not a model, but something
/// that is often given for one; empty if it is none of these.
std::string describeMistakenModel(llvm::StringRef path);

/// An error if `path` is not a model, but something that is often given for
/// one: a file of a checkpoint, a name on a hub, an artifact.
mlir::LogicalResult checkModelPath(mlir::MLIRContext *context,
                                   llvm::StringRef path);

/// Prints `path:line:column: error: text`, or `error: text` where the location
/// is no file, to stderr while it lives.
class UserDiagnosticHandler : public mlir::ScopedDiagnosticHandler {
public:
  explicit UserDiagnosticHandler(mlir::MLIRContext *context);
};

} // namespace tp

#endif // TP_IMPORT_IMPORTFLAGS_H
