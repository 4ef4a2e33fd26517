//===- Compare.cpp - The ranks' values against the reference --------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An operation that the stages carried along has the id of its original and the
// sharding of its results. A collective has neither, but its operand does, and
// it says what it makes of it: so every collective is compared too.
//
//===----------------------------------------------------------------------===//

#include "Replay.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/Interpreter/Distribute.h"
#include "tp/Verify/Passes.h"

#include <cmath>

using namespace mlir;
using namespace tp::interp;

namespace tp {

namespace {
/// Knows of each value of the per-rank program which value of the one-device
/// program it is a part of.
class Tracker {
public:
  explicit Tracker(const Mesh &mesh) : mesh(mesh) {}

  struct Tracked {
    ValueKey key;
    TensorSharding sharding;
  };

  /// Nothing for what the stages made new.
  std::optional<Tracked> track(Operation *op, Value value, unsigned number,
                               ArrayRef<int64_t> iterations) {
    std::optional<ValueKey> key = getKey(op, value, number, iterations);
    if (!key)
      return std::nullopt;
    keys[value] = *key;
    if (isView(op)) {
      views.insert(value);
      return std::nullopt;
    }
    std::optional<TensorSharding> sharding = getLayout(op, value);
    if (!sharding)
      return std::nullopt;
    if (sharding->isPartial())
      partials.insert(value);
    return Tracked{*key, *sharding};
  }

  /// Remember of a value whether any rank has an infinity in it.
  void look(Value value, ArrayRef<Tensor> locals) {
    bool isInfinite = llvm::any_of(locals, [](const Tensor &local) {
      if (local.getElementType().isFloat())
        for (int64_t i = 0; i < local.getNumElements(); ++i)
          if (!std::isfinite(local.getFloat(i)))
            return true;
      return false;
    });
    // A layer is visited again.
    if (isInfinite)
      infinite.insert(value);
    else
      infinite.erase(value);
  }

  /// `op` reads addends, and an infinity.
  bool scalesParts(Operation *op) const {
    auto isIn = [](const DenseSet<Value> &set) {
      return [&](Value operand) { return set.contains(operand); };
    };
    return llvm::any_of(op->getOperands(), isIn(partials)) &&
           llvm::any_of(op->getOperands(), isIn(infinite));
  }

private:
  std::optional<ValueKey> getKey(Operation *op, Value value, unsigned number,
                                 ArrayRef<int64_t> iterations) {
    if (auto id = op->getAttrOfType<IntegerAttr>(valueIdAttrName))
      return ValueKey{id.getInt(), number, isa<BlockArgument>(value),
                      SmallVector<int64_t, 2>(iterations)};
    // A step makes another part of the same value, perhaps on a view in which
    // its blocks are a dimension.
    bool isBack =
        isa<tensor::CollapseShapeOp>(op) && views.contains(op->getOperand(0));
    if (isa<ReshardStepOpInterface, tensor::ExpandShapeOp>(op) || isBack) {
      auto found = keys.find(op->getOperand(0));
      if (found != keys.end())
        return found->second;
    }
    return std::nullopt;
  }

  /// Returns true if `op` makes such a view, or a part of one.
  bool isView(Operation *op) const {
    if (op->hasAttr(valueIdAttrName))
      return false;
    return isa<tensor::ExpandShapeOp>(op) ||
           (isa<ReshardStepOpInterface>(op) &&
            views.contains(op->getOperand(0)));
  }

  std::optional<TensorSharding> getLayout(Operation *op, Value value) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      return std::nullopt;
    auto step = dyn_cast<ReshardStepOpInterface>(op);
    ShardingAttr sharding = step ? step.getToSharding() : getSharding(value);
    // Before partition, on one device.
    if (mesh.getNumRanks() == 1)
      return TensorSharding::replicated(type.getRank());
    if (!sharding)
      return std::nullopt;
    return sharding.toSharding(mesh);
  }

  const Mesh &mesh;
  DenseMap<Value, ValueKey> keys;
  DenseSet<Value> partials, infinite, views;
};
} // namespace

static std::string describe(Operation *op) {
  std::string what = op->getName().getStringRef().str();
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  if (LedgerAttr ledger = collective ? collective.getLedgerEntry() : nullptr)
    what += " (ledger " + std::to_string(ledger.getId()) + ": " +
            ledger.getCause().getValue().str() + ")";
  return what;
}

TensorSharding getBoundaryLayout(ShardingAttr sharding, const Tensor &tensor,
                                 const Mesh &mesh) {
  if (!sharding || mesh.getNumRanks() == 1)
    return TensorSharding::replicated(tensor.getRank());
  return sharding.toSharding(mesh);
}

/// Run the ranks' program and visit what its operations make, then its results.
/// Fails where a visit does, or where it does not run, which emits an error.
/// `states`, if given, are what the ranks begin with.
static LogicalResult
runRanks(func::FuncOp function, const Mesh &mesh, const Reference &reference,
         const RankStates *states, const VerifyOptions &options,
         ObservationVisitor visit, const Disturbance &disturbance) {
  SmallVector<RankTensors> arguments;
  for (auto [index, input] : llvm::enumerate(reference.getInputs())) {
    ShardingAttr sharding = function.getArgAttrOfType<ShardingAttr>(
        index, TPDialect::getShardingAttrName());
    // An input comes with zeros past its end; a state as a step left it.
    FlatSymbolRefAttr state = getArgState(function, index);
    if (state && states) {
      arguments.push_back(states->at(state.getValue().str()));
      continue;
    }
    arguments.push_back(
        distribute(input, getBoundaryLayout(sharding, input, mesh), mesh,
                   state ? PaddingFill::Poison : PaddingFill::Zeros));
  }
  RandomParameters random(options.seed);
  Tracker tracker(mesh);
  InterpreterOptions run;
  run.numRanks = mesh.getNumRanks();
  run.parameters = options.parameters ? options.parameters : &random;
  run.disturbance = disturbance;
  run.observer = [&](Operation *op, ValueRange values,
                     MutableArrayRef<RankTensors> tensors,
                     ArrayRef<int64_t> iterations) -> LogicalResult {
    for (auto [number, value] : llvm::enumerate(values)) {
      tracker.look(value, tensors[number]);
      auto tracked = tracker.track(op, value, number, iterations);
      if (!tracked || !reference.find(tracked->key))
        continue;
      Observation observation;
      observation.key = tracked->key;
      observation.locals = tensors[number];
      observation.sharding = tracked->sharding;
      observation.what = describe(op);
      observation.location = formatLocation(op->getLoc());
      if (values.size() > 1)
        observation.which =
            (isa<BlockArgument>(value) ? "argument " : "result ") +
            std::to_string(number) + ", ";
      observation.isOriginal = op->hasAttr(valueIdAttrName);
      observation.scalesParts = tracker.scalesParts(op);
      if (failed(visit(observation)))
        return failure();
      tensors[number] = std::move(observation.locals);
    }
    return success();
  };
  FailureOr<SmallVector<RankTensors>> results =
      interpret(function, arguments, run);
  if (failed(results))
    return failure();
  for (auto [index, locals] : llvm::enumerate(*results)) {
    Observation observation;
    observation.resultNumber = index;
    observation.locals = locals;
    observation.sharding =
        getBoundaryLayout(getResultSharding(function, index),
                          reference.getResults()[index].tensor, mesh);
    std::string name = std::to_string(index);
    if (auto given = function.getResultAttrOfType<StringAttr>(
            index, TPDialect::getNameAttrName()))
      name = "'" + given.getValue().str() + "'";
    observation.what = "result " + name + " of @" + function.getSymName().str();
    observation.location = formatLocation(function.getLoc());
    if (failed(visit(observation)))
      return failure();
  }
  return success();
}

static Comparison compareRanks(func::FuncOp function, const Mesh &mesh,
                               Reference &reference, const RankStates *states,
                               const VerifyOptions &options) {
  Comparison comparison;
  auto differ = [&](const std::string &what, Location loc,
                    const std::string &problem) {
    comparison.divergence = Divergence{what, formatLocation(loc), {}, problem};
    return comparison;
  };
  size_t numInputs = reference.getInputs().size();
  size_t numResults = reference.getResults().size();
  if (function.getNumArguments() != numInputs ||
      function.getNumResults() != numResults)
    return differ("func.func @" + function.getSymName().str(),
                  function.getLoc(),
                  "expected " + std::to_string(numInputs) + " arguments and " +
                      std::to_string(numResults) + " results, got " +
                      std::to_string(function.getNumArguments()) + " and " +
                      std::to_string(function.getNumResults()));
  std::string error;
  Location errorLoc = function.getLoc();
  ScopedDiagnosticHandler handler(function.getContext(),
                                  [&](Diagnostic &diagnostic) {
                                    if (error.empty()) {
                                      error = diagnostic.str();
                                      errorLoc = diagnostic.getLocation();
                                    }
                                    return success();
                                  });
  auto run = [&](ObservationVisitor visit, const Disturbance &disturbance) {
    return runRanks(function, mesh, reference, states, options, visit,
                    disturbance);
  };
  LogicalResult ended = run(
      [&](Observation &observation) {
        return compareObservation(observation, mesh, reference, comparison);
      },
      Disturbance());
  // A program that does not run diverges where it stops.
  if (failed(ended) && !comparison.divergence) {
    std::string program =
        "the program of " + std::to_string(mesh.getNumRanks()) + " ranks";
    std::string where = "with another rounding";
    std::string stop =
        reference.mayStop() ? reference.getStop().str() : std::string();
    if (stop.empty()) {
      stop = findStopByOperation(mesh, reference, run, options);
      where = "on the ranks' own operands";
    }
    if (stop.empty())
      return differ(program, errorLoc, error);
    comparison.unjudged.push_back(
        {program,
         formatLocation(errorLoc),
         {},
         "it stops (" + error + "), and so does the one-device program " +
             where + " (" + stop + ")"});
    return comparison;
  }
  return judgeByOperation(std::move(comparison), mesh, reference, run, options);
}

Comparison compareWithReference(func::FuncOp function, const Mesh &mesh,
                                Reference &reference,
                                const VerifyOptions &options) {
  return compareRanks(function, mesh, reference, nullptr, options);
}

Comparison compareStep(func::FuncOp function, const Mesh &mesh,
                       Reference &reference, RankStates &states,
                       const VerifyOptions &options) {
  Comparison comparison =
      compareRanks(function, mesh, reference, &states, options);
  if (comparison.divergence)
    return comparison;
  RankStates successors = states;
  ScopedDiagnosticHandler quiet(function.getContext(),
                                [](Diagnostic &) { return success(); });
  auto keep = [&](Observation &observation) {
    if (FlatSymbolRefAttr state =
            observation.key
                ? FlatSymbolRefAttr()
                : getResultState(function, observation.resultNumber))
      successors[state.getValue().str()] = observation.locals;
    return success();
  };
  (void)runRanks(function, mesh, reference, &states, options, keep,
                 Disturbance());
  states = std::move(successors);
  return comparison;
}

void Divergence::print(llvm::raw_ostream &os) const {
  os << what << " at " << location;
  if (!iterations.empty()) {
    os << ", iteration ";
    llvm::interleaveComma(iterations, os);
  }
  os << ": " << problem;
}

} // namespace tp
