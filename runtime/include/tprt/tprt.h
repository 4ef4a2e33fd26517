//===- tprt/tprt.h - the runtime's C interface ------------------*- C -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads artifacts and runs them from any language that can call C; in
// libtprt.so. Functions that can fail return a code, 0 or one of tp-run's exit
// codes but 2 (1 the caller's input or the environment, 3 a rank lost, 4 our
// bug, 5 a device), and leave a message that tprt_error() returns. A session is
// used from one thread at a time.
//
// Structures begin with their size, which the caller sets, so that either side
// may be newer. The library ends no process, starts none and handles no signal.
// A rank that is lost is an error (code 3) of all calls from then on, and none
// of them waits for it; the process goes on, and may close the session. In a
// child that was forked, what its parent has opened is an error of all calls,
// and closing it does nothing.
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
  uint64_t size; ///< sizeof(tprt_tensor)
  const char *name;
  const char *dtype;
  int64_t rank;
  const int64_t *shape;
  void *data; ///< row-major; inputs are only read
  int64_t bytes;
} tprt_tensor;

/// A member that is zero has its default.
typedef struct tprt_options {
  uint64_t size; ///< sizeof(tprt_options)
  /// threads, processes, mpi or nccl; null: what suits the artifact's device.
  /// All but threads run one rank per process: this one's is in the variables
  /// of tp-run's launchers (docs/RuntimeABI.md), or it is the only one.
  const char *backend;
  /// The longest waits for another rank: in a step, for all to come together,
  /// and until a first step; see tp-run. 0: the default.
  double timeout_seconds, start_timeout_seconds, load_timeout_seconds;
  int32_t timeline;    ///< record one
  int32_t allow_stops; ///< a rank that stands still is no lost rank
  /// Called once, where ranks are processes, as soon as any rank is lost or has
  /// failed, which may be before a call returns it. `rank` is the one that is
  /// lost, that failed or that waited too long, or -1. On a thread of the
  /// library: it may not wait or use the session.
  void (*on_failure)(void *context, int64_t rank, int32_t code,
                     const char *message);
  void *context;
  /// A rank that gives no sign of life for so long is lost; 0: the variable
  /// TPRT_SILENCE_TIMEOUT, or 8. (Of start_timeout_seconds the variable is
  /// TPRT_START_TIMEOUT.)
  double silence_timeout_seconds;
} tprt_options;

/// Opens an artifact. *session is null on failure; the message is then that of
/// tprt_error(NULL), per thread.
TPRT_EXPORT int32_t tprt_open(const char *artifact, const tprt_options *options,
                              tprt_session **session);
TPRT_EXPORT void tprt_close(tprt_session *session);

/// True if the environment says which rank this process is, rightly or not.
/// Where it does not, a host that wants ranks as processes starts the others.
TPRT_EXPORT int32_t tprt_launched(void);

/// The message of the last call that failed; valid until the next call.
TPRT_EXPORT const char *tprt_error(const tprt_session *session);

/// Ranks of the artifact's mesh, and which of them this process is: 0 where it
/// has all of them. Rank 0 alone gets results.
TPRT_EXPORT int64_t tprt_ranks(const tprt_session *session);
TPRT_EXPORT int64_t tprt_rank_here(const tprt_session *session);

/// From now until rank 0 closes its session it alone makes calls: those that
/// all ranks make are sent to the others, which are in tprt_follow. What rank 0
/// is refused, such as an input of a wrong shape, changes nothing there either.
TPRT_EXPORT int32_t tprt_lead(tprt_session *session);
TPRT_EXPORT int32_t tprt_follow(tprt_session *session);

/// Position of the entry of that name (null: the first), or -1.
TPRT_EXPORT int64_t tprt_entry(tprt_session *session, const char *name);

/// The entry for inputs of these names and shapes, whose data is not read: of
/// a program for several sequence lengths (tp-compile --seq 32,128) the one for
/// the fewest positions that has room for theirs, else the first. -1 after an
/// error: the sequences are longer than all. It, and an error of
/// tprt_describe_result, is to other ranks as one of the step.
TPRT_EXPORT int64_t tprt_entry_for(tprt_session *session,
                                   const tprt_tensor *inputs,
                                   int64_t input_count);

/// Inputs and outputs of an entry, its states not among them. The descriptions
/// have the tensor's own type and size in bytes, and no data; *optional is set
/// to 1 if the input has a default.
TPRT_EXPORT int64_t tprt_input_count(const tprt_session *session,
                                     int64_t entry);
TPRT_EXPORT int32_t tprt_describe_input(tprt_session *session, int64_t entry,
                                        int64_t index, tprt_tensor *tensor,
                                        int32_t *optional);
TPRT_EXPORT int64_t tprt_output_count(const tprt_session *session,
                                      int64_t entry);
TPRT_EXPORT int32_t tprt_describe_output(tprt_session *session, int64_t entry,
                                         int64_t index, tprt_tensor *tensor);
/// An output as a step on these inputs gives it, whose data is not read: what
/// is sequences has as many positions as they have. Its shape is valid until
/// the next call.
TPRT_EXPORT int32_t tprt_describe_result(tprt_session *session, int64_t entry,
                                         const tprt_tensor *inputs,
                                         int64_t input_count, int64_t index,
                                         tprt_tensor *tensor);

/// `weights`: a checkpoint directory, a .safetensors file, or "random:SEED",
/// for which "init:SEED" is another word.
TPRT_EXPORT int32_t tprt_load_weights(tprt_session *session,
                                      const char *weights);

/// Names the loaded weights that hold NaN or infinity, as the cause of results
/// that are not finite: "the weights hold values that are not finite: 'NAME' of
/// 'FILE' (2 NaN of 64)". Empty if none does, or they cannot be read again; the
/// first call reads all of the checkpoint. Valid until the next call.
TPRT_EXPORT const char *tprt_not_finite_weights(tprt_session *session);

/// Runs a step. Inputs are read where the caller has them, all that have no
/// default on every rank; sequences may have fewer positions than compiled, all
/// the same number, and padding on either side. Of the outputs those listed,
/// the same on every rank, are written to the caller's memory, on rank 0: in
/// their own types, floats also as F32. No address is kept.
TPRT_EXPORT int32_t tprt_run(tprt_session *session, int64_t entry,
                             const tprt_tensor *inputs, int64_t input_count,
                             const tprt_tensor *outputs, int64_t output_count);

/// Tells the ranks in other processes that this one cannot go on: their calls
/// return the message. None where all ranks are of this process.
TPRT_EXPORT void tprt_abort(tprt_session *session, const char *message);

/// States of the program. They are described as outputs are; what is in them
/// now is written to the caller's memory, on rank 0, in their own types, floats
/// also as F32. All ranks read the same ones. tprt_reset_states gives all of
/// them their initial values again.
TPRT_EXPORT int64_t tprt_state_count(const tprt_session *session);
TPRT_EXPORT int32_t tprt_describe_state(tprt_session *session, int64_t index,
                                        tprt_tensor *tensor);
TPRT_EXPORT int32_t tprt_read_states(tprt_session *session,
                                     const tprt_tensor *states, int64_t count);
TPRT_EXPORT int32_t tprt_reset_states(tprt_session *session);

/// Writes a checkpoint of a program that trains, whose ranks are all of this
/// process, or led by it: as tp-run --save does, in place of one that is there.
/// `source` is a directory with the small files, config.json among them;
/// `progress` the JSON object that goes into trainer.json.
/// tprt_load_checkpoint, instead of tprt_load_weights, goes on from one.
TPRT_EXPORT int32_t tprt_save_checkpoint(tprt_session *session,
                                         const char *directory,
                                         const char *source,
                                         const char *progress);
TPRT_EXPORT int32_t tprt_load_checkpoint(tprt_session *session,
                                         const char *directory);

/// JSON, as tp-run --stats=json and --timeline write it, empty on ranks other
/// than 0; valid until the next call. Null after an error.
TPRT_EXPORT const char *tprt_stats(tprt_session *session);
TPRT_EXPORT const char *tprt_timeline(tprt_session *session);

/// Programs that generate text (tp-compile --generate): requests are answered
/// together, token by token. A generator has its session, whose weights are
/// loaded, for itself until it is closed. Its functions may be called from any
/// thread, next by one at a time; messages are per thread.
typedef struct tprt_generator tprt_generator;

/// Code of a request that may be taken later, and of one that comes after
/// tprt_generate_drain.
#define TPRT_QUEUE_FULL 6
#define TPRT_DRAINED 7

/// Fields of tprt_request for which 0 is a value; see `given`.
enum {
  TPRT_GIVEN_PRESENCE_PENALTY = 1,
  TPRT_GIVEN_FREQUENCY_PENALTY = 2,
  TPRT_GIVEN_TEMPERATURE = 4,
  TPRT_GIVEN_TOP_K = 8,
  TPRT_GIVEN_MIN_P = 16,
  TPRT_GIVEN_TOP_P = 32
};
/// Says which tokens may follow the `count` tokens of an answer so far: sets
/// bit i % 32 of allowed[i / 32] for token i of the vocabulary; all are 0
/// before. Returns 0; 1 if the answer is complete, which ends it with
/// TPRT_STOP; or another number, which ends it with TPRT_FAILED. It is called
/// once for each new token, in order, from a thread of the generator's that
/// computes nothing meanwhile, and never after the request's last event.
typedef int32_t (*tprt_mask)(void *context, const int32_t *ids, int64_t count,
                             uint32_t *allowed);

/// A prompt and how to go on. What is zero has its default, which is that of
/// the checkpoint's generation_config.json if the program has one.
typedef struct tprt_request {
  uint64_t size; ///< sizeof(tprt_request)
  const int32_t *prompt;
  int64_t prompt_count;
  int64_t max_tokens; ///< otherwise 16
  /// They apply in this order; see docs/Generation.md. A field of 0 leaves the
  /// checkpoint's default, unless `given` has its bit.
  float repetition_penalty, presence_penalty, frequency_penalty;
  const int32_t *bias_ids;
  const float *bias;
  int64_t bias_count;
  float temperature;
  int64_t top_k;
  float min_p, top_p;
  uint64_t seed;
  const int32_t *stop_ids; ///< beside the program's
  int64_t stop_count;
  int32_t ignore_stops; ///< of the program
  /// 0: no log-probabilities; 1: the token's; 1 + k: those of the k most
  /// probable too.
  int64_t log_probabilities;
  /// A JSON object, or null: parameters by the names of generation_config.json,
  /// such as {"temperature": 0, "no_repeat_ngram_size": 3}, which win over the
  /// fields above and the defaults, and "generation_config": "none" for a
  /// request without the checkpoint's defaults. docs/Generation.md has the
  /// list.
  const char *parameters;
  /// The same as log_probabilities for the prompt's own tokens but the first,
  /// which are told before the answer. "max_new_tokens": 0 of the parameters
  /// then asks for no answer.
  int64_t prompt_log_probabilities;
  tprt_mask mask; ///< null: any token may come
  void *mask_context;
  /// TPRT_GIVEN_* of the fields whose value counts even if it is 0, such as a
  /// temperature of 0 where the checkpoint's default is another. A struct that
  /// ends before this field has none.
  uint64_t given;
} tprt_request;

typedef enum tprt_finish {
  TPRT_RUNNING,
  TPRT_LENGTH,
  TPRT_STOP,
  TPRT_CANCELLED,
  TPRT_FAILED
} tprt_finish;

/// A token of a request, its end, or both. Memory is the generator's until the
/// next event is asked for.
typedef struct tprt_event {
  uint64_t size;    ///< sizeof(tprt_event)
  uint64_t request; ///< 0: there was no event
  int32_t token;    ///< -1: none
  int32_t finish;   ///< a tprt_finish
  /// The token first, then the most probable.
  const int32_t *ids;
  const float *log_probabilities;
  int64_t count;
  const char *error; ///< of TPRT_FAILED
  int32_t of_prompt; ///< whether the token is one of the prompt's
} tprt_event;

/// At most `queue` requests (0: 1024) wait for their first step. On rank 0; the
/// other ranks, where they are processes, call tprt_follow, which returns when
/// rank 0 has closed its generator or a rank has failed.
TPRT_EXPORT int32_t tprt_generate_open(tprt_session *session, int64_t queue,
                                       tprt_generator **generator);
/// Ends within a step; what is not finished is dropped. Before its session.
TPRT_EXPORT void tprt_generate_close(tprt_generator *generator);
/// The message of this thread's last tprt_generate_ function that failed.
TPRT_EXPORT const char *tprt_generate_error(void);

/// Takes requests together, all or none; `numbers` receives theirs, from 1.
TPRT_EXPORT int32_t tprt_generate_submit(tprt_generator *generator,
                                         const tprt_request *requests,
                                         int64_t count, uint64_t *numbers);
/// Ends a request within a step.
TPRT_EXPORT void tprt_generate_cancel(tprt_generator *generator,
                                      uint64_t request);
/// The next event of any request, waiting for it at most so long. A code once
/// the program has failed, also while nothing ran.
TPRT_EXPORT int32_t tprt_generate_next(tprt_generator *generator,
                                       double seconds, tprt_event *event);
/// Takes no more requests; next returns at once when those taken have ended.
TPRT_EXPORT void tprt_generate_drain(tprt_generator *generator);
/// JSON; valid until this thread's next call.
TPRT_EXPORT const char *tprt_generate_stats(tprt_generator *generator);

#ifdef __cplusplus
}
#endif

#endif // TPRT_TPRT_H
