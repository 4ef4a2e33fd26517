//===- TensorCores.cpp - Products of 16 bits in one warp ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TensorCores.h"

using namespace mlir;
using namespace tp;

Fragment tp::makeZeros(KernelEmitter &e, int64_t tiles) {
  Value zero = e.float32(0);
  return Fragment(tiles, {zero, zero, zero, zero});
}

void tp::carryingLoop(KernelEmitter &e, Fragments &sums, Value from, Value to,
                      int64_t step, function_ref<void(Value)> body) {
  auto flatten = [&] {
    KernelEmitter::Values flat;
    for (const Fragment &fragment : sums)
      for (const auto &tile : fragment)
        llvm::append_range(flat, tile);
    return flat;
  };
  auto assign = [&](ValueRange flat) {
    size_t next = 0;
    for (Fragment &fragment : sums)
      for (auto &tile : fragment)
        for (Value &value : tile)
          value = flat[next++];
  };
  assign(
      e.loop(from, to, step, flatten(), [&](Value index, ValueRange carried) {
        assign(carried);
        body(index);
        return flatten();
      }));
}

/// Matrices 0 and 1 are rows 0-7 and 8-15 of the left half, 2 and 3 of the
/// right half.
Value TensorCores::getPlaceByRows(Value lane, int64_t pitch) {
  return e.add(e.mul(e.rem(lane, 16), pitch), e.mul(e.div(lane, 16), 16));
}

/// Matrices 0 and 1 are the halves of rows 0-7, 2 and 3 of rows 8-15: two right
/// operands.
Value TensorCores::getPlaceByColumns(Value lane, int64_t pitch) {
  Value row = e.add(e.rem(lane, 8), e.mul(e.div(lane, 16), 8));
  Value side = e.rem(e.div(lane, 8), 2);
  return e.add(e.mul(row, pitch), e.mul(side, 16));
}

TensorCores::Registers TensorCores::load(Value pointer, bool isTransposed) {
  MLIRContext *context = e.builder.getContext();
  auto matrices =
      LLVM::LLVMStructType::getLiteral(context, SmallVector<Type>(4, e.i32));
  auto layout = isTransposed ? NVVM::MMALayout::col : NVVM::MMALayout::row;
  Value loaded =
      NVVM::LdMatrixOp::create(e.builder, e.loc, matrices, pointer, 4, layout,
                               NVVM::LdStMatrixShapeAttr::get(context, 8, 8),
                               NVVM::LdStMatrixEltType::B16);
  Registers registers;
  for (int64_t i = 0; i < 4; ++i)
    registers[i] = LLVM::ExtractValueOp::create(e.builder, e.loc, loaded, i);
  return registers;
}

void TensorCores::multiply(Registers &sum, ArrayRef<Value> left, Value right0,
                           Value right1) {
  MLIRContext *context = e.builder.getContext();
  auto sums =
      LLVM::LLVMStructType::getLiteral(context, SmallVector<Type>(4, e.f32));
  SmallVector<Value> a(left), b{right0, right1};
  auto kind = NVVM::MMATypes::bf16;
  if (type.isF16()) {
    kind = NVVM::MMATypes::f16;
    auto pair = VectorType::get(2, type);
    for (Value &value : a)
      value = LLVM::BitcastOp::create(e.builder, e.loc, pair, value);
    for (Value &value : b)
      value = LLVM::BitcastOp::create(e.builder, e.loc, pair, value);
  }
  Value product = NVVM::MmaOp::create(
      e.builder, e.loc, sums, a, b, ValueRange(sum), {16, 8, 16}, std::nullopt,
      std::nullopt, std::array{kind, kind},
      std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
  for (int64_t i = 0; i < 4; ++i)
    sum[i] = LLVM::ExtractValueOp::create(e.builder, e.loc, product, i);
}

std::array<Value, 4> tp::loadFour(KernelEmitter &e, Value pointer) {
  Value loaded = e.load(VectorType::get(4, e.f32), pointer, 16);
  std::array<Value, 4> values;
  for (int64_t i = 0; i < 4; ++i)
    values[i] =
        LLVM::ExtractElementOp::create(e.builder, e.loc, loaded, e.int32(i));
  return values;
}
