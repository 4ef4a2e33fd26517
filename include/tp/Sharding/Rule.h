//===- Rule.h - Which dimensions of an operation move together --*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A rule is an einsum over factors. A linear layer is
//
//   x[b, s, k], w[n, k] -> y[b, s, n]     b, s, n parallel; k reduction
//
// A dimension may be a product of factors, major first: splitting [b, s, h*d]
// into heads is x[b, s, (h d)] -> y[b, s, h, d], and query heads that share KV
// heads are q[b, s, (g r), d], k[b, t, g, d]: axes on the query heads fall on
// the KV heads g first and on r, the queries of one KV head, after that, which
// is how 16 ranks share 8 KV heads. The last blocks of a product may be short:
// logits[r, (s l)] -> records[s, r] takes 131 columns as 3 blocks of 44, 44 and
// 43, which is how 3 ranks hold them. Sharding a factor shards every dimension
// it is in; sharding a reduction factor makes the results partial. A parallel
// factor that a result lacks is summed in that result, which alone is partial
// then: a norm's backward is x[b, s, h], dy[b, s, h] -> dx[b, s, h], dw[h].
// From the rule follow propagation in all directions, the local operation and
// its cost.
//
//===----------------------------------------------------------------------===//

#ifndef TP_SHARDING_RULE_H
#define TP_SHARDING_RULE_H

#include "tp/Sharding/Sharding.h"

namespace tp {

enum class FactorKind {
  /// Results on different positions are independent. A result that lacks it is
  /// the sum over it.
  Parallel,
  /// Summed (or maximised, minimised) away: sharding it makes results partial.
  Reduction,
  /// Must not be split, such as the normalised dimension of a norm.
  Whole,
};

struct Factor {
  int64_t size = 1;
  FactorKind kind = FactorKind::Parallel;
  /// Only multiples of this many positions may be cut apart.
  int64_t grain = 1;
  /// For reductions.
  ReductionKind reduction = ReductionKind::Sum;
  /// The operation reads its position along the factor (an iota, a causal mask,
  /// a table look-up): the local operation needs the shard's offset.
  bool readsIndex = false;
  /// For the minor factor of a product (s l) with blocks of l positions: the
  /// size of the dimension, where the last blocks are short of it or empty (131
  /// of 3 * 44); 0 where the product is the dimension.
  int64_t total = 0;
  /// A name for diagnostics and the ledger: "k", "heads", "vocabulary".
  std::string name;
};

/// How an operation treats a partial operand.
enum class Linearity {
  /// Not linear: the operand must be complete.
  None,
  /// f(a + b, y) = f(a, y) + f(b, y) with the other operands fixed: if exactly
  /// one such operand is partial, the results are (matmul, scale, cast, slice).
  Multilinear,
  /// f(a + b, c + d) = f(a, c) + f(b, d): all additive operands are partial
  /// together, or a complete one among them counts on one rank only (add, a
  /// bias,
  /// the initial value of a reduction). Beside multilinear operands (x and w of
  /// x w + bias) it may be partial only where one of those is. Where a
  /// reduction factor is sharded
  /// that the operand does not carry, it counts on one rank only.
  Additive,
  /// Added once to a sum whose terms are not linear in the other operands (the
  /// initial value of a sum of exponentials), or the initial value of a maximum
  /// or minimum: must be complete, and counts on one rank only (of a maximum,
  /// may be what each rank has of it) where a reduction factor is sharded.
  Initial,
};
/// True if the operand must count on one rank only (tp.keep_first) where a
/// reduction factor is sharded that it does not carry.
inline bool countsOnce(Linearity linearity) {
  return linearity == Linearity::Additive || linearity == Linearity::Initial;
}

/// The factors of each dimension of one tensor, major first. No factors: a
/// dimension of size one that has nothing to do with the others.
struct TensorFactors {
  llvm::SmallVector<llvm::SmallVector<unsigned, 2>, 4> dims;
};

struct ShardingRule {
  llvm::SmallVector<Factor, 4> factors;
  llvm::SmallVector<TensorFactors, 4> operands;
  llvm::SmallVector<TensorFactors, 2> results;
  /// One per operand; operands that are not tensors are None.
  llvm::SmallVector<Linearity, 4> linearity;

  unsigned addFactor(int64_t size, FactorKind kind = FactorKind::Parallel,
                     llvm::StringRef name = "", int64_t grain = 1);
};

/// The size of a dimension with these factors, and of all of a tensor's.
int64_t getDimSize(const ShardingRule &rule, llvm::ArrayRef<unsigned> dim);
llvm::SmallVector<int64_t> getRuleShape(const ShardingRule &rule,
                                        const TensorFactors &tensor);

/// True if the operation has a loop over factor `f`. A whole factor that one
/// tensor alone has is a dimension of a table that is looked up in.
bool isIterated(const ShardingRule &rule, unsigned f);

/// The places at which the axes of a factor cut it, if not at its own grain.
struct CutForm {
  /// The grain, where it is coarser than the rule's own and makes the cut
  /// another one (uneven heads passing through a linear layer that knows of no
  /// heads); 1 elsewhere.
  int64_t grain = 1;
  /// Blocks that are cut on their own, as in DimSharding.
  int64_t block = 0, outer = 1;
  /// The factor is minor to one that is cut, but not to single positions: its
  /// product with that one is cut in blocks.
  bool isInner = false;

  bool operator==(const CutForm &other) const = default;
};

/// The axes that cut each factor of a rule, major first, and where.
struct FactorShardings {
  llvm::SmallVector<AxisList, 4> axes;
  llvm::SmallVector<CutForm, 4> forms;

  FactorShardings() = default;
  /// Nothing cut.
  explicit FactorShardings(size_t numFactors)
      : axes(numFactors), forms(numFactors) {}
  bool operator==(const FactorShardings &other) const = default;
};

/// The cut of factor `f` as that of a dimension of its size.
DimSharding getFactorCut(const ShardingRule &rule,
                         const FactorShardings &factors, unsigned f);

/// Why `rule` is not well formed for tensors of these shapes (a product of
/// factors that is not the dimension, a factor of two sizes); empty if it is.
std::string verifyRule(const ShardingRule &rule,
                       llvm::ArrayRef<llvm::SmallVector<int64_t>> operandShapes,
                       llvm::ArrayRef<llvm::SmallVector<int64_t>> resultShapes);

/// The part of `sharding` that each factor of the tensor carries. Axes of a
/// product of factors fall on the major factor until its size is used up, an
/// axis being cut into sub-axes where the boundary falls within it. `complete`
/// is false if some axes fit no factor, or would cut it elsewhere than the
/// tensor is cut (the tensor then has to be resharded): the leading part that
/// fits is kept, the rest is dropped. Nothing falls on a Whole factor. Partial
/// axes are not looked at.
struct Projection {
  FactorShardings factors;
  bool complete = true;
  /// The first dimension that did not fit, for messages.
  std::optional<unsigned> misfit;
};
Projection projectToFactors(const ShardingRule &rule,
                            const TensorFactors &tensor,
                            llvm::ArrayRef<int64_t> shape,
                            const TensorSharding &sharding);

/// The sharding that a tensor has when the rule's factors are cut so. Minor
/// factors of a product keep their axes only if the major ones are cut to their
/// full size or not at all beyond them, or if they are inner ones (CutForm) of
/// the first factor's blocks; any other product that is not contiguous cannot
/// be a sharding: nothing is returned. Dimensions come out closed. `partial` is
/// left empty: see getPartialAxes.
std::optional<TensorSharding> projectToTensor(const ShardingRule &rule,
                                              const TensorFactors &tensor,
                                              llvm::ArrayRef<int64_t> shape,
                                              const FactorShardings &factors);

/// Axes on reduction factors, in the mesh's order: those over which all results
/// are partial.
AxisList getPartialAxes(const ShardingRule &rule,
                        const FactorShardings &factors);

/// True if `factor` is parallel in another result and summed away in this one.
bool isSummedIn(const ShardingRule &rule, unsigned factor, unsigned result);
/// True if some result does not have `factor` because it is reduced. An operand
/// that counts once and lacks it too is added to those results.
bool isReduced(const ShardingRule &rule, unsigned factor);
/// Axes on factors summed in `result`: those over which this result alone is a
/// partial sum.
AxisList getOwnPartialAxes(const ShardingRule &rule,
                           const FactorShardings &factors, unsigned result);
/// The axes over which any result is partial by the operation itself.
AxisList getOwnPartialAxes(const ShardingRule &rule,
                           const FactorShardings &factors);

/// Returns true if `factor` may be cut by `axes`, into the blocks of `form`:
/// its kind and its grain allow it. Cuts may be uneven, and the last shards
/// empty.
bool canShard(const Factor &factor, llvm::ArrayRef<AxisRef> axes,
              const CutForm &form = {});

/// The longer of two axis lists if one is a leading part of the other, so that
/// both wishes for a factor can be met by cutting further; nothing if they are
/// in conflict.
std::optional<AxisList> mergeFactorAxes(llvm::ArrayRef<AxisRef> a,
                                        llvm::ArrayRef<AxisRef> b);

/// The longest leading part of `list` that shares nothing with `used`; an axis
/// is cut into sub-axes where only its minor part is taken.
AxisList restrictToAvailable(llvm::ArrayRef<AxisRef> list,
                             llvm::ArrayRef<AxisRef> used);

} // namespace tp

#endif // TP_SHARDING_RULE_H
