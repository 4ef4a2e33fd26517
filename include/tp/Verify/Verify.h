//===- Verify.h - Per-rank against one-device -------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a program on one device, runs what a stage made of it on all ranks, both
// in the interpreter on the same random inputs, and compares every value that
// the stage kept track of: parts against the boxes they are, addends after
// summing, all replicas, padding ignored. The first value that differs names
// the operation at fault, or the first one that a missing collective reaches.
//
// How close is equal: the one-device program is run more often with every
// rounding disturbed, and an element may differ by what that did to it, plus
// two units in its last place. Where something seems to differ, more such runs
// are made before it is said to. Elements whose value hangs on a rounding
// (integers that change, numbers that become infinite) cannot be judged and are
// counted.
//
//===----------------------------------------------------------------------===//

#ifndef TP_VERIFY_VERIFY_H
#define TP_VERIFY_VERIFY_H

#include "tp/Verify/Reference.h"
#include "llvm/Support/JSON.h"

namespace tp {

/// A value that is not what the one-device program has there.
struct Divergence {
  /// "nn.linear", "result 'logits' of @main".
  std::string what;
  std::string location;
  /// The numbers of the tp.repeat iterations around it.
  llvm::SmallVector<int64_t> iterations;
  /// The problem, the numbers included.
  std::string problem;

  void print(llvm::raw_ostream &os) const;
};

/// A value of which too little can be judged to say that it is right.
struct Unjudged {
  std::string what, location;
  llvm::SmallVector<int64_t> iterations;
  /// Why, the numbers included.
  std::string reason;
};

struct Comparison {
  int64_t numValues = 0, numResults = 0;
  /// Elements of the one-device program that could not be judged.
  int64_t numUnjudgedElements = 0;
  /// The values of which that is more than a quarter.
  std::vector<Unjudged> unjudged;
  /// The largest difference as a part of what was allowed.
  double worst = 0;
  /// Each value was compared with what its operation makes of the ranks' own
  /// operands, for the program hangs on rounding.
  bool isByOperation = false;
  std::optional<Divergence> divergence;
};

/// Random values for the arguments of a one-device function: ids within the
/// range that the argument or its use states, masks of ones and then zeros,
/// floats in -1 .. 1, unless its attribute tp.values names others: floats
/// "zeros" (half are), "integers" (-4 .. 4), "positive" (0.5 .. 2), "large" (to
/// 1e4), "wide" (1e-20 .. 1e20), integers at the "limits" of their type. Emits
/// an error for an argument it knows no values for.
mlir::FailureOr<llvm::SmallVector<interp::Tensor>>
makeInputs(mlir::func::FuncOp function, uint64_t seed);

/// Run `function` of a program for all ranks of `mesh` (or of one device, if
/// its mesh has not been applied yet) and compare it with the reference. A
/// program that does not run diverges where it stops.
Comparison compareWithReference(mlir::func::FuncOp function, const Mesh &mesh,
                                Reference &reference,
                                const VerifyOptions &options);

using NamedTensors = std::map<std::string, interp::Tensor>;

/// The ranks' part of each state, by its name.
using RankStates = std::map<std::string, interp::RankTensors>;

/// The same, where each state is what the ranks have of it; their successors
/// replace them.
Comparison compareStep(mlir::func::FuncOp function, const Mesh &mesh,
                       Reference &reference, RankStates &states,
                       const VerifyOptions &options);

/// Compile `perRank` for this machine, run `function` on as many threads as the
/// mesh has ranks, and compare its results. If one differs, the program is run
/// once more with every value handed out, so that the first operation that
/// differs is named. Fails, after an error, if the program cannot be compiled
/// or run.
mlir::FailureOr<Comparison> compareExecuted(mlir::ModuleOp perRank,
                                            llvm::StringRef function,
                                            Reference &reference,
                                            const VerifyOptions &options);

/// How a stage is compared: not at all, evaluated by the interpreter, or
/// compiled for this machine and run on threads.
enum class Check { No, Interpret, Execute };

/// A stage: its word, and what brings the module there from the previous one.
struct VerifyStage {
  std::string name;
  std::function<mlir::LogicalResult(mlir::ModuleOp)> run;
  Check check = Check::Interpret;
};

struct StageReport {
  std::string stage;
  std::string function;
  Comparison comparison;
  /// More than one: of the functions in turn, from the states' initial values.
  int64_t steps = 1;
};

struct VerifyReport {
  std::vector<StageReport> stages;
  int64_t numDropped = 0;

  bool isEqual() const;
  /// How many values could not be judged, of all stages.
  int64_t countUnjudged() const;
  void print(llvm::raw_ostream &os) const;
  llvm::json::Value toJSON() const;
};

/// Evaluate every public function of `module`, take the module through the
/// stages, comparing where asked. Those of `first` come before (import, which
/// makes repeated layers of unrolled ones, and differentiate): where one that
/// is compared changes the program, results are compared with those before it,
/// and the values that `stages` are compared with are those after all of them.
/// Then the entries run for `options.steps` steps, or a script of steps does,
/// which is compared with
/// @main as well. Fails, after an error, if the one-device program does not run
/// or a stage refuses it. Stops at the first stage that differs. `module` is
/// left at the last stage.
mlir::FailureOr<VerifyReport>
verifyProgram(mlir::ModuleOp module, llvm::ArrayRef<VerifyStage> stages,
              const VerifyOptions &options,
              llvm::ArrayRef<VerifyStage> first = {});

/// The same for a per-rank program made elsewhere from `module`, whose ids (if
/// any) are those that tp-assign-value-ids gives.
mlir::FailureOr<VerifyReport> verifyAgainst(mlir::ModuleOp module,
                                            mlir::ModuleOp perRank, Check check,
                                            const VerifyOptions &options);

} // namespace tp

#endif // TP_VERIFY_VERIFY_H
