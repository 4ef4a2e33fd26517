//===- Library.h - a shared library opened when needed ---------*- C++ -*--===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One binary serves machines with and without CUDA: its libraries are opened at
// run time, and what is missing is said by name.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_CUDA_LIBRARIES_LIBRARY_H
#define TPRT_CUDA_LIBRARIES_LIBRARY_H

#include "tprt/status.h"

#include <initializer_list>
#include <string>

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

} // namespace tprt

#endif // TPRT_CUDA_LIBRARIES_LIBRARY_H
