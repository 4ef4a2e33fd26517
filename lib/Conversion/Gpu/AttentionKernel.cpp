//===- AttentionKernel.cpp - Attention on a device ------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See AttentionKernel.h.
//
//===----------------------------------------------------------------------===//

#include "AttentionKernel.h"

#include "AttentionCopies.h"
#include "AttentionMasks.h"
#include "AttentionSplits.h"
#include "tp/Conversion/Kernels/GpuModule.h"
#include "tprt/abi.h"
#include <string_view>

using namespace mlir;
using namespace tp;

/// The kernel's parameters, the arguments of tprt_api::attention after `id`, in
/// order: X(name, is an address).
#define ATTENTION_PARAMETERS(X)                                                \
  X(query, true)                                                               \
  X(queryStride, false)                                                        \
  X(key, true)                                                                 \
  X(keyStride, false)                                                          \
  X(value, true)                                                               \
  X(valueStride, false)                                                        \
  X(mask, true)                                                                \
  X(keyLength, false)                                                          \
  X(queryOffset, false)                                                        \
  X(output, true)                                                              \
  X(outputStride, false)                                                       \
  X(logSumExp, true)

namespace {

/// The kinds of each function's arguments in tprt/abi.h: addresses p, i32 4,
/// i64 8.
constexpr std::string_view abiKinds[] = {
#define ABI_ADDRESS(name) "p"
#define ABI_I32(name) "4"
#define ABI_I64(name) "8"
#define ABI_KINDS(name, parameters) "" parameters,
    TPRT_FUNCTIONS(ABI_KINDS, ABI_ADDRESS, ABI_ADDRESS, ABI_I32, ABI_I64,
                   ABI_ADDRESS)
#undef ABI_KINDS
#undef ABI_I64
#undef ABI_I32
#undef ABI_ADDRESS
};
#define ATTENTION_KIND(name, isAddress) (isAddress) ? 'p' : '8',
constexpr char attentionKinds[] = {'4', ATTENTION_PARAMETERS(ATTENTION_KIND)};
#undef ATTENTION_KIND
static_assert(abiKinds[TPRT_SLOT_attention] ==
                  std::string_view(attentionKinds, std::size(attentionKinds)),
              "the runtime hands its arguments on as they are");

class AttentionKernel {
public:
  AttentionKernel(OpBuilder &builder, Location loc, const AttentionShape &shape,
                  const AttentionTiles &tiles, Value shared,
                  ArrayRef<BlockArgument> arguments);
  void run();

private:
  KernelEmitter e;
  const AttentionShape &shape;
  const AttentionTiles &tiles;
  Value shared;
#define ATTENTION_MEMBER(name, isAddress) Value name;
  ATTENTION_PARAMETERS(ATTENTION_MEMBER)
#undef ATTENTION_MEMBER
  Value scratch; ///< only with splits
  Value thread, lane, warpRow, keyWarp, blockRow, split, keyHead, batch;
  std::optional<AttentionCopies> copies;

  /// A tensor of rows [batch, length, heads * head size] from `base` on.
  Value getRow(Value base, Value position, Value stride, Value head);
  GlobalRow getQueryRow(Value base, Value stride, Value row);
  void loadTile(Value tile, Value firstTile);
  Value getStage(Value tile, Value firstTile);
  void exchange(SoftmaxState &state, AttentionSoftmax &softmax);
  void write(const SoftmaxState &state, ArrayRef<Value> logarithms,
             AttentionProducts &products);
};

} // namespace

AttentionKernel::AttentionKernel(OpBuilder &builder, Location loc,
                                 const AttentionShape &shape,
                                 const AttentionTiles &tiles, Value shared,
                                 ArrayRef<BlockArgument> arguments)
    : e(builder, loc), shape(shape), tiles(tiles), shared(shared) {
  size_t next = 0;
#define ATTENTION_MEMBER(name, isAddress)                                      \
  name = arguments[next++];                                                    \
  if (isAddress)                                                               \
    name = LLVM::AddrSpaceCastOp::create(builder, loc, e.globalPointer, name);
  ATTENTION_PARAMETERS(ATTENTION_MEMBER)
#undef ATTENTION_MEMBER
  if (tiles.splits > 1)
    scratch = LLVM::AddrSpaceCastOp::create(builder, loc, e.globalPointer,
                                            arguments[next]);
  thread = e.threadId();
  lane = e.rem(thread, 32);
  Value warp = e.div(thread, 32);
  warpRow = e.mul(e.rem(warp, tiles.rowWarps), tiles.getWarpRows());
  keyWarp = e.div(warp, tiles.rowWarps);
  int64_t blocks = llvm::divideCeil(shape.getRows(), tiles.getRows());
  Value block = e.blockId(0);
  split = e.rem(block, tiles.splits);
  block = e.div(block, tiles.splits);
  // Rows that see the most keys come first, so that all end together.
  if (shape.causal)
    block = e.sub(e.int32(blocks - 1), block);
  blockRow = e.mul(block, tiles.getRows());
  keyHead = e.blockId(1);
  batch = e.blockId(2);

  SmallVector<Value> addresses;
  for (Value pointer : {query, key, value, output})
    addresses.push_back(LLVM::PtrToIntOp::create(builder, loc, e.i64, pointer));
  for (Value stride : {queryStride, keyStride, valueStride, outputStride})
    addresses.push_back(e.mul(stride, shape.getElementBytes()));
  copies.emplace(e, shape, tiles, addresses);
}

Value AttentionKernel::getRow(Value base, Value position, Value stride,
                              Value head) {
  Value elements =
      e.add(e.mul(position, stride), e.mul(e.toInt64(head), shape.headSize));
  return e.offset(base, e.mul(elements, shape.getElementBytes()));
}

/// Row `row` of the KV head, of a tensor of queries or outputs.
GlobalRow AttentionKernel::getQueryRow(Value base, Value stride, Value row) {
  Value head =
      e.add(e.mul(keyHead, shape.getSharing()), e.rem(row, shape.getSharing()));
  Value position = e.add(e.mul(e.toInt64(batch), shape.queryLength),
                         e.toInt64(e.div(row, shape.getSharing())));
  return {getRow(base, position, stride, head),
          e.compare(arith::CmpIPredicate::slt, row, shape.getRows())};
}

/// Starts the copies of a tile of keys and values.
void AttentionKernel::loadTile(Value tile, Value firstTile) {
  Value stage = getStage(tile, firstTile);
  Value start = e.toInt64(e.mul(tile, tiles.keys));
  Value first = e.add(e.mul(e.toInt64(batch), shape.keyCapacity), start);
  Value left = e.toInt32(e.sub(keyLength, start));
  for (auto [base, stride, place] :
       {std::tuple(key, keyStride, tiles.getKeysOffset()),
        std::tuple(value, valueStride, tiles.getValuesOffset())})
    copies->load(e.offset(stage, place), tiles.keys, thread,
                 GlobalRows{getRow(base, first, stride, keyHead),
                            e.mul(stride, shape.getElementBytes()), left});
}

/// Where shared memory begins, moved so that the offsets of the tiles give
/// those of this tile's stage.
Value AttentionKernel::getStage(Value tile, Value firstTile) {
  Value stage = e.rem(e.sub(tile, firstTile), 2);
  return e.offset(shared, e.mul(stage, tiles.getStageBytes()));
}

/// Brings together what the warps have that share rows: all but the first
/// write their state to shared memory (the tiles are not needed any more), the
/// first takes it in. Lanes have the same rows in each.
void AttentionKernel::exchange(SoftmaxState &state, AttentionSoftmax &softmax) {
  if (tiles.keyWarps == 1)
    return;
  int64_t count = state.flatten().size();
  assert((tiles.keyWarps - 1) * tiles.rowWarps * count * 128 <=
         4 * tiles.getStageBytes());
  Value rowWarp = e.div(warpRow, tiles.getWarpRows());
  auto getPlace = [&](Value warp) {
    Value slot = e.add(e.mul(warp, tiles.rowWarps), rowWarp);
    Value bytes = e.add(e.mul(slot, count * 128), e.mul(lane, 4));
    return e.offset(e.offset(shared, tiles.getKeysOffset()), bytes);
  };
  e.when(e.compare(arith::CmpIPredicate::ne, keyWarp, 0), [&] {
    Value place = getPlace(e.sub(keyWarp, 1));
    for (auto [i, value] : llvm::enumerate(state.flatten()))
      e.store(value, e.offset(place, 128 * int64_t(i)), 4);
  });
  e.barrier();
  auto merged = e.choose(
      e.compare(arith::CmpIPredicate::eq, keyWarp, 0),
      [&] {
        SoftmaxState sum = state;
        for (int64_t warp = 1; warp < tiles.keyWarps; ++warp) {
          Value place = getPlace(e.int32(warp - 1));
          softmax.merge(sum, [&](int64_t i) {
            return e.load(e.f32, e.offset(place, 128 * i), 4);
          });
        }
        return sum.flatten();
      },
      [&] { return state.flatten(); });
  state.assign(merged);
}

/// The rows of one warp: through the place of its queries in shared memory, so
/// that global memory is written in whole chunks.
void AttentionKernel::write(const SoftmaxState &state,
                            ArrayRef<Value> logarithms,
                            AttentionProducts &products) {
  Value place = e.offset(shared, e.mul(warpRow, tiles.pitch));
  for (auto [i, fragment] : llvm::enumerate(state.outputs))
    products.storeOutputs(fragment,
                          e.offset(place, 16 * int64_t(i) * tiles.pitch));
  e.warpBarrier();
  Value firstRow = e.add(blockRow, warpRow);
  copies->store(place, tiles.getWarpRows(), lane, [&](Value row) {
    return getQueryRow(output, outputStride, e.add(firstRow, row));
  });

  Value null = LLVM::ZeroOp::create(e.builder, e.loc, e.globalPointer);
  Value isWanted = LLVM::ICmpOp::create(
      e.builder, e.loc, LLVM::ICmpPredicate::ne, logSumExp, null);
  Value isFirst = e.compare(arith::CmpIPredicate::eq, e.rem(lane, 4), 0);
  e.when(e.bitAnd(isWanted, isFirst), [&] {
    for (auto [half, logarithm] : llvm::enumerate(logarithms)) {
      Value row = e.add(e.add(firstRow, e.div(lane, 4)), 8 * int64_t(half));
      e.when(e.compare(arith::CmpIPredicate::slt, row, shape.getRows()), [&] {
        Value head = e.add(e.mul(keyHead, shape.getSharing()),
                           e.rem(row, shape.getSharing()));
        Value line =
            e.add(e.mul(e.toInt64(batch), shape.queryHeads), e.toInt64(head));
        Value index = e.add(e.mul(line, shape.queryLength),
                            e.toInt64(e.div(row, shape.getSharing())));
        e.store(logarithm, e.offset(logSumExp, e.mul(index, 4)), 4);
      });
    }
  });
}

void AttentionKernel::run() {
  Value maskRow;
  if (shape.maskType) {
    int64_t bytes = std::max(1u, shape.maskType.getIntOrFloatBitWidth() / 8);
    maskRow =
        e.offset(mask, e.mul(e.toInt64(batch), shape.keyCapacity * bytes));
  }
  Value warpKey = e.mul(keyWarp, tiles.getWarpKeys());
  AttentionMasks masks(e, shape, tiles, keyLength, queryOffset, maskRow,
                       blockRow, warpRow, warpKey, lane);
  AttentionSplits splits(e, shape, tiles);
  if (tiles.splits > 1)
    splits.narrow(masks.firstTile, masks.endTile, split);
  AttentionSoftmax softmax(e, shape, tiles);
  auto products = AttentionProducts::create(e, shape, tiles, lane);

  copies->clearPadding(shared, thread);
  copies->load(shared, tiles.getRows(), thread, [&](Value row) {
    return getQueryRow(query, queryStride, e.add(blockRow, row));
  });
  e.when(e.compare(arith::CmpIPredicate::slt, masks.firstTile, masks.endTile),
         [&] { loadTile(masks.firstTile, masks.firstTile); });
  e.commitCopies();
  if (tiles.queriesInRegisters) {
    e.waitForCopies();
    e.barrier();
  }
  products->setQueries(e.offset(shared, e.mul(warpRow, tiles.pitch)));

  SoftmaxState state = softmax.getInitial();
  auto carried = e.loop(
      masks.firstTile, masks.endTile, 1, state.flatten(),
      [&](Value tile, ValueRange values) {
        state.assign(values);
        e.waitForCopies();
        e.barrier();
        Value next = e.add(tile, 1);
        e.when(e.compare(arith::CmpIPredicate::slt, next, masks.endTile),
               [&] { loadTile(next, masks.firstTile); });
        e.commitCopies();

        Value start = e.mul(tile, tiles.keys);
        masks.readPadding(start);
        Value stage = e.offset(getStage(tile, masks.firstTile),
                               e.mul(warpKey, tiles.pitch));
        Fragments scores =
            products->multiplyKeys(e.offset(stage, tiles.getKeysOffset()));
        softmax.scale(scores);
        Fragments probabilities =
            softmax.update(state, masks.apply(scores, start));
        products->multiplyValues(state.outputs, probabilities,
                                 e.offset(stage, tiles.getValuesOffset()));
        return state.flatten();
      });
  state.assign(carried);

  e.waitForCopies();
  e.barrier();
  softmax.finish(state);
  exchange(state, softmax);
  auto finish = [&] {
    if (tiles.splits > 1) {
      Value line = e.add(e.mul(batch, shape.keyHeads), keyHead);
      splits.store(state, *products, scratch, line, e.add(blockRow, warpRow),
                   split, lane);
      return;
    }
    SmallVector<Value> logarithms = softmax.normalise(state);
    write(state, logarithms, *products);
  };
  if (tiles.keyWarps == 1)
    finish();
  else
    e.when(e.compare(arith::CmpIPredicate::eq, keyWarp, 0), finish);
}

gpu::GPUFuncOp tp::generateAttention(gpu::GPUModuleOp module, StringRef name,
                                     const AttentionShape &shape,
                                     const AttentionTiles &tiles,
                                     Location loc) {
  LLVM::GlobalOp shared = getSharedMemory(module, loc);
  auto builder = OpBuilder::atBlockEnd(module.getBody());
  Type pointer = LLVM::LLVMPointerType::get(builder.getContext());
  SmallVector<Type> types;
#define ATTENTION_TYPE(name, isAddress)                                        \
  types.push_back(isAddress ? pointer : Type(builder.getI64Type()));
  ATTENTION_PARAMETERS(ATTENTION_TYPE)
#undef ATTENTION_TYPE
  if (tiles.splits > 1)
    types.push_back(pointer);
  auto kernel = gpu::GPUFuncOp::create(builder, loc, name,
                                       builder.getFunctionType(types, {}));
  kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                  builder.getUnitAttr());
  kernel.setKnownBlockSizeAttr(
      builder.getDenseI32ArrayAttr({int32_t(tiles.getThreads()), 1, 1}));
  kernel->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                  builder.getI32IntegerAttr(tiles.residentBlocks));
  Launch launch;
  int64_t blocks = llvm::divideCeil(shape.getRows(), tiles.getRows());
  launch.grid = {blocks * tiles.splits, shape.keyHeads, shape.batch};
  launch.block = {tiles.getThreads(), 1, 1};
  launch.sharedBytes = tiles.getSharedBytes();
  setLaunch(kernel, launch);

  builder.setInsertionPointToStart(&kernel.getBody().front());
  Value memory = LLVM::AddressOfOp::create(builder, loc, shared);
  AttentionKernel(builder, loc, shape, tiles, memory, kernel.getArguments())
      .run();
  gpu::ReturnOp::create(builder, loc);
  return kernel;
}
