//===- Cores.cpp - the cores that a rank computes on ----------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads /proc/self/cgroup, the groups' limits below /sys/fs/cgroup and the
// nodes below /sys/devices/system/node. A quota is rounded down: with a thread
// more than it pays for, all of them stand still for a part of each period, and
// ranks wait for each other.
//
//===----------------------------------------------------------------------===//

#include "Cores.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <sched.h>
#include <sstream>
#include <unistd.h>

using namespace tprt;

CoreList tprt::ownCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  CoreList cores;
  if (sched_getaffinity(0, sizeof(set), &set) == 0)
    for (int core = 0; core < CPU_SETSIZE; ++core)
      if (CPU_ISSET(core, &set))
        cores.push_back(core);
  return cores.empty() ? CoreList{0} : cores;
}

void tprt::runOn(const CoreList &cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int core : cores)
    CPU_SET(core, &set);
  // If it is not allowed the threads run as before.
  if (!cores.empty())
    sched_setaffinity(0, sizeof(set), &set);
}

//===----------------------------------------------------------------------===//
// Control groups
//===----------------------------------------------------------------------===//

constexpr double kNone = std::numeric_limits<double>::infinity();

/// The cores that one group's files allow. Of v2 `cpu.max` is `QUOTA PERIOD`,
/// v1 has a file for each; `max` and -1 are none.
static double coresOf(const std::string &group) {
  double quota = -1, period = -1;
  if (!(std::ifstream(group + "/cpu.max") >> quota >> period)) {
    std::ifstream(group + "/cpu.cfs_quota_us") >> quota;
    std::ifstream(group + "/cpu.cfs_period_us") >> period;
  }
  return quota > 0 && period > 0 ? quota / period : kNone;
}

/// The bytes that one group's file allows: `max` is none, and of v1 a number
/// that no machine has.
static double bytesOf(const std::string &group) {
  double bytes = 0;
  if (!(std::ifstream(group + "/memory.max") >> bytes))
    std::ifstream(group + "/memory.limit_in_bytes") >> bytes;
  return bytes > 0 ? bytes : kNone;
}

/// The least that `limitOf` finds in the groups of this process, and in those
/// above them, that control `resource`.
static double leastOfGroups(const std::string &root,
                            const std::string &resource,
                            double (*limitOf)(const std::string &group)) {
  double least = kNone;
  std::ifstream groups(root + "/proc/self/cgroup");
  // ID:CONTROLLERS:PATH; of v2 without controllers.
  for (std::string line; std::getline(groups, line);) {
    size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos)
      continue;
    std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() &&
        ("," + controllers + ",").find("," + resource + ",") ==
            std::string::npos)
      continue;
    // A container may see its own group as the topmost one, under the path
    // that it has outside: so all above it count, down to the mount itself.
    for (std::string mount :
         {std::string("unified"), std::string(), resource, controllers})
      for (std::filesystem::path path = line.substr(second + 1);;
           path = path.parent_path()) {
        least = std::min(
            least, limitOf(root + "/sys/fs/cgroup/" + mount + path.string()));
        if (!path.has_relative_path())
          break;
      }
  }
  return least;
}

std::optional<int> tprt::coreQuota(const std::string &root) {
  double cores = leastOfGroups(root, "cpu", coresOf);
  if (cores >= CPU_SETSIZE)
    return std::nullopt;
  return std::max(1, int(cores));
}

int64_t tprt::memoryLimit(const std::string &root) {
  double machine = double(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGE_SIZE);
  return int64_t(std::min(machine, leastOfGroups(root, "memory", bytesOf)));
}

int tprt::availableCores(const std::string &root) {
  int cores = int(ownCores().size());
  return std::min(cores, coreQuota(root).value_or(cores));
}

//===----------------------------------------------------------------------===//
// Nodes and shares
//===----------------------------------------------------------------------===//

std::vector<CoreList> tprt::numaNodes(const std::string &root) {
  std::vector<CoreList> nodes;
  // Numbers may be left out.
  constexpr int kMostNodes = 256;
  for (int node = 0; node < kMostNodes; ++node) {
    // 0-3,8,10-11
    std::ifstream file(root + "/sys/devices/system/node/node" +
                       std::to_string(node) + "/cpulist");
    CoreList cores;
    for (std::string range; std::getline(file, range, ',');) {
      std::istringstream text(range);
      int from = -1, to = -1;
      char dash;
      text >> from;
      if (!(text >> dash >> to))
        to = from;
      for (int core = from; core >= 0 && core <= std::min(to, CPU_SETSIZE - 1);
           ++core)
        cores.push_back(core);
    }
    if (!cores.empty())
      nodes.push_back(std::move(cores));
  }
  return nodes;
}

CoreShare tprt::shareOf(const std::vector<CoreList> &masks, size_t self,
                        const std::string &root) {
  const CoreList &mine = masks[self];
  size_t sharers = size_t(std::count(masks.begin(), masks.end(), mine));
  size_t index =
      size_t(std::count(masks.begin(), masks.begin() + long(self), mine));
  CoreShare share;
  share.threads = std::max(1, int(mine.size() / sharers));
  if (auto quota = coreQuota(root)) {
    int paid = std::max(1, *quota / int(masks.size()));
    // The rest of the cores is for others: the system knows which are free.
    if (paid < share.threads)
      return {paid, {}};
  }
  std::vector<CoreList> nodes;
  for (const CoreList &node : numaNodes(root)) {
    CoreList both;
    std::set_intersection(node.begin(), node.end(), mine.begin(), mine.end(),
                          std::back_inserter(both));
    if (!both.empty())
      nodes.push_back(std::move(both));
  }
  if (nodes.size() < 2)
    return share;
  // As many ranks on each, if the threads of all of them fit.
  size_t most = (sharers + nodes.size() - 1) / nodes.size();
  for (const CoreList &node : nodes)
    if (node.size() < most * size_t(share.threads))
      return share;
  share.cores = nodes[index * nodes.size() / sharers];
  return share;
}
