//===- FunctionTable.h - Tables of the ABI's functions ----------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kind of rank has a class with a static member for each function of
// tprt/abi.h. The table is made from the list there, so that a function that a
// class lacks does not compile, one without a definition does not link, and the
// order is never written twice.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_RANK_FUNCTIONTABLE_H
#define TPRT_RANK_FUNCTIONTABLE_H

#include "tprt/abi.h"
#include "tprt/status.h"

namespace tprt {

/// Functions that do nothing. A class that derives from it hides those that it
/// has.
struct LeftOut {
#define TPRT_DO_NOTHING(name, parameters)                                      \
  static int32_t name(tprt_rank *rank parameters) { return 0; }
  TPRT_FOR_EACH_FUNCTION(TPRT_DO_NOTHING)
#undef TPRT_DO_NOTHING
};

/// Functions that refuse(rank, name) of `Functions` answers for: those that it
/// does not have. It derives from this.
template <typename Functions>
struct Refused {
#define TPRT_REFUSE(name, parameters)                                          \
  static int32_t name(tprt_rank *rank parameters) {                            \
    return Functions::refuse(rank, #name);                                     \
  }
  TPRT_FOR_EACH_FUNCTION(TPRT_REFUSE)
#undef TPRT_REFUSE
};

/// The table of a class; LeftOut or Refused stand in for what it lacks.
template <typename Functions>
constexpr tprt_api makeTable() {
  return {TPRT_ABI_VERSION, TPRT_SLOT_COUNT
#define TPRT_ENTER(name, parameters) , Functions::name
                                TPRT_FOR_EACH_FUNCTION(TPRT_ENTER)
#undef TPRT_ENTER
  };
}

} // namespace tprt

#endif // TPRT_RANK_FUNCTIONTABLE_H
