//===- CacheWrite.cpp - Launches of cache_write.cu ------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block writes a part of one token's row, a thread as many bytes of it as one
// instruction moves.
//
//===----------------------------------------------------------------------===//

#include "KernelFamily.h"
#include "tp/Dialect/NN/IR/NNOps.h"
#include "tp/Support/Bytes.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp;

/// The most threads of a block, and bytes that one instruction moves.
static constexpr int64_t mostThreads = 256;
static constexpr int64_t widestChunk = 16;
/// The largest elements that there is an entry point for.
static constexpr int64_t mostElementBytes = 4;

FailureOr<FamilyChoice> tp::chooseCacheWrite(Operation *operation) {
  auto op = cast<nn::CacheWriteOp>(operation);
  auto pool = cast<RankedTensorType>(op.getPool().getType());
  int64_t tokens =
      cast<RankedTensorType>(op.getInput().getType()).getDimSize(0);
  int64_t cells = pool.getDimSize(0);
  int64_t elementBytes = getElementBytes(pool.getElementType());
  int64_t rowBytes = pool.getDimSize(1) * pool.getDimSize(2) * elementBytes;
  int64_t chunk = std::max(
      elementBytes,
      int64_t(1) << std::min<int64_t>(llvm::countr_zero(uint64_t(rowBytes)),
                                      llvm::Log2_64(widestChunk)));
  int64_t threads =
      std::min(mostThreads, int64_t(llvm::alignTo(rowBytes / chunk, 32)));
  int64_t parts = threads ? llvm::divideCeil(rowBytes / chunk, threads) : 0;
  if (elementBytes > mostElementBytes)
    return op.emitOpError("expected elements of at most ")
           << mostElementBytes << " bytes for a device, got "
           << op.getPool().getType();
  int64_t numbers = std::numeric_limits<int32_t>::max();
  if (tokens < 1 || rowBytes < 1 || cells > numbers || rowBytes > numbers ||
      parts > gridLimit)
    return op.emitOpError("expected 1 or more tokens, of fewer elements than a "
                          "grid has room for, got ")
           << op.getInput().getType() << " and " << op.getPool().getType();
  std::string entry = "cache_write_" + std::to_string(elementBytes) + "_" +
                      std::to_string(chunk);
  return FamilyChoice{
      {{"cells", cells}, {"rowBytes", rowBytes}, {"parts", parts}},
      {{"", "cache_write", entry, {{tokens, parts, 1}, {threads, 1, 1}}}}};
}
