//===- Plugin.cpp - the runtime's calls of an MPI library -----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Becomes libtprt-mpi.so, the only part that is linked to MPI.
//
//===----------------------------------------------------------------------===//

#include "Plugin.h"

#include <algorithm>
#include <cstdlib>
#include <mpi.h>
#include <vector>

namespace {

/// Counts of MPI are ints: long messages go in pieces.
constexpr int64_t kPiece = int64_t(1) << 30;
/// Errors of our own, beyond MPI's.
constexpr int32_t kThreads = 1 << 30, kTwice = kThreads + 1;

std::vector<MPI_Request> requests;

int32_t initialize(int64_t *rank, int64_t *size, int32_t *largestTag) {
  int there = 0;
  MPI_Initialized(&there);
  if (there)
    return kTwice;
  // Open MPI ends a process whose first connection to a peer fails, whatever
  // the error handler says: before the rank could say which peer was lost. So
  // all connections are made here. It can be told by the environment alone.
  constexpr const char *kPreconnect = "OMPI_MCA_mpi_preconnect_mpi";
  bool isChosen = getenv(kPreconnect) != nullptr;
  setenv(kPreconnect, "1", /*overwrite=*/0);
  // Different threads call, one at a time.
  int level = MPI_THREAD_SINGLE;
  int error = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &level);
  if (!isChosen)
    unsetenv(kPreconnect);
  if (error)
    return error;
  if (level < MPI_THREAD_SERIALIZED)
    return kThreads;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int me = 0, all = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  MPI_Comm_size(MPI_COMM_WORLD, &all);
  *rank = me;
  *size = all;
  int *most = nullptr, told = 0;
  if (MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &told) == 0 && told)
    *largestTag = *most;
  return 0;
}

int32_t finalize() { return MPI_Finalize(); }

int32_t broadcast(void *data, int64_t bytes) {
  return MPI_Bcast(data, int(bytes), MPI_BYTE, 0, MPI_COMM_WORLD);
}

int32_t communicator(const int64_t *members, int64_t count, int32_t tag,
                     void **result) {
  MPI_Group world, group;
  if (int error = MPI_Comm_group(MPI_COMM_WORLD, &world))
    return error;
  std::vector<int> ranks(members, members + count);
  int error = MPI_Group_incl(world, int(count), ranks.data(), &group);
  auto *made = new MPI_Comm(MPI_COMM_NULL);
  if (!error) {
    error = MPI_Comm_create_group(MPI_COMM_WORLD, group, tag, made);
    MPI_Group_free(&group);
  }
  MPI_Group_free(&world);
  if (!error)
    error = MPI_Comm_set_errhandler(*made, MPI_ERRORS_RETURN);
  *result = made;
  return error;
}

template <typename Start>
int32_t startParts(const tprt_mpi_part *parts, int64_t count, Start start) {
  for (int64_t i = 0; i < count; ++i) {
    char *data = static_cast<char *>(parts[i].data);
    for (int64_t done = 0; done < parts[i].bytes; done += kPiece) {
      int bytes = int(std::min(kPiece, parts[i].bytes - done));
      requests.push_back(MPI_REQUEST_NULL);
      if (int error =
              start(data + done, bytes, int(parts[i].member), &requests.back()))
        return error;
    }
  }
  return 0;
}

int32_t start(void *communicator, int32_t tag, const tprt_mpi_part *receives,
              int64_t receiveCount, const tprt_mpi_part *sends,
              int64_t sendCount) {
  MPI_Comm comm = *static_cast<MPI_Comm *>(communicator);
  requests.clear();
  if (int error = startParts(
          receives, receiveCount,
          [&](char *data, int bytes, int member, MPI_Request *request) {
            return MPI_Irecv(data, bytes, MPI_BYTE, member, tag, comm, request);
          }))
    return error;
  return startParts(
      sends, sendCount,
      [&](char *data, int bytes, int member, MPI_Request *request) {
        return MPI_Isend(data, bytes, MPI_BYTE, member, tag, comm, request);
      });
}

int32_t test(int32_t *done) {
  int flag = 0;
  int error = MPI_Testall(int(requests.size()), requests.data(), &flag,
                          MPI_STATUSES_IGNORE);
  *done = flag;
  return error;
}

const char *text(int32_t error) {
  static char words[MPI_MAX_ERROR_STRING + 1];
  if (error == kThreads)
    return "the MPI library does not give MPI_THREAD_SERIALIZED";
  if (error == kTwice)
    return "MPI is initialized already";
  int length = 0;
  MPI_Error_string(error, words, &length);
  words[length] = 0;
  return words;
}

} // namespace

extern "C" __attribute__((visibility("default"))) const tprt_mpi *
tprt_mpi_query(uint32_t version) {
  static char library[MPI_MAX_LIBRARY_VERSION_STRING + 1];
  static const tprt_mpi table = {
      TPRT_MPI_VERSION, library, initialize, finalize, broadcast,
      communicator,     start,   test,       text};
  if (version != TPRT_MPI_VERSION)
    return nullptr;
  int length = 0;
  MPI_Get_library_version(library, &length);
  // One line of it.
  *std::find(library, library + length, '\n') = 0;
  *std::find(library, library + length, ',') = 0;
  return &table;
}
