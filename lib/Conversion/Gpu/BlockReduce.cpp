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

#include "KernelEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp;

/// The value of the thread whose number differs by `mask`; of a type that the
/// hardware exchanges (32 bits) or of smaller or larger ones.
static Value exchange(KernelEmitter &e, Value value, int64_t mask) {
  Type type = value.getType();
  unsigned bits = type.getIntOrFloatBitWidth();
  if (bits == 32)
    // All threads of the warp take part, whatever the size of a group.
    return gpu::ShuffleOp::create(e.builder, e.loc, value, e.int32(mask),
                                  e.int32(32), gpu::ShuffleMode::XOR)
        .getShuffleResult();
  Type integer = e.builder.getIntegerType(bits);
  auto widen = [&](Type to, Value from) -> Value {
    return arith::ExtUIOp::create(e.builder, e.loc, to, from);
  };
  auto narrow = [&](Type to, Value from) -> Value {
    return arith::TruncIOp::create(e.builder, e.loc, to, from);
  };
  if (type != integer)
    value = arith::BitcastOp::create(e.builder, e.loc, integer, value);
  Value result;
  if (bits < 32) {
    result = narrow(integer, exchange(e, widen(e.i32, value), mask));
  } else {
    Value shift = e.int64(32);
    Value low = narrow(e.i32, value);
    Value high = narrow(e.i32, e.shiftRight(value, shift));
    low = widen(integer, exchange(e, low, mask));
    high = widen(integer, exchange(e, high, mask));
    result = e.bitOr(e.shiftLeft(high, shift), low);
  }
  if (type != integer)
    result = arith::BitcastOp::create(e.builder, e.loc, type, result);
  return result;
}

SmallVector<Value> tp::reduceInWarp(OpBuilder &builder, Location loc,
                                    ArrayRef<Value> values, int64_t size,
                                    Combine combine) {
  KernelEmitter e(builder, loc);
  SmallVector<Value> result(values);
  for (int64_t mask = size / 2; mask > 0; mask /= 2)
    result = combine(result, llvm::map_to_vector(result, [&](Value value) {
                       return exchange(e, value, mask);
                     }));
  return result;
}

SmallVector<Value> tp::reduceWarps(OpBuilder &builder, Location loc,
                                   ArrayRef<WarpPartial> partials,
                                   int64_t warps, Value thread, Value shared,
                                   Combine combine) {
  KernelEmitter e(builder, loc);
  auto getSlot = [&](unsigned partial, Value warp) -> Value {
    return LLVM::GEPOp::create(
        builder, loc, shared.getType(), e.i64, shared,
        ArrayRef<LLVM::GEPArg>{e.add(warp, int64_t(partial) * warps)});
  };
  // Booleans are bytes in memory.
  auto getStored = [&](Type type) { return type.isInteger(1) ? e.i8 : type; };
  Value lane = e.bitAnd(thread, 31), warp = e.shiftRight(thread, 5);
  e.ifThen(e.compare(arith::CmpIPredicate::eq, lane, 0), [&] {
    for (auto [i, partial] : llvm::enumerate(partials)) {
      Value value = partial.value;
      if (value.getType().isInteger(1))
        value = arith::ExtUIOp::create(builder, loc, e.i8, value);
      LLVM::StoreOp::create(builder, loc, value, getSlot(i, warp));
    }
  });
  gpu::BarrierOp::create(builder, loc);
  // Each group of lanes reads a copy of its own.
  int64_t copies = llvm::PowerOf2Ceil(warps);
  Value from = e.bitAnd(lane, copies - 1);
  Value inBounds = e.compare(arith::CmpIPredicate::ult, from, warps);
  from = e.select(inBounds, from, e.int32(0));
  SmallVector<Value> results;
  for (auto [i, partial] : llvm::enumerate(partials)) {
    Type type = partial.value.getType();
    Value value =
        LLVM::LoadOp::create(builder, loc, getStored(type), getSlot(i, from));
    if (type.isInteger(1))
      value = arith::TruncIOp::create(builder, loc, type, value);
    results.push_back(e.select(inBounds, value, partial.identity));
  }
  return reduceInWarp(builder, loc, results, copies, combine);
}
