//===- QuantizedLinear.cpp - Launches of products by quantised weights ----===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Few rows are quantized_linear.cu's, of which a block makes a few columns of
// up to eight; more are quantized_tiles.cu's, on tensor cores. An input of f32
// is exact there only if scales need not be multiplied before, so other groups
// are quantized_linear.cu's whatever the rows.
//
//===----------------------------------------------------------------------===//

#include "KernelFamily.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tp/Dialect/NN/IR/NNOps.h"
#include "tp/Dialect/NN/IR/Quantized.h"
#include "tp/Schedule/Epilogue.h"
#include "tp/Schedule/RowKernels.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp;

/// Columns of a block, its most warps and rows, as in the source.
static constexpr int64_t blockColumns = 4, mostWarps = 8, mostRows = 8;
/// Bytes of a row of the weight that a warp reads at once.
static constexpr int64_t warpBytes = 512;
/// The columns of a slice of a product of tensor cores.
static constexpr int64_t sliceColumns = 16;
/// Threads of a tile, and bytes of a row of it in shared memory.
static constexpr int64_t tileThreads = 256, narrowPitch = 144, widePitch = 288;
/// Blocks of which there is one for nearly each multiprocessor.
static constexpr int64_t busyBlocks = 128;

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

// The numbers of quantized::Element, Type and Activation; -1: there is none.
static int64_t getElementNumber(Type type) {
  return type.isInteger(4)             ? 0
         : type.isInteger(8)           ? 1
         : isa<Float8E4M3FNType>(type) ? 2
         : isa<Float8E5M2Type>(type)   ? 3
         : isa<Float4E2M1FNType>(type) ? 4
                                       : -1;
}
static int64_t getTypeNumber(Type type) {
  return type.isF32()                  ? 0
         : type.isBF16()               ? 1
         : type.isF16()                ? 2
         : type.isInteger(8)           ? 3 // bytes of f8E8M0FNU
         : isa<Float8E4M3FNType>(type) ? 4
                                       : -1;
}
static int64_t getActivationNumber(StringRef name) {
  return llvm::StringSwitch<int64_t>(name)
      .Case("none", 0)
      .Case("relu", 1)
      .Case("gelu_tanh", 2)
      .Default(-1);
}

/// Reads what the function of the product does to its result.
static FailureOr<Epilogue> readEpilogue(nn::QuantizedLinearOp op) {
  EpilogueReader reader(op, {/*scale=*/true, /*residual=*/true, {}});
  auto function = op->getParentOfType<func::FuncOp>();
  if (function && function->hasAttr(kernelAttrName))
    for (Operation *next = op->getNextNode();
         next && !next->hasTrait<OpTrait::IsTerminator>();
         next = next->getNextNode())
      if (!isa<arith::ConstantOp>(next) && failed(reader.add(next)))
        return failure();
  return reader.epilogue;
}

/// quantized_linear.cu's for lines of `bytes`.
static FamilyKernel chooseRows(int64_t rows, int64_t n, int64_t bytes) {
  int64_t own = std::min(mostRows, int64_t(llvm::PowerOf2Ceil(uint64_t(rows))));
  int64_t warps =
      std::min(mostWarps, int64_t(llvm::divideCeil(bytes, warpBytes)));
  return {"",
          "quantized_linear",
          "quantized_linear_" + std::to_string(own),
          {{int64_t(llvm::divideCeil(n, blockColumns)),
            int64_t(llvm::divideCeil(rows, mostRows)), 1},
           {32 * warps, 1, 1}}};
}

/// quantized_tiles.cu's: the largest tiles that keep a card busy, and of which
/// no rows are empty.
static FamilyKernel chooseTiles(int64_t rows, int64_t n, bool isWide) {
  struct {
    int64_t rows, lines;
  } tiles[] = {{128, 128}, {64, 128}, {64, 32}, {32, 32}}, own = tiles[3];
  auto countBlocks = [&](auto tile) {
    return llvm::divideCeil(rows, tile.rows) * llvm::divideCeil(n, tile.lines);
  };
  for (auto tile : tiles) {
    // Wide rows of a large tile have no room in shared memory.
    if ((isWide && tile.rows > 64) || tile.rows >= 2 * rows ||
        countBlocks(tile) < busyBlocks)
      continue;
    own = tile;
    break;
  }
  int64_t pitch = isWide ? widePitch : narrowPitch;
  Launch launch{{int64_t(llvm::divideCeil(n, own.lines)),
                 int64_t(llvm::divideCeil(rows, own.rows)), 1},
                {tileThreads, 1, 1}};
  launch.sharedBytes = 2 * (own.rows * pitch + own.lines * narrowPitch);
  return {"", "quantized_tiles",
          "quantized_tiles_" + std::to_string(own.rows) + "_" +
              std::to_string(own.lines),
          launch};
}

FailureOr<FamilyChoice> tp::chooseQuantizedLinear(Operation *operation) {
  auto op = cast<nn::QuantizedLinearOp>(operation);
  FailureOr<Epilogue> epilogue = readEpilogue(op);
  if (failed(epilogue))
    return failure();
  RankedTensorType input = typeOf(op.getInput()),
                   result = typeOf(op.getResult()),
                   values = typeOf(op.getValues());
  int64_t n = values.getDimSize(0), k = input.getShape().back();
  int64_t rows = k ? input.getNumElements() / k : 0;
  int64_t activation = getActivationNumber(epilogue->activation);
  if (activation < 0)
    return op.emitOpError("expected no activation, relu or gelu_tanh behind a "
                          "product for a device, got ")
           << epilogue->activation;
  auto isFloat = [](Type type) {
    return type.isF32() || type.isBF16() || type.isF16();
  };
  Type bias = op.getBias() ? typeOf(op.getBias()).getElementType()
                           : result.getElementType();
  if (!isFloat(input.getElementType()) || !isFloat(result.getElementType()) ||
      !isFloat(bias))
    return op.emitOpError("expected an input, bias and result of f32, bf16 or "
                          "f16 for a device, got ")
           << input << ", " << bias << " and " << result;
  int64_t most = std::numeric_limits<int32_t>::max() / 32;
  int64_t parts = llvm::divideCeil(rows, mostRows);
  if (rows < 1 || n < 1 || k < 1 || n > most || k > most || parts > gridLimit)
    return op.emitOpError("expected 1 or more rows, and no more than a grid "
                          "has room for, got ")
           << input << " and " << result;
  bool isWide = input.getElementType().isF32();
  // Groups that tensor cores add up before they are scaled: 16 bits hold what
  // an integer is from another.
  bool hasFloatZeros =
      op.getZeros() && typeOf(op.getZeros()).getElementType().isF32();
  bool hasLateScales =
      !op.getGroups() && !hasFloatZeros && op.getGroup()[1] % sliceColumns == 0;
  bool isRounded = !isWide && !result.getElementType().isF32();
  bool hasTiles = rows > mostRows && (isRounded || hasLateScales);
  int64_t numParts = !isWide ? 1 : result.getElementType().isF32() ? 3 : 2;
  return FamilyChoice{
      {{"element", getElementNumber(op.getElement())},
       {"scaleType", getTypeNumber(typeOf(op.getScales()).getElementType())},
       {"n", n},
       {"k", k},
       {"groupN", op.getGroup()[0]},
       {"groupK", op.getGroup()[1]},
       {"scaleColumns", typeOf(op.getScales()).getDimSize(1)},
       {"rows", rows},
       {"xType", getTypeNumber(input.getElementType())},
       {"yType", getTypeNumber(result.getElementType())},
       {"biasType", getTypeNumber(bias)},
       {"hasZeros", op.getZeros() != nullptr},
       {"hasFloatZeros", hasFloatZeros},
       {"hasGroups", op.getGroups() != nullptr},
       {"hasBias", op.getBias() != nullptr},
       {"hasResidual", epilogue->residual != nullptr},
       {"activation", activation},
       {"lateScales", hasLateScales},
       {"parts", numParts}},
      {hasTiles ? chooseTiles(rows, n, isWide)
                : chooseRows(rows, n, values.getDimSize(1))},
      /*scratchBytes=*/0,
      {{"scale", epilogue->scale}}};
}
