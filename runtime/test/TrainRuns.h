//===- TrainRuns.h - runs of training, and what they leave ------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The common part of tests of tp-run --train: the log, weights that are held
// against those in f64, runs in the background.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_TEST_TRAINRUNS_H
#define TPRT_TEST_TRAINRUNS_H

#include "TrainFixture.h"

#include <chrono>
#include <csignal>
#include <sstream>
#include <thread>

namespace tprt::test {

/// Lines of the log.
inline std::vector<json> linesOf(const std::string &path) {
  std::vector<json> lines;
  std::istringstream text(readFile(path));
  for (std::string line; std::getline(text, line);)
    lines.push_back(json::parse(line));
  return lines;
}

inline void expectWeights(TrainFixture &f, const std::string &folder,
                          int64_t steps, int64_t rows, double rate,
                          double tolerance) {
  auto got = f.load(folder + "/model.safetensors");
  ASSERT_EQ(got.size(), f.tensors.size());
  auto expected = f.expected(steps, rows, rate);
  for (const TestTensor &tensor : f.tensors) {
    SCOPED_TRACE(tensor.name);
    const TensorView &view = got.at(tensor.name);
    EXPECT_EQ(fileTypeName(view.type), tensor.dtype);
    EXPECT_EQ(view.shape, tensor.shape);
    if (!expected.count(tensor.name)) {
      EXPECT_EQ(view.bytes, tensor.bytes);
      continue;
    }
    auto type = *floatTypeOf(view.type);
    auto values = toFloats(type, std::string(view.bytes));
    for (size_t i = 0; i < values.size(); ++i)
      EXPECT_NEAR(values[i], expected[tensor.name][i],
                  tolerance + 2 * epsilon(type) * std::fabs(values[i]))
          << i;
  }
}

/// tp-run in the background, in a process group of its own, with variables
/// (NAME=VALUE ...) for its environment. What it says goes to a file.
class Background {
public:
  Background(const TrainFixture &f, const std::string &arguments,
             const std::string &variables = "",
             const std::string &err = "err") {
    process = fork();
    if (process == 0) {
      setsid();
      for (int number : {SIGINT, SIGTERM, SIGHUP, SIGUSR1})
        signal(number, SIG_DFL);
      std::string command = "cd " + (f.directory / "") + "; exec env " +
                            variables + " " + TPRT_RUN + " p.tpa " + arguments +
                            " 2>" + err;
      execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
      _exit(127);
    }
  }
  /// The exit code; of one that a signal ended, its negative number.
  int wait() const {
    int status = 0;
    waitpid(process, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  /// The ranks that it has launched.
  std::vector<pid_t> children() const {
    std::istringstream list(readFile(
        detail::join("/proc/", process, "/task/", process, "/children")));
    std::vector<pid_t> found;
    for (pid_t child; list >> child;)
      found.push_back(child);
    return found;
  }
  pid_t process;
};

constexpr const char *kEndless =
    "--train d.safetensors --order sequential --weights in --lr 0.02 "
    "--weight-decay 0.1 --steps 1000000 --save out ";

inline void waitFor(const std::string &path) {
  for (int i = 0; i < 5000 && !std::filesystem::exists(path); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

/// The same for a text in a file.
inline bool waitForText(const std::string &path, const std::string &text) {
  for (int i = 0; i < 5000; ++i) {
    if (readFile(path).find(text) != std::string::npos)
      return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return false;
}

inline json progressOf(const TrainFixture &f, const std::string &folder) {
  std::string text = readFile(f.directory / (folder + "/trainer.json"));
  return text.empty() ? json() : json::parse(text);
}

} // namespace tprt::test

#endif // TPRT_TEST_TRAINRUNS_H
