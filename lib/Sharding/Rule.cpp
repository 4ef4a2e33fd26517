//===- Rule.cpp - Sharding rules: which dimensions move together ----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Projection between tensors and the factors of a rule. The question both ways
// is whether cutting the factors cuts the dimension at the same places: a
// product of factors is cut contiguously only if every factor is cut to single
// positions before the next one is cut at all, and an uneven cut of a factor
// is an uneven cut of the dimension only if nothing is major to it.
//
// Example: a dimension of 32 = (g 8)(r 4) on "tp" = 16 puts "tp":(1)8 on g and
// "tp":(8)2 on r; on "tp" = 4, all of it on g.
//
//===----------------------------------------------------------------------===//

#include "tp/Sharding/Rule.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>

using namespace tp;
using llvm::ArrayRef;
using llvm::SmallVector;

unsigned ShardingRule::addFactor(int64_t size, FactorKind kind,
                                 llvm::StringRef name, int64_t grain) {
  Factor factor;
  factor.size = size;
  factor.kind = kind;
  factor.grain = grain;
  factor.name = name.str();
  factors.push_back(std::move(factor));
  return factors.size() - 1;
}

/// The longest of the shards.
static int64_t cutSize(int64_t size, int64_t grain, int64_t shards) {
  int64_t grains = size / grain;
  return (grains + shards - 1) / shards * grain;
}

static int64_t getProduct(const ShardingRule &rule, ArrayRef<unsigned> dim) {
  int64_t product = 1;
  for (unsigned f : dim)
    product *= rule.factors[f].size;
  return product;
}

/// True if the last blocks of a dimension are short.
static bool isShort(const ShardingRule &rule, ArrayRef<unsigned> dim) {
  return !dim.empty() && rule.factors[dim.back()].total != 0;
}

int64_t tp::getDimSize(const ShardingRule &rule, ArrayRef<unsigned> dim) {
  return isShort(rule, dim) ? rule.factors[dim.back()].total
                            : getProduct(rule, dim);
}

SmallVector<int64_t> tp::getRuleShape(const ShardingRule &rule,
                                      const TensorFactors &tensor) {
  return llvm::map_to_vector(tensor.dims, [&](ArrayRef<unsigned> dim) {
    return getDimSize(rule, dim);
  });
}

bool tp::isIterated(const ShardingRule &rule, unsigned f) {
  auto has = [&](const TensorFactors &tensor) {
    return llvm::any_of(tensor.dims, [&](ArrayRef<unsigned> dim) {
      return llvm::is_contained(dim, f);
    });
  };
  return rule.factors[f].kind != FactorKind::Whole ||
         llvm::count_if(rule.operands, has) +
                 llvm::count_if(rule.results, has) !=
             1;
}

//===----------------------------------------------------------------------===//
// Well-formedness
//===----------------------------------------------------------------------===//

/// Blocks are as long as shards of the dimension, and must not be cut.
static bool hasSoundBlocks(const ShardingRule &rule, ArrayRef<unsigned> dim) {
  if (!isShort(rule, dim))
    return true;
  const Factor &block = rule.factors[dim.back()];
  return dim.size() == 2 && block.kind == FactorKind::Whole &&
         block.size == cutSize(block.total, 1, rule.factors[dim.front()].size);
}

static std::string verifyTensor(const ShardingRule &rule,
                                const TensorFactors &tensor,
                                ArrayRef<int64_t> shape,
                                const std::string &what) {
  if (tensor.dims.size() != shape.size())
    return what + ": expected factors of " + std::to_string(shape.size()) +
           " dimensions, got " + std::to_string(tensor.dims.size());
  SmallVector<bool> seen(rule.factors.size(), false);
  for (auto [d, list] : llvm::enumerate(tensor.dims)) {
    std::string where = what + " dimension " + std::to_string(d);
    for (unsigned f : list) {
      if (f >= rule.factors.size())
        return where + ": expected one of " +
               std::to_string(rule.factors.size()) + " factors, got number " +
               std::to_string(f);
      if (seen[f] && rule.factors[f].kind != FactorKind::Whole)
        return where + ": factor " + std::to_string(f) +
               " is in one tensor twice, which only a whole factor may be";
      seen[f] = true;
    }
    if (!hasSoundBlocks(rule, list))
      return where +
             ": expected short blocks to be whole, the minor factor of "
             "two, and as long as shards of " +
             std::to_string(rule.factors[list.back()].total);
    if (int64_t size = getDimSize(rule, list); size != shape[d])
      return where + ": expected size " + std::to_string(size) +
             ", the product of its factors, got " + std::to_string(shape[d]);
  }
  return "";
}

/// A result that lacks a parallel factor is a sum over it, and a value combines
/// in one way.
static std::string verifySums(const ShardingRule &rule) {
  for (unsigned result = 0; result < rule.results.size(); ++result)
    for (unsigned f = 0; f < rule.factors.size(); ++f) {
      if (!isSummedIn(rule, f, result))
        continue;
      for (auto [other, factor] : llvm::enumerate(rule.factors))
        if ((other == f || factor.kind == FactorKind::Reduction) &&
            factor.reduction != ReductionKind::Sum)
          return "factor " + std::to_string(f) + " is summed in result " +
                 std::to_string(result) + ", beside which factor " +
                 std::to_string(other) + " must be summed too";
    }
  return "";
}

std::string tp::verifyRule(const ShardingRule &rule,
                           ArrayRef<SmallVector<int64_t>> operandShapes,
                           ArrayRef<SmallVector<int64_t>> resultShapes) {
  if (rule.operands.size() != operandShapes.size() ||
      rule.results.size() != resultShapes.size())
    return "expected a rule of " + std::to_string(operandShapes.size()) +
           " operands and " + std::to_string(resultShapes.size()) +
           " results, got " + std::to_string(rule.operands.size()) + " and " +
           std::to_string(rule.results.size());
  if (rule.linearity.size() != rule.operands.size())
    return "expected the linearity of " + std::to_string(rule.operands.size()) +
           " operands, got " + std::to_string(rule.linearity.size());
  for (auto [f, factor] : llvm::enumerate(rule.factors))
    if (factor.grain < 1 || factor.size % factor.grain != 0)
      return "factor " + std::to_string(f) +
             ": expected a grain that divides " + std::to_string(factor.size) +
             ", got " + std::to_string(factor.grain);
  for (auto [i, tensor] : llvm::enumerate(rule.operands)) {
    std::string why = verifyTensor(rule, tensor, operandShapes[i],
                                   "operand " + std::to_string(i));
    if (!why.empty())
      return why;
  }
  SmallVector<bool> inResult(rule.factors.size(), false);
  for (auto [i, tensor] : llvm::enumerate(rule.results)) {
    std::string why = verifyTensor(rule, tensor, resultShapes[i],
                                   "result " + std::to_string(i));
    if (!why.empty())
      return why;
    for (const auto &list : tensor.dims)
      for (unsigned f : list)
        inResult[f] = true;
  }
  for (auto [f, factor] : llvm::enumerate(rule.factors)) {
    if (factor.kind == FactorKind::Reduction && inResult[f])
      return "factor " + std::to_string(f) +
             " is a reduction but is in a result";
    if (factor.kind == FactorKind::Parallel && !inResult[f] && factor.size > 1)
      return "factor " + std::to_string(f) +
             " is parallel but is in no result: what is summed away is a "
             "reduction, what must not be cut is whole";
  }
  return verifySums(rule);
}

//===----------------------------------------------------------------------===//
// Projection
//===----------------------------------------------------------------------===//

/// The leading part of `axes` that cuts `count` positions evenly.
static AxisList takeEvenPart(ArrayRef<AxisRef> axes, int64_t count) {
  AxisList part;
  for (const AxisRef &ref : axes) {
    int64_t common = std::gcd(ref.size, count);
    if (common > 1)
      part.push_back({ref.axis, ref.pre, common});
    if (common != ref.size)
      break;
    count /= common;
  }
  return part;
}

/// True if `shards` shards of a dimension are as many blocks each.
static bool cutsBlocks(const ShardingRule &rule, ArrayRef<unsigned> list,
                       int64_t shards) {
  const Factor &major = rule.factors[list.front()];
  const Factor &block = rule.factors[list.back()];
  return shards <= major.size / major.grain &&
         cutSize(major.size, major.grain, shards) * block.size ==
             cutSize(block.total, 1, shards);
}

/// The grain in which `factor`, with `minor` elements at each position, or a
/// block of `positions` of it, is cut where the dimension is cut in parts of
/// `part` elements: the rule's own, the tensor's, or nothing.
static std::optional<int64_t> findGrain(const Factor &factor, int64_t positions,
                                        int64_t minor, int64_t tensorGrain,
                                        int64_t shards, int64_t part) {
  int64_t own = tensorGrain % minor == 0 ? tensorGrain / minor : 1;
  for (int64_t grain : {factor.grain, own})
    if (grain % factor.grain == 0 && positions % grain == 0 &&
        cutSize(positions, grain, shards) * minor == part)
      return grain;
  return std::nullopt;
}

/// Put the axes of a dimension that is cut in blocks on its factors: all of
/// them on the first factor where the blocks are parts of it, or the outer ones
/// on that and the inner ones on the next where that one is the block.
static bool projectBlocks(const ShardingRule &rule, ArrayRef<unsigned> list,
                          int64_t size, const DimSharding &dim,
                          FactorShardings &result) {
  auto factors = llvm::filter_to_vector(
      list, [&](unsigned f) { return rule.factors[f].size != 1; });
  auto parts = splitLeading(canonicalize(dim.axes), dim.outer);
  if (factors.empty() || isShort(rule, list) || !parts)
    return false;
  const Factor &first = rule.factors[factors[0]];
  int64_t minor = size / first.size, inner = dim.getInner();
  int64_t part = cutSize(dim.block, dim.grain, inner);
  auto formOf = [&](const Factor &factor, int64_t positions) {
    std::optional<int64_t> grain =
        findGrain(factor, positions, minor, dim.grain, inner, part);
    CutForm form;
    if (grain)
      form.grain = *grain == factor.grain ? 1 : *grain;
    return grain && factor.kind != FactorKind::Whole
               ? std::optional<CutForm>(form)
               : std::nullopt;
  };
  if (dim.block > minor) {
    auto form = formOf(first, dim.block / minor);
    if (!form || dim.block % minor != 0)
      return false;
    form->block = dim.block / minor;
    form->outer = dim.outer;
    result.axes[factors[0]] = canonicalize(dim.axes);
    result.forms[factors[0]] = *form;
    return true;
  }
  if (dim.block != minor || factors.size() < 2 || first.grain != 1 ||
      !canShard(first, parts->first))
    return false;
  const Factor &second = rule.factors[factors[1]];
  minor /= second.size;
  auto form = formOf(second, second.size);
  if (!form)
    return false;
  form->isInner = true;
  result.axes[factors[0]] = canonicalize(parts->first);
  result.axes[factors[1]] = canonicalize(parts->second);
  result.forms[factors[1]] = *form;
  return true;
}

/// Put the axes of one dimension on its factors; false if some do not fit.
static bool projectDim(const ShardingRule &rule, ArrayRef<unsigned> list,
                       int64_t size, const DimSharding &dim,
                       FactorShardings &result) {
  if (dim.hasBlocks())
    return projectBlocks(rule, list, size, dim, result);
  AxisList axes = canonicalize(dim.axes);
  int64_t local = getLocalSize(size, dim), minor = size;
  if (isShort(rule, list) && !axes.empty()) {
    int64_t shards = getShardCount(axes);
    if (local != cutSize(size, 1, shards) || !cutsBlocks(rule, list, shards))
      return false;
    result.axes[list.front()] = axes;
    return true;
  }
  bool even = local * getShardCount(axes) == size, isMajor = true;
  for (unsigned f : list) {
    if (axes.empty())
      return true;
    const Factor &factor = rule.factors[f];
    if (factor.size == 1)
      continue;
    if (factor.kind == FactorKind::Whole)
      return false;
    minor /= factor.size;
    int64_t shards = getShardCount(axes);
    if (even && factor.size / factor.grain % shards == 0) {
      result.axes[f] = axes;
      return true;
    }
    // An uneven cut, in the rule's grain or in the tensor's own coarser one.
    if (isMajor && canShard(factor, axes)) {
      if (auto grain =
              findGrain(factor, factor.size, minor, dim.grain, shards, local)) {
        result.axes[f] = axes;
        result.forms[f].grain = *grain == factor.grain ? 1 : *grain;
        return true;
      }
    }
    auto parts = factor.grain == 1 && even ? splitLeading(axes, factor.size)
                                           : std::nullopt;
    if (!parts) {
      result.axes[f] = takeEvenPart(axes, factor.size / factor.grain);
      return false;
    }
    result.axes[f] = canonicalize(parts->first);
    axes = canonicalize(parts->second);
    isMajor = false;
  }
  return axes.empty();
}

Projection tp::projectToFactors(const ShardingRule &rule,
                                const TensorFactors &tensor,
                                ArrayRef<int64_t> shape,
                                const TensorSharding &sharding) {
  Projection projection;
  projection.factors = FactorShardings(rule.factors.size());
  for (auto [d, list] : llvm::enumerate(tensor.dims)) {
    if (projectDim(rule, list, shape[d], sharding.dims[d], projection.factors))
      continue;
    projection.complete = false;
    if (!projection.misfit)
      projection.misfit = d;
  }
  return projection;
}

std::optional<TensorSharding>
tp::projectToTensor(const ShardingRule &rule, const TensorFactors &tensor,
                    ArrayRef<int64_t> shape, const FactorShardings &factors) {
  TensorSharding sharding = TensorSharding::replicated(shape.size());
  for (auto [d, list] : llvm::enumerate(tensor.dims)) {
    DimSharding &dim = sharding.dims[d];
    int64_t minor = shape[d];
    if (isShort(rule, list)) {
      dim.axes.append(factors.axes[list.front()]);
      int64_t shards = getShardCount(dim.axes);
      if (shards > 1 && !cutsBlocks(rule, list, shards))
        return std::nullopt;
      continue;
    }
    // Nothing major to the factor / all that is major is cut to single
    // positions / number of factors so far.
    bool isMajor = true, contiguous = true;
    unsigned place = 0;
    for (unsigned f : list) {
      const Factor &factor = rule.factors[f];
      if (factor.size == 1)
        continue;
      minor /= factor.size;
      DimSharding cut = getFactorCut(rule, factors, f);
      int64_t shards = getShardCount(cut.axes);
      bool isEven = factor.size / cut.grain % shards == 0;
      if (shards > 1 && (dim.hasBlocks() || (cut.hasBlocks() && !isMajor)))
        return std::nullopt;
      if (shards > 1 && cut.hasBlocks()) {
        dim = {cut.axes, cut.grain * minor, false, cut.block * minor,
               cut.outer};
      } else if (shards > 1 && (isMajor || (contiguous && isEven))) {
        if (!isEven)
          dim.grain = cut.grain * minor;
        dim.axes.append(cut.axes);
      } else if (shards > 1) {
        // Within the blocks of the first factor.
        bool isBlock = place == 1 && dim.grain <= factor.size * minor;
        if (!factors.forms[f].isInner || !isBlock)
          return std::nullopt;
        dim.block = factor.size * minor;
        dim.outer = getShardCount(dim.axes);
        dim.grain = cut.grain * minor;
        dim.axes.append(cut.axes);
      }
      contiguous = contiguous && shards == factor.size;
      isMajor = false;
      ++place;
    }
  }
  sharding.normalize(shape);
  return sharding;
}

AxisList tp::getPartialAxes(const ShardingRule &rule,
                            const FactorShardings &factors) {
  AxisList partial;
  for (auto [factor, axes] : llvm::zip_equal(rule.factors, factors.axes))
    if (factor.kind == FactorKind::Reduction)
      partial.append(axes);
  llvm::sort(partial);
  return canonicalize(partial);
}

bool tp::isSummedIn(const ShardingRule &rule, unsigned factor,
                    unsigned result) {
  if (rule.factors[factor].kind != FactorKind::Parallel ||
      rule.factors[factor].size == 1)
    return false;
  return !llvm::any_of(rule.results[result].dims, [&](const auto &dim) {
    return llvm::is_contained(dim, factor);
  });
}

bool tp::isReduced(const ShardingRule &rule, unsigned factor) {
  if (rule.factors[factor].kind == FactorKind::Reduction)
    return true;
  for (unsigned result = 0; result < rule.results.size(); ++result)
    if (isSummedIn(rule, factor, result))
      return true;
  return false;
}

AxisList tp::getOwnPartialAxes(const ShardingRule &rule,
                               const FactorShardings &factors,
                               unsigned result) {
  AxisList partial;
  for (auto [f, axes] : llvm::enumerate(factors.axes))
    if (isSummedIn(rule, f, result))
      partial.append(axes);
  llvm::sort(partial);
  return canonicalize(partial);
}

AxisList tp::getOwnPartialAxes(const ShardingRule &rule,
                               const FactorShardings &factors) {
  AxisList partial;
  for (auto [f, axes] : llvm::enumerate(factors.axes))
    if (rule.factors[f].kind == FactorKind::Parallel && isReduced(rule, f))
      partial.append(axes);
  llvm::sort(partial);
  return canonicalize(partial);
}

bool tp::canShard(const Factor &factor, ArrayRef<AxisRef> axes,
                  const CutForm &form) {
  int64_t shards = getShardCount(axes);
  if (shards == 1)
    return true;
  if (factor.kind == FactorKind::Whole || factor.size % factor.grain != 0)
    return false;
  return form.block == 0 ||
         (factor.size % form.block == 0 && form.block % factor.grain == 0 &&
          shards % form.outer == 0);
}

DimSharding tp::getFactorCut(const ShardingRule &rule,
                             const FactorShardings &factors, unsigned f) {
  const CutForm &form = factors.forms[f];
  return {factors.axes[f], std::lcm(rule.factors[f].grain, form.grain), false,
          form.block, form.outer};
}

//===----------------------------------------------------------------------===//
// Merging the wishes of several tensors
//===----------------------------------------------------------------------===//

std::optional<AxisList> tp::mergeFactorAxes(ArrayRef<AxisRef> a,
                                            ArrayRef<AxisRef> b) {
  if (isPrefix(a, b))
    return canonicalize(b);
  if (isPrefix(b, a))
    return canonicalize(a);
  return std::nullopt;
}

AxisList tp::restrictToAvailable(ArrayRef<AxisRef> list,
                                 ArrayRef<AxisRef> used) {
  AxisList available;
  for (const AxisRef &ref : canonicalize(list)) {
    // The largest leading part of the axis that nothing overlaps.
    int64_t size = ref.size;
    for (; size > 1; --size)
      if (ref.size % size == 0 &&
          !overlap(AxisRef{ref.axis, ref.pre, size}, used))
        break;
    if (size > 1)
      available.push_back({ref.axis, ref.pre, size});
    if (size != ref.size)
      break;
  }
  return available;
}
