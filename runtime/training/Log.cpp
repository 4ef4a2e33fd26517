//===- Log.cpp - what a run of training says of its steps -----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Log.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

using namespace tprt;
using namespace tprt::training;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

/// True if the line is of a step before the checkpoint that `from` describes.
/// Lines of earlier versions have no position, and none of skipped steps.
static bool isBefore(const std::string &text, const Progress &from) {
  auto line = parseJson(text, 4);
  if (!line || !line->is_object())
    return false;
  auto isUpTo = [&](const char *key, int64_t last) {
    auto found = line->find(key);
    return found != line->end() && found->is_number_integer() && *found <= last;
  };
  return line->contains("position") ? isUpTo("position", from.position)
                                    : isUpTo("step", from.step);
}

Expected<Log> Log::open(const std::string &path, const Progress &from,
                        int64_t steps) {
  Log log;
  log.path = path, log.first = from.step + 1, log.steps = steps;
  log.isTerminal = isatty(2);
  if (path.empty())
    return log;
  std::string kept;
  std::ifstream before(path);
  for (std::string line; from.position > 0 && std::getline(before, line);)
    if (isBefore(line, from))
      kept += line + "\n";
  TPRT_TRY(writeFile(path, kept));
  log.file = Descriptor(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  if (!log.file.open())
    return userError("cannot write '", path, "': ", std::strerror(errno));
  return log;
}

/// Writes what waits. A line that got in in part is continued later.
void Log::flush() {
  while (!pending.empty()) {
    ssize_t count = ::write(file, pending.data(), pending.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0) {
      if (!failure) {
        pause();
        say("cannot write '", path, "': ", std::strerror(errno),
            "; the run goes on, and its lines are written when they can be");
      }
      failure = errno;
      return;
    }
    pending.erase(0, size_t(count));
  }
  failure = 0;
}

void Log::write(const json &line) {
  if (path.empty())
    return;
  pending += line.dump() + "\n";
  flush();
}

void Log::reopen() {
  struct stat named{}, own{};
  if (path.empty() ||
      (stat(path.c_str(), &named) == 0 && fstat(file, &own) == 0 &&
       named.st_ino == own.st_ino && named.st_dev == own.st_dev))
    return;
  Descriptor other(
      ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666));
  if (other.open())
    file = std::move(other);
}

Status Log::close() {
  pause();
  if (path.empty())
    return {};
  flush();
  if (pending.empty())
    return {};
  return userError("cannot write '", path, "': ", std::strerror(failure),
                   "; it lacks its last ",
                   std::count(pending.begin(), pending.end(), '\n'), " lines");
}

void Log::pause() {
  if (isOpen)
    std::fputc('\n', stderr);
  isOpen = false;
}

/// 1:02:03
static std::string formatSeconds(double seconds) {
  auto s = int64_t(std::ceil(seconds));
  char text[32];
  std::snprintf(text, sizeof(text), "%ld:%02ld:%02ld", long(s / 3600),
                long(s / 60 % 60), long(s % 60));
  return text;
}

static double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void Log::add(const json &line) {
  write(line);
  int64_t step = line["step"];
  if (step == first)
    begun = Clock::now();
  if (step != first && step != steps &&
      secondsSince(told) < (isTerminal ? 0.5 : 10))
    return;
  told = Clock::now();
  std::string left;
  if (step > first && step < steps)
    left = ", " +
           formatSeconds(secondsSince(begun) / double(step - first) *
                         double(steps - step)) +
           " left";
  char text[160];
  std::snprintf(text, sizeof(text),
                "tp-run: step %ld of %ld: loss %.4f, gradient norm %.3g, rate "
                "%.3g, %.0f tokens/s%s",
                long(step), long(steps), line["loss"].get<double>(),
                line["grad_norm"].get<double>(), line["lr"].get<double>(),
                line["tokens_per_second"].get<double>(), left.c_str());
  std::fprintf(stderr, isTerminal ? "\r%s\033[K" : "%s\n", text);
  isOpen = isTerminal;
}
