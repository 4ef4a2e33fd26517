//===- Trial.h - One random program and what became of it -------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A trial makes the program of a seed and takes it through tp-verify's library.
// It can be written as one line of JSON, because it runs in a child process.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_FUZZ_TRIAL_H
#define TP_TEST_FUZZ_TRIAL_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/JSON.h"
#include <map>
#include <string>

namespace tp::fuzz {

enum class Outcome {
  Equal,
  /// An error said why it cannot be compiled.
  Refused,
  /// The one-device program does not run: nothing to compare with.
  Undefined,
  /// Another result, or one of our verifiers stops what a stage made.
  Wrong,
  Crashed,
  TimedOut
};
/// Each outcome's word.
llvm::StringRef stringify(Outcome outcome);

struct Trial {
  uint64_t seed = 0;
  Outcome outcome = Outcome::Wrong;
  std::string message;
  double seconds = 0;
  /// How often the program has each kind of thing.
  std::map<std::string, int64_t> counts;
  /// A Coverage as text, of programs that are equal.
  std::string coverage;

  llvm::json::Value toJSON() const;
  static std::optional<Trial> fromJSON(llvm::StringRef text);
};

struct Generator {
  llvm::StringRef name;
  mlir::OwningOpRef<mlir::ModuleOp> (*make)(mlir::MLIRContext *context,
                                            uint64_t seed);
  /// A one-device program may be undefined on its inputs.
  bool mayBeUndefined = false;
  /// Steps of generation are derived, and a random script of them is compared.
  bool generates = false;
};
/// Null if there is none of that name.
const Generator *findGenerator(llvm::StringRef name);

/// Take `module` through the stages; it is changed. `seed` is that of the data.
Trial runTrial(mlir::ModuleOp module, const Generator &generator, uint64_t seed,
               llvm::ArrayRef<std::string> stages);

} // namespace tp::fuzz

#endif // TP_TEST_FUZZ_TRIAL_H
