//===- Libraries.cpp - CUDA's libraries, opened when needed ---------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A function is looked up by the name that the header's macros make of it, such
// as cuMemAlloc_v2 of cuMemAlloc: that is the one whose type the header states.
//
//===----------------------------------------------------------------------===//

#include "CublasLt.h"
#include "Driver.h"
#include "Nccl.h"

using namespace tprt;

#define TPRT_QUOTE(name) #name
#define TPRT_NAME(name) TPRT_QUOTE(name)
/// Stays null where the library does not have it.
#define TPRT_FIND(function)                                                    \
  (void)library->find(TPRT_NAME(function), api.function);

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
  auto library =
      Library::open("the CUDA driver", "TPRT_CUDA_LIBRARY", {"libcuda.so.1"},
                    "a machine with an NVIDIA GPU and its driver has it");
  if (!library)
    return library.status();
  Driver api;
#define X(function)                                                            \
  TPRT_TRY(findInDriver(*library, TPRT_NAME(function), api.function));
#define OPTIONAL(function) TPRT_FIND(function)
#include "Driver.def"
#undef X
  return api;
}

Expected<const Driver *> Driver::get() {
  static const Expected<Driver> loaded = loadDriver();
  if (!loaded)
    return loaded.status();
  return &*loaded;
}

static Expected<CublasLt> loadCublasLt() {
  auto library = Library::open("cuBLASLt", "TPRT_CUBLASLT_LIBRARY",
                               {"libcublasLt.so.13", "libcublasLt.so.12"},
                               "install the CUDA toolkit's cuBLAS");
  if (!library)
    return library.status();
  CublasLt api;
#define X(function) TPRT_TRY(library->find(TPRT_NAME(function), api.function));
#include "CublasLt.def"
#undef X
  return api;
}

Expected<const CublasLt *> CublasLt::get() {
  static const Expected<CublasLt> loaded = loadCublasLt();
  if (!loaded)
    return loaded.status();
  return &*loaded;
}

static Expected<Nccl> loadNccl() {
  auto library = Library::open("NCCL", "TPRT_NCCL_LIBRARY", {"libnccl.so.2"},
                               "install libnccl2");
  if (!library)
    return library.status();
  Nccl api;
#define X(function) TPRT_TRY(library->find(TPRT_NAME(function), api.function));
#define OPTIONAL(function) TPRT_FIND(function)
#include "Nccl.def"
#undef X
  return api;
}

Expected<const Nccl *> Nccl::get() {
  static const Expected<Nccl> loaded = loadNccl();
  if (!loaded)
    return loaded.status();
  return &*loaded;
}

Status Driver::check(CUresult result, const std::string &what) const {
  if (result == CUDA_SUCCESS)
    return {};
  const char *name = nullptr, *text = nullptr;
  cuGetErrorName(result, &name);
  cuGetErrorString(result, &text);
  return userError(what, ": ", name ? name : "unknown CUDA error", " (",
                   text ? text : std::to_string(int(result)).c_str(), ")");
}

Status CublasLt::check(cublasStatus_t result, const std::string &what) const {
  if (result == CUBLAS_STATUS_SUCCESS)
    return {};
  return userError(what, ": ", cublasLtGetStatusString(result));
}

Status Nccl::check(ncclResult_t result, const std::string &what) const {
  if (result == ncclSuccess)
    return {};
  const char *last = ncclGetLastError(nullptr);
  return userError(what, ": ", ncclGetErrorString(result),
                   last && *last ? std::string(": ") + last : std::string());
}
