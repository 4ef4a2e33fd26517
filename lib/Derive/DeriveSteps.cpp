//===- DeriveSteps.cpp - tp-derive-steps ----------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chooses the sizes of the steps, and writes them. How many positions the
// program's tables have shows when a step is written, so that the smallest is
// written twice.
//
//===----------------------------------------------------------------------===//

#include "tp/Derive/DeriveSteps.h"
#include "StepWriter.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "tp/Derive/Passes.h"
#include "tp/Dialect/TP/IR/ModelAttributes.h"
#include "tp/Dialect/TP/IR/Sizes.h"

namespace tp {
#define GEN_PASS_DEF_DERIVESTEPS
#include "tp/Derive/Passes.h.inc"
} // namespace tp

using namespace mlir;
using namespace tp;

static constexpr int64_t maxRows = 4096, maxChunk = 65536;

static constexpr llvm::StringLiteral cacheTypeNames[] = {"f32", "bf16", "f16",
                                                         "fp8", "int8"};

StringRef tp::getName(CacheType type) { return cacheTypeNames[int(type)]; }

std::optional<CacheType> tp::parseCacheType(StringRef name) {
  const auto *found = llvm::find(cacheTypeNames, name);
  if (found == std::end(cacheTypeNames))
    return std::nullopt;
  return CacheType(found - std::begin(cacheTypeNames));
}

SmallVector<int64_t> GenerateOptions::getStepSizes() const {
  SmallVector<int64_t> sizes;
  for (int64_t tokens = 1; tokens < chunk; tokens *= 2)
    sizes.push_back(tokens);
  sizes.push_back(chunk);
  return sizes;
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

static LogicalResult checkRange(Operation *op, StringRef option, int64_t value,
                                int64_t most, StringRef what) {
  if (value >= 1 && value <= most)
    return success();
  return op->emitError() << "expected --" << option << " to be from 1 to "
                         << what << " " << most << ", got " << value;
}

static int64_t getBytes(RankedTensorType type) {
  return type.getNumElements() * type.getElementTypeBitWidth() / 8;
}

/// Returns as many tokens that the keys and values of a page take no less than
/// the states of linear attention that are kept of it, but few enough that
/// texts find pages to share, and no more than a text may have.
static int64_t choosePage(const CacheStates &states,
                          const GenerateOptions &options) {
  constexpr int64_t mostTokens = 512;
  int64_t cellBytes = 0, stateBytes = 0;
  for (const auto &[op, all] : states)
    for (const CacheState &state : all) {
      if (isa<nn::AttentionOp>(op))
        cellBytes += getBytes(state.type) / options.getCells();
      else if (isa<nn::GatedDeltaRuleOp>(op))
        stateBytes += getBytes(state.type) / options.getPages();
    }
  int64_t page = GenerateOptions::defaultPage;
  int64_t longest = std::min(mostTokens, options.context);
  while (stateBytes > 0 && 2 * page <= longest && page * cellBytes < stateBytes)
    page *= 2;
  return page;
}

/// Returns the widest window of all attention, behind which pages are freed; 0
/// if some attention sees everything.
static int64_t findWindow(const CacheStates &states, int64_t context) {
  int64_t widest = 0;
  for (const auto &[op, all] : states)
    if (auto attention = dyn_cast<nn::AttentionOp>(op)) {
      if (!attention.getWindow() || int64_t(*attention.getWindow()) >= context)
        return 0;
      widest = std::max<int64_t>(widest, *attention.getWindow());
    }
  return widest;
}

namespace {
class Deriver {
public:
  Deriver(func::FuncOp source, const GenerateRequest &request,
          CacheScales scales)
      : source(source), request(request), scales(scales), realTokens(source) {}

  FailureOr<GenerateOptions> run();

private:
  LogicalResult chooseContext(const TokenDims &dims, const LogitsPath &path);
  LogicalResult chooseSizes(const TokenDims &dims);
  StepPlan makePlan(const TokenDims &dims, const LogitsPath &path);
  CacheStates getStates(const TokenDims &dims) {
    return chooseStates(source, dims, options, hasCellScales());
  }
  /// Whether a quantised cache has scales of its own, and not the checkpoint's.
  bool hasCellScales() const { return options.isCacheQuantized() && !scales; }
  void note(const TokenDims &dims, const LogitsPath &path);

  func::FuncOp source;
  const GenerateRequest &request;
  CacheScales scales;
  RealTokens realTokens;
  GenerateOptions options;
};
} // namespace

StepPlan Deriver::makePlan(const TokenDims &dims, const LogitsPath &path) {
  return {source,          dims,      path, options, getStates(dims), scales,
          hasCellScales(), realTokens};
}

/// Makes a parameter that is the first rows, along `dim`, of a longer table the
/// whole table, of which the program takes those.
static void readWholeTable(ParameterOp part, unsigned dim) {
  OpBuilder builder(part);
  auto type = cast<RankedTensorType>(part.getType());
  ParameterSourceAttr box = part.getSourceAttr();
  int64_t in = box.getPermutation()[dim];
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] = box.getShape()[in] - box.getOffsets()[in];
  auto whole = cast<ParameterOp>(builder.clone(*part));
  whole.getResult().setType(type.clone(shape));
  bool isAll =
      ArrayRef(shape) == box.getShape() &&
      llvm::equal(box.getPermutation(), llvm::seq<int64_t>(0, type.getRank()));
  if (isAll)
    whole.removeSourceAttr();
  SmallVector<OpFoldResult> offsets(type.getRank(), builder.getIndexAttr(0)),
      strides(type.getRank(), builder.getIndexAttr(1)),
      sizes = getAsIndexOpFoldResult(builder.getContext(), type.getShape());
  auto rows = tensor::ExtractSliceOp::create(builder, part.getLoc(), whole,
                                             offsets, sizes, strides);
  part.replaceAllUsesWith(rows.getResult());
  part.erase();
}

/// Writes a step of one token, and takes it away again, to see how many
/// positions there are.
LogicalResult Deriver::chooseContext(const TokenDims &dims,
                                     const LogitsPath &path) {
  auto module = source->getParentOfType<ModuleOp>();
  llvm::SmallPtrSet<Operation *, 8> before;
  for (Operation &op : *module.getBody())
    before.insert(&op);
  options.context = 1;
  StepPlan plan = makePlan(dims, path);
  StepWriter writer(plan, /*tokens=*/1);
  bool isWritten = succeeded(writer.write());
  for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
    if (!before.contains(&op))
      op.erase();
  if (!isWritten)
    return failure();
  int64_t limit = writer.getPositionLimit();
  Location limitLoc = source.getLoc();
  std::string limitedBy;
  auto known = module->getAttrOfType<IntegerAttr>(positionsAttrName);
  if (known && (!limit || known.getInt() < limit)) {
    limit = known.getInt();
    limitedBy = "so many are known of it (" + positionsAttrName.str() +
                "); beyond them a mask or a scale is another one";
  } else if (limit) {
    limitLoc = writer.getLimitingOp()->getLoc();
    auto parameter = dyn_cast<ParameterOp>(writer.getLimitingOp());
    limitedBy = parameter
                    ? ("so many rows has \"" + parameter.getName() + "\"").str()
                    : "for so many it has a table; a program exported on "
                      "longer sequences has a longer one";
  }
  for (auto [parameter, dim] : writer.getTableParts())
    readWholeTable(parameter, dim);
  options.context = request.context.value_or(
      limit ? std::min(limit, request.defaultContext) : request.defaultContext);
  if (!limit || (options.context >= 1 && options.context <= limit))
    return checkRange(source, "context", options.context, maxElements,
                      "at most");
  InFlightDiagnostic diag = mlir::emitError(source.getLoc())
                            << "expected --context to be from 1 to the "
                            << limit << " positions that the program has, got "
                            << options.context;
  diag.attachNote(limitLoc) << limitedBy;
  return diag;
}

LogicalResult Deriver::chooseSizes(const TokenDims &dims) {
  options.rows = request.rows.value_or(options.rows);
  options.chunk =
      request.chunk.value_or(std::min(request.defaultChunk, options.context));
  if (failed(checkRange(source, "rows", options.rows, maxRows, "at most")) ||
      failed(checkRange(source, "chunk", options.chunk, maxChunk, "at most")))
    return failure();
  options.page = request.page.value_or(choosePage(getStates(dims), options));
  if (failed(checkRange(source, "page", options.page, GenerateOptions::maxPage,
                        "at most")))
    return failure();
  options.cells = request.cells.value_or(0);
  if (request.cells &&
      failed(checkRange(source, "cells", options.cells, options.getMostCells(),
                        "what all rows can fill,")))
    return failure();
  CacheStates states = getStates(dims);
  for (const auto &[op, all] : states)
    for (const CacheState &state : all) {
      double elements = 1;
      for (int64_t size : state.type.getShape())
        elements *= double(size);
      if (elements > double(maxElements))
        return mlir::emitError(source.getLoc())
               << "a cache of " << options.rows << " rows of "
               << options.context
               << " positions is too large: expected fewer --rows, a shorter "
                  "--context or fewer --cells";
    }
  options.window = findWindow(states, options.context);
  return success();
}

/// Says what an engine needs to know, beside what the module says already.
void Deriver::note(const TokenDims &dims, const LogitsPath &path) {
  auto module = source->getParentOfType<ModuleOp>();
  Builder builder(module.getContext());
  NamedAttrList entries;
  if (auto said = module->getAttrOfType<DictionaryAttr>(generationAttrName))
    entries.append(said.begin(), said.end());
  auto set = [&](StringRef name, int64_t value) {
    entries.set(name, builder.getI64IntegerAttr(value));
  };
  set("page", options.page);
  set("context", options.context);
  set("rows", options.rows);
  set("cells", options.getCells());
  set("chunk", options.chunk);
  set("vocabulary",
      cast<RankedTensorType>(path.logits.getType()).getShape().back());
  set("window", options.window);
  int64_t inputs = 0;
  source.walk([&](nn::CausalConvOp op) {
    if (dims.findOp(op))
      inputs = std::max<int64_t>(
          inputs,
          cast<RankedTensorType>(op.getWeight().getType()).getDimSize(2) - 1);
  });
  if (inputs)
    set("conv_inputs", inputs);
  if (!entries.get("stop_ids"))
    entries.set("stop_ids", builder.getDenseI64ArrayAttr({}));
  module->setAttr(generationAttrName,
                  entries.getDictionary(module.getContext()));
}

/// Returns the operations of `block` that depend on `value`, in a loop or not.
static llvm::SetVector<Operation *> getReaders(Block &block, Value value) {
  llvm::SetVector<Operation *> readers;
  auto add = [&](Value read) {
    for (Operation *user : read.getUsers())
      readers.insert(block.findAncestorOpInBlock(*user));
  };
  add(value);
  for (size_t i = 0; i < readers.size(); ++i)
    for (Value result : readers[i]->getResults())
      add(result);
  return readers;
}

/// Fails if all results need an argument that steps have not, such as positions
/// that a caller gives: ids, and what a mask of attention is made of, are fine.
static LogicalResult expectIdsAlone(func::FuncOp source) {
  BlockArgument ids = findIds(source);
  llvm::SetVector<Operation *> ofMasks;
  llvm::DenseSet<Value> masks;
  source.walk([&](nn::AttentionOp op) {
    if (!op.getMask())
      return;
    masks.insert(op.getMask());
    (void)getBackwardSlice(op.getMask(), &ofMasks);
  });
  for (Operation *op : ofMasks)
    masks.insert(op->operand_begin(), op->operand_end());
  for (BlockArgument argument : source.getArguments()) {
    if (!ids || argument == ids || masks.contains(argument))
      continue;
    llvm::SetVector<Operation *> users = getReaders(source.front(), argument);
    Operation *end = source.front().getTerminator();
    if (llvm::all_of(end->getOperands(), [&](Value result) {
          return users.contains(result.getDefiningOp());
        }))
      return refuse(source, argument);
  }
  return success();
}

FailureOr<GenerateOptions> Deriver::run() {
  if (!source.isExternal() && failed(expectIdsAlone(source)))
    return failure();
  FailureOr<TokenDims> dims = TokenDims::analyse(source);
  if (failed(dims))
    return failure();
  FailureOr<LogitsPath> path = findLogits(source, *dims);
  if (failed(path))
    return failure();
  options.cacheType = request.cacheType;
  if (failed(chooseContext(*dims, *path)) || failed(chooseSizes(*dims)))
    return failure();
  StepPlan plan = makePlan(*dims, *path);
  for (int64_t tokens : options.getStepSizes())
    if (failed(StepWriter(plan, tokens).write()))
      return failure();
  note(*dims, *path);
  return options;
}

FailureOr<GenerateOptions> tp::deriveSteps(func::FuncOp source,
                                           const GenerateRequest &request,
                                           CacheScales scales) {
  return Deriver(source, request, scales).run();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {
struct DeriveStepsPass : public tp::impl::DeriveStepsBase<DeriveStepsPass> {
  using DeriveStepsBase::DeriveStepsBase;

  void runOnOperation() override {
    auto source = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!source) {
      emitError(getOperation().getLoc())
          << "steps of generation cannot be derived: expected a function @main";
      return signalPassFailure();
    }
    GenerateRequest request = defaults;
    auto set = [](std::optional<int64_t> &into, int64_t value) {
      if (value != 0)
        into = value;
    };
    set(request.context, context);
    set(request.rows, rows);
    set(request.chunk, chunk);
    set(request.page, page);
    set(request.cells, cells);
    if (!kvDtype.empty() && !(request.cacheType = parseCacheType(kvDtype))) {
      emitError(getOperation().getLoc())
          << "for kv-dtype: expected f32, bf16, f16, fp8 or int8, got '"
          << kvDtype << "'";
      return signalPassFailure();
    }
    if (failed(deriveSteps(source, request)))
      signalPassFailure();
  }

  GenerateRequest defaults; ///< where the options say nothing
};
} // namespace

std::unique_ptr<Pass> tp::createDeriveSteps(const GenerateRequest &request) {
  DeriveStepsOptions options;
  options.context = request.context.value_or(0);
  options.rows = request.rows.value_or(options.rows);
  options.chunk = request.chunk.value_or(0);
  options.page = request.page.value_or(0);
  options.cells = request.cells.value_or(0);
  if (request.cacheType)
    options.kvDtype = getName(*request.cacheType).str();
  auto pass = std::make_unique<DeriveStepsPass>(options);
  pass->defaults.defaultContext = request.defaultContext;
  pass->defaults.defaultChunk = request.defaultChunk;
  return pass;
}
