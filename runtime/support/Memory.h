//===- Memory.h - buffers and files -----------------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Owners of memory, files and other descriptors. Buffers come zeroed from the
// system, aligned to a page, on huge pages where that pays, and can tell how
// much of them was ever touched: that is how the runtime measures what the
// compiler planned.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_SUPPORT_MEMORY_H
#define TPRT_SUPPORT_MEMORY_H

#include "tprt/status.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>

namespace tprt {

/// An open file, socket or anything else; closes it.
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

/// Memory by the page.
class Buffer {
public:
  Buffer() = default;
  Buffer(Buffer &&other) noexcept { swap(other); }
  Buffer &operator=(Buffer &&other) noexcept {
    swap(other);
    return *this;
  }
  ~Buffer();

  static Expected<Buffer> allocate(int64_t bytes);
  /// The bytes of a file, common to all who map it.
  static Expected<Buffer> share(int fd, int64_t bytes);
  /// Memory that belongs to somebody else, who keeps it mapped.
  static Buffer borrow(char *data, int64_t bytes);

  /// At least `bytes`; what was in it is lost where it grows.
  Status reserve(int64_t bytes);

  char *data() const { return data_; }
  int64_t size() const { return size_; }
  /// Bytes of the pages that were ever written or read, by the page.
  int64_t touched() const;

private:
  void swap(Buffer &other) {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(owned_, other.owned_);
  }
  char *data_ = nullptr;
  int64_t size_ = 0;
  bool owned_ = true;
};

/// An open file that is read piece by piece. Files of others are never mapped:
/// one that is cut short or fails meanwhile is an error here, and would be a
/// signal there.
class InputFile {
public:
  static Expected<InputFile> open(const std::string &path);
  int64_t size() const { return bytes; }
  /// Fills `data` with the bytes from `offset` on. From any thread.
  Status read(int64_t offset, void *data, int64_t size) const;

private:
  Descriptor fd;
  std::string path;
  int64_t bytes = 0;
};

/// A file's bytes, all of them read, aligned to a page.
class LoadedFile {
public:
  static Expected<LoadedFile> open(const std::string &path);
  std::string_view bytes() const { return {memory.data(), size}; }

private:
  Buffer memory;
  size_t size = 0;
};

/// A file written beside its destination and renamed to it by commit(); without
/// commit it is removed. Until then it has no name, where the file system has
/// such files, so that it goes even if the process is killed.
class OutputFile {
public:
  OutputFile(OutputFile &&other) noexcept { swap(other); }
  ~OutputFile();

  static Expected<OutputFile> create(const std::string &path);
  Status write(const void *data, size_t size);
  Status commit();

private:
  OutputFile() = default;
  void swap(OutputFile &other) {
    std::swap(file, other.file);
    std::swap(path, other.path);
    std::swap(temporary, other.temporary);
    std::swap(isNameless, other.isNameless);
  }
  std::FILE *file = nullptr;
  std::string path, temporary;
  bool isNameless = false;
};

/// An early error for a file that could not be written at the end: it is begun
/// and removed. `-` and the empty path are none.
Status checkWritable(const std::string &path);

/// `write` to a file as a whole; `-` is standard output. If nobody reads that
/// any more, as behind `| head`, the error has no message, as nobody asks.
Status writeFile(const std::string &path, std::string_view bytes);

/// Ends a program: says its error on standard error, if that has a message, and
/// returns its exit code.
int endWith(const char *program, const Status &status);

inline int64_t alignUp(int64_t value, int64_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

} // namespace tprt

#endif // TPRT_SUPPORT_MEMORY_H
