//===- MatchPlaces.cpp - Values of two programs by their places -----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See MatchPlaces.h. Folders are left out of files' names: the two programs
// were perhaps made from different ones.
//
//===----------------------------------------------------------------------===//

#include "MatchPlaces.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "tp/Verify/Passes.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/Support/Path.h"
#include <map>

using namespace mlir;

/// The place that an operation comes from; empty if it does not say.
static std::string getPlace(Operation *op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  op->getLoc()->walk([&](Location loc) {
    if (auto name = dyn_cast<NameLoc>(loc))
      os << " " << name.getName().getValue();
    if (auto file = dyn_cast<FileLineColLoc>(loc))
      os << " " << llvm::sys::path::filename(file.getFilename().getValue())
         << ":" << file.getLine() << ":" << file.getColumn();
    return WalkResult::advance();
  });
  return text;
}

using Places = std::map<std::string, SmallVector<Operation *, 1>>;

/// The operations with results that are not of `done`, by their places, in
/// their order.
static Places getPlaces(ModuleOp module, bool withName,
                        const DenseSet<Operation *> &done) {
  Places places;
  module->walk<WalkOrder::PreOrder>([&](Operation *op) {
    std::string place = getPlace(op);
    if (!op->getNumResults() || place.empty() || done.contains(op))
      return;
    if (withName)
      place = (op->getName().getStringRef() + place).str();
    places[place].push_back(op);
  });
  return places;
}

int64_t tp::matchPlaces(ModuleOp reference, ModuleOp program) {
  bool hasIds = program
                    ->walk([](Operation *op) {
                      return op->hasAttr(valueIdAttrName)
                                 ? WalkResult::interrupt()
                                 : WalkResult::advance();
                    })
                    .wasInterrupted();
  if (hasIds)
    return 0;
  int64_t count = 0;
  DenseSet<Operation *> done;
  // By name too first; what is left may have become another operation.
  for (bool withName : {true, false}) {
    Places originals = getPlaces(reference, withName, done);
    for (auto &[place, ops] : getPlaces(program, withName, done)) {
      auto found = originals.find(place);
      if (found == originals.end() || found->second.size() != ops.size())
        continue;
      for (auto [original, op] : llvm::zip_equal(found->second, ops)) {
        done.insert(original);
        done.insert(op);
        auto id = original->getAttr(valueIdAttrName);
        if (!id || original->getNumResults() != op->getNumResults())
          continue;
        op->setAttr(valueIdAttrName, id);
        ++count;
      }
    }
  }
  return count;
}
