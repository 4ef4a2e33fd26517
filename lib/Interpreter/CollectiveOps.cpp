//===- CollectiveOps.cpp - Collectives as functions of N tensors ----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Groups are ordered by position along the axes and reductions go in that
// order, so every rank of a group gets the same bits. Parts that a dimension
// does not fill are zero.
//
//===----------------------------------------------------------------------===//

#include "Engine.h"
#include "Lanes.h"

#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;

namespace tp::interp {

FailureOr<Mesh> Engine::getMesh(Operation *op, FlatSymbolRefAttr symbol) {
  MeshOp mesh = lookupMesh(op, symbol);
  if (!mesh)
    return op->emitError() << "expected " << symbol
                           << " to be a tp.mesh, got no such mesh";
  Mesh value = mesh.getMesh().toMesh();
  if (value.getNumRanks() != options.numRanks) {
    InFlightDiagnostic diag = op->emitError()
                              << "expected a mesh of " << options.numRanks
                              << " ranks, got " << value.getNumRanks();
    diag.attachNote(mesh.getLoc()) << "the mesh is here";
    return diag;
  }
  return value;
}

Tensor combine(const RankTensors &input, ArrayRef<int64_t> group,
               ReductionKind kind) {
  const Tensor &first = input[group[0]];
  Tensor result(first.getShape(), first.getElementType());
  bool isFloat = first.getElementType().isFloat();
  for (int64_t i = 0; i < first.getNumElements(); ++i) {
    if (!isFloat) {
      int64_t total = first.getInt(i);
      for (int64_t rank : group.drop_front()) {
        int64_t value = input[rank].getInt(i);
        total = kind == ReductionKind::Sum   ? total + value
                : kind == ReductionKind::Max ? std::max(total, value)
                                             : std::min(total, value);
      }
      result.setInt(i, total);
      continue;
    }
    double total = first.getFloat(i);
    for (int64_t rank : group.drop_front()) {
      double value = input[rank].getFloat(i);
      if (kind == ReductionKind::Sum)
        total += value;
      else
        total = kind == ReductionKind::Max ? maximum(total, value)
                                           : -maximum(-total, -value);
    }
    result.setFloat(i, total);
  }
  return result;
}

namespace {

/// The overlap of two boxes that start at the same corner.
SmallVector<int64_t> getOverlap(ArrayRef<int64_t> a, ArrayRef<int64_t> b) {
  SmallVector<int64_t> sizes(a);
  for (auto [size, other] : llvm::zip(sizes, b))
    size = std::min(size, other);
  return sizes;
}

/// Elements [start, start + shape[dim]) of `dim`, zeros past the end.
Tensor takePart(const Tensor &from, int64_t dim, int64_t start,
                ArrayRef<int64_t> shape) {
  Tensor part(shape, from.getElementType());
  SmallVector<int64_t> sizes = getOverlap(from.getShape(), shape);
  sizes[dim] = std::min(shape[dim], from.getShape()[dim] - start);
  SmallVector<int64_t> offsets(shape.size(), 0), zero(shape.size(), 0);
  offsets[dim] = start;
  part.copyBox(from, offsets, zero, sizes);
  return part;
}

/// Put `part` at `start` of `dim`, dropping what lies past the end.
void putPart(Tensor &to, const Tensor &part, int64_t dim, int64_t start) {
  SmallVector<int64_t> sizes = getOverlap(part.getShape(), to.getShape());
  sizes[dim] = std::min(part.getShape()[dim], to.getShape()[dim] - start);
  SmallVector<int64_t> offsets(sizes.size(), 0), zero(sizes.size(), 0);
  offsets[dim] = start;
  to.copyBox(part, zero, offsets, sizes);
}

/// Evaluates one step; `groups` are those of its axes.
struct StepRunner {
  ReshardStepOpInterface op;
  const RankTensors &input;
  ArrayRef<SmallVector<int64_t>> groups;
  ArrayRef<int64_t> shape;

  RankTensors run() {
    RankTensors result(input.size());
    if (op.getRow().permutes()) {
      permute(result);
      return result;
    }
    for (ArrayRef<int64_t> group : groups)
      runGroup(group, result);
    return result;
  }

private:
  void permute(RankTensors &result) {
    SmallVector<int64_t> pairs(op.getRankPairs().getValues<int64_t>());
    for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
      const Tensor &source = input[pairs[i]];
      Tensor target(shape, source.getElementType());
      SmallVector<int64_t> zero(shape.size(), 0);
      target.copyBox(source, zero, zero, getOverlap(source.getShape(), shape));
      result[pairs[i + 1]] = target;
    }
  }

  /// The part of the dimension that is cut which the rank at `position` gets.
  Tensor takeOwn(const Tensor &from, int64_t position) {
    int64_t cut = op.getCutDim();
    if (cut < 0)
      return from;
    SmallVector<int64_t> part(from.getShape());
    part[cut] = shape[cut];
    return takePart(from, cut, position * shape[cut], part);
  }

  Tensor gather(ArrayRef<int64_t> group, int64_t position) {
    int64_t dim = op.getGatheredDim();
    Tensor whole(shape, input[0].getElementType());
    for (auto [other, source] : llvm::enumerate(group)) {
      Tensor part = takeOwn(input[source], position);
      putPart(whole, part, dim, other * part.getShape()[dim]);
    }
    return whole;
  }

  void runGroup(ArrayRef<int64_t> group, RankTensors &result) {
    const CollectiveRow &row = op.getRow();
    Tensor zero(shape, input[0].getElementType()), common;
    if (row.reduces())
      common =
          combine(input, group, *symbolizeReductionKind(op.getReductionName()));
    else if (row.gathers() && !row.cuts())
      common = gather(group, 0);
    for (auto [position, rank] : llvm::enumerate(group)) {
      if (row.to == Holding::Partial && position != 0)
        result[rank] = zero;
      else if (row.gathers())
        result[rank] = row.cuts() ? gather(group, position) : common;
      else
        result[rank] = takeOwn(row.reduces() ? common : input[rank], position);
    }
  }
};

} // namespace

LogicalResult Engine::runRanked(Operation *op, Frame &frame) {
  using OnMesh = std::pair<Mesh, AxisList>;
  auto resolve = [&](FlatSymbolRefAttr symbol, auto axes) -> FailureOr<OnMesh> {
    FailureOr<Mesh> mesh = getMesh(op, symbol);
    if (failed(mesh))
      return failure();
    FailureOr<AxisList> resolved =
        resolveAxes(axes, *mesh, [&] { return op->emitError(); });
    if (failed(resolved))
      return failure();
    return OnMesh(*mesh, *resolved);
  };
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case<RankOp>([&](RankOp rankOp) -> LogicalResult {
        FailureOr<OnMesh> on = resolve(rankOp.getMeshAttr(), rankOp.getAxes());
        if (failed(on))
          return failure();
        RankTensors values;
        for (int64_t rank = 0; rank < options.numRanks; ++rank)
          values.push_back(
              Tensor::scalarInt(on->first.getIndexAlong(rank, on->second)));
        frame[rankOp.getResult()] = std::move(values);
        return success();
      })
      .Case<AwaitOp>([&](AwaitOp await) -> LogicalResult {
        RankTensors value = frame[await.getStarted()];
        frame[await.getResult()] = std::move(value);
        return success();
      })
      // Memory is never used twice here.
      .Case<MeetOp>([](MeetOp) { return success(); })
      .Case<PeersOp>([&](PeersOp peers) -> LogicalResult {
        FailureOr<OnMesh> on = resolve(peers.getMeshAttr(), peers.getAxes());
        if (failed(on))
          return failure();
        RankTensors input = frame[peers.getInput()];
        for (auto [position, addend] : llvm::enumerate(peers.getAddends())) {
          RankTensors value(input.size());
          for (ArrayRef<int64_t> group : on->first.getGroups(on->second))
            for (int64_t rank : group)
              value[rank] = input[group[position]];
          frame[addend] = std::move(value);
        }
        return success();
      })
      .Case<ReshardStepOpInterface>(
          [&](ReshardStepOpInterface step) -> LogicalResult {
            FailureOr<OnMesh> on =
                resolve(step.getGroupMesh(), step.getGroupAxes());
            if (failed(on))
              return failure();
            auto type = cast<RankedTensorType>(op->getResult(0).getType());
            RankTensors value =
                StepRunner{step, frame[op->getOperand(0)],
                           on->first.getGroups(on->second), type.getShape()}
                    .run();
            frame[op->getResult(0)] = std::move(value);
            return success();
          })
      .Default([&](Operation *) {
        return op->emitError()
               << "the interpreter has no operation '" << op->getName() << "'";
      });
}

} // namespace tp::interp
