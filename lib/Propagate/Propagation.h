//===- Propagation.h - The state that propagation works on ------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values and the nodes that tie them. A node is an operation with its sharding
// rule, or a tie between values that have one sharding (the initial, carried
// and yielded value of tp.repeat, a function's returned value and its result),
// which is a rule too: the identity. Values that are one by construction (a
// carried value and the result of tp.repeat, two uses of one parameter) are one
// state.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_PROPAGATE_PROPAGATION_H
#define TP_LIB_PROPAGATE_PROPAGATION_H

#include "mlir/IR/BuiltinOps.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "tp/Resolve/Provenance.h"
#include "tp/Sharding/Rule.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include <vector>

namespace tp {

/// An annotation: where the axes come from.
struct Seed {
  std::string text;
  /// Parameters' annotations first (0), then all others (1).
  unsigned priority;
};
inline constexpr unsigned numPriorities = 2;

/// Why a mesh axis is in the sharding of a value.
struct AxisReason {
  unsigned axis;
  int seed;
  /// The node and factor through which it came; -1 on the annotated value.
  int node = -1;
  int factor = -1;
};

struct ValueState {
  llvm::SmallVector<int64_t> shape;
  int64_t elementBytes = 1;
  TensorSharding sharding;
  /// Axes over which the successor of a partial tp.state that is made of this
  /// value should stay partial.
  AxisList keptPartial;
  llvm::SmallVector<llvm::SmallVector<AxisReason, 1>, 4> dimReasons;
  llvm::SmallVector<AxisReason, 1> partialReasons;
  /// The node that gives the value; -1 for arguments, parameters and states
  /// that only ties touch.
  int producer = -1;
  /// Nodes that read it, once per operand.
  llvm::SmallVector<int, 4> users;
  /// Nodes that tie or produce or read it.
  llvm::SmallVector<int, 4> nodes;
};

struct Node {
  mlir::Operation *op = nullptr;
  /// A tie carries no operation of its own: its result's state is not decided
  /// by it.
  bool isTie = false;
  ShardingRule rule;
  /// Indices of states; -1 for what is no ranked tensor.
  llvm::SmallVector<int, 4> operands, results;
  /// The cut chosen at the last visit.
  FactorShardings factors;
};

/// A rule's factor with the axes that its tensors ask for.
struct FactorWish {
  AxisList axes;
  CutForm form = {};
  unsigned priority = numPriorities;
  /// The state and dimension that asked.
  int state = -1;
  unsigned dim = 0;
};

class Propagation {
public:
  explicit Propagation(MeshOp meshOp);

  /// Build states, nodes and seeds for every function of the module. Emits
  /// errors on what has no rule or cannot be annotated so.
  mlir::LogicalResult build(mlir::ModuleOp module);
  /// Propagate to a fixpoint, one priority after the other.
  void run();
  /// Settle every operation's results in program order, partial sums included.
  /// What is only added to stays partial (Accumulate.cpp).
  void settle();
  /// Write shardings and reasons into the IR.
  void write(mlir::ModuleOp module);

  /// Visits until the fixpoint (statistics).
  unsigned getNumVisits() const { return numVisits; }
  /// Values that are not replicated (statistics).
  unsigned getNumSplit() const {
    return llvm::count_if(states, [](const ValueState &value) {
      return !value.sharding.isFullyReplicated();
    });
  }

private:
  // Building: Build.cpp.
  mlir::LogicalResult buildBlock(mlir::Block &block);
  mlir::LogicalResult buildOperation(mlir::Operation *op);
  mlir::LogicalResult buildRepeat(RepeatOp repeat);
  mlir::LogicalResult buildCall(mlir::Operation *op);
  mlir::LogicalResult buildFunctionSignature(mlir::Operation *function);
  void collectStates(mlir::Operation *function);
  int addState(mlir::Type type);
  int getState(mlir::Value value);
  void tie(mlir::Operation *op, int from, int to);
  void tieSlices(mlir::Operation *op, int whole, int slice, bool wholeIsResult);
  int addNode(Node node);
  mlir::LogicalResult seed(mlir::Operation *op, int state,
                           ShardingAttr sharding, unsigned priority,
                           const std::string &who, bool isState = false);

  // Fixpoint: Propagation.cpp.
  llvm::SmallVector<FactorWish, 4> collectWishes(const Node &node,
                                                 unsigned priority) const;
  /// Keeps the better one of two wishes for factor `f`, in `old`.
  void addWish(const Node &node, unsigned f, FactorWish wish,
               FactorWish &old) const;
  int64_t getCost(const Node &node, llvm::ArrayRef<FactorWish> wishes) const;
  FactorShardings getCut(const Node &node,
                         llvm::ArrayRef<FactorWish> wishes) const;
  bool visit(int index, unsigned priority);
  bool updateState(int state, const TensorSharding &wanted, int node,
                   llvm::ArrayRef<FactorWish> wishes,
                   const TensorFactors &tensor, bool isOperand,
                   unsigned priority);
  bool accepts(int node, int state, unsigned dim,
               const TensorSharding &candidate) const;
  const AxisReason *findReason(int state, unsigned dim, unsigned axis) const;

  // Sums that are finished when they are read: Accumulate.cpp.
  using Terms = llvm::SmallSetVector<int, 8>;
  /// A state that is partial over these axes, and why.
  struct Sum {
    int state;
    AxisList axes;
    llvm::SmallVector<AxisReason, 1> reasons;
  };
  using Sums = std::vector<Sum>;
  /// The old value of a sum: not read to make the new one; added to, and not
  /// read otherwise; read besides; needed complete to make the new one.
  enum class Use { Replaced, Added, Read, Needed };
  /// `sum` and what it is the sum of, as far as that stays linear and nobody
  /// else reads it.
  Terms getTerms(int sum) const;
  /// Finds what operations in `scope` do with `old`, of which `sum` is made.
  Use getUse(int old, const Terms &terms, int sum,
             mlir::Operation *scope) const;
  bool isAccumulator(int state) const;
  void addAxes(const Terms &terms, int sum, Sums &sums) const;
  Sums findSums() const;

  // Settling: Settle.cpp.
  void settleAll();
  void keepStatesPartial();
  /// Settles a tie between a stack and a layer of it: what is partial of both.
  void settleLayers(const Node &node);
  /// 1 of a tie from a layer to its stack, -1 of one from a stack to a layer.
  int64_t getRankDifference(const Node &node) const;
  void settleNode(int index);
  void setReasons(int index, llvm::ArrayRef<FactorWish> wishes);
  AxisList getPassedAxes(const Node &node,
                         const FactorShardings &factors) const;

  llvm::SmallVector<Because> explain(int state) const;
  std::string describe(const AxisReason &reason, bool partial) const;

  MeshOp meshOp;
  Mesh mesh;
  mlir::FlatSymbolRefAttr meshSymbol;
  std::vector<Seed> seeds;
  std::vector<ValueState> states;
  std::vector<Node> nodes;
  llvm::DenseMap<mlir::Value, int> stateOf;
  /// States of functions' results.
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<int>> functionResults;
  /// Values that a tp.repeat carries.
  llvm::SmallVector<std::pair<mlir::Operation *, int>> carried;
  /// A tp.state in one function: the old value and the new one; -1: none.
  struct StateUse {
    mlir::Attribute symbol;
    mlir::Operation *function;
    int argument = -1, result = -1;
  };
  std::vector<StateUse> stateUses;
  unsigned numVisits = 0;
};

/// The sharding that the operation which reads `operand` needs of it, once
/// everything has one: not of tp.repeat, calls, constraints and terminators.
mlir::FailureOr<TensorSharding> getNeededSharding(mlir::OpOperand &operand,
                                                  const Mesh &mesh);

/// Turn annotations on results of operations into tp.sharding_constraint, so
/// that the operation itself may give another layout (a partial sum) which is
/// then resharded; give each stacked operand of tp.repeat a constraint of its
/// own.
void outlineAnnotations(mlir::ModuleOp module, mlir::FlatSymbolRefAttr mesh);

/// Propagate the annotations of `module`, whose mesh that is.
mlir::LogicalResult propagate(Propagation &propagation, mlir::ModuleOp module,
                              MeshOp mesh);

/// Give weights of a training step of which nothing is said, and what belongs
/// to them, the shardings that follow for them in the loss (InferWeights.cpp).
mlir::LogicalResult inferWeights(mlir::ModuleOp module, MeshOp mesh);

/// Write the sharding of each state on the arguments and results that carry it.
void shardStates(mlir::ModuleOp module, MeshOp mesh);
/// Take the shardings back as propagation writes them (without axes of size
/// one).
void adoptShardings(mlir::ModuleOp module);
/// A partial state must not be summed to make its successor: each step would
/// do so. An error names the operation that needs the sum.
mlir::LogicalResult checkPartialStates(mlir::ModuleOp module, const Mesh &mesh);

/// Give each use of a value that costs nothing to make (tensor.empty, a fill of
/// one, a splat constant) its own copy: sharing one would tie the shardings of
/// operations that have nothing to do with each other, and gather zeros.
void duplicateFreeValues(mlir::ModuleOp module);

} // namespace tp

#endif // TP_LIB_PROPAGATE_PROPAGATION_H
