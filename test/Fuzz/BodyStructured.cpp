//===- BodyStructured.cpp - linalg operations with odd bodies -------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A linalg.generic is drawn loops first: the dimensions of a value, now and
// then one more; some of them reduce, in any place. Operands read along any of
// the loops, in any order, backwards, shifted or at one place.
//
//===----------------------------------------------------------------------===//

#include "BodyProgram.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include <limits>

using namespace mlir;

namespace tp::fuzz {

/// The loops of one operation while it is drawn.
class BodyLoops {
public:
  BodyLoops(BodyProgram &program) : program(program) {}

  SmallVector<int64_t> sizes;
  SmallVector<bool> reduces;
  SmallVector<Value> inputs;
  /// Outputs: whether one is reduced, and whether the body reads it.
  SmallVector<Value> outs;
  SmallVector<bool> isReduced, isOutRead;
  SmallVector<AffineMap> maps; ///< of inputs, then of outputs

  bool anyReduction() const { return llvm::is_contained(reduces, true); }
  AffineExpr dim(unsigned loop) const {
    return getAffineDimExpr(loop, program.context);
  }
  AffineMap map(ArrayRef<AffineExpr> exprs) const {
    return AffineMap::get(sizes.size(), 0, exprs, program.context);
  }
  void add(Value value, ArrayRef<AffineExpr> exprs) {
    inputs.push_back(value);
    maps.push_back(map(exprs));
  }
  bool isRead(unsigned loop) const {
    return llvm::any_of(maps, [&](AffineMap map) {
      return llvm::is_contained(map.getResults(), dim(loop));
    });
  }
  /// The loops of the value in a drawn order, and perhaps one more.
  void draw(Value value);
  /// Operands until each loop is read.
  void drawInputs(Type element);
  /// An output runs over the parallel loops; beside a reduction one may keep
  /// every intermediate value.
  void addOutput(Type element);
  /// An operand of the pool whose sizes are those of loops; false if there is
  /// none.
  bool addFromPool();
  /// A new operand along loops drawn, `must` among them if given.
  void addSource(std::optional<unsigned> must, Type element);
  /// Cut an operand along a loop that reduces.
  void cutReduction();

private:
  BodyProgram &program;
};

void BodyLoops::draw(Value value) {
  Frame::Shape shape = Frame::shapeOf(value);
  SmallVector<unsigned> place;
  unsigned numLoops = shape.size() + (shape.size() < 4 && program.chance(30));
  for (unsigned loop = 0; loop < numLoops; ++loop)
    place.insert(program.chance(60)
                     ? place.end()
                     : place.begin() + program.below(place.size() + 1),
                 loop);
  sizes.assign(numLoops, 0);
  reduces.assign(numLoops, false);
  SmallVector<AffineExpr> exprs;
  for (unsigned loop = 0; loop < numLoops; ++loop)
    sizes[place[loop]] = loop < shape.size()  ? shape[loop]
                         : program.chance(20) ? 1
                                              : program.someSize();
  for (unsigned i = 0; i < shape.size(); ++i)
    exprs.push_back(dim(place[i]));
  add(value, exprs);
  if (numLoops > 0 && program.chance(50))
    for (int64_t count = program.chance(75) ? 1 : 2; count > 0; --count)
      reduces[program.below(numLoops)] = true;
}

void BodyLoops::drawInputs(Type element) {
  for (int64_t count = program.pick({0, 1, 1, 1, 2, 2, 3}); count > 0; --count)
    if (!program.chance(45) || !addFromPool())
      addSource(std::nullopt, element);
  for (unsigned loop = 0; loop < sizes.size(); ++loop)
    if (!isRead(loop))
      addSource(loop, element);
}

void BodyLoops::addOutput(Type element) {
  bool keepsAll = anyReduction() && !outs.empty() && program.chance(14);
  SmallVector<unsigned> kept;
  for (unsigned loop = 0; loop < sizes.size(); ++loop)
    if (keepsAll || !reduces[loop])
      kept.insert(program.chance(70)
                      ? kept.end()
                      : kept.begin() + program.below(kept.size() + 1),
                  loop);
  Frame::Shape shape;
  SmallVector<AffineExpr> exprs;
  for (unsigned loop : kept) {
    shape.push_back(sizes[loop]);
    exprs.push_back(dim(loop));
  }
  if (!program.chance(80))
    element = program.someElement();
  isReduced.push_back(anyReduction() && !keepsAll);
  isOutRead.push_back(isReduced.back() || program.chance(18));
  outs.push_back(isOutRead.back() ? program.initial(shape, element)
                                  : program.empty(shape, element));
  maps.push_back(map(exprs));
}

bool BodyLoops::addFromPool() {
  Value value = program.fromPool();
  SmallVector<bool> taken(sizes.size(), false);
  SmallVector<AffineExpr> exprs;
  for (int64_t size : Frame::shapeOf(value)) {
    SmallVector<unsigned> fitting;
    for (auto [loop, range] : llvm::enumerate(sizes))
      if (range == size && !taken[loop])
        fitting.push_back(loop);
    if (fitting.empty() && size != 1)
      return false;
    if (fitting.empty()) {
      exprs.push_back(getAffineConstantExpr(0, program.context));
      continue;
    }
    unsigned loop = fitting[program.below(fitting.size())];
    taken[loop] = true;
    exprs.push_back(dim(loop));
  }
  add(value, exprs);
  return true;
}

void BodyLoops::addSource(std::optional<unsigned> must, Type element) {
  SmallVector<unsigned> loops;
  for (unsigned loop = 0; loop < sizes.size(); ++loop)
    if (loop == must || program.chance(60))
      loops.insert(loops.begin() + program.below(loops.size() + 1), loop);
  Frame::Shape shape;
  SmallVector<AffineExpr> exprs;
  for (unsigned loop : loops) {
    AffineExpr expr = dim(loop);
    int64_t size = sizes[loop];
    if (loop != must && program.chance(8)) {
      switch (program.below(4)) {
      case 0: // Backwards.
        expr = size - 1 - expr;
        break;
      case 1: { // Shifted.
        int64_t shift = 1 + program.below(3);
        expr = expr + shift;
        size += shift;
        break;
      }
      case 2: { // A window.
        unsigned other = program.below(sizes.size());
        if (other == loop)
          break;
        expr = expr + dim(other);
        size += sizes[other] - 1;
        break;
      }
      default: // One place.
        expr = getAffineConstantExpr(program.below(size), program.context);
      }
    }
    shape.push_back(size);
    exprs.push_back(expr);
  }
  add(program.source(shape, element), exprs);
}

void BodyLoops::cutReduction() {
  SmallVector<std::pair<unsigned, unsigned>> places;
  for (auto [input, map] : llvm::enumerate(maps))
    for (auto [at, expr] : llvm::enumerate(map.getResults()))
      if (auto loop = dyn_cast<AffineDimExpr>(expr))
        if (reduces[loop.getPosition()])
          places.push_back({input, at});
  if (places.empty())
    return;
  auto [input, at] = places[program.below(places.size())];
  inputs[input] = program.cutAlong(inputs[input], at);
}

/// The element of `table` at one loop's index, forwards or backwards.
Value BodyProgram::extractAlong(Value table, int64_t loop,
                                ArrayRef<int64_t> sizes) {
  Value index = linalg::IndexOp::create(builder, loc, loop);
  if (chance(40)) {
    Value last = arith::ConstantIndexOp::create(builder, loc, sizes[loop] - 1);
    index = arith::SubIOp::create(builder, loc, last, index);
  }
  return tensor::ExtractOp::create(builder, loc, table, index);
}

/// The values that the body yields for each output; `body` has the inputs
/// already.
SmallVector<Value> BodyProgram::drawTerms(ScalarBody &body,
                                          const BodyLoops &loops,
                                          ValueRange outs) {
  // A term that reads an output is no term of a reduction.
  for (auto [i, out] : llvm::enumerate(outs))
    if (loops.isOutRead[i] && chance(loops.isReduced[i] ? 8 : 100))
      body.addInput(out);
  SmallVector<Value> results;
  for (auto [i, out] : llvm::enumerate(loops.outs)) {
    bool isReduced = loops.isReduced[i];
    // Or what is the same for all elements.
    Value term = isReduced && chance(10) ? body.someConstant(elementOf(out))
                                         : body.draw(elementOf(out));
    // Now and then the term is what another output comes to.
    if (i > 0 && results.back().getType() == term.getType() && chance(15))
      term = results.back();
    if (isReduced && rarely(5))
      term = body.nothing(elementOf(out));
    if (isReduced)
      term = body.combine(outs[i], term);
    if (loops.anyReduction() && chance(20))
      body.addInput(term);
    results.push_back(term);
  }
  return results;
}

Value BodyProgram::structured(Value value) {
  BodyLoops loops(*this);
  if (isFloat(value) && !shapeOf(value).empty() && chance(20))
    value = partialSource(shapeOf(value), elementOf(value));
  loops.draw(value);
  Type element = chance(85) ? elementOf(value) : someElement();
  loops.drawInputs(element);
  int64_t volume = 1;
  for (int64_t size : loops.sizes)
    volume *= size;
  if (volume > 6000)
    return Value();
  if (chance(50))
    loops.cutReduction();
  for (int64_t count = pick({1, 1, 1, 1, 1, 2, 2, 3}); count > 0; --count)
    loops.addOutput(element);
  SmallVector<utils::IteratorType> iterators;
  for (bool reduces : loops.reduces)
    iterators.push_back(reduces ? utils::IteratorType::reduction
                                : utils::IteratorType::parallel);
  unsigned numInputs = loops.inputs.size(), numLoops = loops.sizes.size();
  // Now and then elements of a tensor that is no operand.
  Value lookUp;
  int64_t lookLoop = numLoops ? below(numLoops) : 0;
  if (numLoops && chance(2))
    lookUp = source({loops.sizes[lookLoop]}, element);
  Value outside;
  if (chance(4))
    outside = scalarConstant(element, double(below(4)) - 1);
  SmallVector<Type> types(ValueRange(loops.outs).getTypes());
  auto op = linalg::GenericOp::create(
      builder, loc, types, loops.inputs, loops.outs, loops.maps, iterators,
      [&](OpBuilder &, Location, ValueRange arguments) {
        ScalarBody body(*this);
        for (unsigned i = 0; i < numInputs; ++i)
          body.addInput(arguments[i], positive.contains(loops.inputs[i]));
        if (chance(30))
          body.addLoops(numLoops);
        if (outside)
          body.addInput(outside);
        if (lookUp)
          body.addInput(extractAlong(lookUp, lookLoop, loops.sizes));
        linalg::YieldOp::create(
            builder, loc,
            drawTerms(body, loops, arguments.drop_front(numInputs)));
      });
  for (Value result : op->getResults().drop_front())
    keep(result);
  return op.getResult(0);
}

Value BodyProgram::contraction(Value value) {
  Shape shape = shapeOf(value);
  Type element = elementOf(value);
  if (shape.empty() || element.isInteger(1))
    return Value();
  BodyLoops loops(*this);
  loops.sizes.assign(shape.begin(), shape.end());
  loops.reduces.assign(shape.size(), false);
  loops.reduces[below(shape.size())] = true;
  SmallVector<AffineExpr> exprs, outExprs;
  SmallVector<utils::IteratorType> iterators;
  Shape outShape;
  for (unsigned loop = 0; loop < shape.size(); ++loop) {
    exprs.push_back(loops.dim(loop));
    iterators.push_back(loops.reduces[loop] ? utils::IteratorType::reduction
                                            : utils::IteratorType::parallel);
    if (loops.reduces[loop])
      continue;
    outShape.push_back(shape[loop]);
    outExprs.push_back(loops.dim(loop));
  }
  loops.add(value, exprs);
  if (chance(70))
    loops.cutReduction();
  for (int64_t count = pick({1, 1, 2}); count > 0; --count)
    loops.addSource(std::nullopt, element);
  loops.maps.push_back(loops.map(outExprs));
  Value out =
      chance(70) ? filled(outShape, element, 0) : initial(outShape, element);
  return linalg::GenericOp::create(
             builder, loc, out.getType(), loops.inputs, out, loops.maps,
             iterators,
             [&](OpBuilder &, Location, ValueRange arguments) {
               ScalarBody body(*this);
               for (Value input : arguments.drop_back())
                 body.addInput(input);
               Value term = body.productOfAll(element);
               linalg::YieldOp::create(builder, loc,
                                       body.add(arguments.back(), term));
             })
      .getResult(0);
}

Value BodyProgram::elementwise(Value value) {
  Type element = chance(88) ? elementOf(value) : someElement();
  ScalarBody body(*this, shapeOf(value));
  body.addInput(value, positive.contains(value));
  for (int64_t others = pick({0, 1, 1, 2}); others > 0; --others) {
    Value other = likeOne(value);
    body.addInput(other, positive.contains(other));
  }
  return body.draw(element);
}

Value BodyProgram::sumOver(Value value, int64_t dim) {
  Shape shape = shapeOf(value);
  shape.erase(shape.begin() + dim);
  Value out = filled(shape, elementOf(value), 0);
  auto op = linalg::ReduceOp::create(
      builder, loc, ValueRange{value}, ValueRange{out}, ArrayRef<int64_t>{dim},
      [&](OpBuilder &, Location, ValueRange inner) {
        Value sum = arith::AddFOp::create(builder, loc, inner[0], inner[1]);
        linalg::YieldOp::create(builder, loc, sum);
      });
  return op.getResult(0);
}

Value BodyProgram::withProduct(Value value) {
  Shape shape = shapeOf(value);
  Type element = elementOf(value);
  Value a = whole(shape, element);
  if (chance(45))
    return math::FmaOp::create(builder, loc, a, whole(shape, element), value);
  if (chance(30))
    // By what is zero here and there.
    return arith::DivFOp::create(builder, loc, value,
                                 math::FloorOp::create(builder, loc, a));
  // One of the two factors again.
  return linalg::MapOp::create(
             builder, loc, ValueRange{value, a}, empty(shape, element),
             [&](OpBuilder &, Location, ValueRange arguments) {
               ScalarBody body(*this);
               body.addInput(arguments[0]);
               body.addInput(arguments[1]);
               Value sum = body.add(body.productOfAll(element),
                                    arguments[chance(30) ? 0 : 1]);
               linalg::YieldOp::create(builder, loc, sum);
             })
      ->getResult(0);
}

Value BodyProgram::meeting(Value value) {
  Shape shape = shapeOf(value);
  Type element = elementOf(value);
  if (!isFloat(value) || shape.empty())
    return Value();
  // Most of them over the same axes; perhaps wanted whole, or cut by those.
  Shape wide(shape);
  unsigned dim = below(wide.size() + 1);
  wide.insert(wide.begin() + dim, pick({2, 3, 4, 4, 5, 6, 8}));
  ShardingAttr cut = cutting(wide, dim), place;
  if (cut && chance(35))
    place = cuttingBy(shape, cut.toSharding(mesh).dims[dim].axes);
  else if (chance(40))
    place = replicated(shape.size());
  auto sum = [&]() -> Value {
    Value next;
    if (cut && chance(75)) {
      next = whole(wide, element);
      next = ShardingConstraintOp::create(builder, loc, next, cut);
      next = sumOver(next, dim);
    } else {
      next = partialSource(shape, element);
    }
    if (!place)
      return next;
    return ShardingConstraintOp::create(builder, loc, next, place);
  };
  Value result = sum();
  for (int64_t count = pick({1, 1, 1, 2}); count > 0; --count) {
    if (chance(80)) {
      Value between = rarely(25)   ? withProduct(result)
                      : chance(20) ? dropout(result)
                                   : keepingType(result);
      result = between ? between : result;
    }
    result = arith::AddFOp::create(builder, loc, result,
                                   chance(85) ? sum() : likeOne(result));
  }
  return result;
}

Value BodyProgram::matmul(Value value) {
  Shape shape = shapeOf(value);
  Type element = elementOf(value);
  if (shape.empty() || element.isInteger(1))
    return Value();
  auto other = [&](ArrayRef<int64_t> sizes) {
    return isFloat(value) && chance(60) ? parameter(sizes, element)
                                        : whole(sizes, element);
  };
  int64_t n = someSize();
  if (shape.size() == 1) {
    if (chance(40)) {
      Value b = other(shape), out = initial({}, element);
      return linalg::DotOp::create(builder, loc, ValueRange{value, b},
                                   ValueRange{out})
          .getResult(0);
    }
    Value b = other({n, shape[0]}), out = initial({n}, element);
    return linalg::MatvecOp::create(builder, loc, ValueRange{b, value},
                                    ValueRange{out})
        .getResult(0);
  }
  if (shape.size() == 2) {
    if (chance(50)) {
      Value b = other({shape[1], n}), out = initial({shape[0], n}, element);
      return linalg::MatmulOp::create(builder, loc, ValueRange{value, b},
                                      ValueRange{out})
          .getResult(0);
    }
    Value a = other({n, shape[0]}), out = initial({n, shape[1]}, element);
    return linalg::MatmulOp::create(builder, loc, ValueRange{a, value},
                                    ValueRange{out})
        .getResult(0);
  }
  if (shape.size() != 3)
    return Value();
  Value b = other({shape[0], shape[2], n});
  Value out = initial({shape[0], shape[1], n}, element);
  return linalg::BatchMatmulOp::create(builder, loc, ValueRange{value, b},
                                       ValueRange{out})
      .getResult(0);
}

/// One number everywhere, from the same number on: what a combiner starts from
/// shows where nothing else is larger, smaller or a number at all.
Value BodyProgram::reduceAlike(Value value, int64_t dim) {
  using Limits = std::numeric_limits<double>;
  double number = oneOf({Limits::quiet_NaN(), Limits::quiet_NaN(), -0.0,
                         Limits::infinity(), -Limits::infinity()});
  Shape shape = shapeOf(value), rest(shape);
  rest.erase(rest.begin() + dim);
  Value alike = filled(shape, elementOf(value), number);
  if (chance(60))
    alike = cutAlong(alike, dim);
  Value out = filled(rest, elementOf(value), number);
  auto op = linalg::ReduceOp::create(
      builder, loc, ValueRange{alike}, ValueRange{out}, ArrayRef<int64_t>{dim},
      [&](OpBuilder &, Location, ValueRange inner) {
        Value next = ScalarBody(*this).combineAlike(inner[1], inner[0]);
        linalg::YieldOp::create(builder, loc, next);
      });
  return op.getResult(0);
}

Value BodyProgram::reduceOp(Value value) {
  Shape shape = shapeOf(value);
  if (shape.empty())
    return Value();
  if (isFloat(value) && rarely(15))
    return reduceAlike(value, below(shape.size()));
  int64_t dim = below(shape.size());
  Shape rest(shape);
  rest.erase(rest.begin() + dim);
  if (chance(40))
    value = cutAlong(value, dim);
  Value out = initial(rest, elementOf(value));
  auto op = linalg::ReduceOp::create(
      builder, loc, ValueRange{value}, ValueRange{out}, ArrayRef<int64_t>{dim},
      [&](OpBuilder &, Location, ValueRange inner) {
        ScalarBody body(*this);
        body.addInput(inner[0]);
        Value term = chance(60) ? inner[0] : body.draw(elementOf(value));
        Value next = body.combine(inner[1], term);
        linalg::YieldOp::create(builder, loc, next);
      });
  return op.getResult(0);
}

Value BodyProgram::mapOp(Value value) {
  return mapOp(value, chance(80) ? elementOf(value) : someElement());
}

Value BodyProgram::mapOp(Value value, Type element) {
  SmallVector<Value> inputs{value};
  for (int64_t others = below(3); others > 0; --others)
    inputs.push_back(likeOne(value));
  Value out = empty(shapeOf(value), element);
  auto op = linalg::MapOp::create(
      builder, loc, inputs, out,
      [&](OpBuilder &, Location, ValueRange arguments) {
        ScalarBody body(*this);
        for (unsigned i = 0; i < inputs.size(); ++i)
          body.addInput(arguments[i], positive.contains(inputs[i]));
        if (chance(30))
          body.addLoops(shapeOf(value).size());
        linalg::YieldOp::create(builder, loc, body.draw(element));
      });
  return op->getResult(0);
}

Value BodyProgram::named(Value value) {
  Shape shape = shapeOf(value);
  Type element = elementOf(value);
  switch (below(5)) {
  case 0:
  case 1:
    return matmul(value);
  case 2: {
    // Upstream's own verifier does not survive a transpose of rank 0.
    if (shape.empty())
      return Value();
    SmallVector<int64_t> order;
    for (unsigned i = 0; i < shape.size(); ++i)
      order.insert(order.begin() + below(i + 1), i);
    Shape moved;
    for (int64_t from : order)
      moved.push_back(shape[from]);
    return linalg::TransposeOp::create(builder, loc, value,
                                       empty(moved, element), order)
        ->getResult(0);
  }
  case 3: {
    if (shape.size() > 3)
      return Value();
    int64_t dim = below(shape.size() + 1);
    shape.insert(shape.begin() + dim, someSize());
    return linalg::BroadcastOp::create(builder, loc, value,
                                       empty(shape, element),
                                       ArrayRef<int64_t>{dim})
        ->getResult(0);
  }
  default: {
    Value other = likeOne(value), out = empty(shape, element);
    SmallVector<Value> inputs{value, other};
    if (!isFloat(value))
      return Value();
    switch (below(3)) {
    case 0:
      return linalg::AddOp::create(builder, loc, inputs, ValueRange{out})
          .getResult(0);
    case 1:
      return linalg::MulOp::create(builder, loc, inputs, ValueRange{out})
          .getResult(0);
    default:
      return linalg::ExpOp::create(builder, loc, ValueRange{value},
                                   ValueRange{out})
          .getResult(0);
    }
  }
  }
}

} // namespace tp::fuzz
