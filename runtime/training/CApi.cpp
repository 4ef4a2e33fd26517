//===- CApi.cpp - checkpoints of training in the C interface --------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "../session/CApi.h"

#include "Checkpoint.h"

using namespace tprt;
using namespace tprt::capi;
using namespace tprt::training;

int32_t tprt_save_checkpoint(tprt_session *session, const char *directory,
                             const char *source, const char *progress) {
  return guard(session, [&]() -> Status {
    if (!session->session->decidesAlone())
      return userError("only rank 0 saves a checkpoint, once it has called "
                       "tprt_lead");
    TPRT_ASSIGN(auto steps, Steps::make(*session->session));
    TPRT_ASSIGN(auto made, parseProgress(progress, "progress"));
    TPRT_ASSIGN(auto checkpoint, Checkpoint::at(directory));
    TPRT_TRY(checkpoint.begin(/*count=*/1, /*replaces=*/false));
    return checkpoint.save(steps, made, source);
  });
}

int32_t tprt_load_checkpoint(tprt_session *session, const char *directory) {
  return guard(session, [&]() -> Status {
    Session &own = *session->session;
    TPRT_TRY(trainingOf(own.manifest()).status());
    TPRT_TRY(readProgress(directory).status());
    TPRT_TRY(checkStates(own.manifest(), statesFile(directory)));
    return own.loadWeights(directory, statesFile(directory));
  });
}
