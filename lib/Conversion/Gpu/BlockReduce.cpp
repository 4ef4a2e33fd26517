//===- BlockReduce.cpp - One value from all threads of a row --------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Butterflies: in each step a thread combines its value with that of the thread
// whose number differs in one bit. Combiners are commutative, so both get the
// same. Warps need not be a power of two: what is missing is the identity.
//
//===----------------------------------------------------------------------===//

#include "BlockReduce.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp;

static Value constantI32(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantIntOp::create(builder, loc, value, 32);
}

/// The value of the thread whose number differs by `mask`; of a type that the
/// hardware exchanges (32 bits) or of smaller or larger ones.
static Value exchange(OpBuilder &builder, Location loc, Value value,
                      int64_t mask) {
  Type type = value.getType();
  Type i32 = builder.getI32Type();
  unsigned bits = type.getIntOrFloatBitWidth();
  if (bits == 32) {
    // All threads of the warp take part, whatever the size of a group.
    return gpu::ShuffleOp::create(
               builder, loc, value, constantI32(builder, loc, mask),
               constantI32(builder, loc, 32), gpu::ShuffleMode::XOR)
        .getShuffleResult();
  }
  Type integer = builder.getIntegerType(bits);
  if (type != integer)
    value = arith::BitcastOp::create(builder, loc, integer, value);
  Value result;
  if (bits < 32) {
    value = arith::ExtUIOp::create(builder, loc, i32, value);
    value = exchange(builder, loc, value, mask);
    result = arith::TruncIOp::create(builder, loc, integer, value);
  } else {
    Value shift = arith::ConstantIntOp::create(builder, loc, 32, 64);
    Value low = arith::TruncIOp::create(builder, loc, i32, value);
    Value high = arith::TruncIOp::create(
        builder, loc, i32,
        arith::ShRUIOp::create(builder, loc, value, shift).getResult());
    low = arith::ExtUIOp::create(builder, loc, integer,
                                 exchange(builder, loc, low, mask));
    high = arith::ExtUIOp::create(builder, loc, integer,
                                  exchange(builder, loc, high, mask));
    high = arith::ShLIOp::create(builder, loc, high, shift);
    result = arith::OrIOp::create(builder, loc, high, low);
  }
  if (type != integer)
    result = arith::BitcastOp::create(builder, loc, type, result);
  return result;
}

SmallVector<Value> tp::reduceInWarp(OpBuilder &builder, Location loc,
                                    ArrayRef<Value> values, int64_t size,
                                    Combine combine) {
  SmallVector<Value> result(values);
  for (int64_t mask = size / 2; mask > 0; mask /= 2) {
    SmallVector<Value> others;
    for (Value value : result)
      others.push_back(exchange(builder, loc, value, mask));
    result = combine(result, others);
  }
  return result;
}

SmallVector<Value> tp::reduceWarps(OpBuilder &builder, Location loc,
                                   ArrayRef<WarpPartial> partials,
                                   int64_t warps, Value thread, Value shared,
                                   Combine combine) {
  auto constant = [&](int64_t value) {
    return constantI32(builder, loc, value);
  };
  auto getSlot = [&](unsigned partial, Value warp) -> Value {
    Value slot = arith::AddIOp::create(builder, loc, warp,
                                       constant(int64_t(partial) * warps));
    return LLVM::GEPOp::create(builder, loc, shared.getType(),
                               builder.getI64Type(), shared,
                               ArrayRef<LLVM::GEPArg>{slot});
  };
  // Booleans are bytes in memory.
  auto getStored = [&](Type type) -> Type {
    return type.isInteger(1) ? builder.getIntegerType(8) : type;
  };
  Value lane = arith::AndIOp::create(builder, loc, thread, constant(31));
  Value warp = arith::ShRUIOp::create(builder, loc, thread, constant(5));
  Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                        lane, constant(0));
  auto writes = scf::IfOp::create(builder, loc, isFirst);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(writes.thenBlock());
    for (auto [i, partial] : llvm::enumerate(partials)) {
      Value value = partial.value;
      if (value.getType().isInteger(1))
        value = arith::ExtUIOp::create(builder, loc, getStored(value.getType()),
                                       value);
      LLVM::StoreOp::create(builder, loc, value, getSlot(i, warp));
    }
  }
  gpu::BarrierOp::create(builder, loc);
  // Each group of lanes reads a copy of its own.
  int64_t copies = llvm::PowerOf2Ceil(warps);
  Value from = arith::AndIOp::create(builder, loc, lane, constant(copies - 1));
  Value inBounds = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::ult, from, constant(warps));
  from = arith::SelectOp::create(builder, loc, inBounds, from, constant(0));
  SmallVector<Value> results;
  for (auto [i, partial] : llvm::enumerate(partials)) {
    Type type = partial.value.getType();
    Value value =
        LLVM::LoadOp::create(builder, loc, getStored(type), getSlot(i, from));
    if (type.isInteger(1))
      value = arith::TruncIOp::create(builder, loc, type, value);
    value = arith::SelectOp::create(builder, loc, inBounds, value,
                                    partial.identity);
    results.push_back(value);
  }
  return reduceInWarp(builder, loc, results, copies, combine);
}
