//===- NcclTest.cpp - collectives between processes -----------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each rank is a process. The id is made by a process that lives as long as the
// ranks need it.
//
//===----------------------------------------------------------------------===//

#include "TestUtil.h"

#include <csignal>
#include <thread>

using namespace fake::test;

namespace {

/// Runs `body(rank, id)` in `ranks` processes, each as a host of its own, and
/// returns their statuses.
std::vector<int> onRanks(int ranks,
                         const std::function<void(int, ncclUniqueId)> &body,
                         bool ownHosts = true) {
  ncclUniqueId id;
  EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank) {
    std::string host = "host" + std::to_string(ownHosts ? rank : 0);
    children.push_back(
        start([&] { body(rank, id); }, {{"NCCL_HOSTID", host.c_str()}}));
  }
  std::vector<int> statuses;
  for (pid_t child : children)
    statuses.push_back(finish(child));
  return statuses;
}

ncclComm_t communicator(int ranks, int rank, ncclUniqueId id) {
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRankConfig(&comm, ranks, id, rank, nullptr),
            ncclSuccess);
  return comm;
}

std::vector<int> zeros(int ranks) { return std::vector<int>(size_t(ranks), 0); }

} // namespace

TEST(Nccl, ReducesGathersScatters) {
  for (int ranks : {1, 2, 3})
    EXPECT_EQ(onRanks(ranks,
                      [ranks](int rank, ncclUniqueId id) {
                        ncclComm_t comm = communicator(ranks, rank, id);
                        CUstream s = stream();
                        size_t n = 1000;
                        std::vector<float> own;
                        for (size_t i = 0; i < n * size_t(ranks); ++i)
                          own.push_back(float(i) + 0.5f * float(rank));
                        float *data = device(own),
                              *sum = device<float>(n * size_t(ranks)),
                              *part = device<float>(n),
                              *all = device<float>(n * size_t(ranks));
                        for (int round = 0; round < 5; ++round) {
                          OK(ncclAllReduce(data, sum, n * size_t(ranks),
                                           ncclFloat32, ncclSum, comm, s));
                          OK(ncclReduceScatter(data, part, n, ncclFloat32,
                                               ncclMax, comm, s));
                          OK(ncclAllGather(data, all, n, ncclFloat32, comm, s));
                        }
                        OK(cuStreamSynchronize(s));
                        float added = 0;
                        for (int r = 0; r < ranks; ++r)
                          added += 0.5f * float(r);
                        auto sums = host(sum, n * size_t(ranks)),
                             gathered = host(all, sums.size()),
                             scattered = host(part, n);
                        for (size_t i = 0; i < sums.size(); ++i) {
                          ASSERT_EQ(sums[i], float(ranks) * float(i) + added);
                          ASSERT_EQ(gathered[i],
                                    float(i % n) + 0.5f * float(i / n));
                        }
                        for (size_t i = 0; i < n; ++i)
                          ASSERT_EQ(scattered[i], float(i + n * size_t(rank)) +
                                                      0.5f * float(ranks - 1));
                        OK(ncclCommFinalize(comm));
                        OK(ncclCommDestroy(comm));
                      }),
              zeros(ranks));
}

// Next to 256, bf16 has no odd numbers: three ones survive only where they are
// added up first. Piece c is summed from rank c + 1 on.
TEST(Nccl, SumsNarrowFloatsAlongTheRing) {
  constexpr size_t piece = 8; // 16 bytes
  EXPECT_EQ(
      onRanks(4,
              [](int rank, ncclUniqueId id) {
                ncclComm_t comm = communicator(4, rank, id);
                CUstream s = stream();
                uint16_t own = rank == 0 ? 0x4380 : 0x3f80; // 256, 1
                std::vector<uint16_t> data(4 * piece, own);
                uint16_t *from = device(data),
                         *sum = device<uint16_t>(4 * piece),
                         *part = device<uint16_t>(piece);
                OK(ncclAllReduce(from, sum, 4 * piece, ncclBfloat16, ncclSum,
                                 comm, s));
                OK(ncclReduceScatter(from, part, piece, ncclBfloat16, ncclSum,
                                     comm, s));
                OK(cuStreamSynchronize(s));
                const uint16_t expected[] = {0x4382, 0x4382,  // 260
                                             0x4380, 0x4380}; // 256
                auto sums = host(sum, 4 * piece), mine = host(part, piece);
                for (size_t i = 0; i < sums.size(); ++i)
                  EXPECT_EQ(sums[i], expected[i / piece]) << i;
                EXPECT_EQ(mine, std::vector<uint16_t>(piece, expected[rank]));
              }),
      zeros(4));
}

TEST(Nccl, SendsAndReceivesInGroups) {
  EXPECT_EQ(onRanks(3,
                    [](int rank, ncclUniqueId id) {
                      ncclComm_t comm = communicator(3, rank, id);
                      CUstream s = stream();
                      int32_t *out = device(std::vector<int32_t>{
                                  rank * 10, rank * 10 + 1, rank * 10 + 2}),
                              *in = device<int32_t>(3);
                      for (int round = 0; round < 3; ++round) {
                        OK(ncclGroupStart());
                        for (int peer = 0; peer < 3; ++peer) {
                          OK(ncclSend(out + peer, 1, ncclInt32, peer, comm, s));
                          OK(ncclRecv(in + peer, 1, ncclInt32, peer, comm, s));
                        }
                        OK(ncclGroupEnd());
                        // Only two of the three take part.
                        if (rank == 0)
                          OK(ncclSend(out, 1, ncclInt32, 1, comm, s));
                        if (rank == 1)
                          OK(ncclRecv(in, 1, ncclInt32, 0, comm, s));
                      }
                      OK(cuStreamSynchronize(s));
                      EXPECT_EQ(host(in, 3),
                                (std::vector<int32_t>{rank == 1 ? 0 : rank,
                                                      10 + rank, 20 + rank}));
                    }),
            zeros(3));
}

TEST(Nccl, IsCaptured) {
  EXPECT_EQ(
      onRanks(2,
              [](int rank, ncclUniqueId id) {
                ncclComm_t comm = communicator(2, rank, id);
                CUstream s = stream();
                float *data = device<float>(8);
                OK(ncclAllReduce(data, data, 8, ncclFloat32, ncclSum, comm, s));
                OK(cuStreamBeginCapture(s,
                                        CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
                OK(cuMemsetD8Async(address(data), 0, 32, s));
                OK(ncclAllReduce(data, data, 8, ncclFloat32, ncclSum, comm, s));
                CUgraph graph;
                OK(cuStreamEndCapture(s, &graph));
                CUgraphExec executable;
                OK(cuGraphInstantiate(&executable, graph, 0));
                for (int i = 0; i < 10; ++i)
                  OK(cuGraphLaunch(executable, s));
                OK(cuStreamSynchronize(s));
                EXPECT_EQ(host(data, 8), std::vector<float>(8, 0));
              }),
      zeros(2));
}

TEST(Nccl, ConnectsBeforeItIsCaptured) {
  EXPECT_EQ(
      onRanks(2,
              [](int rank, ncclUniqueId id) {
                ncclComm_t comm = communicator(2, rank, id);
                CUstream s = stream();
                float *data = device<float>(8);
                OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
                EXPECT_EQ(
                    ncclAllReduce(data, data, 8, ncclFloat32, ncclSum, comm, s),
                    ncclInvalidUsage);
              }),
      zeros(2));
}

// NCCL waits until the graphs are gone, which here would be never.
TEST(Nccl, OutlivesItsGraphs) {
  auto statuses = onRanks(2, [](int rank, ncclUniqueId id) {
    ncclComm_t comm = communicator(2, rank, id);
    CUstream s = stream();
    float *data = device<float>(8);
    OK(ncclAllReduce(data, data, 8, ncclFloat32, ncclSum, comm, s));
    OK(cuStreamSynchronize(s));
    OK(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(ncclAllReduce(data, data, 8, ncclFloat32, ncclSum, comm, s));
    CUgraph graph;
    OK(cuStreamEndCapture(s, &graph));
    CUgraphExec executable;
    OK(cuGraphInstantiate(&executable, graph, 0));
    OK(cuGraphDestroy(graph));
    if (rank)
      OK(cuGraphExecDestroy(executable));
    OK(ncclCommDestroy(comm));
  });
  EXPECT_EQ(WTERMSIG(statuses[0]), SIGABRT);
  EXPECT_EQ(statuses[1], 0);
}

TEST(Nccl, GivesMemory) {
  isolated([] {
    void *data = nullptr;
    OK(ncclMemAlloc(&data, 1000));
    OK(cuMemsetD8Async(address(data), 0, 1000, nullptr));
    OK(ncclMemFree(data));
    EXPECT_EQ(ncclMemFree(data), ncclInvalidArgument);
    EXPECT_EQ(ncclMemFree(device<float>(1)), ncclInvalidArgument);
    setenv("TP_FAKE_NCCL_MEMORY", "0", 1);
    EXPECT_NE(ncclMemAlloc(&data, 1000), ncclSuccess);
  });
}

// Two communicators on two streams, in another order on each rank.
TEST(Nccl, IndependentCollectivesMayPass) {
  ncclUniqueId second;
  ASSERT_EQ(ncclGetUniqueId(&second), ncclSuccess);
  EXPECT_EQ(
      onRanks(2,
              [second](int rank, ncclUniqueId first) {
                ncclComm_t comms[2];
                OK(ncclGroupStart());
                OK(ncclCommInitRankConfig(&comms[0], 2, first, rank, nullptr));
                OK(ncclCommInitRankConfig(&comms[1], 2, second, rank, nullptr));
                OK(ncclGroupEnd());
                CUstream streams[2] = {stream(), stream()};
                float *data[2] = {device(std::vector<float>{1}),
                                  device(std::vector<float>{2})};
                // Connections are made in the same order.
                for (int at : {0, 1})
                  OK(ncclAllReduce(data[at], data[at], 1, ncclFloat32, ncclMax,
                                   comms[at], streams[at]));
                for (int i = 0; i < 20; ++i) {
                  int at = rank ? i % 2 : 1 - i % 2;
                  OK(ncclAllReduce(data[at], data[at], 1, ncclFloat32, ncclMax,
                                   comms[at], streams[at]));
                }
                OK(cuStreamSynchronize(streams[rank]));
                OK(cuStreamSynchronize(streams[1 - rank]));
                EXPECT_EQ(host(data[0], 1)[0], 1);
                EXPECT_EQ(host(data[1], 1)[0], 2);
              }),
      zeros(2));
}

TEST(Nccl, RefusesTwoRanksOnOneDevice) {
  EXPECT_EQ(onRanks(
                2,
                [](int rank, ncclUniqueId id) {
                  ncclComm_t comm;
                  EXPECT_EQ(ncclCommInitRankConfig(&comm, 2, id, rank, nullptr),
                            ncclInvalidUsage);
                  EXPECT_NE(std::string(ncclGetLastError(nullptr))
                                .find("Duplicate GPU detected : rank 0 and "
                                      "rank 1"),
                            std::string::npos);
                },
                false),
            zeros(2));
}

TEST(Nccl, InitialisesWithoutBlocking) {
  EXPECT_EQ(onRanks(2,
                    [](int rank, ncclUniqueId id) {
                      if (rank)
                        usleep(50000);
                      ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
                      config.blocking = 0;
                      ncclComm_t comm;
                      EXPECT_EQ(
                          ncclCommInitRankConfig(&comm, 2, id, rank, &config),
                          ncclInProgress);
                      ncclResult_t state = ncclInProgress;
                      while (state == ncclInProgress)
                        OK(ncclCommGetAsyncError(comm, &state));
                      OK(state);
                    }),
            zeros(2));
}

TEST(Nccl, ALostPeerIsWaitedForUntilAbort) {
  auto statuses = onRanks(2, [](int rank, ncclUniqueId id) {
    ncclComm_t comm = communicator(2, rank, id);
    float *data = device<float>(1);
    CUstream s = stream();
    OK(ncclAllReduce(data, data, 1, ncclFloat32, ncclSum, comm, s));
    OK(cuStreamSynchronize(s));
    if (rank)
      raise(SIGKILL);
    OK(ncclAllReduce(data, data, 1, ncclFloat32, ncclSum, comm, s));
    for (int i = 0; i < 100; ++i) {
      EXPECT_EQ(cuStreamQuery(s), CUDA_ERROR_NOT_READY);
      usleep(1000);
    }
    std::thread aborter([comm] {
      usleep(50000);
      EXPECT_EQ(ncclCommAbort(comm), ncclSuccess);
    });
    OK(cuStreamSynchronize(s));
    aborter.join();
  });
  EXPECT_EQ(statuses[0], 0);
  EXPECT_EQ(WTERMSIG(statuses[1]), SIGKILL);
}

TEST(Nccl, MismatchesAreReported) {
  EXPECT_EQ(onRanks(2,
                    [](int rank, ncclUniqueId id) {
                      ncclComm_t comm = communicator(2, rank, id);
                      float *data = device<float>(4);
                      CUstream s = stream();
                      OK(ncclAllReduce(data, data, size_t(rank) + 1,
                                       ncclFloat32, ncclSum, comm, s));
                      OK(cuStreamSynchronize(s));
                      ncclResult_t state;
                      OK(ncclCommGetAsyncError(comm, &state));
                      EXPECT_EQ(state, ncclInvalidUsage);
                      float onHost = 0;
                      EXPECT_EQ(ncclAllReduce(&onHost, data, 1, ncclFloat32,
                                              ncclSum, comm, s),
                                ncclInvalidUsage);
                    }),
            zeros(2));
}
