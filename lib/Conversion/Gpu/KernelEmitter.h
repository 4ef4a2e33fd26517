//===- KernelEmitter.h - Scalar code of a device kernel ---------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Short names for the scalar operations that generated kernels are made of, so
// that a generator reads like the algorithm. Operations on constants fold.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CONVERSION_GPU_KERNELEMITTER_H
#define TP_LIB_CONVERSION_GPU_KERNELEMITTER_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Builders.h"

namespace tp {

class KernelEmitter {
public:
  using Value = mlir::Value;
  using Values = llvm::SmallVector<Value>;

  KernelEmitter(mlir::OpBuilder &builder, mlir::Location loc);

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::Type i1, i8, i16, i32, i64, f32;
  mlir::Type globalPointer, sharedPointer;

  Value int32(int64_t value) { return constant(i32, value); }
  Value int64(int64_t value) { return constant(i64, value); }
  Value float32(double value);

  /// Arithmetic on integers of one type; the second operand may be a number.
  /// Division is unsigned, min and max are signed.
  Value add(Value a, auto b) { return fold<mlir::arith::AddIOp>(a, b); }
  Value sub(Value a, auto b) { return fold<mlir::arith::SubIOp>(a, b); }
  Value mul(Value a, auto b) { return fold<mlir::arith::MulIOp>(a, b); }
  Value div(Value a, auto b) { return fold<mlir::arith::DivUIOp>(a, b); }
  Value rem(Value a, auto b) { return fold<mlir::arith::RemUIOp>(a, b); }
  Value min(Value a, auto b) { return fold<mlir::arith::MinSIOp>(a, b); }
  Value max(Value a, auto b) { return fold<mlir::arith::MaxSIOp>(a, b); }
  Value bitAnd(Value a, auto b) { return fold<mlir::arith::AndIOp>(a, b); }
  Value bitOr(Value a, Value b) { return fold<mlir::arith::OrIOp>(a, b); }
  Value shiftRight(Value a, auto b) { return fold<mlir::arith::ShRUIOp>(a, b); }
  Value shiftLeft(Value a, Value b) { return fold<mlir::arith::ShLIOp>(a, b); }
  Value popCount(Value a);
  Value compare(mlir::arith::CmpIPredicate predicate, Value a, auto b) {
    return builder.createOrFold<mlir::arith::CmpIOp>(loc, predicate, a,
                                                     like(a, b));
  }
  Value compare(mlir::arith::CmpFPredicate predicate, Value a, Value b);
  Value select(Value condition, Value a, Value b);
  Value toInt32(Value a);
  Value toInt64(Value a);

  /// Arithmetic on f32. exp2 and log2 are the device's approximations, with a
  /// relative error below 2^-22; exp2 of -inf is zero.
  Value addf(Value a, Value b) { return fold<mlir::arith::AddFOp>(a, b); }
  Value mulf(Value a, Value b) { return fold<mlir::arith::MulFOp>(a, b); }
  Value fma(Value a, Value b, Value c);
  Value negate(Value a);
  Value maxf(Value a, Value b);
  Value exp2(Value a);
  Value tanh(Value a);
  Value log2(Value a);
  Value reciprocal(Value a);
  /// Two f32 values, rounded to `type` (16 bits), in the halves of an i32.
  Value pack(Value low, Value high, mlir::Type type);
  /// Values of one type side by side.
  Value makeVector(llvm::ArrayRef<Value> values);

  /// Memory. Offsets are in bytes; shared memory's are i32, global's i64.
  Value offset(Value pointer, Value bytes);
  Value offset(Value pointer, int64_t bytes);
  Value load(mlir::Type type, Value pointer, int64_t alignment);
  void store(Value value, Value pointer, int64_t alignment);
  /// Starts a copy of 4, 8 or 16 bytes from global to shared memory; zeros
  /// arrive, and nothing is read, where `inBounds` is false.
  void copyAsync(Value to, Value from, int64_t bytes, Value inBounds);
  void commitCopies();
  /// Waits for this thread's copies; a barrier makes them everyone's.
  void waitForCopies();

  /// Threads.
  Value threadId();
  Value blockId(int dimension);
  void barrier();
  void warpBarrier();
  /// The value of lane `lane ^ mask`; of lane `source` in each group of four.
  Value shuffleXor(Value value, int64_t mask);
  Value shuffleInQuad(Value value, int64_t source);
  /// Bit i: the condition of lane i.
  Value ballot(Value condition);
  /// Sum, and maximum, over the four lanes of a group.
  Value sumOfQuad(Value value);
  Value maxOfQuad(Value value);
  Value sumOfWarp(Value value);
  Value maxOfWarp(Value value);

  /// Control. The bodies give what is carried, or the results. What a body
  /// computes stays in the loop: moved out by the optimiser, it would take
  /// registers in every iteration even where it is rarely used. loopNoUnroll
  /// makes a loop that the optimiser leaves rolled.
  Values loop(Value from, Value to, int64_t step, mlir::ValueRange initial,
              llvm::function_ref<Values(Value, mlir::ValueRange)> body);
  void loopNoUnroll(Value from, Value to, int64_t step,
                    llvm::function_ref<void(Value)> body);
  Values ifElse(Value condition, llvm::function_ref<Values()> yes,
                llvm::function_ref<Values()> no);
  void ifThen(Value condition, llvm::function_ref<void()> body);

private:
  Value constant(mlir::Type type, int64_t value);
  /// The operand, or a constant of the type of `a`.
  Value like(Value, Value b) { return b; }
  Value like(Value a, int64_t b) { return constant(a.getType(), b); }
  /// An operation, or the constant that it comes to.
  template <typename Op>
  Value fold(Value a, auto b) {
    return builder.createOrFold<Op>(loc, a, like(a, b));
  }
};

} // namespace tp

#endif // TP_LIB_CONVERSION_GPU_KERNELEMITTER_H
