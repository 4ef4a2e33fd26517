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
#include <unistd.h>

struct tprt_session {
  tprt::Session::Owner session;
  std::string error, text;
  tprt::Shape shape; ///< of a result that was described
  pid_t process = getpid();
};

namespace tprt::capi {

/// Keeps the message of what went wrong, and returns its code.
inline int32_t keepError(std::string &error, const Status &status) {
  if (!status.ok())
    error = status.message();
  return int32_t(status.code());
}

/// Calls body and keeps the message of what went wrong.
template <typename Body>
int32_t guard(std::string &error, Body body) {
  return keepError(error, caught(body));
}

/// True if this process is a forked child of `owner`, which opened something. A
/// child has the memory of its parent and none of the threads: whatever waits
/// for one would wait for ever, and what is given back would be the parent's.
inline bool isForked(pid_t owner) { return getpid() != owner; }
inline Status checkProcess(pid_t owner, const char *what) {
  if (!isForked(owner))
    return {};
  return userError("process ", getpid(), " was forked from process ", owner,
                   ", which opened the ", what,
                   ": threads and devices stay with that one; open another ",
                   what,
                   " in this process (in Python, start processes with "
                   "multiprocessing's method 'spawn')");
}

/// Runs the body of a session's function. What it throws goes wrong on this
/// rank alone: the others are told.
template <typename Body>
int32_t guard(tprt_session *session, Body body) {
  Status status = checkProcess(session->process, "session");
  bool isThrown = status.ok();
  if (status.ok())
    status = caught([&]() -> Status {
      Status returned = body();
      isThrown = false;
      return returned;
    });
  if (isThrown)
    session->session->abort(status);
  return keepError(session->error, status);
}

/// Reads a caller's structure, which may be of a later version as long as it
/// asks for nothing that this one does not know.
template <typename T>
Status take(const T *from, const char *name, T &to, size_t least = sizeof(T)) {
  uint64_t size = from->size;
  if (size < least)
    return userError(name, ": expected a size of ", least,
                     " bytes or more, got ", size, "; set it to sizeof(", name,
                     ")");
  auto *bytes = reinterpret_cast<const char *>(from);
  if (size > sizeof(T) && std::any_of(bytes + sizeof(T), bytes + size,
                                      [](char byte) { return byte != 0; }))
    return userError(name,
                     ": has a field that this version of the runtime "
                     "does not know, in bytes ",
                     sizeof(T), " to ", size);
  to = {};
  std::memcpy(&to, from, std::min<size_t>(size, sizeof(T)));
  return {};
}

} // namespace tprt::capi

#endif // TPRT_SESSION_CAPI_H
