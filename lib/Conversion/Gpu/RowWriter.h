//===- RowWriter.h - What writes a row kernel -------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The class behind generateGpuRows. Its parts: the function, its loops and the
// tensors (RowGenerator.cpp), what threads share of a reduction
// (RowReductions.cpp), and rows that begin anywhere in memory (RowLines.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CONVERSION_GPU_ROWWRITER_H
#define TP_LIB_CONVERSION_GPU_ROWWRITER_H

#include "KernelEmitter.h"
#include "RowGenerator.h"
#include "tp/Conversion/Rows/RowEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <memory>

namespace tp {

class RowWriter : public RowEmitter {
public:
  RowWriter(mlir::func::FuncOp kernel, const KernelPlan &plan,
            const RowSchedule &schedule, const KernelAlignment &alignment,
            mlir::gpu::GPUModuleOp module)
      : RowEmitter(kernel, plan), schedule(schedule), alignment(alignment),
        module(module) {
    emitter.roundsToBf16 = true;
  }

  mlir::FailureOr<mlir::gpu::GPUFuncOp> run();

private:
  KernelEmitter e{builder, loc};
  const RowSchedule &schedule;
  const KernelAlignment &alignment;
  mlir::gpu::GPUModuleOp module;
  /// Address of the block's shared memory; null if it has none.
  mlir::Value shared;
  /// Number of this thread in its block and among those of its row; of the row
  /// in its block. All i32.
  mlir::Value thread, threadOfRow, rowOfBlock;
  /// Null if every thread has a row.
  mlir::Value hasRow;
  /// True on the one thread of a row that stores its scalars.
  mlir::Value isLeader;
  /// Results are stored under this condition; null: always.
  mlir::Value storeGuard;
  /// Values kept from loop to loop, by slot.
  using Slot = llvm::DenseMap<TensorAccess, LaneValue>;
  llvm::SmallVector<std::pair<const LoopShape *, llvm::SmallVector<Slot>>, 2>
      kept;
  /// The slot being emitted; null where nothing is kept. The shape of its loop.
  Slot *slot = nullptr;
  const LoopShape *shape = nullptr;
  /// Tensors that other threads may read, and partials of reductions, so far.
  llvm::SmallPtrSet<void *, 8> visible;
  unsigned numPartials = 0;
  llvm::SmallVector<std::unique_ptr<Selection>> selections;
  /// A row's offset from the lines of memory (LoopShape::phase), by shape: its
  /// elements before the first whole vector, and the number of these. i32.
  struct Phase {
    const LoopShape *shape;
    mlir::Value head, count;
  };
  llvm::SmallVector<Phase> phases;

  mlir::LogicalResult checkLimits();
  void emitPrologue(mlir::gpu::GPUFuncOp function);
  void emitBuffers(mlir::Value scratch);
  mlir::LogicalResult emitFlat();
  mlir::LogicalResult emitRows();
  void emitBarriers(unsigned number);
  mlir::LogicalResult emitLoop(unsigned number);
  mlir::LogicalResult
  emitSequential(const KernelLoop &loop,
                 llvm::MutableArrayRef<Accumulator> accumulators);
  llvm::SmallVector<Slot> &getKept();
  mlir::LogicalResult emitLong(const KernelLoop &loop,
                               llvm::MutableArrayRef<Accumulator> accumulators);
  mlir::LogicalResult
  emitSlots(const KernelLoop &loop,
            llvm::MutableArrayRef<Accumulator> accumulators);
  mlir::Value emitHasVector(int64_t i, mlir::Value vector);
  mlir::LogicalResult emitSlot(const KernelLoop &loop, int64_t i, Slot &keeping,
                               Slot own,
                               llvm::MutableArrayRef<Accumulator> accumulators);
  mlir::LogicalResult
  emitBranch(mlir::scf::IfOp branch, const KernelLoop &loop, mlir::Value vector,
             Slot &own, llvm::MutableArrayRef<Accumulator> accumulators,
             llvm::ArrayRef<mlir::Value> before);
  mlir::LogicalResult
  emitVector(const KernelLoop &loop, mlir::Value vector,
             llvm::MutableArrayRef<Accumulator> accumulators);
  mlir::LogicalResult emitAt(const KernelLoop &loop,
                             llvm::ArrayRef<mlir::Value> position,
                             int64_t width,
                             llvm::MutableArrayRef<Accumulator> accumulators);
  /// The phase of the present shape, which has one.
  const Phase &getPhase();
  mlir::Value getRest(mlir::AffineExpr expr,
                      llvm::ArrayRef<mlir::Value> position, int64_t width);
  /// The element that this thread does beside its vectors, and whether it is
  /// there. If not it is the last one.
  std::pair<llvm::SmallVector<mlir::Value>, mlir::Value> getEdgePosition();
  mlir::LogicalResult emitEdge(const KernelLoop &loop,
                               llvm::ArrayRef<mlir::Value> position,
                               mlir::Value inBounds, Slot &values,
                               llvm::MutableArrayRef<Accumulator> accumulators);
  mlir::LogicalResult emitLine(const KernelLoop &loop, mlir::Value line);
  mlir::LogicalResult emitMixed(KernelOp &op, mlir::Value vector);
  int64_t countRegisters(const KernelLoop &loop);
  void preload(const KernelLoop &loop, llvm::ArrayRef<mlir::Value> position,
               int64_t width);
  void addSelections(llvm::SmallVectorImpl<Accumulator> &accumulators);
  void finishSelections(llvm::MutableArrayRef<Accumulator> accumulators);
  mlir::Value emitCondition(const Selection &selection, KernelOp &op,
                            mlir::Value key, mlir::Value than);
  llvm::SmallVector<mlir::Value> select(llvm::ArrayRef<Accumulator> group,
                                        llvm::ArrayRef<mlir::Value> a,
                                        llvm::ArrayRef<mlir::Value> b);
  llvm::SmallVector<mlir::Value>
  combine(llvm::ArrayRef<Accumulator> accumulators,
          llvm::ArrayRef<mlir::Value> a, llvm::ArrayRef<mlir::Value> b);
  mlir::Value getIdentity(const Accumulator &accumulator);
  void reduceLanes(llvm::MutableArrayRef<Accumulator> accumulators);
  void reduceThreads(llvm::MutableArrayRef<Accumulator> accumulators);
  void noteBarrier(unsigned number);

  bool isStored(mlir::Value tensor) override {
    return schedule.buffers.contains(tensor) ||
           !plan.tensors.find(tensor)->second.results.empty();
  }
  LaneValue loadOperand(KernelOp &op, mlir::OpOperand &operand,
                        llvm::ArrayRef<mlir::Value> position,
                        int64_t laneDim) override;
  void storeResult(KernelOp &op, unsigned result, const LaneValue &lane,
                   llvm::ArrayRef<mlir::Value> position,
                   int64_t laneDim) override;

  mlir::Value i32(int64_t value) {
    return mlir::arith::ConstantIntOp::create(builder, loc, value, 32);
  }
  mlir::Value toIndex(mlir::Value value) {
    return mlir::arith::IndexCastUIOp::create(builder, loc,
                                              builder.getIndexType(), value);
  }
  mlir::Value number(mlir::Type type, int64_t value) {
    return mlir::arith::ConstantOp::create(builder, loc,
                                           builder.getIntegerAttr(type, value));
  }
  /// Emits `body` under `condition`; always if it is null.
  template <typename Body>
  mlir::LogicalResult emitIf(mlir::Value condition, Body body) {
    if (!condition)
      return body();
    auto branch = mlir::scf::IfOp::create(builder, loc, condition);
    mlir::OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    return body();
  }
  llvm::SmallVector<mlir::Value> getPosition(const LoopShape &of,
                                             mlir::Value vector);

  mlir::Type getPackedType(const LoopShape &of, mlir::Value tensor);
  mlir::Value pack(const LaneValue &lane);
  LaneValue unpack(mlir::Value packed, mlir::Value tensor);
};

} // namespace tp

#endif // TP_LIB_CONVERSION_GPU_ROWWRITER_H
