//===- TestInjectFault.cpp - Break a per-rank program in a chosen way -----===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `test-tp-inject-fault{kind=...}` makes, in the output of partition or
// collectives, each of the mistakes that tensor-parallel code is known for;
// tests then expect tp-verify to name the operation. The program that comes out
// is one that MLIR accepts: nothing but its numbers gives it away.
//
//===----------------------------------------------------------------------===//

#include "TestPasses.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "tp/Dialect/NN/IR/NNOps.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace tp;

namespace {

/// The first all_reduce, or a null op.
AllReduceOp findAllReduce(ModuleOp module) {
  AllReduceOp found;
  module->walk([&](AllReduceOp op) {
    found = op;
    return WalkResult::interrupt();
  });
  return found;
}

bool dropCollective(ModuleOp module) {
  AllReduceOp op = findAllReduce(module);
  if (!op)
    return false;
  op.replaceAllUsesWith(op.getInput());
  op.erase();
  return true;
}

bool doubleCollective(ModuleOp module) {
  AllReduceOp op = findAllReduce(module);
  if (!op)
    return false;
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  auto again = cast<AllReduceOp>(builder.clone(*op));
  op.getResult().replaceAllUsesWith(again.getResult());
  again.getInputMutable().assign(op.getResult());
  return true;
}

/// Sum over the mesh's other axis.
bool wrongAxis(ModuleOp module) {
  AllReduceOp op = findAllReduce(module);
  MeshOp mesh = getUniqueMesh(module);
  if (!op || !mesh)
    return false;
  StringAttr right = op.getAxes().getAxes()[0].getName();
  for (MeshAxisAttr axis : mesh.getMesh().getAxes()) {
    if (axis.getName() == right)
      continue;
    MLIRContext *context = module.getContext();
    op.setAxesAttr(AxisListAttr::get(
        context, AxisRefAttr::get(context, axis.getName(), 1, 0)));
    return true;
  }
  return false;
}

/// all_reduce(x w + keep_first(b)) becomes all_reduce(x w) + keep_first(b).
bool collectiveBeforeBias(ModuleOp module) {
  bool done = false;
  module->walk([&](nn::LinearOp op) {
    auto bias = op.getBias() ? op.getBias().getDefiningOp<KeepFirstOp>()
                             : KeepFirstOp();
    if (!bias || !op->hasOneUse())
      return WalkResult::advance();
    auto reduce = dyn_cast<AllReduceOp>(*op->getUsers().begin());
    if (!reduce)
      return WalkResult::advance();
    OpBuilder builder(op->getContext());
    builder.setInsertionPointAfter(reduce);
    auto type = cast<RankedTensorType>(reduce.getType());
    Value empty = tensor::EmptyOp::create(builder, op.getLoc(), type.getShape(),
                                          type.getElementType());
    SmallVector<int64_t> dims(
        llvm::to_vector(llvm::seq<int64_t>(0, type.getRank() - 1)));
    Value wide = linalg::BroadcastOp::create(builder, op.getLoc(),
                                             bias.getResult(), empty, dims)
                     ->getResult(0);
    auto add =
        arith::AddFOp::create(builder, op.getLoc(), reduce.getResult(), wide);
    reduce.getResult().replaceAllUsesExcept(add.getResult(), add);
    // The sum stands for what the layer gave.
    add->setAttr("tp.value_id", op->getAttr("tp.value_id"));
    setSharding(add.getResult(), reduce.getToAttr());
    op->removeAttr("tp.value_id");
    op.getBiasMutable().clear();
    done = true;
    return WalkResult::interrupt();
  });
  return done;
}

/// Every rank believes to be the first.
bool dropOffset(ModuleOp module) {
  bool done = false;
  module->walk([&](RankOp op) {
    OpBuilder builder(op);
    Value zero = arith::ConstantIndexOp::create(builder, op.getLoc(), 0);
    op.replaceAllUsesWith(zero);
    op.erase();
    done = true;
  });
  return done;
}

/// An operand that counts once counts on every rank.
bool initialOnAllRanks(ModuleOp module) {
  bool done = false;
  module->walk([&](KeepFirstOp op) {
    op.getResult().replaceAllUsesWith(op.getInput());
    op.erase();
    done = true;
  });
  return done;
}

/// Parameters split over the major part of an axis are split over the minor:
/// rank r holds KV head r % nkv.
bool kvHeadByRemainder(ModuleOp module) {
  MeshOp meshOp = getUniqueMesh(module);
  if (!meshOp)
    return false;
  Mesh mesh = meshOp.getMesh().toMesh();
  bool done = false;
  module->walk([&](ParameterOp op) {
    ShardingAttr attribute = getSharding(op.getResult());
    if (!attribute)
      return;
    TensorSharding sharding = attribute.toSharding(mesh);
    for (DimSharding &dim : sharding.dims)
      for (AxisRef &ref : dim.axes) {
        int64_t whole = mesh.getAxis(ref.axis).size;
        if (ref.pre != 1 || ref.size == whole)
          continue;
        ref.pre = whole / ref.size;
        done = true;
      }
    setSharding(op.getResult(),
                ShardingAttr::get(op.getContext(), attribute.getMesh(), mesh,
                                  sharding));
  });
  return done;
}

/// The boxes of one checkpoint tensor become slices of this rank's part of it.
bool fusedAsOneMatrix(ModuleOp module) {
  llvm::MapVector<StringAttr, SmallVector<ParameterOp>> parts;
  module->walk([&](ParameterOp op) {
    auto type = cast<RankedTensorType>(op.getType());
    if (op.getSource() && type.getRank() == 2)
      parts[op.getNameAttr()].push_back(op);
  });
  for (auto &[name, ops] : parts) {
    if (ops.size() != 3)
      continue;
    ParameterOp first = ops[0];
    auto local = cast<RankedTensorType>(first.getType());
    auto global = cast<RankedTensorType>(
        first->getAttrOfType<TypeAttr>(TPDialect::getGlobalTypeAttrName())
            .getValue());
    auto triple = [](RankedTensorType type) {
      return type.clone({3 * type.getDimSize(0), type.getDimSize(1)});
    };
    OpBuilder builder(first);
    auto fused = cast<ParameterOp>(builder.clone(*first));
    ParameterSourceAttr source = first.getSourceAttr();
    fused.setSourceAttr(ParameterSourceAttr::get(
        module.getContext(), source.getShape(),
        SmallVector<int64_t>(source.getShape().size(), 0),
        source.getPermutation()));
    fused.getResult().setType(triple(local));
    fused->setAttr(TPDialect::getGlobalTypeAttrName(),
                   TypeAttr::get(triple(global)));
    fused->removeAttr("tp.value_id");
    for (auto [index, op] : llvm::enumerate(ops)) {
      builder.setInsertionPoint(op);
      SmallVector<OpFoldResult> offsets{
          builder.getIndexAttr(index * local.getDimSize(0)),
          builder.getIndexAttr(0)};
      SmallVector<OpFoldResult> sizes{
          builder.getIndexAttr(local.getDimSize(0)),
          builder.getIndexAttr(local.getDimSize(1))};
      SmallVector<OpFoldResult> ones(2, builder.getIndexAttr(1));
      Value slice = tensor::ExtractSliceOp::create(
          builder, op.getLoc(), fused.getResult(), offsets, sizes, ones);
      op.getResult().replaceAllUsesWith(slice);
      op.erase();
    }
    return true;
  }
  return false;
}

/// The other GELU.
bool wrongGelu(ModuleOp module) {
  bool done = false;
  module->walk([&](nn::GeluOp op) {
    op.setKind(op.getKind() == nn::GeluKind::Erf ? nn::GeluKind::Tanh
                                                 : nn::GeluKind::Erf);
    done = true;
  });
  return done;
}

/// Masks of padding are gone: generic operations that partition made, and
/// what it leaves out of bodies by position.
bool dropPaddingMask(ModuleOp module) {
  bool done = false;
  module->walk([&](arith::SelectOp op) {
    auto inside = op.getCondition().getDefiningOp<arith::CmpIOp>();
    if (!inside || inside.getPredicate() != arith::CmpIPredicate::slt ||
        !isa<IndexType>(inside.getLhs().getType()))
      return;
    op.getResult().replaceAllUsesWith(op.getTrueValue());
    op.erase();
    done = true;
  });
  module->walk([&](linalg::GenericOp op) {
    if (op->hasAttr("tp.value_id") || op.getNumDpsInputs() != 1 ||
        op->getNumResults() != 1)
      return;
    op.getResult(0).replaceAllUsesWith(op.getDpsInputs()[0]);
    op.erase();
    done = true;
  });
  return done;
}

/// Make one float value, number `seed` of those that tp-verify compares, wrong
/// by a factor of 1 + `amount` (in 16 bits as many units in the last place),
/// everywhere or in one element.
bool wrongValue(ModuleOp module, bool oneElement, unsigned seed,
                double amount) {
  SmallVector<Operation *> candidates;
  module->walk([&](Operation *op) {
    if (!op->hasAttr("tp.value_id") || op->getNumResults() != 1 ||
        op->use_empty() || isa<arith::ConstantOp, tensor::EmptyOp>(op) ||
        isa<linalg::FillOp, RepeatOp>(op))
      return;
    auto type = dyn_cast<RankedTensorType>(op->getResult(0).getType());
    if (type && isa<FloatType>(type.getElementType()) &&
        type.getNumElements() > 0)
      candidates.push_back(op);
  });
  if (candidates.empty())
    return false;
  Operation *op = candidates[seed % candidates.size()];
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  if (type.getElementTypeBitWidth() == 16)
    amount *= type.getElementType().isBF16() ? 0x1p16 : 0x1p13;
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  Location loc = op->getLoc();
  Value factor = arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(type, ArrayRef<Attribute>(builder.getFloatAttr(
                                       type.getElementType(), 1 + amount))));
  Operation *wrong =
      arith::MulFOp::create(builder, loc, op->getResult(0), factor);
  SmallPtrSet<Operation *, 2> added{wrong};
  if (oneElement) {
    SmallVector<bool> chosen(type.getNumElements(), false);
    chosen[seed % chosen.size()] = true;
    Value mask = arith::ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(type.clone(builder.getI1Type()), chosen));
    wrong = arith::SelectOp::create(builder, loc, mask, wrong->getResult(0),
                                    op->getResult(0));
    added.insert(wrong);
  }
  op->getResult(0).replaceAllUsesExcept(wrong->getResult(0), added);
  wrong->setAttr("tp.value_id", op->removeAttr("tp.value_id"));
  if (ShardingAttr sharding = getSharding(op->getResult(0)))
    setSharding(wrong->getResult(0), sharding);
  return true;
}

/// The parameter that operand `which` of the first nn.dequantize is: scales (1)
/// or zero points (2) beside the values (0).
ParameterOp findQuantized(ModuleOp module, unsigned which) {
  ParameterOp found;
  module->walk([&](nn::DequantizeOp op) {
    Value operand = which == 0   ? op.getValues()
                    : which == 1 ? op.getScales()
                                 : op.getZeros();
    found = operand ? operand.getDefiningOp<ParameterOp>() : ParameterOp();
    return found ? WalkResult::interrupt() : WalkResult::advance();
  });
  return found;
}

StorageAttr withStorage(StorageAttr old, ArrayRef<int64_t> order,
                        int64_t offset) {
  return StorageAttr::get(old.getContext(), old.getFileType(), old.getBits(),
                          old.getDim(), order, offset, old.getRepeat());
}

/// Neighbours in a byte change places.
bool swapNibbles(ModuleOp module) {
  ParameterOp op = findQuantized(module, 0);
  if (!op || !op.getStorage() || op.getStorage()->getBits() != 4)
    return false;
  SmallVector<int64_t> order;
  for (int64_t i = 0; i < op.getStorage()->getElementsPerWord(); ++i)
    order.push_back(i ^ 1);
  op.setStorageAttr(
      withStorage(*op.getStorage(), order, op.getStorage()->getOffset()));
  return true;
}

/// A zero point is taken for the one less one.
bool zeroOffByOne(ModuleOp module) {
  ParameterOp op = findQuantized(module, 2);
  if (!op || !op.getStorage())
    return false;
  op.setStorageAttr(withStorage(*op.getStorage(), op.getStorage()->getOrder(),
                                op.getStorage()->getOffset() + 1));
  return true;
}

/// A group has one input more.
bool groupOffByOne(ModuleOp module) {
  bool done = false;
  module->walk([&](nn::DequantizeOp op) {
    SmallVector<int64_t> group(op.getGroup());
    if (group.back() <= 1)
      return WalkResult::advance();
    ++group.back();
    op.setGroup(group);
    done = true;
    return WalkResult::interrupt();
  });
  return done;
}

/// Every rank reads the first one's scales.
bool replicateScale(ModuleOp module) {
  ParameterOp op = findQuantized(module, 1);
  ShardingAttr sharding = op ? getSharding(op.getResult()) : ShardingAttr();
  if (!sharding)
    return false;
  auto local = cast<RankedTensorType>(op.getType());
  auto global = cast<RankedTensorType>(
      op->getAttrOfType<TypeAttr>("tp.global_type").getValue());
  OpBuilder builder(op);
  SmallVector<int64_t> zeros(local.getRank(), 0);
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, local.getRank()));
  auto part = cast<ParameterOp>(builder.clone(*op));
  part.setSourceAttr(ParameterSourceAttr::get(op.getContext(),
                                              global.getShape(), zeros, order));
  part->setAttr("tp.global_type", TypeAttr::get(local));
  part->removeAttr("tp.shardings");
  op.getResult().replaceAllUsesWith(part.getResult());
  op->erase();
  return true;
}

/// Outputs of scales that are as many as groups are taken for these.
bool transposeScale(ModuleOp module) {
  ParameterOp op = findQuantized(module, 1);
  if (!op || op.getSource())
    return false;
  auto global = cast<RankedTensorType>(
      op->getAttrOfType<TypeAttr>("tp.global_type").getValue());
  if (global.getRank() != 2 || global.getDimSize(0) != global.getDimSize(1))
    return false;
  op.setSourceAttr(ParameterSourceAttr::get(op.getContext(), global.getShape(),
                                            {0, 0}, {1, 0}));
  return true;
}

/// The bytes of scales that are powers of two are taken for numbers.
bool powerAsNumber(ModuleOp module) {
  ParameterOp op = findQuantized(module, 1);
  auto type = op ? cast<RankedTensorType>(op.getType()) : RankedTensorType();
  if (!op || !isa<Float8E8M0FNUType>(type.getElementType()))
    return false;
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  Value bytes = arith::BitcastOp::create(
      builder, op.getLoc(), type.clone(builder.getI8Type()), op.getResult());
  Value numbers = arith::UIToFPOp::create(
      builder, op.getLoc(), type.clone(builder.getF32Type()), bytes);
  op.getResult().replaceAllUsesExcept(numbers, bytes.getDefiningOp());
  return true;
}

struct Fault {
  StringRef kind;
  bool (*inject)(ModuleOp);
};

const Fault faults[] = {
    {"drop-collective", dropCollective},
    {"double-collective", doubleCollective},
    {"wrong-axis", wrongAxis},
    {"collective-before-bias", collectiveBeforeBias},
    {"drop-offset", dropOffset},
    {"initial-on-all-ranks", initialOnAllRanks},
    {"kv-head-by-remainder", kvHeadByRemainder},
    {"fused-as-one-matrix", fusedAsOneMatrix},
    {"wrong-gelu", wrongGelu},
    {"drop-padding-mask", dropPaddingMask},
    {"swap-nibbles", swapNibbles},
    {"zero-off-by-one", zeroOffByOne},
    {"group-off-by-one", groupOffByOne},
    {"replicate-scale", replicateScale},
    {"transpose-scale", transposeScale},
    {"power-as-number", powerAsNumber},
};

struct TestInjectFault
    : public PassWrapper<TestInjectFault, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TestInjectFault)
  TestInjectFault() = default;
  TestInjectFault(const TestInjectFault &other) : PassWrapper(other) {}

  StringRef getArgument() const final { return "test-tp-inject-fault"; }
  StringRef getDescription() const final {
    return "break a per-rank program in a chosen way";
  }
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<arith::ArithDialect, linalg::LinalgDialect,
                    tensor::TensorDialect, TPDialect>();
  }
  void runOnOperation() override {
    bool oneElement = kind == "wrong-element";
    if (oneElement || kind == "wrong-value") {
      if (!wrongValue(getOperation(), oneElement, seed, amount)) {
        getOperation().emitError()
            << "found nothing to break with fault '" << kind << "'";
        signalPassFailure();
      }
      return;
    }
    for (const Fault &fault : faults) {
      if (fault.kind != kind)
        continue;
      if (fault.inject(getOperation()))
        return;
      getOperation().emitError()
          << "found nothing to break with fault '" << kind << "'";
      return signalPassFailure();
    }
    getOperation().emitError() << "unknown fault '" << kind << "'";
    signalPassFailure();
  }

  Option<std::string> kind{*this, "kind",
                           llvm::cl::desc("what to do to the program")};
  Option<unsigned> seed{*this, "seed", llvm::cl::init(0),
                        llvm::cl::desc("which value is wrong")};
  Option<double> amount{*this, "amount", llvm::cl::init(1e-5),
                        llvm::cl::desc("by what part of itself it is wrong")};
};

} // namespace

void tp::test::registerFaultPass() { PassRegistration<TestInjectFault>(); }
