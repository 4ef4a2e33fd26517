//===- Libraries.h - CUDA's libraries, opened when needed ------*- C++ -*--===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One binary serves machines with and without CUDA: its libraries are opened at
// run time, and what is missing is said by name. The functions of Functions.def
// are members, named as the functions are, with the version that the header
// gives them. Beside them the owners of what they make.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_CUDA_LIBRARIES_LIBRARIES_H
#define TPRT_CUDA_LIBRARIES_LIBRARIES_H

#include "tprt/status.h"

#include <cublasLt.h>
#include <cuda.h>
#include <nccl.h>

#include <functional>
#include <initializer_list>
#include <string>
#include <utility>

namespace tprt {

/// An open shared library. It stays open as long as the process: CUDA's
/// libraries keep threads and handlers that must not be unmapped.
class Library {
public:
  /// Opens the file that environment variable `variable` names, or else the
  /// first of `names` that the dynamic loader finds. `what` and `remedy` are
  /// for the message: "the CUDA driver", "install the NVIDIA driver".
  static Expected<Library> open(const char *what, const char *variable,
                                std::initializer_list<const char *> names,
                                const char *remedy);

  /// The address of a function; an error that names it if there is none.
  template <typename Function>
  Status find(const char *symbol, Function *&function) const {
    void *found = nullptr;
    TPRT_TRY(lookUp(symbol, found));
    function = reinterpret_cast<Function *>(found);
    return {};
  }

  const std::string &path() const { return file; }

private:
  Status lookUp(const char *symbol, void *&address) const;

  void *handle = nullptr;
  const char *what = "", *variable = "";
  std::string file;
};

#define TPRT_MEMBER(function) decltype(&::function) function = nullptr;

// Each is opened by the first call of `get` in the process; later calls return
// the same.

struct Driver {
#define DRIVER TPRT_MEMBER
#include "Functions.def"

  static Expected<const Driver *> get();
  /// Success, or an error with CUDA's own name and text: `what` is what was
  /// being done.
  Status check(CUresult result, const std::string &what) const;
};

struct CublasLt {
#define CUBLASLT TPRT_MEMBER
#include "Functions.def"

  static Expected<const CublasLt *> get();
  Status check(cublasStatus_t result, const std::string &what) const;
};

struct Nccl {
#define NCCL TPRT_MEMBER
#include "Functions.def"

  static Expected<const Nccl *> get();
};

#undef TPRT_MEMBER

/// Owns what a library made and `destroy`, a member of its Api, gives back. An
/// owner belongs to the thread and context in which it was made.
template <typename Type, auto destroy, typename Api = Driver>
class Handle {
public:
  Handle() = default;
  Handle(const Api &api, Type value) : api(&api), value(value) {}
  Handle(Handle &&other) noexcept { swap(other); }
  Handle &operator=(Handle &&other) noexcept {
    swap(other);
    return *this;
  }
  ~Handle() {
    if (value)
      (api->*destroy)(value);
  }

  Type get() const { return value; }
  explicit operator bool() const { return bool(value); }
  /// Owns nothing any more: for what cannot be given back, as that would wait
  /// for a device that does not answer.
  Type release() { return std::exchange(value, Type{}); }

private:
  void swap(Handle &other) {
    std::swap(api, other.api);
    std::swap(value, other.value);
  }
  const Api *api = nullptr;
  Type value{};
};

using Stream = Handle<CUstream, &Driver::cuStreamDestroy>;
using Event = Handle<CUevent, &Driver::cuEventDestroy>;
/// Waits on the host for an event, not longer than the run waits for a device.
using AwaitEvent = std::function<Status(CUevent)>;
using DeviceBytes = Handle<CUdeviceptr, &Driver::cuMemFree>;
using PinnedBytes = Handle<void *, &Driver::cuMemFreeHost>;
using Graph = Handle<CUgraph, &Driver::cuGraphDestroy>;
using GraphExec = Handle<CUgraphExec, &Driver::cuGraphExecDestroy>;
using LoadedLibrary = Handle<CUlibrary, &Driver::cuLibraryUnload>;

/// A stream that does not wait for the default stream.
Expected<Stream> makeStream(const Driver &cuda);
/// `timed`: for measuring; others are cheaper.
Expected<Event> makeEvent(const Driver &cuda, bool timed = false);
/// Host memory that the device reads and writes directly.
Expected<PinnedBytes> allocatePinned(const Driver &cuda, int64_t bytes);

} // namespace tprt

#endif // TPRT_CUDA_LIBRARIES_LIBRARIES_H
