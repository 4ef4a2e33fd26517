//===- RowSchedule.cpp - Threads for the rows of a kernel -----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel of one loop without reductions over a row is flat: all its elements
// are shared among all threads. Otherwise a row has as many threads as its
// longest loop has vectors, a warp while that gives each thread a few, then
// several warps; what a later loop needs stays in registers while a thread has
// enough of them.
//
//===----------------------------------------------------------------------===//

#include "RowSchedule.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/Conversion/Rows/RowEmitter.h"
#include "tp/Support/Bytes.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp;

/// Threads of a warp.
static constexpr int64_t warpThreads = 32;
/// Most threads of a block: each has 128 registers then. Of a block that has
/// long rows and a multiprocessor to itself: 64; with vectors of more than 4
/// lanes, which need more, 96.
static constexpr int64_t maxThreads = 512;
static constexpr int64_t maxThreadsAlone = 1024;
static constexpr int64_t maxThreadsAloneWide = 640;
static constexpr int64_t maxSlotsTogether = 8;
/// Registers for values kept from loop to loop: with vectors of 4 and of more
/// lanes, which need more to be computed with.
static constexpr int64_t maxKeptRegisters = 64;
static constexpr int64_t maxKeptRegistersWide = 40;
static constexpr int64_t maxKeptRegistersAlone = 16;
static constexpr int64_t maxPreloadedRegistersWide = 20;
/// The same with what the loop that makes a value loads for all its slots.
static constexpr int64_t maxLoadedRegistersWide = 76;
/// Slots that are unrolled though nothing is kept, and though something is.
static constexpr int64_t unrolledSlots = 4;
static constexpr int64_t maxSlots = 16;
/// Bytes of the largest access, and most lanes.
static constexpr int64_t accessBytes = 16;
static constexpr int64_t maxLanes = 8;
/// Blocks that fill a large device, with some to spare; multiprocessors of one.
static constexpr int64_t enoughBlocks = 256;
static constexpr int64_t multiprocessors = 132;
/// Elements of a row that may be counted in 32 bits.
static constexpr int64_t maxCounted = int64_t(1) << 30;
/// Vectors of a row from which on it is worth to look for where they are
/// aligned.
static constexpr int64_t vectorsToAlign = 16;
/// Shared memory that a block has on every device without asking for more.
static constexpr int64_t maxSharedBytes = 48 * 1024;

void tp::forEachRead(const KernelPlan &plan, KernelOp &op,
                     function_ref<void(OpOperand &, TensorAccess)> visit) {
  for (OpOperand &operand : op.op->getOpOperands()) {
    if (!isa<RankedTensorType>(operand.get().getType()) ||
        op.op.getMatchingBlockArgument(&operand).use_empty())
      continue;
    const KernelTensor &tensor = plan.tensors.find(operand.get())->second;
    if (tensor.splat || tensor.isEmpty || tensor.isRowScalar)
      continue;
    visit(operand, {operand.get(),
                    op.getCommonMap(op.op.getMatchingIndexingMap(&operand))});
  }
}

TensorAccess tp::getWrite(KernelOp &op, unsigned index) {
  OpResult result = op.op->getResult(index);
  return {result, op.getCommonMap(op.op.getIndexingMapMatchingResult(result))};
}

namespace {

struct Scheduler {
  const KernelPlan &plan;
  RowSchedule &schedule;
  int64_t keptRegisters = 0; ///< of all loops

  unsigned getNumRows() const { return plan.numRowDims; }

  //===--------------------------------------------------------------------===//
  // Vectors
  //===--------------------------------------------------------------------===//

  /// Operations of all loops like `loop`, which are to have one shape.
  SmallVector<KernelOp *> getGroup(const KernelLoop &loop) {
    if (loop.kind == KernelOp::Kind::Mixed)
      return loop.ops;
    SmallVector<KernelOp *> ops;
    for (const KernelLoop &other : plan.loops)
      if (other.kind != KernelOp::Kind::Mixed && other.sizes == loop.sizes)
        llvm::append_range(ops, other.ops);
    return ops;
  }

  /// Linear offsets of all accesses.
  SmallVector<AffineExpr> getOffsets(ArrayRef<KernelOp *> ops) {
    SmallVector<AffineExpr> offsets;
    auto add = [&](TensorAccess access) {
      auto type = cast<RankedTensorType>(access.first.getType());
      offsets.push_back(LaneEmitter::getOffset(
          {nullptr, getStrides(type), type.getElementType()}, access.second));
    };
    for (KernelOp *op : ops) {
      forEachRead(plan, *op,
                  [&](OpOperand &, TensorAccess access) { add(access); });
      for (unsigned i = 0; i < op->op->getNumResults(); ++i)
        add(getWrite(*op, i));
    }
    return offsets;
  }

  /// True if an operation asks for its index in dimension `dim`.
  static bool isIndexed(ArrayRef<KernelOp *> ops, unsigned dim) {
    for (KernelOp *op : ops) {
      unsigned domainDim = dim < op->rows.size()
                               ? op->rows[dim]
                               : op->columns[dim - op->rows.size()];
      for (auto index : op->op.getBody()->getOps<linalg::IndexOp>())
        if (index.getDim() == domainDim)
          return true;
    }
    return false;
  }

  /// Merges dimensions that every access walks through as one.
  void merge(LoopShape &shape, ArrayRef<KernelOp *> ops) {
    SmallVector<AffineExpr> offsets = getOffsets(ops);
    unsigned numDims = ops.front()->rows.size() + ops.front()->columns.size();
    SmallVector<unsigned> dims;
    SmallVector<int64_t> sizes;
    for (unsigned i = shape.dims.size(); i-- > 0;) {
      unsigned dim = shape.dims[i];
      int64_t size = shape.sizes[i];
      if (size == 1)
        continue;
      bool fits =
          !dims.empty() && !isIndexed(ops, dim) && !isIndexed(ops, dims.back());
      if (fits) {
        MLIRContext *context = ops.front()->op.getContext();
        AffineExpr outer = getAffineDimExpr(dim, context);
        AffineExpr inner = getAffineDimExpr(dims.back(), context);
        AffineExpr zero = getAffineConstantExpr(0, context);
        SmallVector<AffineExpr> merged;
        for (AffineExpr offset : offsets) {
          AffineExpr alone = offset.replace(outer, zero);
          AffineExpr both = simplifyAffineExpr(
              alone.replace(inner, outer * sizes.back() + inner) - offset,
              numDims, 0);
          fits &= both == zero;
          merged.push_back(simplifyAffineExpr(alone, numDims, 0));
        }
        if (fits) {
          offsets = merged;
          sizes.back() *= size;
          continue;
        }
      }
      dims.push_back(dim);
      sizes.push_back(size);
    }
    shape.dims.assign(dims.rbegin(), dims.rend());
    shape.sizes.assign(sizes.rbegin(), sizes.rend());
  }

  /// Lanes that fill the largest access of the narrowest tensor.
  int64_t getMaxWidth(ArrayRef<KernelOp *> ops) {
    int64_t bytes = accessBytes;
    auto add = [&](Value tensor) {
      bytes = std::min(bytes,
                       getElementBytes(getElementTypeOrSelf(tensor.getType())));
    };
    for (KernelOp *op : ops) {
      forEachRead(plan, *op, [&](OpOperand &operand, TensorAccess) {
        add(operand.get());
      });
      for (auto extract : op->op.getBody()->getOps<tensor::ExtractOp>())
        add(extract.getTensor());
      for (Value result : op->op->getResults())
        add(result);
    }
    return std::min(maxLanes, accessBytes / bytes);
  }

  /// Sets the number of vectors from dimensions, sizes and the lanes wanted.
  static void setVectors(LoopShape &shape, int64_t width, bool mayRemain) {
    shape.width = 1;
    shape.vectors = 1;
    for (int64_t size : shape.sizes)
      shape.vectors *= size;
    if (shape.sizes.empty())
      return;
    int64_t lanes = shape.sizes.back();
    if (!mayRemain || shape.sizes.size() > 1)
      width = std::min(width, lanes & -lanes);
    shape.width = width;
    shape.remainder = shape.sizes.size() == 1 ? lanes % width : 0;
    shape.vectors = shape.vectors / lanes * (lanes / width);
    shape.leastVectors = shape.vectors;
  }

  /// The phase that most tensors that are walked through along dimension
  /// `laneDim` have before a row; null if there is none. Those that differ from
  /// row to row count before what all rows share.
  AffineExpr findPhase(ArrayRef<KernelOp *> ops, unsigned laneDim,
                       int64_t width) {
    MLIRContext *context = ops.front()->op.getContext();
    AffineExpr lane = getAffineDimExpr(laneDim, context);
    AffineExpr zero = getAffineConstantExpr(0, context);
    AffineExpr one = getAffineConstantExpr(1, context);
    llvm::MapVector<AffineExpr, int64_t> votes;
    for (AffineExpr offset : getOffsets(ops)) {
      unsigned numDims = getNumDims(offset);
      if (simplifyAffineExpr(offset.replace(lane, lane + one) - offset, numDims,
                             0) != one)
        continue;
      AffineExpr before =
          simplifyAffineExpr(offset.replace(lane, zero), numDims, 0);
      bool isShared = isa<AffineConstantExpr>(before);
      votes[before] += isShared ? 1 : 1000;
    }
    AffineExpr best;
    for (auto [before, count] : votes)
      if (!best || count > votes[best])
        best = before;
    return best;
  }

  /// One more than the largest dimension in `expr`.
  static unsigned getNumDims(AffineExpr expr) {
    unsigned numDims = 0;
    expr.walk([&](AffineExpr part) {
      if (auto dim = dyn_cast<AffineDimExpr>(part))
        numDims = std::max(numDims, dim.getPosition() + 1);
    });
    return numDims;
  }

  /// Wide vectors for rows that are no multiple of them, if they are long
  /// enough and some access gains.
  void align(LoopShape &shape, ArrayRef<KernelOp *> ops, int64_t width) {
    if (shape.dims.empty() || shape.width == width ||
        shape.sizes.back() < vectorsToAlign * width ||
        shape.sizes.back() > maxCounted)
      return;
    AffineExpr phase = findPhase(ops, shape.dims.back(), width);
    if (!phase)
      return;
    int64_t lanes = shape.sizes.back(), rows = 1;
    for (int64_t size : ArrayRef(shape.sizes).drop_back())
      rows *= size;
    shape.phase = phase;
    shape.width = width;
    shape.remainder = 0;
    shape.vectors = rows * (lanes / width);
    shape.leastVectors = rows * ((lanes - (width - 1)) / width);
  }

  //===--------------------------------------------------------------------===//
  // Flat kernels
  //===--------------------------------------------------------------------===//

  bool isFlat() {
    if (plan.loops.size() != 1)
      return false;
    return !hasReduction(plan.loops.front());
  }

  void addRowDims(LoopShape &shape) {
    for (auto [i, size] : llvm::enumerate(plan.rowSizes)) {
      shape.dims.push_back(i);
      shape.sizes.push_back(size);
    }
  }

  /// Column dimensions of a Mixed operation's result, lanes last.
  static void addParallelColumns(LoopShape &shape, KernelOp &op) {
    RowEmitter::MixedOrder order = RowEmitter::getMixedOrder(op);
    for (unsigned column :
         ArrayRef(order.columns).take_front(order.numParallel)) {
      shape.dims.push_back(op.rows.size() + column);
      shape.sizes.push_back(op.columnSizes[column]);
    }
  }

  void buildFlat() {
    const KernelLoop &loop = plan.loops.front();
    LoopShape &shape = schedule.loops.emplace_back();
    addRowDims(shape);
    int64_t width = getMaxWidth(loop.ops);
    if (loop.kind == KernelOp::Kind::Mixed) {
      addParallelColumns(shape, *loop.ops.front());
      setVectors(shape, width, /*mayRemain=*/false);
      // Each output is much work: rather more threads than wide ones.
      while (shape.width > 1 && shape.vectors < enoughBlocks * warpThreads)
        setVectors(shape, shape.width / 2, /*mayRemain=*/false);
    } else {
      for (auto [i, size] : llvm::enumerate(loop.sizes)) {
        shape.dims.push_back(getNumRows() + i);
        shape.sizes.push_back(size);
      }
      merge(shape, getGroup(loop));
      setVectors(shape, width, /*mayRemain=*/true);
      if (shape.sizes.size() > 1) {
        align(shape, getGroup(loop), width);
        if (shape.phase) // lines that a row may touch
          shape.vectors =
              shape.vectors / (shape.sizes.back() / width) * getLines(shape);
      }
    }
    int64_t threads = shape.vectors + (shape.remainder != 0);
    schedule.flat = true;
    schedule.blockThreads = threads > enoughBlocks * 256 ? 256 : 128;
    // A few rows at a decoding step: every multiprocessor takes a warp.
    while (schedule.blockThreads > warpThreads &&
           threads < multiprocessors * schedule.blockThreads)
      schedule.blockThreads /= 2;
    schedule.gridBlocks =
        std::max<int64_t>(1, llvm::divideCeil(threads, schedule.blockThreads));
  }

  //===--------------------------------------------------------------------===//
  // Rows
  //===--------------------------------------------------------------------===//

  static bool hasCombiners(KernelOp &op) {
    return matchCombiners(op.op).has_value();
  }

  static bool isSequential(const KernelLoop &loop) {
    return llvm::any_of(loop.ops, [](KernelOp *op) {
      if (op->kind != KernelOp::Kind::Reduce || hasCombiners(*op))
        return false;
      int64_t elements = 1;
      for (int64_t size : op->columnSizes)
        elements *= size;
      return elements > maxCounted || !findSelection(op->op);
    });
  }

  static bool hasReduction(const KernelLoop &loop) {
    return llvm::any_of(loop.ops, [](KernelOp *op) {
      return op->kind == KernelOp::Kind::Reduce;
    });
  }

  void shapeLoop(const KernelLoop &loop) {
    LoopShape &shape = schedule.loops.emplace_back();
    if (loop.kind == KernelOp::Kind::Mixed) {
      addParallelColumns(shape, *loop.ops.front());
      setVectors(shape, getMaxWidth(loop.ops), /*mayRemain=*/false);
      shape.unrolled = false;
      return;
    }
    for (auto [i, size] : llvm::enumerate(loop.sizes)) {
      shape.dims.push_back(getNumRows() + i);
      shape.sizes.push_back(size);
    }
    merge(shape, getGroup(loop));
    shape.sequential = !loop.sizes.empty() && isSequential(loop);
    setVectors(shape, shape.sequential ? 1 : getMaxWidth(getGroup(loop)),
               /*mayRemain=*/false);
    if (!shape.sequential && shape.sizes.size() == 1)
      align(shape, getGroup(loop), getMaxWidth(getGroup(loop)));
  }

  /// Threads for rows of `vectors`: a few vectors each, the last slot full if
  /// possible.
  static int64_t chooseThreads(int64_t vectors) {
    if (vectors <= warpThreads)
      return llvm::PowerOf2Ceil(vectors);
    if (vectors <= 4 * warpThreads)
      return warpThreads;
    int64_t best = maxThreads;
    double bestCost = 1e9;
    for (int64_t slots = 1; slots <= 8; ++slots) {
      int64_t threads =
          llvm::alignTo(llvm::divideCeil(vectors, slots), warpThreads);
      if (threads > maxThreads || threads < 2 * warpThreads)
        continue;
      double waste = double(threads * slots - vectors) / vectors;
      double cost = 4 * waste + 0.3 * std::abs(slots - 2) +
                    (threads * slots == vectors ? 0 : 0.2);
      if (cost < bestCost) {
        best = threads;
        bestCost = cost;
      }
    }
    return best;
  }

  void chooseGeometry() {
    int64_t vectors = 1;
    for (const LoopShape &shape : schedule.loops)
      if (!shape.sequential)
        vectors = std::max(vectors, shape.vectors);
    int64_t rows = plan.getRowCount();
    schedule.threadsPerRow = chooseThreads(vectors);
    if (vectors > maxThreads * maxSlotsTogether && rows < 2 * multiprocessors)
      schedule.threadsPerRow =
          llvm::any_of(schedule.loops,
                       [](const LoopShape &shape) { return shape.width > 4; })
              ? maxThreadsAloneWide
              : maxThreadsAlone;
    schedule.blockThreads = schedule.threadsPerRow;
    if (schedule.threadsPerRow <= warpThreads) {
      schedule.blockThreads = 4 * warpThreads;
      auto blocks = [&]() {
        return llvm::divideCeil(rows * schedule.threadsPerRow,
                                schedule.blockThreads);
      };
      while (schedule.blockThreads > warpThreads &&
             int64_t(blocks()) < enoughBlocks)
        schedule.blockThreads /= 2;
    }
    schedule.rowsPerBlock = schedule.blockThreads / schedule.threadsPerRow;
    schedule.gridBlocks =
        std::max<int64_t>(1, llvm::divideCeil(rows, schedule.rowsPerBlock));
    for (LoopShape &shape : schedule.loops) {
      shape.slots = llvm::divideCeil(shape.vectors, schedule.threadsPerRow);
      shape.unrolled &= shape.slots <= unrolledSlots;
    }
  }

  /// Registers that a thread needs to keep an access of `shape`.
  static int64_t getRegisters(const LoopShape &shape, Value tensor) {
    Type element = getElementTypeOrSelf(tensor.getType());
    return shape.slots *
           llvm::divideCeil(shape.width * getElementBytes(element), 4);
  }

  /// Registers that a thread needs for all that loop `number` reads from
  /// memory, which comes first where its slots are straight code, without
  /// `except`.
  int64_t getLoadedRegisters(unsigned number, TensorAccess except) {
    const LoopShape &shape = schedule.loops[number];
    SmallVector<TensorAccess> loaded{except};
    int64_t registers = 0;
    for (KernelOp *op : plan.loops[number].ops)
      forEachRead(plan, *op, [&](OpOperand &, TensorAccess access) {
        KernelOp *producer = plan.tensors.find(access.first)->second.producer;
        if ((producer && producer->loop == number) ||
            schedule.kept.contains(access) ||
            llvm::is_contained(loaded, access) ||
            !access.second.isFunctionOfDim(shape.getLaneDim()))
          return;
        loaded.push_back(access);
        registers += getRegisters(shape, access.first);
      });
    return registers;
  }

  /// A value that may stay in registers from the loop `first` on: one that it
  /// makes, or one that `reader` reads there.
  struct Candidate {
    TensorAccess access;
    unsigned first;
    bool isMade;
    KernelOp *reader = nullptr;
    OpOperand *read = nullptr;
  };

  /// All of them, and in `order` those that a later loop reads: whether they
  /// are only read, and which they are.
  SmallVector<Candidate>
  collectCandidates(SmallVector<std::pair<bool, unsigned>> &order) {
    SmallVector<Candidate> candidates;
    auto find = [&](TensorAccess access, const LoopShape &shape) {
      return llvm::find_if(candidates, [&](const Candidate &candidate) {
        return candidate.access == access &&
               schedule.loops[candidate.first].sharesLike(shape);
      });
    };
    for (auto [number, loop] : llvm::enumerate(plan.loops)) {
      LoopShape &shape = schedule.loops[number];
      if (loop.kind == KernelOp::Kind::Mixed || shape.sequential ||
          shape.dims.empty() || shape.slots > maxSlots)
        continue;
      for (KernelOp *op : loop.ops) {
        forEachRead(plan, *op, [&](OpOperand &read, TensorAccess access) {
          auto found = find(access, shape);
          bool moves = access.second.isFunctionOfDim(shape.getLaneDim());
          if (found == candidates.end()) {
            if (moves && !plan.tensors.find(access.first)->second.producer)
              candidates.push_back(
                  {access, unsigned(number), false, op, &read});
          } else if (found->first != number) {
            order.push_back({!found->isMade, found - candidates.begin()});
          }
        });
        if (op->kind != KernelOp::Kind::Map)
          continue;
        for (unsigned i = 0; i < op->op->getNumResults(); ++i)
          candidates.push_back({getWrite(*op, i), unsigned(number), true});
      }
    }
    return candidates;
  }

  /// Keeps it from loop `first` on, if there are registers.
  bool keep(const Candidate &candidate, unsigned first) {
    LoopShape &shape = schedule.loops[first];
    int64_t own = getRegisters(shape, candidate.access.first);
    int64_t most = schedule.blockThreads > maxThreads ? maxKeptRegistersAlone
                   : shape.width > 4                  ? maxKeptRegistersWide
                                                      : maxKeptRegisters;
    if (schedule.kept.contains(candidate.access) || keptRegisters + own > most)
      return false;
    if (shape.width > 4 &&
        keptRegisters + own + getLoadedRegisters(first, candidate.access) >
            maxLoadedRegistersWide)
      return false;
    keptRegisters += own;
    schedule.kept.insert(candidate.access);
    shape.keeps.push_back(candidate.access);
    for (auto [other, loop] : llvm::zip_equal(schedule.loops, plan.loops))
      if (loop.kind != KernelOp::Kind::Mixed && other.sharesLike(shape))
        other.unrolled = true;
    return true;
  }

  /// Chooses what stays in registers.
  void chooseKept() {
    SmallVector<std::pair<bool, unsigned>> order;
    SmallVector<Candidate> candidates = collectCandidates(order);
    // Tensors that would have to be written and read come before those that are
    // only read.
    llvm::sort(order);
    for (auto [late, index] : order)
      keep(candidates[index], candidates[index].first);
    // Tensors that are read behind a reduction alone, such as weights.
    for (const Candidate &candidate : candidates) {
      if (candidate.isMade || schedule.kept.contains(candidate.access))
        continue;
      for (unsigned first = 0; first < candidate.first; ++first) {
        LoopShape &shape = schedule.loops[first];
        if (!shape.unrolled || !hasReduction(plan.loops[first]) ||
            !shape.sharesLike(schedule.loops[candidate.first]))
          continue;
        // If lanes need registers, only the first of several weights are kept.
        if (shape.width > 4 && keptRegisters > 0 &&
            keptRegisters + getRegisters(shape, candidate.access.first) >
                maxPreloadedRegistersWide)
          break;
        if (keep(candidate, first))
          shape.preloads.push_back({candidate.reader, candidate.read});
        break;
      }
    }
  }

  /// True if loop `number` reads `access`, made in an earlier loop, from a
  /// register.
  bool isKept(TensorAccess access, unsigned number) {
    if (!schedule.kept.contains(access) ||
        plan.loops[number].kind == KernelOp::Kind::Mixed)
      return false;
    const KernelTensor &tensor = plan.tensors.find(access.first)->second;
    return !tensor.producer || schedule.loops[tensor.producer->loop].sharesLike(
                                   schedule.loops[number]);
  }

  void placeBuffers() {
    int64_t reductions = 0;
    if (schedule.blockThreads > warpThreads && schedule.rowsPerBlock == 1)
      for (auto [number, loop] : llvm::enumerate(plan.loops))
        for (KernelOp *op : loop.ops)
          if (op->kind == KernelOp::Kind::Reduce &&
              !schedule.loops[number].sequential &&
              !schedule.loops[number].dims.empty())
            // One more for where a selected element stands.
            reductions += op->op.getNumDpsInits() + !hasCombiners(*op);
    schedule.sharedBytes =
        llvm::alignTo(reductions * schedule.getWarps() * 8, 16);
    for (auto [number, loop] : llvm::enumerate(plan.loops))
      for (KernelOp *op : loop.ops)
        forEachRead(
            plan, *op,
            [&, number = number](OpOperand &operand, TensorAccess access) {
              const KernelTensor &tensor =
                  plan.tensors.find(access.first)->second;
              if (!tensor.producer || tensor.producer->loop == number ||
                  !tensor.results.empty() || isKept(access, number) ||
                  schedule.buffers.contains(access.first))
                return;
              auto type = cast<RankedTensorType>(access.first.getType());
              int64_t bytes = getElementBytes(type.getElementType());
              for (int64_t size : type.getShape().drop_front(plan.numRowDims))
                bytes *= size;
              // Moved so that it is aligned where the tensor would be.
              if (schedule.loops[tensor.producer->loop].phase)
                bytes += schedule.loops[tensor.producer->loop].width *
                         getElementBytes(type.getElementType());
              bytes = llvm::alignTo(bytes, 16);
              int64_t total = bytes * schedule.rowsPerBlock;
              bool isShared = schedule.sharedBytes + total <= maxSharedBytes;
              int64_t &used = isShared ? schedule.sharedBytes
                                       : schedule.scratchBytesPerBlock;
              schedule.buffers[access.first] = {isShared, used, bytes};
              used += total;
            });
    schedule.scratchBytesPerBlock =
        llvm::alignTo(schedule.scratchBytesPerBlock, 64);
  }

  void buildRows() {
    for (const KernelLoop &loop : plan.loops)
      shapeLoop(loop);
    chooseGeometry();
    chooseKept();
    placeBuffers();
  }
};

} // namespace

RowSchedule RowSchedule::build(const KernelPlan &plan) {
  RowSchedule schedule;
  Scheduler scheduler{plan, schedule};
  if (scheduler.isFlat())
    scheduler.buildFlat();
  else
    scheduler.buildRows();
  return schedule;
}

int64_t tp::getLines(const LoopShape &shape) {
  return llvm::divideCeil(shape.sizes.back() + shape.width - 1, shape.width);
}
