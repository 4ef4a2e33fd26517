//===- KernelImages.h - generated kernels on the device ---------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chooses the artifact's machine code for the device, or its PTX, and finds all
// kernels in it.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_CUDA_KERNELIMAGES_H
#define TPRT_CUDA_KERNELIMAGES_H

#include "../rank/Rank.h"
#include "CudaDevice.h"
#include "libraries/Libraries.h"

namespace tprt {

class KernelImages {
public:
  /// Loads the kernels of the manifest. Machine code for the device's own
  /// architecture comes first; PTX serves every device from 8.0 on.
  Status load(const Driver &cuda, const CudaDevice &device,
              const Manifest &manifest, const Program &program);

  /// Starts kernels[id]; `arguments` holds one eight-byte slot per parameter.
  Status launch(int64_t id, void *arguments, CUstream stream) const;

  /// The section that was taken.
  const std::string &section() const { return chosen; }

private:
  const Driver *cuda = nullptr;
  const Manifest *manifest = nullptr;
  LoadedLibrary library;
  std::vector<CUfunction> functions; ///< by position in Manifest::kernels
  std::string chosen;
};

/// The section of `program` for a device of this compute capability, without
/// `kernels.`: `sm_90`, or `ptx`.
Expected<std::string> chooseKernels(const Program &program, int major,
                                    int minor);

} // namespace tprt

#endif // TPRT_CUDA_KERNELIMAGES_H
