//===- Runner.cpp - Trials in child processes -----------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The child's lines come through a pipe: a seed when it begins, the trial when
// it is done. Its standard error goes to a file, in which the message of an
// assertion or a sanitizer is found.
//
//===----------------------------------------------------------------------===//

#include "Runner.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tp::fuzz {

namespace {
/// One child and what it has written so far.
class Child {
public:
  Child(uint64_t first, uint64_t count,
        llvm::function_ref<Trial(uint64_t)> run);
  ~Child();

  /// The next line, or nothing at the end of the child or of the time.
  std::optional<std::string> readLine(double seconds, bool &timedOut);
  /// Ends the child; says how it ended.
  std::string finish(bool kill);

private:
  pid_t pid = -1;
  int pipeEnd = -1;
  FILE *errors = nullptr;
  std::string buffer;
};
} // namespace

Child::Child(uint64_t first, uint64_t count,
             llvm::function_ref<Trial(uint64_t)> run) {
  int ends[2];
  if (pipe(ends) != 0)
    return;
  errors = tmpfile();
  fflush(stdout);
  llvm::outs().flush();
  pid = fork();
  if (pid != 0) {
    close(ends[1]);
    pipeEnd = ends[0];
    return;
  }
  close(ends[0]);
  if (errors)
    dup2(fileno(errors), STDERR_FILENO);
  // No stack traces: looking up names takes longer than many trials.
  for (int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP})
    std::signal(signal, SIG_DFL);
  llvm::raw_fd_ostream out(ends[1], /*shouldClose=*/true);
  for (uint64_t i = 0; i < count; ++i) {
    out << "begin\n";
    out.flush();
    out << run(first + i).toJSON() << "\n";
    out.flush();
  }
  _exit(0);
}

Child::~Child() {
  if (pipeEnd >= 0)
    close(pipeEnd);
  if (errors)
    fclose(errors);
}

std::optional<std::string> Child::readLine(double seconds, bool &timedOut) {
  using Clock = std::chrono::steady_clock;
  Clock::time_point end =
      Clock::now() + std::chrono::milliseconds(int64_t(seconds * 1000));
  while (true) {
    if (size_t at = buffer.find('\n'); at != std::string::npos) {
      std::string line = buffer.substr(0, at);
      buffer.erase(0, at + 1);
      return line;
    }
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
                    end - Clock::now())
                    .count();
    pollfd waiting{pipeEnd, POLLIN, 0};
    int ready = left > 0 ? poll(&waiting, 1, int(left)) : 0;
    if (ready == 0) {
      timedOut = true;
      return std::nullopt;
    }
    char bytes[1 << 14];
    ssize_t size = ready > 0 ? read(pipeEnd, bytes, sizeof(bytes)) : -1;
    if (size <= 0 && errno != EINTR)
      return std::nullopt;
    if (size > 0)
      buffer.append(bytes, size);
    else if (size == 0)
      return std::nullopt;
  }
}

/// The line of `text` that says what went wrong: an assertion, a sanitizer's
/// summary, or the first.
static std::string findReason(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef word :
       {"Assertion", "ERROR: ", "runtime error", "LLVM ERROR", "UNREACHABLE"})
    for (llvm::StringRef line : lines)
      if (size_t at = line.find(word); at != llvm::StringRef::npos)
        return line.take_front(400).str();
  return lines.empty() ? "" : lines.front().take_front(300).str();
}

std::string Child::finish(bool kill) {
  if (kill)
    ::kill(pid, SIGKILL);
  int status = 0;
  waitpid(pid, &status, 0);
  std::string reason;
  if (WIFSIGNALED(status))
    reason = strsignal(WTERMSIG(status));
  else
    reason = "exit code " + std::to_string(WEXITSTATUS(status));
  if (errors) {
    std::string text(1 << 16, '\0');
    rewind(errors);
    text.resize(fread(text.data(), 1, text.size(), errors));
    if (std::string line = findReason(text); !line.empty())
      reason += ": " + line;
  }
  return reason;
}

void runTrials(const RunnerOptions &options,
               llvm::function_ref<Trial(uint64_t)> run,
               llvm::function_ref<void(const Trial &)> visit) {
  // Now and then a new child, so that memory does not pile up.
  constexpr uint64_t trialsPerChild = 200;
  uint64_t done = 0;
  while (done < options.count) {
    uint64_t wanted = std::min(trialsPerChild, options.count - done);
    Child child(options.first + done, wanted, run);
    uint64_t finished = 0;
    bool timedOut = false, garbled = false;
    while (finished < wanted) {
      std::optional<std::string> line =
          child.readLine(options.timeout, timedOut);
      if (!line)
        break;
      if (*line == "begin")
        continue;
      std::optional<Trial> trial = Trial::fromJSON(*line);
      garbled = !trial;
      if (garbled)
        break;
      visit(*trial);
      ++finished;
    }
    std::string end = child.finish(/*kill=*/timedOut || garbled);
    done += finished;
    if (finished == wanted)
      continue;
    Trial trial;
    trial.seed = options.first + done;
    trial.outcome = timedOut ? Outcome::TimedOut : Outcome::Crashed;
    trial.seconds = timedOut ? options.timeout : 0;
    trial.message = timedOut ? "" : end;
    visit(trial);
    ++done;
  }
}

} // namespace tp::fuzz
