//===- ExpertParts.h - Experts and their derivative -------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nn.experts and nn.experts_backward have this in common: operands and
// attributes, and the entry of the manifest.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_DIALECT_NN_IR_EXPERTPARTS_H
#define TP_LIB_DIALECT_NN_IR_EXPERTPARTS_H

#include "Parts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tp/Dialect/NN/IR/Gating.h"
#include "tp/Interfaces/LibraryCalls.h"

namespace tp::nn {

/// Attributes that say how an expert's width is made, and its biases.
template <typename Op>
llvm::LogicalResult verifyGating(Op op, llvm::ArrayRef<int64_t> biases) {
  static constexpr llvm::StringRef known[] = {"relu", "silu", "gelu_erf",
                                              "gelu_tanh"};
  if (!llvm::is_contained(known, op.getActivation()))
    return op.emitOpError() << "expected activation to be relu, silu, gelu_erf "
                               "or gelu_tanh, got '"
                            << op.getActivation() << "'";
  double alpha = op.getAlpha().convertToDouble();
  if (!(alpha > 0 && op.getAlpha().isFinite()))
    return op.emitOpError()
           << "expected alpha to be a finite number above 0, got " << alpha;
  if (alpha != 1 && op.getActivation() != "silu")
    return op.emitOpError()
           << "expected alpha beside the activation silu, got '"
           << op.getActivation() << "'";
  if (std::optional<llvm::APFloat> limit = op.getLimit();
      limit && !(limit->isFinite() && limit->convertToDouble() > 0))
    return op.emitOpError()
           << "expected limit to be a finite number above 0, got "
           << limit->convertToDouble();
  if (!op.getUpOffset().isFinite())
    return op.emitOpError("expected up_offset to be a finite number");
  if (size_t count = op.getBiases().size(); count != 0 && count != 2)
    return op.emitOpError()
           << "expected biases of gate and of up, or none, got " << count;
  for (mlir::Value bias : op.getBiases())
    if (failed(expectShape(op, "biases", bias, biases)))
      return llvm::failure();
  return llvm::success();
}

template <typename Op>
Gating getGating(Op op) {
  Gating gating{op.getActivation(), op.getAlpha().convertToDouble(),
                std::nullopt, op.getUpOffset().convertToDouble()};
  if (std::optional<llvm::APFloat> limit = op.getLimit())
    gating.limit = limit->convertToDouble();
  return gating;
}

/// The bias of gate, or of up; null if there is none.
template <typename Op>
mlir::Value getBias(Op op, unsigned index) {
  return op.getBiases().empty() ? mlir::Value()
                                : mlir::Value(op.getBiases()[index]);
}

/// Operands and attributes of either; `outer`, called `what`, has the rows of
/// the result.
template <typename Op>
llvm::LogicalResult verifyExperts(Op op, llvm::StringRef what,
                                  mlir::Value outer) {
  if (failed(expectLastDimension(op, "input", op.getInput())) ||
      failed(expectRank(op, "gate", op.getGate(), 3)) ||
      failed(expectRank(op, "down", op.getDown(), 3)))
    return llvm::failure();
  mlir::RankedTensorType input = typeOf(op.getInput());
  mlir::Type element = input.getElementType();
  int64_t k = input.getShape().back();
  int64_t experts = shapeOf(op.getGate())[0], f = shapeOf(op.getGate())[1],
          n = shapeOf(op.getDown())[1];
  llvm::SmallVector<int64_t> routing(input.getShape()), result = routing;
  routing.back() = experts;
  result.back() = n;
  // The numbers of quantised matrices are f32, whatever the input's type.
  auto expectMatrix = [&](llvm::StringRef name, mlir::Value matrix,
                          llvm::ArrayRef<int64_t> shape) {
    return typeOf(matrix).getElementType().isF32()
               ? expectShape(op, name, matrix, shape)
               : expect(op, name, matrix, shape, element);
  };
  if (failed(expectMatrix("gate", op.getGate(), {experts, f, k})) ||
      failed(expectMatrix("up", op.getUp(), {experts, f, k})) ||
      failed(expectMatrix("down", op.getDown(), {experts, n, f})) ||
      failed(expect(op, "routing", op.getRouting(), routing, getF32(op))) ||
      failed(expect(op, what, outer, result, element)) ||
      (op.getInside() &&
       failed(expectShape(op, "inside", op.getInside(), {f}))))
    return llvm::failure();
  if (failed(verifyGating(op, {experts, f})))
    return llvm::failure();
  double active = op.getActive().convertToDouble();
  if (!(active > 0 && active <= 1))
    return op.emitOpError()
           << "expected active to be more than 0 and at most 1, got " << active;
  if (std::optional<int64_t> topK = op.getTopK(); topK && *topK < 1)
    return op.emitOpError() << "expected top_k to be at least 1, got " << *topK;
  return llvm::success();
}

/// `value`, or zero where `number` is.
inline mlir::Value unlessZero(Scalar &e, mlir::Value number,
                              mlir::Value value) {
  mlir::Location loc = e.b.getLoc();
  mlir::Value zero = mlir::arith::ConstantOp::create(
      e.b, loc, e.b.getZeroAttr(number.getType()));
  mlir::Value isOther =
      isa<mlir::FloatType>(number.getType())
          ? mlir::Value(
                mlir::arith::CmpFOp::create(e.b, loc, CmpF::UNE, number, zero))
          : mlir::arith::CmpIOp::create(e.b, loc, CmpI::ne, number, zero);
  return e.select(isOther, value, 0);
}

/// A number for each row, expert and position of the width, in `type`; zero
/// where `inside` (may be null) leaves the position out.
inline mlir::Value mapWidth(Emitter &emitter, mlir::RankedTensorType type,
                            mlir::Value inside,
                            llvm::SmallVector<Operand> operands, Body body) {
  if (!inside)
    return emitter.map(type, operands, body);
  operands.push_back({inside, {emitter.loops(type.getRank()).back()}});
  return emitter.map(type, operands, [&](Scalar &e, mlir::ValueRange v) {
    return unlessZero(e, v.back(), body(e, v.drop_back()));
  });
}

/// side[..., E, f] plus bias[E, f]; the side itself if there is no bias.
inline mlir::Value addBias(Emitter &emitter, mlir::Value side,
                           mlir::Value bias) {
  if (!bias)
    return side;
  Loops all = emitter.loops(typeOf(side).getRank());
  return emitter.map(
      typeOf(side),
      {{side, all}, {bias, Loops(llvm::ArrayRef(all).take_back(2))}},
      [](Scalar &e, mlir::ValueRange v) { return e.add(v[0], v[1]); });
}

/// Rows of the input, whatever dimensions they have.
template <typename Op>
int64_t countRows(Op op) {
  mlir::RankedTensorType input = typeOf(op.getInput());
  return input.getNumElements() / input.getShape().back();
}

/// The manifest's fields of an expert's width that are not as most have them.
template <typename Op>
void describeGating(Op op, llvm::json::Object &fields) {
  Gating gating = getGating(op);
  if (gating.alpha != 1)
    fields["alpha"] = gating.alpha;
  if (gating.limit)
    fields["limit"] = *gating.limit;
  if (gating.upOffset != 0)
    fields["up_offset"] = gating.upOffset;
  if constexpr (requires { op.getScalesInput(); })
    if (op.getScalesInput())
      fields["scales_input"] = true;
}

template <typename Op>
LibraryDescription describeExperts(Op op) {
  llvm::ArrayRef<int64_t> down = shapeOf(op.getDown());
  mlir::RankedTensorType input = typeOf(op.getInput());
  llvm::json::Object fields{{"experts", down[0]},
                            {"k", input.getShape().back()},
                            {"f", down[2]},
                            {"n", down[1]},
                            {"type", getTypeName(input.getElementType())},
                            {"activation", op.getActivation()}};
  describeGating(op, fields);
  return {"experts", std::move(fields), {{"rows", countRows(op)}}};
}

} // namespace tp::nn

#endif // TP_LIB_DIALECT_NN_IR_EXPERTPARTS_H
