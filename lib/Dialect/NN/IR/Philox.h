//===- Philox.h - Random numbers by their place -----------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The generator of dropout and of sampling: Philox4x32-10 (Salmon et al.,
// "Parallel random numbers: as easy as 1, 2, 3", 2011), one block per element,
// of which the first word is used.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_DIALECT_NN_IR_PHILOX_H
#define TP_LIB_DIALECT_NN_IR_PHILOX_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tp/Dialect/NN/IR/Emitter.h"
#include <array>

namespace tp::nn {

/// Philox4x32-10 on i32 values.
struct Philox {
  Scalar &e;
  using Words = std::array<mlir::Value, 4>;

  mlir::Value word(uint32_t value) {
    return e.integer(static_cast<int32_t>(value), e.b.getI32Type());
  }
  /// High and low halves of the 64-bit product.
  std::pair<mlir::Value, mlir::Value> multiply(mlir::Value x, uint32_t factor) {
    mlir::Type i64 = e.b.getI64Type();
    mlir::Value wide = mlir::arith::ExtUIOp::create(e.b, i64, x);
    mlir::Value product = e.mul(wide, factor);
    return split(product);
  }
  std::pair<mlir::Value, mlir::Value> split(mlir::Value x) {
    mlir::Type i32 = e.b.getI32Type();
    mlir::Value high = e.shiftRight(x, 32);
    return {e.cast(high, i32), e.cast(x, i32)};
  }
  mlir::Value exclusiveOr(mlir::Value x, mlir::Value y) {
    return mlir::arith::XOrIOp::create(e.b, x, y);
  }
  Words run(Words c, mlir::Value key0, mlir::Value key1) {
    for (int round = 0; round < 10; ++round) {
      if (round) {
        key0 = e.add(key0, word(0x9E3779B9));
        key1 = e.add(key1, word(0xBB67AE85));
      }
      auto [high0, low0] = multiply(c[0], 0xD2511F53);
      auto [high1, low1] = multiply(c[2], 0xCD9E8D57);
      c = {exclusiveOr(exclusiveOr(high1, c[1]), key0), low1,
           exclusiveOr(exclusiveOr(high0, c[3]), key1), low0};
    }
    return c;
  }
};

} // namespace tp::nn

#endif // TP_LIB_DIALECT_NN_IR_PHILOX_H
