//===- ProcessInfo.cpp - which rank a process is --------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A table of starters and their variables; the first that started this process
// decides. Slurm sets its variables in shells and scripts as well, whose
// programs are no ranks: only a step of several tasks is a start of ranks.
//
//===----------------------------------------------------------------------===//

#include "ProcessInfo.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <string_view>
#include <unistd.h>

using namespace tprt;

namespace {

using Get = std::function<const char *(const char *)>;

Expected<int64_t> number(const Get &get, const char *name) {
  const char *text = get(name);
  if (!text)
    return userError("environment variable ", name, " is not set");
  int64_t value = -1;
  const char *end = text + std::strlen(text);
  auto [stop, error] = std::from_chars(text, end, value);
  if (error != std::errc() || stop != end || value < 0)
    return userError("environment variable ", name,
                     ": expected a natural number, got '", text, "'");
  return value;
}

std::string orEmpty(const char *text) { return text ? text : ""; }

/// One way in which ranks are started. Names may be null.
struct Starter {
  const char *name, *rank, *ranks;
  const char *localRank, *localRanks; ///< on this host
  const char *nodes;                  ///< hosts
};
constexpr Starter kStarters[] = {
    {"tp-run", kRankVariable, kRanksVariable, nullptr, nullptr, nullptr},
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", nullptr},
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE",
     nullptr},
    {"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", nullptr,
     "SLURM_STEP_NUM_NODES"},
    // As above: old releases, or a job's variables passed on by hand.
    {"Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", nullptr,
     "SLURM_STEP_NUM_NODES"},
    {"MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS",
     nullptr},
};

/// Steps that Slurm itself makes: pending, external, batch script and
/// interactive ones (salloc's shell).
constexpr int64_t kFirstOwnStep = 0xfffffffa;

/// Variables of the step that this process is in come first.
const char *taskCount(const Get &get) {
  return get("SLURM_STEP_NUM_TASKS") ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS";
}

/// True if MPICH's mpirun has set PMI's variables, perhaps in a process that
/// srun has started for it, and not srun itself (--mpi=pmi2), whose own
/// variables say the same.
bool isMpich(const Get &get) {
  auto differ = [&](const char *mpich, const char *slurm) {
    return get(mpich) && orEmpty(get(mpich)) != orEmpty(get(slurm));
  };
  return !get("SLURM_STEP_ID") || differ("PMI_SIZE", taskCount(get)) ||
         differ("PMI_RANK", "SLURM_PROCID");
}

/// True if srun has started this process as one of several tasks: a single one
/// may be a shell.
Expected<bool> isSlurmTask(const Get &get) {
  if (!get("SLURM_STEP_ID")) // a batch job's script
    return false;
  TPRT_ASSIGN(auto step, number(get, "SLURM_STEP_ID"));
  if (step >= kFirstOwnStep)
    return false;
  TPRT_ASSIGN(auto tasks, number(get, taskCount(get)));
  return tasks > 1 && !isMpich(get);
}

/// True if the variables of `starter` are set by who started this process.
Expected<bool> hasStarted(const Starter &starter, const Get &get) {
  std::string_view name = starter.name;
  if (!get(starter.rank) || !get(starter.ranks))
    return false;
  if (name == "MPICH")
    return isMpich(get);
  return name == "Slurm" ? isSlurmTask(get) : true;
}

/// The variable that names the job.
std::string jobOf(const std::string &starter, const Get &get) {
  auto value = [&](const char *name) { return orEmpty(get(name)); };
  if (starter == "mpirun")
    return value("PMIX_NAMESPACE") + value("OMPI_MCA_ess_base_jobid");
  if (starter == "Slurm")
    return value("SLURM_JOB_ID") + "." + value("SLURM_STEP_ID");
  // Its processes on a host have one parent.
  if (starter == "MPICH")
    return std::to_string(getppid());
  return value("MASTER_ADDR") + ":" + value("MASTER_PORT");
}

/// Says where rank 0 can be met, if the starter does.
Status meetingPoint(const Get &get, ProcessInfo &process) {
  constexpr int kTries = 8;
  bool slurm = process.starter == "Slurm";
  int64_t first = 0;
  if (get("MASTER_ADDR") && get("MASTER_PORT")) {
    TPRT_ASSIGN(auto port, number(get, "MASTER_PORT"));
    process.addresses = {get("MASTER_ADDR")};
    // torchrun's own store sits there, if it says so.
    const char *store = get("TORCHELASTIC_USE_AGENT_STORE");
    first = port + (store && std::string(store) == "True" ? 1 : 0);
  } else if (slurm) {
    auto job = number(get, "SLURM_JOB_ID"), step = number(get, "SLURM_STEP_ID");
    const char *nodes = get("SLURM_STEP_NODELIST");
    if (!job || !step || !nodes)
      return {};
    process.addresses = {firstOfNodeList(nodes)};
    // Below the ports that the system gives out itself.
    first = 10000 + (*job * 61 + *step * 7) % 20000;
  }
  for (int64_t port = first; first > 0 && port < first + kTries; ++port)
    if (port < 65536)
      process.ports.push_back(int(port));
  return {};
}

} // namespace

Expected<std::optional<double>> tprt::secondsFromEnvironment(const char *name,
                                                             const Get &get) {
  const char *text = get(name);
  if (!text)
    return std::optional<double>();
  double value = 0;
  const char *end = text + std::strlen(text);
  auto [stop, error] = std::from_chars(text, end, value);
  if (error != std::errc() || stop != end || !std::isfinite(value) ||
      value <= 0)
    return userError("environment variable ", name,
                     ": expected seconds above 0, got '", text, "'");
  return std::optional(value);
}

std::string tprt::firstOfNodeList(const std::string &list) {
  size_t bracket = list.find_first_of("[,");
  if (bracket == std::string::npos || list[bracket] == ',')
    return list.substr(0, bracket);
  size_t end = list.find_first_of("],-", bracket);
  size_t close = list.find(']', bracket);
  std::string name =
      list.substr(0, bracket) + list.substr(bracket + 1, end - bracket - 1);
  // The text after the bracket belongs to the name too.
  if (close != std::string::npos)
    name += list.substr(close + 1, list.find(',', close) - close - 1);
  return name;
}

Expected<std::optional<ProcessInfo>>
tprt::processInfoFromEnvironment(const Get &get) {
  for (const Starter &starter : kStarters) {
    std::string name = starter.name;
    TPRT_ASSIGN(bool isStarted, hasStarted(starter, get));
    if (!isStarted)
      continue;
    TPRT_ASSIGN(auto rank, number(get, starter.rank));
    TPRT_ASSIGN(auto ranks, number(get, starter.ranks));
    if (rank >= ranks)
      return userError("environment variable ", starter.rank,
                       ": expected a rank below ", starter.ranks, " = ", ranks,
                       ", got ", rank);
    ProcessInfo process;
    process.rank = process.localRank = rank;
    process.ranks = process.localRanks = ranks;
    process.starter = name;
    process.source = std::string(starter.ranks) + " (" + name + ")";
    process.job = jobOf(name, get);
    if (name == "tp-run") {
      TPRT_ASSIGN(process.file, number(get, kFileVariable));
      return std::optional(process);
    }
    /// A variable that need not be there.
    auto more = [&](const char *variable, int64_t &value) -> Status {
      if (!variable || !get(variable))
        return {};
      TPRT_ASSIGN(value, number(get, variable));
      return {};
    };
    int64_t nodes = 1;
    TPRT_TRY(more(starter.localRank, process.localRank));
    TPRT_TRY(more(starter.localRanks, process.localRanks));
    TPRT_TRY(more(starter.nodes, nodes));
    TPRT_TRY(meetingPoint(get, process));
    // A rank that is left of an earlier attempt is of another job.
    process.token = name + " " + process.job;
    for (const char *part :
         {"TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", kTokenVariable})
      process.token += " " + orEmpty(get(part));
    if (process.localRanks != process.ranks)
      process.hosts =
          detail::join(starter.ranks, " is ", process.ranks, ", ",
                       starter.localRanks, " is ", process.localRanks);
    else if (nodes != 1)
      process.hosts = detail::join(starter.nodes, " is ", nodes);
    return std::optional(process);
  }
  return std::optional<ProcessInfo>();
}
