//===- CollectivesBenchmark.cpp - processes, threads and MPI --------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The time of a collective over rank processes beside the same over rank
// threads and in OpenMPI's own collectives, with buffers that the runtime
// allocated as it does for arenas. Several runs of each in turn; the fastest
// tenth of the calls of the best run counts, as machines are rarely idle.
//
// usage: tprt-collectives-bench [RANKS [RUNS]]
//
//===----------------------------------------------------------------------===//

#include "../runtime/collectives/BackendTable.h"
#include "../runtime/collectives/processes/Segment.h"
#include "../runtime/support/Parallel.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

using namespace tprt;
using Clock = std::chrono::steady_clock;

namespace {

[[noreturn]] void fail(const Status &status) {
  std::fprintf(stderr, "error: %s\n", status.message().c_str());
  _exit(1);
}

/// One rank's part; seconds of a call that a tenth of them undercut.
double measure(Backend &backend, int64_t rank, const Collective &entry,
               int rounds) {
  setWorkers(1);
  std::vector<int64_t> everyone;
  for (int64_t r = 0; r < backend.size(); ++r)
    everyone.push_back(r);
  auto communicator = backend.communicator(rank, everyone);
  auto in = backend.allocate(rank, elementCount(entry.inputShape) * 4);
  auto out = backend.allocate(rank, elementCount(entry.outputShape) * 4);
  if (!communicator || !in || !out)
    fail(!communicator ? communicator.status()
                       : (!in ? in.status() : out.status()));
  std::memset(in->data(), 0, in->size());
  std::memset(out->data(), 0, out->size());
  std::vector<double> seconds;
  for (int n = 0; n < rounds; ++n) {
    auto start = Clock::now();
    Status status =
        (*communicator)->run(entry, {0, n}, in->data(), out->data());
    if (!status.ok())
      fail(status);
    seconds.push_back(
        std::chrono::duration<double>(Clock::now() - start).count());
  }
  std::nth_element(seconds.begin(), seconds.begin() + rounds / 10,
                   seconds.end());
  return seconds[rounds / 10];
}

std::unique_ptr<Backend>
connect(const char *name, int64_t ranks,
        std::shared_ptr<const ProcessInfo> process = nullptr) {
  BackendOptions options;
  options.backend = name;
  options.ranks = ranks;
  options.process = std::move(process);
  options.waits.describe = [](CallSite) { return "the benchmark"; };
  auto backend = makeBackend(options);
  if (!backend)
    fail(backend.status());
  return std::move(*backend);
}

/// Runs body in a process of its own, and gives the number that it returns.
template <typename Body>
double inProcess(Body body) {
  int ends[2];
  if (pipe(ends) != 0)
    std::abort();
  std::fflush(nullptr);
  if (fork() == 0) {
    double result = body();
    if (write(ends[1], &result, sizeof(result)) != sizeof(result))
      _exit(1);
    _exit(0);
  }
  double result = 0;
  close(ends[1]);
  if (read(ends[0], &result, sizeof(result)) != sizeof(result))
    std::exit(1);
  close(ends[0]);
  wait(nullptr);
  return result;
}

double overThreads(int64_t ranks, const Collective &entry, int rounds) {
  return inProcess([&] {
    auto backend = connect("threads", ranks);
    std::vector<std::thread> others;
    for (int64_t r = 1; r < ranks; ++r)
      others.emplace_back([&, r] { measure(*backend, r, entry, rounds); });
    double result = measure(*backend, 0, entry, rounds);
    for (std::thread &other : others)
      other.join();
    return result;
  });
}

double overProcesses(int64_t ranks, const Collective &entry, int rounds) {
  int64_t bytes =
      4 * (elementCount(entry.inputShape) + elementCount(entry.outputShape));
  auto segment = Segment::create(ranks, bytes + (int64_t(16) << 20));
  if (!segment)
    fail(segment.status());
  auto asRank = [&](int64_t rank) {
    auto place = std::make_shared<ProcessInfo>();
    place->rank = rank;
    place->ranks = ranks;
    place->file = segment->fd();
    auto backend = connect("processes", ranks, place);
    double result = measure(*backend, rank, entry, rounds);
    if (auto all = backend->channel()->gather(""); !all)
      fail(all.status());
    return result;
  };
  for (int64_t r = 1; r < ranks; ++r)
    if (fork() == 0) {
      asRank(r);
      _exit(0);
    }
  double result = inProcess([&] { return asRank(0); });
  while (wait(nullptr) > 0)
    ;
  return result;
}

/// One line of the table.
struct Case {
  Collective collective;
  int64_t bytes;
  int rounds;
  double threads = 1e9, processes = 1e9, mpi = 1e9;
};

/// All cases in MPI; false where there is none.
bool overMpi(int64_t ranks, std::vector<Case> &cases) {
#ifdef TPRT_BENCH_MPI
  std::string command = detail::join(
      "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun "
      "--oversubscribe -n ",
      ranks, " ", TPRT_BENCH_MPI);
  for (const Case &c : cases)
    command += detail::join(" ", c.collective.row().operation, " ", c.bytes,
                            " ", c.rounds);
  FILE *pipe = popen(command.c_str(), "r");
  bool good = pipe != nullptr;
  for (Case &c : cases) {
    double seconds = 0;
    good = good && std::fscanf(pipe, "%lf", &seconds) == 1;
    if (good)
      c.mpi = std::min(c.mpi, seconds);
  }
  return pipe && pclose(pipe) == 0 && good;
#else
  (void)ranks, (void)cases;
  return false;
#endif
}

} // namespace

int main(int argc, char **argv) {
  int64_t ranks = argc > 1 ? std::max(1, std::atoi(argv[1])) : 2;
  int runs = argc > 2 ? std::max(1, std::atoi(argv[2])) : 5;
  std::vector<Case> cases;
  for (CollectiveKind kind :
       {CollectiveKind::AllReduce, CollectiveKind::AllGather,
        CollectiveKind::ReduceScatter})
    for (int64_t bytes = 4 << 10; bytes <= (64 << 20); bytes *= 4) {
      Collective c{};
      c.kind = kind;
      c.type = TPRT_F32;
      int64_t count = bytes / 4 / ranks * ranks;
      c.inputShape = {kind == CollectiveKind::AllGather ? count / ranks
                                                        : count};
      c.outputShape = {kind == CollectiveKind::ReduceScatter ? count / ranks
                                                             : count};
      int rounds =
          int(std::clamp<int64_t>((int64_t(256) << 20) / bytes, 9, 4001));
      cases.push_back({c, bytes, rounds});
    }
  bool mpi = true;
  for (int n = 0; n < runs; ++n) {
    mpi = mpi && overMpi(ranks, cases);
    for (Case &c : cases) {
      c.threads =
          std::min(c.threads, overThreads(ranks, c.collective, c.rounds));
      c.processes =
          std::min(c.processes, overProcesses(ranks, c.collective, c.rounds));
    }
  }
  std::printf("%ld ranks, f32, best of %d runs; microseconds of a call%s\n"
              "                                  threads  processes    OpenMPI"
              "  processes/threads  OpenMPI/processes\n",
              long(ranks), runs,
              mpi ? "" : "; OpenMPI was not found or did not run");
  double worst = 0, least = 1e9;
  for (const Case &c : cases) {
    double toThreads = c.processes / c.threads, toMpi = c.mpi / c.processes;
    worst = std::max(worst, toThreads);
    least = std::min(least, toMpi);
    std::printf("%-14s %8ld bytes  %10.1f %10.1f",
                c.collective.row().operation.data(), long(c.bytes),
                c.threads * 1e6, c.processes * 1e6);
    if (mpi)
      std::printf(" %10.1f  %17.2f  %17.2f\n", c.mpi * 1e6, toThreads, toMpi);
    else
      std::printf(" %10s  %17.2f\n", "-", toThreads);
  }
  std::printf("processes/threads at most %.2f (bound 1.3)", worst);
  if (mpi)
    std::printf("; OpenMPI/processes at least %.2f (must be above 1)", least);
  std::printf("\n");
  return 0;
}
