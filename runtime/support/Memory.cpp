//===- Memory.cpp - buffers and files -------------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Thin owners of mmap and stdio handles.
//
//===----------------------------------------------------------------------===//

#include "Memory.h"
#include "tprt/units.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

using namespace tprt;

constexpr int64_t kHugePage = int64_t(2) << 20;

Buffer::~Buffer() {
  if (data_ && owned_)
    munmap(data_, size_);
}

/// Maps that many bytes at a multiple of `page`, so that huge pages can be
/// mapped as such; null for an error.
static char *mapAt(int64_t page, int64_t bytes, int flags, int fd) {
  void *space = mmap(nullptr, bytes + page, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED)
    return nullptr;
  // Pages outside the alignment are given back.
  char *begin = static_cast<char *>(space);
  char *start = reinterpret_cast<char *>(alignUp(int64_t(space), page));
  if (start != begin)
    munmap(begin, start - begin);
  munmap(start + bytes, begin + page - start);
  void *memory = mmap(start, bytes, PROT_READ | PROT_WRITE,
                      flags | MAP_NORESERVE | MAP_FIXED, fd, 0);
  return memory == MAP_FAILED ? nullptr : start;
}

Expected<Buffer> Buffer::allocate(int64_t bytes) {
  Buffer buffer;
  if (bytes == 0)
    return buffer;
  int64_t page = bytes >= 2 * kHugePage ? kHugePage : sysconf(_SC_PAGESIZE);
  buffer.size_ = alignUp(bytes, page);
  buffer.data_ = mapAt(page, buffer.size_, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  if (!buffer.data_)
    return userError("cannot allocate ", formatBytes(double(bytes)), ": ",
                     std::strerror(errno));
  if (page == kHugePage)
    madvise(buffer.data_, buffer.size_, MADV_HUGEPAGE);
  return buffer;
}

Expected<Buffer> Buffer::share(int fd, int64_t bytes) {
  Buffer buffer;
  buffer.size_ = bytes;
  buffer.data_ = mapAt(kHugePage, bytes, MAP_SHARED, fd);
  if (!buffer.data_)
    return userError("cannot map ", formatBytes(double(bytes)),
                     " of shared memory: ", std::strerror(errno));
  return buffer;
}

Status Buffer::reserve(int64_t bytes) {
  if (bytes <= size_)
    return {};
  TPRT_ASSIGN(*this, allocate(bytes));
  return {};
}

Buffer Buffer::borrow(char *data, int64_t bytes) {
  Buffer buffer;
  buffer.data_ = data;
  buffer.size_ = bytes;
  buffer.owned_ = false;
  return buffer;
}

int64_t Buffer::touched() const {
  if (!data_)
    return 0;
  int64_t page = sysconf(_SC_PAGESIZE);
  std::vector<unsigned char> resident((size_ + page - 1) / page);
  if (mincore(data_, size_, resident.data()) != 0)
    return size_;
  int64_t count = 0;
  for (unsigned char flags : resident)
    count += flags & 1;
  return count * page;
}

Expected<InputFile> InputFile::open(const std::string &path) {
  InputFile file;
  file.path = path;
  // A pipe would wait for somebody who writes to it.
  file.fd = Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info;
  if (!file.fd.open() || fstat(file.fd, &info) != 0)
    return userError("cannot open '", path, "': ", std::strerror(errno));
  if (!S_ISREG(info.st_mode))
    return userError("'", path, "' is not a file");
  file.bytes = info.st_size;
  return file;
}

Status InputFile::read(int64_t offset, void *data, int64_t size) const {
  for (int64_t done = 0; done < size;) {
    ssize_t count = pread(fd, static_cast<char *>(data) + done,
                          size_t(size - done), offset + done);
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return userError("cannot read '", path, "': ", std::strerror(errno));
    if (count == 0) {
      struct stat now{};
      fstat(fd, &now);
      return userError("'", path, "': expected ", bytes, " bytes, got ",
                       now.st_size,
                       ": the file was cut short while it was read");
    }
    done += count;
  }
  return {};
}

Expected<LoadedFile> LoadedFile::open(const std::string &path) {
  TPRT_ASSIGN(auto file, InputFile::open(path));
  LoadedFile result;
  TPRT_ASSIGN(result.memory, Buffer::allocate(file.size()));
  result.size = size_t(file.size());
  TPRT_TRY(file.read(0, result.memory.data(), file.size()));
  return result;
}

/// A file of the folder that has no name yet, which goes with whatever ends the
/// program; null where the file system has no such files.
static std::FILE *createNameless(const std::string &path) {
  std::string folder = std::filesystem::path(path).parent_path().string();
  // By its entry in /proc it gets a name later.
  if (access("/proc/self/fd", X_OK) != 0)
    return nullptr;
  int fd = ::open(folder.empty() ? "." : folder.c_str(),
                  O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
  if (fd < 0)
    return nullptr;
  std::FILE *file = fdopen(fd, "wb");
  if (!file)
    ::close(fd);
  return file;
}

/// Gives a nameless file this name, which nothing has or which is replaced.
static bool giveName(std::FILE *file, const std::string &name) {
  std::string entry = "/proc/self/fd/" + std::to_string(fileno(file));
  std::remove(name.c_str()); // of a process that had the same number
  return linkat(AT_FDCWD, entry.c_str(), AT_FDCWD, name.c_str(),
                AT_SYMLINK_FOLLOW) == 0;
}

OutputFile::~OutputFile() {
  if (file)
    std::fclose(file);
  if (!temporary.empty())
    std::remove(temporary.c_str());
}

Expected<OutputFile> OutputFile::create(const std::string &path) {
  namespace fs = std::filesystem;
  OutputFile out;
  std::error_code error;
  // If it is a link, the file that it leads to is replaced.
  fs::path target = path;
  for (int i = 0; i < 40 && fs::is_symlink(fs::symlink_status(target, error));
       ++i)
    target = target.parent_path() / fs::read_symlink(target, error);
  out.path = target.string();
  // Devices and pipes are written to, not replaced.
  fs::file_type type = fs::status(path, error).type();
  if (type == fs::file_type::not_found || type == fs::file_type::regular)
    out.temporary = out.path + ".tmp." + std::to_string(getpid());
  else if (type == fs::file_type::directory)
    return userError("cannot write '", path, "': it is a directory");
  const std::string &name = out.temporary.empty() ? out.path : out.temporary;
  if (!out.temporary.empty())
    out.file = createNameless(out.path);
  out.isNameless = out.file != nullptr;
  if (!out.file)
    out.file = std::fopen(name.c_str(), "wb");
  if (!out.file) {
    out.temporary.clear();
    return userError("cannot write '", path, "': ", std::strerror(errno));
  }
  return out;
}

Status OutputFile::write(const void *data, size_t size) {
  if (std::fwrite(data, 1, size, file) != size)
    return userError("cannot write '", path, "': ", std::strerror(errno));
  return {};
}

Status OutputFile::commit() {
  std::FILE *handle = std::exchange(file, nullptr);
  bool isWhole =
      std::fflush(handle) == 0 && (!isNameless || giveName(handle, temporary));
  int problem = errno;
  if (std::fclose(handle) != 0 && std::exchange(isWhole, false))
    problem = errno;
  if (isWhole && !temporary.empty() &&
      std::rename(temporary.c_str(), path.c_str()) != 0) {
    isWhole = false;
    problem = errno;
  }
  if (!isWhole)
    return userError("cannot write '", path, "': ", std::strerror(problem));
  temporary.clear();
  return {};
}

Status tprt::checkWritable(const std::string &path) {
  namespace fs = std::filesystem;
  if (path.empty() || path == "-")
    return {};
  std::error_code ignored;
  fs::file_type type = fs::status(path, ignored).type();
  // To open a pipe is to wait for somebody who reads it.
  if (type == fs::file_type::fifo || type == fs::file_type::socket)
    return {};
  return OutputFile::create(path).status();
}

Status tprt::writeFile(const std::string &path, std::string_view bytes) {
  if (path == "-") {
    if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size() ||
        std::fflush(stdout) != 0)
      return errno == EPIPE ? userError("")
                            : userError("cannot write to standard output: ",
                                        std::strerror(errno));
    return {};
  }
  TPRT_ASSIGN(auto out, OutputFile::create(path));
  TPRT_TRY(out.write(bytes.data(), bytes.size()));
  return out.commit();
}

int tprt::endWith(const char *program, const Status &status) {
  if (!status.ok() && !status.message().empty())
    std::fprintf(stderr, "%s: error: %s\n", program, status.message().c_str());
  return int(status.code());
}
