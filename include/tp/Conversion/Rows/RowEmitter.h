//===- RowEmitter.h - What row kernels of all targets share -----*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A target decides how the columns of a row are visited; what happens at one
// position is the same everywhere: operands are read, bodies emitted on lanes,
// results stored, accumulators carried on.
//
//===----------------------------------------------------------------------===//

#ifndef TP_CONVERSION_ROWS_ROWEMITTER_H
#define TP_CONVERSION_ROWS_ROWEMITTER_H

#include "tp/Conversion/Rows/KernelPlan.h"
#include "tp/Conversion/Rows/LaneEmitter.h"

namespace tp {

/// A reduction whose results are all taken over from the new element if its key
/// compares well with the key so far, such as argmax. Order matters only among
/// equal keys: of these the first is kept, or the last.
struct Selection {
  /// Compares the new key with result `key`'s accumulator.
  mlir::Operation *condition;
  unsigned key;
  bool keepsLast;
  /// The key that every other one replaces.
  mlir::TypedAttr worst;
};

/// None if the body of `op` is not of that form.
std::optional<Selection> findSelection(mlir::linalg::GenericOp op);

/// The term of result `position` where the last operation does nothing but
/// combine it with the accumulator, which may then be left out; null
/// elsewhere.
mlir::OpOperand *findPlainTerm(mlir::linalg::GenericOp op, unsigned position);

/// The lane that `value` (in a body, whose values `lanes` has, or outside) has.
LaneValue findLane(const llvm::DenseMap<mlir::Value, LaneValue> &lanes,
                   mlir::Value value);

/// A running reduction.
struct Accumulator {
  KernelOp *op;
  unsigned position;
  /// None if the reduction runs in order.
  std::optional<Combiner> combiner;
  /// f32 for narrow floats that are combined.
  mlir::Type type;
  /// Vector accumulators (of the loop's width), then one scalar for what is
  /// left; only the scalar where there is neither combiner nor selection.
  llvm::SmallVector<mlir::Value> values;
  /// The selection, where several threads do one. Its last accumulator, beyond
  /// the results, is where the element stood (i32).
  const Selection *selection = nullptr;
};

/// The values of all accumulators in a row, and back.
llvm::SmallVector<mlir::Value> pack(llvm::ArrayRef<Accumulator> accumulators);
void unpack(llvm::MutableArrayRef<Accumulator> accumulators,
            llvm::ArrayRef<mlir::Value> values);

/// Row-major strides; the first `dropped` dimensions do not move the address.
llvm::SmallVector<int64_t> getStrides(mlir::RankedTensorType type,
                                      unsigned dropped = 0);

class RowEmitter {
public:
  RowEmitter(mlir::func::FuncOp kernel, const KernelPlan &plan)
      : kernel(kernel), plan(plan), builder(kernel.getContext()),
        emitter(builder, kernel.getLoc()), loc(kernel.getLoc()) {}
  virtual ~RowEmitter() = default;

  /// The columns of a Mixed operation: parallel ones, lanes last, then
  /// reductions.
  struct MixedOrder {
    llvm::SmallVector<unsigned> columns;
    unsigned numParallel = 0;
    /// The column along which lanes are neighbours; -1: none.
    int64_t laneColumn = -1;
  };
  static MixedOrder getMixedOrder(KernelOp &op);

protected:
  mlir::func::FuncOp kernel;
  const KernelPlan &plan;
  mlir::OpBuilder builder;
  LaneEmitter emitter;
  mlir::Location loc;
  /// Lanes of a whole vector.
  int64_t fullWidth = 1;
  /// The memory of each tensor.
  llvm::DenseMap<mlir::Value, TensorMemory> memories;
  llvm::SmallVector<TensorMemory> resultMemories;
  /// Scalars: constants and index arguments; per row also row scalars.
  llvm::DenseMap<mlir::Value, LaneValue> scalars;
  /// For selections: where lane 0 stands among the elements of the row (i32).
  mlir::Value place;
  /// Position of the current row in the row dimensions.
  llvm::SmallVector<mlir::Value> rowIndices;

  /// Fills in `scalars` for constants and the function's own arithmetic.
  void emitConstants();
  /// Fills in `rowIndices` for a row's number.
  void emitRowIndices(mlir::Value row);

  /// True if `tensor`, made in the kernel, has memory of its own.
  virtual bool isStored(mlir::Value tensor) {
    const KernelTensor &info = plan.tensors.find(tensor)->second;
    return info.scratchOffset >= 0 || !info.results.empty();
  }
  virtual LaneValue loadOperand(KernelOp &op, mlir::OpOperand &operand,
                                llvm::ArrayRef<mlir::Value> position,
                                int64_t laneDim);
  virtual void storeResult(KernelOp &op, unsigned result, const LaneValue &lane,
                           llvm::ArrayRef<mlir::Value> position,
                           int64_t laneDim);

  /// Emits the body of `op` for one position; `tensors` are values made at
  /// this position, `lanes` receives the block's values; `skipped` operations
  /// are those that only combine with an accumulator.
  mlir::LogicalResult emitOp(KernelOp &op, llvm::ArrayRef<mlir::Value> position,
                             llvm::DenseMap<mlir::Value, LaneValue> &tensors,
                             llvm::DenseMap<mlir::Value, LaneValue> &lanes,
                             int64_t laneDim,
                             llvm::ArrayRef<mlir::Operation *> skipped = {});
  /// Its arithmetic alone: the block's arguments are among `lanes`.
  mlir::LogicalResult emitBody(KernelOp &op,
                               llvm::ArrayRef<mlir::Value> position,
                               llvm::DenseMap<mlir::Value, LaneValue> &lanes,
                               int64_t laneDim,
                               llvm::ArrayRef<mlir::Operation *> skipped);
  /// All operations of `loop` at one position of `width` lanes along the
  /// dimension `laneDim` (-1: none); `tensors` receives what is made there.
  mlir::LogicalResult emitStep(const KernelLoop &loop,
                               llvm::ArrayRef<mlir::Value> position,
                               int64_t width, int64_t laneDim,
                               unsigned accumulatorIndex,
                               llvm::MutableArrayRef<Accumulator> accumulators,
                               llvm::DenseMap<mlir::Value, LaneValue> &tensors);
  /// The state of emitStep that the functions which it consists of share.
  struct Step {
    llvm::ArrayRef<mlir::Value> position;
    int64_t laneDim;
    unsigned accumulatorIndex;
    llvm::DenseMap<mlir::Value, LaneValue> &tensors;
  };
  mlir::LogicalResult emitMap(KernelOp &op, const Step &step);
  mlir::LogicalResult emitCombined(KernelOp &op,
                                   llvm::ArrayRef<Accumulator *> accumulators,
                                   const Step &step);
  mlir::LogicalResult emitInOrder(KernelOp &op,
                                  llvm::ArrayRef<Accumulator *> accumulators,
                                  const Step &step);
  mlir::Value getLanePlaces();
  /// scf.for (or, for one iteration, straight code) with carried values.
  mlir::LogicalResult
  emitFor(int64_t begin, int64_t end, int64_t step,
          llvm::SmallVectorImpl<mlir::Value> &carried,
          llvm::function_ref<mlir::LogicalResult(
              mlir::Value, llvm::SmallVectorImpl<mlir::Value> &)>
              body);

  llvm::SmallVector<Accumulator> makeAccumulators(KernelOp &op);
  /// The value that every part of `accumulator`, which has a combiner, starts
  /// from, in each lane of `type`.
  mlir::Value getStart(const Accumulator &accumulator, mlir::Type type);
  /// Combines what is left of an accumulator, adds the initial value once, and
  /// puts the result where it belongs.
  mlir::LogicalResult finish(Accumulator &accumulator,
                             llvm::ArrayRef<mlir::Value> position);

  /// One point of a nest that reduces.
  mlir::LogicalResult
  emitMixedPoint(KernelOp &op, llvm::ArrayRef<mlir::Value> position,
                 int64_t laneDim,
                 llvm::SmallVectorImpl<mlir::Value> &accumulators);
  /// The nest over `order` from `depth` on.
  mlir::LogicalResult
  emitMixedNest(KernelOp &op, const MixedOrder &order, unsigned depth,
                llvm::SmallVector<mlir::Value> &position,
                llvm::SmallVector<mlir::Value> &accumulators);

  /// Converts between a narrow float and f32.
  mlir::Value toType(mlir::Value value, mlir::Type type);
  mlir::FailureOr<TensorMemory> findMemory(mlir::Value tensor);
};

} // namespace tp

#endif // TP_CONVERSION_ROWS_ROWEMITTER_H
