//===- Graph.cpp - the end of a capture, and replay -----------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A launch makes fresh nodes of the captured ones, with the captured edges
// alone: the order in which calls were made during the capture is forgotten.
//
//===----------------------------------------------------------------------===//

#include "Graph.h"
#include "Device.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <unordered_set>

using namespace fake;

namespace {

std::unordered_set<CUgraph> &graphs() {
  static auto *all = new std::unordered_set<CUgraph>;
  return *all;
}

std::unordered_set<CUgraphExec> &executables() {
  static auto *all = new std::unordered_set<CUgraphExec>;
  return *all;
}

/// True if every node of every member leads to the origin's end.
bool isJoined(const Capture &capture) {
  std::vector<int> stack(capture.origin->joinedEnds.begin(),
                         capture.origin->joinedEnds.end());
  std::set<int> seen(stack.begin(), stack.end());
  while (!stack.empty()) {
    int id = stack.back();
    stack.pop_back();
    for (int need : capture.graph->nodes[size_t(id)].joined)
      if (seen.insert(need).second)
        stack.push_back(need);
  }
  for (CUstream member : capture.members)
    for (int end : member->joinedEnds)
      if (!seen.count(end)) {
        std::fprintf(stderr, "fake-cuda: nothing waits for the captured %s\n",
                     capture.graph->nodes[size_t(end)].name.c_str());
        return false;
      }
  return true;
}

} // namespace

bool fake::isInGraph(const void *owner) {
  auto holds = [owner](const auto *handle) {
    for (const GraphNode &node : handle->graph->nodes)
      if (node.owner == owner)
        return true;
    return false;
  };
  return std::any_of(graphs().begin(), graphs().end(), holds) ||
         std::any_of(executables().begin(), executables().end(), holds);
}

CUresult cuStreamEndCapture(CUstream hStream, CUgraph *phGraph) {
  Guard guard;
  TRY(ready());
  CUstream stream = streamOf(hStream);
  if (!stream || !phGraph)
    return CUDA_ERROR_INVALID_HANDLE;
  *phGraph = nullptr;
  std::shared_ptr<Capture> capture = stream->capture;
  if (!capture)
    return CUDA_ERROR_ILLEGAL_STATE;
  if (capture->origin != stream) {
    invalidate(capture);
    return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  }
  if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
      capture->thread != std::this_thread::get_id())
    return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
  bool joined = isJoined(*capture);
  for (CUstream member : capture->members) {
    member->capture = nullptr;
    member->ends.clear();
    member->joinedEnds.clear();
  }
  capture->members.clear();
  if (!capture->valid)
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (!joined)
    return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  *phGraph = new CUgraph_st{capture->graph};
  graphs().insert(*phGraph);
  return CUDA_SUCCESS;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *phGraphExec, CUgraph hGraph,
                                     unsigned long long flags) {
  Guard guard;
  TRY(ready());
  if (!graphs().count(hGraph) || !phGraphExec)
    return CUDA_ERROR_INVALID_HANDLE;
  if (flags & ~15ull)
    return CUDA_ERROR_INVALID_VALUE;
  *phGraphExec = new CUgraphExec_st{hGraph->graph, {}, 0};
  executables().insert(*phGraphExec);
  return CUDA_SUCCESS;
}

CUresult cuGraphUpload(CUgraphExec hGraphExec, CUstream hStream) {
  Guard guard;
  TRY(ready());
  if (!executables().count(hGraphExec) || !streamOf(hStream))
    return CUDA_ERROR_INVALID_HANDLE;
  return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec hGraphExec, CUstream hStream) {
  Guard guard;
  TRY(ready());
  CUstream stream = streamOf(hStream);
  if (!stream || !executables().count(hGraphExec))
    return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture) { // a graph within a graph
    invalidate(stream->capture);
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  Scheduler &scheduler = Scheduler::get();
  std::vector<NodeRef> before = tailsOf(stream);
  before.push_back(hGraphExec->last);
  NodeRef root = scheduler.add(stream->lane, before, "launch of a graph");
  std::vector<NodeRef> made;
  for (const GraphNode &node : hGraphExec->graph->nodes) {
    std::vector<NodeRef> needs = {root};
    for (int need : node.needs)
      needs.push_back(made[size_t(need)]);
    made.push_back(scheduler.add(node.lane, needs, node.name, node.recipe));
  }
  made.push_back(root);
  ++hGraphExec->launches;
  hGraphExec->last = scheduler.add(stream->lane, made, "end of a graph");
  setTail(stream, hGraphExec->last);
  return CUDA_SUCCESS;
}

CUresult cuGraphExecDestroy(CUgraphExec hGraphExec) {
  Guard guard;
  TRY(ready());
  if (!executables().erase(hGraphExec))
    return CUDA_ERROR_INVALID_HANDLE;
  if (std::getenv("TP_FAKE_CUDA_LOG"))
    std::fprintf(stderr, "fake-cuda: a graph of %zu nodes, launched %d times\n",
                 hGraphExec->graph->nodes.size(), hGraphExec->launches);
  delete hGraphExec;
  return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph hGraph) {
  Guard guard;
  TRY(ready());
  if (!graphs().erase(hGraph))
    return CUDA_ERROR_INVALID_HANDLE;
  delete hGraph;
  return CUDA_SUCCESS;
}
