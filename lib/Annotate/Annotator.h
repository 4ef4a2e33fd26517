//===- Annotator.h - The rules of a plan and what they match ----*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Annotate.cpp finds the tensors of a module and applies rules to them;
// CheckMatched.cpp reports rules that match nothing.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_ANNOTATE_ANNOTATOR_H
#define TP_LIB_ANNOTATE_ANNOTATOR_H

#include "Plan.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include <set>

namespace tp {

/// A tensor that rules may match.
struct RuleTarget {
  PlanRule::Kind kind = PlanRule::Kind::Value;
  /// Names to match against: of a parameter, all that it may have.
  llvm::SmallVector<std::string, 2> names;
  /// The location of a value.
  std::string at;
  mlir::RankedTensorType type;
  /// A parameter, or a state that begins with one; or the value; or neither, of
  /// a function's result.
  mlir::Operation *weight = nullptr;
  mlir::Value value;
  mlir::func::FuncOp function;
  unsigned index = 0;

  mlir::Location getLoc() const;
  ShardingAttr getSharding() const;
  void setSharding(ShardingAttr sharding) const;
};

/// Applies a plan to the tensors of a module.
class Annotator {
public:
  Annotator(MeshOp meshOp, const Plan &plan, bool allowsPadding)
      : meshOp(meshOp), mesh(meshOp.getMesh().toMesh()), plan(plan),
        allowsPadding(allowsPadding), matches(plan.rules.size(), 0) {}

  mlir::LogicalResult run(mlir::ModuleOp module);
  unsigned getNumAnnotated() const { return numAnnotated; }

private:
  void collect(mlir::ModuleOp module);
  void collectWeight(mlir::Operation *weight, mlir::RankedTensorType type);
  void collectResults(mlir::Operation *op);
  bool isMatch(const PlanRule &rule, const RuleTarget &target) const;
  mlir::LogicalResult apply(const PlanRule &rule, const RuleTarget &target);
  /// True if a built-in plan names every axis of the mesh: then one that it
  /// names besides is of one rank.
  bool knowsAllAxes() const;
  llvm::SmallVector<llvm::StringRef> getPlanAxes() const;
  mlir::LogicalResult refuseAxis(const PlanRule &rule, const RuleTarget &target,
                                 llvm::StringRef name);
  void reportPadding(llvm::StringRef what, int64_t size, int64_t shards);
  mlir::LogicalResult resolve(const PlanRule &rule, const PlanDim &dim,
                              const RuleTarget &target, unsigned index,
                              DimSharding &out);
  mlir::LogicalResult checkGeneration(mlir::ModuleOp module);
  /// Keep what rules with "kept" match and the derivative computes again.
  void keepMatched(mlir::ModuleOp module);
  mlir::LogicalResult checkMatched();
  void warnOfPatterns(const PlanRule &rule);
  /// Returns the earlier rule that takes all that `pattern` of a rule matches
  /// (any of its patterns if empty); null if the rule itself counts somewhere.
  const PlanRule *findEarlier(const PlanRule &rule,
                              llvm::StringRef pattern) const;
  /// Reports that a built-in plan has cut nothing.
  mlir::LogicalResult refuseUncut(mlir::ModuleOp module) const;
  llvm::SmallVector<std::string> getNearest(const PlanRule &rule,
                                            llvm::StringRef pattern) const;
  void reportUnnamed(mlir::ModuleOp module);
  /// No more shards than elements, now that the head counts have had their say.
  mlir::LogicalResult checkSizes();
  /// ", or plan 'megatron', which cuts dimension 1", if a built-in plan beside
  /// this one cuts a tensor into no more shards than it has elements.
  std::string nameOtherPlan(const RuleTarget &target) const;
  /// At the rule in the plan's file, with a note at what it is applied to, if
  /// anything; of a built-in plan there.
  mlir::InFlightDiagnostic error(const PlanRule &rule,
                                 const RuleTarget *target);

  MeshOp meshOp;
  Mesh mesh;
  const Plan &plan;
  bool allowsPadding;
  /// Sequences and batches whose padding was stated, and the ranks that share
  /// them.
  std::set<std::tuple<std::string, int64_t, int64_t>> reported;
  /// Weights that are cut between heads.
  llvm::SmallPtrSet<mlir::Operation *, 16> fitted;
  llvm::SmallVector<RuleTarget, 0> targets;
  llvm::SmallVector<unsigned> matches;
  unsigned numAnnotated = 0;
  llvm::SmallVector<std::pair<const PlanRule *, const RuleTarget *>> applied;
  /// Names of what the derivative computes again.
  llvm::SmallVector<std::string> notKept;
  /// Parameters that no rule matched and nobody annotated.
  llvm::SmallVector<llvm::StringRef> unnamed;
  /// True if a parameter or value is split.
  bool anySplit = false;
};

} // namespace tp

#endif // TP_LIB_ANNOTATE_ANNOTATOR_H
