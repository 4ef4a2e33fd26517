//===- SamplePickKernel.cpp - The pick from records on a device -----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block merges the records of one row: a candidate's place is its rank among
// all. What is left of the best after top-k, min-p and top-p is worked out by
// all threads alike, from shared memory; then each has the score of some that
// may be drawn, and the best score wins.
//
//===----------------------------------------------------------------------===//

#include "SampleKernels.h"
#include "tp/Conversion/Kernels/GpuModule.h"

#include "tprt/abi.h"
#include <limits>

using namespace mlir;
using namespace tp;
using Compare = arith::CmpIPredicate;
using CompareF = arith::CmpFPredicate;

static constexpr int64_t candidates = TPRT_RECORD_CANDIDATES;
static constexpr double infinity = std::numeric_limits<double>::infinity();
/// Sums of a record are rounded; nearer than this to top_p is too near to tell.
static constexpr double nearness = 1e-5;
static constexpr int64_t threads = 256;

/// Bytes in shared memory: weights, logits and tokens of the best.
static constexpr int64_t weightsAt = 0;
static constexpr int64_t logitsAt = weightsAt + candidates * 8;
static constexpr int64_t tokensAt = logitsAt + candidates * 4;
static constexpr int64_t partialsAt = tokensAt + candidates * 4;
static constexpr int64_t sharedBytes = partialsAt + 3 * 8 * (threads / 32);

namespace {
class PickKernel {
public:
  PickKernel(OpBuilder &builder, Location loc, const PickShape &shape,
             Value shared, ArrayRef<BlockArgument> arguments);
  void run();

private:
  KernelEmitter e;
  SampleMath math;
  const PickShape &shape;
  Value shared, records, thread, row;
  RowDraw draw;
  Value topK, topP, minP; ///< i32, f64, f32
  Value tokensOut, logprobsOut;
  Value maximum; ///< of all logits, f32
  Value size;    ///< i32: how many of the best are left
  /// i1: no other tokens are; it cannot be told what is left.
  Value isComplete, isUnknown;

  Value load(Value block, Value word);
  Value load(Value block, int64_t word) { return load(block, e.int32(word)); }
  Value inShared(int64_t at, Value index, int64_t bytes) {
    return e.offset(shared, e.add(e.mul(index, bytes), at));
  }
  Value isTrue(Value number) { return e.compare(Compare::ne, number, 0); }
  Value toNumber(Value condition) {
    return e.select(condition, e.int32(1), e.int32(0));
  }
  Value getWeight(Value logit);
  Value sumOfBlocks(int64_t word, Value scale);
  void merge();
  void weigh();
  void restrictByRank();
  void restrictByWeight();
  DrawnToken drawToken();
};
} // namespace

PickKernel::PickKernel(OpBuilder &builder, Location loc, const PickShape &shape,
                       Value shared, ArrayRef<BlockArgument> arguments)
    : e(builder, loc), math(e), shape(shape), shared(shared) {
  auto getAddress = [&](unsigned number) -> Value {
    return LLVM::AddrSpaceCastOp::create(builder, loc, e.globalPointer,
                                         arguments[number]);
  };
  thread = e.threadId();
  row = e.blockId(0);
  auto ofRow = [&](unsigned number) {
    return e.offset(getAddress(number), e.toInt64(e.mul(row, 4)));
  };
  records =
      e.offset(getAddress(2), e.toInt64(e.mul(row, 4 * TPRT_RECORD_WORDS)));
  draw = math.readDraw(row, getAddress(3), getAddress(4), getAddress(5));
  topK = e.load(e.i32, ofRow(6), 4);
  topP = math.widen(e.load(e.f32, ofRow(7), 4));
  minP = e.load(e.f32, ofRow(8), 4);
  tokensOut = ofRow(9);
  logprobsOut = ofRow(10);
}

Value PickKernel::load(Value block, Value word) {
  Value line = e.mul(block, shape.rows * TPRT_RECORD_WORDS);
  return e.load(e.f32,
                e.offset(records, e.toInt64(e.mul(e.add(line, word), 4))), 4);
}

/// Beside the largest logit, over the temperature.
Value PickKernel::getWeight(Value logit) {
  Value origin = math.mul(math.widen(maximum), draw.scale);
  return math.exp(math.sub(math.mul(math.widen(logit), draw.scale), origin));
}

/// The sum of exponentials of all blocks, relative to the largest logit.
Value PickKernel::sumOfBlocks(int64_t word, Value scale) {
  return e.loop(
      e.int32(0), e.int32(shape.blocks), 1, {math.number(0)},
      [&](Value block, ValueRange carried) {
        Value own = load(block, TPRT_RECORD_MAXIMUM);
        Value isNone = e.compare(CompareF::OEQ, own, e.float32(-infinity));
        Value seen = e.select(isNone, maximum, own);
        Value x =
            math.mul(math.sub(math.widen(seen), math.widen(maximum)), scale);
        Value part = math.mul(math.widen(load(block, word)), math.exp(x));
        part = e.select(isNone, math.number(0), part);
        return KernelEmitter::Values{math.add(carried[0], part)};
      })[0];
}

/// The best of all blocks into shared memory, in order.
void PickKernel::merge() {
  int64_t count = shape.blocks * candidates;
  auto read = [&](Value index) {
    Value block = e.div(index, candidates), place = e.rem(index, candidates);
    return std::pair(load(block, place),
                     load(block, e.add(place, TPRT_RECORD_TOKENS)));
  };
  Value zero = e.float32(0);
  e.keptLoop(thread, e.int32(count), threads, [&](Value index) {
    auto [logit, token] = read(index);
    Value rank = e.loop(
        e.int32(0), e.int32(count), 1, {e.int32(0)},
        [&](Value other, ValueRange carried) {
          auto [theirs, theirToken] = read(other);
          Value isEqual = e.compare(CompareF::OEQ, theirs, logit);
          Value isLower = e.compare(CompareF::OLT, theirToken, token);
          Value isBetter = e.bitOr(e.compare(CompareF::OGT, theirs, logit),
                                   e.bitAnd(isEqual, isLower));
          isBetter =
              e.bitAnd(isBetter, e.compare(CompareF::OGE, theirToken, zero));
          return KernelEmitter::Values{e.add(carried[0], toNumber(isBetter))};
        })[0];
    Value isIn = e.bitAnd(e.compare(CompareF::OGE, token, zero),
                          e.compare(Compare::slt, rank, candidates));
    e.when(isIn, [&] {
      Value number = arith::FPToSIOp::create(e.builder, e.loc, e.i32, token);
      e.store(logit, inShared(logitsAt, rank, 4), 4);
      e.store(number, inShared(tokensAt, rank, 4), 4);
    });
  });
  size = e.loop(
      e.int32(0), e.int32(count), 1, {e.int32(0)},
      [&](Value index, ValueRange carried) {
        Value isThere = e.compare(CompareF::OGE, read(index).second, zero);
        return KernelEmitter::Values{e.add(carried[0], toNumber(isThere))};
      })[0];
  size = e.least(size, candidates);
}

/// The weights of the best beside them, for all threads.
void PickKernel::weigh() {
  e.barrier();
  e.when(e.compare(Compare::slt, thread, size), [&] {
    Value logit = e.load(e.f32, inShared(logitsAt, thread, 4), 4);
    e.store(getWeight(logit), inShared(weightsAt, thread, 8), 8);
  });
  e.barrier();
}

/// Top-k and min-p, for which the best are enough.
void PickKernel::restrictByRank() {
  Value limit = e.select(draw.isRandom, topK, e.int32(1));
  Value isLimited = e.bitAnd(e.compare(Compare::sge, limit, 1),
                             e.compare(Compare::sle, limit, candidates));
  isComplete = e.bitOr(e.compare(Compare::slt, size, candidates), isLimited);
  size = e.select(isLimited, e.least(size, limit), size);
  Value hasLeast = e.compare(CompareF::OGT, minP, e.float32(0));
  auto valueOf = [&](Value place) {
    Value logit = e.load(e.f32, inShared(logitsAt, place, 4), 4);
    return math.mul(math.widen(logit), draw.scale);
  };
  auto kept = e.choose(
      e.bitAnd(hasLeast, e.compare(Compare::sge, size, 1)),
      [&] {
        Value least = math.add(valueOf(e.int32(0)), math.log(math.widen(minP)));
        return e.loop(
            e.int32(1), size, 1, {e.int32(1)},
            [&](Value place, ValueRange carried) {
              Value stays = e.compare(CompareF::OGE, valueOf(place), least);
              return KernelEmitter::Values{e.add(carried[0], toNumber(stays))};
            });
      },
      [&] { return KernelEmitter::Values{size}; });
  isComplete = e.bitOr(isComplete, e.compare(Compare::slt, kept[0], size));
  size = kept[0];
  Value isOpen = e.compare(Compare::eq, toNumber(isComplete), 0);
  isUnknown =
      e.bitAnd(isOpen, e.bitOr(hasLeast, e.compare(Compare::sgt, topK, 0)));
}

/// Top-p: the fewest that are as probable together.
void PickKernel::restrictByWeight() {
  auto weightOf = [&](Value place) {
    return e.load(math.number(0).getType(), inShared(weightsAt, place, 8), 8);
  };
  Value zero = math.number(0);
  Value own =
      e.loop(e.int32(0), size, 1, {zero}, [&](Value place, ValueRange carried) {
        return KernelEmitter::Values{math.add(carried[0], weightOf(place))};
      })[0];
  Value all = e.select(isComplete, own,
                       sumOfBlocks(TPRT_RECORD_TEMPERED_SUM, draw.scale));
  Value aim = math.mul(topP, all);
  Value margin = math.mul(math.number(nearness), all);
  // How many, what they reach, whether it goes on, whether that is unsure.
  auto found = e.loop(
      e.int32(0), size, 1, {e.int32(0), zero, e.int32(1), e.int32(0)},
      [&](Value place, ValueRange carried) {
        Value reached = carried[1];
        Value distance = math.sub(reached, aim);
        Value size = e.select(e.compare(CompareF::OLT, distance, zero),
                              e.negate(distance), distance);
        Value isFirst = e.compare(Compare::eq, place, 0);
        Value goes = isTrue(carried[2]);
        Value isNear =
            e.bitAnd(e.bitAnd(goes, e.compare(Compare::sgt, place, 0)),
                     e.compare(CompareF::OLE, size, margin));
        Value takes = e.bitAnd(
            goes, e.bitOr(isFirst, e.compare(CompareF::OLT, reached, aim)));
        return KernelEmitter::Values{
            e.add(carried[0], toNumber(takes)),
            e.select(takes, math.add(reached, weightOf(place)), reached),
            toNumber(takes), e.select(isNear, e.int32(1), carried[3])};
      });
  Value isAll = e.compare(Compare::eq, found[0], size);
  Value isOpen = e.compare(Compare::eq, toNumber(isComplete), 0);
  Value isEnough = e.compare(CompareF::OGT, found[1], math.add(aim, margin));
  Value mayGoOn = e.bitAnd(e.bitAnd(isAll, isOpen),
                           e.compare(Compare::eq, toNumber(isEnough), 0));
  Value isCut = e.compare(CompareF::OLT, topP, math.number(1));
  isUnknown =
      e.bitOr(isUnknown, e.bitAnd(isCut, e.bitOr(mayGoOn, isTrue(found[3]))));
  size = e.select(isCut, found[0], size);
  isComplete = e.bitOr(isComplete, isCut);
}

/// What wins among the best that are left, or among the winners of the blocks.
DrawnToken PickKernel::drawToken() {
  DrawnToken none = math.getNone();
  auto offer = [&](ValueRange carried, Value logit, Value token) {
    DrawnToken better =
        math.getBetter({carried[0], carried[1], carried[2]},
                       {math.getScore(logit, token, draw), token, logit});
    return KernelEmitter::Values{better.score, better.token, better.logit};
  };
  KernelEmitter::Values initial{none.score, none.token, none.logit};
  auto own = e.choose(
      isComplete,
      [&] {
        return e.loop(thread, size, threads, initial,
                      [&](Value place, ValueRange carried) {
                        return offer(
                            carried,
                            e.load(e.f32, inShared(logitsAt, place, 4), 4),
                            e.load(e.i32, inShared(tokensAt, place, 4), 4));
                      });
      },
      [&] {
        return e.loop(
            thread, e.int32(shape.blocks), threads, initial,
            [&](Value block, ValueRange carried) {
              Value number = load(block, TPRT_RECORD_DRAWN_TOKEN);
              Value isThere = e.compare(CompareF::OGE, number, e.float32(0));
              Value token =
                  arith::FPToSIOp::create(e.builder, e.loc, e.i32, number);
              return e.choose(
                  isThere,
                  [&] {
                    return offer(carried, load(block, TPRT_RECORD_DRAWN_LOGIT),
                                 token);
                  },
                  [&] { return KernelEmitter::Values(carried); });
            });
      });
  return reduceDrawn(e, math, {own[0], own[1], own[2]}, threads, thread,
                     e.offset(shared, partialsAt));
}

void PickKernel::run() {
  maximum = e.loop(e.int32(0), e.int32(shape.blocks), 1, {e.float32(-infinity)},
                   [&](Value block, ValueRange carried) {
                     return KernelEmitter::Values{math.greatest(
                         carried[0], load(block, TPRT_RECORD_MAXIMUM))};
                   })[0];
  merge();
  weigh();
  restrictByRank();
  restrictByWeight();
  DrawnToken drawn = drawToken();
  Value isKnown =
      e.bitAnd(math.isFinite(maximum), e.compare(Compare::sge, size, 1));
  isKnown = e.bitAnd(isKnown, e.compare(Compare::eq, toNumber(isUnknown), 0));
  isKnown = e.bitAnd(isKnown, e.compare(Compare::ne, drawn.token, noToken));
  e.when(e.compare(Compare::eq, thread, 0), [&] {
    e.store(e.select(isKnown, drawn.token, e.int32(-1)), tokensOut, 4);
    auto logprob = e.choose(
        isKnown,
        [&] {
          Value total = sumOfBlocks(TPRT_RECORD_SUM, math.number(1));
          Value lse = math.add(math.widen(maximum), math.log(total));
          return KernelEmitter::Values{
              math.narrow(math.sub(math.widen(drawn.logit), lse))};
        },
        [&] { return KernelEmitter::Values{e.float32(0)}; });
    e.store(logprob[0], logprobsOut, 4);
  });
}

void tp::generateSamplePick(gpu::GPUModuleOp module, StringRef name,
                            const PickShape &shape, Location loc) {
  LLVM::GlobalOp global = getSharedMemory(module, loc);
  OpBuilder builder(module.getContext());
  gpu::GPUFuncOp kernel = beginSampleKernel(builder, module, name, 2, 9, loc);
  setLaunch(kernel, {{shape.rows, 1, 1}, {threads, 1, 1}, sharedBytes});
  Value shared = LLVM::AddressOfOp::create(builder, loc, global);
  PickKernel(builder, loc, shape, shared, kernel.getArguments()).run();
  gpu::ReturnOp::create(builder, loc);
}
