//===- TestLibrary.cpp - Walk the operations with a library form ----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `test-tp-library-forms` wants an example of every registered operation that
// has a library form, checks what the compiler cannot (an interface that is
// missing, a call that leaves an operand out), and says each one's call. With
// `only=TARGET` it leaves the functions whose operations that target computes.
//
//===----------------------------------------------------------------------===//

#include "TestPasses.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "tp/Dialect/NN/IR/NNOps.h"
#include "tp/Target/Target.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tp;

namespace {
struct LibraryFormsPass
    : PassWrapper<LibraryFormsPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LibraryFormsPass)

  LibraryFormsPass() = default;
  LibraryFormsPass(const LibraryFormsPass &other) : PassWrapper(other) {}

  Option<TargetHandle> target{*this, "only",
                              llvm::cl::desc("erase what it does not compute")};

  StringRef getArgument() const final { return "test-tp-library-forms"; }
  StringRef getDescription() const final {
    return "check the operations that a library computes";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<nn::NNDialect>();
  }

  void runOnOperation() override {
    if (target.getNumOccurrences())
      return eraseOthers();
    for (RegisteredOperationName name : getContext().getRegisteredOperations())
      if (name.hasInterface<LibraryOpInterface>() && failed(checkName(name)))
        signalPassFailure();
    getOperation().walk([&](LibraryOpInterface op) {
      if (failed(checkCall(op)))
        signalPassFailure();
    });
  }

  void eraseOthers() {
    for (Operation &function :
         llvm::make_early_inc_range(*getOperation().getBody())) {
      WalkResult found = function.walk([&](LibraryOpInterface op) {
        return target->hasFunction(op.getLibraryCall({}).name)
                   ? WalkResult::advance()
                   : WalkResult::interrupt();
      });
      if (found.wasInterrupted())
        function.erase();
    }
  }

  LogicalResult checkName(RegisteredOperationName name) {
    bool hasExample = false;
    getOperation().walk(
        [&](Operation *op) { hasExample |= op->getName() == name; });
    auto expect = [&](bool isThere, StringRef what) -> LogicalResult {
      if (isThere)
        return success();
      return getOperation().emitError()
             << "expected " << what << " of " << name.getStringRef()
             << ", which has a library form";
    };
    return success(
        succeeded(expect(hasExample, "an example")) &&
        succeeded(expect(name.hasInterface<ShardingRuleOpInterface>(),
                         "a sharding rule")) &&
        succeeded(expect(name.hasInterface<DecomposeOpInterface>(),
                         "a decomposition")));
  }

  LogicalResult checkCall(LibraryOpInterface op) {
    LibraryUse use;
    use.isPacked = op.getPackedOperand() != nullptr;
    LibraryCall call = op.getLibraryCall(use);
    if (call.hasId != op.getLibraryDescription(use).has_value())
      return op.emitError("expected a description exactly if the function has "
                          "an id");
    SmallVector<Value> passed;
    std::string text;
    llvm::raw_string_ostream stream(text);
    stream << call.name << '(';
    llvm::interleaveComma(
        call.arguments, stream, [&](const LibraryArgument &given) {
          auto *address = std::get_if<LibraryAddress>(&given);
          if (!address) {
            stream << std::get<int64_t>(given);
            return;
          }
          passed.push_back(address->value);
          if (!address->value)
            stream << "null";
          else if (address->value.getDefiningOp() == op)
            stream << "result "
                   << cast<OpResult>(address->value).getResultNumber();
          else
            stream << "operand "
                   << std::distance(
                          op->operand_begin(),
                          llvm::find(op->getOperands(), address->value));
          if (address->isPacked)
            stream << " packed";
        });
    stream << ')';
    for (Value value : op->getOperands())
      if (isa<RankedTensorType>(value.getType()) &&
          !llvm::is_contained(passed, value))
        return op.emitError("expected a call with every operand, got ") << text;
    for (OpResult result : op->getResults())
      if (!result.use_empty() && !llvm::is_contained(passed, result))
        return op.emitError("expected a call with every result, got ") << text;
    llvm::outs() << op->getName() << ": " << text << '\n';
    return success();
  }
};
} // namespace

void tp::test::registerLibraryPass() { PassRegistration<LibraryFormsPass>(); }
