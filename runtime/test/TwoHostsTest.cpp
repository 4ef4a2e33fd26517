//===- TwoHostsTest.cpp - ranks on two hosts ------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two hosts that are namespaces of this one, each with a network, a name and a
// /dev/shm of its own (runtime/test/two-hosts). What goes from one to the other
// goes over TCP, and is counted on the cable between them.
//
//===----------------------------------------------------------------------===//

#include "RankProcesses.h"

using namespace tprt;
using namespace tprt::test;

namespace {

/// The outcome of a script on the two hosts.
struct Outcome {
  int code;
  std::string log;
  int64_t received, sent; ///< over the cable, by the first host
};

Outcome onTwoHosts(const TemporaryDirectory &directory,
                   const std::string &script) {
  std::ofstream(directory / "script") << "export OMPI_ALLOW_RUN_AS_ROOT=1 "
                                         "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1\n"
                                      << script << "\n";
  std::string command = std::string(TPRT_TWO_HOSTS) + " " +
                        directory.path.string() + " " + (directory / "script") +
                        " >" + (directory / "out") + " 2>&1";
  int status = std::system(command.c_str());
  Outcome outcome{WEXITSTATUS(status), readFile(directory / "out"), 0, 0};
  std::ifstream(directory / "bytes") >> outcome.received >> outcome.sent;
  return outcome;
}

#define SKIP_WITHOUT_HOSTS(outcome)                                            \
  if (outcome.code == 77)                                                      \
    GTEST_SKIP() << outcome.log;

[[maybe_unused]] constexpr const char *kMpirun =
    "mpirun --host 10.77.0.1:2,10.77.0.2:2 -n 4 --bind-to none --mca "
    "plm_rsh_agent \"$AGENT\" --mca pml ob1 --mca btl self,vader,tcp --mca "
    "btl_tcp_if_include 10.77.0.0/24 --mca oob_tcp_if_include 10.77.0.0/24 ";

} // namespace

#ifdef TPRT_HAS_MPI

TEST(TwoHosts, MpiCarriesCollectivesOverTcp) {
  constexpr int64_t kSteps = 400;
  Fixture f(4);
  auto run = [&](int64_t steps, const std::string &output) {
    return onTwoHosts(f.directory,
                      kMpirun + std::string("sh -c 'hostname >>") +
                          (f.directory / "names") + "; exec \"$0\" \"$@\"' " +
                          TPRT_RUN + " " + (f.directory / "p.tpa") + " " +
                          f.weights() + f.input() + " --backend mpi --repeat " +
                          std::to_string(steps) + " --output " +
                          (f.directory / output));
  };
  auto outcome = run(kSteps, "y.safetensors");
  SKIP_WITHOUT_HOSTS(outcome);
  ASSERT_EQ(outcome.code, 0) << outcome.log;
  f.expectY(readOutput(f.directory / "y.safetensors"));
  auto threads = f.run(f.weights() + f.input() + " --output " +
                       (f.directory / "t.safetensors"));
  ASSERT_EQ(threads.code, 0) << threads.err;
  EXPECT_EQ(readFile(f.directory / "y.safetensors"),
            readFile(f.directory / "t.safetensors"));
  // Two ranks on each.
  std::string names = readFile(f.directory / "names");
  EXPECT_EQ(std::count(names.begin(), names.end(), 'a'), 2) << names;
  EXPECT_EQ(std::count(names.begin(), names.end(), 'b'), 2) << names;
  // The sum is short, so that each rank gets every other's part: two ranks
  // here send to two there, and the other way round.
  int64_t least = kSteps * 2 * 2 * kRows * kOut * 4;
  EXPECT_GT(outcome.sent, least);
  EXPECT_GT(outcome.received, least);
  // Without steps there is little: the cable's bytes are the collectives'.
  auto start = run(1, "z.safetensors");
  ASSERT_EQ(start.code, 0) << start.log;
  EXPECT_GT(outcome.sent - start.sent, least);
  EXPECT_GT(outcome.received - start.received, least);
  std::printf("over the cable: %ld bytes sent, %ld received; the collectives' "
              "own are %ld each way; a run of one step: %ld and %ld\n",
              long(outcome.sent), long(outcome.received), long(least),
              long(start.sent), long(start.received));
}

/// A rank of the other host, and rank 0.
TEST(TwoHosts, LostRanksAreNamedOnBoth) {
  Fixture f(4);
  for (int victim : {3, 0})
    for (const char *signal : {"KILL", "STOP"}) {
      SCOPED_TRACE(detail::join("rank ", victim, " ", signal));
      std::string log = f.directory / "log";
      auto outcome = onTwoHosts(
          f.directory,
          "rm -f " + log + ".*\n" + kMpirun +
              "-x TPRT_SILENCE_TIMEOUT=1.5 sh -c 'echo $$ >" + log +
              ".pid.$OMPI_COMM_WORLD_RANK; exec \"$0\" \"$@\" 2>" + log +
              ".$OMPI_COMM_WORLD_RANK' " + TPRT_RUN + " " +
              (f.directory / "p.tpa") + " " + f.weights() + f.input() +
              " --backend mpi --repeat 1000000000 &\n"
              "mpi=$!\n"
              "steps() { for r in 0 1 2 3; do cat /proc/$(cat " +
              log +
              ".pid.$r)/task/*/comm; done 2>/dev/null | grep -c rank-step; }\n"
              "for i in $(seq 600); do [ \"$(steps)\" = 4 ] && break; sleep "
              "0.05; done\n"
              "sleep 0.2; kill -" +
              signal + " $(cat " + log + ".pid." + std::to_string(victim) +
              ")\n"
              "wait $mpi; echo mpirun ended with $?; exit 0");
      SKIP_WITHOUT_HOSTS(outcome);
      ASSERT_EQ(outcome.code, 0) << outcome.log;
      EXPECT_NE(outcome.log.find("mpirun ended with "), std::string::npos);
      EXPECT_EQ(outcome.log.find("mpirun ended with 0"), std::string::npos)
          << outcome.log;
      std::string errors;
      for (int r = 0; r < 4; ++r)
        errors += readFile(log + "." + std::to_string(r));
      EXPECT_TRUE(allNamed(errors, 4, victim)) << errors << outcome.log;
    }
}

#endif // TPRT_HAS_MPI

/// torchrun's variables, the rendezvous over TCP.
TEST(TwoHosts, MeetByTorchrunsVariables) {
  TemporaryDirectory directory;
  auto rank = [&](int r, const std::string &more) {
    std::string number = std::to_string(r);
    return std::string("on 10.77.0.") + (r < 2 ? "1" : "2") +
           " env RANK=" + number +
           " WORLD_SIZE=4 LOCAL_RANK=" + std::to_string(r % 2) +
           " LOCAL_WORLD_SIZE=2 MASTER_ADDR=10.77.0.1 MASTER_PORT=29500 " +
           more + " " + TPRT_NET_RANK + " 300 20 >" + (directory / "o") +
           number + " 2>&1 & p" + number + "=$!\n";
  };
  auto all = [&](const std::string &more) {
    std::string script;
    for (int r = 3; r >= 0; --r)
      script += rank(r, more);
    return onTwoHosts(directory, script + "s=0; for p in $p0 $p1 $p2 $p3; do "
                                          "wait $p || s=$?; done; exit $s");
  };
  auto outcome = all("");
  SKIP_WITHOUT_HOSTS(outcome);
  std::string text;
  for (int r = 0; r < 4; ++r)
    text += readFile(directory / ("o" + std::to_string(r)));
  ASSERT_EQ(outcome.code, 0) << outcome.log << text;
  for (int r = 0; r < 4; ++r)
    EXPECT_NE(
        text.find(detail::join("rank ", r, " of 4, ", r % 2, " of 2 here")),
        std::string::npos)
        << text;
  EXPECT_NE(text.find("all is well"), std::string::npos) << text;
  // The long strings of two ranks come over the cable.
  EXPECT_GT(outcome.received, 10'000'000);
  // A rank that differs is named across hosts.
  outcome = all("NET_RANK_ODD=3");
  EXPECT_EQ(outcome.code, 3) << outcome.log;
  for (int r = 0; r < 4; ++r)
    EXPECT_NE(readFile(directory / ("o" + std::to_string(r)))
                  .find("do not agree on the number: rank 3 differs"),
              std::string::npos)
        << r;
}
