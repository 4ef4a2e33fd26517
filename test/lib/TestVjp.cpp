//===- TestVjp.cpp - Build the derivative of a single operation
//-------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `test-tp-vjp` turns functions with an operation marked `test.vjp` into their
// gradient functions: the last arguments, one per result of the operation, are
// the cotangents (`test.no_cotangents` says of how many last results there is
// none), and the function returns the gradients that exist, in order.
//
//===----------------------------------------------------------------------===//

#include "TestPasses.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/Pass.h"
#include "tp/Interfaces/ShardingInterface.h"

using namespace mlir;

namespace {
struct VjpPass : PassWrapper<VjpPass, OperationPass<func::FuncOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(VjpPass)

  StringRef getArgument() const final { return "test-tp-vjp"; }
  StringRef getDescription() const final {
    return "return the gradients of the operation marked test.vjp";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, linalg::LinalgDialect,
                    math::MathDialect, tensor::TensorDialect>();
  }
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    Operation *subject = nullptr;
    function.walk([&](Operation *op) {
      if (op->hasAttr("test.vjp"))
        subject = op;
    });
    if (!subject)
      return;
    subject->removeAttr("test.vjp");
    unsigned without = 0;
    if (auto count = dyn_cast_or_null<IntegerAttr>(
            subject->removeAttr("test.no_cotangents")))
      without = count.getInt();
    SmallVector<Value> cotangents(
        function.getArguments().take_back(subject->getNumResults() - without));
    cotangents.resize(subject->getNumResults());
    OpBuilder builder(subject->getContext());
    builder.setInsertionPointAfter(subject);
    FailureOr<SmallVector<Value>> gradients =
        cast<tp::DifferentiableOpInterface>(subject).buildVjp(builder,
                                                              cotangents);
    if (failed(gradients))
      return signalPassFailure();
    SmallVector<Value> results;
    for (auto [operand, gradient] :
         llvm::zip_equal(subject->getOperands(), *gradients)) {
      if (!gradient)
        continue;
      if (gradient.getType() != operand.getType()) {
        subject->emitError()
            << "expected a gradient of type " << operand.getType() << ", got "
            << gradient.getType();
        return signalPassFailure();
      }
      results.push_back(gradient);
    }
    Operation *ret = function.front().getTerminator();
    ret->setOperands(results);
    function.setFunctionType(builder.getFunctionType(
        function.getArgumentTypes(), ret->getOperandTypes()));
    if (subject->use_empty())
      subject->erase();
  }
};
} // namespace

void tp::test::registerVjpPass() { PassRegistration<VjpPass>(); }
