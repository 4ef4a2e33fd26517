//===- ParameterPlan.cpp - where the parameters lie -----------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two instances of templates are one tensor if all that decides their values is
// the same.
//
//===----------------------------------------------------------------------===//

#include "ParameterPlan.h"

#include "../support/Memory.h"
#include "tprt/abi.h"

#include <map>
#include <tuple>

using namespace tprt;

/// Identifies what an instance of a template loads.
static auto keyOf(const Parameter &p, int64_t instance) {
  // Storage of one name and type differs in how often an element is repeated.
  return std::tuple(p.nameOf(0, instance), p.type, p.init, p.sliceOffsets,
                    p.sliceSizes, p.sliceSteps, p.permutation, p.localShape,
                    p.sharding, p.partial,
                    p.storage ? p.storage->repeat : std::vector<int64_t>());
}

ParameterPlan::ParameterPlan(const Manifest &manifest) {
  std::map<decltype(keyOf({}, 0)), int64_t> known;
  for (size_t t = 0; t < manifest.parameters.size(); ++t) {
    const Parameter &p = manifest.parameters[t];
    // Steps read the state.
    if (p.state >= 0) {
      offsets.insert(offsets.end(), size_t(p.count), 0);
      continue;
    }
    for (int64_t i = 0; i < p.count; ++i) {
      auto [found, isNew] = known.insert({keyOf(p, i), bytes});
      offsets.push_back(found->second);
      if (!isNew)
        continue;
      tensors.push_back({int64_t(t), i, bytes});
      // As cuBLASLt likes its operands, and caches their lines.
      bytes = alignUp(bytes + p.localBytes(), 256);
    }
  }
}
