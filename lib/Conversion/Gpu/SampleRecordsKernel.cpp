//===- SampleRecordsKernel.cpp - Records of a vocabulary on a device ------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block reads its logits a few times: for the largest and what wins the draw,
// for the sums, and to find the best. These are found by radix selection: an
// element's key, of 64 bits, has its logit in front and behind it how low its
// token is, so that no two are equal and larger is better. Eight bits at a
// time, from the top, it is counted how many keys there are of each digit,
// which tells the digit of the least key that is among the best. Where the best
// end with all keys of a digit, the rest of the bits need not be looked at:
//
//        keys 91 87 85 42, two of them: first digits 9 8 8 4, so the least is
//        an 8, of which one is wanted; second digits 7 5, so it is 87.
//
// Then keys that are not below it are as many as wanted, and each goes to the
// place of its rank among them. The counters are added to in any order, which
// changes no number.
//
//===----------------------------------------------------------------------===//

#include "BlockReduce.h"
#include "SampleKernels.h"
#include "tp/Conversion/Kernels/GpuModule.h"

#include "tprt/abi.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace tp;
using Compare = arith::CmpIPredicate;

static constexpr int64_t candidates = TPRT_RECORD_CANDIDATES;
static constexpr double infinity = std::numeric_limits<double>::infinity();
/// Threads of a block for a few logits, and for many.
static constexpr int64_t fewThreads = 256, manyThreads = 1024;
static constexpr int64_t manyLogits = 8192;
static constexpr int64_t digits = 256;
static constexpr int64_t group = 16; ///< digits that are added up first

/// Bytes in shared memory.
static constexpr int64_t countersAt = 0;
static constexpr int64_t groupsAt = countersAt + digits * 4;
/// The digit that was found, how many of its keys are wanted and there are; how
/// many keys were collected.
static constexpr int64_t stateAt = groupsAt + digits / group * 4;
static constexpr int64_t keysAt = stateAt + 16;
static constexpr int64_t partialsAt = keysAt + candidates * 8;
static constexpr int64_t sharedBytes = partialsAt + 5 * 8 * (manyThreads / 32);

gpu::GPUFuncOp tp::beginSampleKernel(OpBuilder &builder,
                                     gpu::GPUModuleOp module, StringRef name,
                                     int64_t numbers, int64_t addresses,
                                     Location loc) {
  builder.setInsertionPointToEnd(module.getBody());
  SmallVector<Type> types(numbers, builder.getI64Type());
  types.append(addresses, LLVM::LLVMPointerType::get(builder.getContext()));
  auto kernel = gpu::GPUFuncOp::create(builder, loc, name,
                                       builder.getFunctionType(types, {}));
  kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                  builder.getUnitAttr());
  builder.setInsertionPointToStart(&kernel.getBody().front());
  return kernel;
}

static SmallVector<Value> combineDrawn(SampleMath &math, ArrayRef<Value> a,
                                       ArrayRef<Value> b) {
  DrawnToken best = math.getBetter({a[0], a[1], a[2]}, {b[0], b[1], b[2]});
  return {best.score, best.token, best.logit};
}

DrawnToken tp::reduceDrawn(KernelEmitter &e, SampleMath &math,
                           const DrawnToken &token, int64_t threads,
                           Value thread, Value shared) {
  auto combine = [&](ArrayRef<Value> a, ArrayRef<Value> b) {
    return combineDrawn(math, a, b);
  };
  DrawnToken none = math.getNone();
  auto own = reduceInWarp(e.builder, e.loc,
                          {token.score, token.token, token.logit}, 32, combine);
  auto all = reduceWarps(
      e.builder, e.loc,
      {{own[0], none.score}, {own[1], none.token}, {own[2], none.logit}},
      threads / 32, thread, shared, combine);
  return {all[0], all[1], all[2]};
}

namespace {
class RecordsKernel {
public:
  RecordsKernel(OpBuilder &builder, Location loc, const RecordsShape &shape,
                int64_t threads, Value shared,
                ArrayRef<BlockArgument> arguments);
  void run();

private:
  KernelEmitter e;
  SampleMath math;
  int64_t threads;
  Value shared, logits, record, thread;
  Value first, count; ///< the block's tokens
  RowDraw draw;
  Value maximum, numFinite;
  DrawnToken drawn;

  Value loadLogit(Value index);
  KernelEmitter::Values
  eachLogit(ValueRange initial,
            function_ref<KernelEmitter::Values(Value, Value, ValueRange)> body);
  void findLargest();
  Value sum(Value scale);
  Value getKey(Value index, Value logit);
  Value findLeastKey(Value wanted);
  void countDigits(Value prefix, Value mask, Value shift);
  void findDigit(Value wanted);
  void writeBest(Value leastKey, Value wanted);
  Value inState(int64_t number) {
    return e.offset(shared, stateAt + 4 * number);
  }
  void write(Value value, int64_t word) {
    e.store(value, e.offset(record, 4 * word), 4);
  }
};
} // namespace

RecordsKernel::RecordsKernel(OpBuilder &builder, Location loc,
                             const RecordsShape &shape, int64_t threads,
                             Value shared, ArrayRef<BlockArgument> arguments)
    : e(builder, loc), math(e), threads(threads), shared(shared) {
  auto getAddress = [&](unsigned number) -> Value {
    return LLVM::AddrSpaceCastOp::create(builder, loc, e.globalPointer,
                                         arguments[number]);
  };
  thread = e.threadId();
  Value row = e.blockId(0), block = e.blockId(1);
  draw = math.readDraw(row, getAddress(6), getAddress(7), getAddress(8));
  int64_t size = llvm::divideCeil(shape.columns, shape.blocks);
  Value number =
      e.load(e.i32, e.offset(getAddress(5), e.toInt64(e.mul(block, 4))), 4);
  first = e.mul(number, size);
  Value begin = e.mul(block, size);
  count = e.least(e.least(e.sub(e.int32(shape.columns), begin), size),
                  e.sub(e.int32(shape.vocabulary), first));
  Value isEmpty = e.compare(Compare::slt, draw.position, 0);
  count = e.select(isEmpty, e.int32(0), e.greatest(count, 0));
  Value from = e.add(e.mul(e.toInt64(row), shape.columns), e.toInt64(begin));
  logits = e.offset(getAddress(4), e.mul(from, 4));
  Value line = e.add(e.mul(block, shape.rows), row);
  record =
      e.offset(getAddress(9), e.toInt64(e.mul(line, 4 * TPRT_RECORD_WORDS)));
}

Value RecordsKernel::loadLogit(Value index) {
  // No zero is below zero.
  return e.addf(e.load(e.f32, e.offset(logits, e.toInt64(e.mul(index, 4))), 4),
                e.float32(0));
}

/// Over this thread's logits, from the lowest token up.
KernelEmitter::Values RecordsKernel::eachLogit(
    ValueRange initial,
    function_ref<KernelEmitter::Values(Value, Value, ValueRange)> body) {
  return e.loop(thread, count, threads, initial,
                [&](Value index, ValueRange carried) {
                  return body(index, loadLogit(index), carried);
                });
}

/// The largest logit, how many may be drawn, and what wins the draw.
void RecordsKernel::findLargest() {
  DrawnToken none = math.getNone();
  Value lowest = e.float32(-infinity), zero = e.int32(0);
  auto own = eachLogit(
      {lowest, zero, none.score, none.token, none.logit},
      [&](Value index, Value logit, ValueRange carried) {
        Value isFinite = math.isFinite(logit);
        DrawnToken best{carried[2], carried[3], carried[4]};
        auto next = e.choose(
            isFinite,
            [&] {
              Value token = e.add(first, index);
              DrawnToken better = math.getBetter(
                  best, {math.getScore(logit, token, draw), token, logit});
              return KernelEmitter::Values{better.score, better.token,
                                           better.logit};
            },
            [&] { return KernelEmitter::Values(carried.drop_front(2)); });
        Value number = e.select(isFinite, e.int32(1), zero);
        return KernelEmitter::Values{math.greatest(carried[0], logit),
                                     e.add(carried[1], number), next[0],
                                     next[1], next[2]};
      });
  auto combine = [&](ArrayRef<Value> a, ArrayRef<Value> b) {
    DrawnToken best = math.getBetter({a[2], a[3], a[4]}, {b[2], b[3], b[4]});
    return SmallVector<Value>{math.greatest(a[0], b[0]), e.add(a[1], b[1]),
                              best.score, best.token, best.logit};
  };
  own = reduceInWarp(e.builder, e.loc, own, 32, combine);
  auto all =
      reduceWarps(e.builder, e.loc,
                  {{own[0], lowest},
                   {own[1], zero},
                   {own[2], none.score},
                   {own[3], none.token},
                   {own[4], none.logit}},
                  threads / 32, thread, e.offset(shared, partialsAt), combine);
  maximum = all[0];
  numFinite = all[1];
  drawn = {all[2], all[3], all[4]};
}

/// The sum of exponentials relative to the largest logit, times `scale` (f32).
Value RecordsKernel::sum(Value scale) {
  Value zero = e.float32(0);
  auto own = eachLogit({zero}, [&](Value, Value logit, ValueRange carried) {
    Value x = arith::SubFOp::create(e.builder, e.loc, logit, maximum);
    Value power = e.mulf(e.mulf(x, scale), e.float32(llvm::numbers::log2e));
    return KernelEmitter::Values{e.addf(carried[0], e.exp2(power))};
  });
  auto combine = [&](ArrayRef<Value> a, ArrayRef<Value> b) {
    return SmallVector<Value>{e.addf(a[0], b[0])};
  };
  own = reduceInWarp(e.builder, e.loc, own, 32, combine);
  // What the threads read before is not overwritten by the faster of them.
  e.barrier();
  Value all = reduceWarps(e.builder, e.loc, {{own[0], zero}}, threads / 32,
                          thread, e.offset(shared, partialsAt), combine)[0];
  Value isNone = e.compare(Compare::eq, numFinite, 0);
  return e.select(isNone, zero, all);
}

/// Larger for larger logits, and for lower tokens of equal ones.
Value RecordsKernel::getKey(Value index, Value logit) {
  Value bits = arith::BitcastOp::create(e.builder, e.loc, e.i32, logit);
  Value isNegative = e.compare(Compare::slt, bits, 0);
  Value flip = e.select(isNegative, e.int32(-1),
                        e.int32(std::numeric_limits<int32_t>::min()));
  Value high = arith::ExtUIOp::create(
      e.builder, e.loc, e.i64,
      arith::XOrIOp::create(e.builder, e.loc, bits, flip).getResult());
  Value low = e.sub(e.int64(0xffffffff), e.toInt64(index));
  return e.bitOr(
      arith::ShLIOp::create(e.builder, e.loc, high, e.int64(32)).getResult(),
      low);
}

/// Adds this thread's keys that begin as `prefix` does to the counters.
void RecordsKernel::countDigits(Value prefix, Value mask, Value shift) {
  eachLogit({}, [&](Value index, Value logit, ValueRange) {
    Value key = getKey(index, logit);
    Value differs = e.bitAnd(
        arith::XOrIOp::create(e.builder, e.loc, key, prefix).getResult(), mask);
    Value counts =
        e.bitAnd(math.isFinite(logit), e.compare(Compare::eq, differs, 0));
    e.when(counts, [&] {
      Value digit = e.bitAnd(e.toInt32(e.shiftRight(key, shift)), digits - 1);
      LLVM::AtomicRMWOp::create(e.builder, e.loc, LLVM::AtomicBinOp::add,
                                e.offset(shared, e.mul(digit, 4)), e.int32(1),
                                LLVM::AtomicOrdering::monotonic);
    });
    return KernelEmitter::Values();
  });
}

/// The digit of the wanted-th largest key, into the state: a thread for each
/// digit adds up those above it, by groups of which some threads know the sums.
void RecordsKernel::findDigit(Value wanted) {
  auto addUp = [&](int64_t at, Value from, Value to) {
    return e.loop(
        from, to, 1, {e.int32(0)}, [&](Value index, ValueRange carried) {
          Value place = e.add(e.mul(index, 4), at);
          return KernelEmitter::Values{
              e.add(carried[0], e.load(e.i32, e.offset(shared, place), 4))};
        })[0];
  };
  e.when(e.compare(Compare::slt, thread, digits / group), [&] {
    Value first = e.mul(thread, group);
    e.store(addUp(countersAt, first, e.add(first, group)),
            e.offset(shared, e.add(e.mul(thread, 4), groupsAt)), 4);
  });
  e.barrier();
  e.when(e.compare(Compare::slt, thread, digits), [&] {
    Value next = e.add(thread, 1), nextGroup = e.add(e.div(thread, group), 1);
    Value above = e.add(addUp(countersAt, next, e.mul(nextGroup, group)),
                        addUp(groupsAt, nextGroup, e.int32(digits / group)));
    Value own = e.load(e.i32, e.offset(shared, e.mul(thread, 4)), 4);
    Value isIt = e.bitAnd(e.compare(Compare::slt, above, wanted),
                          e.compare(Compare::sge, e.add(above, own), wanted));
    e.when(isIt, [&] {
      e.store(thread, inState(0), 4);
      e.store(e.sub(wanted, above), inState(1), 4);
      e.store(own, inState(2), 4);
    });
  });
}

/// The least of the `wanted` largest keys, or what none between the two is.
Value RecordsKernel::findLeastKey(Value wanted) {
  Value isDone =
      e.select(e.compare(Compare::eq, wanted, 0), e.int32(1), e.int32(0));
  return e.loop(
      e.int32(0), e.int32(8), 1,
      {e.int64(0), e.int64(0), e.int64(56), wanted, isDone},
      [&](Value, ValueRange carried) {
        Value prefix = carried[0], mask = carried[1], shift = carried[2];
        return e.choose(
            e.compare(Compare::eq, carried[4], 0),
            [&] {
              e.keptLoop(thread, e.int32(digits), threads, [&](Value digit) {
                e.store(e.int32(0), e.offset(shared, e.mul(digit, 4)), 4);
              });
              e.barrier();
              countDigits(prefix, mask, shift);
              e.barrier();
              findDigit(carried[3]);
              e.barrier();
              auto load = [&](int64_t i) {
                return e.load(e.i32, inState(i), 4);
              };
              Value digit = load(0), left = load(1), own = load(2);
              auto shifted = [&](Value value) -> Value {
                return arith::ShLIOp::create(e.builder, e.loc, value, shift);
              };
              Value isLast = e.compare(Compare::eq, left, own);
              return KernelEmitter::Values{
                  e.bitOr(prefix, shifted(e.toInt64(digit))),
                  e.bitOr(mask, shifted(e.int64(digits - 1))), e.sub(shift, 8),
                  left, e.select(isLast, e.int32(1), e.int32(0))};
            },
            [&] { return KernelEmitter::Values(carried); });
      })[0];
}

/// The best and their tokens, in order; behind them nothing.
void RecordsKernel::writeBest(Value leastKey, Value wanted) {
  e.when(e.compare(Compare::eq, thread, 0),
         [&] { e.store(e.int32(0), inState(3), 4); });
  e.barrier();
  auto getPlace = [&](Value slot) {
    return e.offset(shared, e.add(e.mul(slot, 8), keysAt));
  };
  eachLogit({}, [&](Value index, Value logit, ValueRange) {
    Value key = getKey(index, logit);
    Value isIn =
        e.bitAnd(math.isFinite(logit), e.compare(Compare::uge, key, leastKey));
    e.when(isIn, [&] {
      Value slot = LLVM::AtomicRMWOp::create(
          e.builder, e.loc, LLVM::AtomicBinOp::add, inState(3), e.int32(1),
          LLVM::AtomicOrdering::monotonic);
      e.store(key, getPlace(slot), 8);
    });
    return KernelEmitter::Values();
  });
  e.barrier();
  auto put = [&](Value place, Value logit, Value token) {
    Value at = e.offset(record, e.toInt64(e.mul(place, 4)));
    e.store(logit, at, 4);
    e.store(arith::SIToFPOp::create(e.builder, e.loc, e.f32, token),
            e.offset(at, 4 * TPRT_RECORD_TOKENS), 4);
  };
  e.when(e.compare(Compare::slt, thread, wanted), [&] {
    Value key = e.load(e.i64, getPlace(thread), 8);
    Value rank = e.loop(
        e.int32(0), wanted, 1, {e.int32(0)},
        [&](Value other, ValueRange carried) {
          Value isAhead =
              e.compare(Compare::ugt, e.load(e.i64, getPlace(other), 8), key);
          return KernelEmitter::Values{
              e.add(carried[0], e.select(isAhead, e.int32(1), e.int32(0)))};
        })[0];
    Value index =
        e.toInt32(e.sub(e.int64(0xffffffff), e.bitAnd(key, 0xffffffff)));
    put(rank, loadLogit(index), e.add(first, index));
  });
  Value isRest = e.bitAnd(e.compare(Compare::sge, thread, wanted),
                          e.compare(Compare::slt, thread, candidates));
  e.when(isRest, [&] { put(thread, e.float32(-infinity), e.int32(-1)); });
}

void RecordsKernel::run() {
  findLargest();
  // 0 times it is 0.
  Value scale =
      arith::MinNumFOp::create(e.builder, e.loc, math.narrow(draw.scale),
                               e.float32(std::numeric_limits<float>::max()));
  Value plain = sum(e.float32(1)), tempered = sum(scale);
  Value wanted = e.least(numFinite, candidates);
  Value leastKey = findLeastKey(wanted);
  writeBest(leastKey, wanted);
  e.when(e.compare(Compare::eq, thread, 0), [&] {
    write(maximum, TPRT_RECORD_MAXIMUM);
    write(plain, TPRT_RECORD_SUM);
    write(tempered, TPRT_RECORD_TEMPERED_SUM);
    write(drawn.logit, TPRT_RECORD_DRAWN_LOGIT);
    Value isNone = e.compare(Compare::eq, drawn.token, noToken);
    write(arith::SIToFPOp::create(e.builder, e.loc, e.f32,
                                  e.select(isNone, e.int32(-1), drawn.token)),
          TPRT_RECORD_DRAWN_TOKEN);
  });
}

void tp::generateSampleRecords(gpu::GPUModuleOp module, StringRef name,
                               const RecordsShape &shape, Location loc) {
  LLVM::GlobalOp global = getSharedMemory(module, loc);
  OpBuilder builder(module.getContext());
  gpu::GPUFuncOp kernel = beginSampleKernel(builder, module, name, 4, 6, loc);
  int64_t size = llvm::divideCeil(shape.columns, shape.blocks);
  int64_t threads = size < manyLogits ? fewThreads : manyThreads;
  setLaunch(kernel,
            {{shape.rows, shape.blocks, 1}, {threads, 1, 1}, sharedBytes});
  Value shared = LLVM::AddressOfOp::create(builder, loc, global);
  RecordsKernel(builder, loc, shape, threads, shared, kernel.getArguments())
      .run();
  gpu::ReturnOp::create(builder, loc);
}
