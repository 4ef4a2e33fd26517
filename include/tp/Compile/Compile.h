//===- Compile.h - From a model to an artifact ------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tp-compile as a library: it runs the stages one after the other, stops, dumps
// and explains where asked, and writes the artifact.
//
//===----------------------------------------------------------------------===//

#ifndef TP_COMPILE_COMPILE_H
#define TP_COMPILE_COMPILE_H

#include "tp/Import/Import.h"
#include "tp/Pipelines/Pipelines.h"
#include "llvm/Support/raw_ostream.h"
#include <optional>
#include <string>

namespace tp {

enum class Explain { No, Table, Json };

struct CompileOptions {
  /// A checkpoint directory or an .mlir file ("-": standard input).
  std::string input;
  /// The path to which the artifact, or the IR of the last stage, goes ("-":
  /// standard output; empty: no artifact).
  std::string output;
  ImportOptions import;
  StageOptions stages;
  /// Bytes of a rank while any step of generation runs: the cache has as many
  /// pages as fit beside the rest. Without, import.generate says how many.
  std::optional<int64_t> memory;
  /// The input is IR of this stage, which was perhaps edited: the stages after
  /// it run, once it is seen to be what the stage may leave.
  std::optional<Stage> firstStage;
  /// Stop after this stage and write its IR.
  std::optional<Stage> lastStage;
  /// Directory that receives each stage's IR as <n>-<stage>.mlir; may be empty.
  std::string dumpDirectory;
  /// Directory that receives the device's kernels (saveKernels); may be empty.
  std::string kernelsDirectory;
  Explain explain = Explain::No;
};

/// Compiles; diagnostics go through `context`, progress to `log`. Nothing is
/// left half-written.
mlir::LogicalResult compile(mlir::MLIRContext &context,
                            const CompileOptions &options,
                            llvm::raw_ostream &log);

} // namespace tp

#endif // TP_COMPILE_COMPILE_H
