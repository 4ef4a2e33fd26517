//===- KernelImages.cpp - generated kernels on the device -----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See KernelImages.h.
//
//===----------------------------------------------------------------------===//

#include "KernelImages.h"

#include <cstdlib>

using namespace tprt;

/// Shared memory that a block gets without asking.
constexpr int64_t kDefaultShared = 48 * 1024;
/// The compute capability that the PTX is written for.
constexpr int kPtxMajor = 8;

Expected<std::string> tprt::chooseKernels(const Program &program, int major,
                                          int minor) {
  std::string best = "ptx", known;
  int bestMinor = -1;
  for (const auto &[section, bytes] : program.kernels) {
    std::string name = section.substr(section.find('.') + 1);
    known += (known.empty() ? "" : ", ") + name;
    if (!name.starts_with("sm_") || name.size() < 5)
      continue;
    // sm_90: major 9, minor 0; sm_100: major 10, minor 0. Machine code runs on
    // its own minor version and later ones of the same major.
    char *end = nullptr;
    long number = std::strtol(name.c_str() + 3, &end, 10);
    if (*end || number / 10 != major || number % 10 > minor ||
        number % 10 <= bestMinor)
      continue;
    best = name;
    bestMinor = int(number % 10);
  }
  if (best == "ptx" && major < kPtxMajor)
    return userError("expected a device of compute capability ", kPtxMajor,
                     ".0 or later, got ", major, ".", minor,
                     "; the artifact has kernels as ", known);
  return best;
}

std::string tprt::chooseImage(const Manifest &manifest, int major, int minor) {
  std::string own = "sm_" + std::to_string(major) + std::to_string(minor) + "a";
  for (const std::string &image : manifest.images)
    if (image == own)
      return own;
  return "";
}

/// Loads a section, which is PTX if its name ends so.
Expected<CUlibrary> KernelImages::loadLibrary(const CudaDevice &device,
                                              const Program &program,
                                              const std::string &section) {
  // The driver's PTX compiler writes its log here.
  char log[4096] = "";
  CUjit_option keys[] = {CU_JIT_ERROR_LOG_BUFFER,
                         CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log))};
  bool isText = section.ends_with("ptx");
  CUlibrary made = nullptr;
  CUresult result = cuda->cuLibraryLoadData(
      &made, program.kernels.at("kernels." + section).data(), keys, values,
      isText ? 2 : 0, nullptr, nullptr, 0);
  Status status = cuda->check(result, "cannot load the kernels (" + section +
                                          ") on " + device.describe());
  if (result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION ||
      result == CUDA_ERROR_NO_BINARY_FOR_GPU) {
    int version = 0;
    cuda->cuDriverGetVersion(&version);
    return userError(status.message(), ": the driver is for CUDA ",
                     version / 1000, ".", version % 1000 / 10,
                     "; update it, or compile with --target cuda:sm_",
                     device.major, device.minor);
  }
  if (!status.ok())
    return log[0] ? Status(status.code(), status.message() + ": " + log)
                  : status;
  libraries.emplace_back(*cuda, made);
  return made;
}

Expected<KernelImages::Loaded>
KernelImages::find(const CudaDevice &device, CUlibrary made,
                   const Kernel &kernel, const KernelLaunch &launch,
                   const std::string &section) const {
  std::string what = "kernel '" + kernel.name + "'";
  CUkernel handle = nullptr;
  CUfunction function = nullptr;
  TPRT_TRY(
      cuda->check(cuda->cuLibraryGetKernel(&handle, made, kernel.code.c_str()),
                  what + " is not in the artifact's " + section));
  TPRT_TRY(cuda->check(cuda->cuKernelGetFunction(&function, handle), what));
  // Static shared memory counts towards what a block gets without asking.
  int fixed = 0;
  TPRT_TRY(
      cuda->check(cuda->cuFuncGetAttribute(
                      &fixed, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function),
                  what));
  TPRT_TRY(device.checkShared(launch.sharedBytes + fixed, what));
  if (launch.sharedBytes > 0 && launch.sharedBytes + fixed > kDefaultShared)
    TPRT_TRY(cuda->check(cuda->cuFuncSetAttribute(
                             function,
                             CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                             int(launch.sharedBytes)),
                         what));
#if CUDA_VERSION >= 12040
  // Otherwise the first launch may load it, which waits for the device: and a
  // collective that runs there may wait for a rank that this one holds up.
  if (cuda->cuFuncLoad)
    TPRT_TRY(cuda->check(cuda->cuFuncLoad(function), what));
#endif
  return Loaded{function, &launch};
}

Status KernelImages::load(const Driver &driver, const CudaDevice &device,
                          const Manifest &tables, const Program &program) {
  cuda = &driver;
  manifest = &tables;
  TPRT_ASSIGN(
      std::string portable,
      chooseKernels(program, device.major, device.minor).in(device.describe()));
  if (tables.kernels.empty())
    return {}; // products and collectives alone
  TPRT_ASSIGN(CUlibrary base, loadLibrary(device, program, portable));
  std::string image = chooseImage(tables, device.major, device.minor);
  CUlibrary own = nullptr;
  std::string section = image;
  if (!image.empty()) {
    if (!program.kernels.count("kernels." + image))
      section += ".ptx";
    TPRT_ASSIGN(own, loadLibrary(device, program, section));
  }
  for (const Kernel &kernel : tables.kernels) {
    auto found = kernel.images.find(image);
    bool isOwn = own && found != kernel.images.end();
    TPRT_ASSIGN(Loaded loaded,
                isOwn ? find(device, own, kernel, found->second, section)
                      : find(device, base, kernel, kernel.launch, portable));
    kernels.push_back(loaded);
  }
  return {};
}

Status KernelImages::launch(int64_t id, void *arguments,
                            CUstream stream) const {
  if (id < 0 || id >= int64_t(kernels.size()))
    return internalError("kernel ", id, " is not in the manifest");
  const Kernel &kernel = manifest->kernels[id];
  std::vector<void *> slots(kernel.arguments);
  for (int64_t i = 0; i < kernel.arguments; ++i)
    slots[i] = static_cast<char *>(arguments) + 8 * i;
  const KernelLaunch &launch = *kernels[id].launch;
  auto [gx, gy, gz] = launch.grid;
  auto [bx, by, bz] = launch.block;
  CUresult result = cuda->cuLaunchKernel(
      kernels[id].function, unsigned(gx), unsigned(gy), unsigned(gz),
      unsigned(bx), unsigned(by), unsigned(bz), unsigned(launch.sharedBytes),
      stream, slots.data(), nullptr);
  if (result == CUDA_SUCCESS)
    return {};
  return cuda->check(result, "cannot launch kernel '" + kernel.name + "'");
}
