/*===- program.c - a hand-written program for the runtime's tests ----------===*
 *
 * Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What a compiler would emit for a small MLP over the mesh axis `tp`, for any
 * degree: sizes come from the constants section. Further entries fail, stall or
 * call the wrong collective on one rank. RunFixture.h writes its manifest,
 * which says whether the collective is done when its call returns or awaited.
 *
 *===----------------------------------------------------------------------===*/

#include "tprt/abi.h"

struct sizes {
  int64_t rows, in, hidden, out; /* hidden is local */
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
  if ((status = api->collective(rank, 0, 0, sum, args->outputs[0])))
    return status;
  if ((status =
           api->gemm(rank, 0, s->rows, args->inputs[0], s->in, args->params[0],
                     args->params[1], 0, hidden, s->hidden)))
    return status;
  if ((status = api->wait(rank, 0, 0)))
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
