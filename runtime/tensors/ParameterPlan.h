//===- ParameterPlan.h - where the parameters lie ---------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The plan is the same whichever device computes: a table that is read as an
// embedding and as a head is held once.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_TENSORS_PARAMETERPLAN_H
#define TPRT_TENSORS_PARAMETERPLAN_H

#include "../format/Manifest.h"

#include <vector>

namespace tprt {

/// The layout of a rank's parameters: one block of memory, each distinct tensor
/// once, however many templates name it.
struct ParameterPlan {
  struct Tensor {
    int64_t parameter, instance; ///< the first that names it
    int64_t offset;              ///< in the block
  };
  std::vector<Tensor> tensors;
  std::vector<int64_t> offsets; ///< by parameter slot
  int64_t bytes = 0;

  explicit ParameterPlan(const Manifest &manifest);
};

} // namespace tprt

#endif // TPRT_TENSORS_PARAMETERPLAN_H
