/*===- program.c - a hand-written program for the runtime's tests ----------===*
 *
 * Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What a compiler would emit for a small MLP over the mesh axis `tp`, for any
 * degree: sizes come from the constants section. Further entries fail, stall or
 * call the wrong collective on one rank. RunFixture.h writes its manifest,
 * which says whether the collective is done when its call returns or awaited, or
 * whether the program adds up the addends of all ranks itself.
 *
 *===----------------------------------------------------------------------===*/

#include "tprt/abi.h"

struct sizes {
  int64_t rows, in, hidden, out; /* hidden is local */
  int64_t peers;                 /* whose addends are read; 0: a collective */
};

struct scale_context {
  float *y;
  const float *factor;
};

static void scale(void *context, int64_t begin, int64_t end, int64_t worker) {
  struct scale_context *c = (struct scale_context *)context;
  (void)worker;
  for (int64_t i = begin; i < end; ++i)
    c->y[i] *= c->factor[0];
}

/* A collective, to its end. */
static int32_t reduce(const tprt_api *api, tprt_rank *rank, int64_t layer,
                      const void *in, void *out) {
  int32_t status = api->collective(rank, 0, layer, in, out);
  return status ? status : api->wait(rank, 0, layer);
}

/* out = all_reduce(in) without a call that moves anything. There is one slot,
 * which is written again once all members have met behind their reads. */
static int32_t add_up(const tprt_api *api, tprt_rank *rank,
                      const struct sizes *s, const float *in, float *out) {
  const void *addends[64];
  int32_t status = api->peers(rank, 0, 0, in, addends);
  if (status)
    return status;
  for (int64_t i = 0; i < s->rows * s->out; ++i) {
    out[i] = ((const float *)addends[0])[i];
    for (int64_t member = 1; member < s->peers; ++member)
      out[i] += ((const float *)addends[member])[i];
  }
  return api->peers(rank, 0, 0, 0, 0);
}

/* y = factor * all_reduce(relu(x W1' + b1) W2' + b2), and beside the all-reduce
 * the first product once more. */
static int32_t mlp(const tprt_api *api, tprt_rank *rank,
                   const tprt_step_args *args) {
  const struct sizes *s = (const struct sizes *)args->constants;
  int32_t status;
  float *hidden = (float *)args->arena;
  float *sum = (float *)args->comm;
  if ((status =
           api->gemm(rank, 0, s->rows, args->inputs[0], s->in, args->params[0],
                     args->params[1], 0, hidden, s->hidden)))
    return status;
  if ((status = api->gemm(rank, 1, s->rows, hidden, s->hidden, args->params[2],
                          args->params[3], 0, sum, s->out)))
    return status;
  status = s->peers
               ? add_up(api, rank, s, sum, (float *)args->outputs[0])
               : api->collective(rank, 0, 0, sum, args->outputs[0]);
  if (status)
    return status;
  if ((status =
           api->gemm(rank, 0, s->rows, args->inputs[0], s->in, args->params[0],
                     args->params[1], 0, hidden, s->hidden)))
    return status;
  if (!s->peers && (status = api->wait(rank, 0, 0)))
    return status;
  struct scale_context context = {(float *)args->outputs[0],
                                  (const float *)args->params[4]};
  if ((status = api->mark(rank, 0, 0)))
    return status;
  return api->parallel_for(rank, scale, &context, s->rows * s->out, 4);
}

/* The last rank calls a product that does not exist. */
static int32_t fail(const tprt_api *api, tprt_rank *rank,
                    const tprt_step_args *args) {
  int32_t status;
  if (args->axis_index[0] == 1 &&
      (status = api->gemm(rank, 99, 1, 0, 1, 0, 0, 0, 0, 1)))
    return status;
  return reduce(api, rank, 7, args->comm, args->outputs[0]);
}

/* The same once the collective has been called. */
static int32_t fail_beside(const tprt_api *api, tprt_rank *rank,
                           const tprt_step_args *args) {
  int32_t status = api->collective(rank, 0, 7, args->comm, args->outputs[0]);
  if (status)
    return status;
  if (args->axis_index[0] == 1 &&
      (status = api->gemm(rank, 99, 1, 0, 1, 0, 0, 0, 0, 1)))
    return status;
  return api->wait(rank, 0, 7);
}

/* Rank 1 never reaches the collective. */
static int32_t stall(const tprt_api *api, tprt_rank *rank,
                     const tprt_step_args *args) {
  volatile int64_t forever = args->axis_index[0] == 1;
  while (forever)
    ;
  return reduce(api, rank, 7, args->comm, args->outputs[0]);
}

/* Rank 1 is in another repetition than the others. */
static int32_t mismatch(const tprt_api *api, tprt_rank *rank,
                        const tprt_step_args *args) {
  return reduce(api, rank, args->axis_index[0] == 1 ? 2 : 1, args->comm,
                args->outputs[0]);
}

/* A replicated output that is not the same everywhere. */
static int32_t differ(const tprt_api *api, tprt_rank *rank,
                      const tprt_step_args *args) {
  (void)api;
  (void)rank;
  ((float *)args->outputs[0])[3] = (float)args->axis_index[0];
  return 0;
}

static const tprt_step entries[] = {mlp,      fail,   stall,
                                    mismatch, differ, fail_beside};
static const tprt_program program = {TPRT_ABI_VERSION, 6, entries};

__attribute__((visibility("default"))) const tprt_program *
tprt_query(uint32_t abi_version) {
  return abi_version == TPRT_ABI_VERSION ? &program : 0;
}
