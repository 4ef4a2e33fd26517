//===- Descriptor.h - an open file ------------------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Owns a file descriptor, of a file, a socket or anything else, and closes it.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_SUPPORT_DESCRIPTOR_H
#define TPRT_SUPPORT_DESCRIPTOR_H

#include <unistd.h>
#include <utility>

namespace tprt {

class Descriptor {
public:
  /// Takes the descriptor; a negative one is none.
  explicit Descriptor(int fd = -1) : fd(fd) {}
  Descriptor(Descriptor &&other) noexcept : fd(std::exchange(other.fd, -1)) {}
  Descriptor &operator=(Descriptor &&other) noexcept {
    std::swap(fd, other.fd);
    return *this;
  }
  ~Descriptor() { reset(); }

  void reset() {
    if (fd >= 0)
      close(fd);
    fd = -1;
  }
  bool open() const { return fd >= 0; }
  operator int() const { return fd; }

private:
  int fd;
};

} // namespace tprt

#endif // TPRT_SUPPORT_DESCRIPTOR_H
