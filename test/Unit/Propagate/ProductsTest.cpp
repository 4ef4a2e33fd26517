//===- ProductsTest.cpp - Rules of several results against numbers --------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random operations result_r = old_r + sum of the product of all operands,
// over the factors that result r lacks. Operands and results are cut and
// partial at random; what resolveFactors asks for and says is carried out rank
// by rank, and must put together what one device computes.
//
//===----------------------------------------------------------------------===//

#include "../Sharding/Simulate.h"
#include "tp/Resolve/Resolve.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"
#include <random>

using namespace tp;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {

using Numbers = std::vector<int64_t>;

bool hasFactor(const TensorFactors &tensor, unsigned factor) {
  return llvm::any_of(tensor.dims, [&](const auto &dim) {
    return llvm::is_contained(dim, factor);
  });
}

class Products {
public:
  explicit Products(unsigned seed) : random(seed) {
    for (unsigned f = 0; f < 4; ++f)
      rule.addFactor(1 + below(6), FactorKind::Reduction);
    for (unsigned r = 0; r < 2; ++r)
      rule.results.push_back(draw());
    for (const TensorFactors &result : rule.results)
      for (const auto &dim : result.dims)
        rule.factors[dim.front()].kind = FactorKind::Parallel;
    // Each factor is in one of them, so that padding adds zeros.
    TensorFactors first = draw(), second = draw();
    for (unsigned f = 0; f < 4; ++f)
      if (!hasFactor(first, f) && !hasFactor(second, f))
        first.dims.push_back({f});
    add(first, Linearity::Multilinear);
    add(second, Linearity::Multilinear);
    for (unsigned r = 0; r < 2; ++r)
      add(rule.results[r], Linearity::Additive);
    for (const TensorFactors &result : rule.results)
      results.push_back(getRuleShape(rule, result));
  }

  void check();
  /// True if some result alone is partial.
  bool isApart = false;

private:
  int64_t below(int64_t end) { return int64_t(random() % uint64_t(end)); }
  TensorFactors draw() {
    TensorFactors tensor;
    for (unsigned f = 0; f < 4; ++f)
      if (below(3) != 0)
        tensor.dims.push_back({f});
    return tensor;
  }
  void add(const TensorFactors &tensor, Linearity linearity) {
    rule.operands.push_back(tensor);
    rule.linearity.push_back(linearity);
    operands.push_back(getRuleShape(rule, tensor));
  }
  TensorSharding drawSharding(ArrayRef<int64_t> shape);
  std::string describe(ArrayRef<TensorSharding> from,
                       ArrayRef<TensorSharding> to,
                       const ResolvedOp &resolved) const;
  /// Each result of operands of these shapes, factor by factor.
  std::vector<Numbers> compute(ArrayRef<Numbers> given,
                               ArrayRef<int64_t> sizes);

  std::mt19937_64 random;
  const Mesh mesh{{{"x", 2}, {"y", 3}}};
  ShardingRule rule;
  SmallVector<SmallVector<int64_t>> operands, results;
};

} // namespace

TensorSharding Products::drawSharding(ArrayRef<int64_t> shape) {
  TensorSharding sharding = TensorSharding::replicated(shape.size());
  for (unsigned axis : {0u, 1u}) {
    int64_t place = below(int64_t(shape.size()) + 2);
    if (place == int64_t(shape.size()))
      sharding.partial.push_back(mesh.getWhole(axis));
    else if (place < int64_t(shape.size()) &&
             getShardCount(sharding.dims[place].axes) *
                     mesh.getAxis(axis).size <=
                 shape[place])
      sharding.dims[place].axes.push_back(mesh.getWhole(axis));
  }
  return sharding;
}

std::string Products::describe(ArrayRef<TensorSharding> from,
                               ArrayRef<TensorSharding> to,
                               const ResolvedOp &resolved) const {
  std::string text;
  auto add = [&](const TensorFactors &tensor, const TensorSharding &sharding) {
    for (const auto &dim : tensor.dims)
      text += "f" + std::to_string(dim.front()) + "=" +
              std::to_string(rule.factors[dim.front()].size) + " ";
    text += toString(sharding, mesh);
  };
  for (auto [i, sharding] : llvm::enumerate(from)) {
    add(rule.operands[i], sharding);
    text += " to " +
            toString(getRequiredOperandSharding(rule, i, resolved, operands[i]),
                     mesh) +
            "; ";
  }
  for (auto [i, sharding] : llvm::enumerate(to)) {
    add(rule.results[i], sharding);
    text += "; ";
  }
  return text;
}

std::vector<Numbers> Products::compute(ArrayRef<Numbers> given,
                                       ArrayRef<int64_t> sizes) {
  auto at = [&](const TensorFactors &tensor, ArrayRef<int64_t> index) {
    int64_t position = 0;
    for (const auto &dim : tensor.dims)
      position = position * sizes[dim.front()] + index[dim.front()];
    return position;
  };
  std::vector<Numbers> made{given[2], given[3]};
  forEachIndex(sizes, [&](llvm::MutableArrayRef<int64_t> index, int64_t) {
    int64_t product = given[0][at(rule.operands[0], index)] *
                      given[1][at(rule.operands[1], index)];
    for (unsigned r = 0; r < 2; ++r)
      made[r][at(rule.results[r], index)] += product;
  });
  return made;
}

void Products::check() {
  ASSERT_EQ(verifyRule(rule, operands, results), "");
  SmallVector<TensorSharding, 4> from, to;
  for (const auto &shape : operands)
    from.push_back(drawSharding(shape));
  for (const auto &shape : results)
    to.push_back(drawSharding(shape));
  ResolvedOp resolved = resolveFactors(rule, from, to, operands, results);

  SmallVector<int64_t> sizes, localSizes;
  for (auto [f, factor] : llvm::enumerate(rule.factors)) {
    sizes.push_back(factor.size);
    localSizes.push_back(
        getLocalSize(factor.size, {resolved.factors.axes[f], 1, false}));
  }
  std::vector<Numbers> global;
  std::vector<RankBuffers<int64_t>> local;
  auto split = [&](int64_t value, llvm::MutableArrayRef<int64_t> addends) {
    for (int64_t &addend : addends.drop_front())
      value -= addend = below(100) - 50;
    addends[0] = value;
  };
  for (auto [i, shape] : llvm::enumerate(operands)) {
    int64_t size = 1;
    for (int64_t dim : shape)
      size *= dim;
    Numbers &numbers = global.emplace_back();
    for (int64_t k = 0; k < size; ++k)
      numbers.push_back(below(20) - 10);
    TensorSharding need = getRequiredOperandSharding(rule, i, resolved, shape);
    ASSERT_EQ(verifySharding(shape, need, mesh), "");
    local.push_back(
        distribute<int64_t>(numbers, shape, need, mesh, int64_t(0), split));
  }
  std::vector<RankBuffers<int64_t>> made(2);
  for (int64_t rank = 0; rank < mesh.getNumRanks(); ++rank) {
    std::vector<Numbers> own;
    for (const auto &buffers : local)
      own.push_back(buffers[rank]);
    std::vector<Numbers> results = compute(own, localSizes);
    for (unsigned r = 0; r < 2; ++r)
      made[r].push_back(results[r]);
  }
  std::vector<Numbers> want = compute(global, sizes);
  SmallVector<TensorSharding, 2> give;
  for (unsigned r = 0; r < 2; ++r) {
    give.push_back(getProducedSharding(rule, r, resolved, results[r]));
    ASSERT_EQ(verifySharding(results[r], give[r], mesh), "");
    EXPECT_EQ(assemble(made[r], results[r], give[r], mesh), want[r])
        << "result " << r << " is not " << toString(give[r], mesh) << ": "
        << describe(from, to, resolved);
  }
  isApart = give[0].partial != give[1].partial;
}

TEST(Products, AreWhatTheirRulesSay) {
  unsigned numApart = 0;
  for (unsigned seed = 0; seed < 1500 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Products products(seed);
    products.check();
    numApart += products.isApart;
  }
  EXPECT_GT(numApart, 100u);
}
