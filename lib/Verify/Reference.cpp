//===- Reference.cpp - The one-device program's values --------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One run for the values, and disturbed ones for how far any correct program
// may be from them. Few of these are made where a run is dear: then an
// element's tolerance is that of the slices that it is in. More are made before
// anything is said to differ, and these count element by element.
//
//===----------------------------------------------------------------------===//

#include "tp/Verify/Passes.h"
#include "tp/Verify/Verify.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/Dialect/TP/IR/TPOps.h"

#include <cmath>

using namespace mlir;
using namespace tp::interp;

namespace tp {

/// A run through so many elements costs nothing to speak of.
static constexpr double smallWork = 0x1p21;
/// Above this, more than one round of refinement takes minutes.
static constexpr double largeWork = 0x1p32;
static constexpr unsigned runsPerRefinement = 6;

bool ValueKey::operator<(const ValueKey &other) const {
  auto tie = [](const ValueKey &key) {
    return std::tie(key.id, key.number, key.isArgument, key.iterations);
  };
  return tie(*this) < tie(other);
}

const Reference::Value *Reference::find(const ValueKey &key) const {
  auto found = values.find(key);
  return found == values.end() ? nullptr : &found->second;
}

int64_t Reference::Value::countUnjudged() const {
  int64_t count = 0;
  for (int64_t i = 0; i < tensor.getNumElements(); ++i)
    count += !isJudged(i);
  return count;
}

/// The unit of the narrowest float type that `op` casts to, in its body too;
/// that of its results where these have 16 bits, whatever it reads.
static double getAddendEpsilon(Operation *op) {
  double epsilon = 0;
  auto add = [&](Type type) {
    if (std::optional<ElementType> element =
            getElementType(getElementTypeOrSelf(type)))
      epsilon = std::max(epsilon, getEpsilon(*element));
  };
  for (Type type : op->getResultTypes())
    if (auto element = dyn_cast<FloatType>(getElementTypeOrSelf(type));
        element && element.getWidth() == 16)
      add(type);
  op->walk([&](arith::TruncFOp cast) { add(cast.getType()); });
  return epsilon;
}

/// The value that was rounded to what `op` makes, where that only widens or
/// moves it; null if it does more.
static Value findRounded(Operation *op) {
  Value rounded;
  while (isa_and_nonnull<arith::ExtFOp, tensor::CollapseShapeOp,
                         tensor::ExpandShapeOp, tensor::ExtractSliceOp,
                         ShardingConstraintOp>(op)) {
    rounded = op->getOperand(0);
    op = rounded.getDefiningOp();
  }
  return rounded;
}

/// `op` may be null: none of the program makes it.
static Reference::Value makeValue(const Tensor &tensor, Operation *op) {
  Reference::Value value;
  value.tensor = tensor;
  value.unit = tensor.getElementType();
  if (Value rounded = findRounded(op)) {
    value.unit = *getElementType(rounded.getType());
    op = rounded.getDefiningOp();
  }
  value.isRead = isa_and_nonnull<ParameterOp>(op);
  value.addendEpsilon = op ? getAddendEpsilon(op) : 0;
  value.tolerances.assign(tensor.getNumElements(), 0);
  for (int64_t i = 0; i < tensor.getNumElements(); ++i)
    if (double number = std::abs(tensor.getNumber(i)); std::isfinite(number))
      value.largest = std::max(value.largest, number);
  return value;
}

SmallVector<Disturbance> makeDisturbances(unsigned numPairs,
                                          uint64_t firstSeed) {
  SmallVector<Disturbance> runs;
  for (uint64_t seed = firstSeed; seed < firstSeed + numPairs; ++seed) {
    // 16-bit sums are rounded as written in the one, and once in the other.
    Disturbance random{Disturbance::Random, seed};
    Disturbance opposite{Disturbance::Opposite, seed};
    opposite.wideAccumulators = true;
    random.narrowAddends = opposite.narrowAddends = true;
    llvm::append_values(runs, random, opposite);
  }
  return runs;
}

/// Every rounding the same way by one unit.
static SmallVector<Disturbance, 2> makeDirected(Disturbance::Direction one,
                                                Disturbance::Direction other) {
  return {Disturbance{one, 0, /*units=*/1}, Disturbance{other, 0, /*units=*/1}};
}

/// Raise the tolerances of one value by what a disturbed run made of it.
void Reference::addNoise(Value &value, const Tensor &disturbed) {
  ++value.numRuns;
  const Tensor &tensor = value.tensor;
  bool isFloat = tensor.getElementType().isFloat();
  for (int64_t i = 0; i < tensor.getNumElements(); ++i) {
    double &tolerance = value.tolerances[i];
    double a = tensor.getNumber(i), b = disturbed.getNumber(i);
    if (tolerance < 0 || a == b || (std::isnan(a) && std::isnan(b)))
      continue;
    double change = std::abs(a - b);
    tolerance =
        isFloat && std::isfinite(change) ? std::max(tolerance, change) : -1;
  }
}

/// The largest tolerance of each slice along each dimension, so far as there
/// are enough elements in one to be told from a lucky draw.
static std::vector<double> poolTolerances(const Reference::Value &value) {
  constexpr int64_t enough = 16;
  ArrayRef<int64_t> shape = value.tensor.getShape();
  SmallVector<int64_t> strides = value.tensor.getStrides();
  int64_t count = value.tensor.getNumElements();
  double largest = 0;
  for (double tolerance : value.tolerances)
    largest = std::max(largest, tolerance);
  std::vector<double> pooled(count, largest);
  for (auto [size, stride] : llvm::zip(shape, strides)) {
    if (size <= 1 || count / size < enough)
      continue;
    std::vector<double> slices(size, 0);
    for (int64_t i = 0; i < count; ++i) {
      double &slice = slices[i / stride % size];
      slice = std::max(slice, value.tolerances[i]);
    }
    for (int64_t i = 0; i < count; ++i)
      pooled[i] = std::min(pooled[i], slices[i / stride % size]);
  }
  return pooled;
}

/// Turn the changes that the first runs made into tolerances.
static void settle(Reference::Value &value, unsigned numRuns) {
  const Tensor &tensor = value.tensor;
  ElementType type = tensor.getElementType();
  if (value.numRuns == 0)
    std::fill(value.tolerances.begin(), value.tolerances.end(), -1);
  if (!type.isFloat() || value.isRead)
    return;
  std::vector<double> pooled = poolTolerances(value);
  // An addend may be as large as the largest element where the sum cancels.
  double addends = value.addendEpsilon * value.largest;
  for (int64_t i = 0; i < tensor.getNumElements(); ++i) {
    double &tolerance = value.tolerances[i];
    double number = std::abs(tensor.getFloat(i));
    if (tolerance < 0 || !std::isfinite(number))
      continue;
    // More runs speak for the element itself.
    if (numRuns <= 2)
      tolerance = pooled[i];
    if (number != 0)
      tolerance += 2 * getUnit(value.unit, number) + addends;
  }
}

/// Visit each value with its key; then go on with what is forced.
static auto observe(
    const std::map<ValueKey, Tensor> &forced,
    std::function<void(Operation *, const ValueKey &, const Tensor &)> visit) {
  return [&forced, visit](Operation *op, ValueRange values,
                          MutableArrayRef<RankTensors> tensors,
                          ArrayRef<int64_t> iterations) -> LogicalResult {
    auto id = op->getAttrOfType<IntegerAttr>(valueIdAttrName);
    if (!id)
      return success();
    for (auto [number, value] : llvm::enumerate(values)) {
      ValueKey key{id.getInt(), unsigned(number), isa<BlockArgument>(value),
                   SmallVector<int64_t, 2>(iterations)};
      visit(op, key, tensors[number][0]);
      auto other = forced.find(key);
      if (other != forced.end())
        tensors[number][0] = other->second;
    }
    return success();
  };
}

func::FuncOp Reference::getFunction() const {
  return (*program)->lookupSymbol<func::FuncOp>(name);
}

void Reference::disturb(const Disturbance &disturbance) {
  RandomParameters random(options.seed);
  InterpreterOptions run;
  run.parameters = options.parameters ? options.parameters : &random;
  run.disturbance = disturbance;
  run.disturbance.seed += options.seed * 0x9e3779b97f4a7c15;
  run.observer = observe(
      forced, [&](Operation *op, const ValueKey &key, const Tensor &tensor) {
        auto found = values.find(key);
        if (found != values.end())
          addNoise(found->second, tensor);
      });
  func::FuncOp function = getFunction();
  // An index or a conversion that hangs on a rounding may leave its range.
  ScopedDiagnosticHandler handler(function.getContext(),
                                  [&](Diagnostic &error) {
                                    if (stop.empty())
                                      stop = error.str();
                                    return success();
                                  });
  FailureOr<SmallVector<Tensor>> disturbed =
      interpretOneRank(function, inputs, run);
  if (succeeded(disturbed))
    for (auto [value, tensor] : llvm::zip(results, *disturbed))
      addNoise(value, tensor);
}

FailureOr<Reference> Reference::run(func::FuncOp function,
                                    const VerifyOptions &options) {
  FailureOr<SmallVector<Tensor>> inputs = makeInputs(function, options.seed);
  if (failed(inputs))
    return failure();
  return run(function, *inputs, options);
}

FailureOr<Reference> Reference::run(func::FuncOp function,
                                    ArrayRef<Tensor> inputs,
                                    const VerifyOptions &options) {
  Reference reference;
  reference.options = options;
  reference.name = function.getSymName().str();
  reference.program = std::make_shared<OwningOpRef<ModuleOp>>(
      function->getParentOfType<ModuleOp>().clone());
  llvm::append_range(reference.inputs, inputs);
  if (failed(reference.evaluate()))
    return failure();
  return reference;
}

Reference Reference::copyProgram() const {
  Reference copy;
  copy.program = program;
  copy.name = name;
  copy.options = options;
  copy.inputs = inputs;
  return copy;
}

FailureOr<Reference>
Reference::replay(std::map<ValueKey, Tensor> forced) const {
  Reference reference = copyProgram();
  reference.forced = std::move(forced);
  ScopedDiagnosticHandler quiet(getFunction().getContext(),
                                [](Diagnostic &) { return success(); });
  if (failed(reference.evaluate()) || reference.numDropped)
    return failure();
  return reference;
}

std::string
Reference::findStop(const std::map<ValueKey, Tensor> &forced) const {
  RandomParameters random(options.seed);
  InterpreterOptions run;
  run.parameters = options.parameters ? options.parameters : &random;
  run.observer =
      observe(forced, [](Operation *, const ValueKey &, const Tensor &) {});
  std::string error;
  ScopedDiagnosticHandler handler(getFunction().getContext(),
                                  [&](Diagnostic &diagnostic) {
                                    if (error.empty())
                                      error = diagnostic.str();
                                    return success();
                                  });
  (void)interpretOneRank(getFunction(), inputs, run);
  return error;
}

LogicalResult Reference::evaluate() {
  RandomParameters random(options.seed);
  InterpreterStatistics statistics;
  InterpreterOptions run;
  run.parameters = options.parameters ? options.parameters : &random;
  run.statistics = &statistics;
  run.observer = observe(
      forced, [&](Operation *op, const ValueKey &key, const Tensor &tensor) {
        int64_t bytes =
            tensor.getByteSize() + tensor.getNumElements() * sizeof(double);
        if (keptBytes + bytes > options.maxKeptBytes) {
          ++numDropped;
          return;
        }
        keptBytes += bytes;
        values[key] = makeValue(tensor, op);
      });
  FailureOr<SmallVector<Tensor>> outputs =
      interpretOneRank(getFunction(), inputs, run);
  if (failed(outputs))
    return failure();
  Operation *end = getFunction().getBody().front().getTerminator();
  for (auto [tensor, value] : llvm::zip(*outputs, end->getOperands())) {
    Operation *op = value.getDefiningOp();
    results.push_back(makeValue(tensor, op));
  }

  numPairs = statistics.work < smallWork ? 3 : 1;
  SmallVector<Disturbance> runs = makeDisturbances(numPairs);
  for (const Disturbance &disturbance : runs)
    disturb(disturbance);
  for (auto &[key, value] : values)
    settle(value, runs.size());
  for (Value &value : results)
    settle(value, runs.size());
  maxRefinements = statistics.work < largeWork ? 5 : 1;
  return success();
}

void Reference::allow(const ValueKey &key, ArrayRef<double> slack) {
  auto found = values.find(key);
  if (found == values.end())
    return;
  const Tensor &tensor = found->second.tensor;
  for (auto [i, tolerance] : llvm::enumerate(found->second.tolerances)) {
    if (tolerance < 0)
      continue;
    if (std::isfinite(slack[i]))
      tolerance += slack[i];
    else if (std::isinf(slack[i]) && std::isfinite(tensor.getNumber(i)))
      tolerance = -1;
  }
}

bool Reference::mayStop() {
  while (stop.empty() && refine())
    ;
  return !stop.empty();
}

bool Reference::refine() {
  if (numRefinements == maxRefinements)
    return false;
  SmallVector<Disturbance> runs;
  if (numRefinements == 0) {
    llvm::append_range(runs, makeDirected(Disturbance::Up, Disturbance::Down));
    llvm::append_range(runs,
                       makeDirected(Disturbance::Away, Disturbance::Toward));
    runs.back().units = 4;
    llvm::append_range(
        runs, makeDirected(Disturbance::Alternating, Disturbance::Alternating));
    runs.back().units = -1;
  }
  llvm::append_range(runs,
                     makeDisturbances((runsPerRefinement - runs.size()) / 2,
                                      100 * (numRefinements + 1)));
  for (const Disturbance &disturbance : runs)
    disturb(disturbance);
  ++numRefinements;
  return true;
}

} // namespace tp
