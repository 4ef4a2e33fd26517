//===- ExpertRowKernels.cpp - Rows to experts and back --------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// These kernels find each row's slots and compute the row from them; see
// ExpertKernels.h. Slots are found without a search: those of expert e begin
// behind as many as all rows have for experts below e. With R slots to a tile,
// the tiles of the expert that begins at slot s are those from s / R + e on,
// for an expert of c slots has at most c / R + 1 of them. Where most experts
// must be without a row, e counts only those that are not.
//
//===----------------------------------------------------------------------===//

#include "ExpertKernels.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tp;

/// Rows of a block of `mark`, a warp each.
static constexpr int64_t markedRows = 8;
static constexpr int64_t mostPlaceWarps = 8;
/// Columns that a thread of `combine` adds up, and threads of a block.
static constexpr int64_t unit = 4;
static constexpr int64_t mostCombineThreads = 256;

SmallVector<Type> ExpertArguments::getTypes(OpBuilder &builder,
                                            const ExpertShape &shape) {
  SmallVector<Type> types{builder.getI64Type()};
  types.append(shape.isBackward ? 17
               : shape.gateForm ? 16
                                : 10,
               LLVM::LLVMPointerType::get(builder.getContext()));
  return types;
}

ExpertArguments ExpertArguments::read(KernelEmitter &e,
                                      const ExpertShape &shape,
                                      ArrayRef<BlockArgument> arguments) {
  ExpertArguments own;
  auto read = [&, next = 1](std::initializer_list<Value *> list) mutable {
    for (Value *address : list)
      *address = LLVM::AddrSpaceCastOp::create(
          e.builder, e.loc, e.globalPointer, arguments[next++]);
  };
  if (shape.isBackward)
    read({&own.cotangent});
  read({&own.input, &own.routing});
  if (shape.gateForm)
    read({&own.gate, &own.gateScales, &own.gateZeros, &own.up, &own.upScales,
          &own.upZeros, &own.down, &own.downScales, &own.downZeros});
  else
    read({&own.gate, &own.up, &own.down});
  read({&own.gateBias, &own.upBias, &own.inside, &own.result});
  if (shape.isBackward)
    read({&own.byRouting, &own.byGate, &own.byUp, &own.byDown, &own.byGateBias,
          &own.byUpBias});
  read({&own.scratch});
  return own;
}

namespace {
class ExpertRowKernels {
public:
  ExpertRowKernels(OpBuilder &builder, Location loc, const ExpertShape &shape,
                   Value shared, ArrayRef<BlockArgument> arguments)
      : e(builder, loc), shape(shape), scratch(shape), shared(shared),
        call(ExpertArguments::read(e, shape, arguments)), thread(e.threadId()),
        lane(e.rem(thread, 32)), warp(e.div(thread, 32)) {}

  static int64_t getPlaceWarps(const ExpertShape &shape) {
    return std::min(mostPlaceWarps, int64_t(llvm::divideCeil(shape.rows, 32)));
  }
  static int64_t getCombineThreads(const ExpertShape &shape) {
    return std::min(
        mostCombineThreads,
        int64_t(llvm::alignTo(llvm::divideCeil(shape.getSummed(), unit), 32)));
  }

  void mark();
  void place();
  void combine();

private:
  KernelEmitter e;
  const ExpertShape &shape;
  ExpertScratch scratch;
  Value shared;
  ExpertArguments call;
  Value thread, lane, warp;

  /// Element `index` (i32) of a table of words of 32 bits.
  Value at(int64_t table, Value index) {
    return e.offset(call.scratch,
                    e.add(e.mul(e.toInt64(index), 4), e.int64(table)));
  }
  Value getWeight(Value row, Value expert) {
    Value index =
        e.add(e.mul(e.toInt64(row), shape.experts), e.toInt64(expert));
    return e.offset(call.routing, e.mul(index, 4));
  }
  Value isLess(Value a, Value b) {
    return e.compare(arith::CmpIPredicate::slt, a, b);
  }
  Value isZero(Value a) { return e.compare(arith::CmpIPredicate::eq, a, 0); }
  /// The mark of a row and the word of an expert.
  struct Mark {
    Value bits, before;
  };
  Mark loadMark(Value row, Value word);
  Value loadUses(Value row, Value word);
  /// `value`, or NaN if the row breaks the promise.
  Value orNaN(Value row, Value value);
  /// Bits below `bit`.
  Value getBelow(Value bit) { return e.sub(e.shiftLeft(e.int32(1), bit), 1); }
  /// Calls `body` with 32 rows at a time: whether this lane's row uses the
  /// expert, and how many experts before it the row uses.
  using Visit = function_ref<KernelEmitter::Values(
      Value row, Value uses, Value number, ValueRange carried)>;
  KernelEmitter::Values visitRows(Value expert, ValueRange initial, Visit body);
  Value countExpertsBefore(Value expert);
  void writeTiles(Value expert, Value first, Value count);
  void storeResult(Value row, Value column, Value result);
  void sumRouting(Value row);
};
} // namespace

//===----------------------------------------------------------------------===//
// Mark
//===----------------------------------------------------------------------===//

/// A bit for each expert of the word that the warp's row uses.
Value ExpertRowKernels::loadUses(Value row, Value word) {
  Value expert = e.add(e.mul(word, 32), lane);
  Value weight = e.ifElse(
      isLess(expert, e.int32(shape.experts)),
      [&] {
        return KernelEmitter::Values{e.load(e.f32, getWeight(row, expert), 4)};
      },
      [&] { return KernelEmitter::Values{e.float32(0)}; })[0];
  return e.ballot(e.compare(arith::CmpFPredicate::UNE, weight, e.float32(0)));
}

/// A row that uses more experts than it may is marked as one that uses none, so
/// that it takes no slots of other rows, and as one to become NaN.
void ExpertRowKernels::mark() {
  Value row = e.add(e.mul(e.blockId(0), markedRows), warp);
  e.ifThen(isLess(row, e.int32(shape.rows)), [&] {
    Value isBroken;
    if (shape.mayBreakPromise()) {
      Value uses = e.loop(e.int32(0), e.int32(shape.getWords()), 1, e.int32(0),
                          [&](Value word, ValueRange carried) {
                            Value bits = loadUses(row, word);
                            return KernelEmitter::Values{
                                e.add(carried.front(), e.popCount(bits))};
                          })[0];
      isBroken = e.compare(arith::CmpIPredicate::sgt, uses, shape.chosen);
    }
    e.loop(e.int32(0), e.int32(shape.getWords()), 1, e.int32(0),
           [&](Value word, ValueRange carried) {
             Value before = carried.front();
             Value bits = loadUses(row, word);
             if (isBroken)
               bits = e.select(isBroken, e.int32(0), bits);
             e.ifThen(isZero(lane), [&] {
               Value index =
                   e.mul(e.add(e.mul(row, shape.getWords()), word), 2);
               e.store(bits, at(scratch.marks, index), 4);
               e.store(before, at(scratch.marks, e.add(index, 1)), 4);
             });
             return KernelEmitter::Values{e.add(before, e.popCount(bits))};
           });
    e.loopNoUnroll(lane, e.int32(shape.chosen), 32, [&](Value number) {
      Value none = e.int32(-1);
      if (isBroken)
        none = e.select(e.bitAnd(isBroken, isZero(number)), e.int32(-2), none);
      e.store(none, at(scratch.slotOf, e.add(e.mul(row, shape.chosen), number)),
              4);
    });
  });
}

//===----------------------------------------------------------------------===//
// Place
//===----------------------------------------------------------------------===//

ExpertRowKernels::Mark ExpertRowKernels::loadMark(Value row, Value word) {
  Value index = e.mul(e.add(e.mul(row, shape.getWords()), word), 2);
  return {e.load(e.i32, at(scratch.marks, index), 4),
          e.load(e.i32, at(scratch.marks, e.add(index, 1)), 4)};
}

/// Each warp has the same number of rows, one behind the other.
KernelEmitter::Values
ExpertRowKernels::visitRows(Value expert, ValueRange initial, Visit body) {
  int64_t own =
      llvm::alignTo(llvm::divideCeil(shape.rows, getPlaceWarps(shape)), 32);
  Value first = e.mul(warp, own);
  Value word = e.div(expert, 32), bit = e.rem(expert, 32);
  return e.loop(
      first, e.add(first, own), 32, initial,
      [&](Value start, ValueRange carried) {
        Value row = e.add(start, lane);
        Value isRow = isLess(row, e.int32(shape.rows));
        Mark mark = loadMark(e.min(row, shape.rows - 1), word);
        Value uses = e.bitAnd(e.shiftRight(mark.bits, bit), 1);
        uses = e.bitAnd(isRow, e.compare(arith::CmpIPredicate::ne, uses, 0));
        Value number =
            e.add(mark.before, e.popCount(e.bitAnd(mark.bits, getBelow(bit))));
        number = e.select(isRow, number, e.int32(0));
        return body(row, uses, number, carried);
      });
}

/// How many experts with rows come before this one.
Value ExpertRowKernels::countExpertsBefore(Value expert) {
  if (!shape.isSparse())
    return expert;
  Value last = e.div(expert, 32), below = getBelow(e.rem(expert, 32));
  return e.loop(
      e.int32(0), e.add(last, 1), 1, e.int32(0),
      [&](Value word, ValueRange carried) {
        Value used = e.loop(lane, e.int32(shape.rows), 32, e.int32(0),
                            [&](Value row, ValueRange bits) {
                              return KernelEmitter::Values{e.bitOr(
                                  bits.front(), loadMark(row, word).bits)};
                            })[0];
        for (int64_t mask : {16, 8, 4, 2, 1})
          used = e.bitOr(used, e.shuffleXor(used, mask));
        Value isLast = e.compare(arith::CmpIPredicate::eq, word, last);
        used = e.bitAnd(used, e.select(isLast, below, e.int32(-1)));
        return KernelEmitter::Values{e.add(carried.front(), e.popCount(used))};
      })[0];
}

/// The tiles of an expert of `count` slots from `first` on, and of the places
/// behind them up to those of the next expert: these have no slots.
void ExpertRowKernels::writeTiles(Value expert, Value first, Value count) {
  int64_t size = shape.getTiles().getRows();
  Value number = countExpertsBefore(expert);
  Value begin = e.add(e.div(first, size), number);
  Value end = e.add(e.div(e.add(first, count), size), e.add(number, 1));
  if (shape.isSparse())
    end = e.select(isZero(count), begin, end);
  end = e.select(e.compare(arith::CmpIPredicate::eq, expert, shape.experts - 1),
                 e.int32(shape.countTiles()), end);
  e.loopNoUnroll(
      e.add(begin, thread), end, 32 * getPlaceWarps(shape), [&](Value tile) {
        Value skipped = e.mul(e.sub(tile, begin), size);
        Value own = e.min(e.sub(count, skipped), size);
        Value slot = e.add(first, skipped);
        Value entry = e.makeVector({expert, slot, e.max(own, 0), e.int32(0)});
        e.store(entry, at(scratch.tiles, e.mul(tile, 4)), 16);
      });
}

/// A block has an expert. What its warps count lies in shared memory: rows of
/// the expert, then slots of lower experts.
void ExpertRowKernels::place() {
  Value expert = e.blockId(0);
  int64_t warps = getPlaceWarps(shape);
  KernelEmitter::Values counts =
      visitRows(expert, ValueRange{e.int32(0), e.int32(0)},
                [&](Value, Value uses, Value number, ValueRange carried) {
                  return KernelEmitter::Values{
                      e.add(carried[0], e.popCount(e.ballot(uses))),
                      e.add(carried[1], number)};
                });
  Value before = counts[1];
  for (int64_t mask : {16, 8, 4, 2, 1})
    before = e.add(before, e.shuffleXor(before, mask));
  e.ifThen(isZero(lane), [&] {
    Value place = e.offset(shared, e.mul(warp, 8));
    e.store(counts[0], place, 4);
    e.store(before, e.offset(place, 4), 4);
  });
  e.barrier();
  Value first = e.int32(0), count = first, ownFirst = first;
  for (int64_t other = 0; other < warps; ++other) {
    Value place = e.offset(shared, 8 * other);
    Value own = e.load(e.i32, place, 4);
    ownFirst = e.select(e.compare(arith::CmpIPredicate::sgt, warp, other),
                        e.add(ownFirst, own), ownFirst);
    count = e.add(count, own);
    first = e.add(first, e.load(e.i32, e.offset(place, 4), 4));
  }
  visitRows(
      expert, e.add(first, ownFirst),
      [&](Value row, Value uses, Value number, ValueRange carried) {
        Value bits = e.ballot(uses);
        Value slot =
            e.add(carried.front(), e.popCount(e.bitAnd(bits, getBelow(lane))));
        e.ifThen(uses, [&] {
          Value index = e.add(e.mul(row, shape.chosen), number);
          e.store(row, at(scratch.rowOf, slot), 4);
          e.store(slot, at(scratch.slotOf, index), 4);
          e.store(e.load(e.f32, getWeight(row, expert), 4),
                  at(scratch.weightOf, slot), 4);
        });
        return KernelEmitter::Values{e.add(carried.front(), e.popCount(bits))};
      });
  writeTiles(expert, first, count);
  e.ifThen(isZero(thread), [&] {
    Value span = e.mul(expert, 2);
    e.store(first, at(scratch.spans, span), 4);
    e.store(count, at(scratch.spans, e.add(span, 1)), 4);
  });
}

//===----------------------------------------------------------------------===//
// Combine
//===----------------------------------------------------------------------===//

Value ExpertRowKernels::orNaN(Value row, Value value) {
  if (!shape.mayBreakPromise())
    return value;
  Value first = e.load(e.i32, at(scratch.slotOf, e.mul(row, shape.chosen)), 4);
  Value nan = e.float32(std::numeric_limits<float>::quiet_NaN());
  if (isa<VectorType>(value.getType()))
    nan = e.makeVector(SmallVector<Value>(unit, nan));
  return e.select(e.compare(arith::CmpIPredicate::eq, first, -2), nan, value);
}

/// The row's sums. Of the derivative, and of experts that read what the weights
/// have multiplied, these are in them already.
void ExpertRowKernels::combine() {
  Value row = e.blockId(0);
  int64_t width = shape.getSummed();
  Value column =
      e.mul(e.add(e.mul(e.blockId(1), getCombineThreads(shape)), thread), unit);
  e.ifThen(isLess(column, e.int32(width)), [&] {
    Type sums = VectorType::get(unit, e.f32);
    Value zero = arith::ConstantOp::create(e.builder, e.loc,
                                           e.builder.getZeroAttr(sums));
    Value own = e.add(e.mul(e.toInt64(column), 4), e.int64(scratch.outer));
    Value sum = e.loop(
        e.int32(0), e.int32(shape.chosen), 1, zero,
        [&](Value number, ValueRange carried) {
          Value index = e.add(e.mul(row, shape.chosen), number);
          Value slot = e.load(e.i32, at(scratch.slotOf, index), 4);
          auto add = [&] {
            Value line = e.mul(e.toInt64(slot), scratch.outerPitch);
            Value part =
                e.load(sums, e.offset(call.scratch, e.add(own, line)), 16);
            if (shape.isBackward || shape.scalesInput)
              return KernelEmitter::Values{e.addf(carried.front(), part)};
            Value weight = e.load(e.f32, at(scratch.weightOf, slot), 4);
            return KernelEmitter::Values{
                e.fma(e.makeVector(SmallVector<Value>(unit, weight)), part,
                      carried.front())};
          };
          return e.ifElse(
              e.compare(arith::CmpIPredicate::sge, slot, 0), add,
              [&] { return KernelEmitter::Values{carried.front()}; });
        })[0];
    storeResult(row, column, orNaN(row, sum));
  });
  if (shape.isBackward)
    e.ifThen(isZero(e.blockId(1)), [&] { sumRouting(row); });
}

/// Four columns of a row, rounded, as far as there are so many.
void ExpertRowKernels::storeResult(Value row, Value column, Value result) {
  int64_t bytes = shape.getBytes(), width = shape.getSummed();
  if (!shape.type.isF32())
    result = arith::TruncFOp::create(e.builder, e.loc,
                                     VectorType::get(unit, shape.type), result);
  Value index = e.add(e.mul(e.toInt64(row), width), e.toInt64(column));
  Value place = e.offset(call.result, e.mul(index, bytes));
  auto storeEach = [&] {
    for (int64_t i = 0; i < unit; ++i)
      e.ifThen(isLess(e.add(column, i), e.int32(width)), [&] {
        Value value = LLVM::ExtractElementOp::create(e.builder, e.loc, result,
                                                     e.int32(i));
        e.store(value, e.offset(place, i * bytes), bytes);
      });
    return KernelEmitter::Values();
  };
  if (width % unit != 0) {
    storeEach();
    return;
  }
  Value address = LLVM::PtrToIntOp::create(e.builder, e.loc, e.i64, place);
  e.ifElse(
      isZero(e.bitAnd(address, unit * bytes - 1)),
      [&] {
        e.store(result, place, unit * bytes);
        return KernelEmitter::Values();
      },
      storeEach);
}

/// The derivative by the row's weights: the parts of each slot's sum, in order;
/// zero for experts that the row does not use.
void ExpertRowKernels::sumRouting(Value row) {
  int64_t parts = shape.countParts();
  auto sumParts = [&](Value slot) {
    Value line = e.offset(call.scratch, e.add(e.mul(e.toInt64(slot), 4 * parts),
                                              e.int64(scratch.parts)));
    return e.loop(e.int32(0), e.int32(parts), 1, e.float32(0),
                  [&](Value part, ValueRange carried) {
                    Value place = e.offset(line, e.mul(e.toInt64(part), 4));
                    return KernelEmitter::Values{
                        e.addf(carried.front(), e.load(e.f32, place, 4))};
                  });
  };
  e.loopNoUnroll(
      thread, e.int32(shape.experts), getCombineThreads(shape),
      [&](Value expert) {
        Value bit = e.rem(expert, 32);
        Mark mark = loadMark(row, e.div(expert, 32));
        Value uses = e.bitAnd(e.shiftRight(mark.bits, bit), 1);
        Value number =
            e.add(mark.before, e.popCount(e.bitAnd(mark.bits, getBelow(bit))));
        Value index = e.add(e.mul(row, shape.chosen), number);
        Value sum = e.ifElse(
            isZero(uses), [&] { return KernelEmitter::Values{e.float32(0)}; },
            [&] {
              return sumParts(e.load(e.i32, at(scratch.slotOf, index), 4));
            })[0];
        Value place =
            e.add(e.mul(e.toInt64(row), shape.experts), e.toInt64(expert));
        e.store(orNaN(row, sum), e.offset(call.byRouting, e.mul(place, 4)), 4);
      });
}

//===----------------------------------------------------------------------===//
// The kernels
//===----------------------------------------------------------------------===//

static void generate(gpu::GPUModuleOp module, StringRef name,
                     const ExpertShape &shape, Location loc,
                     const Launch &launch, void (ExpertRowKernels::*body)()) {
  OpBuilder builder(module.getContext());
  gpu::GPUFuncOp kernel =
      createKernel(module, builder, loc, name,
                   ExpertArguments::getTypes(builder, shape), launch);
  Value shared;
  if (launch.sharedBytes > 0)
    shared =
        LLVM::AddressOfOp::create(builder, loc, getSharedMemory(module, loc));
  ExpertRowKernels kernels(builder, loc, shape, shared, kernel.getArguments());
  (kernels.*body)();
  gpu::ReturnOp::create(builder, loc);
}

void tp::generateExpertMark(gpu::GPUModuleOp module, StringRef name,
                            const ExpertShape &shape, Location loc) {
  int64_t blocks = llvm::divideCeil(shape.rows, markedRows);
  generate(module, name, shape, loc,
           {{blocks, 1, 1}, {32 * markedRows, 1, 1}, 0},
           &ExpertRowKernels::mark);
}

void tp::generateExpertPlace(gpu::GPUModuleOp module, StringRef name,
                             const ExpertShape &shape, Location loc) {
  int64_t warps = ExpertRowKernels::getPlaceWarps(shape);
  generate(module, name, shape, loc,
           {{shape.experts, 1, 1}, {32 * warps, 1, 1}, 8 * warps},
           &ExpertRowKernels::place);
}

void tp::generateExpertCombine(gpu::GPUModuleOp module, StringRef name,
                               const ExpertShape &shape, Location loc) {
  int64_t threads = ExpertRowKernels::getCombineThreads(shape);
  int64_t parts = llvm::divideCeil(shape.getSummed(), threads * unit);
  generate(module, name, shape, loc,
           {{shape.rows, parts, 1}, {threads, 1, 1}, 0},
           &ExpertRowKernels::combine);
}
