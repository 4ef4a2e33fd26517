//===- Sampling.cpp - Launches of sample_records.cu and sample_pick.cu ----===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block for each record, then a block for each row that picks its token from
// the records of all ranks. Whether a row draws, and of what, is read when they
// run.
//
//===----------------------------------------------------------------------===//

#include "KernelFamily.h"
#include "tp/Dialect/NN/IR/NNOps.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp;

/// Threads of a block for a few logits, and for many.
static constexpr int64_t fewThreads = 256, manyThreads = 1024;
static constexpr int64_t manyLogits = 8192;
static constexpr int64_t pickThreads = 256;

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

FailureOr<FamilyChoice> tp::chooseSampleRecords(Operation *operation) {
  auto op = cast<nn::SampleRecordsOp>(operation);
  int64_t rows = shapeOf(op.getLogits())[0],
          columns = shapeOf(op.getLogits())[1];
  int64_t blocks = shapeOf(op.getBlocks())[0];
  if (rows < 1 || blocks < 1 || blocks > gridLimit)
    return op.emitOpError("expected rows, and 1 to ")
           << gridLimit << " blocks for a device, got "
           << op.getLogits().getType() << " and " << blocks;
  int64_t size = llvm::divideCeil(columns, blocks);
  int64_t threads = size < manyLogits ? fewThreads : manyThreads;
  return FamilyChoice{{{"columns", columns},
                       {"blocks", blocks},
                       {"vocabulary", int64_t(op.getVocabulary())}},
                      {{"",
                        "sample_records",
                        "sample_records",
                        {{rows, blocks, 1}, {threads, 1, 1}}}}};
}

FailureOr<FamilyChoice> tp::chooseSamplePick(Operation *operation) {
  auto op = cast<nn::SamplePickOp>(operation);
  int64_t blocks = shapeOf(op.getRecords())[0],
          rows = shapeOf(op.getRecords())[1];
  if (rows < 1 || blocks < 1 || blocks > gridLimit)
    return op.emitOpError("expected 1 or more rows, and 1 to ")
           << gridLimit << " records of each for a device, got "
           << op.getRecords().getType();
  return FamilyChoice{{{"blocks", blocks}},
                      {{"",
                        "sample_pick",
                        "sample_pick",
                        {{rows, 1, 1}, {pickThreads, 1, 1}}}}};
}
