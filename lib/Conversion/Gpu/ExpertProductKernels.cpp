//===- ExpertProductKernels.cpp - Products of experts on a device ---------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A block multiplies a tile of slots of one expert with that expert's matrices,
// or adds up all its slots for a tile of a matrix's derivative; see
// ExpertKernels.h and, for the products, TileProduct.h. Where gate and up are
// multiplied together, their rows alternate by eight,
//
//        right row      0-7        8-15     16-23       24-31    ...
//        is             gate 0-7   up 0-7   gate 8-15   up 8-15
//
// so that a lane holds both numbers of a position, in two neighbouring tiles of
// its sums. Rows of a tile and columns that there are not repeat the last: they
// have no part in the others, and are not written.
//
//===----------------------------------------------------------------------===//

#include "ExpertKernels.h"
#include "tp/Dialect/NN/IR/Gating.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tp;

namespace {
class ExpertProducts {
public:
  ExpertProducts(OpBuilder &builder, Location loc, const ExpertShape &shape,
                 Value shared, ArrayRef<BlockArgument> arguments)
      : e(builder, loc), shape(shape), tiles(shape.getTiles()), scratch(shape),
        shared(shared), call(ExpertArguments::read(e, shape, arguments)) {}

  void gate();
  void down();
  void inner();
  void sides();
  void input();
  void gates();
  void downs();

private:
  KernelEmitter e;
  const ExpertShape &shape;
  ProductTiles tiles;
  ExpertScratch scratch;
  Value shared;
  ExpertArguments call;
  Value expert, first, count; ///< of the block's tile, or of its expert
  Value column;               ///< the first of the block's

  int64_t getBytes() const { return shape.getBytes(); }
  Value at(int64_t table) { return e.offset(call.scratch, e.int64(table)); }
  Value isLess(Value a, int64_t b) {
    return e.compare(arith::CmpIPredicate::slt, a, b);
  }
  /// Line `index` (i32) of lines at a distance of `pitch` bytes.
  Value getLine(Value base, Value index, int64_t pitch) {
    return e.offset(base, e.mul(e.toInt64(index), pitch));
  }
  /// True if the position `side` behind this one of the width takes part; null
  /// if all do.
  Value isInside(Value position, int64_t side);
  Value orZero(Value inBounds, Value value) {
    return inBounds ? e.select(inBounds, value, e.float32(0)) : value;
  }
  void onTile(int64_t columns, function_ref<void()> body);

  // Operands.
  TileOperand rowsOf(Value base, int64_t size);
  TileOperand slotsOf(int64_t table);
  TileOperand gateAndUp();
  TileOperand downRows();
  static TileOperand made(decltype(TileOperand::make) make);
  /// Returns the addresses that decide how lines are aligned; matrices that are
  /// made rather than copied are not among them.
  SmallVector<Value> withMatrices(Value rows, ArrayRef<Value> matrices) {
    SmallVector<Value> bases{rows};
    if (!shape.gateForm)
      llvm::append_range(bases, matrices);
    return bases;
  }
  TileOperand matrix(Value base, int64_t rows, int64_t columns, bool isAcross);
  TileOperand across(TileOperand operand, Value skipped);

  // Results.
  void writeSums(TileProduct &product, const Fragments &sums, int64_t table,
                 int64_t pitch, int64_t limit);
  Value getWidth(Value slot, Value position, Value gate, Value up);
  void storePair(Value base, Value low, Value high);
  Value round(Value value);
  void addWeights(TileOperand left, TileOperand right, ArrayRef<Value> bases,
                  Value result, int64_t rows, int64_t columns);
};
} // namespace

/// The block's tile, if it has one, and its columns.
void ExpertProducts::onTile(int64_t columns, function_ref<void()> body) {
  Value entry = e.load(VectorType::get(4, e.i32),
                       getLine(at(scratch.tiles), e.blockId(0), 16), 16);
  auto get = [&](int64_t i) -> Value {
    return LLVM::ExtractElementOp::create(e.builder, e.loc, entry, e.int32(i));
  };
  expert = get(0);
  first = get(1);
  count = get(2);
  column = e.mul(e.blockId(1), columns);
  e.ifThen(e.compare(arith::CmpIPredicate::sgt, count, 0), body);
}

Value ExpertProducts::isInside(Value position, int64_t side) {
  if (!shape.hasInside)
    return {};
  Value own = e.min(e.add(position, side), shape.f - 1);
  return e.compare(arith::CmpIPredicate::ne,
                   e.load(e.i32, getLine(call.inside, own, 4), 4), 0);
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// The rows of the slots, in a tensor [rows, size].
TileOperand ExpertProducts::rowsOf(Value base, int64_t size) {
  int64_t bytes = size * getBytes();
  return {false, bytes, [=, this](Value line) {
            Value slot = e.add(first, e.min(line, e.sub(count, 1)));
            Value row = e.load(e.i32, getLine(at(scratch.rowOf), slot, 4), 4);
            return getLine(base, row, bytes);
          }};
}

/// The slots themselves, in a table of scratch [slots, f].
TileOperand ExpertProducts::slotsOf(int64_t table) {
  return {false, shape.f * getBytes(), [=, this](Value line) {
            Value slot = e.add(first, e.min(line, e.sub(count, 1)));
            return getLine(at(table), slot, scratch.widthPitch);
          }};
}

TileOperand ExpertProducts::gateAndUp() {
  auto find = [this](Value line) {
    Value isUp =
        e.compare(arith::CmpIPredicate::ne, e.bitAnd(e.div(line, 8), 1), 0);
    return std::pair(isUp, e.add(e.mul(e.div(line, 16), 8), e.rem(line, 8)));
  };
  if (!shape.gateForm)
    return {false, shape.k * getBytes(), [=, this](Value line) {
              auto [isUp, own] = find(line);
              return matrix(e.select(isUp, call.up, call.gate), shape.f,
                            shape.k, false)
                  .getLine(own);
            }};
  return made([=, this](Value line, Value position, int64_t size) {
    auto [isUp, own] = find(line);
    QuantizedAddresses addresses{e.select(isUp, call.up, call.gate),
                                 e.select(isUp, call.upScales, call.gateScales),
                                 e.select(isUp, call.upZeros, call.gateZeros)};
    return loadNumbers(e, *shape.gateForm, addresses, expert,
                       e.min(e.add(column, own), shape.f - 1), position, size);
  });
}

/// The block's rows of the expert's last matrix.
TileOperand ExpertProducts::downRows() {
  if (!shape.downForm)
    return matrix(call.down, shape.n, shape.f, false);
  return made([this](Value line, Value position, int64_t size) {
    return loadNumbers(e, *shape.downForm,
                       {call.down, call.downScales, call.downZeros}, expert,
                       e.min(e.add(column, line), shape.n - 1), position, size);
  });
}

/// An operand that is made element by element.
TileOperand ExpertProducts::made(decltype(TileOperand::make) make) {
  return {false, 0, {}, {}, std::move(make)};
}

/// The expert's matrix of [experts, rows, columns]: the block's rows, or all
/// and the block's columns.
TileOperand ExpertProducts::matrix(Value base, int64_t rows, int64_t columns,
                                   bool isAcross) {
  int64_t bytes = columns * getBytes();
  auto getRow = [=, this](Value line) {
    Value own = isAcross ? line : e.add(column, line);
    own = e.min(own, rows - 1);
    Value row = e.add(e.mul(e.toInt64(expert), rows), e.toInt64(own));
    return e.offset(base, e.mul(row, bytes));
  };
  return {isAcross, bytes, getRow,
          isAcross ? e.mul(column, getBytes()) : Value()};
}

/// Slots as positions of the reduction.
TileOperand ExpertProducts::across(TileOperand operand, Value skipped) {
  operand.isAcross = true;
  operand.skipped = e.mul(skipped, getBytes());
  return operand;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// A slot's pairs of sums to a table of f32 of scratch, whose pitch has room
/// for both.
void ExpertProducts::writeSums(TileProduct &product, const Fragments &sums,
                               int64_t table, int64_t pitch, int64_t limit) {
  Value own = e.add(column, product.getOwnColumn());
  product.visitRows([&](Value row, int64_t fragment, int64_t half) {
    e.ifThen(e.compare(arith::CmpIPredicate::slt, row, count), [&] {
      Value line = getLine(at(table), e.add(first, row), pitch);
      for (auto [i, tile] : llvm::enumerate(sums[fragment])) {
        Value position = e.add(own, 8 * int64_t(i));
        e.ifThen(isLess(position, limit), [&] {
          e.store(e.makeVector({tile[2 * half], tile[2 * half + 1]}),
                  getLine(line, position, 4), 8);
        });
      }
    });
  });
}

/// Two neighbours of the element type, rounded.
void ExpertProducts::storePair(Value base, Value low, Value high) {
  e.store(shape.type.isF32() ? e.makeVector({low, high})
                             : e.pack(low, high, shape.type),
          base, 2 * getBytes());
}

Value ExpertProducts::round(Value value) {
  if (shape.type.isF32())
    return value;
  Value narrow = arith::TruncFOp::create(e.builder, e.loc, shape.type, value);
  return arith::ExtFOp::create(e.builder, e.loc, e.f32, narrow);
}

//===----------------------------------------------------------------------===//
// nn.experts
//===----------------------------------------------------------------------===//

/// Computes a position of an expert's width from the products of gate and up.
Value ExpertProducts::getWidth(Value slot, Value position, Value gate,
                               Value up) {
  if (shape.scalesInput) {
    Value weight = e.load(e.f32, getLine(at(scratch.weightOf), slot, 4), 4);
    gate = e.mulf(weight, gate);
    up = e.mulf(weight, up);
  }
  if (shape.hasBiases) {
    Value index = e.add(e.mul(e.toInt64(expert), shape.f),
                        e.toInt64(e.min(position, shape.f - 1)));
    auto load = [&](Value base) {
      return e.load(e.f32, e.offset(base, e.mul(index, 4)), 4);
    };
    gate = e.addf(gate, load(call.gateBias));
    up = e.addf(up, load(call.upBias));
  }
  return nn::buildGated(e.builder, e.loc, shape.getGating(), gate, up);
}

void ExpertProducts::gate() {
  onTile(tiles.getColumns() / 2, [&] {
    TileProduct product(e, shape.type, tiles, shared,
                        rowsOf(call.input, shape.k), gateAndUp(),
                        withMatrices(call.input, {call.gate, call.up}));
    Fragments sums = product.makeSums();
    product.accumulate(sums, e.int32(shape.k));
    Value own = e.add(e.add(column, e.div(product.getWarpColumn(), 2)),
                      e.rem(product.getOwnColumn(), 8));
    product.visitRows([&](Value row, int64_t fragment, int64_t half) {
      e.ifThen(e.compare(arith::CmpIPredicate::slt, row, count), [&] {
        Value slot = e.add(first, row);
        Value line = getLine(at(scratch.inner), slot, scratch.widthPitch);
        for (int64_t tile = 0; tile < tiles.tiles; tile += 2) {
          Value position = e.add(own, 4 * tile);
          e.ifThen(isLess(position, shape.f), [&] {
            SmallVector<Value> both;
            for (int64_t side = 0; side < 2; ++side) {
              Value inner = getWidth(slot, e.add(position, side),
                                     sums[fragment][tile][2 * half + side],
                                     sums[fragment][tile + 1][2 * half + side]);
              both.push_back(orZero(isInside(position, side), inner));
            }
            storePair(getLine(line, position, getBytes()), both[0], both[1]);
          });
        }
      });
    });
  });
}

void ExpertProducts::down() {
  onTile(tiles.getColumns(), [&] {
    TileProduct product(e, shape.type, tiles, shared, slotsOf(scratch.inner),
                        downRows(), withMatrices(call.scratch, {call.down}));
    Fragments sums = product.makeSums();
    product.accumulate(sums, e.int32(shape.f));
    writeSums(product, sums, scratch.outer, scratch.outerPitch, shape.n);
  });
}

//===----------------------------------------------------------------------===//
// nn.experts_backward
//===----------------------------------------------------------------------===//

void ExpertProducts::inner() {
  onTile(tiles.getColumns(), [&] {
    TileProduct product(
        e, shape.type, tiles, shared, rowsOf(call.cotangent, shape.n),
        matrix(call.down, shape.n, shape.f, true), {call.cotangent, call.down});
    Fragments sums = product.makeSums();
    product.accumulate(sums, e.int32(shape.n));
    writeSums(product, sums, scratch.byInner, scratch.byInnerPitch, shape.f);
  });
}

/// The sides, for g = gate x, u = up x, weight w and the derivative d by inner,
/// are w d u a'(g) and w d a(g), and d times inner, added up over the width.
void ExpertProducts::sides() {
  onTile(tiles.getColumns() / 2, [&] {
    TileProduct product(e, shape.type, tiles, shared,
                        rowsOf(call.input, shape.k), gateAndUp(),
                        {call.input, call.gate, call.up});
    Fragments sums = product.makeSums();
    product.accumulate(sums, e.int32(shape.k));
    Value inWarp = e.rem(product.getOwnColumn(), 8);
    Value own = e.add(e.add(column, e.div(product.getWarpColumn(), 2)), inWarp);
    Value part = e.add(e.mul(e.blockId(1), tiles.columnWarps),
                       e.div(product.getWarpColumn(), tiles.getWarpColumns()));
    product.visitRows([&](Value row, int64_t fragment, int64_t half) {
      Value isRow = e.compare(arith::CmpIPredicate::slt, row, count);
      Value slot = e.add(first, e.min(row, e.sub(count, 1)));
      Value weight = e.load(e.f32, getLine(at(scratch.weightOf), slot, 4), 4);
      Value total = e.float32(0);
      for (int64_t tile = 0; tile < tiles.tiles; tile += 2) {
        Value position = e.add(own, 4 * tile);
        auto compute = [&] {
          Value pair = e.load(
              VectorType::get(2, e.f32),
              getLine(getLine(at(scratch.byInner), slot, scratch.byInnerPitch),
                      position, 4),
              8);
          SmallVector<Value> weighted, byGate, byUp;
          Value sum = total;
          for (int64_t side = 0; side < 2; ++side) {
            Value gate = sums[fragment][tile][2 * half + side];
            Value up = sums[fragment][tile + 1][2 * half + side];
            Value by = LLVM::ExtractElementOp::create(e.builder, e.loc, pair,
                                                      e.int32(side));
            // A row without a second column has nothing in memory there.
            by = e.select(isLess(e.add(position, side), shape.f), by,
                          e.float32(0));
            Value inBounds = isInside(position, side);
            by = orZero(inBounds, by);
            Value active =
                nn::buildActivation(e.builder, e.loc, shape.activation, gate);
            Value slope = nn::buildActivationSlope(e.builder, e.loc,
                                                   shape.activation, gate);
            Value inner = orZero(inBounds, round(e.mulf(active, up))),
                  scaled = e.mulf(weight, by);
            weighted.push_back(e.mulf(weight, inner));
            byGate.push_back(
                orZero(inBounds, e.mulf(scaled, e.mulf(up, slope))));
            byUp.push_back(orZero(inBounds, e.mulf(scaled, active)));
            Value isColumn = isLess(e.add(position, side), shape.f);
            sum = e.addf(sum,
                         e.select(isColumn, e.mulf(inner, by), e.float32(0)));
          }
          for (auto [table, values] : {std::pair(scratch.inner, &weighted),
                                       {scratch.gate, &byGate},
                                       {scratch.up, &byUp}})
            storePair(getLine(getLine(at(table), slot, scratch.widthPitch),
                              position, getBytes()),
                      (*values)[0], (*values)[1]);
          return KernelEmitter::Values{sum};
        };
        total = e.ifElse(e.bitAnd(isRow, isLess(position, shape.f)), compute,
                         [&] { return KernelEmitter::Values{total}; })[0];
      }
      total = e.sumOfQuad(total);
      Value isFirst = e.compare(arith::CmpIPredicate::eq, inWarp, 0);
      e.ifThen(e.bitAnd(isRow, isFirst), [&] {
        Value line = getLine(at(scratch.parts), slot, 4 * shape.countParts());
        e.store(total, getLine(line, part, 4), 4);
      });
    });
  });
}

void ExpertProducts::input() {
  onTile(tiles.getColumns(), [&] {
    Fragments sums;
    std::optional<TileProduct> product;
    for (auto [table, base] :
         {std::pair(scratch.gate, call.gate), std::pair(scratch.up, call.up)}) {
      bool isFirst = !product;
      product.emplace(e, shape.type, tiles, shared, slotsOf(table),
                      matrix(base, shape.f, shape.k, true),
                      ArrayRef<Value>{call.scratch, base});
      if (isFirst)
        sums = product->makeSums();
      else
        e.barrier();
      product->accumulate(sums, e.int32(shape.f));
    }
    writeSums(*product, sums, scratch.outer, scratch.outerPitch, shape.k);
  });
}

/// result[expert, rows, columns], zeros where the expert has no slot.
void ExpertProducts::addWeights(TileOperand left, TileOperand right,
                                ArrayRef<Value> bases, Value result,
                                int64_t rows, int64_t columns) {
  tiles = ExpertShape::getWeightTiles();
  Value tile = e.blockId(0);
  int64_t across = llvm::divideCeil(columns, tiles.getColumns());
  Value row0 = e.mul(e.div(tile, across), tiles.getRows());
  column = e.mul(e.rem(tile, across), tiles.getColumns());
  TileProduct product(e, shape.type, tiles, shared,
                      this->across(std::move(left), row0),
                      this->across(std::move(right), column), bases);
  Fragments sums = product.makeSums();
  product.accumulate(sums, count);
  Value own = e.add(column, product.getOwnColumn());
  Value matrix =
      e.offset(result, e.mul(e.toInt64(expert), rows * columns * int64_t(4)));
  product.visitRows([&](Value inTile, int64_t fragment, int64_t half) {
    Value row = e.add(row0, inTile);
    e.ifThen(isLess(row, rows), [&] {
      Value line = getLine(matrix, row, 4 * columns);
      for (auto [i, values] : llvm::enumerate(sums[fragment]))
        for (int64_t side = 0; side < 2; ++side) {
          Value position = e.add(own, 8 * int64_t(i) + side);
          e.ifThen(isLess(position, columns), [&] {
            e.store(values[2 * half + side], getLine(line, position, 4), 4);
          });
        }
    });
  });
}

/// The slots of the block's expert.
static std::pair<Value, Value> loadSpan(KernelEmitter &e, Value spans,
                                        Value expert) {
  Value place = e.offset(spans, e.mul(e.toInt64(expert), 8));
  return {e.load(e.i32, place, 4), e.load(e.i32, e.offset(place, 4), 4)};
}

void ExpertProducts::gates() {
  expert = e.blockId(1);
  std::tie(first, count) = loadSpan(e, at(scratch.spans), expert);
  Value isUp = e.compare(arith::CmpIPredicate::ne, e.blockId(2), 0);
  TileOperand left = slotsOf(scratch.gate);
  left.getLine = [=, this](Value line) {
    Value table = e.select(isUp, e.int64(scratch.up), e.int64(scratch.gate));
    return getLine(e.offset(call.scratch, table), e.add(first, line),
                   scratch.widthPitch);
  };
  addWeights(left, rowsOf(call.input, shape.k), {call.scratch, call.input},
             e.select(isUp, call.byUp, call.byGate), shape.f, shape.k);
}

void ExpertProducts::downs() {
  expert = e.blockId(1);
  std::tie(first, count) = loadSpan(e, at(scratch.spans), expert);
  addWeights(rowsOf(call.cotangent, shape.n), slotsOf(scratch.inner),
             {call.cotangent, call.scratch}, call.byDown, shape.n, shape.f);
}

//===----------------------------------------------------------------------===//
// The kernels
//===----------------------------------------------------------------------===//

static void generate(gpu::GPUModuleOp module, StringRef name,
                     const ExpertShape &shape, Location loc, Launch launch,
                     const ProductTiles &tiles, bool isLeftAcross,
                     bool isRightAcross, void (ExpertProducts::*body)()) {
  OpBuilder builder(module.getContext());
  launch.block = {tiles.getThreads(), 1, 1};
  launch.sharedBytes = TileProduct::getSharedBytes(shape.type, tiles,
                                                   isLeftAcross, isRightAcross);
  gpu::GPUFuncOp kernel =
      createKernel(module, builder, loc, name,
                   ExpertArguments::getTypes(builder, shape), launch);
  kernel->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                  builder.getI32IntegerAttr(2));
  Value shared =
      LLVM::AddressOfOp::create(builder, loc, getSharedMemory(module, loc));
  ExpertProducts products(builder, loc, shape, shared, kernel.getArguments());
  (products.*body)();
  gpu::ReturnOp::create(builder, loc);
}

/// A grid of the tiles of slots by `limit` columns, `columns` to a block.
static Launch getGrid(const ExpertShape &shape, int64_t limit,
                      int64_t columns) {
  return {{shape.countTiles(), int64_t(llvm::divideCeil(limit, columns)), 1}};
}

void tp::generateExpertGate(gpu::GPUModuleOp module, StringRef name,
                            const ExpertShape &shape, Location loc) {
  ProductTiles tiles = shape.getTiles();
  generate(module, name, shape, loc,
           getGrid(shape, shape.f, tiles.getColumns() / 2), tiles, false, false,
           &ExpertProducts::gate);
}

void tp::generateExpertDown(gpu::GPUModuleOp module, StringRef name,
                            const ExpertShape &shape, Location loc) {
  ProductTiles tiles = shape.getTiles();
  generate(module, name, shape, loc,
           getGrid(shape, shape.n, tiles.getColumns()), tiles, false, false,
           &ExpertProducts::down);
}

void tp::generateExpertInner(gpu::GPUModuleOp module, StringRef name,
                             const ExpertShape &shape, Location loc) {
  ProductTiles tiles = shape.getTiles();
  generate(module, name, shape, loc,
           getGrid(shape, shape.f, tiles.getColumns()), tiles, false, true,
           &ExpertProducts::inner);
}

void tp::generateExpertSides(gpu::GPUModuleOp module, StringRef name,
                             const ExpertShape &shape, Location loc) {
  ProductTiles tiles = shape.getTiles();
  generate(module, name, shape, loc,
           getGrid(shape, shape.f, tiles.getColumns() / 2), tiles, false, false,
           &ExpertProducts::sides);
}

void tp::generateExpertInput(gpu::GPUModuleOp module, StringRef name,
                             const ExpertShape &shape, Location loc) {
  ProductTiles tiles = shape.getTiles();
  generate(module, name, shape, loc,
           getGrid(shape, shape.k, tiles.getColumns()), tiles, false, true,
           &ExpertProducts::input);
}

/// Blocks of a matrix of the derivative.
static int64_t countBlocks(int64_t rows, int64_t columns) {
  ProductTiles tiles = ExpertShape::getWeightTiles();
  return llvm::divideCeil(rows, tiles.getRows()) *
         llvm::divideCeil(columns, tiles.getColumns());
}

void tp::generateExpertGates(gpu::GPUModuleOp module, StringRef name,
                             const ExpertShape &shape, Location loc) {
  generate(module, name, shape, loc,
           {{countBlocks(shape.f, shape.k), shape.experts, 2}},
           ExpertShape::getWeightTiles(), true, true, &ExpertProducts::gates);
}

void tp::generateExpertDowns(gpu::GPUModuleOp module, StringRef name,
                             const ExpertShape &shape, Location loc) {
  generate(module, name, shape, loc,
           {{countBlocks(shape.n, shape.f), shape.experts, 1}},
           ExpertShape::getWeightTiles(), true, true, &ExpertProducts::downs);
}
