//===- ProcessInfoTest.cpp - who has started this process -----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The table of docs/Deploy.md: environments as launchers make them, one within
// another, and what a process is in each.
//
//===----------------------------------------------------------------------===//

#include "TestUtil.h"

#include "../collectives/ProcessInfo.h"

#include <map>

using namespace tprt;
using namespace tprt::test;

namespace {

using Variables = std::map<std::string, std::string>;

Variables operator+(Variables a, const Variables &b) {
  for (const auto &[name, value] : b)
    a[name] = value;
  return a;
}

auto getterOf(const Variables &variables) {
  return [&variables](const char *name) -> const char * {
    auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

/// `rank R of N by STARTER`, `none`, or an error.
std::string placeIn(const Variables &variables) {
  auto place = processInfoFromEnvironment(getterOf(variables));
  if (!place)
    return place.status().message();
  if (!*place)
    return "none";
  return detail::join("rank ", (*place)->rank, " of ", (*place)->ranks, " by ",
                      (*place)->starter);
}

/// The variables that a job of eight tasks has in each of its processes.
const Variables kJob{{"SLURM_JOB_ID", "7"},
                     {"SLURM_NTASKS", "8"},
                     {"SLURM_NPROCS", "8"},
                     {"SLURM_NNODES", "2"},
                     {"SLURM_TASKS_PER_NODE", "4(x2)"},
                     {"SLURM_NODEID", "0"},
                     {"SLURM_PROCID", "0"},
                     {"SLURM_LOCALID", "0"}};

Variables step(const char *id, const char *tasks, const char *rank,
               const char *nodes = "1") {
  return kJob + Variables{{"SLURM_STEP_ID", id},
                          {"SLURM_STEPID", id},
                          {"SLURM_STEP_NUM_TASKS", tasks},
                          {"SLURM_STEP_NUM_NODES", nodes},
                          {"SLURM_STEP_NODELIST", "n[1-2]"},
                          {"SLURM_PROCID", rank}};
}

const Variables kTorchrun{{"RANK", "3"},         {"WORLD_SIZE", "4"},
                          {"LOCAL_RANK", "1"},   {"LOCAL_WORLD_SIZE", "2"},
                          {"MASTER_ADDR", "n1"}, {"MASTER_PORT", "29500"}};
const Variables kMpirun{{"OMPI_COMM_WORLD_RANK", "1"},
                        {"OMPI_COMM_WORLD_SIZE", "2"},
                        {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                        {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
const Variables kMpich{{"PMI_RANK", "5"},
                       {"PMI_SIZE", "6"},
                       {"MPI_LOCALRANKID", "1"},
                       {"MPI_LOCALNRANKS", "2"}};
const Variables kTpRun{{"TPRT_RANK", "1"},
                       {"TPRT_WORLD_SIZE", "2"},
                       {"TPRT_SHARED_MEMORY_FD", "3"}};

} // namespace

TEST(ProcessInfo, WhoHasStartedIt) {
  const std::string kInteractive = "4294967290", kBatch = "4294967291",
                    kExternal = "4294967292";
  struct Row {
    const char *what;
    Variables variables;
    const char *place;
  };
  const Row kRows[] = {
      {"a shell", {}, "none"},
      {"srun -n 8", step("0", "8", "5", "2"), "rank 5 of 8 by Slurm"},
      {"srun -n 2 in a job of 8", step("3", "2", "1"), "rank 1 of 2 by Slurm"},
      {"the script of sbatch -n 8", kJob, "none"},
      {"the same as a step", step(kBatch.c_str(), "1", "0"), "none"},
      {"the shell of salloc -n 8", step(kInteractive.c_str(), "1", "0"),
       "none"},
      {"ssh into a job's node", step(kExternal.c_str(), "1", "0"), "none"},
      {"a step of Slurm's own with the job's count",
       kJob + Variables{{"SLURM_STEP_ID", kInteractive}}, "none"},
      {"srun --pty bash", step("0", "1", "0"), "none"},
      {"no count of the step", kJob + Variables{{"SLURM_STEP_ID", "0"}},
       "rank 0 of 8 by Slurm"},
      {"torchrun", kTorchrun, "rank 3 of 4 by torchrun"},
      {"srun torchrun", step("0", "2", "1", "2") + kTorchrun,
       "rank 3 of 4 by torchrun"},
      {"torchrun in salloc's shell",
       step(kInteractive.c_str(), "1", "0") + kTorchrun,
       "rank 3 of 4 by torchrun"},
      {"mpirun", kMpirun, "rank 1 of 2 by mpirun"},
      {"mpirun in salloc's shell",
       step(kInteractive.c_str(), "1", "0") + kMpirun, "rank 1 of 2 by mpirun"},
      {"mpirun, whose daemons srun starts", step("1", "2", "1", "2") + kMpirun,
       "rank 1 of 2 by mpirun"},
      {"mpirun in a batch script", kJob + kMpirun, "rank 1 of 2 by mpirun"},
      {"MPICH's mpirun", kMpich, "rank 5 of 6 by MPICH"},
      {"MPICH's mpirun in salloc's shell",
       step(kInteractive.c_str(), "1", "0") + kMpich, "rank 5 of 6 by MPICH"},
      {"MPICH's mpirun, whose proxies srun starts",
       step("1", "2", "1", "2") + kMpich, "rank 5 of 6 by MPICH"},
      {"srun --mpi=pmi2",
       step("0", "6", "5") + Variables{{"PMI_RANK", "5"}, {"PMI_SIZE", "6"}},
       "rank 5 of 6 by Slurm"},
      {"srun --mpi=pmi2 --pty bash",
       step("0", "1", "0") + Variables{{"PMI_RANK", "0"}, {"PMI_SIZE", "1"}},
       "none"},
      {"tp-run's ranks in srun's shell", step("0", "1", "0") + kTpRun,
       "rank 1 of 2 by tp-run"},
      {"tp-run's ranks under torchrun", kTorchrun + kTpRun,
       "rank 1 of 2 by tp-run"},
      {"a count that is none", step("0", "x", "1"),
       "environment variable SLURM_STEP_NUM_TASKS: expected a natural number, "
       "got 'x'"},
      {"a rank of another step", step("0", "2", "5"),
       "environment variable SLURM_PROCID: expected a rank below "
       "SLURM_STEP_NUM_TASKS = 2, got 5"},
  };
  for (const Row &row : kRows)
    EXPECT_EQ(placeIn(row.variables), row.place) << row.what;
}

/// A step of one task and Slurm's own steps are nobody's ranks, whatever else
/// is set.
TEST(ProcessInfo, ShellsOfSlurmAreNoRanks) {
  std::mt19937 random(kSeed);
  const Variables kMore = step("0", "1", "0");
  for (int n = 0; n < 500; ++n) {
    Variables variables;
    for (const auto &[name, value] : kMore)
      if (random() % 2)
        variables[name] = std::to_string(random() % 100);
    bool isOwn = random() % 2;
    variables["SLURM_STEP_ID"] =
        isOwn ? std::to_string(0xfffffffaL + random() % 4) : "0";
    if (!isOwn)
      variables["SLURM_STEP_NUM_TASKS"] = "1";
    EXPECT_EQ(placeIn(variables), "none") << "seed " << kSeed << " round " << n;
  }
}

TEST(ProcessInfo, SecondsFromTheEnvironment) {
  auto read = [](const char *text) -> std::string {
    Variables variables;
    if (text)
      variables["LIMIT"] = text;
    auto seconds = secondsFromEnvironment("LIMIT", getterOf(variables));
    if (!seconds)
      return seconds.status().message();
    return *seconds ? detail::join(**seconds) : "none";
  };
  EXPECT_EQ(read(nullptr), "none");
  EXPECT_EQ(read("2.5"), "2.5");
  EXPECT_EQ(read("1e3"), "1000");
  for (const char *wrong : {"", "0", "-1", "1s", "nan", "inf", "x", " 1"})
    EXPECT_EQ(read(wrong), std::string("environment variable LIMIT: expected "
                                       "seconds above 0, got '") +
                               wrong + "'");
}
