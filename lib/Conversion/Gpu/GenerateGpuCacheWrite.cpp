//===- GenerateGpuCacheWrite.cpp - Rows into cells on a device ------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gives each nn.cache_write its kernel; equal ones share it. A block writes a
// part of one token's row, a thread as many bytes of it as one instruction
// moves. Cells are read when the kernel runs, so that one recorded launch is
// right for any tokens.
//
//===----------------------------------------------------------------------===//

#include "KernelEmitter.h"
#include "tp/Conversion/Gpu/Passes.h"
#include "tp/Conversion/Kernels/GpuModule.h"
#include "tp/Conversion/Kernels/Kernels.h"
#include "tp/Dialect/NN/IR/NNOps.h"
#include "tp/Schedule/RowKernels.h"
#include "tp/Support/Bytes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

namespace tp {
#define GEN_PASS_DEF_GENERATEGPUCACHEWRITE
#include "tp/Conversion/Gpu/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

/// The most threads of a block, and bytes that one instruction moves.
static constexpr int64_t mostThreads = 256;
static constexpr int64_t widestCopy = 16;
/// The largest second extent of a grid.
static constexpr int64_t gridLimit = 65535;

namespace {
struct CacheWriteShape {
  int64_t tokens, cells, rowBytes, elementBytes;
  bool operator==(const CacheWriteShape &other) const = default;

  explicit CacheWriteShape(nn::CacheWriteOp op) {
    auto pool = cast<RankedTensorType>(op.getPool().getType());
    tokens = cast<RankedTensorType>(op.getInput().getType()).getDimSize(0);
    cells = pool.getDimSize(0);
    elementBytes = getElementBytes(pool.getElementType());
    rowBytes = pool.getDimSize(1) * pool.getDimSize(2) * elementBytes;
  }
  /// Bytes of a row that a thread moves if the addresses allow it.
  int64_t getChunk() const {
    int64_t chunk = widestCopy;
    while (rowBytes % chunk != 0)
      chunk /= 2;
    return std::max(chunk, elementBytes);
  }
  int64_t getThreads() const {
    return std::min(mostThreads,
                    int64_t(llvm::alignTo(rowBytes / getChunk(), 32)));
  }
  /// Blocks of a row.
  int64_t getParts() const {
    return llvm::divideCeil(rowBytes / getChunk(), getThreads());
  }
};

/// Its parameters are the arguments of `cache_write` in tprt/abi.h.
class CacheWriteKernel {
public:
  CacheWriteKernel(OpBuilder &builder, Location loc,
                   const CacheWriteShape &shape,
                   ArrayRef<BlockArgument> arguments)
      : e(builder, loc), shape(shape) {
    auto getAddress = [&](Value argument) {
      return LLVM::AddrSpaceCastOp::create(builder, loc, e.globalPointer,
                                           argument);
    };
    rows = getAddress(arguments[3]);
    cells = getAddress(arguments[4]);
    old = getAddress(arguments[5]);
    pool = getAddress(arguments[6]);
  }
  void run();

private:
  KernelEmitter e;
  const CacheWriteShape &shape;
  Value rows, cells, old, pool;

  Value loadCell(Value token) {
    return e.load(e.i32, e.offset(cells, e.toInt64(e.mul(token, 4))), 4);
  }
  void byChunk(function_ref<void(int64_t bytes)> copy);
  void copyRow(Value to, Value from, Value unit, int64_t stride, int64_t bytes);
  void keepOld(Value token, Value unit, int64_t bytes);
};
} // namespace

/// Calls `copy` with the bytes that the addresses of the call allow at once.
void CacheWriteKernel::byChunk(function_ref<void(int64_t)> copy) {
  int64_t chunk = shape.getChunk();
  if (chunk == shape.elementBytes)
    return copy(chunk);
  Value bits = e.int64(0);
  for (Value pointer : {rows, old, pool})
    bits = e.bitOr(bits,
                   LLVM::PtrToIntOp::create(e.builder, e.loc, e.i64, pointer));
  Value isAligned =
      e.compare(arith::CmpIPredicate::eq, e.bitAnd(bits, chunk - 1), 0);
  auto yield = [&](int64_t bytes) {
    copy(bytes);
    return KernelEmitter::Values();
  };
  e.choose(
      isAligned, [&] { return yield(chunk); },
      [&] { return yield(shape.elementBytes); });
}

/// Units `unit`, `unit + stride`, ... of a row.
void CacheWriteKernel::copyRow(Value to, Value from, Value unit, int64_t stride,
                               int64_t bytes) {
  Type type = e.builder.getIntegerType(8 * std::min<int64_t>(bytes, 8));
  if (bytes == widestCopy)
    type = VectorType::get(4, e.i32);
  e.keptLoop(unit, e.int32(shape.rowBytes / bytes), stride, [&](Value own) {
    Value skip = e.toInt64(e.mul(own, bytes));
    e.store(e.load(type, e.offset(from, skip), bytes), e.offset(to, skip),
            bytes);
  });
}

/// A pool that does not replace the old one gets what that has in all other
/// cells. A state is updated where it is, so that this is no step's work.
void CacheWriteKernel::keepOld(Value token, Value unit, int64_t bytes) {
  int64_t stride = shape.getThreads() * shape.getParts();
  e.keptLoop(token, e.int32(shape.cells), shape.tokens, [&](Value cell) {
    Value isWritten =
        e.loop(e.int32(0), e.int32(shape.tokens), 1, e.int32(0),
               [&](Value other, ValueRange carried) {
                 Value isHere =
                     e.compare(arith::CmpIPredicate::eq, loadCell(other), cell);
                 return KernelEmitter::Values{
                     e.select(isHere, e.int32(1), carried.front())};
               })[0];
    e.when(e.compare(arith::CmpIPredicate::eq, isWritten, 0), [&] {
      Value skip = e.mul(e.toInt64(cell), shape.rowBytes);
      copyRow(e.offset(pool, skip), e.offset(old, skip), unit, stride, bytes);
    });
  });
}

void CacheWriteKernel::run() {
  Value token = e.blockId(0);
  Value unit = e.add(e.mul(e.blockId(1), shape.getThreads()), e.threadId());
  int64_t stride = shape.getThreads() * shape.getParts();
  Value cell = loadCell(token);
  Value isCell = e.compare(arith::CmpIPredicate::ult, cell, shape.cells);
  Value isNew = LLVM::ICmpOp::create(e.builder, e.loc, LLVM::ICmpPredicate::ne,
                                     old, pool);
  byChunk([&](int64_t bytes) {
    e.when(isCell, [&] {
      copyRow(e.offset(pool, e.mul(e.toInt64(cell), shape.rowBytes)),
              e.offset(rows, e.mul(e.toInt64(token), shape.rowBytes)), unit,
              stride, bytes);
    });
    e.when(isNew, [&] { keepOld(token, unit, bytes); });
  });
}

static void generateCacheWrite(gpu::GPUModuleOp module, StringRef name,
                               const CacheWriteShape &shape, Location loc) {
  OpBuilder builder(module.getContext());
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
  SmallVector<Type> types(3, builder.getI64Type());
  types.append(4, pointer);
  gpu::GPUFuncOp kernel = createKernel(module, builder, loc, name, types,
                                       {{shape.tokens, shape.getParts(), 1},
                                        {shape.getThreads(), 1, 1},
                                        /*sharedBytes=*/0});
  CacheWriteKernel(builder, loc, shape, kernel.getArguments()).run();
  gpu::ReturnOp::create(builder, loc);
}

static LogicalResult checkShape(nn::CacheWriteOp op,
                                const CacheWriteShape &shape) {
  int64_t numbers = std::numeric_limits<int32_t>::max();
  if (shape.tokens < 1 || shape.rowBytes < 1 || shape.cells > numbers ||
      shape.rowBytes > numbers || shape.getParts() > gridLimit)
    return op.emitOpError("expected 1 or more tokens, of fewer elements than a "
                          "grid has room for, got ")
           << op.getInput().getType() << " and " << op.getPool().getType();
  return success();
}

namespace {
struct GenerateGpuCacheWritePass
    : tp::impl::GenerateGpuCacheWriteBase<GenerateGpuCacheWritePass> {
  void runOnOperation() override {
    if (failed(checkKernelsName(getOperation())))
      return signalPassFailure();
    SmallVector<CacheWriteShape> known;
    WalkResult result = getOperation().walk([&](nn::CacheWriteOp op) {
      CacheWriteShape shape(op);
      if (failed(checkShape(op, shape)))
        return WalkResult::interrupt();
      size_t number = llvm::find(known, shape) - known.begin();
      std::string name = "cache_write_" + std::to_string(number);
      if (number == known.size()) {
        known.push_back(shape);
        generateCacheWrite(getOrCreateKernelsModule(getOperation()), name,
                           shape, op.getLoc());
      }
      setKernels(op, {name});
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
