//===- Stream.h - streams, events and what is captured ----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A stream is where the next node hangs: one node of the scheduler, or, while
// the stream is captured, a set of nodes of the graph that is being made. A
// dropped wait (TP_FAKE_CUDA_DROP_WAIT) leaves the edge out but keeps it in
// `joined`, so that a capture is still found to be complete.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_TEST_FAKECUDA_STREAM_H
#define TPRT_TEST_FAKECUDA_STREAM_H

#include "Api.h"
#include "Scheduler.h"

#include <set>
#include <thread>

namespace fake {

struct GraphNode {
  std::string name;
  uint64_t lane;
  std::set<int> needs;  ///< what orders it
  std::set<int> joined; ///< that, and what a dropped wait would have added
  Recipe recipe;
  const void *owner = nullptr; ///< what must outlive the graph
};

struct Graph {
  std::vector<GraphNode> nodes;
};

struct Capture {
  CUstreamCaptureMode mode;
  std::thread::id thread;
  CUstream origin;
  std::set<CUstream> members;
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  bool valid = true;
};

} // namespace fake

// The header leaves these types to the driver.
struct CUstream_st {
  uint64_t lane;
  unsigned flags;
  fake::NodeRef tail;
  std::shared_ptr<fake::Capture> capture;
  std::set<int> ends, joinedEnds;
};

namespace fake {

/// Gives work to a stream. Refused where the stream or the capture does.
CUresult submit(CUstream handle, std::string name, Recipe recipe,
                const void *owner = nullptr);

/// The usual case: work that needs no state of its own.
CUresult submitWork(CUstream handle, std::string name, Work work);

/// The stream of a handle (null and the two special ones included), or null.
CUstream streamOf(CUstream handle);

/// True if the stream is being captured.
bool isCapturing(CUstream handle);

/// The error, and the end of the capture, if a call that waits or allocates is
/// made while this thread (or, in global mode, any) captures.
CUresult refuseInCapture(const char *function);

/// Waits for what the stream holds now.
CUresult synchronise(CUstream stream);

/// The nodes that a new node of the stream has to wait for; `set` makes a node
/// the last.
std::vector<NodeRef> tailsOf(CUstream stream);
void setTail(CUstream stream, NodeRef node);

void invalidate(const std::shared_ptr<Capture> &capture);

/// True if a graph that has not been destroyed holds work of this owner.
bool isInGraph(const void *owner);

/// cuStreamWaitEvent calls so far in this process.
int64_t waitCount();

} // namespace fake

#endif // TPRT_TEST_FAKECUDA_STREAM_H
