//===- Segment.cpp - memory that the ranks of a communicator share --------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Abstract sockets, a descriptor sent over them, and one mapping.
//
//===----------------------------------------------------------------------===//

#include "Segment.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

using namespace fake;

namespace {

constexpr size_t kHeader = (sizeof(Shared) + 4095) / 4096 * 4096;
constexpr char kPrefix[] = "tprt-test-nccl-";

size_t fileBytes(int ranks) {
  return kHeader + kSlotBytes * size_t(ranks) * size_t(2 + ranks);
}

socklen_t addressOf(const ncclUniqueId &id, sockaddr_un &address) {
  address = {};
  address.sun_family = AF_UNIX;
  size_t length = strnlen(id.internal, sizeof(address.sun_path) - 1);
  std::memcpy(address.sun_path + 1, id.internal, length);
  return socklen_t(offsetof(sockaddr_un, sun_path) + 1 + length);
}

/// Sends or takes one descriptor.
union Control {
  cmsghdr header;
  char space[CMSG_SPACE(sizeof(int))];
};

void sendDescriptor(int socket, int descriptor) {
  char byte = 0;
  iovec data = {&byte, 1};
  Control control = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.space;
  message.msg_controllen = sizeof(control.space);
  cmsghdr *header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
  (void)sendmsg(socket, &message, MSG_NOSIGNAL);
}

int takeDescriptor(int socket) {
  char byte;
  iovec data = {&byte, 1};
  Control control = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.space;
  message.msg_controllen = sizeof(control.space);
  if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) <= 0)
    return -1;
  cmsghdr *header = CMSG_FIRSTHDR(&message);
  if (!header || header->cmsg_type != SCM_RIGHTS)
    return -1;
  int descriptor;
  std::memcpy(&descriptor, CMSG_DATA(header), sizeof(int));
  return descriptor;
}

[[noreturn]] void serve(int listener, int file) {
  while (true) {
    int peer = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (peer < 0) {
      std::this_thread::yield();
      continue;
    }
    sendDescriptor(peer, file);
    close(peer);
  }
}

} // namespace

bool Segment::create(ncclUniqueId &id) {
  uint64_t random[2];
  if (getrandom(random, sizeof(random), 0) != sizeof(random))
    return false;
  std::memset(&id, 0, sizeof(id));
  std::snprintf(id.internal, sizeof(id.internal), "%s%016llx%016llx", kPrefix,
                static_cast<unsigned long long>(random[0]),
                static_cast<unsigned long long>(random[1]));
  int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  int file = memfd_create("tprt-test-nccl", MFD_CLOEXEC);
  sockaddr_un address;
  socklen_t length = addressOf(id, address);
  if (listener < 0 || file < 0 ||
      ftruncate(file, off_t(fileBytes(kMaxRanks))) != 0 ||
      bind(listener, reinterpret_cast<sockaddr *>(&address), length) != 0 ||
      listen(listener, kMaxRanks) != 0)
    return false;
  std::thread(serve, listener, file).detach();
  return true;
}

Segment *Segment::open(const ncclUniqueId &id, int ranks, std::string &why) {
  if (std::strncmp(id.internal, kPrefix, sizeof(kPrefix) - 1) != 0) {
    why = "the unique id was not made by ncclGetUniqueId";
    return nullptr;
  }
  sockaddr_un address;
  socklen_t length = addressOf(id, address);
  int peer = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(peer, reinterpret_cast<sockaddr *>(&address), length) != 0) {
    why = std::string("the maker of the unique id does not answer: ") +
          std::strerror(errno);
    close(peer);
    return nullptr;
  }
  int file = takeDescriptor(peer);
  close(peer);
  if (file < 0) {
    why = "the maker of the unique id closed the connection";
    return nullptr;
  }
  void *base = mmap(nullptr, fileBytes(ranks), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_NORESERVE, file, 0);
  close(file);
  if (base == MAP_FAILED) {
    why = std::string("cannot map the shared memory: ") + std::strerror(errno);
    return nullptr;
  }
  return new Segment(static_cast<char *>(base), fileBytes(ranks), ranks);
}

Segment::~Segment() { munmap(base_, bytes_); }

char *Segment::slot(int rank, uint64_t sequence) const {
  return base_ + kHeader + kSlotBytes * (size_t(rank) * 2 + sequence % 2);
}

char *Segment::mail(int from, int to) const {
  return base_ + kHeader +
         kSlotBytes *
             (size_t(ranks_) * 2 + size_t(from) * size_t(ranks_) + size_t(to));
}
