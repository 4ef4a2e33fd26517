//===- Reference.cpp - The one-device program's values --------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Three runs: one for the values, two with disturbed rounding for how far any
// correct program may be from them. One of these adds up sixteen-bit sums
// exactly, since the order of a sum is free: 400 ones in bf16 are 256 one after
// the other and 400 in most other orders.
//
//===----------------------------------------------------------------------===//

#include "tp/Verify/Passes.h"
#include "tp/Verify/Verify.h"

#include <cmath>

using namespace mlir;
using namespace tp::interp;

namespace tp {

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

/// The largest finite magnitude.
static double getLargest(const Tensor &tensor) {
  double largest = 0;
  for (int64_t i = 0; i < tensor.getNumElements(); ++i) {
    double value = std::abs(tensor.getFloat(i));
    if (std::isfinite(value))
      largest = std::max(largest, value);
  }
  return largest;
}

/// Widen the tolerance of `value` by what a disturbed run made of it.
static void addNoise(Reference::Value &value, const Tensor &disturbed) {
  const Tensor &tensor = value.tensor;
  if (!tensor.getElementType().isFloat()) {
    for (int64_t i = 0; i < tensor.getNumElements(); ++i)
      if (tensor.getInt(i) != disturbed.getInt(i))
        value.tolerance = -1;
    return;
  }
  if (value.tolerance < 0)
    return;
  double noise = 0;
  for (int64_t i = 0; i < tensor.getNumElements(); ++i) {
    double a = tensor.getFloat(i), b = disturbed.getFloat(i);
    if (std::isfinite(a) && std::isfinite(b)) {
      noise = std::max(noise, std::abs(a - b));
    } else if (!(a == b) && !(std::isnan(a) && std::isnan(b))) {
      value.tolerance = -1;
      return;
    }
  }
  value.tolerance += 6 * noise;
}

FailureOr<Reference> Reference::run(func::FuncOp function,
                                    const VerifyOptions &options) {
  Reference reference;
  FailureOr<SmallVector<Tensor>> inputs = makeInputs(function, options.seed);
  if (failed(inputs))
    return failure();
  reference.inputs = *inputs;

  RandomParameters random(options.seed);
  InterpreterStatistics statistics;
  InterpreterOptions run;
  run.parameters = options.parameters ? options.parameters : &random;
  run.statistics = &statistics;
  auto getRounding = [&](const Tensor &tensor) {
    if (!tensor.getElementType().isFloat())
      return 0.0;
    return statistics.coarsestEpsilon * getLargest(tensor) *
           (2 + std::sqrt(double(statistics.longestReduction)) / 2);
  };
  // Visit each value with its key.
  auto observe = [&](auto visit) {
    return [visit](Operation *op, ValueRange values,
                   ArrayRef<RankTensors> tensors,
                   ArrayRef<int64_t> iterations) -> LogicalResult {
      auto id = op->getAttrOfType<IntegerAttr>(valueIdAttrName);
      if (!id)
        return success();
      for (auto [number, value] : llvm::enumerate(values))
        visit(ValueKey{id.getInt(), unsigned(number), isa<BlockArgument>(value),
                       SmallVector<int64_t, 2>(iterations)},
              tensors[number][0]);
      return success();
    };
  };
  run.observer = observe([&](const ValueKey &key, const Tensor &tensor) {
    if (reference.keptBytes + tensor.getByteSize() > options.maxKeptBytes) {
      ++reference.numDropped;
      return;
    }
    reference.keptBytes += tensor.getByteSize();
    reference.values[key] = {tensor, getRounding(tensor)};
  });
  FailureOr<SmallVector<Tensor>> results =
      interpretOneRank(function, reference.inputs, run);
  if (failed(results))
    return failure();
  for (const Tensor &tensor : *results)
    reference.results.push_back({tensor, getRounding(tensor)});

  run.statistics = nullptr;
  run.observer = observe([&](const ValueKey &key, const Tensor &tensor) {
    auto found = reference.values.find(key);
    if (found != reference.values.end())
      addNoise(found->second, tensor);
  });
  for (uint64_t disturbance : {1, 2}) {
    run.perturbation = 2 * options.seed + disturbance;
    run.exactSums = disturbance == 2;
    FailureOr<SmallVector<Tensor>> disturbed =
        interpretOneRank(function, reference.inputs, run);
    if (failed(disturbed))
      return failure();
    for (auto [value, tensor] : llvm::zip(reference.results, *disturbed))
      addNoise(value, tensor);
  }
  return reference;
}

} // namespace tp
