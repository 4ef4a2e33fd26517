//===- BodyCounts.cpp - What kinds of body a program has ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A reduction is named by the operation that yields the output's next value,
// and by where the output stands in it.
//
//===----------------------------------------------------------------------===//

#include "BodyCounts.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "tp/Dialect/NN/IR/NNOps.h"
#include "tp/Dialect/TP/IR/ModelAttributes.h"
#include "tp/Dialect/TP/IR/TPOps.h"

using namespace mlir;

namespace tp::fuzz {

namespace {
class Counter {
public:
  explicit Counter(std::map<std::string, int64_t> &counts) : counts(counts) {}
  void count(const Twine &group, const Twine &kind) {
    ++counts[(group + ": " + kind).str()];
  }
  void countStructured(linalg::LinalgOp op);
  void countReduction(linalg::LinalgOp op, unsigned output);
  void countSharding(RankedTensorType type, ShardingAttr sharding,
                     const Mesh &mesh);
  void countFunction(func::FuncOp function, const Mesh &mesh);

private:
  std::map<std::string, int64_t> &counts;
};
} // namespace

static StringRef shortName(Operation *op) {
  return op->getName().stripDialect();
}

static bool dependsOn(Value value, Value on, int64_t &budget) {
  if (value == on)
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || --budget < 0)
    return false;
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    return dependsOn(operand, on, budget);
  });
}

void Counter::countReduction(linalg::LinalgOp op, unsigned output) {
  Block &body = *op.getBlock();
  Value out = body.getArgument(op.getNumDpsInputs() + output);
  Value next = body.getTerminator()->getOperand(output);
  Operation *combiner = next.getDefiningOp();
  if (!combiner)
    return count("reduction", "none");
  std::string kind = shortName(combiner).str();
  bool first = combiner->getNumOperands() > 0 && combiner->getOperand(0) == out;
  if (!llvm::is_contained(combiner->getOperands(), out))
    kind += " of something else";
  else if (!first)
    kind += " (term first)";
  count("reduction", kind);
  for (unsigned other = 0; other < op.getNumDpsInits(); ++other) {
    int64_t budget = 200;
    if (other != output &&
        dependsOn(next, body.getArgument(op.getNumDpsInputs() + other), budget))
      return count("reduction", "reads another output");
  }
}

void Counter::countStructured(linalg::LinalgOp op) {
  count("inputs", Twine(op.getNumDpsInputs()));
  count("outputs", Twine(op.getNumDpsInits()));
  unsigned size = 0;
  op.getBlock()->walk([&](Operation *inner) {
    if (inner->hasTrait<OpTrait::IsTerminator>() ||
        inner->hasTrait<OpTrait::ConstantLike>())
      return;
    ++size;
    count("scalar", shortName(inner));
  });
  count("body size", size < 2    ? "0-1"
                     : size < 5  ? "2-4"
                     : size < 10 ? "5-9"
                     : size < 20 ? "10-19"
                                 : "20-");
  for (unsigned i = 0; i < op.getNumDpsInits(); ++i) {
    OpOperand *init = op.getDpsInitOperand(i);
    AffineMap map = op.getMatchingIndexingMap(init);
    bool reduced = false;
    for (auto [dim, kind] : llvm::enumerate(op.getIteratorTypesArray()))
      reduced |=
          kind == utils::IteratorType::reduction && !map.isFunctionOfDim(dim);
    if (reduced)
      countReduction(op, i);
    if (!op.payloadUsesValueFromOperand(init))
      continue;
    auto fill = init->get().getDefiningOp<linalg::FillOp>();
    count("initial", fill ? "filled" : "a value");
  }
  for (auto [loop, kind] : llvm::enumerate(op.getIteratorTypesArray()))
    if (kind == utils::IteratorType::reduction) {
      if (op.getStaticLoopRanges()[loop] == 1)
        count("reduction", "over one element");
      if (loop == 0 && op.getNumLoops() > 1)
        count("reduction", "outermost");
    }
  for (AffineMap map : op.getIndexingMapsArray())
    count("map", map.isIdentity()               ? "identity"
                 : map.isProjectedPermutation() ? "permuted or projected"
                                                : "other");
}

void Counter::countSharding(RankedTensorType type, ShardingAttr attribute,
                            const Mesh &mesh) {
  TensorSharding sharding = attribute.toSharding(mesh);
  count("annotation", "all");
  for (auto [size, dim] : llvm::zip(type.getShape(), sharding.dims)) {
    if (getPadding(size, dim) > 0)
      count("annotation", "padded");
    if (getShardCount(dim.axes) > size)
      count("annotation", "with empty shards");
    if (dim.open)
      count("annotation", "open");
    if (dim.hasBlocks())
      count("annotation", "in blocks");
  }
  for (const AxisRef &ref : sharding.getUsedAxes())
    if (ref.size != mesh.getAxis(ref.axis).size)
      count("annotation", "sub-axis");
}

void Counter::countFunction(func::FuncOp function, const Mesh &mesh) {
  count("function", function.isPrivate() ? "helper" : "public");
  for (BlockArgument argument : function.getArguments()) {
    if (auto kind = function.getArgAttrOfType<StringAttr>(
            argument.getArgNumber(), valuesAttrName))
      count("values", kind.getValue());
    if (ShardingAttr sharding = getSharding(argument))
      countSharding(cast<RankedTensorType>(argument.getType()), sharding, mesh);
  }
}

std::map<std::string, int64_t> countBodies(ModuleOp module) {
  std::map<std::string, int64_t> counts;
  Counter counter(counts);
  Mesh mesh = getUniqueMesh(module).getMesh().toMesh();
  counter.count("mesh", mesh.getNumAxes() == 1 ? "one axis" : "two axes");
  if (!mesh.getDeviceOrder().empty())
    counter.count("mesh", "device order");
  module->walk([&](Operation *op) {
    if (auto function = dyn_cast<func::FuncOp>(op))
      return counter.countFunction(function, mesh);
    bool inBody = op->getParentOfType<linalg::LinalgOp>() != nullptr;
    if (inBody || op->getNumResults() == 0 ||
        op->hasTrait<OpTrait::ConstantLike>())
      return;
    counter.count("operation", op->getName().getStringRef());
    if (auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType())) {
      std::string text;
      llvm::raw_string_ostream(text) << type.getElementType();
      counter.count("type", text);
      if (ShardingAttr sharding = getSharding(op->getResult(0)))
        counter.countSharding(type, sharding, mesh);
    }
    if (op->use_empty())
      counter.count("unused", op->getName().getStringRef());
    if (auto structured = dyn_cast<linalg::LinalgOp>(op))
      if (!isa<linalg::FillOp>(op))
        counter.countStructured(structured);
    if (auto constraint = dyn_cast<ShardingConstraintOp>(op))
      counter.countSharding(constraint.getType(), constraint.getSharding(),
                            mesh);
    if (auto repeat = dyn_cast<RepeatOp>(op)) {
      counter.count("repeat", Twine(repeat.getCount()) + " times");
      if (op->getParentOfType<RepeatOp>())
        counter.count("repeat", "nested");
      if (!repeat.getStacked().empty())
        counter.count("repeat", "stacked operands");
      if (!repeat.getStackedResults().empty())
        counter.count("repeat", "stacked results");
    }
  });
  return counts;
}

void printCounts(const std::map<std::string, int64_t> &counts,
                 llvm::raw_ostream &os) {
  std::string group;
  for (const auto &[key, count] : counts) {
    auto [name, kind] = StringRef(key).split(": ");
    if (name != group) {
      group = name.str();
      os << "\n" << group << ":";
    }
    os << "  " << kind << " " << count;
  }
  os << "\n";
}

} // namespace tp::fuzz
