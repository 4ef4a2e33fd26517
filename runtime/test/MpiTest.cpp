//===- MpiTest.cpp - ranks that talk through MPI --------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Collectives by messages against those in shared memory, bit for bit; runs
// under the real mpirun: results, stuck, lost and frozen ranks, ranks that
// differ; and what is said where MPI is missing or started wrongly.
//
//===----------------------------------------------------------------------===//

#include "RandomCollective.h"
#include "RankProcesses.h"

#include "../collectives/Transfer.h"
#include "../collectives/mpi/MpiCollective.h"

#include <condition_variable>
#include <mutex>

using namespace tprt;
using namespace tprt::test;

namespace {

/// A directory of its own for each mpirun: of two that begin at once, one may
/// not find the directory of the user that the other makes.
const TemporaryDirectory sessions;
const int isSet [[maybe_unused]] =
    setenv("OMPI_MCA_orte_tmpdir_base", sessions.path.c_str(), 1);

[[maybe_unused]] std::string mpirun(int64_t ranks) {
  return "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
         "mpirun --oversubscribe -n " +
         std::to_string(ranks);
}

/// The same with a log per rank: mpirun may pass on what ranks write seconds
/// later, when it is busy ending them.
[[maybe_unused]] std::string mpirunWithLogs(int64_t ranks) {
  return mpirun(ranks) + " sh -c 'exec \"$0\" \"$@\" "
                         "2>\"$TPRT_TEST_LOG.$OMPI_COMM_WORLD_RANK\"'";
}

/// Members of a group as threads, whose messages are copied.
class Post {
public:
  explicit Post(int64_t members) : boxes(members * members) {}

  Status exchange(int64_t self, const std::vector<tprt_mpi_part> &receives,
                  const std::vector<tprt_mpi_part> &sends) {
    int64_t members = int64_t(std::sqrt(double(boxes.size())) + 0.5);
    std::unique_lock lock(mutex);
    for (const tprt_mpi_part &part : sends)
      boxes[self * members + part.member].push_back(
          std::string(static_cast<char *>(part.data), size_t(part.bytes)));
    changed.notify_all();
    for (const tprt_mpi_part &part : receives) {
      auto &box = boxes[part.member * members + self];
      if (!changed.wait_for(lock, std::chrono::seconds(20),
                            [&] { return !box.empty(); }))
        return lostError("no message from ", part.member);
      if (int64_t(box.front().size()) != part.bytes)
        return internalError("a message of ", box.front().size(),
                             " bytes, expected ", part.bytes);
      std::memcpy(part.data, box.front().data(), size_t(part.bytes));
      box.erase(box.begin());
    }
    return {};
  }

private:
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::vector<std::string>> boxes;
};

} // namespace

/// Every kind, type and dimension: messages give the bits of shared memory.
TEST(Mpi, MessagesGiveTheSameBits) {
  Picker pick;
  std::mt19937 &random = pick.random;
  for (int n = 0; n < 400; ++n) {
    Mesh mesh;
    mesh.axes = {{"tp", pick(1, 8)}};
    Collective c = randomEntry(pick, mesh);
    int64_t members = shardCount(c.axes);
    // Some are longer than what one exchange takes.
    if (c.kind == CollectiveKind::AllReduce && n % 3 == 0)
      c.inputShape = c.outputShape = {pick(8000, 9000), 3};
    SCOPED_TRACE(detail::join("seed ", kSeed, " round ", n, ": ",
                              c.row().operation, " ", typeName(c.type), " ",
                              formatShape(c.inputShape), " -> ",
                              formatShape(c.outputShape), " over ", members));
    int64_t inBytes = elementCount(c.inputShape) * typeBytes(c.type);
    int64_t outBytes = elementCount(c.outputShape) * typeBytes(c.type);
    std::vector<std::string> inputs, expected(members), got(members);
    for (int64_t i = 0; i < members; ++i) {
      std::string bytes;
      if (isFloat(c.type)) {
        bytes =
            toBytes(c.type, randomFloats(random, elementCount(c.inputShape)));
      } else {
        for (int64_t b = 0; b < inBytes; ++b)
          bytes.push_back(char(random()));
      }
      inputs.push_back(bytes);
      expected[i].assign(outBytes, '?');
      got[i].assign(outBytes, '!');
    }
    std::vector<const void *> ins;
    std::vector<void *> outs;
    for (int64_t i = 0; i < members; ++i) {
      ins.push_back(inputs[i].data());
      outs.push_back(expected[i].data());
    }
    for (int64_t i = 0; i < members; ++i)
      runLocally(c, i, ins, outs);
    Post post(members);
    std::vector<std::thread> threads;
    for (int64_t i = 0; i < members; ++i)
      threads.emplace_back([&, i] {
        MessageCollective collective(
            i, members, [&, i](const auto &receives, const auto &sends) {
              return post.exchange(i, receives, sends);
            });
        // In place, where that is allowed.
        bool inPlace = n % 2 && c.row().inPlace;
        if (inPlace)
          got[i] = inputs[i];
        Status status = collective.run(
            c, inPlace ? got[i].data() : inputs[i].data(), got[i].data());
        EXPECT_TRUE(status.ok()) << status.message();
      });
    for (std::thread &thread : threads)
      thread.join();
    for (int64_t i = 0; i < members; ++i)
      ASSERT_EQ(got[i], expected[i]) << "member " << i;
  }
}

/// An MPI may have few tags.
TEST(Mpi, TagsStayWithinWhatMpiHas) {
  std::mt19937 random(kSeed);
  for (int32_t largest : {32767, (1 << 22) - 1, INT32_MAX}) {
    std::map<int32_t, int> seen;
    for (int64_t id = 0; id < 300; ++id)
      for (int64_t layer : {int64_t(0), int64_t(random() % 100)}) {
        int32_t tag = tagOf({id, layer}, largest);
        ASSERT_TRUE(tag >= 1 && tag <= largest)
            << tag << " seed " << kSeed << " id " << id;
        ++seen[tag];
      }
    // Few calls share one.
    EXPECT_GT(seen.size(), 290u);
  }
}

#ifdef TPRT_HAS_MPI

TEST(Mpi, SameBitsAsThreads) {
  for (int64_t ranks : {1, 2, 3, 4, 8}) {
    SCOPED_TRACE(ranks);
    Fixture f(ranks);
    std::string common = f.weights() + f.input() + " --repeat 3 --stats=json" +
                         " --timeline " + (f.directory / "t.json") +
                         " --output ";
    auto threads = f.run(common + (f.directory / "a.safetensors"));
    ASSERT_EQ(threads.code, 0) << threads.err;
    Running run(f, common + (f.directory / "b.safetensors") + " --backend mpi",
                "", f.directory / "log", mpirun(ranks));
    ASSERT_EQ(run.wait(60), 0) << run.errors();
    EXPECT_EQ(run.errors(), "");
    f.expectY(readOutput(f.directory / "b.safetensors"));
    EXPECT_EQ(readFile(f.directory / "a.safetensors"),
              readFile(f.directory / "b.safetensors"));
    json stats = json::parse(readFile(run.log + ".out"));
    ASSERT_EQ(stats["ranks"].size(), size_t(ranks));
    int reduces = 0;
    json trace = json::parse(readFile(f.directory / "t.json"));
    for (const json &event : trace["traceEvents"])
      reduces += event["name"] == "all_reduce";
    EXPECT_EQ(reduces, 3 * ranks);
  }
}

TEST(Mpi, LostRanksAreNamed) {
  loseRanks({"mpi", "OMPI_COMM_WORLD_RANK", mpirunWithLogs, false}, 6);
}

TEST(Mpi, ErrorsOfARankEndAll) {
  Fixture f(4);
  auto run = [&](const std::string &arguments) {
    Running running(f, arguments + " --backend mpi", "", f.directory / "log",
                    mpirun(4));
    int code = running.wait(60);
    EXPECT_GT(code, 0) << running.errors();
    return running.errors();
  };
  EXPECT_NE(run(f.weights() + " --entry fail")
                .find("tp-run: error: rank 1: gemm 99 is not in the manifest"),
            std::string::npos);
  EXPECT_NE(run(f.weights() + " --entry fail-beside")
                .find("tp-run: error: rank 1: gemm 99 is not in the manifest"),
            std::string::npos);
  EXPECT_NE(run(f.weights() + " --entry stall --timeout 3")
                .find("waited in collective 0 (all_reduce, layer 7, m.w2): "
                      "rank 1 did not arrive within 3 s"),
            std::string::npos);
  std::string text = run(f.weights() + " --entry mismatch");
  EXPECT_NE(text.find("ranks disagree: rank "), std::string::npos) << text;
  EXPECT_NE(run(f.weights() + " --entry differ")
                .find("output 'y': rank 1 differs from rank 0"),
            std::string::npos);
  // Said once, whichever rank came first.
  text = run("--weights /nowhere" + f.input());
  size_t at = text.find("weights '/nowhere': no such directory");
  EXPECT_NE(at, std::string::npos) << text;
}

TEST(Mpi, SurvivorsAreHeardThroughMpirun) {
  Fixture f(3);
  Running run(f, f.weights() + f.input() + " --backend mpi --repeat 1000000000",
              "", f.directory / "log", mpirun(3));
  auto processes = waitForSteps(run, 3, "OMPI_COMM_WORLD_RANK");
  ASSERT_FALSE(processes.empty()) << run.errors();
  kill(processes[1], SIGKILL);
  int code = run.wait(30);
  EXPECT_GT(code, 0);
  EXPECT_TRUE(allNamed(run.errors(), 3, 1)) << run.errors();
}

// This mpirun leaves the others alone.
TEST(Mpi, HostSurvivesALostRank) {
  Fixture f(3);
  Running run(f, (f.directory / "") + " mpi -1 threads", "",
              f.directory / "log", mpirun(3) + " --enable-recovery", TPRT_HOST);
  auto ranks = waitForSteps(run, 3, "OMPI_COMM_WORLD_RANK");
  ASSERT_FALSE(ranks.empty()) << run.errors();
  auto start = Clock::now();
  while (!inOrder(Hosts::text(run), {"steps\n", "steps\n", "steps\n"}) &&
         since(start) < 30)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ASSERT_EQ(kill(ranks[1], SIGKILL), 0);
  EXPECT_NE(run.wait(30), -1);
  std::string text = Hosts::text(run);
  for (int64_t r : {0, 2}) {
    std::string lost = detail::join("returned 3: rank ", r,
                                    ": rank 1 is lost: its process ended");
    EXPECT_TRUE(inOrder(text, {"step " + lost, "another " + lost})) << text;
  }
  EXPECT_TRUE(inOrder(text, {"goes on", "goes on"})) << text;
}

TEST(Mpi, RanksThatDoNotComeAreNamed) {
  Fixture f(3);
  // One that does something else for ever, and never starts MPI.
  Running run(f, f.weights() + f.input() + " --backend mpi --timeout 2", "",
              f.directory / "log", mpirun(1) + " sleep 1000 : -n 2");
  EXPECT_GT(run.wait(30), 0);
  EXPECT_NE(run.errors().find("did not complete in 2 s: rank 0 of 3 "
                              "(OMPI_COMM_WORLD_SIZE (mpirun)) did not come; "
                              "all ranks must run on this host"),
            std::string::npos)
      << run.errors();
  Running other(f,
                f.weights() + f.input() +
                    " --backend mpi --timeout 2 : -n 1 "
                    "sleep 1000",
                "", f.directory / "log", mpirun(2));
  EXPECT_GT(other.wait(30), 0);
  EXPECT_NE(other.errors().find("did not complete in 2 s: rank 2 of 3 "
                                "(OMPI_COMM_WORLD_SIZE (mpirun)) did not come"),
            std::string::npos)
      << other.errors();
}

TEST(Mpi, FullDevShm) {
  // OpenMPI keeps buffers there, and goes another way. That it says so is not
  // asked for: mpirun may end before it has passed it on.
  std::string shell = "unshare -Urm sh -c 'mount -t tmpfs -o size=4096 none "
                      "/dev/shm && head -c 4096 /dev/zero >/dev/shm/full";
  if (std::system((shell + "' 2>/dev/null").c_str()) != 0)
    GTEST_SKIP() << "no mount namespaces here";
  Fixture f(2);
  std::string command = shell + " && " + mpirun(2) + " " + TPRT_RUN + " " +
                        (f.directory / "p.tpa") + " " + f.weights() +
                        f.input() + " --backend mpi --output " +
                        (f.directory / "y.safetensors") + "' >" +
                        (f.directory / "log") + " 2>&1";
  EXPECT_EQ(std::system(command.c_str()), 0) << readFile(f.directory / "log");
  f.expectY(readOutput(f.directory / "y.safetensors"));
}

TEST(Mpi, UnwritableOutput) {
  // Found out at the end: the folder is taken away in between.
  Fixture f(2);
  std::filesystem::create_directory(f.directory / "out");
  Running run(f,
              f.weights() + f.input() + " --backend mpi --repeat 100000" +
                  " --output " + (f.directory / "out/y.npy"),
              "", f.directory / "log", mpirun(2));
  ASSERT_FALSE(waitForSteps(run, 2, "OMPI_COMM_WORLD_RANK").empty())
      << run.errors();
  std::filesystem::remove_all(f.directory / "out");
  EXPECT_EQ(run.wait(120), 1) << run.errors();
  EXPECT_NE(run.errors().find("out/y.npy"), std::string::npos) << run.errors();
}

TEST(Mpi, DifferentArtifactOrWeightsAreNamed) {
  Fixture f(3), values(3);
  values.checkpoint[0].bytes[0] ^= 1;
  values.writeCheckpoint();
  json name = mlpManifest(3);
  name["producer"] = "another compiler";
  Fixture artifact(3, name);
  auto run = [&](const Fixture &odd, const std::string &weights) {
    std::string tail = f.input() + " --backend mpi";
    // One program per rank.
    std::string launcher =
        mpirun(1) + " " + TPRT_RUN + " " + (f.directory / "p.tpa") + " " +
        f.weights() + tail + " : -n 1 " + TPRT_RUN + " " +
        (odd.directory / "p.tpa") + " " + weights + tail + " : -n 1";
    Running running(f, f.weights() + tail, "", f.directory / "log", launcher);
    EXPECT_GT(running.wait(60), 0) << running.errors();
    return running.errors();
  };
  std::string text = run(artifact, f.weights());
  EXPECT_NE(text.find("do not agree on the artifact: rank 1 differs from the "
                      "other 2"),
            std::string::npos)
      << text;
  text = run(f, values.weights());
  EXPECT_NE(text.find("do not agree on the weights: rank 1 differs"),
            std::string::npos)
      << text;
}

TEST(Mpi, WrongStartsAreExplained) {
  Fixture f(2);
  auto expect = [&](const std::string &environment, const std::string &launcher,
                    const std::string &text) {
    Running run(f, f.weights() + f.input() + " --backend mpi", environment,
                f.directory / "log", launcher);
    EXPECT_EQ(run.wait(60), 1) << run.errors();
    EXPECT_NE(run.errors().find(text), std::string::npos) << run.errors();
  };
  expect("", "",
         "tp-run: error: the artifact is made for 2 ranks, but this process "
         "was started alone; expected: mpirun -n 2 tp-run MODEL --backend mpi "
         "...\n");
  expect("RANK=0 WORLD_SIZE=2", "",
         "torchrun starts no MPI; start the ranks with: mpirun -n 2 tp-run "
         "MODEL --backend mpi ...; under torchrun use --backend processes");
  expect("SLURM_PROCID=0 SLURM_NTASKS=2 SLURM_STEP_ID=0", "",
         "srun has not started MPI; expected: srun --mpi=pmix -n 2 tp-run "
         "MODEL --backend mpi ...");
  expect("", mpirun(3),
         "the artifact is made for 2 ranks, but MPI says 3; expected: mpirun "
         "-n 2 tp-run MODEL --backend mpi ...");
  // Alone is fine for one rank.
  Fixture one(1);
  auto result =
      one.run(one.weights() + one.input() + " --backend mpi --output " +
              (one.directory / "y.safetensors"));
  EXPECT_EQ(result.code, 0) << result.err;
  one.expectY(readOutput(one.directory / "y.safetensors"));
}

#endif // TPRT_HAS_MPI

TEST(Mpi, MissingLibraryIsExplained) {
  Fixture f(2);
  Running run(f, f.weights() + f.input() + " --backend mpi",
              "TPRT_MPI_PLUGIN=/nowhere/libtprt-mpi.so", f.directory / "log");
  EXPECT_EQ(run.wait(60), 1);
  EXPECT_EQ(run.errors(),
            "tp-run: error: backend 'mpi' needs libtprt-mpi.so, which cannot "
            "be opened: /nowhere/libtprt-mpi.so: cannot open shared object "
            "file: No such file or directory; it is built where an MPI is "
            "installed (Debian: libopenmpi-dev, openmpi-bin), and "
            "TPRT_MPI_PLUGIN may name it\n");
  Running other(f, f.weights() + f.input() + " --backend mpi",
                std::string("TPRT_MPI_PLUGIN=") + TPRT_TEST_EXPORTS,
                f.directory / "log");
  EXPECT_EQ(other.wait(60), 1);
  EXPECT_TRUE(inOrder(other.errors(),
                      {"tp-run: error: backend 'mpi': '", TPRT_TEST_EXPORTS,
                       "' is of another version of the runtime, expected "
                       "version "}))
      << other.errors();
}
