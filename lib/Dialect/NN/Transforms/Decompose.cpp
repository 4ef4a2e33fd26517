//===- Decompose.cpp - nn operations to linalg
//------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tp-decompose-nn, tp-decompose-cross-entropy and tp-decompose-upstream:
// operations are replaced one by one, in place; nothing is fused or simplified,
// so that each piece can be held against the operation that it came from.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "tp/Dialect/NN/IR/NNOps.h"
#include "tp/Dialect/NN/Transforms/Passes.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

namespace tp {
#define GEN_PASS_DEF_DECOMPOSENN
#define GEN_PASS_DEF_DECOMPOSECROSSENTROPY
#define GEN_PASS_DEF_DECOMPOSEUPSTREAM
#include "tp/Dialect/NN/Transforms/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

/// Replace `op`; its results' shardings go to the values that stand for them.
static LogicalResult decompose(DecomposeOpInterface op) {
  OpBuilder builder(op);
  FailureOr<SmallVector<Value>> values = op.decompose(builder);
  if (failed(values))
    return failure();
  for (auto [result, value] : llvm::zip_equal(op->getResults(), *values))
    if (ShardingAttr sharding = getSharding(result))
      if (value.getDefiningOp())
        setSharding(value, sharding);
  op->replaceAllUsesWith(*values);
  op->erase();
  return success();
}

/// The operations under `root` that `filter` selects, in order.
static SmallVector<DecomposeOpInterface>
collect(Operation *root, llvm::function_ref<bool(Operation *)> filter) {
  SmallVector<DecomposeOpInterface> ops;
  root->walk([&](DecomposeOpInterface op) {
    if (filter(op))
      ops.push_back(op);
  });
  return ops;
}

namespace {
struct DecomposeNNPass : tp::impl::DecomposeNNBase<DecomposeNNPass> {
  using DecomposeNNBase::DecomposeNNBase;

  void runOnOperation() override {
    llvm::StringSet<> kept;
    for (const std::string &name : keep) {
      std::optional<RegisteredOperationName> info =
          RegisteredOperationName::lookup(name, &getContext());
      if (!info || !info->hasInterface<DecomposeOpInterface>()) {
        getOperation()->emitError()
            << "tp-decompose-nn: expected names of operations with a "
               "decomposition in 'keep', got '"
            << name << "'";
        return signalPassFailure();
      }
      kept.insert(name);
    }
    auto isDue = [&](Operation *op) {
      return !kept.contains(op->getName().getStringRef());
    };
    for (DecomposeOpInterface op : collect(getOperation(), isDue)) {
      if (failed(decompose(op)))
        return signalPassFailure();
      ++numDecomposed;
    }
  }
};

struct DecomposeCrossEntropyPass
    : tp::impl::DecomposeCrossEntropyBase<DecomposeCrossEntropyPass> {
  void runOnOperation() override {
    auto isDue = [](Operation *op) { return isa<nn::CrossEntropyOp>(op); };
    for (DecomposeOpInterface op : collect(getOperation(), isDue))
      if (failed(decompose(op)))
        return signalPassFailure();
  }
};

struct DecomposeUpstreamPass
    : tp::impl::DecomposeUpstreamBase<DecomposeUpstreamPass> {
  void runOnOperation() override {
    auto isDue = [](Operation *op) {
      return isa_and_nonnull<linalg::LinalgDialect>(op->getDialect());
    };
    for (DecomposeOpInterface op : collect(getOperation(), isDue))
      if (failed(decompose(op)))
        return signalPassFailure();
  }
};
} // namespace
