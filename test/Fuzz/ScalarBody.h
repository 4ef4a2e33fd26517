//===- ScalarBody.h - Random computations of one element --------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Draws what an operation computes for one element: several terms over several
// inputs, shared sub-expressions, selections, indices, conversions. The same
// drawing makes the body of a structured operation or, on whole tensors, a
// chain of element-wise ones. It is written from the definitions of arith and
// math alone; what a compiler can do with a body plays no part.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_FUZZ_SCALARBODY_H
#define TP_TEST_FUZZ_SCALARBODY_H

#include "Frame.h"

namespace tp::fuzz {

class ScalarBody {
public:
  /// Operations go where `frame.builder` stands. With `shape`, they are on
  /// tensors of that shape.
  explicit ScalarBody(Frame &frame,
                      std::optional<llvm::ArrayRef<int64_t>> shape = {});

  /// Adds a value that terms may read. `positive`: an integer that is never
  /// below one.
  void addInput(mlir::Value value, bool positive = false);
  /// The body has loops whose index it may read.
  void addLoops(unsigned count) { numLoops = count; }

  /// A computation of `element` in one of several manners.
  mlir::Value draw(mlir::Type element);
  /// The next value of an output that is reduced: mostly a reduction of `out`
  /// and `term`, now and then something that is none.
  mlir::Value combine(mlir::Value out, mlir::Value term);
  /// The same where `out` and `term` may be one number: a sum or an extreme.
  mlir::Value combineAlike(mlir::Value out, mlir::Value term);
  mlir::Value convert(mlir::Value value, mlir::Type element);
  mlir::Value someConstant(mlir::Type element);
  mlir::Value productOfAll(mlir::Type element);
  /// An input times zero.
  mlir::Value nothing(mlir::Type element);
  mlir::Value add(mlir::Value a, mlir::Value b);
  /// A sum, difference, product or quotient of two numbers.
  mlir::Value calculate(mlir::Value a, mlir::Value b);

private:
  mlir::Type typed(mlir::Type element) const;
  mlir::Value constant(mlir::Type element, double value);
  /// An input, an index, a constant, or a value computed before.
  mlir::Value leaf(mlir::Type element);
  mlir::Value index();
  mlir::Value condition(int64_t depth);
  mlir::Value floatToInteger(mlir::Value value, mlir::Type element);
  mlir::Value divisor(mlir::Type element);

  mlir::Value nearlyLinear(mlir::Type element);
  mlir::Value sumOfTerms(mlir::Type element);
  mlir::Value factor(mlir::Type element);
  mlir::Value tree(mlir::Type element, int64_t depth);
  mlir::Value deep(mlir::Type element);
  mlir::Value choice(mlir::Type element);
  mlir::Value unary(mlir::Value value);
  mlir::Value binary(mlir::Value a, mlir::Value b);
  mlir::Value floatBinary(mlir::Value a, mlir::Value b);
  mlir::Value integerBinary(mlir::Value a, mlir::Value b);
  mlir::Value numberOfBooleans(mlir::Value a, mlir::Value b);
  mlir::Value subtract(mlir::Value a, mlir::Value b);
  mlir::Value multiply(mlir::Value a, mlir::Value b);
  /// By whatever may be zero, by what is not, or by a constant.
  mlir::Value divide(mlir::Value value);

  Frame &frame;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  std::optional<Frame::Shape> shape;
  llvm::SmallVector<mlir::Value> inputs, positives, computed;
  unsigned numLoops = 0;
};

} // namespace tp::fuzz

#endif // TP_TEST_FUZZ_SCALARBODY_H
