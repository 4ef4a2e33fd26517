//===- Reference.h - The one-device program's values ------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each value of a program on one device, and how far from it any correct
// program may be, element by element.
//
//===----------------------------------------------------------------------===//

#ifndef TP_VERIFY_REFERENCE_H
#define TP_VERIFY_REFERENCE_H

#include "mlir/IR/BuiltinOps.h"
#include "tp/Interpreter/Interpreter.h"
#include "tp/Interpreter/Parameters.h"
#include <limits>
#include <map>

namespace tp {

struct VerifyOptions {
  /// The seed of inputs and random parameters.
  uint64_t seed = 1;
  /// Null: random parameters.
  interp::ParameterProvider *parameters = nullptr;
  /// The directory that `parameters` come from, empty if they are random.
  std::string weights;
  /// Values of the one-device program are kept up to this many bytes; results
  /// always.
  int64_t maxKeptBytes = int64_t(2) << 30;
  /// How often the entries run in turn, each with the states that the one
  /// before left; 0: twice if the program has states, else once.
  int64_t steps = 0;
  /// The entries to run; none: all public functions in their order.
  std::vector<std::string> entries;
  /// The steps are those of generation, a script drawn from this seed, and
  /// there are 16 of them unless `steps` says otherwise.
  std::optional<uint64_t> script;
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

/// `numPairs` random changes, each with the same turned round: whatever hangs
/// on one rounding is pushed both ways.
llvm::SmallVector<interp::Disturbance> makeDisturbances(unsigned numPairs,
                                                        uint64_t firstSeed = 1);

/// One function of the one-device program, evaluated on random inputs.
class Reference {
public:
  struct Value {
    interp::Tensor tensor;
    /// The largest difference that is allowed, per element; negative if nothing
    /// can be said (an integer that hangs on a rounding).
    std::vector<double> tolerances;
    /// The largest finite magnitude.
    double largest = 0;
    /// The type whose unit the numbers were rounded to last: a narrower one
    /// where they have only been widened since.
    interp::ElementType unit;
    /// The unit that ranks round the addends of this value to, as a part of
    /// their magnitude: that of the narrowest type which its operation casts
    /// to.
    double addendEpsilon = 0;
    /// The value is one that the program reads, so it did not round it.
    bool isRead = false;
    /// Disturbed runs that came as far as this value.
    unsigned numRuns = 0;

    /// False if it hangs on rounding what element `i` is, or where a quarter of
    /// the largest element would do as well.
    /// Of a tensor of zeros, what is below the normal numbers is no difference.
    bool isJudged(int64_t i) const {
      double most =
          largest > 0 ? largest / 4 : std::numeric_limits<float>::min();
      return tolerances[i] >= 0 && tolerances[i] <= most;
    }
    int64_t countUnjudged() const;
  };

  /// Runs `function`, and a few times disturbed; emits why it cannot.
  static mlir::FailureOr<Reference> run(mlir::func::FuncOp function,
                                        const VerifyOptions &options);
  /// The same on these inputs.
  static mlir::FailureOr<Reference> run(mlir::func::FuncOp function,
                                        llvm::ArrayRef<interp::Tensor> inputs,
                                        const VerifyOptions &options);

  /// Why the same program stops when it goes on with what the ranks had, where
  /// it does; empty otherwise.
  std::string findStop(const std::map<ValueKey, interp::Tensor> &forced) const;
  /// The same program, each operation computed from what the ranks had of its
  /// operands, so that no rounding is carried on. Fails where that does not
  /// run.
  mlir::FailureOr<Reference>
  replay(std::map<ValueKey, interp::Tensor> forced) const;

  /// Widen the tolerances by some more disturbed runs; false when there have
  /// been enough. Called before anything is said to differ.
  bool refine();
  /// Let a value differ by so much more, element by element. By an infinity:
  /// of a finite number nothing can be said.
  void allow(const ValueKey &key, llvm::ArrayRef<double> slack);
  /// True if a disturbed run stops; more of them are made to find out.
  bool mayStop();
  /// The error of a disturbed run that stopped; empty if all came to the end.
  llvm::StringRef getStop() const { return stop; }

  /// Ranks' addends of `value` were infinities of both signs, which are no
  /// number together whatever the program of one device has there.
  void noteOverflow(const Value &value) {
    ++numOverflows;
    overflowed.insert(&value);
  }
  /// True if a NaN in `value` may come of such addends: of any before it, or,
  /// where the program goes on with what the ranks had, of the value's own that
  /// a collective adds up.
  bool mayFollowOverflow(const Value &value, bool isOriginal) const {
    return forced.empty() ? numOverflows > 0
                          : !isOriginal && overflowed.contains(&value);
  }
  int64_t getNumOverflows() const { return numOverflows; }

  /// Pairs of disturbed runs that it takes at first: few where a run is dear.
  unsigned getNumPairs() const { return numPairs; }

  llvm::ArrayRef<interp::Tensor> getInputs() const { return inputs; }
  llvm::ArrayRef<Value> getResults() const { return results; }
  const Value *find(const ValueKey &key) const;
  /// Values that were not kept for want of memory.
  int64_t getNumDropped() const { return numDropped; }

private:
  /// The values, and the first disturbed runs.
  mlir::LogicalResult evaluate();
  /// Run disturbed and raise the tolerances to what that does.
  void disturb(const interp::Disturbance &disturbance);
  void addNoise(Value &value, const interp::Tensor &disturbed);
  mlir::func::FuncOp getFunction() const;
  Reference copyProgram() const;

  /// The program as it was, for later runs.
  std::shared_ptr<mlir::OwningOpRef<mlir::ModuleOp>> program;
  std::string name;
  VerifyOptions options;
  llvm::SmallVector<interp::Tensor> inputs;
  llvm::SmallVector<Value> results;
  std::map<ValueKey, Value> values;
  /// The value that the program goes on with instead, whatever it computed.
  std::map<ValueKey, interp::Tensor> forced;
  int64_t keptBytes = 0, numDropped = 0;
  std::string stop;
  unsigned numPairs = 1, numRefinements = 0, maxRefinements = 0;
  int64_t numOverflows = 0;
  llvm::SmallPtrSet<const Value *, 4> overflowed;
};

} // namespace tp

#endif // TP_VERIFY_REFERENCE_H
