//===- Embedding.cpp - Launches of embedding.cu ---------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The derivative of a table has two kernels: what the table begins with, unless
// it lies there, and the sums of each token's id.
//
//===----------------------------------------------------------------------===//

#include "KernelFamily.h"
#include "tp/Dialect/NN/IR/NNOps.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp;

/// Columns that a warp adds up, as in the source.
static constexpr int64_t warpColumns = 512;
static constexpr int64_t mostWarps = 8;
/// The first kernel's, of elements that one instruction moves.
static constexpr int64_t copyThreads = 256, mostCopyBlocks = 1056;
static constexpr int64_t widestUnit = 4;

FailureOr<FamilyChoice> tp::chooseEmbeddingBackward(Operation *operation) {
  auto op = cast<nn::EmbeddingBackwardOp>(operation);
  auto table = cast<RankedTensorType>(op.getResult().getType());
  auto ids = cast<RankedTensorType>(op.getIds().getType());
  int64_t tokens = ids.getNumElements();
  int64_t rows = table.getDimSize(0), columns = table.getDimSize(1);
  int64_t warps =
      std::min(mostWarps, int64_t(llvm::divideCeil(columns, warpColumns)));
  int64_t parts = warps ? llvm::divideCeil(columns, warpColumns * warps) : 0;
  int64_t most = std::numeric_limits<int32_t>::max() - 32;
  if (!table.getElementType().isF32() || tokens < 1 || rows * columns < 1 ||
      tokens > most || columns > most / 4 || parts > gridLimit)
    return op.emitOpError("expected 1 or more tokens, and a table of f32 with "
                          "rows of fewer elements than a grid has room for, "
                          "got ")
           << op.getIds().getType() << " and " << table;
  int64_t copyBlocks = std::min(
      mostCopyBlocks,
      int64_t(llvm::divideCeil(rows * columns, widestUnit * copyThreads)));
  std::string add =
      "embedding_add_i" + std::to_string(ids.getElementTypeBitWidth());
  return FamilyChoice{
      {{"tokens", tokens},
       {"rows", rows},
       {"columns", columns},
       {"copyBlocks", copyBlocks}},
      {{"",
        "embedding",
        "embedding_copy",
        {{copyBlocks, 1, 1}, {copyThreads, 1, 1}}},
       {"_add", "embedding", add, {{tokens, parts, 1}, {32 * warps, 1, 1}}}}};
}
