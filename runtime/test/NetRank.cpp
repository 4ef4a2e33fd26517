//===- NetRank.cpp - a rank with nothing but a side channel ---------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// usage: tprt-net-rank ROUNDS [TIMEOUT]
//
// For tests: takes its place from the environment, meets the others, and
// exchanges small strings as a program does collectives, forever for a negative
// number of rounds. Then a long string goes to rank 0. NET_RANK_ODD names a
// rank that brings another value to the agreement, NET_RANK_LATE one that does
// not come to the third exchange; NET_RANK_SILENCE is how many seconds one may
// give no sign of life.
//
//===----------------------------------------------------------------------===//

#include "../collectives/BackendTable.h"
#include "../launcher/Launcher.h"

#include <cstdio>
#include <cstdlib>
#include <unistd.h>

using namespace tprt;

namespace {

int64_t numberOr(const char *name, int64_t otherwise) {
  const char *text = std::getenv(name);
  return text ? std::atoll(text) : otherwise;
}

Status run(int64_t rounds, double timeout) {
  auto place = processInfoFromEnvironment();
  if (!place)
    return place.status();
  if (!*place)
    return userError("no place in the environment");
  ExitPolicy policy;
  policy.startedBy((*place)->starter);
  const char *text = std::getenv("NET_RANK_SILENCE");
  double silence = text ? std::atof(text) : kSilenceSeconds;
  auto made = connectRanks(
      **place,
      {timeout, [](CallSite site) { return detail::join("call ", site.id); },
       silence, policy.get()});
  if (!made)
    return made.status();
  SideChannel &channel = **made;
  int64_t rank = channel.rank();
  std::printf("rank %ld of %ld, %ld of %ld here\n", long(rank),
              long(channel.size()), long(channel.localRank()),
              long(channel.localSize()));
  std::fflush(stdout);
  TPRT_TRY(channel.agree(rank == numberOr("NET_RANK_ODD", -1) ? 7 : 5,
                         "the number"));
  pthread_setname_np(pthread_self(), "rank-step");
  for (int64_t n = 0; rounds < 0 || n < rounds; ++n) {
    if (n == 2 && rank == numberOr("NET_RANK_LATE", -1))
      while (true)
        ;
    channel.enter({3, n});
    auto all = channel.exchange(detail::join("rank ", rank, " round ", n));
    channel.leave();
    if (!all)
      return all.status();
    for (int64_t r = 0; r < channel.size(); ++r)
      if ((*all)[r] != detail::join("rank ", r, " round ", n))
        return internalError("rank ", rank, " got '", (*all)[r], "' for rank ",
                             r, " in round ", n);
  }
  auto blob = [](int64_t r) {
    return std::string(size_t(5'000'000 + r), char('a' + r));
  };
  auto blobs = channel.gather(blob(rank));
  if (!blobs)
    return blobs.status();
  for (int64_t r = 0; rank == 0 && r < channel.size(); ++r)
    if ((*blobs)[r] != blob(r))
      return internalError("rank 0 got something else from rank ", r);
  if (rank == 0)
    std::printf("all is well\n");
  return {};
}

} // namespace

int main(int argc, char **argv) {
  Status status = run(argc > 1 ? std::atoll(argv[1]) : 10,
                      argc > 2 ? std::atof(argv[2]) : 30);
  if (!status.ok())
    std::fprintf(stderr, "tp-run: error: %s\n", status.message().c_str());
  std::fflush(nullptr);
  return int(status.code());
}
