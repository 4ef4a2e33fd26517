//===- Scheduler.h - device work in any legal order -------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every asynchronous call becomes a node of a graph whose edges are what
// streams, events and captured graphs promise, and nothing else. Nodes run when
// somebody waits, not before, in an order drawn from TP_FAKE_CUDA_SEED among
// those that the edges allow: a program that forgot an event gets a wrong
// result for some seed. Two streams with one kernel each and no event between
// them:
//
//   a: copy -> kernel        legal: copy kernel fill, copy fill kernel,
//   b: fill                         fill copy kernel
//
// A node that waits for another process (a collective) gives way to others.
//
// TP_FAKE_CUDA_STUCK_AFTER=N makes the device stand still for ever once it has
// done N nodes, as one whose kernel does not end or that fell off its bus.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_TEST_FAKECUDA_SCHEDULER_H
#define TPRT_TEST_FAKECUDA_SCHEDULER_H

#include "Api.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

namespace fake {

/// The outcome of one attempt at a node. Waiting: it is neither done nor stuck
/// for good, another process has to move first.
enum class Step { Done, Waiting };

/// The work of a node; called again as long as it says Waiting.
using Work = std::function<Step()>;

struct Node;
using NodeRef = std::shared_ptr<Node>;

/// Makes the work of one execution: called once per launch, in launch order.
using Recipe = std::function<Work(const NodeRef &)>;

struct Node {
  std::string name;
  uint64_t lane; ///< the stream it was given to
  std::vector<NodeRef> followers;
  std::vector<NodeRef> needs; ///< cleared when it is done
  Work work;
  unsigned missing = 0; ///< needs that are not done
  bool done = false;
  uint64_t mark = 0; ///< of the last search that met it
};

class Scheduler {
public:
  static Scheduler &get();

  /// Guards the whole library; every exported function holds it.
  std::recursive_mutex mutex;

  /// A node to run after `needs`; without a recipe it only joins them.
  NodeRef add(uint64_t lane, const std::vector<NodeRef> &needs,
              std::string name, const Recipe &recipe = {});

  /// Runs until the targets are done. Gives the lock (held once) away while
  /// other processes are waited for.
  void wait(const std::vector<NodeRef> &targets);
  /// Waits for everything.
  void waitAll();
  /// Runs what can run on the way to the target, or nothing yet; true if it is
  /// done.
  bool poll(const NodeRef &target);

  /// A kernel or copy went wrong: as on a device, every later call fails.
  void fail(CUresult error, const std::string &what);
  CUresult failure() const { return failure_; }

  /// Name of the node that runs now, for reports; empty outside.
  const std::string &running() const { return running_; }

  uint64_t random() { return generator_(); }
  bool idle() const { return pending_.empty(); }
  uint64_t freshLane() { return ++lanes_; }

private:
  Scheduler();
  /// One pass over what is needed (all, if `targets` is null), unless another
  /// thread is in one; true if any node moved.
  bool advance(const std::vector<NodeRef> *targets);
  bool pass(const std::vector<NodeRef> *targets);
  void finish(const NodeRef &node);
  bool isStuck() const { return finished_ >= stuckAfter_; }
  uint64_t priority(uint64_t lane);
  void startProgressThread();
  [[noreturn]] void progressLoop();

  std::unordered_map<Node *, NodeRef> pending_;
  std::vector<NodeRef> ready_;
  std::unordered_map<uint64_t, uint64_t> priorities_;
  std::mt19937_64 generator_;
  uint64_t searches_ = 0, lanes_ = 0, calls_ = 0;
  uint64_t finished_ = 0, stuckAfter_;
  CUresult failure_ = CUDA_SUCCESS;
  std::string running_;
  bool progressThread_ = false;
  bool busy_ = false; ///< a thread is in a pass, perhaps without the lock
};

/// The library's lock, for the length of one call.
class Guard {
public:
  Guard() : lock_(Scheduler::get().mutex) {}

private:
  std::lock_guard<std::recursive_mutex> lock_;
};

/// Gives the lock away while a node computes for long: calls that only ask are
/// answered meanwhile, as by a device.
class Unlocked {
public:
  Unlocked() { Scheduler::get().mutex.unlock(); }
  ~Unlocked() { Scheduler::get().mutex.lock(); }
};

/// An environment variable as a number, or the default.
int64_t environmentNumber(const char *name, int64_t otherwise);

} // namespace fake

#endif // TPRT_TEST_FAKECUDA_SCHEDULER_H
