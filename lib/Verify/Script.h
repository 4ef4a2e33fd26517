//===- Script.h - Random steps of generation --------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Requests that an engine may make of the steps of generation, drawn at random:
// texts that come, go on by chunks and single tokens in any mixture, end, are
// thrown out and computed again, on pages in any order. They are made of the
// module's tp.generation alone, so that the script knows nothing of how a step
// is computed.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_VERIFY_SCRIPT_H
#define TP_LIB_VERIFY_SCRIPT_H

#include "tp/Verify/Verify.h"

namespace tp {

/// Pages of a cache that mean nothing any more, of `count` pages.
struct FreedPages {
  llvm::SmallVector<int64_t> pages;
  int64_t count = 1;
};

struct Script {
  /// The last token of a row in a step, whose logits the step gives.
  struct LastToken {
    int64_t row, text, position;
  };
  struct Step {
    std::string entry;
    NamedTensors inputs;
    llvm::SmallVector<LastToken> lastTokens;
    /// Before the first step all.
    FreedPages freed;
  };
  std::vector<std::vector<int64_t>> texts;
  std::vector<Step> steps;

  /// The entries that it uses, each once, the smallest step first.
  std::vector<std::string> getEntries() const;
};

/// The tokens of a step of generation, step_N; nothing for other functions.
std::optional<int64_t> getStepSize(mlir::func::FuncOp function);

/// The argument of that tp.name; emits an error if there is none.
mlir::FailureOr<unsigned> findArgument(mlir::func::FuncOp function,
                                       llvm::StringRef name);
/// The same of a result.
mlir::FailureOr<unsigned> findResult(mlir::func::FuncOp function,
                                     llvm::StringRef name);

/// A script of so many steps for `program`, no text longer than its @main
/// takes. Emits an error if the program has no steps of generation.
mlir::FailureOr<Script> makeScript(mlir::ModuleOp program, uint64_t seed,
                                   int64_t numSteps);

/// True if a state is a pool: floats or bytes [layers, cells, heads, head
/// size], by name scales [layers, cells, heads], or [layers, slots, channels,
/// 1] of a convolution, with as many slots for each page; or what a rank has of
/// that.
bool isPool(llvm::StringRef name, llvm::ArrayRef<int64_t> shape,
            interp::ElementType type);
/// Make all elements of these pages no number (of bytes, those of e4m3 that are
/// none), in memory of the state's own; one that is no pool stays as it is.
void poisonPages(llvm::StringRef name, interp::Tensor &state,
                 const FreedPages &freed);

/// Run the script on one device, and compare the logits of each row's last
/// token with what @main has at that position of the whole text.
mlir::FailureOr<Comparison> compareWithMain(mlir::ModuleOp program,
                                            const Script &script,
                                            const VerifyOptions &options);

} // namespace tp

#endif // TP_LIB_VERIFY_SCRIPT_H
