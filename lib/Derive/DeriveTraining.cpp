//===- DeriveTraining.cpp - tp-derive-training ----------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loss on what a forward program gives. tp-differentiate and
// tp-make-training-step do the rest.
//
//===----------------------------------------------------------------------===//

#include "tp/Derive/DeriveTraining.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/Derive/Passes.h"
#include "tp/Dialect/NN/IR/NNOps.h"
#include "tp/Dialect/TP/IR/ModelAttributes.h"
#include "tp/Dialect/TP/IR/TPOps.h"

namespace tp {
#define GEN_PASS_DEF_DERIVETRAINING
#include "tp/Derive/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

/// This target marks a position that does not count, as PyTorch's does.
static constexpr int64_t ignored = -100;

static constexpr StringLiteral lossName = "loss_sum", countName = "tokens";

namespace {
class TrainingDeriver {
public:
  TrainingDeriver(func::FuncOp source)
      : source(source), end(source.getBody().front().getTerminator()),
        builder(end), loc(NameLoc::get(builder.getStringAttr("loss"))) {}

  LogicalResult run();

private:
  /// The result that there is a loss on.
  FailureOr<unsigned> findResult();
  Value addTargets(RankedTensorType logits);
  Value sumAll(Value value, llvm::function_ref<Value(OpBuilder &, Value)> term);
  void finish(Value loss, Value count);

  func::FuncOp source;
  Operation *end;
  OpBuilder builder;
  Location loc;
};
} // namespace

static bool isLoss(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() == 0 && tensor.getElementType().isF32();
}

FailureOr<unsigned> TrainingDeriver::findResult() {
  SmallVector<unsigned> found;
  for (auto [i, type] : llvm::enumerate(end->getOperandTypes())) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !isa<FloatType>(tensor.getElementType()))
      continue;
    auto name =
        source.getResultAttrOfType<StringAttr>(i, TPDialect::getNameAttrName());
    if (name && name.getValue() == "logits" && tensor.getRank() >= 2)
      return unsigned(i);
    if (isLoss(type) || tensor.getRank() >= 2)
      found.push_back(i);
  }
  if (found.size() == 1)
    return found.front();
  return emitError(source.getLoc())
         << "training cannot be derived: expected one result, logits [..., "
            "classes] or a loss f32[], or one of several named \"logits\", got "
         << found.size();
}

/// Adds an argument that has the number of each row's class.
Value TrainingDeriver::addTargets(RankedTensorType logits) {
  unsigned index = source.getNumArguments();
  auto attribute = [&](StringRef name, Attribute value) {
    return builder.getNamedAttr(name, value);
  };
  SmallVector<NamedAttribute> attributes{
      attribute(TPDialect::getNameAttrName(), builder.getStringAttr("targets")),
      attribute(rangeAttrName, builder.getDenseI64ArrayAttr(
                                   {ignored, logits.getShape().back()}))};
  // `labels` of sequences are their own tokens, which the loader shifts.
  if (logits.getRank() == 3)
    attributes.push_back(
        attribute(unshiftedAttrName, builder.getStringAttr("labels")));
  (void)source.insertArgument(
      index,
      RankedTensorType::get(logits.getShape().drop_back(),
                            builder.getI64Type()),
      builder.getDictionaryAttr(attributes),
      NameLoc::get(builder.getStringAttr("targets")));
  return source.getArgument(index);
}

/// Returns f32[], the sum of `term` of all elements.
Value TrainingDeriver::sumAll(
    Value value, llvm::function_ref<Value(OpBuilder &, Value)> term) {
  unsigned rank = cast<RankedTensorType>(value.getType()).getRank();
  Value number =
      arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(0));
  Value empty = tensor::EmptyOp::create(builder, loc, ArrayRef<int64_t>(),
                                        builder.getF32Type());
  Value zero = linalg::FillOp::create(builder, loc, number, empty).getResult(0);
  SmallVector<utils::IteratorType> loops(rank, utils::IteratorType::reduction);
  return linalg::GenericOp::create(
             builder, loc, zero.getType(), value, zero,
             {builder.getMultiDimIdentityMap(rank),
              AffineMap::get(rank, 0, builder.getContext())},
             loops,
             [&](OpBuilder &b, Location l, ValueRange args) {
               Value sum =
                   arith::AddFOp::create(b, l, args[1], term(b, args[0]));
               linalg::YieldOp::create(b, l, sum);
             })
      .getResult(0);
}

void TrainingDeriver::finish(Value loss, Value count) {
  end->setOperands({loss, count});
  source.setFunctionType(builder.getFunctionType(source.getArgumentTypes(),
                                                 end->getOperandTypes()));
  auto name = [&](StringRef text) {
    return builder.getNamedAttr(TPDialect::getNameAttrName(),
                                builder.getStringAttr(text));
  };
  SmallVector<Attribute> all{
      builder.getDictionaryAttr(
          {name(lossName), builder.getNamedAttr(TPDialect::getLossAttrName(),
                                                builder.getUnitAttr())}),
      builder.getDictionaryAttr(name(countName))};
  source.setResAttrsAttr(builder.getArrayAttr(all));
}

LogicalResult TrainingDeriver::run() {
  FailureOr<unsigned> result = findResult();
  if (failed(result))
    return failure();
  Value value = end->getOperand(*result);
  if (isLoss(value.getType())) {
    auto one = DenseElementsAttr::get(cast<RankedTensorType>(value.getType()),
                                      builder.getF32FloatAttr(1));
    finish(value, arith::ConstantOp::create(builder, loc, one));
    return success();
  }
  auto type = cast<RankedTensorType>(value.getType());
  Value targets = addTargets(type);
  Value losses = nn::CrossEntropyOp::create(
                     builder, loc,
                     RankedTensorType::get(type.getShape().drop_back(),
                                           builder.getF32Type()),
                     /*lse=*/Type(), value, targets)
                     .getLoss();
  Value sum = sumAll(losses, [](OpBuilder &, Value loss) { return loss; });
  int64_t classes = type.getShape().back();
  Value count = sumAll(targets, [&](OpBuilder &b, Value target) -> Value {
    Value past = arith::ConstantIntOp::create(b, loc, classes, 64);
    // As unsigned numbers, negative ones are beyond all classes.
    Value counts =
        arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ult, target, past);
    return arith::UIToFPOp::create(b, loc, b.getF32Type(), counts);
  });
  finish(sum, count);
  return success();
}

/// Asks for a training step.
static void note(ModuleOp module, const TrainOptions &options) {
  Builder builder(module.getContext());
  SmallVector<NamedAttribute> fields{builder.getNamedAttr(
      "optimizer", builder.getStringAttr(options.optimizer))};
  if (options.clip > 0)
    fields.push_back(
        builder.getNamedAttr("clip", builder.getF64FloatAttr(options.clip)));
  if (options.momentum)
    fields.push_back(builder.getNamedAttr("momentum", builder.getUnitAttr()));
  if (!options.shardOptimizer.empty())
    fields.push_back(builder.getNamedAttr(
        shardOptimizerAttrName, builder.getStringAttr(options.shardOptimizer)));
  module->setAttr(TPDialect::getTrainingAttrName(),
                  builder.getDictionaryAttr(fields));
}

LogicalResult tp::deriveTraining(func::FuncOp source,
                                 const TrainOptions &options) {
  auto module = source->getParentOfType<ModuleOp>();
  if (module->hasAttr(TPDialect::getTrainingAttrName()))
    return emitError(source.getLoc())
           << "training cannot be derived: the module asks for a training step "
              "already";
  if (failed(TrainingDeriver(source).run()))
    return failure();
  note(module, options);
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct DeriveTrainingPass
    : public tp::impl::DeriveTrainingBase<DeriveTrainingPass> {
  using DeriveTrainingBase::DeriveTrainingBase;

  void runOnOperation() override {
    auto source = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!source || source.isExternal()) {
      emitError(getOperation().getLoc())
          << "training cannot be derived: expected a function @main";
      return signalPassFailure();
    }
    if (optimizer != "adamw" && optimizer != "sgd") {
      emitError(getOperation().getLoc())
          << "for optimizer: expected adamw or sgd, got '" << optimizer << "'";
      return signalPassFailure();
    }
    if (failed(deriveTraining(source,
                              {optimizer, clip, momentum, shardOptimizer})))
      signalPassFailure();
  }
};
} // namespace

std::unique_ptr<Pass> tp::createDeriveTraining(const TrainOptions &given) {
  DeriveTrainingOptions options;
  options.optimizer = given.optimizer;
  options.clip = given.clip;
  options.momentum = given.momentum;
  options.shardOptimizer = given.shardOptimizer;
  return createDeriveTraining(options);
}
