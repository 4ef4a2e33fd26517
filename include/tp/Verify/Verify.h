//===- Verify.h - Is the per-rank program the one-device program? -*- C++
//-*-===//
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
// How close is equal: the one-device program is run twice more with every
// rounding disturbed by up to one unit in the last place. A value may differ by
// 6 times what that did to it, plus 2 + sqrt(K) / 2 units in the last place of
// the tensor's largest element, where K is the longest reduction so far.
// Integers are equal or not; those that the disturbance changed are left out.
//
//===----------------------------------------------------------------------===//

#ifndef TP_VERIFY_VERIFY_H
#define TP_VERIFY_VERIFY_H

#include "mlir/IR/BuiltinOps.h"
#include "tp/Interpreter/Interpreter.h"
#include "tp/Interpreter/Parameters.h"
#include "llvm/Support/JSON.h"
#include <map>

namespace tp {

struct VerifyOptions {
  /// Of inputs and random parameters.
  uint64_t seed = 1;
  /// Null: random parameters.
  interp::ParameterProvider *parameters = nullptr;
  /// The directory that `parameters` come from, empty if they are random.
  std::string weights;
  /// Values of the one-device program are kept up to this many bytes; results
  /// always.
  int64_t maxKeptBytes = int64_t(2) << 30;
};

/// A value that is not what the one-device program has there.
struct Divergence {
  /// "nn.linear", "result 'logits' of @main".
  std::string what;
  std::string location;
  /// Of the tp.repeat iterations around it.
  llvm::SmallVector<int64_t> iterations;
  /// What is wrong, the numbers included.
  std::string problem;

  void print(llvm::raw_ostream &os) const;
};

struct Comparison {
  int64_t numValues = 0, numResults = 0;
  /// The largest difference as a part of what was allowed.
  double worst = 0;
  std::optional<Divergence> divergence;
};

/// A value of the one-device program by what the stages carry along: the
/// tp.value_id of its operation (or function), its number among the results
/// (arguments, carried values), and the iterations around it.
struct ValueKey {
  int64_t id = 0;
  unsigned number = 0;
  bool isArgument = false;
  llvm::SmallVector<int64_t, 2> iterations;

  bool operator<(const ValueKey &other) const;
};

/// One function of the one-device program, evaluated on random inputs.
class Reference {
public:
  struct Value {
    interp::Tensor tensor;
    /// The largest difference that is allowed; negative if nothing can be said
    /// (an integer that hangs on a rounding).
    double tolerance = 0;
  };

  /// Runs `function`; emits why it cannot.
  static mlir::FailureOr<Reference> run(mlir::func::FuncOp function,
                                        const VerifyOptions &options);

  llvm::ArrayRef<interp::Tensor> getInputs() const { return inputs; }
  llvm::ArrayRef<Value> getResults() const { return results; }
  const Value *find(const ValueKey &key) const;
  /// Values that were not kept for want of memory.
  int64_t getNumDropped() const { return numDropped; }

private:
  llvm::SmallVector<interp::Tensor> inputs;
  llvm::SmallVector<Value> results;
  std::map<ValueKey, Value> values;
  int64_t keptBytes = 0, numDropped = 0;
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
                                const Reference &reference,
                                const VerifyOptions &options);

/// What is wrong between the parts that the ranks hold and the global value, or
/// an empty text; `worst` is raised to the largest difference seen, as a part
/// of what is allowed.
std::string compareValue(const interp::RankTensors &locals,
                         const Reference::Value &expected,
                         const TensorSharding &sharding, const Mesh &mesh,
                         double &worst);
/// The location as messages give it: the name alone where it has one.
std::string formatLocation(mlir::Location loc);

/// Compile `perRank` for this machine, run `function` on as many threads as the
/// mesh has ranks, and compare its results. If one differs, the program is run
/// once more with every value handed out, so that the first operation that
/// differs is named. Fails, after an error, if the program cannot be compiled
/// or run.
mlir::FailureOr<Comparison> compareExecuted(mlir::ModuleOp perRank,
                                            llvm::StringRef function,
                                            const Reference &reference,
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
};

struct VerifyReport {
  std::vector<StageReport> stages;
  int64_t numDropped = 0;

  bool isEqual() const;
  void print(llvm::raw_ostream &os) const;
  llvm::json::Value toJSON() const;
};

/// Evaluate every public function of `module`, take the module through the
/// stages, comparing where asked. `prepare`, if given, runs first (the import
/// stage, which makes repeated layers of unrolled ones): where it changes the
/// program, results are compared with those before, and the values that later
/// stages are compared with are those after. Fails, after an error, if the
/// one-device program does not run or a stage refuses it. Stops at the first
/// stage that differs. `module` is left at the last stage.
mlir::FailureOr<VerifyReport>
verifyProgram(mlir::ModuleOp module, llvm::ArrayRef<VerifyStage> stages,
              const VerifyOptions &options,
              const VerifyStage *prepare = nullptr);

/// The same for a per-rank program made elsewhere from `module`, whose ids (if
/// any) are those that tp-assign-value-ids gives.
mlir::FailureOr<VerifyReport> verifyAgainst(mlir::ModuleOp module,
                                            mlir::ModuleOp perRank, Check check,
                                            const VerifyOptions &options);

} // namespace tp

#endif // TP_VERIFY_VERIFY_H
