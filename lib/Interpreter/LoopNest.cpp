//===- LoopNest.cpp - Run a kernel over an iteration space ----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Addresses are linear in the loops for all but exotic maps: then each access
// has one stride per loop. A parallel loop that moves every output goes over
// the lanes; results cannot collide within one execution of the body.
//
//===----------------------------------------------------------------------===//

#include "Lanes.h"

#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace mlir;

namespace tp::interp {

/// Coefficients of `expr` over the dimensions and, last, the constant; nothing
/// if it is not linear.
static std::optional<SmallVector<int64_t>> getLinear(AffineExpr expr,
                                                     unsigned numDims) {
  SmallVector<int64_t> result(numDims + 1, 0);
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    result.back() = constant.getValue();
    return result;
  }
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    result[dim.getPosition()] = 1;
    return result;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return std::nullopt;
  auto lhs = getLinear(binary.getLHS(), numDims);
  auto rhs = getLinear(binary.getRHS(), numDims);
  if (!lhs || !rhs)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::Add) {
    for (auto [total, term] : llvm::zip(*lhs, *rhs))
      total += term;
    return lhs;
  }
  auto isConstant = [](ArrayRef<int64_t> linear) {
    return llvm::all_of(linear.drop_back(), [](int64_t c) { return c == 0; });
  };
  if (expr.getKind() != AffineExprKind::Mul)
    return std::nullopt;
  if (!isConstant(*rhs))
    std::swap(lhs, rhs);
  if (!isConstant(*rhs))
    return std::nullopt;
  for (int64_t &coefficient : *lhs)
    coefficient *= rhs->back();
  return lhs;
}

static int64_t evaluate(AffineExpr expr, ArrayRef<int64_t> position) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return constant.getValue();
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return position[dim.getPosition()];
  auto binary = cast<AffineBinaryOpExpr>(expr);
  int64_t lhs = evaluate(binary.getLHS(), position);
  int64_t rhs = evaluate(binary.getRHS(), position);
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return lhs + rhs;
  case AffineExprKind::Mul:
    return lhs * rhs;
  case AffineExprKind::FloorDiv:
    return llvm::divideFloorSigned(lhs, rhs);
  case AffineExprKind::CeilDiv:
    return llvm::divideCeilSigned(lhs, rhs);
  default:
    return llvm::mod(lhs, rhs);
  }
}

namespace {
/// How one access walks through its tensor.
struct Walk {
  bool isLinear = true;
  /// Per loop, in elements; the start is `offset`.
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  AffineMap map;
  SmallVector<int64_t> tensorStrides;

  Walk(const LoopNest::Access &access, unsigned numLoops) : map(access.map) {
    tensorStrides = access.tensor.getStrides();
    strides.assign(numLoops, 0);
    for (auto [expr, stride] : llvm::zip(map.getResults(), tensorStrides)) {
      auto linear = getLinear(expr, numLoops);
      if (!linear) {
        isLinear = false;
        return;
      }
      for (unsigned loop = 0; loop < numLoops; ++loop)
        strides[loop] += (*linear)[loop] * stride;
      offset += linear->back() * stride;
    }
  }

  /// Addresses of lanes 0..n-1 at `position`.
  void getAddresses(ArrayRef<int64_t> position, int64_t laneDim, int64_t n,
                    int64_t *addresses) const {
    if (isLinear) {
      int64_t address = offset;
      for (auto [index, stride] : llvm::zip(position, strides))
        address += index * stride;
      int64_t step = laneDim >= 0 ? strides[laneDim] : 0;
      for (int64_t i = 0; i < n; ++i)
        addresses[i] = address + i * step;
      return;
    }
    SmallVector<int64_t> at(position);
    for (int64_t i = 0; i < n; ++i) {
      addresses[i] = 0;
      for (auto [expr, stride] : llvm::zip(map.getResults(), tensorStrides))
        addresses[i] += evaluate(expr, at) * stride;
      if (laneDim >= 0)
        ++at[laneDim];
    }
  }
};
} // namespace

namespace {
/// What a disturbed run must know of each sum besides its value.
struct SumTrace {
  /// The sum of the terms' magnitudes, and what all are multiples of.
  std::vector<double> magnitudes;
  std::vector<int> lowestBits;

  void begin(ArrayRef<double> initial) {
    for (double value : initial) {
      magnitudes.push_back(std::abs(value));
      lowestBits.push_back(getLowestBit(value));
    }
  }
  bool isActive() const { return !magnitudes.empty(); }
  void add(int64_t address, double term) {
    magnitudes[address] += std::abs(term);
    lowestBits[address] = std::min(lowestBits[address], getLowestBit(term));
  }
};
} // namespace

/// The parallel loop that goes over the lanes: the innermost of at least half
/// the lanes' number, else the largest; -1 if none moves every output.
static int64_t chooseLaneDim(const LoopNest &nest, ArrayRef<Walk> outputs) {
  int64_t best = -1;
  for (int64_t dim = nest.ranges.size() - 1; dim >= 0; --dim) {
    if (nest.isReduction[dim])
      continue;
    if (!llvm::all_of(outputs, [&](const Walk &walk) {
          return walk.isLinear && walk.strides[dim] != 0;
        }))
      continue;
    if (nest.ranges[dim] >= kLanes / 2)
      return dim;
    if (best < 0 || nest.ranges[dim] > nest.ranges[best])
      best = dim;
  }
  return best;
}

std::optional<SmallVector<Tensor>> LoopNest::run(const Kernel &kernel,
                                                 ArrayRef<Tensor> captured,
                                                 Disturber *disturber,
                                                 std::string &error) const {
  using Accumulator = Kernel::Accumulator;
  unsigned numLoops = ranges.size();
  SmallVector<Walk> inputWalks, outputWalks;
  for (const Access &access : inputs)
    inputWalks.emplace_back(access, numLoops);
  for (const Access &access : outputs)
    outputWalks.emplace_back(access, numLoops);

  // Results start as copies of the initial values; a wide accumulator is a
  // double beside the result.
  SmallVector<Tensor> results;
  SmallVector<std::vector<double>> wide(outputs.size());
  SmallVector<SumTrace> traces(outputs.size());
  for (auto [index, access] : llvm::enumerate(outputs)) {
    results.push_back(access.tensor.clone());
    if (kernel.accumulators[index] == Accumulator::Sum) {
      const float *from = access.tensor.floats();
      wide[index].assign(from, from + access.tensor.getNumElements());
      if (disturber)
        traces[index].begin(wide[index]);
    }
  }
  if (llvm::is_contained(ranges, 0))
    return results;

  Lanes lanes(kernel.numFloatRegisters, kernel.numIntRegisters);
  for (const Kernel::Constant &constant : kernel.constants)
    for (int64_t i = 0; i < kLanes; ++i) {
      if (constant.target.isFloat)
        lanes.floatRegister(constant.target.index)[i] = constant.number;
      else
        lanes.intRegister(constant.target.index)[i] = constant.integer;
    }
  for (auto [capture, value] : llvm::zip(kernel.captures, captured)) {
    if (!capture.target)
      continue;
    for (int64_t i = 0; i < kLanes; ++i) {
      if (capture.target->isFloat)
        lanes.floatRegister(capture.target->index)[i] = value.getFloat(0);
      else
        lanes.intRegister(capture.target->index)[i] = value.getInt(0);
    }
  }

  int64_t laneDim = chooseLaneDim(*this, outputWalks);
  SmallVector<int64_t> position(numLoops, 0);
  LaneContext context{captured, kernel.indices, position, laneDim, disturber};
  int64_t addresses[kLanes];
  auto load = [&](const Tensor &tensor, const std::vector<double> *accumulator,
                  Register target, int64_t n) {
    if (!target.isFloat) {
      int64_t *to = lanes.intRegister(target.index);
      const int64_t *from = tensor.ints();
      for (int64_t i = 0; i < n; ++i)
        to[i] = from[addresses[i]];
      return;
    }
    double *to = lanes.floatRegister(target.index);
    if (accumulator && !accumulator->empty()) {
      for (int64_t i = 0; i < n; ++i)
        to[i] = (*accumulator)[addresses[i]];
    } else if (tensor.getElementType().kind == ElementType::F64) {
      const double *from = tensor.doubles();
      for (int64_t i = 0; i < n; ++i)
        to[i] = from[addresses[i]];
    } else {
      const float *from = tensor.floats();
      for (int64_t i = 0; i < n; ++i)
        to[i] = from[addresses[i]];
    }
  };
  auto store = [&](Tensor &tensor, std::vector<double> &accumulator,
                   SumTrace &trace, Register source, int64_t n) {
    if (!source.isFloat) {
      const int64_t *from = lanes.intRegister(source.index);
      int64_t *to = tensor.ints();
      for (int64_t i = 0; i < n; ++i)
        to[addresses[i]] = from[i];
      return;
    }
    const double *from = lanes.floatRegister(source.index);
    if (!accumulator.empty()) {
      if (trace.isActive())
        for (int64_t i = 0; i < n; ++i)
          trace.add(addresses[i], from[i] - accumulator[addresses[i]]);
      for (int64_t i = 0; i < n; ++i)
        accumulator[addresses[i]] = from[i];
    } else if (tensor.getElementType().kind == ElementType::F64) {
      double *to = tensor.doubles();
      for (int64_t i = 0; i < n; ++i)
        to[addresses[i]] = from[i];
    } else {
      float *to = tensor.floats();
      for (int64_t i = 0; i < n; ++i)
        to[addresses[i]] = float(from[i]);
    }
  };

  while (true) {
    int64_t laneCount = laneDim >= 0 ? ranges[laneDim] : 1;
    for (int64_t start = 0; start < laneCount; start += kLanes) {
      int64_t n = std::min(kLanes, laneCount - start);
      if (laneDim >= 0)
        position[laneDim] = start;
      context.position = position;
      for (auto [index, argument] : llvm::enumerate(kernel.arguments)) {
        if (!argument.used)
          continue;
        bool isInput = index < inputs.size();
        unsigned number = isInput ? index : index - inputs.size();
        const Walk &walk = isInput ? inputWalks[number] : outputWalks[number];
        walk.getAddresses(position, laneDim, n, addresses);
        load(isInput ? inputs[number].tensor : results[number],
             isInput ? nullptr : &wide[number], argument.target, n);
      }
      if (!execute(kernel.instructions, lanes, n, context, error))
        return std::nullopt;
      for (auto [index, source] : llvm::enumerate(kernel.yields)) {
        outputWalks[index].getAddresses(position, laneDim, n, addresses);
        store(results[index], wide[index], traces[index], source, n);
      }
    }
    if (laneDim >= 0)
      position[laneDim] = 0;
    int64_t dim = int64_t(numLoops) - 1;
    for (; dim >= 0; --dim) {
      if (dim == laneDim)
        continue;
      if (++position[dim] < ranges[dim])
        break;
      position[dim] = 0;
    }
    if (dim < 0)
      break;
  }

  int64_t length = 1;
  for (auto [range, reduced] : llvm::zip(ranges, isReduction))
    length *= reduced ? range : 1;
  for (auto [index, result] : llvm::enumerate(results)) {
    ElementType type = result.getElementType();
    for (size_t i = 0; i < wide[index].size(); ++i) {
      double value = wide[index][i];
      if (disturber)
        value = disturber->disturbSum(type, value, traces[index].magnitudes[i],
                                      length, traces[index].lowestBits[i]);
      result.setFloat(i, value);
    }
  }
  return results;
}

} // namespace tp::interp
