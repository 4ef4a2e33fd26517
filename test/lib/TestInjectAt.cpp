//===- TestInjectAt.cpp - Break one operation of a program ----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `test-tp-inject-at` changes one operation, which its function, name, location
// and number among those say: a term or a collective that is missing or there
// twice, an operand or an attribute that is another one. What comes out is a
// program that MLIR accepts, of one device or of a rank.
//
//===----------------------------------------------------------------------===//

#include "TestPasses.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace {

/// Give what the result was made of instead: operand `index`, or the first of
/// the result's type.
bool skip(Operation *op, int index) {
  for (OpOperand &operand : op->getOpOperands())
    if (operand.get().getType() == op->getResult(0).getType() &&
        (index < 0 || int(operand.getOperandNumber()) == index)) {
      op->getResult(0).replaceAllUsesWith(operand.get());
      return true;
    }
  return false;
}

/// Do it to the result once more.
bool twice(Operation *op) {
  if (op->getOperand(0).getType() != op->getResult(0).getType())
    return false;
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  Operation *again = builder.clone(*op);
  op->getResult(0).replaceAllUsesWith(again->getResult(0));
  again->setOperand(0, op->getResult(0));
  return true;
}

/// Lets each rank cut its own addend of a collective that reduces and cuts.
bool alone(Operation *op) {
  if (!isa<tp::ReduceScatterOp>(op))
    return false;
  OpBuilder builder(op);
  OperationState state(op->getLoc(), tp::SliceOp::getOperationName());
  state.addOperands(op->getOperands());
  state.addTypes(op->getResultTypes());
  for (NamedAttribute attribute : op->getAttrs())
    if (llvm::is_contained(tp::SliceOp::getAttributeNames(),
                           attribute.getName()))
      state.addAttribute(attribute.getName(), attribute.getValue());
  op->replaceAllUsesWith(builder.create(state));
  op->erase();
  return true;
}

/// Read another operand of the type of operand `index` in its place.
bool confuse(Operation *op, int index) {
  if (index < 0 || index >= int(op->getNumOperands()))
    return false;
  for (OpOperand &other : op->getOpOperands())
    if (int(other.getOperandNumber()) != index &&
        other.get() != op->getOperand(index) &&
        other.get().getType() == op->getOperand(index).getType()) {
      op->setOperand(index, other.get());
      return true;
    }
  return false;
}

/// Take the attribute away, or make its number another one.
bool change(Operation *op, StringRef name) {
  Attribute old = op->getAttr(name);
  Builder builder(op->getContext());
  if (isa_and_present<UnitAttr>(old))
    op->removeAttr(name);
  else if (auto number = dyn_cast_or_null<FloatAttr>(old))
    op->setAttr(name,
                builder.getF64FloatAttr(number.getValueAsDouble() * 1.01));
  else if (auto number = dyn_cast_or_null<IntegerAttr>(old))
    op->setAttr(name,
                builder.getIntegerAttr(number.getType(), number.getInt() + 1));
  else
    return false;
  return true;
}

struct TestInjectAt : PassWrapper<TestInjectAt, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestInjectAt)
  TestInjectAt() = default;
  TestInjectAt(const TestInjectAt &other) : PassWrapper(other) {}

  StringRef getArgument() const final { return "test-tp-inject-at"; }
  StringRef getDescription() const final {
    return "break one operation of a program";
  }

  bool isMeant(Operation *operation) {
    if (operation->getName().getStringRef() != op)
      return false;
    std::string place, made;
    llvm::raw_string_ostream(place) << operation->getLoc();
    llvm::raw_string_ostream(made) << operation->getResultTypes();
    bool changes = !llvm::is_contained(
        ArrayRef<StringRef>{"skip", "twice", "alone", "confuse"}, kind);
    return StringRef(place).contains(at) && StringRef(made).contains(type) &&
           (!changes || operation->hasAttr(kind));
  }

  bool inject(Operation *operation) {
    if (kind == "skip")
      return skip(operation, operand);
    if (kind == "twice")
      return twice(operation);
    if (kind == "alone")
      return alone(operation);
    if (kind == "confuse")
      return confuse(operation, operand);
    return change(operation, kind);
  }

  void runOnOperation() override {
    SmallVector<Operation *> meant;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function.getName() == in)
        function.walk([&](Operation *operation) {
          if (isMeant(operation))
            meant.push_back(operation);
        });
    if (number < meant.size() && inject(meant[number]))
      return;
    InFlightDiagnostic diag = getOperation().emitError();
    diag << "found nothing to break: " << kind << " of " << op << " number "
         << unsigned(number) << " of " << meant.size() << " in @" << in;
    for (Operation *operation : meant)
      diag.attachNote(operation->getLoc()) << *operation;
    signalPassFailure();
  }

  Option<std::string> kind{
      *this, "kind",
      llvm::cl::desc("skip, twice, alone, confuse, or an attribute to change")};
  Option<std::string> in{*this, "in", llvm::cl::init("gradient"),
                         llvm::cl::desc("name of the function")};
  Option<std::string> op{*this, "op", llvm::cl::desc("name of the operation")};
  Option<std::string> at{*this, "at", llvm::cl::desc("part of its location")};
  Option<std::string> type{*this, "type",
                           llvm::cl::desc("part of its results' types")};
  Option<unsigned> number{*this, "number", llvm::cl::init(0),
                          llvm::cl::desc("which of those")};
  Option<int> operand{*this, "operand", llvm::cl::init(-1),
                      llvm::cl::desc("of skip and confuse")};
};

} // namespace

void tp::test::registerInjectAtPass() { PassRegistration<TestInjectAt>(); }
