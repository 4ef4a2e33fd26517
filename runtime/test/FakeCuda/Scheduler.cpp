//===- Scheduler.cpp - device work in any legal order ---------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Order: each stream draws a priority, the ready node of the highest one goes
// first, and now and then the priorities are drawn again. That reaches orders
// in which one stream is far ahead of another, which drawing every node alone
// hardly ever does.
//
//===----------------------------------------------------------------------===//

#include "Scheduler.h"
#include "Memory.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

using namespace fake;

int64_t fake::environmentNumber(const char *name, int64_t otherwise) {
  const char *text = std::getenv(name);
  return text && *text ? std::strtoll(text, nullptr, 0) : otherwise;
}

Scheduler &Scheduler::get() {
  // Never destroyed: threads may still wait when the process ends.
  static Scheduler *scheduler = new Scheduler;
  return *scheduler;
}

Scheduler::Scheduler()
    : generator_(uint64_t(environmentNumber("TP_FAKE_CUDA_SEED", 1))),
      stuckAfter_(
          uint64_t(environmentNumber("TP_FAKE_CUDA_STUCK_AFTER", INT64_MAX))) {}

NodeRef Scheduler::add(uint64_t lane, const std::vector<NodeRef> &needs,
                       std::string name, const Recipe &recipe) {
  auto node = std::make_shared<Node>();
  node->lane = lane;
  node->name = std::move(name);
  if (failure_ != CUDA_SUCCESS) {
    node->done = true;
    return node;
  }
  if (recipe)
    node->work = recipe(node);
  for (const NodeRef &need : needs)
    if (need && !need->done &&
        std::find(node->needs.begin(), node->needs.end(), need) ==
            node->needs.end()) {
      node->needs.push_back(need);
      need->followers.push_back(node);
      ++node->missing;
    }
  pending_.emplace(node.get(), node);
  if (node->missing == 0)
    ready_.push_back(node);
  ++calls_;
  startProgressThread();
  return node;
}

void Scheduler::finish(const NodeRef &node) {
  ++finished_;
  node->done = true;
  node->work = nullptr;
  node->needs.clear();
  for (const NodeRef &follower : node->followers)
    if (--follower->missing == 0)
      ready_.push_back(follower);
  node->followers.clear();
  ready_.erase(std::find(ready_.begin(), ready_.end(), node));
  pending_.erase(node.get());
}

uint64_t Scheduler::priority(uint64_t lane) {
  auto [place, fresh] = priorities_.try_emplace(lane);
  if (fresh)
    place->second = random();
  return place->second;
}

bool Scheduler::advance(const std::vector<NodeRef> *targets) {
  if (busy_)
    return false;
  busy_ = true;
  bool moved = pass(targets);
  busy_ = false;
  return moved;
}

bool Scheduler::pass(const std::vector<NodeRef> *targets) {
  // Mark what the targets need; half of the time others may run as well.
  bool anything = !targets || random() % 2;
  uint64_t mark = ++searches_;
  std::vector<Node *> stack;
  size_t wanted = 0;
  auto visit = [&](const NodeRef &node) {
    if (node && !node->done && node->mark != mark) {
      node->mark = mark;
      ++wanted;
      stack.push_back(node.get());
    }
  };
  if (targets) {
    for (const NodeRef &target : *targets)
      visit(target);
    while (!stack.empty()) {
      Node *node = stack.back();
      stack.pop_back();
      for (const NodeRef &need : node->needs)
        visit(need);
    }
  } else {
    wanted = pending_.size();
  }

  bool moved = false;
  std::vector<Node *> waiting; // asked in this pass, in vain
  CloseMemory close;
  while (wanted && !isStuck()) {
    if (random() % 16 == 0)
      priorities_.clear();
    NodeRef best;
    uint64_t rank = 0;
    for (const NodeRef &node : ready_) {
      if (!anything && node->mark != mark)
        continue;
      if (std::find(waiting.begin(), waiting.end(), node.get()) !=
          waiting.end())
        continue;
      // Nodes of one stream that are ready together come from a graph.
      uint64_t score =
          (priority(node->lane) & ~uint64_t(0xffff)) | (random() & 0xffff);
      if (!best || score > rank) {
        best = node;
        rank = score;
      }
    }
    if (!best) {
      // A collective may wait for one that nobody asked for yet.
      if (anything)
        break;
      anything = true;
      continue;
    }
    running_ = best->name;
    Step step = best->work ? best->work() : Step::Done;
    running_.clear();
    if (failure_ != CUDA_SUCCESS)
      return true;
    if (step == Step::Waiting) {
      waiting.push_back(best.get());
      continue;
    }
    moved = true;
    if (!targets || best->mark == mark)
      --wanted;
    finish(best);
  }
  return moved;
}

void Scheduler::wait(const std::vector<NodeRef> &targets) {
  ++calls_;
  auto done = [&] {
    return std::all_of(targets.begin(), targets.end(),
                       [](const NodeRef &n) { return !n || n->done; });
  };
  unsigned vain = 0;
  while (!done() && failure_ == CUDA_SUCCESS) {
    vain = advance(&targets) ? 0 : vain + 1;
    if (done())
      break;
    mutex.unlock();
    if (vain < 20)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    mutex.lock();
    ++calls_;
  }
}

void Scheduler::waitAll() {
  std::vector<NodeRef> all;
  for (auto &[key, node] : pending_)
    all.push_back(node);
  wait(all);
}

bool Scheduler::poll(const NodeRef &target) {
  ++calls_;
  if (!target || target->done)
    return true;
  if (random() % 2) // a device may be slower than its caller
    return false;
  std::vector<NodeRef> targets = {target};
  advance(&targets);
  return target->done;
}

void Scheduler::fail(CUresult error, const std::string &what) {
  std::fprintf(stderr, "fake-cuda: %s%s%s\n", what.c_str(),
               running_.empty() ? "" : ", in ", running_.c_str());
  if (failure_ != CUDA_SUCCESS)
    return;
  failure_ = error;
  for (auto &[key, node] : pending_) {
    node->done = true;
    node->needs.clear();
    node->followers.clear();
    node->work = nullptr;
  }
  pending_.clear();
  ready_.clear();
}

//===----------------------------------------------------------------------===//
// A device needs no caller to make progress: when this process has been silent
// for a while, its nodes run anyway, since another rank may wait for them.
//===----------------------------------------------------------------------===//

void Scheduler::startProgressThread() {
  if (progressThread_)
    return;
  progressThread_ = true;
  std::thread([this] { progressLoop(); }).detach();
}

void Scheduler::progressLoop() {
  auto idleFor =
      std::chrono::milliseconds(environmentNumber("TP_FAKE_CUDA_IDLE_MS", 250));
  uint64_t seen = 0;
  while (true) {
    std::this_thread::sleep_for(idleFor);
    bool moved = true;
    while (moved) {
      {
        Guard guard;
        moved = seen == calls_ && !pending_.empty();
        if (moved)
          advance(nullptr);
        seen = calls_;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
}
