//===- CApi.h - what the C interface's files share --------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_SESSION_CAPI_H
#define TPRT_SESSION_CAPI_H

#include "Session.h"
#include "tprt/tprt.h"

#include <algorithm>
#include <cstring>

struct tprt_session {
  tprt::Session::Owner session;
  std::string error, text;
  tprt::Shape shape; ///< of a result that was described
};

namespace tprt::capi {

/// Calls body and keeps the message of what went wrong.
template <typename Body>
int32_t guard(std::string &error, Body body) {
  Status status;
  try {
    status = body();
  } catch (const std::exception &failure) {
    status = internalError(failure.what());
  }
  if (!status.ok())
    error = status.message();
  return int32_t(status.code());
}

/// Reads a caller's structure, which may be of a later version as long as it
/// asks for nothing that this one does not know.
template <typename T>
Status take(const T *from, const char *name, T &to) {
  uint64_t size = from->size;
  if (size < sizeof(T))
    return userError(name, ": expected a size of ", sizeof(T),
                     " bytes or more, got ", size, "; set it to sizeof(", name,
                     ")");
  auto *bytes = reinterpret_cast<const char *>(from);
  if (std::any_of(bytes + sizeof(T), bytes + size,
                  [](char byte) { return byte != 0; }))
    return userError(name,
                     ": has a field that this version of the runtime "
                     "does not know, in bytes ",
                     sizeof(T), " to ", size);
  std::memcpy(&to, from, sizeof(T));
  return {};
}

} // namespace tprt::capi

#endif // TPRT_SESSION_CAPI_H
