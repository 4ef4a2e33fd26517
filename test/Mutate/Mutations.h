//===- Mutations.h - One change to a per-rank program -----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each kind of mutation changes one thing at a place that chance picks: a
// collective, a sharding, a rule, an offset, a number, an operand. What makes
// such a change harmless is said beside it; where nothing is said, every change
// must be noticed.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_MUTATE_MUTATIONS_H
#define TP_TEST_MUTATE_MUTATIONS_H

#include "mlir/IR/BuiltinOps.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include <random>

namespace tp::mutate {

class Chance {
public:
  explicit Chance(uint64_t seed) : random(seed) {}
  int64_t below(int64_t bound) { return int64_t(random() % uint64_t(bound)); }
  bool half() { return below(2) == 0; }
  template <typename List>
  auto pick(const List &list) {
    return list[below(list.size())];
  }

private:
  std::mt19937_64 random;
};

/// The check that notices a wrong mutant of some kind.
enum class Noticed {
  /// MLIR's verifier or tp-verify-partitioned: the program says what was meant.
  ByVerifier,
  /// The comparison, if nothing else does: the one-device program alone says
  /// it.
  ByComparison
};

struct Mutation {
  llvm::StringRef kind;
  /// Change one thing; says which. Empty if there is no such thing to change.
  std::string (*apply)(mlir::ModuleOp module, const Mesh &mesh, Chance &chance);
  /// Why a mutant may compute the same; empty if none may.
  llvm::StringRef whyEqual;
  Noticed noticed = Noticed::ByVerifier;
};

/// Mutations of collectives, slices and tp.keep_first (MutateSteps.cpp).
llvm::ArrayRef<Mutation> getStepMutations();
/// Mutations of shardings, types and rules (MutateAttributes.cpp).
llvm::ArrayRef<Mutation> getAttributeMutations();
/// Mutations of offsets, masks, numbers and operands (MutateValues.cpp).
llvm::ArrayRef<Mutation> getValueMutations();

/// Another sharding: an axis added, dropped, moved to another dimension or
/// changed, or what is partial. Null if chance found none.
ShardingAttr changeSharding(ShardingAttr old, const Mesh &mesh, Chance &chance);
/// Axes other than `axes`.
AxisList changeAxes(llvm::ArrayRef<AxisRef> axes, const Mesh &mesh,
                    Chance &chance);
/// "tp.all_reduce 3" or "arith.addf": an operation for messages.
std::string describe(mlir::Operation *op);

} // namespace tp::mutate

#endif // TP_TEST_MUTATE_MUTATIONS_H
