//===- WidenFloats.cpp - A program in f64 ---------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tp-widen-floats: types of values, of functions and of constants.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "tp/Verify/Passes.h"

namespace tp {
#define GEN_PASS_DEF_WIDENFLOATS
#include "tp/Verify/Passes.h.inc"
} // namespace tp

using namespace mlir;

static Type widen(Type type) {
  if (auto shaped = dyn_cast<RankedTensorType>(type))
    return shaped.clone(widen(shaped.getElementType()));
  if (auto function = dyn_cast<FunctionType>(type)) {
    auto all = [](TypeRange types) {
      return llvm::map_to_vector(types, [](Type each) { return widen(each); });
    };
    return FunctionType::get(type.getContext(), all(function.getInputs()),
                             all(function.getResults()));
  }
  return isa<FloatType>(type) ? Type(Float64Type::get(type.getContext()))
                              : type;
}

/// The same numbers; null for what is no float or tensor of such.
static TypedAttr widen(TypedAttr attribute) {
  auto number = [](APFloat value) {
    bool exact;
    value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &exact);
    return value;
  };
  auto f64 = Float64Type::get(attribute.getContext());
  if (auto scalar = dyn_cast<FloatAttr>(attribute))
    return FloatAttr::get(f64, number(scalar.getValue()));
  if (auto elements = dyn_cast<DenseFPElementsAttr>(attribute))
    return cast<TypedAttr>(elements.mapValues(f64, [&](const APFloat &value) {
      return number(value).bitcastToAPInt();
    }));
  return {};
}

static LogicalResult widenConstant(arith::ConstantOp op) {
  if (widen(op.getType()) == op.getType())
    return success();
  TypedAttr value = widen(op.getValue());
  if (!value)
    return op.emitError() << "expected a constant of dense elements to compute "
                             "with in f64";
  op.setValueAttr(value);
  return success();
}

namespace {
struct WidenFloats : tp::impl::WidenFloatsBase<WidenFloats> {
  void runOnOperation() override {
    WalkResult done = getOperation().walk([](Operation *op) -> WalkResult {
      if (isa<arith::BitcastOp>(op) &&
          (widen(op->getOperand(0).getType()) != op->getOperand(0).getType() ||
           widen(op->getResult(0).getType()) != op->getResult(0).getType()))
        return op->emitError("cannot be computed in f64: it reads the bits of "
                             "another type");
      if (auto constant = dyn_cast<arith::ConstantOp>(op);
          constant && failed(widenConstant(constant)))
        return failure();
      for (Region &region : op->getRegions())
        for (Block &block : region)
          for (BlockArgument argument : block.getArguments())
            argument.setType(widen(argument.getType()));
      for (Value result : op->getResults())
        result.setType(widen(result.getType()));
      if (auto function = dyn_cast<func::FuncOp>(op))
        function.setFunctionType(
            cast<FunctionType>(widen(Type(function.getFunctionType()))));
      if (auto state = dyn_cast<tp::StateOp>(op))
        state.setType(widen(state.getType()));
      return success();
    });
    if (done.wasInterrupted())
      return signalPassFailure();
    getOperation().walk([](Operation *op) {
      if (isa<arith::ExtFOp, arith::TruncFOp>(op)) {
        op->replaceAllUsesWith(op->getOperands());
        op->erase();
      }
    });
  }
};
} // namespace
