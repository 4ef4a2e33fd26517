//===- Read.cpp - The ledger of a per-rank program ------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The figures of each collective, and the collection of all of them.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tp/Dialect/TP/IR/ParameterNames.h"
#include "tp/Ledger/Ledger.h"
#include "tp/Resolve/Provenance.h"
#include "tp/Support/Bytes.h"

using namespace mlir;
using namespace tp;

int64_t tp::getRunCount(Operation *op) {
  int64_t count = 1;
  for (Operation *parent = op->getParentOp(); parent;
       parent = parent->getParentOp())
    if (auto repeat = dyn_cast<RepeatOp>(parent))
      count *= repeat.getCount();
  return count;
}

RankedTensorType tp::getLogicalType(CollectiveOpInterface op) {
  auto input = cast<RankedTensorType>(op->getOperand(0).getType());
  auto result = cast<RankedTensorType>(op->getResult(0).getType());
  // The tensor of the group: whole where it was and where it becomes so.
  SmallVector<int64_t> shape(input.getShape());
  if (int64_t dim = op.getGatheredDim(); dim >= 0)
    shape[dim] = result.getDimSize(dim);
  return input.clone(shape);
}

int64_t tp::getCallBytes(CollectiveOpInterface op) {
  auto joined = op->getOperand(0).getDefiningOp<JoinOp>();
  if (!joined)
    return getTensorBytes(getLogicalType(op));
  int64_t bytes = 0;
  for (Type type : joined->getOperandTypes())
    bytes += getTensorBytes(cast<RankedTensorType>(type));
  return bytes;
}

int64_t tp::getGroupSize(CollectiveOpInterface op, const Mesh &mesh) {
  FailureOr<AxisList> axes =
      resolveAxes(op.getGroupAxes(), mesh, [&] { return op->emitOpError(); });
  return succeeded(axes) ? getShardCount(*axes) : 1;
}

int64_t tp::getTraffic(CollectiveOpInterface op, const Mesh &mesh) {
  return getTraffic(op.getRow().kind, getTensorBytes(getLogicalType(op)),
                    getGroupSize(op, mesh));
}

std::string tp::getAxisText(ArrayRef<AxisRef> axes, const Mesh &mesh) {
  std::string text;
  for (const AxisRef &ref : axes) {
    text += (text.empty() ? "" : ",") + mesh.getAxis(ref.axis).name;
    if (!(ref == mesh.getWhole(ref.axis)))
      text += ":(" + std::to_string(ref.pre) + ")" + std::to_string(ref.size);
  }
  return text;
}

static void add(KindTotal &total, const KindTotal &one) {
  total.count += one.count;
  total.bytes += one.bytes;
  total.traffic += one.traffic;
  total.bound += one.bound;
}

KindTotal FunctionTotals::getTotal() const {
  KindTotal total;
  for (const auto &[kind, one] : kinds)
    add(total, one);
  return total;
}

FunctionTotals LedgerReport::getSum() const {
  FunctionTotals sum;
  for (const FunctionTotals &function : functions) {
    for (const auto &[kind, one] : function.kinds)
      add(sum.kinds[kind], one);
    sum.flops += function.flops;
  }
  return sum;
}

/// The layers that `op` is in: `model.layers.{i}` or where they were written.
static std::string getLayerText(Operation *op) {
  std::string text;
  for (Operation *parent = op->getParentOp(); parent;
       parent = parent->getParentOp()) {
    auto repeat = dyn_cast<RepeatOp>(parent);
    if (!repeat)
      continue;
    std::string name = toString(repeat.getLoc());
    name = (name.empty() ? "tp.repeat" : name) + " x " +
           std::to_string(repeat.getCount());
    text = text.empty() ? name : name + ", " + text;
  }
  return text;
}

/// Adds the bytes that the collectives of one call move.
static void addMembers(LedgerLine &line, ArrayRef<CollectiveOpInterface> call,
                       const Mesh &mesh) {
  for (CollectiveOpInterface op : call) {
    llvm::raw_string_ostream(line.type)
        << (line.type.empty() ? "" : ", ") << getLogicalType(op);
    line.bytes += getCallBytes(op);
    line.traffic += getTraffic(op, mesh);
    // The members go around together.
    line.messages = getRingHops(op.getRow().kind, getGroupSize(op, mesh));
  }
}

FailureOr<LedgerReport> tp::readLedger(ModuleOp module) {
  MeshOp meshOp = getUniqueMesh(module);
  if (!meshOp)
    return module.emitError("expected the module to have exactly one tp.mesh");
  LedgerReport report;
  Mesh mesh = meshOp.getMesh().toMesh();
  for (const Mesh::Axis &axis : mesh.getAxes())
    report.mesh += (report.mesh.empty() ? "" : ",") + axis.name + "=" +
                   std::to_string(axis.size);
  report.ranks = mesh.getNumRanks();
  if (auto names = module->getAttrOfType<ArrayAttr>(unnamedParametersAttrName))
    for (auto name : names.getAsRange<StringAttr>())
      report.unnamedParameters.push_back(name.str());
  llvm::StringMap<bool> seenParameters;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal())
      continue;
    report.functions.emplace_back().name = function.getSymName().str();
    LocalStates states;
    if (failed(deriveStates(function, mesh, states)))
      return failure();
    WalkResult walk = function.walk([&](CollectiveOpInterface op) {
      LedgerAttr entry = op.getLedgerEntry();
      if (!entry) {
        op->emitOpError("expected an entry in the ledger, got none");
        return WalkResult::interrupt();
      }
      if (!beginsCall(op))
        return WalkResult::advance();
      SmallVector<CollectiveOpInterface> call = getCall(op);
      entry = getCallEntry(call);
      LedgerLine line;
      line.id = entry.getId();
      line.kind = op.getRow().operation;
      FailureOr<AxisList> axes = resolveAxes(op.getGroupAxes(), mesh,
                                             [&] { return op->emitOpError(); });
      if (failed(axes))
        return WalkResult::interrupt();
      line.axis = getAxisText(*axes, mesh);
      line.count = getRunCount(op);
      addMembers(line, call, mesh);
      line.cause = entry.getCause().str();
      line.annotation = entry.getAnnotation().str();
      line.location = toString(op->getLoc());
      line.pass = entry.getPass().str();
      line.function = function.getSymName().str();
      line.layer = getLayerText(op);
      KindTotal &total = report.functions.back().kinds[line.kind];
      total.count += line.count;
      total.bytes += line.count * line.bytes;
      total.traffic += line.count * line.traffic;
      report.lines.push_back(std::move(line));
      return WalkResult::advance();
    });
    if (walk.wasInterrupted())
      return failure();
    addBounds(function, mesh, states, report.functions.back().kinds);
    addShares(function, mesh, states, seenParameters, report);
    addKeptShares(function, mesh, states, report);
    report.functions.back().keptBytes = getKeptBytes(function);
  }
  for (auto state : module.getOps<StateOp>())
    addShares(state, mesh, report);
  addTrainingShares(module, mesh, report);
  return report;
}
