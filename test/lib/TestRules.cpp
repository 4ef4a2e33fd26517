//===- TestRules.cpp - Print rules, padding states and per-rank forms
//-------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One operation at a time, without propagation: `test-tp-print-rules` remarks
// each rule, `test-tp-print-padding` the padding states of operations with
// `test.padding = ["factor", "state of operand 0", ...]`, `test-tp-local-form`
// builds the per-rank form of operations with `test.shard = {factor = "axis"}`,
// `test-tp-ill-formed-rules` prints rules as the first does, with an operation
// whose own rule is wrong.
//
//===----------------------------------------------------------------------===//

#include "TestPasses.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Pass/Pass.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "tp/Rules/Rules.h"

using namespace mlir;
using namespace tp;

static bool isSubject(Operation *op) {
  return !isa<ModuleOp, FunctionOpInterface, MeshOp>(op) &&
         !op->hasTrait<OpTrait::IsTerminator>() &&
         isa_and_nonnull<FunctionOpInterface>(op->getParentOp());
}

static std::optional<unsigned> findFactor(const ShardingRule &rule,
                                          StringRef name) {
  for (auto [i, factor] : llvm::enumerate(rule.factors))
    if (factor.name == name)
      return i;
  return std::nullopt;
}

static LogicalResult printRules(ModuleOp module) {
  WalkResult walk = module.walk([](Operation *op) {
    if (!isSubject(op))
      return WalkResult::advance();
    FailureOr<ShardingRule> rule = getShardingRule(op);
    if (failed(rule))
      return WalkResult::interrupt();
    op->emitRemark() << tp::toString(*rule);
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

namespace {
struct PrintRulesPass : PassWrapper<PrintRulesPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PrintRulesPass)

  StringRef getArgument() const final { return "test-tp-print-rules"; }
  StringRef getDescription() const final { return "remark each sharding rule"; }
  void runOnOperation() override {
    if (failed(printRules(getOperation())))
      signalPassFailure();
  }
};

/// A rule that does not fit the operation that says it.
struct IllFormedRule
    : ShardingRuleOpInterface::ExternalModel<IllFormedRule,
                                             UnrealizedConversionCastOp> {
  FailureOr<ShardingRule> getShardingRule(Operation *) const {
    ShardingRule rule;
    TensorFactors tensor;
    tensor.dims.push_back({rule.addFactor(7)});
    rule.operands.push_back(tensor);
    rule.results.push_back(tensor);
    rule.linearity.push_back(Linearity::None);
    return rule;
  }
};

struct IllFormedRulesPass
    : PassWrapper<IllFormedRulesPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(IllFormedRulesPass)

  StringRef getArgument() const final { return "test-tp-ill-formed-rules"; }
  StringRef getDescription() const final {
    return "remark rules, that of unrealized_conversion_cast being wrong";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.addExtension(+[](MLIRContext *context, BuiltinDialect *) {
      UnrealizedConversionCastOp::attachInterface<IllFormedRule>(*context);
    });
  }
  void runOnOperation() override {
    if (failed(printRules(getOperation())))
      signalPassFailure();
  }
};

struct PrintPaddingPass
    : PassWrapper<PrintPaddingPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PrintPaddingPass)

  StringRef getArgument() const final { return "test-tp-print-padding"; }
  StringRef getDescription() const final {
    return "remark padding states, and the masks that make them harmless";
  }

  static StringRef stringify(PadState state) {
    switch (state) {
    case PadState::None:
      return "none";
    case PadState::Zero:
      return "zero";
    case PadState::NegInf:
      return "neg_inf";
    case PadState::PosInf:
      return "pos_inf";
    case PadState::Anything:
      return "anything";
    }
    llvm_unreachable("unknown padding state");
  }

  static PadState parse(StringRef text) {
    for (PadState state : {PadState::None, PadState::Zero, PadState::NegInf,
                           PadState::PosInf, PadState::Anything})
      if (stringify(state) == text)
        return state;
    llvm::report_fatal_error("unknown padding state");
  }

  static std::string print(ArrayRef<PadState> states) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    llvm::interleaveComma(states, stream,
                          [&](PadState state) { stream << stringify(state); });
    return text;
  }

  static void printGuard(const PaddingGuard &guard,
                         InFlightDiagnostic &remark) {
    for (auto [index, mask] : llvm::enumerate(guard.masks))
      if (mask)
        remark << "; operand " << index << " masked with " << *mask;
    if (guard.inBody)
      remark << "; guarded in the body";
  }

  void runOnOperation() override {
    getOperation()->walk([&](Operation *op) {
      auto spec = op->getAttrOfType<ArrayAttr>("test.padding");
      if (!spec)
        return;
      FailureOr<ShardingRule> rule = getShardingRule(op);
      if (failed(rule))
        return signalPassFailure();
      auto texts = spec.getAsRange<StringAttr>();
      std::optional<unsigned> factor =
          findFactor(*rule, (*texts.begin()).getValue());
      SmallVector<PadState> states;
      for (StringAttr text : llvm::drop_begin(texts))
        states.push_back(parse(text.getValue()));
      if (!factor || states.size() != op->getNumOperands()) {
        op->emitError("test.padding does not fit");
        return signalPassFailure();
      }
      InFlightDiagnostic remark = op->emitRemark();
      remark << "results: " << print(tp::getPaddingStates(op, *factor, states));
      std::optional<PaddingGuard> guard =
          getPaddingGuard(op, *rule, *factor, states);
      if (!guard)
        remark << "; no guard";
      else
        printGuard(*guard, remark);
    });
  }
};

struct LocalFormPass : PassWrapper<LocalFormPass, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LocalFormPass)

  StringRef getArgument() const final { return "test-tp-local-form"; }
  StringRef getDescription() const final {
    return "replace operations by their per-rank form between casts";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<TPDialect, arith::ArithDialect, tensor::TensorDialect>();
  }

  LogicalResult localize(Operation *op, DictionaryAttr spec) {
    MeshOp meshOp = getUniqueMesh(op);
    Mesh mesh = meshOp.getMesh().toMesh();
    FailureOr<ShardingRule> rule = getShardingRule(op);
    if (failed(rule))
      return failure();
    FactorShardings factors(rule->factors.size());
    for (NamedAttribute entry : spec) {
      std::optional<unsigned> factor = findFactor(*rule, entry.getName());
      std::optional<unsigned> axis =
          mesh.findAxis(cast<StringAttr>(entry.getValue()).getValue());
      if (!factor || !axis)
        return op->emitError("test.shard does not fit");
      if (!canShard(rule->factors[*factor], {mesh.getWhole(*axis)}))
        return op->emitError() << "factor " << entry.getName().getValue()
                               << " cannot be sharded";
      factors.axes[*factor] = {mesh.getWhole(*axis)};
    }
    auto getLocalType = [&](Type type, const TensorFactors &tensor) -> Type {
      auto global = dyn_cast<RankedTensorType>(type);
      if (!global)
        return type;
      std::optional<TensorSharding> sharding =
          projectToTensor(*rule, tensor, global.getShape(), factors);
      if (!sharding)
        return {};
      return global.clone(getLocalShape(global.getShape(), *sharding));
    };
    OpBuilder builder(op);
    SmallVector<Value> operands;
    SmallVector<Type> types;
    auto cast = [&](Value value, Type type) -> Value {
      if (value.getType() == type)
        return value;
      return UnrealizedConversionCastOp::create(builder, op->getLoc(), type,
                                                value)
          .getResult(0);
    };
    for (auto [operand, tensor] :
         llvm::zip_equal(op->getOperands(), rule->operands)) {
      Type type = getLocalType(operand.getType(), tensor);
      if (!type)
        return op->emitError("operand has no such sharding");
      operands.push_back(cast(operand, type));
    }
    for (auto [result, tensor] :
         llvm::zip_equal(op->getResults(), rule->results)) {
      types.push_back(getLocalType(result.getType(), tensor));
      if (!types.back())
        return op->emitError("result has no such sharding");
    }
    op->removeAttr("test.shard");
    LocalContext context(mesh, FlatSymbolRefAttr::get(meshOp.getSymNameAttr()),
                         *rule, factors);
    FailureOr<SmallVector<Value>> results =
        tp::buildLocal(op, builder, operands, types, context);
    if (failed(results))
      return failure();
    for (auto [old, value] : llvm::zip_equal(op->getResults(), *results))
      old.replaceAllUsesWith(cast(value, old.getType()));
    op->erase();
    return success();
  }

  void runOnOperation() override {
    SmallVector<std::pair<Operation *, DictionaryAttr>> ops;
    getOperation()->walk([&](Operation *op) {
      if (auto spec = op->getAttrOfType<DictionaryAttr>("test.shard"))
        ops.push_back({op, spec});
    });
    for (auto [op, spec] : ops)
      if (failed(localize(op, spec)))
        return signalPassFailure();
  }
};
} // namespace

void tp::test::registerRulePasses() {
  PassRegistration<PrintRulesPass>();
  PassRegistration<IllFormedRulesPass>();
  PassRegistration<PrintPaddingPass>();
  PassRegistration<LocalFormPass>();
}
