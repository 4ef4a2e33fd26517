//===- Tables.cpp - What an artifact lists beside its code ----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collects the tables from the scheduled program.
//
//===----------------------------------------------------------------------===//

#include "Tables.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "tp/Dialect/TP/IR/ParameterNames.h"
#include "tp/Resolve/Provenance.h"
#include "tp/Schedule/RowKernels.h"
#include "tp/Schedule/Views.h"
#include "tp/Support/Bytes.h"

using namespace mlir;
using namespace tp;
namespace json = llvm::json;

int64_t tp::getRepetitions(Operation *op) {
  int64_t count = 1;
  for (auto repeat = op->getParentOfType<RepeatOp>(); repeat;
       repeat = repeat->getParentOfType<RepeatOp>())
    count *= repeat.getCount();
  return count;
}

static func::FuncOp getCallee(func::CallOp call) {
  return SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      call, call.getCalleeAttr());
}

/// Adds the place of `op` to those of a kernel or call, if it has one.
static void addLocation(Operation *op, std::vector<std::string> &locations) {
  std::string location = toString(op->getLoc());
  if (!location.empty() && !llvm::is_contained(locations, location))
    locations.push_back(std::move(location));
}

LogicalResult Tables::addKernel(Operation *user, StringRef name) {
  auto [found, isNew] = kernelOf.try_emplace(name, kernels.size());
  if (!isNew) {
    addLocation(user, kernels[found->second].locations);
    return success();
  }
  KernelEntry entry;
  entry.name = name;
  if (traits.launchesKernels) {
    auto kernels = module.lookupSymbol<gpu::GPUModuleOp>(kernelsModuleName);
    auto kernel = kernels ? kernels.lookupSymbol<FunctionOpInterface>(name)
                          : FunctionOpInterface();
    std::optional<Launch> launch;
    if (kernel)
      launch = getLaunch(kernel);
    if (!launch)
      return user->emitOpError("expected a kernel @")
             << name << " in gpu.module @" << kernelsModuleName
             << " with tp.grid and tp.block";
    entry.launch = *launch;
    entry.code = getCodeName(kernel);
    entry.numbers = llvm::to_vector(getNumbers(kernel));
    entry.arguments = kernel.getNumArguments();
    entry.images = getKernelImages(kernel);
  }
  addLocation(user, entry.locations);
  kernels.push_back(std::move(entry));
  return success();
}

LogicalResult Tables::addCall(func::CallOp call) {
  func::FuncOp callee = getCallee(call);
  auto kind =
      callee ? callee->getAttrOfType<StringAttr>(kernelAttrName) : StringAttr();
  if (!kind)
    return call.emitOpError("expected a kernel, got @") << call.getCallee();
  if (kind.getValue() != "rows")
    return success(succeeded(verifyKernel(callee)) &&
                   succeeded(addLibrary(call)));
  if (failed(addKernel(call, call.getCallee())))
    return failure();
  llvm::for_each(call.getOperands(), [&](Value value) { addParameter(value); });
  return success();
}

/// The kernels that `pass` wrote for an operation.
LogicalResult Tables::addLibraryKernels(Operation *op, StringRef pass) {
  if (!op->hasAttr(kernelAttrName))
    return op->emitOpError("expected a kernel: run ") << pass;
  if (auto bytes = op->getAttrOfType<IntegerAttr>(scratchBytesAttrName))
    libraryScratch = std::max(libraryScratch, bytes.getInt());
  for (StringRef kernel : getKernels(op))
    if (failed(addKernel(op, kernel)))
      return failure();
  return success();
}

/// Its position in its list, which it enters if none there is like it.
int64_t Tables::addDescription(LibraryDescription description) {
  auto &list = libraries[description.list];
  json::Object &fields = description.fields;
  if (!description.largest) {
    list.push_back(std::move(fields));
    return list.size() - 1;
  }
  std::string key = description.list.str();
  llvm::raw_string_ostream(key) << json::Value(json::Object(fields));
  auto [found, isNew] = sharedOf.try_emplace(key, list.size());
  if (isNew)
    list.push_back(std::move(fields));
  auto [field, size] = *description.largest;
  json::Object &entry = list[found->second];
  entry[field] = std::max(size, entry.getInteger(field).value_or(size));
  return found->second;
}

LogicalResult Tables::addLibrary(Operation *op) {
  FailureOr<SmallVector<LibrarySite>> sites = readLibrarySites(op, target);
  if (failed(sites))
    return failure();
  for (LibrarySite &site : *sites)
    if (failed(addSite(site)))
      return failure();
  // One call is known by the first description.
  for (LibrarySite &site : llvm::drop_begin(*sites))
    if (auto description =
            sites->front().op.getLibraryDescription(sites->front().use);
        description && placesOf.count(description->list))
      addLocation(site.op,
                  placesOf[description->list][sites->front().description]);
  sitesOf[op] = std::move(*sites);
  return success();
}

LogicalResult Tables::addSite(LibrarySite &site) {
  StringRef function = site.op.getLibraryCall(site.use).name;
  if (launches(function)) {
    if (failed(addLibraryKernels(site.op, target.getKernelPass(function))))
      return failure();
  } else if (std::optional<LibraryDescription> description =
                 site.op.getLibraryDescription(site.use)) {
    StringRef list = description->list;
    int64_t id = addDescription(std::move(*description));
    auto &places = placesOf[list];
    places.resize(std::max<size_t>(places.size(), id + 1));
    addLocation(site.op, places[id]);
    site.description = id;
  }
  llvm::for_each(site.getOperands(), [&](Value value) { addParameter(value); });
  return success();
}

/// Identifies a template: what is loaded.
static std::string getKey(ParameterOp op) {
  std::string key;
  llvm::raw_string_ostream stream(key);
  NameRange names = getNames(op);
  stream << names.pattern << '|' << op.getSourceAttr() << '|' << op.getType()
         << '|' << op->getAttr(TPDialect::getShardingsAttrName()) << '|'
         << op->getAttr("tp.partial") << '|' << names.count << '|'
         << names.first;
  return key;
}

/// The parameter behind `value`, if there is one.
void Tables::addParameter(Value value) {
  auto op = getViewedTensor(value).root.getDefiningOp<ParameterOp>();
  if (!op || !parameterOf.try_emplace(getKey(op), parameters.size()).second)
    return;
  NameRange names = getNames(op);
  parameters.push_back({op, names.count, names.first, numSlots});
  numSlots += names.count;
}

int64_t Tables::getSlot(ParameterOp op) const {
  return parameters[parameterOf.lookup(getKey(op))].base;
}

/// Elements as they lie in memory; booleans as bytes.
LogicalResult Tables::addConstant(Operation *op) {
  auto elements =
      dyn_cast<DenseElementsAttr>(cast<arith::ConstantOp>(op).getValue());
  if (!elements)
    return success();
  constants.resize(llvm::alignTo(constants.size(), 64));
  constantOf[op] = constants.size();
  int64_t bytes = getElementBytes(elements.getElementType());
  for (APInt value :
       isa<FloatType>(elements.getElementType())
           ? llvm::map_to_vector(elements.getValues<APFloat>(),
                                 [](APFloat f) { return f.bitcastToAPInt(); })
           : llvm::to_vector(elements.getValues<APInt>()))
    for (int64_t i = 0; i < bytes; ++i)
      constants.push_back(
          char(value.lshr(8 * i).zextOrTrunc(8).getZExtValue()));
  return success();
}

FailureOr<Tables> Tables::build(ModuleOp module, const Target &target) {
  Tables tables(module, target);
  for (auto state : module.getOps<StateOp>())
    if (failed(checkType(state, state.getType())))
      return failure();
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function->hasAttr(kernelAttrName))
      continue;
    if (function.isExternal())
      return function.emitOpError("expected a body");
    tables.entries.push_back(function);
    if (failed(checkEntryTypes(function)))
      return failure();
    WalkResult result = function.walk([&](Operation *op) {
      // An operation that never runs needs nothing.
      if (getRepetitions(op) == 0)
        return WalkResult::advance();
      for (Type type : op->getResultTypes())
        if (isa<TensorType>(type) && failed(checkType(op, type)))
          return WalkResult::interrupt();
      if (isa<ParameterOp>(op) && !cast<ParameterOp>(op).getStorage() &&
          !isa<FloatType>(getElementTypeOrSelf(op->getResultTypes().front()))) {
        op->emitOpError("expected elements f32, bf16 or f16, of which weights "
                        "are read from a checkpoint, got ")
            << op->getResultTypes().front()
            << "; make it an argument, or a constant";
        return WalkResult::interrupt();
      }
      LogicalResult added = success();
      if (auto call = dyn_cast<func::CallOp>(op)) {
        added = tables.addCall(call);
      } else if (isa<LibraryOpInterface>(op)) {
        added = tables.addLibrary(op);
      } else if (isa<CollectiveOpInterface>(op)) {
        tables.collectives.push_back(op);
      } else if (isa<arith::ConstantOp>(op)) {
        bool isRead = llvm::any_of(op->getUsers(), [](Operation *user) {
          return !isa<arith::ConstantOp>(user);
        });
        if (isRead)
          added = tables.addConstant(op);
      }
      if (isa<CollectiveOpInterface, RepeatOp>(op))
        llvm::for_each(op->getOperands(),
                       [&](Value value) { tables.addParameter(value); });
      return failed(added) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (result.wasInterrupted())
      return failure();
  }
  tables.numberCollectives();
  return tables;
}

int64_t Tables::getMeeting(MeetOp meet) const {
  for (Operation *op : collectives)
    if (auto peers = dyn_cast<PeersOp>(op);
        peers && peers.getLedgerAttr() == meet.getLedgerAttr() &&
        peers.getAxes() == meet.getAxes())
      return idOf.lookup(op);
  return -1;
}

/// By their ids in the ledger: schedule may have changed their order.
void Tables::numberCollectives() {
  auto getId = [](Operation *op) {
    LedgerAttr ledger = cast<CollectiveOpInterface>(op).getLedgerEntry();
    return ledger ? ledger.getId() : -1;
  };
  llvm::stable_sort(collectives, [&](Operation *a, Operation *b) {
    return getId(a) < getId(b);
  });
  for (auto [id, op] : llvm::enumerate(collectives))
    idOf[op] = id;
}
