//===- CoresTest.cpp - the cores that a rank computes on ------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Quotas of control groups and NUMA nodes from files made for the test, shares
// of ranks drawn at random, runs under taskset and in a real control group, and
// the threads of parallel loops.
//
//===----------------------------------------------------------------------===//

#include "RankProcesses.h"

#include "../host/Gemm.h"
#include "../support/Cores.h"
#include "../support/Parallel.h"

#include <atomic>
#include <mutex>
#include <set>

using namespace tprt;
using namespace tprt::test;

namespace {

/// A root directory with the files given.
struct Root {
  TemporaryDirectory directory;

  void write(const std::string &path, const std::string &text) {
    std::filesystem::path whole = directory.path / path;
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole) << text << "\n";
  }
  operator std::string() const { return directory.path.string(); }
};

CoreList range(int from, int to) {
  CoreList list;
  for (int core = from; core < to; ++core)
    list.push_back(core);
  return list;
}

} // namespace

TEST(Cores, QuotasOfVersion2) {
  Root root;
  EXPECT_EQ(coreQuota(root), std::nullopt);
  root.write("proc/self/cgroup", "0::/a/b");
  EXPECT_EQ(coreQuota(root), std::nullopt);
  root.write("sys/fs/cgroup/a/b/cpu.max", "max 100000");
  EXPECT_EQ(coreQuota(root), std::nullopt);
  // The group above has one, of which half a core is no core.
  root.write("sys/fs/cgroup/a/cpu.max", "350000 100000");
  EXPECT_EQ(coreQuota(root), 3);
  root.write("sys/fs/cgroup/a/b/cpu.max", "200000 100000");
  EXPECT_EQ(coreQuota(root), 2);
  root.write("sys/fs/cgroup/a/b/cpu.max", "20000 100000");
  EXPECT_EQ(coreQuota(root), 1);
  // A container may see its group as the topmost one, by another path.
  root.write("proc/self/cgroup", "0::/outside/x");
  root.write("sys/fs/cgroup/cpu.max", "500000 100000");
  EXPECT_EQ(coreQuota(root), 5);
  EXPECT_EQ(availableCores(root), std::min<int>(5, int(ownCores().size())));
  root.write("sys/fs/cgroup/cpu.max", "rubbish");
  EXPECT_EQ(coreQuota(root), std::nullopt);
}

TEST(Cores, QuotasOfVersion1) {
  for (const char *controllers : {"cpu", "cpu,cpuacct", "cpuacct,cpu"})
    for (bool visible : {true, false}) {
      Root root;
      root.write("proc/self/cgroup",
                 detail::join("9:memory:/other\n4:", controllers,
                              ":/docker/x\n3:cpuset:/\n0::/"));
      std::string group = detail::join("sys/fs/cgroup/", controllers,
                                       visible ? "/docker/x/" : "/");
      root.write(group + "cpu.cfs_period_us", "50000");
      root.write(group + "cpu.cfs_quota_us", "-1");
      EXPECT_EQ(coreQuota(root), std::nullopt) << controllers;
      root.write(group + "cpu.cfs_quota_us", "100000");
      EXPECT_EQ(coreQuota(root), 2) << controllers;
      // Quotas of another group, or not of processor time.
      root.write("sys/fs/cgroup/cpuset/cpu.cfs_quota_us", "1");
      EXPECT_EQ(coreQuota(root), 2) << controllers;
    }
}

TEST(Cores, MemoryOfGroups) {
  Root root;
  int64_t machine = memoryLimit(root);
  EXPECT_GT(machine, int64_t(1) << 24);
  root.write("proc/self/cgroup", "0::/a/b");
  root.write("sys/fs/cgroup/a/b/memory.max", "max");
  EXPECT_EQ(memoryLimit(root), machine);
  root.write("sys/fs/cgroup/a/memory.max", "3000000");
  EXPECT_EQ(memoryLimit(root), 3000000);
  root.write("sys/fs/cgroup/a/b/memory.max", "2000000");
  EXPECT_EQ(memoryLimit(root), 2000000);
  // In version 1 the root's limit exceeds the machine's memory.
  root.write("proc/self/cgroup", "9:memory:/docker/x\n4:cpu:/y");
  std::string group = "sys/fs/cgroup/memory/";
  root.write(group + "memory.limit_in_bytes", "9223372036854771712");
  root.write(group + "y/memory.limit_in_bytes", "1");
  EXPECT_EQ(memoryLimit(root), machine);
  root.write(group + "docker/x/memory.limit_in_bytes", "1000000");
  EXPECT_EQ(memoryLimit(root), 1000000);
}

TEST(Cores, Nodes) {
  Root root;
  EXPECT_TRUE(numaNodes(root).empty());
  std::string nodes = "sys/devices/system/node/node";
  root.write(nodes + "0/cpulist", "0-3,8,10-11");
  root.write(nodes + "1/cpulist", ""); // memory alone
  root.write(nodes + "8/cpulist", "4-5");
  EXPECT_EQ(numaNodes(root),
            (std::vector<CoreList>{{0, 1, 2, 3, 8, 10, 11}, {4, 5}}));
}

TEST(Cores, Shares) {
  Root two; // nodes of 32 cores
  std::string node = "sys/devices/system/node/node";
  two.write(node + "0/cpulist", "0-31");
  two.write(node + "1/cpulist", "32-63");
  // All ranks may run everywhere.
  for (int ranks : {2, 4, 8, 64})
    for (int r = 0; r < ranks; ++r) {
      CoreShare share =
          shareOf(std::vector<CoreList>(ranks, range(0, 64)), r, two);
      EXPECT_EQ(share.threads, 64 / ranks);
      EXPECT_EQ(share.cores, r < ranks / 2 ? range(0, 32) : range(32, 64));
    }
  // One rank needs both nodes; three do not fit without losing threads.
  EXPECT_TRUE(shareOf({range(0, 64)}, 0, two).cores.empty());
  std::vector<CoreList> three(3, range(0, 64));
  EXPECT_EQ(shareOf(three, 1, two).threads, 21);
  EXPECT_TRUE(shareOf(three, 1, two).cores.empty());
  // A launcher has given each rank cores of its own.
  std::vector<CoreList> own{range(0, 8), range(8, 16), range(28, 36)};
  EXPECT_EQ(shareOf(own, 1, two).threads, 8);
  EXPECT_EQ(shareOf(own, 2, two).threads, 8);
  EXPECT_TRUE(shareOf(own, 2, two).cores.empty());
  // A container with 2 of 64 cores: where they are is for the system.
  two.write("proc/self/cgroup", "0::/");
  two.write("sys/fs/cgroup/cpu.max", "200000 100000");
  EXPECT_EQ(shareOf({range(0, 64)}, 0, two).threads, 2);
  EXPECT_TRUE(shareOf({range(0, 64)}, 0, two).cores.empty());
  EXPECT_EQ(shareOf(three, 2, two).threads, 1);
}

/// On any machine and under any launcher, ranks that share a mask do not start
/// more threads than it has cores, nor more than a node has that they are on,
/// nor more than the quota pays for.
TEST(Cores, SharesNeverExceedWhatThereIs) {
  std::mt19937 random(kSeed);
  auto pick = [&](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
  };
  int pinned = 0;
  for (int n = 0; n < 300; ++n) {
    SCOPED_TRACE(detail::join("seed ", kSeed, " round ", n));
    Root root;
    int nodes = pick(1, 4), each = pick(1, 16), quota = pick(0, 40);
    for (int i = 0; i < nodes; ++i)
      root.write(detail::join("sys/devices/system/node/node", i, "/cpulist"),
                 detail::join(i * each, "-", (i + 1) * each - 1));
    if (quota > 0) {
      root.write("proc/self/cgroup", "0::/");
      root.write("sys/fs/cgroup/cpu.max",
                 detail::join(quota * 1000, " ", 1000));
    }
    CoreList all = range(0, nodes * each);
    std::vector<CoreList> kinds;
    for (int i = pick(1, 2); i > 0; --i) {
      CoreList mask;
      std::sample(all.begin(), all.end(), std::back_inserter(mask),
                  pick(1, int(all.size())), random);
      kinds.push_back(pick(0, 1) ? mask : all);
    }
    std::vector<CoreList> masks;
    for (int i = pick(1, 9); i > 0; --i)
      masks.push_back(kinds[random() % kinds.size()]);
    std::map<CoreList, int> byMask, byNode;
    int total = 0;
    for (size_t r = 0; r < masks.size(); ++r) {
      CoreShare share = shareOf(masks, r, root);
      ASSERT_GE(share.threads, 1);
      byMask[masks[r]] += share.threads;
      total += share.threads;
      if (!share.cores.empty()) {
        byNode[share.cores] += share.threads;
        ++pinned;
        EXPECT_TRUE(std::includes(masks[r].begin(), masks[r].end(),
                                  share.cores.begin(), share.cores.end()));
        EXPECT_EQ(share.cores.front() / each, share.cores.back() / each);
      }
    }
    for (auto &[mask, threads] : byMask)
      EXPECT_LE(threads, std::max<int>(int(mask.size()),
                                       int(std::count(masks.begin(),
                                                      masks.end(), mask))));
    if (kinds.size() == 1)
      for (auto &[cores, threads] : byNode)
        EXPECT_LE(threads, int(cores.size()));
    if (quota > 0)
      EXPECT_LE(total, std::max<int>(quota, int(masks.size())));
  }
  EXPECT_GT(pinned, 50);
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

namespace {

/// The rank and the others of its team, while one rank runs steps, once there
/// are `expected` of them, or no more for long.
int64_t teamOf(const std::string &launcher, int64_t expected) {
  Fixture f(1);
  Running run(f, f.weights() + f.input() + " --repeat 1000000000", "",
              f.directory / "log", launcher);
  auto start = Clock::now();
  auto count = [&] {
    std::error_code ignored;
    auto tasks = std::filesystem::directory_iterator(
        "/proc/" + std::to_string(run.process) + "/task", ignored);
    return std::distance(begin(tasks), end(tasks));
  };
  while (!stepping(run.process) && since(start) < 30)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_TRUE(stepping(run.process)) << run.errors();
  // The first parallel loop makes the team; who is too many comes with it.
  while (count() - 1 < expected && since(start) < 30)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  return count() - 1;
}

} // namespace

TEST(Cores, RunsFollowTheAffinityMask) {
  CoreList cores = ownCores();
  EXPECT_EQ(teamOf(detail::join("taskset -c ", cores[0]), 1), 1);
  if (cores.size() < 2)
    GTEST_SKIP() << "there is one core";
  EXPECT_EQ(teamOf(detail::join("taskset -c ", cores[0], ",", cores[1]), 2), 2);
}

TEST(Cores, RunsFollowTheQuota) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  bool second = fs::exists("/sys/fs/cgroup/cgroup.controllers", ignored);
  fs::path group = fs::path(second ? "/sys/fs/cgroup" : "/sys/fs/cgroup/cpu") /
                   ("tprt-test-" + std::to_string(getpid()));
  if (!fs::create_directory(group, ignored))
    GTEST_SKIP() << "control groups cannot be made here";
  bool limited = second ? bool(std::ofstream(group / "cpu.max")
                               << "100000 100000" << std::flush)
                        : bool(std::ofstream(group / "cpu.cfs_quota_us")
                               << "100000" << std::flush);
  if (limited)
    EXPECT_EQ(teamOf("sh -c 'echo $$ >" + (group / "cgroup.procs").string() +
                         "; exec \"$0\" \"$@\"'",
                     1),
              1);
  // The kernel takes a moment to see that it is empty.
  for (int i = 0; i < 500 && !fs::remove(group, ignored); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  if (!limited)
    GTEST_SKIP() << "control groups have no quota here";
}

/// Loops of any length are run by the same threads, with products of any number
/// of rows between them.
TEST(Cores, TeamsStayTheSame) {
  std::mt19937 random(kSeed);
  std::mutex mutex;
  std::set<std::thread::id> seen;
  std::thread([&] {
    setWorkers(4);
    Gemm gemm{};
    gemm.m = 128, gemm.n = 96, gemm.k = 64;
    gemm.xType = gemm.wType = gemm.yType = TPRT_F32;
    GemmEngine engine({gemm});
    std::vector<float> x(128 * 64), w(96 * 64), y(128 * 96);
    for (int n = 0; n < 2000; ++n) {
      ASSERT_OK(engine.run({0, 1 + int64_t(random() % 128), x.data(), 64,
                            w.data(), nullptr, nullptr, y.data(), 96}));
      int64_t extent = 1 + int64_t(random() % 9), done = 0;
      parallelFor(extent, 1 + int64_t(random() % 3),
                  [&](int64_t begin, int64_t end, int64_t worker) {
                    std::lock_guard lock(mutex);
                    seen.insert(std::this_thread::get_id());
                    EXPECT_LT(worker, 4);
                    done += end - begin;
                  });
      ASSERT_EQ(done, extent) << "seed " << kSeed << " round " << n;
    }
  }).join();
  EXPECT_EQ(seen.size(), 4u);
}

/// Each item is given once, to a worker that there is, however uneven they are
/// and however few.
TEST(Cores, PartsAreTakenOnce) {
  std::mt19937 random(kSeed);
  std::thread([&] {
    setWorkers(4);
    for (int n = 0; n < 300; ++n) {
      int64_t items = int64_t(random() % 40);
      int64_t slow = int64_t(random() % 40);
      std::vector<std::atomic<int>> given(size_t(items) + 1);
      parallelParts(items, [&](int64_t item, int64_t worker) {
        ASSERT_LT(worker, 4);
        ASSERT_LT(item, items);
        if (item == slow)
          std::this_thread::sleep_for(std::chrono::microseconds(200));
        ++given[size_t(item)];
      });
      for (int64_t i = 0; i < items; ++i)
        ASSERT_EQ(given[size_t(i)], 1) << "seed " << kSeed << " round " << n;
    }
  }).join();
}
