//===- KernelEmitter.cpp - Scalar code of a device kernel -----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See KernelEmitter.h.
//
//===----------------------------------------------------------------------===//

#include "KernelEmitter.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp;

KernelEmitter::KernelEmitter(OpBuilder &builder, Location loc)
    : builder(builder), loc(loc), i1(builder.getI1Type()),
      i8(builder.getI8Type()), i16(builder.getI16Type()),
      i32(builder.getI32Type()), i64(builder.getI64Type()),
      f32(builder.getF32Type()),
      globalPointer(LLVM::LLVMPointerType::get(builder.getContext(), 1)),
      sharedPointer(LLVM::LLVMPointerType::get(builder.getContext(), 3)) {}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Value KernelEmitter::constant(Type type, int64_t value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getIntegerAttr(type, value));
}
Value KernelEmitter::float32(double value) {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getF32FloatAttr(value));
}

Value KernelEmitter::compare(arith::CmpFPredicate predicate, Value a, Value b) {
  return arith::CmpFOp::create(builder, loc, predicate, a, b);
}
Value KernelEmitter::select(Value condition, Value a, Value b) {
  return arith::SelectOp::create(builder, loc, condition, a, b);
}
Value KernelEmitter::toInt32(Value a) {
  return builder.createOrFold<arith::TruncIOp>(loc, i32, a);
}
Value KernelEmitter::toInt64(Value a) {
  return builder.createOrFold<arith::ExtSIOp>(loc, i64, a);
}

Value KernelEmitter::popCount(Value a) {
  return LLVM::CtPopOp::create(builder, loc, a.getType(), a);
}

Value KernelEmitter::fma(Value a, Value b, Value c) {
  return LLVM::FMAOp::create(builder, loc, a, b, c);
}
Value KernelEmitter::negate(Value a) {
  return arith::NegFOp::create(builder, loc, a);
}
Value KernelEmitter::maxf(Value a, Value b) {
  return LLVM::MaxNumOp::create(builder, loc, a, b);
}
Value KernelEmitter::reciprocal(Value a) {
  return arith::DivFOp::create(builder, loc, float32(1), a);
}

static Value callIntrinsic(KernelEmitter &e, StringRef name, Value a) {
  return LLVM::CallIntrinsicOp::create(e.builder, e.loc, a.getType(),
                                       e.builder.getStringAttr(name), a)
      .getResults();
}
Value KernelEmitter::exp2(Value a) {
  return callIntrinsic(*this, "llvm.nvvm.ex2.approx.ftz", a);
}
/// Near 0, where the quotient would cancel, by an odd polynomial (fitted to the
/// relative error up to 0.6).
Value KernelEmitter::tanh(Value a) {
  Value square = mulf(a, a), sum = float32(-5.883233156e-3);
  for (double next :
       {2.078514732e-2, -5.378039926e-2, 1.333187968e-1, -3.333329558e-1})
    sum = fma(sum, square, float32(next));
  Value near = fma(mulf(a, square), sum, a);
  Value isNegative = compare(arith::CmpFPredicate::OLT, a, float32(0));
  Value size = select(isNegative, negate(a), a);
  Value power = exp2(mulf(size, float32(-2 * llvm::numbers::log2e)));
  Value far = mulf(addf(float32(1), negate(power)),
                   reciprocal(addf(float32(1), power)));
  return select(compare(arith::CmpFPredicate::OLT, size, float32(0.6)), near,
                select(isNegative, negate(far), far));
}
Value KernelEmitter::log2(Value a) {
  return callIntrinsic(*this, "llvm.nvvm.lg2.approx.f", a);
}

Value KernelEmitter::pack(Value low, Value high, Type type) {
  Value narrow = arith::TruncFOp::create(builder, loc, VectorType::get(2, type),
                                         makeVector({low, high}));
  return LLVM::BitcastOp::create(builder, loc, i32, narrow);
}
Value KernelEmitter::makeVector(ArrayRef<Value> values) {
  auto type = VectorType::get(values.size(), values.front().getType());
  Value vector = LLVM::PoisonOp::create(builder, loc, type);
  for (auto [i, value] : llvm::enumerate(values))
    vector =
        LLVM::InsertElementOp::create(builder, loc, vector, value, int32(i));
  return vector;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value KernelEmitter::offset(Value pointer, Value bytes) {
  return LLVM::GEPOp::create(builder, loc, pointer.getType(), i8, pointer,
                             ArrayRef<LLVM::GEPArg>{bytes});
}
Value KernelEmitter::offset(Value pointer, int64_t bytes) {
  if (bytes == 0)
    return pointer;
  return LLVM::GEPOp::create(builder, loc, pointer.getType(), i8, pointer,
                             ArrayRef<LLVM::GEPArg>{int32_t(bytes)});
}
Value KernelEmitter::load(Type type, Value pointer, int64_t alignment) {
  return LLVM::LoadOp::create(builder, loc, type, pointer, alignment);
}
void KernelEmitter::store(Value value, Value pointer, int64_t alignment) {
  LLVM::StoreOp::create(builder, loc, value, pointer, alignment);
}
void KernelEmitter::copyAsync(Value to, Value from, int64_t bytes,
                              Value inBounds) {
  // Only copies of 16 bytes may go past the first-level cache.
  auto cache = bytes == 16 ? NVVM::LoadCacheModifierKind::CG
                           : NVVM::LoadCacheModifierKind::CA;
  NVVM::CpAsyncOp::create(builder, loc, to, from, bytes, cache,
                          select(inBounds, int32(bytes), int32(0)));
}
void KernelEmitter::commitCopies() {
  NVVM::CpAsyncCommitGroupOp::create(builder, loc);
}
void KernelEmitter::waitForCopies() {
  NVVM::CpAsyncWaitGroupOp::create(builder, loc, 0);
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

Value KernelEmitter::threadId() {
  return NVVM::ThreadIdXOp::create(builder, loc, i32);
}
Value KernelEmitter::blockId(int dimension) {
  switch (dimension) {
  case 0:
    return NVVM::BlockIdXOp::create(builder, loc, i32);
  case 1:
    return NVVM::BlockIdYOp::create(builder, loc, i32);
  default:
    return NVVM::BlockIdZOp::create(builder, loc, i32);
  }
}
void KernelEmitter::barrier() { gpu::BarrierOp::create(builder, loc); }
void KernelEmitter::warpBarrier() {
  NVVM::SyncWarpOp::create(builder, loc, int32(-1));
}
Value KernelEmitter::shuffleXor(Value value, int64_t mask) {
  return NVVM::ShflOp::create(builder, loc, value.getType(), int32(-1), value,
                              int32(mask), int32(31), NVVM::ShflKind::bfly,
                              UnitAttr());
}
Value KernelEmitter::shuffleInQuad(Value value, int64_t source) {
  // The upper half of the last operand says which bits of the lane are kept.
  return NVVM::ShflOp::create(builder, loc, value.getType(), int32(-1), value,
                              int32(source), int32(28 << 8 | 3),
                              NVVM::ShflKind::idx, UnitAttr());
}
Value KernelEmitter::ballot(Value condition) {
  return NVVM::VoteSyncOp::create(builder, loc, i32, int32(-1), condition,
                                  NVVM::VoteSyncKind::ballot);
}
Value KernelEmitter::sumOfQuad(Value value) {
  for (int64_t mask : {1, 2})
    value = addf(value, shuffleXor(value, mask));
  return value;
}
Value KernelEmitter::maxOfQuad(Value value) {
  for (int64_t mask : {1, 2})
    value = maxf(value, shuffleXor(value, mask));
  return value;
}

Value KernelEmitter::sumOfWarp(Value value) {
  for (int64_t mask : {16, 8, 4, 2, 1})
    value = addf(value, shuffleXor(value, mask));
  return value;
}
Value KernelEmitter::maxOfWarp(Value value) {
  for (int64_t mask : {16, 8, 4, 2, 1})
    value = maxf(value, shuffleXor(value, mask));
  return value;
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

/// Marks what the LLVM optimiser leaves alone in a loop; conversions hand
/// attributes of its dialect on.
static void annotate(scf::ForOp loop, bool keepsInvariants, bool isUnrolled) {
  MLIRContext *context = loop.getContext();
  auto isDisabled = BoolAttr::get(context, true);
  LLVM::LoopUnrollAttr unroll;
  LLVM::LoopLICMAttr invariants;
  if (!isUnrolled)
    unroll =
        LLVM::LoopUnrollAttr::get(context, isDisabled, {}, {}, {}, {}, {}, {});
  if (keepsInvariants)
    invariants = LLVM::LoopLICMAttr::get(context, isDisabled, {});
  loop->setAttr("loop_annotation",
                LLVM::LoopAnnotationAttr::get(context, {}, {}, {}, unroll, {},
                                              invariants, {}, {}, {}, {}, {},
                                              {}, {}, {}, {}));
}

KernelEmitter::Values
KernelEmitter::loop(Value from, Value to, int64_t step, ValueRange initial,
                    function_ref<Values(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(
      builder, loc, from, to, like(from, step), initial,
      [&](OpBuilder &, Location, Value index, ValueRange carried) {
        scf::YieldOp::create(builder, loc, body(index, carried));
      });
  annotate(loop, /*keepsInvariants=*/true, /*isUnrolled=*/true);
  return Values(loop.getResults());
}

void KernelEmitter::loopNoUnroll(Value from, Value to, int64_t step,
                                 function_ref<void(Value)> body) {
  auto loop =
      scf::ForOp::create(builder, loc, from, to, like(from, step), ValueRange(),
                         [&](OpBuilder &, Location, Value index, ValueRange) {
                           body(index);
                           scf::YieldOp::create(builder, loc);
                         });
  annotate(loop, /*keepsInvariants=*/false, /*isUnrolled=*/false);
}

KernelEmitter::Values KernelEmitter::ifElse(Value condition,
                                            function_ref<Values()> yes,
                                            function_ref<Values()> no) {
  auto branch = scf::IfOp::create(
      builder, loc, condition,
      [&](OpBuilder &, Location) { scf::YieldOp::create(builder, loc, yes()); },
      [&](OpBuilder &, Location) { scf::YieldOp::create(builder, loc, no()); });
  return Values(branch.getResults());
}

void KernelEmitter::ifThen(Value condition, function_ref<void()> body) {
  scf::IfOp::create(builder, loc, condition, [&](OpBuilder &, Location) {
    body();
    scf::YieldOp::create(builder, loc);
  });
}
