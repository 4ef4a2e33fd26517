//===- TestMakeLoss.cpp - Train whatever a function computes --------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `test-tp-make-loss` makes parameters of the float arguments of @main and a
// loss of its float results: the sum of the sines of their elements, so that
// each element's derivative is another and none is large. What the fuzzer draws
// can be differentiated then.
//
//===----------------------------------------------------------------------===//

#include "TestPasses.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Pass/Pass.h"
#include "tp/Dialect/TP/IR/TPOps.h"

using namespace mlir;

namespace {
struct MakeLossPass : PassWrapper<MakeLossPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(MakeLossPass)

  StringRef getArgument() const final { return "test-tp-make-loss"; }
  StringRef getDescription() const final {
    return "make parameters of @main's arguments and a loss of its results";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, linalg::LinalgDialect,
                    math::MathDialect, tensor::TensorDialect>();
  }

  static bool isFloats(Type type) {
    auto shaped = dyn_cast<RankedTensorType>(type);
    return shaped && isa<FloatType>(shaped.getElementType());
  }

  /// total + the sum of the sines of `value`, in f64.
  static Value addSines(ImplicitLocOpBuilder &b, Value value, Value total) {
    auto type = cast<RankedTensorType>(value.getType());
    unsigned rank = type.getRank();
    SmallVector<AffineMap> maps{b.getMultiDimIdentityMap(rank),
                                AffineMap::get(rank, 0, b.getContext())};
    SmallVector<utils::IteratorType> loops(rank,
                                           utils::IteratorType::reduction);
    return linalg::GenericOp::create(
               b, TypeRange{total.getType()}, value, total, maps, loops,
               [&](OpBuilder &inner, Location loc, ValueRange args) {
                 Value wide = args[0];
                 if (!wide.getType().isF64())
                   wide =
                       arith::ExtFOp::create(inner, loc, b.getF64Type(), wide);
                 Value sine = math::SinOp::create(inner, loc, wide);
                 Value sum = arith::AddFOp::create(inner, loc, args[1], sine);
                 linalg::YieldOp::create(inner, loc, sum);
               })
        .getResult(0);
  }

  void runOnOperation() override {
    auto function = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!function)
      return;
    Block &block = function.getBody().front();
    auto b = ImplicitLocOpBuilder::atBlockBegin(function.getLoc(), &block);
    llvm::BitVector made(function.getNumArguments());
    for (BlockArgument argument : block.getArguments())
      if (isFloats(argument.getType())) {
        std::string name =
            "argument." + std::to_string(argument.getArgNumber());
        argument.replaceAllUsesWith(tp::ParameterOp::create(
            b, argument.getType(), b.getStringAttr(name), nullptr, nullptr));
        made.set(argument.getArgNumber());
      }
    if (failed(function.eraseArguments(made)))
      return signalPassFailure();
    Operation *end = block.getTerminator();
    b.setInsertionPoint(end);
    auto scalar = RankedTensorType::get({}, b.getF64Type());
    Value loss = arith::ConstantOp::create(
        b, DenseElementsAttr::get(scalar, Attribute(b.getF64FloatAttr(0))));
    for (Value value : end->getOperands())
      if (isFloats(value.getType()))
        loss = addSines(b, value, loss);
    end->setOperands(loss);
    function.setFunctionType(
        b.getFunctionType(function.getArgumentTypes(), {scalar}));
    function.setResAttrsAttr(b.getArrayAttr(b.getDictionaryAttr(
        b.getNamedAttr(tp::TPDialect::getLossAttrName(), b.getUnitAttr()))));
  }
};
} // namespace

void tp::test::registerMakeLossPass() { PassRegistration<MakeLossPass>(); }
