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
/// The places of an access's lanes in their tensor.
struct LaneAddresses {
  int64_t n = 0;
  bool isLinear = true;
  /// The places of a linear access.
  int64_t first = 0, step = 0;
  /// The places of any other.
  int64_t each[kLanes];

  /// Call `visit` with each lane and its address.
  template <typename F>
  void forEach(F visit) const {
    if (!isLinear)
      for (int64_t i = 0; i < n; ++i)
        visit(i, each[i]);
    else if (step == 1)
      for (int64_t i = 0; i < n; ++i)
        visit(i, first + i);
    else
      for (int64_t i = 0; i < n; ++i)
        visit(i, first + i * step);
  }
};

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
  LaneAddresses getAddresses(ArrayRef<int64_t> position, int64_t laneDim,
                             int64_t n) const {
    LaneAddresses addresses;
    addresses.n = n;
    if (isLinear) {
      addresses.first = offset;
      for (auto [index, stride] : llvm::zip(position, strides))
        addresses.first += index * stride;
      addresses.step = laneDim >= 0 ? strides[laneDim] : 0;
      return addresses;
    }
    addresses.isLinear = false;
    SmallVector<int64_t> at(position);
    for (int64_t i = 0; i < n; ++i) {
      addresses.each[i] = 0;
      for (auto [expr, stride] : llvm::zip(map.getResults(), tensorStrides))
        addresses.each[i] += evaluate(expr, at) * stride;
      if (laneDim >= 0)
        ++at[laneDim];
    }
    return addresses;
  }
};
} // namespace

namespace {
/// The record that a disturbed run keeps of each sum besides its value.
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

/// One run of a kernel over a nest.
class NestRun {
public:
  NestRun(const LoopNest &nest, const Kernel &kernel, ArrayRef<Tensor> captured,
          Disturber *disturber);

  /// False, with `error` set, where the kernel stops.
  bool run(std::string &error);
  /// The sums, rounded to what they are results of.
  SmallVector<Tensor> takeResults();

private:
  void fill(Register target, double number, int64_t integer);
  bool runLanes(int64_t n, std::string &error);
  /// The next position of all loops but the one over the lanes.
  bool advance();
  void load(const Tensor &tensor, const std::vector<double> *accumulator,
            Register target, const LaneAddresses &addresses);
  void store(unsigned output, Register source, const LaneAddresses &addresses);

  const LoopNest &nest;
  const Kernel &kernel;
  ArrayRef<Tensor> captured;
  Disturber *disturber;
  SmallVector<Walk> inputWalks, outputWalks;
  /// Start as copies of the initial values; a wide accumulator is a double
  /// beside the result.
  SmallVector<Tensor> results;
  SmallVector<std::vector<double>> wide;
  SmallVector<SumTrace> traces;
  Lanes lanes;
  int64_t laneDim = -1;
  SmallVector<int64_t> position;
};

NestRun::NestRun(const LoopNest &nest, const Kernel &kernel,
                 ArrayRef<Tensor> captured, Disturber *disturber)
    : nest(nest), kernel(kernel), captured(captured), disturber(disturber),
      wide(nest.outputs.size()), traces(nest.outputs.size()),
      lanes(kernel.numFloatRegisters, kernel.numIntRegisters),
      position(nest.ranges.size(), 0) {
  for (const LoopNest::Access &access : nest.inputs)
    inputWalks.emplace_back(access, position.size());
  for (auto [index, access] : llvm::enumerate(nest.outputs)) {
    outputWalks.emplace_back(access, position.size());
    results.push_back(access.tensor.clone());
    if (kernel.accumulators[index] != Kernel::Accumulator::Sum)
      continue;
    const float *from = access.tensor.floats();
    wide[index].assign(from, from + access.tensor.getNumElements());
    if (disturber)
      traces[index].begin(wide[index]);
  }
  for (const Kernel::Constant &constant : kernel.constants)
    fill(constant.target, constant.number, constant.integer);
  for (auto [capture, value] : llvm::zip(kernel.captures, captured))
    if (capture.target)
      fill(*capture.target, capture.target->isFloat ? value.getFloat(0) : 0,
           capture.target->isFloat ? 0 : value.getInt(0));
  if (!kernel.hasJumps)
    laneDim = chooseLaneDim(nest, outputWalks);
}

void NestRun::fill(Register target, double number, int64_t integer) {
  if (target.isFloat)
    std::fill_n(lanes.floatRegister(target.index), kLanes, number);
  else
    std::fill_n(lanes.intRegister(target.index), kLanes, integer);
}

template <typename From, typename To>
static void gather(const From *from, const LaneAddresses &addresses, To *to) {
  addresses.forEach(
      [=](int64_t lane, int64_t address) { to[lane] = from[address]; });
}

template <typename From, typename To>
static void scatter(const From *from, const LaneAddresses &addresses, To *to) {
  addresses.forEach(
      [=](int64_t lane, int64_t address) { to[address] = To(from[lane]); });
}

void NestRun::load(const Tensor &tensor, const std::vector<double> *accumulator,
                   Register target, const LaneAddresses &addresses) {
  if (!target.isFloat)
    return gather(tensor.ints(), addresses, lanes.intRegister(target.index));
  double *to = lanes.floatRegister(target.index);
  if (accumulator && !accumulator->empty())
    gather(accumulator->data(), addresses, to);
  else if (tensor.getElementType().kind == ElementType::F64)
    gather(tensor.doubles(), addresses, to);
  else
    gather(tensor.floats(), addresses, to);
}

void NestRun::store(unsigned output, Register source,
                    const LaneAddresses &addresses) {
  Tensor &tensor = results[output];
  if (!source.isFloat)
    return scatter(lanes.intRegister(source.index), addresses, tensor.ints());
  const double *from = lanes.floatRegister(source.index);
  if (std::vector<double> &sums = wide[output]; !sums.empty()) {
    if (SumTrace &trace = traces[output]; trace.isActive())
      addresses.forEach([&](int64_t lane, int64_t address) {
        trace.add(address, from[lane] - sums[address]);
      });
    scatter(from, addresses, sums.data());
  } else if (tensor.getElementType().kind == ElementType::F64) {
    scatter(from, addresses, tensor.doubles());
  } else {
    scatter(from, addresses, tensor.floats());
  }
}

bool NestRun::runLanes(int64_t n, std::string &error) {
  for (auto [index, argument] : llvm::enumerate(kernel.arguments)) {
    if (!argument.used)
      continue;
    bool isInput = index < nest.inputs.size();
    unsigned number = isInput ? index : index - nest.inputs.size();
    const Walk &walk = isInput ? inputWalks[number] : outputWalks[number];
    load(isInput ? nest.inputs[number].tensor : results[number],
         isInput ? nullptr : &wide[number], argument.target,
         walk.getAddresses(position, laneDim, n));
  }
  LaneContext context{captured, kernel.indices, position, laneDim, disturber};
  if (!execute(kernel.instructions, lanes, n, context, error))
    return false;
  for (auto [index, source] : llvm::enumerate(kernel.yields))
    store(index, source, outputWalks[index].getAddresses(position, laneDim, n));
  return true;
}

bool NestRun::advance() {
  for (int64_t dim = int64_t(position.size()) - 1; dim >= 0; --dim) {
    if (dim == laneDim)
      continue;
    if (++position[dim] < nest.ranges[dim])
      return true;
    position[dim] = 0;
  }
  return false;
}

bool NestRun::run(std::string &error) {
  if (llvm::is_contained(nest.ranges, 0))
    return true;
  int64_t laneCount = laneDim >= 0 ? nest.ranges[laneDim] : 1;
  do {
    for (int64_t start = 0; start < laneCount; start += kLanes) {
      if (laneDim >= 0)
        position[laneDim] = start;
      if (!runLanes(std::min(kLanes, laneCount - start), error))
        return false;
    }
  } while (advance());
  return true;
}

SmallVector<Tensor> NestRun::takeResults() {
  int64_t length = 1;
  for (auto [range, reduced] : llvm::zip(nest.ranges, nest.isReduction))
    length *= reduced ? range : 1;
  for (auto [result, sums, trace] : llvm::zip(results, wide, traces)) {
    ElementType type = result.getElementType();
    for (size_t i = 0; i < sums.size(); ++i) {
      double value = sums[i];
      if (disturber && length > 0)
        value = disturber->disturbSum(type, value, trace.magnitudes[i], length,
                                      trace.lowestBits[i]);
      result.setFloat(i, value);
    }
  }
  return std::move(results);
}

std::optional<SmallVector<Tensor>> LoopNest::run(const Kernel &kernel,
                                                 ArrayRef<Tensor> captured,
                                                 Disturber *disturber,
                                                 std::string &error) const {
  NestRun run(*this, kernel, captured, disturber);
  if (!run.run(error))
    return std::nullopt;
  return run.takeResults();
}

} // namespace tp::interp
