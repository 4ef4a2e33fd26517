//===- Libraries.cpp - CUDA's libraries, opened when needed ---------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A function is looked up by the name that the header's macros make of it, such
// as cuMemAlloc_v2 of cuMemAlloc: that is the one whose type the header states.
//
//===----------------------------------------------------------------------===//

#include "Libraries.h"

#include "tprt/units.h"

#include <cstdlib>
#include <dlfcn.h>

using namespace tprt;

Expected<Library> Library::open(const char *what, const char *variable,
                                std::initializer_list<const char *> names,
                                const char *remedy) {
  Library library;
  library.what = what;
  library.variable = variable;
  if (const char *path = std::getenv(variable); path && *path) {
    library.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library.handle)
      return userError("cannot open ", what, ": ", dlerror(), " (", variable,
                       " names this file)");
    library.file = path;
    return library;
  }
  std::string tried;
  for (const char *name : names) {
    library.handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library.handle) {
      library.file = name;
      return library;
    }
    const char *reason = dlerror();
    tried += std::string(tried.empty() ? "" : "; ") + (reason ? reason : name);
  }
  return userError("cannot open ", what, ": ", tried, "; ", remedy,
                   ", or name the file in ", variable);
}

Status Library::lookUp(const char *symbol, void *&address) const {
  address = dlsym(handle, symbol);
  if (address)
    return {};
  return userError(what, " (", file, ") has no function '", symbol,
                   "': it is too old for this build; update it, or name "
                   "another file in ",
                   variable);
}

#define TPRT_QUOTE(name) #name
#define TPRT_NAME(name) TPRT_QUOTE(name)
/// Stays null where the library does not have it.
#define TPRT_FIND(function)                                                    \
  (void)library.find(TPRT_NAME(function), api.function);

#define TPRT_REQUIRE(function)                                                 \
  TPRT_TRY(library.find(TPRT_NAME(function), api.function));

/// The library that the first call loaded, or why it could not.
template <typename Api, auto load>
static Expected<const Api *> once() {
  static const Expected<Api> loaded = load();
  if (!loaded)
    return loaded.status();
  return &*loaded;
}

/// A function of the driver. Where a header gave one a new version without a
/// change of its type, drivers that have only the one before it do.
template <typename Function>
static Status findInDriver(const Library &library, const char *name,
                           Function *&function) {
  Status status = library.find(name, function);
  if (!status.ok() && std::string_view(name) == "cuEventElapsedTime_v2" &&
      library.find("cuEventElapsedTime", function).ok())
    return {};
  return status;
}

static Expected<Driver> loadDriver() {
  TPRT_ASSIGN(
      auto library,
      Library::open("the CUDA driver", "TPRT_CUDA_LIBRARY", {"libcuda.so.1"},
                    "a machine with an NVIDIA GPU and its driver has it"));
  Driver api;
#define DRIVER(function)                                                       \
  TPRT_TRY(findInDriver(library, TPRT_NAME(function), api.function));
#define DRIVER_OPTIONAL TPRT_FIND
#include "Functions.def"
  return api;
}

Expected<const Driver *> Driver::get() { return once<Driver, loadDriver>(); }

static Expected<CublasLt> loadCublasLt() {
  TPRT_ASSIGN(auto library,
              Library::open("cuBLASLt", "TPRT_CUBLASLT_LIBRARY",
                            {"libcublasLt.so.13", "libcublasLt.so.12"},
                            "install the CUDA toolkit's cuBLAS"));
  CublasLt api;
#define CUBLASLT TPRT_REQUIRE
#include "Functions.def"
  return api;
}

Expected<const CublasLt *> CublasLt::get() {
  return once<CublasLt, loadCublasLt>();
}

static Expected<Nccl> loadNccl() {
  TPRT_ASSIGN(auto library,
              Library::open("NCCL", "TPRT_NCCL_LIBRARY", {"libnccl.so.2"},
                            "install libnccl2"));
  Nccl api;
#define NCCL TPRT_REQUIRE
#define NCCL_OPTIONAL TPRT_FIND
#include "Functions.def"
  return api;
}

Expected<const Nccl *> Nccl::get() { return once<Nccl, loadNccl>(); }

/// The class of an error: the user mends what the machine lacks; all else went
/// wrong on a device, an illegal address too.
static Code codeOf(CUresult result) {
  for (CUresult lacking :
       {CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_NO_DEVICE,
        CUDA_ERROR_INVALID_DEVICE, CUDA_ERROR_DEVICE_UNAVAILABLE,
        CUDA_ERROR_STUB_LIBRARY, CUDA_ERROR_NO_BINARY_FOR_GPU,
        CUDA_ERROR_UNSUPPORTED_PTX_VERSION, CUDA_ERROR_OPERATING_SYSTEM,
        CUDA_ERROR_NOT_PERMITTED, CUDA_ERROR_SYSTEM_NOT_READY,
        CUDA_ERROR_SYSTEM_DRIVER_MISMATCH,
        CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE})
    if (result == lacking)
      return Code::User;
  return Code::Device;
}

Status Driver::check(CUresult result, const std::string &what) const {
  if (result == CUDA_SUCCESS)
    return {};
  const char *name = nullptr, *text = nullptr;
  cuGetErrorName(result, &name);
  cuGetErrorString(result, &text);
  return {codeOf(result),
          detail::join(what, ": ", name ? name : "unknown CUDA error", " (",
                       text ? text : std::to_string(int(result)).c_str(), ")")};
}

Status CublasLt::check(cublasStatus_t result, const std::string &what) const {
  if (result == CUBLAS_STATUS_SUCCESS)
    return {};
  bool lacking = result == CUBLAS_STATUS_ALLOC_FAILED ||
                 result == CUBLAS_STATUS_ARCH_MISMATCH ||
                 result == CUBLAS_STATUS_NOT_SUPPORTED;
  return {lacking ? Code::User : Code::Device,
          detail::join(what, ": ", cublasLtGetStatusString(result))};
}

Expected<Stream> tprt::makeStream(const Driver &cuda) {
  CUstream stream = nullptr;
  TPRT_TRY(cuda.check(cuda.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING),
                      "cannot make a CUDA stream"));
  return Stream(cuda, stream);
}

Expected<Event> tprt::makeEvent(const Driver &cuda, bool timed) {
  CUevent event = nullptr;
  unsigned flags = timed ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING;
  TPRT_TRY(cuda.check(cuda.cuEventCreate(&event, flags),
                      "cannot make a CUDA event"));
  return Event(cuda, event);
}

Expected<PinnedBytes> tprt::allocatePinned(const Driver &cuda, int64_t bytes) {
  void *memory = nullptr;
  TPRT_TRY(cuda.check(cuda.cuMemHostAlloc(&memory, size_t(bytes ? bytes : 1),
                                          CU_MEMHOSTALLOC_PORTABLE),
                      detail::join("cannot pin ", formatBytes(double(bytes)),
                                   " of host memory")));
  return PinnedBytes(cuda, memory);
}
