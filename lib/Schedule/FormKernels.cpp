//===- FormKernels.cpp - Groups of generics as row kernels ----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations are visited in program order; each begins as a group of its own
// and is merged with the groups that make its operands, nearest first, when
// the result can still be computed row by row, has enough rows to share among
// threads, and no operation between the two depends on one and feeds the other.
//
//===----------------------------------------------------------------------===//

#include "States.h"
#include "tp/Schedule/Outline.h"
#include "tp/Schedule/Passes.h"
#include "tp/Schedule/RowKernels.h"
#include "tp/Schedule/Views.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/Dialect/TP/IR/Phase.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

namespace tp {
#define GEN_PASS_DEF_FORMKERNELS
#include "tp/Schedule/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

namespace {

/// Fewer rows than this are not given up for fusion: they are what threads
/// share.
constexpr int64_t minRows = 32;

struct Group {
  SmallVector<linalg::GenericOp> ops; ///< in program order
  unsigned numRowDims = 0;
};

/// Sizes of the leading dimensions of the results.
ArrayRef<int64_t> getResultShape(linalg::GenericOp op) {
  return cast<RankedTensorType>(op.getResultTypes()[0]).getShape();
}

int64_t countRows(linalg::GenericOp op, unsigned numRowDims) {
  int64_t rows = 1;
  for (int64_t size : getResultShape(op).take_front(numRowDims))
    rows *= size;
  return rows;
}

/// The row dimensions an operation has on its own: the last dimension of a
/// result that is not reduced over is left for vectors.
unsigned getOwnRowDims(linalg::GenericOp op) {
  unsigned rank = getResultShape(op).size();
  for (Type type : op.getResultTypes())
    rank = std::min<unsigned>(rank, cast<RankedTensorType>(type).getRank());
  auto iterators = op.getIteratorTypesArray();
  bool reducesLast =
      !iterators.empty() && iterators.back() == utils::IteratorType::reduction;
  if (rank == 0 || reducesLast)
    return rank;
  return rank - 1;
}

/// True if each row of `dims` dimensions reduces all of an operand that has no
/// rows: the matrix of a product.
bool reducesWholeOperand(linalg::GenericOp op, unsigned dims) {
  FailureOr<SmallVector<unsigned>> rows = getRowDims(op, dims);
  if (failed(rows))
    return false;
  return llvm::any_of(op.getDpsInputOperands(), [&](OpOperand *operand) {
    AffineMap map = op.getMatchingIndexingMap(operand);
    bool isReduced = false;
    for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray())) {
      if (!map.isFunctionOfDim(loop))
        continue;
      if (llvm::is_contained(*rows, loop))
        return false;
      isReduced |= kind == utils::IteratorType::reduction;
    }
    return isReduced;
  });
}

/// The rows that fusion may not make fewer. A product has those of its matrix:
/// a kernel of the product's rows alone would read the matrix once for each, by
/// the threads of one row.
int64_t countKeptRows(ArrayRef<linalg::GenericOp> ops, unsigned dims,
                      int64_t rows) {
  for (linalg::GenericOp op : ops)
    if (reducesWholeOperand(op, dims))
      rows = std::max(rows, countRows(op, getOwnRowDims(op)));
  return std::min(rows, minRows);
}

/// Describes what a group computes, in a few words: "add+rms_norm".
std::string describeGroup(ArrayRef<linalg::GenericOp> ops) {
  SmallVector<std::string> words;
  for (linalg::GenericOp op : ops) {
    std::string word;
    if (auto origin = op->getAttrOfType<StringAttr>(originAttrName))
      word = origin.getValue().str();
    else if (Operation *value =
                 op.getBody()->getTerminator()->getOperand(0).getDefiningOp())
      word = value->getName().stripDialect().str();
    else
      word = "copy";
    op->removeAttr(originAttrName);
    if (!llvm::is_contained(words, word))
      words.push_back(word);
  }
  return llvm::join(words, "+");
}

class Grouper {
public:
  explicit Grouper(Block &block)
      : block(block), updates(getStateUpdates(block)) {}

  void run() {
    for (Operation &op : block)
      position[&op] = position.size();
    for (auto op : block.getOps<linalg::GenericOp>()) {
      groups.push_back(std::make_unique<Group>());
      Group *group = groups.back().get();
      group->ops.push_back(op);
      group->numRowDims = getOwnRowDims(op);
      // Fewer rows if the results do not agree on so many.
      while (failed(getRowDims(op, group->numRowDims)))
        --group->numRowDims;
      groupOf[op] = group;
      SmallVector<Operation *> producers;
      for (Value operand : op->getOperands())
        if (Operation *producer = operand.getDefiningOp();
            producer && groupOf.count(producer))
          producers.push_back(producer);
      llvm::sort(producers, [&](Operation *a, Operation *b) {
        return position[a] > position[b];
      });
      for (Operation *producer : producers)
        tryMerge(groupOf[producer], groupOf[op]);
    }
  }

  SmallVector<Group *> getGroups() {
    llvm::SetVector<Group *> result;
    for (auto op : block.getOps<linalg::GenericOp>())
      result.insert(groupOf[op]);
    return result.takeVector();
  }

private:
  Block &block;
  SmallVector<StateUpdate> updates;
  llvm::DenseMap<Operation *, unsigned> position;
  SmallVector<std::unique_ptr<Group>> groups;
  llvm::DenseMap<Operation *, Group *> groupOf;

  void tryMerge(Group *first, Group *second) {
    if (first == second)
      return;
    Group merged;
    merged.ops = first->ops;
    llvm::append_range(merged.ops, second->ops);
    llvm::sort(merged.ops, [&](Operation *a, Operation *b) {
      return position[a] < position[b];
    });
    unsigned most = std::max(first->numRowDims, second->numRowDims);
    for (unsigned dims = most; dims >= 1; --dims) {
      int64_t rows = countRows(
          merged.ops.front(),
          std::min<unsigned>(dims, getResultShape(merged.ops.front()).size()));
      int64_t before =
          std::min(countRows(first->ops.front(), first->numRowDims),
                   countRows(second->ops.front(), second->numRowDims));
      if (rows < countKeptRows(merged.ops, dims, before))
        return;
      if (!canShareRows(merged.ops, dims) || !keepsStates(merged.ops))
        continue;
      if (!isConvex(merged.ops))
        return;
      merged.numRowDims = dims;
      *first = std::move(merged);
      for (linalg::GenericOp op : first->ops)
        groupOf[op] = first;
      return;
    }
  }

  /// True if a kernel of `ops` leaves states their order: none of it reads what
  /// another of it, or something that it follows from, replaces.
  bool keepsStates(ArrayRef<linalg::GenericOp> ops) {
    return llvm::all_of(updates, [&](const StateUpdate &update) {
      Operation *writer =
          getViewedTensor(update.successor->get()).root.getDefiningOp();
      bool readsOld = llvm::any_of(ops, [&](linalg::GenericOp op) {
        return op != writer && readsValue(op, update.old);
      });
      if (!writer || !readsOld)
        return true;
      if (llvm::is_contained(ops, writer))
        return false;
      return !followsFrom(ops, writer);
    });
  }

  /// True if any of `ops` is computed from what `source` makes.
  bool followsFrom(ArrayRef<linalg::GenericOp> ops, Operation *source) {
    llvm::SmallPtrSet<Operation *, 16> seen;
    SmallVector<Operation *> work(ops.begin(), ops.end());
    while (!work.empty()) {
      Operation *op = work.pop_back_val();
      if (!seen.insert(op).second)
        continue;
      if (op == source)
        return true;
      op->walk([&](Operation *inner) {
        for (Value operand : inner->getOperands())
          if (Operation *producer = operand.getDefiningOp();
              producer && producer->getBlock() == &block)
            work.push_back(producer);
      });
    }
    return false;
  }

  /// True if all of `ops` can be computed together for one row after another.
  bool canShareRows(ArrayRef<linalg::GenericOp> ops, unsigned dims) {
    llvm::SmallPtrSet<Operation *, 8> members;
    for (linalg::GenericOp op : ops)
      members.insert(op);
    ArrayRef<int64_t> shape = getResultShape(ops.front());
    if (shape.size() < dims)
      return false;
    for (linalg::GenericOp op : ops) {
      if (getResultShape(op).size() < dims ||
          getResultShape(op).take_front(dims) != shape.take_front(dims))
        return false;
      FailureOr<SmallVector<unsigned>> rows = getRowDims(op, dims);
      if (failed(rows))
        return false;
      for (OpOperand &operand : op->getOpOperands()) {
        Operation *producer = operand.get().getDefiningOp();
        if (producer && members.contains(producer) &&
            !isRowAligned(
                op.getMatchingIndexingMap(&operand), *rows,
                cast<RankedTensorType>(operand.get().getType()).getShape()))
          return false;
      }
      // Reads at computed indices may cross rows.
      bool readsMember = false;
      op.getRegion().walk([&](tensor::ExtractOp extract) {
        Operation *producer = extract.getTensor().getDefiningOp();
        readsMember |= producer && members.contains(producer);
      });
      if (readsMember)
        return false;
    }
    return true;
  }

  /// True if no path leaves `ops` and comes back.
  bool isConvex(ArrayRef<linalg::GenericOp> ops) {
    llvm::SmallPtrSet<Operation *, 8> members;
    unsigned last = 0;
    for (linalg::GenericOp op : ops) {
      members.insert(op);
      last = std::max(last, position[op]);
    }
    llvm::SmallPtrSet<Operation *, 16> seen;
    SmallVector<Operation *> work;
    auto visitUsers = [&](Operation *op, bool fromMember) -> bool {
      for (Operation *user : op->getUsers()) {
        Operation *top = block.findAncestorOpInBlock(*user);
        if (!top)
          continue;
        // A group is computed in one place: its first member may come before.
        unsigned from = position[top];
        if (Group *other = groupOf.lookup(top))
          from = std::min(from, position[other->ops.front()]);
        if (from > last)
          continue;
        if (members.contains(top)) {
          if (!fromMember)
            return false;
          continue;
        }
        // Members of another group move with it.
        if (seen.insert(top).second)
          work.push_back(top);
        if (Group *other = groupOf.lookup(top))
          for (linalg::GenericOp op : other->ops)
            if (seen.insert(op).second)
              work.push_back(op);
      }
      return true;
    };
    for (linalg::GenericOp op : ops)
      if (!visitUsers(op, true))
        return false;
    while (!work.empty())
      if (!visitUsers(work.pop_back_val(), false))
        return false;
    return true;
  }
};

struct FormKernelsPass : tp::impl::FormKernelsBase<FormKernelsPass> {
  void runOnOperation() override {
    if (failed(expectPerRank(getOperation())))
      return signalPassFailure();
    Outliner outliner(getOperation(), "rows");
    OpBuilder builder(&getContext());
    for (auto function :
         llvm::to_vector(getOperation().getOps<func::FuncOp>())) {
      if (function->hasAttr(kernelAttrName) || function.isExternal())
        continue;
      SmallVector<Block *> blocks{&function.getBody().front()};
      function.walk(
          [&](RepeatOp repeat) { blocks.push_back(repeat.getBodyBlock()); });
      for (Block *block : blocks) {
        Grouper grouper(*block);
        grouper.run();
        for (Group *group : grouper.getGroups()) {
          SmallVector<Operation *> ops(group->ops.begin(), group->ops.end());
          std::string label = describeGroup(group->ops);
          outliner.outline(
              ops,
              {builder.getNamedAttr(rowDimsAttrName, builder.getI64IntegerAttr(
                                                         group->numRowDims)),
               builder.getNamedAttr(labelAttrName,
                                    builder.getStringAttr(label))});
        }
        sortTopologically(block);
      }
    }
    numKernels = outliner.getNumFunctions();
  }
};

} // namespace
