//===- Graph.h - graphs that were captured ----------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The objects behind the handles CUgraph and CUgraphExec.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_TEST_FAKECUDA_GRAPH_H
#define TPRT_TEST_FAKECUDA_GRAPH_H

#include "Stream.h"

struct CUgraph_st {
  std::shared_ptr<fake::Graph> graph;
};

struct CUgraphExec_st {
  std::shared_ptr<fake::Graph> graph;
  /// Launches of one executable graph follow one another.
  fake::NodeRef last;
  int launches = 0;
};

#endif // TPRT_TEST_FAKECUDA_GRAPH_H
