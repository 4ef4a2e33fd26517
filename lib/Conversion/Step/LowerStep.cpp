//===- LowerStep.cpp - Entries as steps that call the runtime -------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A step is straight code around library calls, so it is written with plain
// blocks: after each call a branch leaves with the status if it is not zero.
//
//===----------------------------------------------------------------------===//

#include "Tables.h"
#include "tp/Conversion/Step/Passes.h"
#include "tp/Dialect/TP/IR/Phase.h"
#include "tp/Resolve/Provenance.h"
#include "tp/Schedule/Buffers.h"
#include "tp/Schedule/RowKernels.h"
#include "tp/Schedule/Views.h"
#include "tp/Support/Bytes.h"
#include "tprt/abi.h"
#include "tprt/names.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

#include <cassert>
#include <cstddef>
#include <map>

namespace tp {
#define GEN_PASS_DEF_LOWERSTEP
#include "tp/Conversion/Step/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

namespace {

/// The position of what lies at byte `offset` of a table of the ABI, all of
/// whose members take eight bytes.
consteval int positionOf(size_t offset) {
  assert(offset % 8 == 0 && "compiled code reads members of eight bytes");
  return int(offset / 8);
}

/// Members of tprt_step_args, by position.
enum Member {
  Inputs = positionOf(offsetof(tprt_step_args, inputs)),
  Outputs = positionOf(offsetof(tprt_step_args, outputs)),
  Params = positionOf(offsetof(tprt_step_args, params)),
  Constants = positionOf(offsetof(tprt_step_args, constants)),
  Arena = positionOf(offsetof(tprt_step_args, arena)),
  Comm = positionOf(offsetof(tprt_step_args, comm)),
  Scratch = positionOf(offsetof(tprt_step_args, scratch)),
  ScratchStride = positionOf(offsetof(tprt_step_args, scratch_stride)),
  Workers = positionOf(offsetof(tprt_step_args, workers)),
  AxisIndex = positionOf(offsetof(tprt_step_args, axis_index)),
  Layer = positionOf(offsetof(tprt_step_args, layer)),
  NumMembers = positionOf(sizeof(tprt_step_args))
};

/// The position of the runtime's first function; slots count from there.
constexpr int firstFunction = positionOf(offsetof(tprt_api, gemm));
#define TP_NOTHING(name)
#define TP_CHECK(name, parameters)                                             \
  static_assert(positionOf(offsetof(tprt_api, name)) ==                        \
                firstFunction + TPRT_SLOT_##name);
TPRT_FUNCTIONS(TP_CHECK, TP_NOTHING, TP_NOTHING, TP_NOTHING, TP_NOTHING,
               TP_NOTHING)
#undef TP_CHECK
#undef TP_NOTHING

/// The place of a repeated layer's iteration.
struct Iteration {
  RepeatOp repeat;
  Value index; ///< i64, its place, from zero
  Value place; ///< the same counted over all loops around it
  /// Layers, by factor of the place and what is added.
  std::map<std::pair<int64_t, int64_t>, Value> layers;
  SmallVector<Value> current, next; ///< addresses of the carried values
};

class StepBuilder {
public:
  StepBuilder(func::FuncOp entry, const Tables &tables, bool launchesKernels)
      : entry(entry), tables(tables), launchesKernels(launchesKernels),
        builder(entry.getContext()), loc(entry.getLoc()),
        pointer(LLVM::LLVMPointerType::get(entry.getContext())),
        i32(builder.getI32Type()), i64(builder.getI64Type()) {}

  FailureOr<func::FuncOp> run();

private:
  func::FuncOp entry;
  const Tables &tables;
  bool launchesKernels;
  OpBuilder builder;
  Location loc;
  Type pointer, i32, i64;
  func::FuncOp step;
  Block *failed = nullptr; ///< returns its argument
  Value api, rank, args, context, zero;
  DenseMap<int64_t, Value> layersOutside; ///< of loops, by number
  DenseMap<int, Value> members;
  IRMapping scalars;
  DenseMap<Value, Value> addends; ///< addresses of those that peers have
  SmallVector<Iteration> iterations;
  Value noted; ///< the layer that the runtime has been told

  Value constant(int64_t value) {
    return arith::ConstantIntOp::create(builder, loc, value, 64);
  }
  Value constant32(int64_t value) {
    return arith::ConstantIntOp::create(builder, loc, value, 32);
  }
  Value null() { return LLVM::ZeroOp::create(builder, loc, pointer); }
  Value offsetBytes(Value address, int64_t bytes) {
    if (bytes == 0)
      return address;
    return offsetBytes(address, constant(bytes));
  }
  Value offsetBytes(Value address, Value bytes) {
    return LLVM::GEPOp::create(builder, loc, pointer, builder.getI8Type(),
                               address, ArrayRef<LLVM::GEPArg>{bytes});
  }
  Value loadAt(Value address, int64_t index, Type type) {
    return LLVM::LoadOp::create(builder, loc, type,
                                offsetBytes(address, 8 * index));
  }
  /// The model's layer that a call at `place` is in: the law that its name
  /// states, so that names and numbers agree.
  Value getLayer(Location place);
  Value layer() { return getLayer(loc); }
  /// Tells the runtime, for functions that are not told where they are called.
  void noteLayer() {
    if (Value now = layer(); now != noted)
      LLVM::StoreOp::create(builder, loc, noted = now, members[Layer]);
  }
  /// The iteration of the loop that `op` is directly in; null outside of loops.
  const Iteration *getIteration(Operation *op) const {
    auto found = llvm::find_if(iterations, [&](const Iteration &iteration) {
      return iteration.repeat == op->getParentOp();
    });
    return found == iterations.end() ? nullptr : &*found;
  }

  /// Calls a function of the table and leaves with its status if it failed.
  void callRuntime(int slot, ValueRange arguments);
  LogicalResult emitBlock(Block &block);
  LogicalResult emitOp(Operation *op);
  void storeArguments(ValueRange arguments);
  LogicalResult launch(Operation *op, StringRef kernel, ValueRange arguments);
  LogicalResult launchLibrary(const LibrarySite &site,
                              SmallVector<Value> arguments);
  LogicalResult emitRows(func::CallOp call, func::FuncOp kernel);
  LogicalResult emitLibrary(Operation *op);
  /// The arguments of the site's own call behind the rank, without the id.
  FailureOr<SmallVector<Value>> getArguments(const LibrarySite &site);
  LogicalResult emitPeers(PeersOp op);
  LogicalResult emitRepeat(RepeatOp op);
  LogicalResult emitRank(RankOp op);
  Value getParameter(ParameterOp op);
  FailureOr<Value> getAddress(Value value);
  FailureOr<Value> getPlace(Operation *op, BufferAttr buffer, Type type);
};

} // namespace

void StepBuilder::callRuntime(int slot, ValueRange arguments) {
  SmallVector<Value> operands{loadAt(api, firstFunction + slot, pointer), rank};
  llvm::append_range(operands, arguments);
  SmallVector<Type> types(ValueRange(operands).drop_front().getTypes());
  auto call = LLVM::CallOp::create(
      builder, loc, LLVM::LLVMFunctionType::get(i32, types), operands);
  Value status = call.getResult();
  Value isBad = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne,
                                      status, constant32(0));
  Block *next = builder.createBlock(&step.getBody(), failed->getIterator());
  builder.setInsertionPointAfter(isBad.getDefiningOp());
  cf::CondBranchOp::create(builder, loc, isBad, failed, ValueRange{status},
                           next, ValueRange{});
  builder.setInsertionPointToStart(next);
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

Value StepBuilder::getParameter(ParameterOp op) {
  Value slot = constant(tables.getSlot(op));
  const Iteration *iteration = getIteration(op);
  if (op.isTemplate() && iteration)
    slot = arith::AddIOp::create(builder, loc, slot, iteration->index);
  Value offset = arith::MulIOp::create(builder, loc, slot, constant(8));
  return LLVM::LoadOp::create(builder, loc, pointer,
                              offsetBytes(members[Params], offset));
}

/// The place `buffer` of a result of `op` of type `type`.
FailureOr<Value> StepBuilder::getPlace(Operation *op, BufferAttr buffer,
                                       Type type) {
  StringRef space = buffer.getSpace().getValue();
  int64_t offset = buffer.getOffset();
  if (space == "arena")
    return offsetBytes(members[Arena], offset);
  if (space == "slot")
    return offsetBytes(members[Comm], offset);
  if (space == "comm") {
    auto slots = entry->getAttrOfType<IntegerAttr>(slotBytesAttrName);
    return offsetBytes(members[Comm], offset + (slots ? slots.getInt() : 0));
  }
  if (space == "output")
    return loadAt(members[Outputs], offset, pointer);
  // The iteration is that of the loop that makes the value, whichever reads it.
  const Iteration *iteration = getIteration(op);
  if (iteration && space == "next")
    return iteration->next[offset];
  if (iteration && space == "stacked") {
    RepeatOp repeat = iteration->repeat;
    OpResult result = repeat.getStackedResults()[offset];
    FailureOr<Value> base = getAddress(result);
    if (::mlir::failed(base))
      return failure();
    Value moved = arith::MulIOp::create(
        builder, loc, iteration->index,
        constant(getTensorBytes(cast<RankedTensorType>(type))));
    return offsetBytes(*base, moved);
  }
  return op->emitOpError("has an unknown place ") << buffer;
}

FailureOr<Value> StepBuilder::getAddress(Value value) {
  ViewedTensor view = getViewedTensor(value);
  FailureOr<Value> base = failure();
  if (auto argument = dyn_cast<BlockArgument>(view.root)) {
    if (argument.getOwner() == &entry.getBody().front()) {
      base = loadAt(members[Inputs], argument.getArgNumber(), pointer);
    } else {
      for (Iteration &iteration : iterations) {
        RepeatOp repeat = iteration.repeat;
        if (argument.getOwner() != repeat.getBodyBlock())
          continue;
        unsigned number = argument.getArgNumber() - 1;
        if (number < repeat.getInits().size()) {
          base = iteration.current[number];
          continue;
        }
        FailureOr<Value> whole =
            getAddress(repeat.getStacked()[number - repeat.getInits().size()]);
        if (::mlir::failed(whole))
          return failure();
        Value moved = arith::MulIOp::create(
            builder, loc, iteration.index,
            constant(
                getTensorBytes(cast<RankedTensorType>(argument.getType()))));
        base = offsetBytes(*whole, moved);
      }
    }
  } else {
    Operation *op = view.root.getDefiningOp();
    unsigned result = cast<OpResult>(view.root).getResultNumber();
    if (auto parameter = dyn_cast<ParameterOp>(op)) {
      base = getParameter(parameter);
    } else if (isa<PeersOp>(op)) {
      base = addends.lookup(view.root);
    } else if (isa<arith::ConstantOp>(op)) {
      base = offsetBytes(members[Constants], tables.getConstantOffset(op));
    } else if (auto buffers = op->getAttrOfType<ArrayAttr>(buffersAttrName)) {
      size_t index = result;
      if (auto repeat = dyn_cast<RepeatOp>(op)) {
        size_t carried = repeat.getInits().size();
        index = result < carried ? 2 * result + repeat.getCount() % 2
                                 : carried + result;
      }
      base =
          getPlace(op, cast<BufferAttr>(buffers[index]), view.root.getType());
    } else {
      return op->emitOpError("has no place in memory");
    }
  }
  if (::mlir::failed(base))
    return entry.emitOpError("has a tensor without a place in memory");
  return offsetBytes(*base, view.byteOffset);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// The number in the path of a module, as in `layers.3.mlp`; 0 in others. The
/// first is the layer's: what is repeated within a layer has its own behind it.
static int64_t getLayerOfPath(StringRef path) {
  SmallVector<StringRef> parts;
  int32_t number;
  if (!path.contains(':')) // A place in a file is none.
    path.split(parts, '.');
  for (StringRef part : parts)
    if (llvm::all_of(part, llvm::isDigit) && !part.getAsInteger(10, number))
      return number;
  return 0;
}

Value StepBuilder::getLayer(Location place) {
  if (iterations.empty()) {
    int64_t number = getLayerOfPath(toString(place));
    Value &layer = layersOutside.try_emplace(number, zero).first->second;
    if (number != 0 && layer == zero) {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointAfterValue(zero);
      layer = constant(number);
    }
    return layer;
  }
  Iteration &iteration = iterations.back();
  // An operation without a layer's name is in the first layer of its loop.
  tprt::LayerNumber number{};
  for (Location named : {place, iteration.repeat.getLoc()})
    if (auto found = tprt::findLayerNumber(toString(named));
        found && found->scale > 0) {
      number = *found;
      break;
    }
  int64_t first = number.of(iteration.repeat.getFirstIndex());
  Value &layer = iteration.layers[{number.scale, first}];
  if (layer)
    return layer;
  layer = iteration.place;
  if (number.scale != 1)
    layer = arith::MulIOp::create(builder, loc, layer, constant(number.scale));
  if (first != 0)
    layer = arith::AddIOp::create(builder, loc, layer, constant(first));
  return layer;
}

void StepBuilder::storeArguments(ValueRange arguments) {
  for (auto [i, argument] : llvm::enumerate(arguments))
    LLVM::StoreOp::create(builder, loc, argument, offsetBytes(context, 8 * i));
}

LogicalResult StepBuilder::launch(Operation *op, StringRef kernel,
                                  ValueRange arguments) {
  int64_t id = tables.getKernel(kernel);
  const KernelEntry &entry = tables.kernels[id];
  SmallVector<Value> all(arguments);
  for (int64_t number : entry.numbers)
    all.push_back(constant(number));
  if (int64_t(all.size()) != entry.arguments)
    return op->emitOpError("passes ")
           << all.size() << " arguments to a kernel of " << entry.arguments;
  storeArguments(all);
  callRuntime(TPRT_SLOT_launch, {constant32(id), layer(), context});
  return success();
}

/// The kernels that the target has for a library's operation, in order.
LogicalResult StepBuilder::launchLibrary(const LibrarySite &site,
                                         SmallVector<Value> arguments) {
  auto scratch = site.op->getAttrOfType<IntegerAttr>(scratchBytesAttrName);
  if (scratch && scratch.getInt() > 0)
    arguments.push_back(members[Scratch]);
  for (StringRef kernel : getKernels(site.op))
    if (::mlir::failed(launch(site.op, kernel, arguments)))
      return failure();
  return success();
}

LogicalResult StepBuilder::emitRows(func::CallOp call, func::FuncOp kernel) {
  SmallVector<Value> slots;
  for (Value operand : call.getOperands()) {
    if (!isa<RankedTensorType>(operand.getType())) {
      Value scalar = scalars.lookup(operand);
      if (scalar.getType().isIndex())
        scalar = arith::IndexCastOp::create(builder, loc, i64, scalar);
      slots.push_back(scalar);
      continue;
    }
    FailureOr<Value> address = getAddress(operand);
    if (::mlir::failed(address))
      return failure();
    slots.push_back(*address);
  }
  for (Value result : call.getResults()) {
    FailureOr<Value> address = getAddress(result);
    if (::mlir::failed(address))
      return failure();
    slots.push_back(*address);
  }
  if (launchesKernels) {
    auto scratch = kernel->getAttrOfType<IntegerAttr>(scratchBytesAttrName);
    if (scratch && scratch.getInt() > 0)
      slots.push_back(members[Scratch]);
    return launch(call, call.getCallee(), slots);
  }
  auto body = kernel->getAttrOfType<FlatSymbolRefAttr>(bodyAttrName);
  if (!body)
    return call.emitOpError("calls a kernel without code: run "
                            "tp-generate-kernels first");
  llvm::append_values(slots, members[Scratch], members[ScratchStride]);
  storeArguments(slots);
  callRuntime(TPRT_SLOT_mark,
              {constant32(tables.getKernel(call.getCallee())), layer()});
  auto number = [&](StringRef name) {
    return constant(kernel->getAttrOfType<IntegerAttr>(name).getInt());
  };
  auto function = func::ConstantOp::create(
      builder, loc, builder.getFunctionType({pointer, i64, i64, i64}, {}),
      body);
  Value address = UnrealizedConversionCastOp::create(
                      builder, loc, TypeRange{pointer}, ValueRange{function})
                      .getResult(0);
  callRuntime(
      TPRT_SLOT_parallel_for,
      {address, context, number(rowCountAttrName), number(leastRowsAttrName)});
  return success();
}

FailureOr<SmallVector<Value>>
StepBuilder::getArguments(const LibrarySite &site) {
  LibraryCall call = site.op.getLibraryCall(site.use);
  SmallVector<Value> arguments(call.arguments.size());
  for (auto [i, argument] : llvm::enumerate(call.arguments)) {
    auto *address = std::get_if<LibraryAddress>(&argument);
    if (!address)
      continue;
    Value actual = address->value ? site.getActual(address->value) : Value();
    FailureOr<Value> found = actual ? getAddress(actual) : null();
    if (::mlir::failed(found))
      return failure();
    arguments[i] = *found;
  }
  for (auto [i, argument] : llvm::enumerate(call.arguments))
    if (auto *number = std::get_if<int64_t>(&argument))
      arguments[i] = constant(*number);
  return arguments;
}

LogicalResult StepBuilder::emitLibrary(Operation *op) {
  ArrayRef<LibrarySite> sites = tables.getSites(op);
  int64_t slot = 0; // of `context`, where the arguments of joined calls are
  for (const LibrarySite &site : sites) {
    LibraryCall call = site.op.getLibraryCall(site.use);
    FailureOr<SmallVector<Value>> arguments = getArguments(site);
    if (::mlir::failed(arguments))
      return failure();
    if (tables.launches(call.name))
      return launchLibrary(site, std::move(*arguments));
    if (sites.size() == 1) {
      if (call.hasId)
        arguments->insert(arguments->begin(), constant32(site.description));
      noteLayer();
      callRuntime(call.slot, *arguments);
      return success();
    }
    if (call.hasId)
      arguments->insert(arguments->begin(), constant(site.description));
    for (Value argument : *arguments)
      LLVM::StoreOp::create(builder, loc, argument,
                            offsetBytes(context, 8 * slot++));
  }
  noteLayer();
  callRuntime(sites.front().op.getJoinedForm()->slot,
              {constant(sites.size()), context});
  return success();
}

LogicalResult StepBuilder::emitRank(RankOp op) {
  MeshAttr mesh = lookupMesh(op, op.getMeshAttr()).getMesh();
  Value index = zero;
  for (AxisRefAttr ref : op.getAxes().getAxes()) {
    int64_t position = 0, total = 1;
    for (auto [i, axis] : llvm::enumerate(mesh.getAxes()))
      if (axis.getName() == ref.getName()) {
        position = i;
        total = axis.getSize();
      }
    int64_t size = ref.getSize() == 0 ? total : ref.getSize();
    int64_t pre = ref.getSize() == 0 ? 1 : ref.getPre();
    Value at = loadAt(members[AxisIndex], position, i64);
    at = arith::DivUIOp::create(builder, loc, at,
                                constant(total / (pre * size)));
    at = arith::RemUIOp::create(builder, loc, at, constant(size));
    index = arith::MulIOp::create(builder, loc, index, constant(size));
    index = arith::AddIOp::create(builder, loc, index, at);
  }
  scalars.map(op.getResult(),
              Value(arith::IndexCastOp::create(builder, loc,
                                               builder.getIndexType(), index)));
  return success();
}

LogicalResult StepBuilder::emitRepeat(RepeatOp op) {
  // Its results are where its initial values are.
  if (op.getCount() == 0)
    return success();
  auto buffers = op->getAttrOfType<ArrayAttr>(buffersAttrName);
  size_t carried = op.getInits().size();
  if (!buffers || buffers.size() != op->getNumResults() + carried)
    return op.emitOpError("has no place for each value that it carries: run "
                          "tp-schedule-pipeline first");
  SmallVector<Value> initial{zero};
  SmallVector<Type> types{i64};
  for (int place : {0, 1})
    for (size_t i = 0; i < carried; ++i) {
      FailureOr<Value> address =
          getPlace(op, cast<BufferAttr>(buffers[2 * i + place]),
                   op->getResult(i).getType());
      if (::mlir::failed(address))
        return failure();
      initial.push_back(*address);
      types.push_back(pointer);
    }
  Block *before = builder.getInsertionBlock();
  Block *header =
      builder.createBlock(&step.getBody(), failed->getIterator(), types,
                          SmallVector<Location>(types.size(), loc));
  Block *after = builder.createBlock(&step.getBody(), failed->getIterator());
  builder.setInsertionPointToEnd(before);
  cf::BranchOp::create(builder, loc, header, initial);
  builder.setInsertionPointToStart(header);
  Value done = header->getArgument(0), place = done;
  if (op.getReverse())
    place =
        arith::SubIOp::create(builder, loc, constant(op.getCount() - 1), done);
  Iteration iteration{op, place, place, {}, {}, {}};
  if (!iterations.empty())
    iteration.place = arith::AddIOp::create(
        builder, loc, iteration.index,
        arith::MulIOp::create(builder, loc, iterations.back().place,
                              constant(op.getCount())));
  for (size_t i = 0; i < carried; ++i) {
    iteration.current.push_back(header->getArgument(1 + i));
    iteration.next.push_back(header->getArgument(1 + carried + i));
  }
  iterations.push_back(iteration);
  noted = {};
  Value number = arith::AddIOp::create(builder, loc, iteration.index,
                                       constant(op.getFirstIndex()));
  scalars.map(op.getIndex(),
              Value(arith::IndexCastOp::create(
                  builder, loc, builder.getIndexType(), number)));
  if (::mlir::failed(emitBlock(*op.getBodyBlock())))
    return failure();
  iterations.pop_back();
  Value next = arith::AddIOp::create(builder, loc, done, constant(1));
  Value again = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                      next, constant(op.getCount()));
  SmallVector<Value> arguments{next};
  llvm::append_range(arguments, iteration.next);
  llvm::append_range(arguments, iteration.current);
  cf::CondBranchOp::create(builder, loc, again, header, arguments, after,
                           ValueRange{});
  after->moveBefore(failed);
  builder.setInsertionPointToStart(after);
  noted = {};
  return success();
}

/// The addresses of the addends are known from here on.
LogicalResult StepBuilder::emitPeers(PeersOp op) {
  FailureOr<Value> in = getAddress(op.getInput());
  if (::mlir::failed(in))
    return failure();
  callRuntime(TPRT_SLOT_peers,
              {constant32(tables.getCollective(op)), layer(), *in, context});
  for (auto [i, addend] : llvm::enumerate(op.getAddends()))
    addends[addend] = loadAt(context, i, pointer);
  return success();
}

static bool isTensor(Value value) { return isa<TensorType>(value.getType()); }

LogicalResult StepBuilder::emitOp(Operation *op) {
  loc = op->getLoc();
  if (auto call = dyn_cast<func::CallOp>(op)) {
    auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
        call, call.getCalleeAttr());
    auto kind = kernel->getAttrOfType<StringAttr>(kernelAttrName).getValue();
    return kind == "rows" ? emitRows(call, kernel) : emitLibrary(call);
  }
  if (isa<LibraryOpInterface>(op))
    return emitLibrary(op);
  if (auto peers = dyn_cast<PeersOp>(op))
    return emitPeers(peers);
  if (auto meet = dyn_cast<MeetOp>(op)) {
    callRuntime(TPRT_SLOT_peers,
                {constant32(tables.getMeeting(meet)), layer(), null(), null()});
    return success();
  }
  if (isa<CollectiveOpInterface>(op)) {
    FailureOr<Value> in = getAddress(op->getOperand(0));
    FailureOr<Value> out = getAddress(op->getResult(0));
    if (::mlir::failed(in) || ::mlir::failed(out))
      return failure();
    callRuntime(TPRT_SLOT_collective,
                {constant32(tables.getCollective(op)), layer(), *in, *out});
    return success();
  }
  if (auto await = dyn_cast<AwaitOp>(op)) {
    Operation *collective = await.getStarted().getDefiningOp();
    callRuntime(TPRT_SLOT_wait, {constant32(tables.getCollective(collective)),
                                 getLayer(collective->getLoc())});
    return success();
  }
  if (auto repeat = dyn_cast<RepeatOp>(op))
    return emitRepeat(repeat);
  if (auto rankOp = dyn_cast<RankOp>(op))
    return emitRank(rankOp);
  // These are addresses: computed where used.
  if (isa<ParameterOp, tensor::EmptyOp, JoinOp>(op) || isView(op) ||
      (isa<arith::ConstantOp>(op) && isTensor(op->getResult(0))))
    return success();
  if (llvm::any_of(op->getOperands(), isTensor) ||
      llvm::any_of(op->getResults(), isTensor))
    return op->emitOpError("computes with tensors outside of a kernel: run "
                           "tp-schedule-pipeline first");
  builder.clone(*op, scalars);
  return success();
}

LogicalResult StepBuilder::emitBlock(Block &block) {
  for (Operation &op : block.without_terminator())
    if (::mlir::failed(emitOp(&op)))
      return failure();
  return success();
}

FailureOr<func::FuncOp> StepBuilder::run() {
  builder.setInsertionPoint(entry);
  step = func::FuncOp::create(
      builder, loc, (entry.getName() + ".step").str(),
      builder.getFunctionType({pointer, pointer, pointer}, {i32}));
  step.setPrivate();
  Block *first = step.addEntryBlock();
  failed =
      builder.createBlock(&step.getBody(), step.getBody().end(), {i32}, {loc});
  func::ReturnOp::create(builder, loc, failed->getArgument(0));
  builder.setInsertionPointToStart(first);
  api = first->getArgument(0);
  rank = first->getArgument(1);
  args = first->getArgument(2);
  zero = constant(0);
  for (int member = 0; member < NumMembers; ++member)
    members[member] =
        loadAt(args, member,
               member == ScratchStride || member == Workers ? i64 : pointer);
  // One context for all kernels and joined calls: parallel_for and the library
  // return when they are done, launch when it has read it.
  size_t slots = 2;
  for (const KernelEntry &kernel : tables.kernels)
    slots = std::max<size_t>(slots, kernel.arguments);
  entry.walk([&](func::CallOp call) {
    size_t own = call.getNumOperands() + call.getNumResults() + 2;
    for (const LibrarySite &site : tables.getSites(call))
      own += site.op.getLibraryCall(site.use).arguments.size() + 1;
    slots = std::max(slots, own);
  });
  entry.walk([&](PeersOp op) {
    slots = std::max<size_t>(slots, op->getNumResults());
  });
  context = LLVM::AllocaOp::create(builder, loc, pointer, i64, constant(slots),
                                   /*alignment=*/8);
  if (::mlir::failed(emitBlock(entry.getBody().front())))
    return failure();
  func::ReturnOp::create(builder, loc, constant32(0));
  return step;
}

namespace {
struct LowerStepPass : tp::impl::LowerStepBase<LowerStepPass> {
  using LowerStepBase::LowerStepBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    OpBuilder builder(module);
    if (failed(expectPerRank(module)))
      return signalPassFailure();
    bool launchesKernels = target->getTraits().launchesKernels;
    if (launchesKernels)
      getOrCreateKernelsModule(module);
    FailureOr<Tables> tables = Tables::build(module, *target);
    if (failed(tables))
      return signalPassFailure();
    SmallVector<Attribute> steps;
    for (func::FuncOp entry : tables->entries) {
      FailureOr<func::FuncOp> step =
          StepBuilder(entry, *tables, launchesKernels).run();
      if (failed(step))
        return signalPassFailure();
      steps.push_back(FlatSymbolRefAttr::get(step->getNameAttr()));
    }
    std::string manifest;
    llvm::raw_string_ostream(manifest)
        << tables->getManifest(module, llvm::json::Object());
    module->setAttr(manifestAttrName, builder.getStringAttr(manifest));
    module->setAttr(constantsAttrName,
                    builder.getStringAttr(tables->constants));
    module->setAttr(entriesAttrName, builder.getArrayAttr(steps));
    // Only code is left; the tables have the rest.
    for (auto function : llvm::to_vector(module.getOps<func::FuncOp>())) {
      auto kind = function->getAttrOfType<StringAttr>(kernelAttrName);
      if (kind && kind.getValue() == "body")
        function->removeAttr(kernelAttrName);
      else if (kind || llvm::is_contained(tables->entries, function))
        function.erase();
    }
    for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
      if (isa<MeshOp, StateOp>(op))
        op.erase();
  }
};
} // namespace
