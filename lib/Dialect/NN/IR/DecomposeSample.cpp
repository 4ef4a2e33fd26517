//===- DecomposeSample.cpp - Sampling as linalg ---------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The decompositions of nn.sample, nn.sample_records and nn.sample_pick, in
// f64. The best are found by rank: a token's is how many are better, of larger
// logit or of the same and lower number.
//
//===----------------------------------------------------------------------===//

#include "Parts.h"
#include "Philox.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tprt/abi.h"
#include "llvm/Support/MathExtras.h"
#include <limits>

using namespace mlir;
using namespace tp::nn;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();
static constexpr int64_t kCandidates = TPRT_RECORD_CANDIDATES;
/// Sums of a record are rounded; nearer than this to top_p is too near to tell.
static constexpr double kNear = 1e-5;

//===----------------------------------------------------------------------===//
// Scalars
//===----------------------------------------------------------------------===//

static Value oneIf(Scalar &e, Value condition) {
  return e.select(condition, e.number(1), 0);
}

static Value isBetter(Scalar &e, Value x, Value tokenX, Value y, Value tokenY) {
  return e.either(
      e.compare(CmpF::OGT, x, y),
      e.both(e.compare(CmpF::OEQ, x, y), e.compare(CmpF::OLT, tokenX, tokenY)));
}

/// The factor of logits; 1 at temperature 0.
static Value getScale(Scalar &e, Value temperature) {
  return e.select(e.compare(CmpF::OGT, temperature, 0.0),
                  e.div(e.number(1), temperature), 1);
}

/// The draw takes the token with the largest score: the logit over the
/// temperature and a Gumbel number of the token's own.
static Value getScore(Scalar &e, Value logit, Value token, Value temperature,
                      Value seed, Value position) {
  Philox philox{e};
  Type i32 = e.b.getI32Type();
  auto [high, low] = philox.split(seed);
  Value word =
      philox.run({e.cast(token, i32), philox.word(0), philox.word(0), position},
                 low, high)[0];
  Value uniform =
      e.mul(e.add(arith::UIToFPOp::create(e.b, e.wide, word), 0.5), 0x1p-32);
  auto negate = [&](Value x) -> Value { return e.neg(x); };
  Value decay = negate(math::Log1pOp::create(e.b, negate(uniform)));
  Value score =
      e.add(e.mul(logit, getScale(e, temperature)), negate(e.log(decay)));
  score = e.select(e.compare(CmpF::OGT, temperature, 0.0), score, logit);
  return e.select(e.compare(CmpF::OEQ, logit, -kInfinity), logit, score);
}

//===----------------------------------------------------------------------===//
// Records
//===----------------------------------------------------------------------===//

/// The token in each column of each block, -1 for padding, [S, L].
static Value numberTokens(Emitter &emitter, SampleRecordsOp op, int64_t size) {
  Loops d = emitter.loops(2);
  int64_t columns = shapeOf(op.getLogits())[1];
  auto number = [&](Scalar &e, ValueRange v) {
    auto tokenIn = [&](Value block) {
      return e.add(e.mul(block, size), e.toFloat(e.index(1)));
    };
    Value token = tokenIn(e.toFloat(v[0]));
    Value isToken =
        e.both(e.compare(CmpF::OLT, tokenIn(e.toFloat(e.index(0))), columns),
               e.compare(CmpF::OLT, token, op.getVocabulary()));
    return e.select(isToken, token, -1);
  };
  return emitter.map(emitter.wideType({shapeOf(op.getBlocks())[0], size}),
                     {{op.getBlocks(), {d[0]}}}, number);
}

/// The logits of tokens, -inf elsewhere, [S, R, L].
static Value cutLogits(Emitter &emitter, SampleRecordsOp op, Value tokens) {
  Loops d = emitter.loops(3);
  ArrayRef<int64_t> logits = shapeOf(op.getLogits());
  int64_t size = shapeOf(tokens)[1];
  auto read = [&](Scalar &e, ValueRange v) {
    Value column = e.add(e.mul(e.index(0), size), e.index(2));
    column = e.min(column, logits[1] - 1);
    Value logit = tensor::ExtractOp::create(e.b, op.getLogits(),
                                            ValueRange{e.index(1), column});
    Value isSeen =
        e.both(e.compare(CmpF::OGE, v[0], 0.0), e.compare(CmpI::sge, v[1], 0));
    return e.select(isSeen, e.convert(logit, e.wide), -kInfinity);
  };
  return emitter.map(emitter.wideType({shapeOf(tokens)[0], logits[0], size}),
                     {{tokens, {d[0], d[2]}}, {op.getPositions(), {d[1]}}},
                     read);
}

/// The largest logit, and the sums of exponentials relative to it.
static SmallVector<Value> sumRecords(Emitter &emitter, SampleRecordsOp op,
                                     Value logits, RankedTensorType one) {
  Loops d = emitter.loops(4), place{d[0], d[1], d[2]};
  Operand own{logits, {d[0], d[1], d[3]}};
  Value maximum = emitter.reduce(one, place, 4, Combine::Max, {own},
                                 [](Scalar &, ValueRange v) { return v[0]; });
  SmallVector<Operand> operands{own,
                                {maximum, {d[0], d[1], emitter.constant(0)}},
                                {op.getTemperature(), {d[1]}}};
  auto sum = [&](bool tempered) {
    return emitter.reduce(
        one, place, 4, Combine::Sum, operands, [&](Scalar &e, ValueRange v) {
          Value x = e.sub(v[0], v[1]);
          if (tempered)
            x = e.mul(x, getScale(e, v[2]));
          return e.select(e.compare(CmpF::OEQ, v[0], -kInfinity), e.number(0),
                          e.exp(x));
        });
  };
  return {maximum, sum(false), sum(true)};
}

/// The logit and token that win the draw.
static SmallVector<Value> drawRecords(Emitter &emitter, SampleRecordsOp op,
                                      Value tokens, Value logits,
                                      RankedTensorType one) {
  Loops d = emitter.loops(4), place{d[0], d[1], d[2]};
  auto identity = [](Scalar &, ValueRange v) { return v[0]; };
  Value scores = emitter.map(typeOf(logits),
                             {{logits, {d[0], d[1], d[2]}},
                              {tokens, {d[0], d[2]}},
                              {op.getTemperature(), {d[1]}},
                              {op.getSeed(), {d[1]}},
                              {op.getPositions(), {d[1]}}},
                             [](Scalar &e, ValueRange v) {
                               return getScore(e, v[0], v[1], v[2], v[3], v[4]);
                             });
  RankedTensorType wide = emitter.wideType(one.getShape());
  Operand ownScore{scores, {d[0], d[1], d[3]}}, ownToken{tokens, {d[0], d[3]}};
  auto single = [&](Value value) {
    return Operand{value, {d[0], d[1], emitter.constant(0)}};
  };
  Value best =
      emitter.reduce(wide, place, 4, Combine::Max, {ownScore}, identity);
  // The lowest of the tokens with that score; none if nothing has a logit.
  Value lowest = emitter.reduce(
      wide, place, 4, Combine::Max, {ownScore, single(best), ownToken},
      [](Scalar &e, ValueRange v) {
        Value isBest = e.both(e.compare(CmpF::OEQ, v[0], v[1]),
                              e.compare(CmpF::OGT, v[0], -kInfinity));
        return e.select(isBest, e.neg(v[2]), -kInfinity);
      });
  Value logit =
      emitter.reduce(one, place, 4, Combine::Max,
                     {{logits, {d[0], d[1], d[3]}}, ownToken, single(lowest)},
                     [](Scalar &e, ValueRange v) {
                       return e.select(e.compare(CmpF::OEQ, v[1], e.neg(v[2])),
                                       v[0], -kInfinity);
                     });
  Loops own = emitter.loops(3);
  Value token = emitter.map(one, {{lowest, own}}, [](Scalar &e, ValueRange v) {
    return e.select(e.compare(CmpF::OGT, v[0], -kInfinity), e.neg(v[0]), -1);
  });
  return {logit, token};
}

FailureOr<SmallVector<Value>> SampleRecordsOp::decompose(OpBuilder &builder) {
  Emitter emitter(builder, getLoc(), builder.getF64Type());
  RankedTensorType type = typeOf(getRecords());
  int64_t blocks = type.getDimSize(0), rows = type.getDimSize(1);
  int64_t size = llvm::divideCeil(shapeOf(getLogits())[1], blocks);
  Value tokens = numberTokens(emitter, *this, size);
  Value logits = cutLogits(emitter, *this, tokens);
  Loops d = emitter.loops(4), place{d[0], d[1], d[2]};
  Value rank =
      emitter.reduce(typeOf(logits), place, 4, Combine::Sum,
                     {{logits, {d[0], d[1], d[3]}},
                      {tokens, {d[0], d[3]}},
                      {logits, {d[0], d[1], d[2]}},
                      {tokens, {d[0], d[2]}}},
                     [](Scalar &e, ValueRange v) {
                       return oneIf(e, isBetter(e, v[0], v[1], v[2], v[3]));
                     });
  auto best = [&](bool isToken) {
    return emitter.reduce(
        type.clone({blocks, rows, kCandidates}), place, 4, Combine::Max,
        {{rank, {d[0], d[1], d[3]}},
         {logits, {d[0], d[1], d[3]}},
         {tokens, {d[0], d[3]}}},
        [&](Scalar &e, ValueRange v) {
          Value isHere =
              e.both(e.compare(CmpF::OEQ, v[0], e.toFloat(e.index(2))),
                     e.compare(CmpF::OGT, v[1], -kInfinity));
          return e.select(isHere, v[isToken ? 2 : 1],
                          isToken ? -1 : -kInfinity);
        });
  };
  RankedTensorType one = type.clone({blocks, rows, 1});
  SmallVector<Value> pieces{best(false), best(true)};
  llvm::append_range(pieces, sumRecords(emitter, *this, logits, one));
  llvm::append_range(pieces, drawRecords(emitter, *this, tokens, logits, one));
  return SmallVector<Value>{
      tensor::ConcatOp::create(builder, getLoc(), type, 2, pieces)};
}

//===----------------------------------------------------------------------===//
// The pick
//===----------------------------------------------------------------------===//

namespace {
/// Values for each row, [R], and for each of its candidates, [R, n].
class Pick {
public:
  Pick(OpBuilder &builder, SamplePickOp op)
      : emitter(builder, op.getLoc(), builder.getF64Type()), op(op),
        rows(shapeOf(op.getRecords())[1]), blocks(shapeOf(op.getRecords())[0]) {
  }

  SmallVector<Value> run();

private:
  void merge();
  void restrictByRank();
  void restrictByWeight();
  Value draw();

  Value slice(int64_t first, int64_t count);
  Value perRow(ArrayRef<Value> operands, Body body);
  Value perCandidate(ArrayRef<Value> candidates, ArrayRef<Value> rows,
                     Body body);
  /// Over candidates, or over blocks for [R, S].
  Value reduce(Combine combine, ArrayRef<Value> candidates,
               ArrayRef<Value> rows, Body body);
  SmallVector<Operand> at(ArrayRef<Value> candidates, ArrayRef<Value> rows);
  /// [S, R, 1] as [R, S].
  Value turn(Value value);

  Emitter emitter;
  SamplePickOp op;
  int64_t rows, blocks;
  /// The best of all blocks and their tokens, in order; the largest logit.
  Value logits, tokens, maximum;
  /// Over the temperature; how many of the best are left; 1 if no others are.
  Value values, kept, isComplete;
  /// 1 if one of all is drawn; 1 if it cannot be told which.
  Value isFree, isUnknown;
};
} // namespace

Value Pick::slice(int64_t first, int64_t count) {
  OpBuilder &b = emitter.builder;
  auto numbers = [&](ArrayRef<int64_t> list) {
    return getAsIndexOpFoldResult(b.getContext(), list);
  };
  return tensor::ExtractSliceOp::create(
      b, emitter.loc, op.getRecords(), numbers({0, 0, first}),
      numbers({blocks, rows, count}), numbers({1, 1, 1}));
}

SmallVector<Operand> Pick::at(ArrayRef<Value> candidates,
                              ArrayRef<Value> perRow) {
  Loops d = emitter.loops(2);
  SmallVector<Operand> operands;
  for (Value value : candidates)
    operands.push_back({value, d});
  for (Value value : perRow)
    operands.push_back({value, {d[0]}});
  return operands;
}

Value Pick::perRow(ArrayRef<Value> operands, Body body) {
  return emitter.map(emitter.wideType({rows}), at({}, operands), body);
}

Value Pick::perCandidate(ArrayRef<Value> candidates, ArrayRef<Value> perRow,
                         Body body) {
  return emitter.map(emitter.wideType(shapeOf(candidates[0])),
                     at(candidates, perRow), body);
}

Value Pick::reduce(Combine combine, ArrayRef<Value> candidates,
                   ArrayRef<Value> perRow, Body body) {
  return emitter.reduce(emitter.wideType({rows}), {emitter.loops(1)[0]}, 2,
                        combine, at(candidates, perRow), body);
}

Value Pick::turn(Value value) {
  Loops d = emitter.loops(2);
  return emitter.map(emitter.wideType({rows, blocks}),
                     {{value, {d[1], d[0], emitter.constant(0)}}},
                     [](Scalar &, ValueRange v) { return v[0]; });
}

/// The best candidates of all blocks, in order.
void Pick::merge() {
  Value all = slice(0, kCandidates);
  Value names = slice(TPRT_RECORD_TOKENS, kCandidates);
  // Loops: block, row, candidate; another block, another candidate.
  Loops d = emitter.loops(5), own{d[0], d[1], d[2]}, other{d[3], d[1], d[4]};
  Value rank =
      emitter.reduce(emitter.wideType(shapeOf(all)), own, 5, Combine::Sum,
                     {{all, other}, {names, other}, {all, own}, {names, own}},
                     [](Scalar &e, ValueRange v) {
                       Value isAhead =
                           e.both(isBetter(e, v[0], v[1], v[2], v[3]),
                                  e.compare(CmpF::OGE, v[1], 0.0));
                       return oneIf(e, isAhead);
                     });
  // Loops: row, place; block, candidate.
  Loops from{d[2], d[0], d[3]};
  auto order = [&](bool isToken) {
    return emitter.reduce(
        emitter.wideType({rows, kCandidates}), {d[0], d[1]}, 4, Combine::Max,
        {{rank, from}, {all, from}, {names, from}},
        [&](Scalar &e, ValueRange v) {
          Value isHere =
              e.both(e.compare(CmpF::OEQ, v[0], e.toFloat(e.index(1))),
                     e.compare(CmpF::OGE, v[2], 0.0));
          return e.select(isHere, v[isToken ? 2 : 1],
                          isToken ? -1 : -kInfinity);
        });
  };
  logits = order(false);
  tokens = order(true);
}

/// Top-k and min-p, for which the candidates are enough.
void Pick::restrictByRank() {
  Value count = reduce(Combine::Sum, {tokens}, {}, [](Scalar &e, ValueRange v) {
    return oneIf(e, e.compare(CmpF::OGE, v[0], 0.0));
  });
  // How many of the largest may stay at most; 0: all. At temperature 0, one.
  Value limit =
      perRow({op.getTopK(), op.getTemperature()}, [](Scalar &e, ValueRange v) {
        return e.select(e.compare(CmpF::OGT, v[1], 0.0), e.toFloat(v[0]), 1);
      });
  auto isLimited = [](Scalar &e, Value limit) {
    return e.both(e.compare(CmpF::OGE, limit, 1.0),
                  e.compare(CmpF::OLE, limit, kCandidates));
  };
  Value most = perRow({count, limit}, [&](Scalar &e, ValueRange v) {
    return e.select(
        e.both(isLimited(e, v[1]), e.compare(CmpF::OLT, v[1], v[0])), v[1],
        v[0]);
  });
  values = perCandidate(
      {logits}, {op.getTemperature()},
      [](Scalar &e, ValueRange v) { return e.mul(v[0], getScale(e, v[1])); });
  Value largest =
      reduce(Combine::Max, {values}, {}, [](Scalar &e, ValueRange v) {
        return e.select(e.compare(CmpF::OEQ, e.toFloat(e.index(1)), 0.0), v[0],
                        -kInfinity);
      });
  kept = reduce(
      Combine::Sum, {values}, {largest, most, op.getMinP()},
      [](Scalar &e, ValueRange v) {
        Value place = e.toFloat(e.index(1));
        Value least = e.add(v[1], e.log(v[3]));
        Value isProbable = e.either(e.either(e.compare(CmpF::OEQ, place, 0.0),
                                             e.compare(CmpF::OGE, v[0], least)),
                                    e.compare(CmpF::ULE, v[3], 0.0));
        return oneIf(e, e.both(e.compare(CmpF::OLT, place, v[2]), isProbable));
      });
  isComplete = perRow({count, limit, most, kept}, [&](Scalar &e, ValueRange v) {
    Value noOthers =
        e.either(e.compare(CmpF::OLT, v[0], kCandidates), isLimited(e, v[1]));
    return oneIf(e, e.either(noOthers, e.compare(CmpF::OLT, v[3], v[2])));
  });
}

/// Top-p, and what cannot be told.
void Pick::restrictByWeight() {
  Value weights = perCandidate(
      {values}, {kept, op.getTemperature(), maximum},
      [](Scalar &e, ValueRange v) {
        Value origin = e.mul(v[3], getScale(e, v[2]));
        return e.select(e.compare(CmpF::OLT, e.toFloat(e.index(1)), v[1]),
                        e.exp(e.sub(v[0], origin)), 0);
      });
  auto identity = [](Scalar &, ValueRange v) { return v[0]; };
  Value reached = reduce(Combine::Sum, {weights}, {}, identity);
  Value others =
      reduce(Combine::Sum,
             {turn(slice(TPRT_RECORD_TEMPERED_SUM, 1)),
              turn(slice(TPRT_RECORD_MAXIMUM, 1))},
             {maximum, op.getTemperature()}, [](Scalar &e, ValueRange v) {
               Value x = e.mul(e.sub(v[1], v[2]), getScale(e, v[3]));
               return e.select(e.compare(CmpF::OEQ, v[1], -kInfinity),
                               e.number(0), e.mul(v[0], e.exp(x)));
             });
  Value sum =
      perRow({isComplete, reached, others}, [](Scalar &e, ValueRange v) {
        return e.select(e.compare(CmpF::OEQ, v[0], 1.0), v[1], v[2]);
      });
  // The total that is reached before each candidate: loops row, candidate; one
  // before it.
  Loops d = emitter.loops(3);
  Value before = emitter.reduce(
      typeOf(weights), {d[0], d[1]}, 3, Combine::Sum, {{weights, {d[0], d[2]}}},
      [](Scalar &e, ValueRange v) {
        Value isBefore =
            e.compare(CmpF::OLT, e.toFloat(e.index(2)), e.toFloat(e.index(1)));
        return e.select(isBefore, v[0], 0);
      });
  Value isNear =
      reduce(Combine::Max, {before}, {kept, sum, op.getTopP()},
             [](Scalar &e, ValueRange v) {
               Value place = e.toFloat(e.index(1));
               Value distance = e.abs(e.sub(v[0], e.mul(v[3], v[2])));
               Value isNear = e.both(
                   e.compare(CmpF::OLE, distance, e.mul(e.number(kNear), v[2])),
                   e.both(e.compare(CmpF::OGE, place, 1.0),
                          e.compare(CmpF::OLT, place, v[1])));
               return oneIf(e, isNear);
             });
  kept =
      reduce(Combine::Sum, {before}, {kept, sum, op.getTopP()},
             [](Scalar &e, ValueRange v) {
               Value place = e.toFloat(e.index(1));
               Value isIn =
                   e.either(e.compare(CmpF::OLT, v[0], e.mul(v[3], v[2])),
                            e.either(e.compare(CmpF::OEQ, place, 0.0),
                                     e.compare(CmpF::UGE, v[3], 1.0)));
               return oneIf(e, e.both(e.compare(CmpF::OLT, place, v[1]), isIn));
             });
  isFree = perRow({isComplete, op.getTopP()}, [](Scalar &e, ValueRange v) {
    return oneIf(e, e.both(e.compare(CmpF::OEQ, v[0], 0.0),
                           e.compare(CmpF::UGE, v[1], 1.0)));
  });
  isUnknown = perRow(
      {maximum, isNear, isComplete, reached, sum, op.getTopP(), op.getMinP(),
       op.getTopK()},
      [](Scalar &e, ValueRange v) {
        Value isFinite = e.compare(CmpF::OLT, e.abs(v[0]), kInfinity);
        Value isCut = e.compare(CmpF::OLT, v[5], 1.0);
        Value isOpen =
            e.compare(CmpF::ULE, v[3], e.mul(e.add(v[5], kNear), v[4]));
        Value isLimited = e.either(e.compare(CmpF::OGT, v[6], 0.0),
                                   e.compare(CmpF::OGT, e.toFloat(v[7]), 0.0));
        Value isMissing = e.both(e.compare(CmpF::OEQ, v[2], 0.0),
                                 e.either(isLimited, e.both(isCut, isOpen)));
        Value isUnsure = e.both(isCut, e.compare(CmpF::OEQ, v[1], 1.0));
        Value isNone = arith::XOrIOp::create(e.b, isFinite,
                                             e.integer(1, isFinite.getType()));
        return oneIf(e, e.either(isNone, e.either(isMissing, isUnsure)));
      });
}

/// Token and logit of what wins the draw, among the candidates left or the
/// winners of the blocks.
Value Pick::draw() {
  auto join = [&](Value candidates, int64_t word) {
    Value drawn = turn(slice(word, 1));
    return tensor::ConcatOp::create(
               emitter.builder, emitter.loc,
               emitter.wideType({rows, kCandidates + blocks}), 1,
               ValueRange{candidates, drawn})
        .getResult();
  };
  Value from = join(logits, TPRT_RECORD_DRAWN_LOGIT);
  Value names = join(tokens, TPRT_RECORD_DRAWN_TOKEN);
  Value scores = perCandidate(
      {from, names},
      {op.getTemperature(), op.getSeed(), op.getPositions(), kept, isFree},
      [](Scalar &e, ValueRange v) {
        Value place = e.toFloat(e.index(1));
        Value score = getScore(e, v[0], v[1], v[2], v[3], v[4]);
        Value isIn = e.select(e.compare(CmpF::OEQ, v[6], 1.0),
                              e.compare(CmpF::OGE, place, kCandidates),
                              e.compare(CmpF::OLT, place, v[5]));
        isIn = e.both(isIn, e.compare(CmpF::OGE, v[1], 0.0));
        return e.select(isIn, score, -kInfinity);
      });
  Value best = reduce(Combine::Max, {scores}, {},
                      [](Scalar &, ValueRange v) { return v[0]; });
  Value lowest = reduce(Combine::Max, {scores, names}, {best},
                        [](Scalar &e, ValueRange v) {
                          return e.select(e.compare(CmpF::OEQ, v[0], v[2]),
                                          e.neg(v[1]), -kInfinity);
                        });
  Value token = perRow(
      {lowest}, [](Scalar &e, ValueRange v) -> Value { return e.neg(v[0]); });
  // A token that is known has one logit, wherever it is found.
  logits =
      reduce(Combine::Max, {from, names}, {token}, [](Scalar &e, ValueRange v) {
        return e.select(e.compare(CmpF::OEQ, v[1], v[2]), v[0], -kInfinity);
      });
  return token;
}

SmallVector<Value> Pick::run() {
  Value maxima = turn(slice(TPRT_RECORD_MAXIMUM, 1));
  maximum = reduce(Combine::Max, {maxima}, {},
                   [](Scalar &, ValueRange v) { return v[0]; });
  Value total = reduce(Combine::Sum, {turn(slice(TPRT_RECORD_SUM, 1)), maxima},
                       {maximum}, [](Scalar &e, ValueRange v) {
                         return e.mul(v[0], e.exp(e.sub(v[1], v[2])));
                       });
  merge();
  restrictByRank();
  restrictByWeight();
  Value chosen = draw();
  Loops d = emitter.loops(1);
  Value token =
      emitter.map(typeOf(op.getToken()), {{chosen, d}, {isUnknown, d}},
                  [](Scalar &e, ValueRange v) -> Value {
                    Value known = e.select(e.compare(CmpF::OEQ, v[1], 1.0),
                                           e.number(-1), v[0]);
                    return e.cast(known, e.b.getI32Type());
                  });
  Value logprob =
      emitter.map(typeOf(op.getLogprob()),
                  {{logits, d}, {maximum, d}, {total, d}, {isUnknown, d}},
                  [](Scalar &e, ValueRange v) {
                    Value lse = e.add(v[1], e.log(v[2]));
                    return e.select(e.compare(CmpF::OEQ, v[3], 1.0),
                                    e.number(0), e.sub(v[0], lse));
                  });
  return {token, logprob};
}

FailureOr<SmallVector<Value>> SamplePickOp::decompose(OpBuilder &builder) {
  return Pick(builder, *this).run();
}

/// The pick from the record of one block that is all.
FailureOr<SmallVector<Value>> SampleOp::decompose(OpBuilder &builder) {
  ArrayRef<int64_t> logits = shapeOf(getLogits());
  auto block = DenseIntElementsAttr::get(
      RankedTensorType::get({1}, builder.getI32Type()), ArrayRef<int32_t>{0});
  auto records = SampleRecordsOp::create(
      builder, getLoc(),
      typeOf(getLogits()).clone({1, logits[0], TPRT_RECORD_WORDS}), getLogits(),
      arith::ConstantOp::create(builder, getLoc(), block), getPositions(),
      getSeed(), getTemperature(), logits[1]);
  FailureOr<SmallVector<Value>> made = records.decompose(builder);
  if (failed(made))
    return failure();
  records.replaceAllUsesWith(made->front());
  records.erase();
  auto pick = SamplePickOp::create(builder, getLoc(), getToken().getType(),
                                   getLogprob().getType(), made->front(),
                                   getPositions(), getSeed(), getTemperature(),
                                   getTopK(), getTopP(), getMinP());
  made = pick.decompose(builder);
  pick.erase();
  return made;
}
