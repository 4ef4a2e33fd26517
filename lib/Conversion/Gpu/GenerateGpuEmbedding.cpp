//===- GenerateGpuEmbedding.cpp - Sums of rows by their ids on a device ---===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gives each nn.embedding_backward its two kernels; equal ones share them. The
// first puts into the table what is added to. In the second each token has
// blocks: where no token before it has its id, they add its row of the
// cotangent and those of later tokens with that id, in order, so that no atomic
// is needed and every run gives the same bits. A warp compares 32 ids at a
// time:
//
//        ids     7 4 7 9 4 7       token 0 adds rows 0, 2 and 5 to row 7 of the
//        first   y y n y n n       table, token 1 rows 1 and 4 to row 4, ...
//
//===----------------------------------------------------------------------===//

#include "KernelEmitter.h"
#include "tp/Conversion/Gpu/Passes.h"
#include "tp/Conversion/Kernels/GpuModule.h"
#include "tp/Conversion/Kernels/Kernels.h"
#include "tp/Dialect/NN/IR/NNOps.h"
#include "tp/Schedule/RowKernels.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

namespace tp {
#define GEN_PASS_DEF_GENERATEGPUEMBEDDING
#include "tp/Conversion/Gpu/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

/// Elements that one instruction moves, and columns that a warp adds up.
static constexpr int64_t widestUnit = 4;
static constexpr int64_t warpColumns = 512;
static constexpr int64_t mostWarps = 8;
/// Of the first kernel.
static constexpr int64_t copyThreads = 256, mostCopyBlocks = 1056;
/// The largest second extent of a grid.
static constexpr int64_t gridLimit = 65535;

namespace {
struct EmbeddingShape {
  int64_t tokens, rows, columns, idBytes;
  bool operator==(const EmbeddingShape &other) const = default;

  explicit EmbeddingShape(nn::EmbeddingBackwardOp op) {
    auto table = cast<RankedTensorType>(op.getResult().getType());
    auto ids = cast<RankedTensorType>(op.getIds().getType());
    tokens = ids.getNumElements();
    rows = table.getDimSize(0);
    columns = table.getDimSize(1);
    idBytes = ids.getElementTypeBitWidth() / 8;
  }
  int64_t getWarps() const {
    return std::min(mostWarps, int64_t(llvm::divideCeil(columns, warpColumns)));
  }
  /// Blocks of a token.
  int64_t getParts() const {
    return llvm::divideCeil(columns, warpColumns * getWarps());
  }
  int64_t getCopyBlocks() const {
    return std::min(
        mostCopyBlocks,
        int64_t(llvm::divideCeil(rows * columns, widestUnit * copyThreads)));
  }
};

/// Their parameters are the arguments of `embedding_backward` in tprt/abi.h.
class EmbeddingKernels {
public:
  EmbeddingKernels(OpBuilder &builder, Location loc,
                   const EmbeddingShape &shape,
                   ArrayRef<BlockArgument> arguments)
      : e(builder, loc), shape(shape) {
    auto getAddress = [&](unsigned number) -> Value {
      return LLVM::AddrSpaceCastOp::create(builder, loc, e.globalPointer,
                                           arguments[number]);
    };
    ids = getAddress(4);
    cotangent = getAddress(5);
    into = getAddress(6);
    table = getAddress(7);
  }
  /// What the table begins with, unless it is there.
  void copy();
  /// The sums of one token's id.
  void add();

private:
  KernelEmitter e;
  const EmbeddingShape &shape;
  Value ids, cotangent, into, table;

  Type getType(int64_t unit) {
    return unit == 1 ? e.f32 : Type(VectorType::get(unit, e.f32));
  }
  Value isDifferent(Value a, Value b) {
    return LLVM::ICmpOp::create(e.builder, e.loc, LLVM::ICmpPredicate::ne, a,
                                b);
  }
  Value getRow(Value base, Value row) {
    return e.offset(base, e.mul(row, shape.columns * 4));
  }
  Value loadId(Value token);
  Value findId(Value id, Value first, Value end, Value lane);
  void byUnit(function_ref<void(int64_t unit)> body);
  void addRows(Value token, Value id, Value lane, int64_t unit);
};
} // namespace

/// Calls `body` with the elements that the addresses of the call allow at once.
void EmbeddingKernels::byUnit(function_ref<void(int64_t)> body) {
  if (shape.columns % widestUnit != 0)
    return body(1);
  Value bits = e.int64(0);
  for (Value pointer : {cotangent, into, table})
    bits = e.bitOr(bits,
                   LLVM::PtrToIntOp::create(e.builder, e.loc, e.i64, pointer));
  auto yield = [&](int64_t unit) {
    body(unit);
    return KernelEmitter::Values();
  };
  e.choose(
      e.compare(arith::CmpIPredicate::eq, e.bitAnd(bits, 4 * widestUnit - 1),
                0),
      [&] { return yield(widestUnit); }, [&] { return yield(1); });
}

void EmbeddingKernels::copy() {
  Value thread = e.add(e.mul(e.toInt64(e.blockId(0)), copyThreads),
                       e.toInt64(e.threadId()));
  Value isGiven = isDifferent(
      into, LLVM::ZeroOp::create(e.builder, e.loc, e.globalPointer));
  e.when(isDifferent(into, table), [&] {
    byUnit([&](int64_t unit) {
      Type type = getType(unit);
      Value zero = arith::ConstantOp::create(e.builder, e.loc,
                                             e.builder.getZeroAttr(type));
      e.keptLoop(thread, e.int64(shape.rows * shape.columns / unit),
                 shape.getCopyBlocks() * copyThreads, [&](Value index) {
                   Value skip = e.mul(index, 4 * unit);
                   Value value = e.choose(
                       isGiven,
                       [&] {
                         return KernelEmitter::Values{
                             e.load(type, e.offset(into, skip), 4 * unit)};
                       },
                       [&] { return KernelEmitter::Values{zero}; })[0];
                   e.store(value, e.offset(table, skip), 4 * unit);
                 });
    });
  });
}

/// The id (i64) of token `token` (i32).
Value EmbeddingKernels::loadId(Value token) {
  Value place = e.offset(ids, e.mul(e.toInt64(token), shape.idBytes));
  Value id =
      e.load(e.builder.getIntegerType(8 * shape.idBytes), place, shape.idBytes);
  return id.getType() == e.i64 ? id : e.toInt64(id);
}

/// Bit i: token `first` + i, before `end`, has this id.
Value EmbeddingKernels::findId(Value id, Value first, Value end, Value lane) {
  Value token = e.add(first, lane);
  Value isThere = e.compare(arith::CmpIPredicate::slt, token, end);
  Value own = loadId(e.least(token, shape.tokens - 1));
  return e.ballot(
      e.bitAnd(isThere, e.compare(arith::CmpIPredicate::eq, own, id)));
}

/// A thread's columns: a unit of every 32 units, up to those of the warp.
void EmbeddingKernels::addRows(Value token, Value id, Value lane,
                               int64_t unit) {
  Type type = getType(unit);
  Value warp =
      e.add(e.mul(e.blockId(1), shape.getWarps()), e.div(e.threadId(), 32));
  Value first = e.add(e.mul(warp, warpColumns), e.mul(lane, unit));
  SmallVector<Value> skips, areThere;
  for (int64_t column = 0; column < warpColumns; column += 32 * unit) {
    Value own = e.add(first, column);
    areThere.push_back(
        e.compare(arith::CmpIPredicate::slt, own, shape.columns));
    // What is not there is read elsewhere in the row, and not added up.
    own = e.least(own, shape.columns - unit);
    skips.push_back(e.toInt64(e.mul(own, 4)));
  }
  auto load = [&](Value row, Value skip) {
    return e.load(type, e.offset(row, skip), 4 * unit);
  };
  // Of the table no column is another thread's, which writes it.
  Value row = getRow(table, id);
  Value zero =
      arith::ConstantOp::create(e.builder, e.loc, e.builder.getZeroAttr(type));
  KernelEmitter::Values sums;
  for (auto [skip, isThere] : llvm::zip(skips, areThere))
    sums.push_back(e.choose(
        isThere, [&] { return KernelEmitter::Values{load(row, skip)}; },
        [&] { return KernelEmitter::Values{zero}; })[0]);
  sums = e.loop(
      token, e.int32(shape.tokens), 32, sums,
      [&](Value start, ValueRange carried) {
        Value found = findId(id, start, e.int32(shape.tokens), lane);
        Value count = LLVM::CtPopOp::create(e.builder, e.loc, e.i32, found);
        KernelEmitter::Values initial{found};
        llvm::append_range(initial, carried);
        KernelEmitter::Values result = e.loop(
            e.int32(0), count, 1, initial, [&](Value, ValueRange values) {
              Value bits = values.front();
              Value bit = LLVM::CountTrailingZerosOp::create(
                  e.builder, e.loc, e.i32, bits, /*is_zero_poison=*/false);
              Value from = getRow(cotangent, e.toInt64(e.add(start, bit)));
              KernelEmitter::Values next{e.bitAnd(bits, e.sub(bits, 1))};
              for (auto [sum, skip] : llvm::zip(values.drop_front(), skips))
                next.push_back(e.addf(sum, load(from, skip)));
              return next;
            });
        result.erase(result.begin());
        return result;
      });
  for (auto [sum, skip, isThere] : llvm::zip(sums, skips, areThere))
    e.when(isThere, [&] { e.store(sum, e.offset(row, skip), 4 * unit); });
}

void EmbeddingKernels::add() {
  Value token = e.blockId(0), lane = e.rem(e.threadId(), 32);
  Value id = loadId(token);
  e.when(e.compare(arith::CmpIPredicate::ult, id, shape.rows), [&] {
    Value before =
        e.loop(e.int32(0), token, 32, e.int32(0),
               [&](Value start, ValueRange carried) {
                 return KernelEmitter::Values{
                     e.bitOr(carried.front(), findId(id, start, token, lane))};
               })[0];
    e.when(e.compare(arith::CmpIPredicate::eq, before, 0), [&] {
      byUnit([&](int64_t unit) { addRows(token, id, lane, unit); });
    });
  });
}

static void generate(gpu::GPUModuleOp module, StringRef name, Location loc,
                     const EmbeddingShape &shape, const Launch &launch,
                     void (EmbeddingKernels::*body)()) {
  OpBuilder builder(module.getContext());
  SmallVector<Type> types(4, builder.getI64Type());
  types.append(4, LLVM::LLVMPointerType::get(builder.getContext()));
  gpu::GPUFuncOp kernel =
      createKernel(module, builder, loc, name, types, launch);
  EmbeddingKernels kernels(builder, loc, shape, kernel.getArguments());
  (kernels.*body)();
  gpu::ReturnOp::create(builder, loc);
}

static LogicalResult checkShape(nn::EmbeddingBackwardOp op,
                                const EmbeddingShape &shape) {
  int64_t most = std::numeric_limits<int32_t>::max() - 32;
  Type type = op.getResult().getType();
  if (!getElementTypeOrSelf(type).isF32() || shape.tokens < 1 ||
      shape.rows * shape.columns < 1 || shape.tokens > most ||
      shape.columns > most / 4 || shape.getParts() > gridLimit)
    return op.emitOpError("expected 1 or more tokens, and a table of f32 with "
                          "rows of fewer elements than a grid has room for, "
                          "got ")
           << op.getIds().getType() << " and " << type;
  return success();
}

namespace {
struct GenerateGpuEmbeddingPass
    : tp::impl::GenerateGpuEmbeddingBase<GenerateGpuEmbeddingPass> {
  void runOnOperation() override {
    if (failed(checkKernelsName(getOperation())))
      return signalPassFailure();
    SmallVector<EmbeddingShape> known;
    WalkResult result = getOperation().walk([&](nn::EmbeddingBackwardOp op) {
      EmbeddingShape shape(op);
      if (failed(checkShape(op, shape)))
        return WalkResult::interrupt();
      size_t number = llvm::find(known, shape) - known.begin();
      std::string copy = "embedding_backward_" + std::to_string(number);
      std::string add = copy + "_add";
      if (number == known.size()) {
        known.push_back(shape);
        gpu::GPUModuleOp module = getOrCreateKernelsModule(getOperation());
        generate(module, copy, op.getLoc(), shape,
                 {{shape.getCopyBlocks(), 1, 1}, {copyThreads, 1, 1}, 0},
                 &EmbeddingKernels::copy);
        generate(module, add, op.getLoc(), shape,
                 {{shape.tokens, shape.getParts(), 1},
                  {32 * shape.getWarps(), 1, 1},
                  0},
                 &EmbeddingKernels::add);
      }
      setKernels(op, {copy, add});
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
