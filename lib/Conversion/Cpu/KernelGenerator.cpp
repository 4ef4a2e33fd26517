//===- KernelGenerator.cpp - Row kernels as loops of vectors --------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop is emitted over its outer columns one by one and over the last in
// vectors; what is left at the end is done in vectors of half, a quarter, ...
// of the width, so that any length works. Reductions keep several vector
// accumulators, because one would wait for the adder's latency at every step.
//
//===----------------------------------------------------------------------===//

#include "KernelGenerator.h"
#include "tp/Conversion/Rows/RowEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace tp;

namespace {

/// Vector accumulators of one reduction; 4 hide the latency of an addition.
constexpr int64_t numAccumulators = 4;

class Generator : public RowEmitter {
public:
  Generator(func::FuncOp kernel, const KernelPlan &plan, int64_t vectorBits)
      : RowEmitter(kernel, plan) {
    fullWidth = vectorBits / 32;
  }

  FailureOr<func::FuncOp> run();

private:
  LogicalResult emitPrologue(func::FuncOp body);
  LogicalResult emitRow(Value row);
  LogicalResult emitLoop(const KernelLoop &loop);
  LogicalResult emitNest(const KernelLoop &loop, unsigned depth,
                         SmallVector<Value> &position,
                         MutableArrayRef<Accumulator> accumulators);
  LogicalResult emitInner(const KernelLoop &loop, SmallVector<Value> &position,
                          MutableArrayRef<Accumulator> accumulators);
  LogicalResult emitMixed(KernelOp &op);
};

} // namespace

LogicalResult Generator::emitInner(const KernelLoop &loop,
                                   SmallVector<Value> &position,
                                   MutableArrayRef<Accumulator> accumulators) {
  int64_t size = loop.sizes.back();
  bool vectorise = llvm::all_of(
      accumulators, [](Accumulator &a) { return a.combiner.has_value(); });
  int64_t width = vectorise ? fullWidth : 1;
  int64_t unroll = accumulators.empty() || !vectorise ? 1 : numAccumulators;
  int64_t scalarSlot = numAccumulators;
  auto stepAt = [&](Value index, int64_t lanes, int64_t slot) -> LogicalResult {
    position.push_back(index);
    DenseMap<Value, LaneValue> tensors;
    LogicalResult result =
        emitStep(loop, position, lanes, int64_t(position.size()) - 1, slot,
                 accumulators, tensors);
    position.pop_back();
    return result;
  };
  int64_t mainEnd = size / (width * unroll) * (width * unroll);
  SmallVector<Value> carried = pack(accumulators);
  if (failed(emitFor(
          0, mainEnd, width * unroll, carried,
          [&](Value index, SmallVectorImpl<Value> &inside) -> LogicalResult {
            unpack(accumulators, inside);
            for (int64_t i = 0; i < unroll; ++i) {
              Value at = index;
              if (i > 0)
                at = arith::AddIOp::create(builder, loc, index,
                                           emitter.constantIndex(i * width));
              if (failed(stepAt(at, width, i)))
                return failure();
            }
            SmallVector<Value> next = pack(accumulators);
            inside.assign(next.begin(), next.end());
            return success();
          })))
    return failure();
  unpack(accumulators, carried);
  int64_t at = mainEnd, slot = 0;
  for (; at + width <= size; at += width)
    if (failed(stepAt(emitter.constantIndex(at), width, slot++)))
      return failure();
  for (int64_t part = width / 2; part >= 1; part /= 2)
    if (at + part <= size) {
      if (failed(stepAt(emitter.constantIndex(at), part, scalarSlot)))
        return failure();
      at += part;
    }
  return success();
}

LogicalResult Generator::emitNest(const KernelLoop &loop, unsigned depth,
                                  SmallVector<Value> &position,
                                  MutableArrayRef<Accumulator> accumulators) {
  if (depth + 1 == loop.sizes.size())
    return emitInner(loop, position, accumulators);
  SmallVector<Value> carried = pack(accumulators);
  LogicalResult result = emitFor(
      0, loop.sizes[depth], 1, carried,
      [&](Value index, SmallVectorImpl<Value> &inside) -> LogicalResult {
        unpack(accumulators, inside);
        position.push_back(index);
        if (failed(emitNest(loop, depth + 1, position, accumulators)))
          return failure();
        position.pop_back();
        SmallVector<Value> next = pack(accumulators);
        inside.assign(next.begin(), next.end());
        return success();
      });
  unpack(accumulators, carried);
  return result;
}

LogicalResult Generator::emitLoop(const KernelLoop &loop) {
  if (loop.kind == KernelOp::Kind::Mixed)
    return emitMixed(*loop.ops.front());
  SmallVector<Accumulator> accumulators;
  for (KernelOp *op : loop.ops)
    if (op->kind == KernelOp::Kind::Reduce)
      llvm::append_range(accumulators, makeAccumulators(*op));
  bool vectorise =
      !loop.sizes.empty() && llvm::all_of(accumulators, [](Accumulator &a) {
        return a.combiner.has_value();
      });
  for (Accumulator &accumulator : accumulators) {
    emitter.width = fullWidth;
    if (!accumulator.combiner) {
      OpOperand *init =
          accumulator.op->op.getDpsInitOperand(accumulator.position);
      emitter.width = 1;
      accumulator.values.push_back(
          loadOperand(*accumulator.op, *init, rowIndices, -1).value);
      continue;
    }
    if (vectorise && loop.sizes.back() >= fullWidth)
      for (int64_t i = 0; i < numAccumulators; ++i)
        accumulator.values.push_back(
            getStart(accumulator, emitter.getVectorType(accumulator.type)));
    accumulator.values.push_back(getStart(accumulator, accumulator.type));
  }
  SmallVector<Value> position(rowIndices);
  DenseMap<Value, LaneValue> tensors;
  LogicalResult result = loop.sizes.empty()
                             ? emitStep(loop, position, 1, -1, numAccumulators,
                                        accumulators, tensors)
                             : emitNest(loop, 0, position, accumulators);
  if (failed(result))
    return failure();
  for (Accumulator &accumulator : accumulators) {
    SmallVector<Value> at(rowIndices);
    at.append(accumulator.op->columns.size(), emitter.constantIndex(0));
    if (failed(finish(accumulator, at)))
      return failure();
  }
  return success();
}

LogicalResult Generator::emitMixed(KernelOp &op) {
  SmallVector<Value> position(rowIndices);
  position.append(op.columns.size(), emitter.constantIndex(0));
  SmallVector<Value> accumulators;
  emitter.width = 1;
  return emitMixedNest(op, getMixedOrder(op), 0, position, accumulators);
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

LogicalResult Generator::emitPrologue(func::FuncOp body) {
  Value context = body.getArgument(0);
  Type pointer = context.getType();
  Type i64 = builder.getI64Type();
  int64_t slot = 0;
  auto loadSlot = [&](Type type) -> Value {
    Value address =
        LLVM::GEPOp::create(builder, loc, pointer, i64, context,
                            ArrayRef<LLVM::GEPArg>{int32_t(slot++)});
    return LLVM::LoadOp::create(builder, loc, type, address);
  };
  for (BlockArgument argument : kernel.getArguments()) {
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (type) {
      memories[argument] = {loadSlot(pointer), getStrides(type),
                            type.getElementType()};
      continue;
    }
    if (!argument.getType().isIndex())
      return kernel.emitOpError("expected tensors and indices as arguments of "
                                "a kernel, got ")
             << argument.getType();
    scalars[argument] = {arith::IndexCastOp::create(builder, loc,
                                                    builder.getIndexType(),
                                                    loadSlot(i64)),
                         false, nullptr};
  }
  for (Type result : kernel.getResultTypes()) {
    auto type = cast<RankedTensorType>(result);
    resultMemories.push_back(
        {loadSlot(pointer), getStrides(type), type.getElementType()});
  }
  Value scratch;
  if (plan.scratchBytes > 0) {
    Value base = loadSlot(pointer);
    Value stride = loadSlot(i64);
    Value offset =
        arith::MulIOp::create(builder, loc, body.getArgument(3), stride);
    scratch = LLVM::GEPOp::create(builder, loc, pointer, builder.getI8Type(),
                                  base, ArrayRef<LLVM::GEPArg>{offset});
  }
  for (auto &[value, info] : plan.tensors) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type)
      continue;
    if (!info.results.empty()) {
      memories[value] = resultMemories[info.results.front()];
    } else if (info.scratchOffset >= 0) {
      Value address = LLVM::GEPOp::create(
          builder, loc, pointer, builder.getI8Type(), scratch,
          ArrayRef<LLVM::GEPArg>{int32_t(info.scratchOffset)});
      memories[value] = {address, getStrides(type, plan.numRowDims),
                         type.getElementType()};
    }
  }
  emitConstants();
  return success();
}

LogicalResult Generator::emitRow(Value row) {
  emitRowIndices(row);
  DenseMap<Value, LaneValue> outside(scalars);
  for (const KernelLoop &loop : plan.loops)
    if (failed(emitLoop(loop)))
      return failure();
  scalars = outside;
  return success();
}

FailureOr<func::FuncOp> Generator::run() {
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
  Type i64 = builder.getI64Type();
  builder.setInsertionPoint(kernel);
  auto body = func::FuncOp::create(
      builder, loc, (kernel.getName() + ".body").str(),
      builder.getFunctionType({pointer, i64, i64, i64}, {}));
  body.setPrivate();
  body->setAttr(kernelAttrName, builder.getStringAttr("body"));
  builder.setInsertionPointToStart(body.addEntryBlock());
  if (failed(emitPrologue(body)))
    return failure();
  Type index = builder.getIndexType();
  Value begin =
      arith::IndexCastOp::create(builder, loc, index, body.getArgument(1));
  Value end =
      arith::IndexCastOp::create(builder, loc, index, body.getArgument(2));
  auto loop =
      scf::ForOp::create(builder, loc, begin, end, emitter.constantIndex(1));
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(loop.getBody()->getTerminator());
    if (failed(emitRow(loop.getInductionVar())))
      return failure();
  }
  func::ReturnOp::create(builder, loc);
  return body;
}

FailureOr<func::FuncOp> tp::generateKernel(func::FuncOp kernel,
                                           const KernelPlan &plan,
                                           int64_t vectorBits) {
  return Generator(kernel, plan, vectorBits).run();
}
