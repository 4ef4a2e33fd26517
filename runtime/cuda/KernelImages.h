//===- KernelImages.h - generated kernels on the device ---------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chooses the artifact's machine code for the device, or its PTX, and finds all
// kernels in it. Where the artifact has an image for the very architecture, the
// kernels in that take the place of the portable ones.
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

private:
  /// A kernel as it is started.
  struct Loaded {
    CUfunction function;
    const KernelLaunch *launch;
  };
  Expected<CUlibrary> loadLibrary(const CudaDevice &device,
                                  const Program &program,
                                  const std::string &section);
  Expected<Loaded> find(const CudaDevice &device, CUlibrary made,
                        const Kernel &kernel, const KernelLaunch &launch,
                        const std::string &section) const;

  const Driver *cuda = nullptr;
  const Manifest *manifest = nullptr;
  std::vector<LoadedLibrary> libraries;
  std::vector<Loaded> kernels; ///< by position in Manifest::kernels
};

/// The section of `program` for a device of this compute capability, without
/// `kernels.`: `sm_90`, or `ptx`.
Expected<std::string> chooseKernels(const Program &program, int major,
                                    int minor);

/// The image of `manifest` for a device of exactly this compute capability, as
/// `sm_90a`; empty if it has none.
std::string chooseImage(const Manifest &manifest, int major, int minor);

} // namespace tprt

#endif // TPRT_CUDA_KERNELIMAGES_H
