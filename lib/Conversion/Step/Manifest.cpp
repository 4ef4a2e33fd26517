//===- Manifest.cpp - The artifact's manifest from the tables -------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes what docs/RuntimeABI.md describes, key by key.
//
//===----------------------------------------------------------------------===//

#include "Tables.h"

#include "tp/Dialect/TP/IR/ModelAttributes.h"
#include "tp/Dialect/TP/IR/ParameterNames.h"
#include "tp/Ledger/Ledger.h"
#include "tp/Resolve/Provenance.h"
#include "tp/Schedule/Buffers.h"
#include "tp/Schedule/Describe.h"
#include "tp/Schedule/RowKernels.h"
#include "tp/Support/Bytes.h"
#include "tprt/abi.h"
#include "tprt/version.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tp;
namespace json = llvm::json;

/// On parameters, arguments and results: the type before partition.
static constexpr llvm::StringLiteral globalTypeAttrName = "tp.global_type";

static json::Array getShape(ArrayRef<int64_t> shape) {
  json::Array result;
  for (int64_t size : shape)
    result.push_back(size);
  return result;
}

json::Array tp::getAxes(AxisListAttr axes) {
  json::Array result;
  if (!axes)
    return result;
  for (AxisRefAttr ref : axes.getAxes()) {
    json::Object axis{{"axis", ref.getName().getValue().str()}};
    if (ref.getSize() != 0) {
      axis["pre"] = ref.getPre();
      axis["size"] = ref.getSize();
    }
    result.push_back(std::move(axis));
  }
  return result;
}

static json::Array getSharding(ShardingAttr sharding, int64_t rank) {
  json::Array result;
  for (int64_t d = 0; d < rank; ++d) {
    if (!sharding) {
      result.push_back(json::Array());
      continue;
    }
    DimShardingAttr dim = sharding.getDims()[d];
    json::Array axes =
        getAxes(AxisListAttr::get(sharding.getContext(), dim.getAxes()));
    if (dim.getBlock() == 0)
      result.push_back(std::move(axes));
    else
      result.push_back(json::Object{{"axes", std::move(axes)},
                                    {"block", dim.getBlock()},
                                    {"outer", dim.getOuter()}});
  }
  return result;
}

static RankedTensorType getGlobalType(Attribute attr, Type local) {
  if (auto type = dyn_cast_or_null<TypeAttr>(attr))
    return cast<RankedTensorType>(type.getValue());
  return cast<RankedTensorType>(local);
}

/// Positions of the states in the manifest's list: the module's order.
static int64_t getStatePosition(ModuleOp module, FlatSymbolRefAttr symbol) {
  int64_t position = 0;
  for (auto state : module.getOps<StateOp>()) {
    if (state.getSymNameAttr() == symbol.getAttr())
      return position;
    ++position;
  }
  llvm_unreachable("the verifier found the state");
}

/// Describes the reduction by which the ranks' parts of a partial value become
/// all of it.
static void describePartial(json::Object &value, ShardingAttr sharding) {
  if (!sharding || sharding.getPartial().empty())
    return;
  value["partial"] =
      getAxes(AxisListAttr::get(sharding.getContext(), sharding.getPartial()));
  value["reduction"] = stringify(sharding.getReduction());
}

static json::Object describeState(StateOp state) {
  RankedTensorType global = state.getGlobalType();
  ShardingAttr sharding = state.getShardingAttr();
  json::Object result{
      {"name", state.getSymName().str()},
      {"type", getTypeName(global.getElementType())},
      {"shape", getShape(global.getShape())},
      {"sharding", getSharding(sharding, global.getRank())},
      {"local_shape",
       getShape(cast<RankedTensorType>(state.getType()).getShape())}};
  if (state.getOnes())
    result["initial"] = "ones";
  describePartial(result, sharding);
  return result;
}

static json::Object describeTensor(func::FuncOp function, unsigned index,
                                   bool isResult) {
  auto attribute = [&](StringRef name) {
    return isResult ? function.getResultAttr(index, name)
                    : function.getArgAttr(index, name);
  };
  Type local = isResult ? function.getResultTypes()[index]
                        : function.getArgumentTypes()[index];
  RankedTensorType global = getGlobalType(attribute(globalTypeAttrName), local);
  auto name =
      dyn_cast_or_null<StringAttr>(attribute(TPDialect::getNameAttrName()));
  std::string fallback = (isResult ? "result" : "arg") + std::to_string(index);
  json::Object tensor{
      {"name", name ? name.getValue().str() : fallback},
      {"type", getTypeName(global.getElementType())},
      {"shape", getShape(global.getShape())},
      {"sharding", getSharding(dyn_cast_or_null<ShardingAttr>(
                                   attribute(TPDialect::getShardingAttrName())),
                               global.getRank())},
      {"local_shape", getShape(cast<RankedTensorType>(local).getShape())}};
  describePartial(tensor, dyn_cast_or_null<ShardingAttr>(
                              attribute(TPDialect::getShardingAttrName())));
  if (FlatSymbolRefAttr state = isResult ? getResultState(function, index)
                                         : getArgState(function, index)) {
    tensor["state"] =
        getStatePosition(function->getParentOfType<ModuleOp>(), state);
    // Nobody gives or gets it by this name.
    tensor["name"] = "@" + state.getValue().str();
  }
  if (attribute(sequencesAttrName))
    tensor["sequences"] = true;
  if (isResult)
    return tensor;
  if (auto value = dyn_cast_or_null<StringAttr>(attribute(defaultAttrName)))
    tensor["default"] = value.getValue().str();
  if (auto range =
          dyn_cast_or_null<DenseI64ArrayAttr>(attribute(rangeAttrName)))
    tensor["range"] = getShape(range.asArrayRef());
  if (attribute(rightPaddedAttrName))
    tensor["right_padded"] = true;
  if (auto name = dyn_cast_or_null<StringAttr>(attribute(unshiftedAttrName)))
    tensor["unshifted"] = name.getValue().str();
  return tensor;
}

/// Describes the checkpoint's tensors of parameters and states: where their box
/// of them is.
static void describeSource(json::Object &result, RankedTensorType global,
                           ParameterSourceAttr source) {
  result["source_shape"] = getShape(global.getShape());
  result["shape"] = getShape(global.getShape());
  result["type"] = getTypeName(global.getElementType());
  if (!source)
    return;
  result["source_shape"] = getShape(source.getShape());
  SmallVector<int64_t> sizes(global.getRank());
  for (auto [dim, from] : llvm::enumerate(source.getPermutation()))
    sizes[from] = global.getDimSize(dim);
  json::Object slice{{"offsets", getShape(source.getOffsets())},
                     {"sizes", getShape(sizes)}};
  if (!source.getSteps().empty())
    slice["steps"] = getShape(source.getSteps());
  result["slice"] = std::move(slice);
  result["permutation"] = getShape(source.getPermutation());
}

static json::Array describeNames(Operation *op) {
  json::Array names;
  for (const NameRange &name : getAllNames(op))
    names.push_back(name.pattern.str());
  return names;
}

/// Describes what random weights hold.
static void describeInit(json::Object &result, Operation *op) {
  Attribute init = op->getAttr(initAttrName);
  if (auto word = dyn_cast_or_null<StringAttr>(init))
    result["init"] = word.getValue().str();
  auto fields = dyn_cast_or_null<DictionaryAttr>(init);
  if (!fields)
    return;
  if (auto deviation = fields.getAs<FloatAttr>("deviation"))
    result["deviation"] = deviation.getValueAsDouble();
  if (auto row = fields.getAs<IntegerAttr>("zero_row"))
    result["zero_row"] = row.getInt();
}

/// The name of an element of quantised values.
static StringRef getPackedName(Type element) {
  if (element.isInteger(4))
    return "i4";
  if (isa<Float8E4M3FNType>(element))
    return "e4m3";
  if (isa<Float8E5M2Type>(element))
    return "e5m2";
  if (isa<Float4E2M1FNType>(element))
    return "e2m1";
  return "i8";
}

static void describeStorage(json::Object &result, ParameterOp op,
                            Type element) {
  StorageAttr storage = op.getStorageAttr();
  result["type"] =
      getTypeName(cast<RankedTensorType>(op.getType()).getElementType());
  json::Object fields{{"type", storage.getFileType().getValue().str()}};
  if (op->hasAttr(storedTypeAttrName))
    fields["element"] = getPackedName(element).str();
  if (storage.getBits()) {
    fields["bits"] = storage.getBits();
    fields["dim"] = storage.getDim();
  }
  if (!storage.getOrder().empty())
    fields["order"] = getShape(storage.getOrder());
  if (storage.getOffset())
    fields["offset"] = storage.getOffset();
  if (auto end = op->getAttrOfType<IntegerAttr>(integerEndAttrName))
    fields["end"] = end.getInt();
  bool isBytes =
      cast<RankedTensorType>(op.getType()).getElementType().isInteger(8);
  if (auto packed = op->getAttrOfType<IntegerAttr>(packedGroupsAttrName);
      packed && isBytes)
    fields["packed"] = packed.getInt();
  if (!storage.getRepeat().empty())
    fields["repeat"] = getShape(storage.getRepeat());
  result["storage"] = std::move(fields);
}

static json::Object describeParameter(const ParameterEntry &entry) {
  ParameterOp op = entry.op;
  RankedTensorType global = getUnpackedType(op);
  auto shardings =
      op->getAttrOfType<ArrayAttr>(TPDialect::getShardingsAttrName());
  json::Object result{
      {"names", describeNames(op)},
      {"count", entry.count},
      {"first", entry.first},
      {"base", entry.base},
      {"sharding", getSharding(shardings ? dyn_cast<ShardingAttr>(shardings[0])
                                         : ShardingAttr(),
                               global.getRank())},
      {"local_shape",
       getShape(getGlobalType(op->getAttr(storedTypeAttrName), op.getType())
                    .getShape())}};
  describeSource(result, global, op.getSourceAttr());
  if (op.getStorage())
    describeStorage(result, op, global.getElementType());
  if (auto partial = op->getAttrOfType<AxisListAttr>("tp.partial"))
    result["partial"] = getAxes(partial);
  describeInit(result, op);
  return result;
}

/// The parameters that states begin with, as templates behind all others.
static void describeInitialValues(ModuleOp module, json::Array &parameters,
                                  int64_t base) {
  for (auto [position, state] : llvm::enumerate(module.getOps<StateOp>())) {
    SmallVector<NameRange, 2> names = getAllNames(state);
    if (names.empty())
      continue;
    // Each name of a stack is an element of the first dimension.
    unsigned layers = state.isStack() ? 1 : 0;
    RankedTensorType global = state.getParameterType();
    ShardingAttr sharding = state.getShardingAttr();
    auto local = cast<RankedTensorType>(state.getType());
    json::Array dims = getSharding(sharding, state.getGlobalType().getRank());
    if (layers)
      dims.erase(dims.begin());
    json::Object result{
        {"names", describeNames(state)},
        {"count", names.front().count},
        {"first", names.front().first},
        {"base", base},
        {"sharding", std::move(dims)},
        {"local_shape", getShape(local.getShape().drop_front(layers))},
        {"state", position}};
    base += names.front().count;
    describeSource(result, global, state.getSourceAttr());
    // The addends of a sum are the first rank's; all have one maximum.
    if (sharding && sharding.getReduction() == ReductionKind::Sum &&
        !sharding.getPartial().empty())
      result["partial"] =
          getAxes(AxisListAttr::get(state.getContext(), sharding.getPartial()));
    describeInit(result, state);
    parameters.push_back(std::move(result));
  }
}

/// The place of a collective in the program. The parts of one are calls of
/// their own: the ledger has the number of them all.
static std::string getPlace(CollectiveOpInterface op) {
  std::string place = toString(op->getLoc());
  auto part = op->getAttrOfType<DenseI64ArrayAttr>(partAttrName);
  LedgerAttr ledger = op.getLedgerEntry();
  if (!part || !ledger)
    return place;
  return place + " (ledger " + std::to_string(ledger.getId()) + ", part " +
         std::to_string(part[0] + 1) + " of " + std::to_string(part[1]) + ")";
}

static json::Object makeCollective(Operation *op, int64_t id) {
  auto collective = cast<CollectiveOpInterface>(op);
  const CollectiveRow &row = collective.getRow();
  auto input = cast<RankedTensorType>(op->getOperand(0).getType());
  auto output = cast<RankedTensorType>(op->getResult(0).getType());
  LedgerAttr ledger = collective.getLedgerEntry();
  auto text = [&](StringAttr attr) {
    return attr ? attr.getValue().str() : std::string();
  };
  json::Object result{
      {"id", id},
      {"kind", StringRef(row.operation)},
      {"type", getTypeName(input.getElementType())},
      {"axes", getAxes(collective.getGroupAxes())},
      {"input_shape", getShape(input.getShape())},
      {"output_shape", getShape(output.getShape())},
      {"count", getRepetitions(op)},
      {"bytes", getCallBytes(collective)},
      {"cause", ledger ? text(ledger.getCause()) : ""},
      {"annotation", ledger ? text(ledger.getAnnotation()) : ""},
      {"location", getPlace(collective)},
      {"pass", ledger ? text(ledger.getPass()) : ""}};
  if (getAwait(op))
    result["asynchronous"] = true;
  if (isa<PeersOp>(op))
    result["peers"] = true;
  if (row.reduces())
    result["reduction"] = collective.getReductionName().str();
  if (row.gathers() || row.cuts())
    result["dim"] =
        row.gathers() ? collective.getGatheredDim() : collective.getCutDim();
  if (row.gathers() && row.cuts())
    result["split_dim"] = collective.getCutDim();
  if (row.permutes()) {
    Mesh mesh = lookupMesh(op, collective.getGroupMesh()).getMesh().toMesh();
    AxisList axes = *resolveAxes(collective.getGroupAxes(), mesh,
                                 [&] { return op->emitOpError(); });
    json::Array pairs;
    llvm::DenseSet<int64_t> seen;
    SmallVector<int64_t> flat(collective.getRankPairs().getValues<int64_t>());
    for (size_t i = 0; i + 1 < flat.size(); i += 2) {
      int64_t from = mesh.getIndexAlong(flat[i], axes);
      int64_t to = mesh.getIndexAlong(flat[i + 1], axes);
      if (seen.insert(to).second)
        pairs.push_back(json::Array{from, to});
    }
    result["pairs"] = std::move(pairs);
  }
  return result;
}

static std::string getText(ModuleOp module, StringRef name) {
  auto attr = module->getAttrOfType<StringAttr>(name);
  return attr ? attr.getValue().str() : "";
}

static json::Array describeTexts(ArrayAttr texts) {
  json::Array result;
  for (auto text : texts.getAsRange<StringAttr>())
    result.push_back(text.getValue().str());
  return result;
}

static json::Object describeChanges(DictionaryAttr changed) {
  json::Object result;
  for (NamedAttribute entry : changed)
    result[entry.getName().getValue()] =
        cast<BoolAttr>(entry.getValue()).getValue();
  return result;
}

/// The manifest's form of tp.tensor_parts.
static json::Array describeParts(ArrayAttr parts) {
  json::Array result;
  for (auto part : parts.getAsRange<DictionaryAttr>()) {
    auto sizes = [&](StringRef key) {
      return json::Array(part.getAs<DenseI64ArrayAttr>(key).asArrayRef());
    };
    auto number = [&](StringRef key) {
      return part.getAs<IntegerAttr>(key).getInt();
    };
    Type type = part.getAs<TypeAttr>("type").getValue();
    json::Object fields{
        {"part", part.getAs<StringAttr>("part").getValue().str()},
        {"whole", part.getAs<StringAttr>("whole").getValue().str()},
        {"shape", sizes("shape")},
        {"offsets", sizes("offsets")},
        {"sizes", sizes("sizes")},
        {"type", getTypeName(type)},
        {"first", number("first")},
        {"count", number("count")}};
    if (part.contains("joined"))
      fields["joined"] = number("joined");
    result.push_back(std::move(fields));
  }
  return result;
}

/// Patterns of checkpoint tensors that may be there unused: what earlier stages
/// say, and the parameters that no entry of the table reads.
static json::Array describeIgnored(ModuleOp module,
                                   ArrayRef<ParameterEntry> parameters) {
  json::Array result;
  if (auto patterns = module->getAttrOfType<ArrayAttr>(ignoredTensorsAttrName))
    for (Attribute pattern : patterns)
      result.push_back(cast<StringAttr>(pattern).getValue().str());
  SmallVector<NameRange> all, used;
  module.walk([&](Operation *op) { llvm::append_range(all, getAllNames(op)); });
  for (const ParameterEntry &entry : parameters)
    llvm::append_range(used, getAllNames(entry.op));
  for (auto state : module.getOps<StateOp>())
    llvm::append_range(used, getAllNames(state));
  for (std::string &pattern : getUnusedNames(all, used))
    result.push_back(std::move(pattern));
  return result;
}

/// The module's mesh, or one rank.
static json::Object describeMesh(ModuleOp module) {
  json::Object result;
  json::Array axes;
  if (MeshOp mesh = getUniqueMesh(module)) {
    for (MeshAxisAttr axis : mesh.getMesh().getAxes())
      axes.push_back(json::Object{{"name", axis.getName().getValue().str()},
                                  {"size", axis.getSize()}});
    if (!mesh.getMesh().getDeviceIds().empty())
      result["device_order"] = getShape(mesh.getMesh().getDeviceIds());
  } else {
    axes.push_back(json::Object{{"name", "tp"}, {"size", 1}});
  }
  result["axes"] = std::move(axes);
  return result;
}

/// An attribute as JSON says it.
static json::Value describe(Attribute value) {
  if (auto text = dyn_cast<StringAttr>(value))
    return text.getValue().str();
  if (auto truth = dyn_cast<BoolAttr>(value))
    return truth.getValue();
  if (isa<UnitAttr>(value))
    return true;
  if (auto number = dyn_cast<FloatAttr>(value))
    return number.getValueAsDouble();
  if (auto number = dyn_cast<IntegerAttr>(value))
    return number.getInt();
  if (auto list = dyn_cast<DenseI64ArrayAttr>(value))
    return json::Array(list.asArrayRef());
  if (auto list = dyn_cast<ArrayAttr>(value))
    return json::Array(llvm::map_range(list, describe));
  json::Object object;
  for (NamedAttribute entry : cast<DictionaryAttr>(value))
    object[entry.getName().getValue()] = describe(entry.getValue());
  return object;
}

/// Describes which states belong together, by their positions.
static json::Object describeTraining(ModuleOp module, DictionaryAttr training) {
  llvm::StringMap<int64_t> positions;
  for (auto [i, state] : llvm::enumerate(module.getOps<StateOp>()))
    positions[state.getSymName()] = i;
  AttrTypeReplacer toPositions;
  Builder builder(module.getContext());
  toPositions.addReplacement([&](FlatSymbolRefAttr symbol) -> Attribute {
    return builder.getI64IntegerAttr(positions.at(symbol.getValue()));
  });
  json::Object object = *describe(toPositions.replace(training)).getAsObject();
  // The states say so already.
  object.erase("momentum");
  object.try_emplace("clip", 0);
  return object;
}

static void describeLaunch(const Launch &launch, json::Object &fields) {
  fields["grid"] = getShape(launch.grid);
  fields["block"] = getShape(launch.block);
  fields["shared_bytes"] = launch.sharedBytes;
}

/// Adds the places of the program that a kernel or call computes.
static void describeLocations(ArrayRef<std::string> locations,
                              json::Object &fields) {
  if (!locations.empty())
    fields["locations"] = json::Array(locations);
}

/// `definition` is null for the kernel of a library's operation, which is
/// defined by that alone.
static json::Object describeKernel(const KernelEntry &entry,
                                   Operation *definition, bool launches) {
  json::Object kernel{{"name", entry.name}};
  if (definition)
    if (auto label = definition->getAttrOfType<StringAttr>(labelAttrName))
      kernel["name"] = entry.name + " " + label.getValue().str();
  describeLocations(entry.locations, kernel);
  if (launches) {
    describeLaunch(entry.launch, kernel);
    kernel["arguments"] = entry.arguments;
    if (entry.code != entry.name)
      kernel["code"] = entry.code;
    json::Object images;
    for (const KernelImage &image : entry.images) {
      json::Object launch;
      describeLaunch(image.launch, launch);
      images[image.image] = std::move(launch);
    }
    if (!images.empty())
      kernel["images"] = std::move(images);
  }
  return kernel;
}

/// `always` is what a rank holds whichever entry runs.
static json::Object describeEntry(func::FuncOp function, int64_t scratch,
                                  int64_t always) {
  json::Array inputs, outputs;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    inputs.push_back(describeTensor(function, i, false));
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    outputs.push_back(describeTensor(function, i, true));
  auto bytes = [&](StringRef name) {
    auto attr = function->getAttrOfType<IntegerAttr>(name);
    return attr ? attr.getInt() : int64_t(0);
  };
  int64_t arena = bytes(arenaBytesAttrName), comm = bytes(commBytesAttrName);
  return json::Object{
      {"name", function.getName().str()},
      {"inputs", std::move(inputs)},
      {"outputs", std::move(outputs)},
      {"arena_bytes", arena},
      {"comm_bytes", comm},
      {"scratch_bytes", scratch},
      {"peak_bytes", always + arena + comm + getValueBytes(function)}};
}

/// The descriptions of a library's calls, which their ids count.
static json::Array
numberDescriptions(ArrayRef<json::Object> descriptions,
                   ArrayRef<std::vector<std::string>> places) {
  json::Array result;
  for (auto [id, fields] : llvm::enumerate(descriptions)) {
    json::Object description(fields);
    description["id"] = id;
    describeLocations(places[id], description);
    result.push_back(std::move(description));
  }
  return result;
}

json::Value Tables::getManifest(ModuleOp module, json::Object target) const {
  int64_t always =
      constants.size() + getHeldParameterBytes(module) + getStateBytes(module);
  json::Array parameterList;
  for (const ParameterEntry &entry : parameters)
    parameterList.push_back(describeParameter(entry));
  describeInitialValues(module, parameterList, numSlots);
  json::Object model{{"name", getText(module, modelNameAttrName)},
                     {"architecture", getText(module, architectureAttrName)}};
  if (auto changed =
          module->getAttrOfType<DictionaryAttr>(changedConfigAttrName))
    model["changed_config"] = describeChanges(changed);
  json::Array collectiveList, kernelList, entryList, stateList;
  for (auto [id, op] : llvm::enumerate(collectives))
    collectiveList.push_back(makeCollective(op, id));
  int64_t scratch = libraryScratch;
  for (const KernelEntry &entry : kernels) {
    Operation *definition = module.lookupSymbol(entry.name);
    if (definition)
      if (auto bytes =
              definition->getAttrOfType<IntegerAttr>(scratchBytesAttrName))
        scratch = std::max(scratch, bytes.getInt());
    kernelList.push_back(
        describeKernel(entry, definition, traits.launchesKernels));
  }
  // If every thread has its own, the runtime counts them.
  if (traits.launchesKernels)
    always += scratch;
  for (auto state : module.getOps<StateOp>())
    stateList.push_back(describeState(state));
  for (func::FuncOp function : entries)
    entryList.push_back(describeEntry(function, scratch, always));
  json::Object manifest{{"abi", TPRT_ABI_VERSION},
                        {"producer", "tp-mlir " + tprt::version()},
                        {"model", std::move(model)},
                        {"target", std::move(target)},
                        {"mesh", describeMesh(module)},
                        {"entries", std::move(entryList)},
                        {"parameters", std::move(parameterList)},
                        {"ignored", describeIgnored(module, parameters)},
                        {"gemms", json::Array()},
                        {"attentions", json::Array()},
                        {"collectives", std::move(collectiveList)},
                        {"kernels", std::move(kernelList)}};
  for (const auto &[list, descriptions] : libraries)
    manifest[list] = numberDescriptions(descriptions, placesOf.at(list));
  if (auto generation =
          module->getAttrOfType<DictionaryAttr>(generationAttrName))
    manifest["generation"] = describe(generation);
  if (auto training = module->getAttrOfType<DictionaryAttr>(
          TPDialect::getTrainingAttrName()))
    manifest["training"] = describeTraining(module, training);
  if (auto excluded = module->getAttrOfType<ArrayAttr>(excludedTensorsAttrName))
    manifest["excluded"] = describeTexts(excluded);
  if (auto format = module->getAttrOfType<StringAttr>(quantizeAttrName))
    manifest["quantize"] = format.getValue();
  if (auto parts = module->getAttrOfType<ArrayAttr>(tensorPartsAttrName))
    manifest["tensor_parts"] = describeParts(parts);
  if (!stateList.empty())
    manifest["states"] = std::move(stateList);
  return manifest;
}
