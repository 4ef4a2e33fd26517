//===- Contraction.cpp - The fast path for matrix products ----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nearly all the time of a transformer goes into contractions, so those are
// packed to doubles and multiplied in panels. Every element still adds its
// products in the order of the reduction loops.
//
//===----------------------------------------------------------------------===//

#include "tp/Interpreter/Kernel.h"

#include "llvm/ADT/STLExtras.h"
#include <climits>
#include <cmath>

using namespace mlir;

namespace tp::interp {

/// Loops and, for one tensor, the strides along them.
static void gather(const Tensor &tensor, ArrayRef<int64_t> strides,
                   ArrayRef<int64_t> sizes, int64_t base, double *to,
                   int64_t step) {
  SmallVector<int64_t> position(sizes.size(), 0);
  int64_t address = base;
  while (true) {
    *to = tensor.getFloat(address);
    to += step;
    int64_t dim = int64_t(sizes.size()) - 1;
    for (; dim >= 0; --dim) {
      address += strides[dim];
      if (++position[dim] < sizes[dim])
        break;
      address -= strides[dim] * sizes[dim];
      position[dim] = 0;
    }
    if (dim < 0)
      return;
  }
}

/// Addresses of all positions of loops with these sizes, in order.
static std::vector<int64_t> getAddresses(ArrayRef<int64_t> strides,
                                         ArrayRef<int64_t> sizes) {
  std::vector<int64_t> addresses{0};
  for (auto [stride, size] : llvm::zip(strides, sizes)) {
    std::vector<int64_t> next;
    next.reserve(addresses.size() * size);
    for (int64_t address : addresses)
      for (int64_t i = 0; i < size; ++i)
        next.push_back(address + i * stride);
    addresses = std::move(next);
  }
  return addresses;
}

/// The number that all elements are multiples of.
static int getLowestBit(const Tensor &tensor) {
  int lowest = INT_MAX;
  for (int64_t i = 0; i < tensor.getNumElements(); ++i)
    lowest = std::min(lowest, getLowestBit(tensor.getFloat(i)));
  return lowest;
}

namespace {
/// Loops of one role, and the strides of the operands and the output along
/// them, zero where absent.
struct LoopGroup {
  SmallVector<int64_t> sizes, a, b, out;

  int64_t count() const {
    int64_t product = 1;
    for (int64_t size : sizes)
      product *= size;
    return product;
  }
};

/// out[batch, m, n] += a[batch, m, k] * b[batch, k, n].
struct Contraction {
  const Tensor *a, *b;
  LoopGroup batch, m, n, k;

  /// Nothing if the nest has another form.
  static std::optional<Contraction> match(const LoopNest &nest);
  Tensor run(const Tensor &initial, Disturber *disturber) const;

private:
  /// The number that products and initial values are multiples of; a product
  /// with zero is zero and needs no bits.
  int getLowestBit(const Tensor &initial) const;
};

/// A row of a times columns of b.
constexpr int64_t kPanel = 64;
struct PanelSums {
  double sums[kPanel] = {}, magnitudes[kPanel] = {};

  /// `others` has a panel's columns of b, row after row.
  void add(ArrayRef<double> values, const double *others, bool tracks) {
    for (double value : values) {
      for (int64_t column = 0; column < kPanel; ++column)
        sums[column] += value * others[column];
      if (tracks)
        for (int64_t column = 0; column < kPanel; ++column)
          magnitudes[column] += std::abs(value * others[column]);
      others += kPanel;
    }
  }
};
} // namespace

/// The strides of the tensor along each loop, if its map only picks loops.
static std::optional<SmallVector<int64_t>>
getLoopStrides(const LoopNest::Access &access, unsigned numLoops) {
  if (!access.map.isProjectedPermutation() ||
      !access.tensor.getElementType().isFloat())
    return std::nullopt;
  SmallVector<int64_t> tensorStrides = access.tensor.getStrides();
  SmallVector<int64_t> strides(numLoops, 0);
  for (auto [index, expr] : llvm::enumerate(access.map.getResults()))
    strides[cast<AffineDimExpr>(expr).getPosition()] = tensorStrides[index];
  return strides;
}

std::optional<Contraction> Contraction::match(const LoopNest &nest) {
  if (llvm::is_contained(nest.ranges, 0))
    return std::nullopt;
  unsigned numLoops = nest.ranges.size();
  const LoopNest::Access &inA = nest.inputs[0], &inB = nest.inputs[1];
  const LoopNest::Access &inOut = nest.outputs[0];
  auto a = getLoopStrides(inA, numLoops), b = getLoopStrides(inB, numLoops);
  auto out = getLoopStrides(inOut, numLoops);
  if (!a || !b || !out)
    return std::nullopt;
  Contraction result{&inA.tensor, &inB.tensor, {}, {}, {}, {}};
  for (unsigned loop = 0; loop < numLoops; ++loop) {
    bool ofA = inA.map.isFunctionOfDim(loop);
    bool ofB = inB.map.isFunctionOfDim(loop);
    bool ofOut = inOut.map.isFunctionOfDim(loop);
    LoopGroup *group = ofA && ofB && ofOut    ? &result.batch
                       : ofA && !ofB && ofOut ? &result.m
                       : !ofA && ofB && ofOut ? &result.n
                       : ofA && ofB           ? &result.k
                                              : nullptr;
    if (!group || nest.isReduction[loop] == ofOut)
      return std::nullopt;
    group->sizes.push_back(nest.ranges[loop]);
    group->a.push_back((*a)[loop]);
    group->b.push_back((*b)[loop]);
    group->out.push_back((*out)[loop]);
  }
  // The panels run along the longer side.
  if (result.m.count() > result.n.count()) {
    std::swap(result.a, result.b);
    std::swap(result.m, result.n);
    for (LoopGroup *group : {&result.batch, &result.m, &result.n, &result.k})
      std::swap(group->a, group->b);
  }
  return result;
}

int Contraction::getLowestBit(const Tensor &initial) const {
  int lowest = 1024;
  int bitA = interp::getLowestBit(*a), bitB = interp::getLowestBit(*b);
  if (bitA != INT_MAX && bitB != INT_MAX)
    lowest = bitA + bitB;
  return std::min(lowest, interp::getLowestBit(initial));
}

Tensor Contraction::run(const Tensor &initial, Disturber *disturber) const {
  int64_t numM = m.count(), numN = n.count(), numK = k.count();
  std::vector<double> packedA(numM * numK), packedB(numK * kPanel);
  std::vector<int64_t> aBatch = getAddresses(batch.a, batch.sizes);
  std::vector<int64_t> bBatch = getAddresses(batch.b, batch.sizes);
  std::vector<int64_t> outBatch = getAddresses(batch.out, batch.sizes);
  std::vector<int64_t> aRows = getAddresses(m.a, m.sizes);
  std::vector<int64_t> bColumns = getAddresses(n.b, n.sizes);
  std::vector<int64_t> outRows = getAddresses(m.out, m.sizes);
  std::vector<int64_t> outColumns = getAddresses(n.out, n.sizes);

  Tensor result = initial.clone();
  int lowestBit = disturber ? getLowestBit(result) : 0;
  // The panel's columns from `start` on, of one row.
  auto multiplyRow = [&](int64_t row, int64_t base, int64_t start) {
    ArrayRef columns =
        ArrayRef(outColumns).slice(start, std::min(kPanel, numN - start));
    PanelSums panel;
    for (auto [column, address] : llvm::enumerate(columns)) {
      panel.sums[column] = result.getFloat(base + address);
      panel.magnitudes[column] = std::abs(panel.sums[column]);
    }
    panel.add(ArrayRef(packedA).slice(row * numK, numK), packedB.data(),
              disturber);
    for (auto [column, address] : llvm::enumerate(columns)) {
      double sum = panel.sums[column];
      if (disturber)
        sum = disturber->disturbSum(result.getElementType(), sum,
                                    panel.magnitudes[column], numK, lowestBit);
      result.setFloat(base + address, sum);
    }
  };
  for (size_t at = 0; at < outBatch.size(); ++at) {
    for (int64_t row = 0; row < numM; ++row)
      gather(*a, k.a, k.sizes, aBatch[at] + aRows[row], &packedA[row * numK],
             1);
    for (int64_t start = 0; start < numN; start += kPanel) {
      for (int64_t column = start; column < std::min(numN, start + kPanel);
           ++column)
        gather(*b, k.b, k.sizes, bBatch[at] + bColumns[column],
               &packedB[column - start], kPanel);
      for (int64_t row = 0; row < numM; ++row)
        multiplyRow(row, outBatch[at] + outRows[row], start);
    }
  }
  return result;
}

std::optional<Tensor> runContraction(const LoopNest &nest,
                                     Disturber *disturber) {
  std::optional<Contraction> contraction = Contraction::match(nest);
  if (!contraction)
    return std::nullopt;
  return contraction->run(nest.outputs[0].tensor, disturber);
}

} // namespace tp::interp
