//===- States.cpp - One sharding for each state ---------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A state has one place in memory for all functions, so its sharding is not
// inferred in one of them: it is written on all before propagation begins.
//
//===----------------------------------------------------------------------===//

#include "Propagation.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tp/Dialect/TP/IR/TPOps.h"

using namespace mlir;
using namespace tp;

/// The sharding as propagation writes it, closed; replicated if there
/// is none.
static ShardingAttr close(ShardingAttr sharding, MeshOp mesh, int64_t rank) {
  Mesh resolved = mesh.getMesh().toMesh();
  TensorSharding closed = sharding ? sharding.toSharding(resolved).closed()
                                   : TensorSharding::replicated(rank);
  return ShardingAttr::get(mesh.getContext(),
                           FlatSymbolRefAttr::get(mesh.getSymNameAttr()),
                           resolved, closed);
}

/// Visit the sharding of each argument and result that carries `state`, with a
/// function that sets it.
template <typename Visit>
static void forEachUse(ModuleOp module, StateOp state, Visit visit) {
  StringRef name = TPDialect::getShardingAttrName();
  auto symbol = FlatSymbolRefAttr::get(state.getSymNameAttr());
  for (auto function : module.getOps<func::FuncOp>()) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (getArgState(function, i) == symbol)
        visit(function.getArgAttrOfType<ShardingAttr>(i, name),
              [&](ShardingAttr other) { function.setArgAttr(i, name, other); });
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (getResultState(function, i) == symbol)
        visit(getResultSharding(function, i), [&](ShardingAttr other) {
          function.setResultAttr(i, name, other);
        });
  }
}

void tp::shardStates(ModuleOp module, MeshOp mesh) {
  for (auto state : module.getOps<StateOp>()) {
    int64_t rank = cast<RankedTensorType>(state.getType()).getRank();
    ShardingAttr sharding = state.getShardingAttr();
    forEachUse(module, state, [&](ShardingAttr used, auto) {
      if (!sharding)
        sharding = used;
    });
    sharding = close(sharding, mesh, rank);
    state.setShardingAttr(sharding);
    // One that differs stays, and the verifier names it.
    forEachUse(module, state, [&](ShardingAttr used, auto set) {
      if (!used || close(used, mesh, rank) == sharding)
        set(sharding);
    });
  }
}

void tp::adoptShardings(ModuleOp module) {
  for (auto state : module.getOps<StateOp>())
    forEachUse(module, state,
               [&](ShardingAttr used, auto) { state.setShardingAttr(used); });
}
