//===- tprt/tprt.h - the runtime's C interface ------------------*- C -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads artifacts and runs them from any language that can call C; in
// libtprt.so. Functions that can fail return a code, 0 or one of tp-run's exit
// codes, and leave a message that tprt_error() returns. A session is used from
// one thread at a time.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_TPRT_H
#define TPRT_TPRT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TPRT_EXPORT __attribute__((visibility("default")))

typedef struct tprt_session tprt_session;

/// Elements of a tensor are named as in safetensors: "F32", "I64", ...
typedef struct tprt_tensor {
  const char *name;
  const char *dtype;
  int64_t rank;
  const int64_t *shape;
  const void *data; ///< row-major
  int64_t bytes;
} tprt_tensor;

typedef struct tprt_options {
  const char *backend;    ///< null: what suits the artifact's device
  double timeout_seconds; ///< 0: the default
  int32_t timeline;       ///< record one
} tprt_options;

/// Opens an artifact. *session is null on failure; the message is then that of
/// tprt_error(NULL), per thread.
TPRT_EXPORT int32_t tprt_open(const char *artifact, const tprt_options *options,
                              tprt_session **session);
TPRT_EXPORT void tprt_close(tprt_session *session);

/// The message of the last call that failed; valid until the next call.
TPRT_EXPORT const char *tprt_error(const tprt_session *session);

/// Ranks of the artifact's mesh.
TPRT_EXPORT int64_t tprt_ranks(const tprt_session *session);

/// Position of the entry of that name (null: the first), or -1.
TPRT_EXPORT int64_t tprt_entry(tprt_session *session, const char *name);

/// Inputs and outputs of an entry, its states not among them. describe_input
/// fills name, dtype, rank and shape, and sets *optional to 1 if the input has
/// a default.
TPRT_EXPORT int64_t tprt_input_count(const tprt_session *session,
                                     int64_t entry);
TPRT_EXPORT int32_t tprt_describe_input(tprt_session *session, int64_t entry,
                                        int64_t index, tprt_tensor *tensor,
                                        int32_t *optional);
TPRT_EXPORT int64_t tprt_output_count(const tprt_session *session,
                                      int64_t entry);

/// `weights`: a checkpoint directory, a .safetensors file, or "random:SEED".
TPRT_EXPORT int32_t tprt_load_weights(tprt_session *session,
                                      const char *weights);

/// Copies the tensor; its name says which input it is.
TPRT_EXPORT int32_t tprt_set_input(tprt_session *session, int64_t entry,
                                   const tprt_tensor *tensor);

TPRT_EXPORT int32_t tprt_run(tprt_session *session, int64_t entry,
                             int64_t repeat);

/// A result of the last run; its memory is the session's, until the next run.
TPRT_EXPORT int32_t tprt_output(tprt_session *session, int64_t entry,
                                int64_t index, tprt_tensor *tensor);

/// States of the program, and what is in them now; the memory is the session's,
/// until the next call that reads one. tprt_reset_states gives all of them
/// their initial values again.
TPRT_EXPORT int64_t tprt_state_count(const tprt_session *session);
TPRT_EXPORT int32_t tprt_state(tprt_session *session, int64_t index,
                               tprt_tensor *tensor);
TPRT_EXPORT int32_t tprt_reset_states(tprt_session *session);

/// JSON, as tp-run --stats=json and --timeline write it; valid until the next
/// call.
TPRT_EXPORT const char *tprt_stats(tprt_session *session);
TPRT_EXPORT const char *tprt_timeline(tprt_session *session);

#ifdef __cplusplus
}
#endif

#endif // TPRT_TPRT_H
