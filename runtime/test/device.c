/*===- device.c - a hand-written program for a device ----------------------===*
 *
 * Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What a compiler would emit for products and collectives on a device, without
 * kernels of its own. HIDDEN is a rank's part of the hidden size: what lies on
 * the device cannot be read here. CudaRunTest.cpp writes its manifest.
 *
 *===----------------------------------------------------------------------===*/

#include "tprt/abi.h"

enum { ROWS = 5, IN = 12, OUT = 7, LAYERS = 3 };

#define TRY(call)                                                              \
  if ((status = api->call))                                                    \
  return status

/* y = all_reduce(relu(x W1' + b1) W2' + b2), twice more reduced by max, which
 * changes nothing: each waits for the one before. */
static int32_t mlp(const tprt_api *api, tprt_rank *rank,
                   const tprt_step_args *args) {
  int32_t status;
  char *comm = args->comm;
  TRY(gemm(rank, 0, ROWS, args->inputs[0], IN, args->params[0], args->params[1],
           0, args->arena, HIDDEN));
  TRY(gemm(rank, 1, ROWS, args->arena, HIDDEN, args->params[2], args->params[3],
           0, comm, OUT));
  TRY(collective(rank, 0, 0, comm, comm + 256));
  TRY(wait(rank, 0, 0));
  for (int64_t layer = 0; layer < LAYERS; ++layer) {
    char *in = comm + (layer % 2 ? 512 : 256),
         *out = comm + (layer % 2 ? 256 : 512);
    TRY(collective(rank, 1, layer, in,
                   layer + 1 < LAYERS ? out : args->outputs[0]));
    TRY(wait(rank, 1, layer));
  }
  return 0;
}

/* Every form of a product: weights [k, n], a scaled one with a residual from
 * elsewhere and in place, bias with each activation, x [k, m], a scaled one
 * with an activation. */
static int32_t products(const tprt_api *api, tprt_rank *rank,
                        const tprt_step_args *args) {
  int32_t status;
  const void *x = args->inputs[0], *w = args->inputs[1];
  const void *bias = args->params[7], *w2 = args->params[5];
  void *const *y = args->outputs;
  TRY(gemm(rank, 2, ROWS, x, IN, w, 0, 0, y[0], OUT));
  TRY(gemm(rank, 3, ROWS, x, IN, w2, bias, 0, y[1], OUT));
  TRY(gemm(rank, 4, ROWS, x, IN, w2, 0, y[0], y[2], OUT));
  TRY(gemm(rank, 5, ROWS, x, IN, w2, bias, 0, y[3], OUT));
  TRY(gemm(rank, 4, ROWS, x, IN, w2, 0, y[3], y[3], OUT));
  /* y4 [in, out] = x' y0 */
  TRY(gemm(rank, 6, IN, x, IN, y[0], 0, 0, y[4], OUT));
  return api->gemm(rank, 7, ROWS, x, IN, w2, 0, 0, y[5], OUT);
}

/* A product that reads where nothing is. */
static int32_t stray(const tprt_api *api, tprt_rank *rank,
                     const tprt_step_args *args) {
  return api->gemm(rank, 0, ROWS, (const void *)4096, IN, args->params[0],
                   args->params[1], 0, args->arena, HIDDEN);
}

/* The same, but only after the first call, in which products are noted. */
static int32_t adrift(const tprt_api *api, tprt_rank *rank,
                      const tprt_step_args *args) {
  static int calls = 0;
  const void *x = calls++ ? (const void *)((int64_t)1 << 40) : args->inputs[0];
  return api->gemm(rank, 0, ROWS, x, IN, args->params[0], args->params[1], 0,
                   args->arena, HIDDEN);
}

/* Calls that no device has. */
static int32_t missing(const tprt_api *api, tprt_rank *rank,
                       const tprt_step_args *args) {
  return api->gemm(rank, 99, ROWS, 0, IN, args->params[0], 0, 0, args->arena,
                   HIDDEN);
}

static void nothing(void *context, int64_t begin, int64_t end, int64_t worker) {
  (void)context, (void)begin, (void)end, (void)worker;
}
static int32_t loop(const tprt_api *api, tprt_rank *rank,
                    const tprt_step_args *args) {
  (void)args;
  return api->parallel_for(rank, nothing, 0, 1, 1);
}

static const tprt_step entries[] = {mlp,     products, stray,
                                    missing, loop,     adrift};
static const tprt_program program = {TPRT_ABI_VERSION, 6, entries};

__attribute__((visibility("default"))) const tprt_program *
tprt_query(uint32_t abi_version) {
  return abi_version == TPRT_ABI_VERSION ? &program : 0;
}
