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

/// What all elements are multiples of.
static int getLowestBit(const Tensor &tensor) {
  int lowest = INT_MAX;
  for (int64_t i = 0; i < tensor.getNumElements(); ++i)
    lowest = std::min(lowest, getLowestBit(tensor.getFloat(i)));
  return lowest;
}

std::optional<Tensor> runContraction(const LoopNest &nest,
                                     Disturber *disturber) {
  unsigned numLoops = nest.ranges.size();
  const LoopNest::Access *accesses[] = {&nest.inputs[0], &nest.inputs[1],
                                        &nest.outputs[0]};
  // Strides of a, b and the output along each loop, zero where absent.
  SmallVector<int64_t> strides[3];
  for (auto [access, stride] : llvm::zip(accesses, strides)) {
    if (!access->map.isProjectedPermutation() ||
        !access->tensor.getElementType().isFloat())
      return std::nullopt;
    SmallVector<int64_t> tensorStrides = access->tensor.getStrides();
    stride.assign(numLoops, 0);
    for (auto [index, expr] : llvm::enumerate(access->map.getResults()))
      stride[cast<AffineDimExpr>(expr).getPosition()] = tensorStrides[index];
  }
  if (llvm::is_contained(nest.ranges, 0))
    return std::nullopt;
  // Group the loops; `sizes` and the three strides of each group.
  struct Group {
    SmallVector<int64_t> sizes, a, b, out;
  } batch, m, n, k;
  auto isIn = [&](int tensor, unsigned loop) {
    return accesses[tensor]->map.isFunctionOfDim(loop);
  };
  for (unsigned loop = 0; loop < numLoops; ++loop) {
    bool inA = isIn(0, loop), inB = isIn(1, loop), inOut = isIn(2, loop);
    Group *group = inA && inB && inOut    ? &batch
                   : inA && !inB && inOut ? &m
                   : !inA && inB && inOut ? &n
                   : inA && inB           ? &k
                                          : nullptr;
    if (!group || nest.isReduction[loop] == inOut)
      return std::nullopt;
    group->sizes.push_back(nest.ranges[loop]);
    group->a.push_back(strides[0][loop]);
    group->b.push_back(strides[1][loop]);
    group->out.push_back(strides[2][loop]);
  }
  const Tensor *a = &nest.inputs[0].tensor, *b = &nest.inputs[1].tensor;
  auto count = [](const Group &group) {
    int64_t product = 1;
    for (int64_t size : group.sizes)
      product *= size;
    return product;
  };
  // The panels run along the longer side.
  if (count(m) > count(n)) {
    std::swap(a, b);
    std::swap(m, n);
    for (Group *group : {&batch, &m, &n, &k})
      std::swap(group->a, group->b);
  }
  int64_t numM = count(m), numN = count(n), numK = count(k);
  constexpr int64_t panel = 64;
  std::vector<double> packedA(numM * numK), packedB(numK * panel);
  std::vector<int64_t> aBatch = getAddresses(batch.a, batch.sizes);
  std::vector<int64_t> bBatch = getAddresses(batch.b, batch.sizes);
  std::vector<int64_t> outBatch = getAddresses(batch.out, batch.sizes);
  std::vector<int64_t> aRows = getAddresses(m.a, m.sizes);
  std::vector<int64_t> bColumns = getAddresses(n.b, n.sizes);
  std::vector<int64_t> outRows = getAddresses(m.out, m.sizes);
  std::vector<int64_t> outColumns = getAddresses(n.out, n.sizes);

  Tensor result = nest.outputs[0].tensor.clone();
  // Of products; a product with zero is zero and needs no bits.
  int lowestBit = 1024;
  if (disturber) {
    int bitA = getLowestBit(*a), bitB = getLowestBit(*b);
    if (bitA != INT_MAX && bitB != INT_MAX)
      lowestBit = bitA + bitB;
    lowestBit = std::min(lowestBit, getLowestBit(result));
  }
  for (size_t at = 0; at < outBatch.size(); ++at) {
    for (int64_t row = 0; row < numM; ++row)
      gather(*a, k.a, k.sizes, aBatch[at] + aRows[row], &packedA[row * numK],
             1);
    for (int64_t start = 0; start < numN; start += panel) {
      int64_t width = std::min(panel, numN - start);
      for (int64_t column = 0; column < width; ++column)
        gather(*b, k.b, k.sizes, bBatch[at] + bColumns[start + column],
               &packedB[column], panel);
      for (int64_t row = 0; row < numM; ++row) {
        int64_t base = outBatch[at] + outRows[row];
        double sums[panel] = {}, magnitudes[panel] = {};
        for (int64_t column = 0; column < width; ++column) {
          sums[column] = result.getFloat(base + outColumns[start + column]);
          magnitudes[column] = std::abs(sums[column]);
        }
        const double *values = &packedA[row * numK];
        for (int64_t i = 0; i < numK; ++i) {
          double value = values[i];
          const double *others = &packedB[i * panel];
          for (int64_t column = 0; column < panel; ++column)
            sums[column] += value * others[column];
          if (disturber)
            for (int64_t column = 0; column < panel; ++column)
              magnitudes[column] += std::abs(value * others[column]);
        }
        for (int64_t column = 0; column < width; ++column) {
          if (disturber)
            sums[column] =
                disturber->disturbSum(result.getElementType(), sums[column],
                                      magnitudes[column], numK, lowestBit);
          result.setFloat(base + outColumns[start + column], sums[column]);
        }
      }
    }
  }
  return result;
}

} // namespace tp::interp
