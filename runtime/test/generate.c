/*===- generate.c - a hand-written program that generates -------------------===*
 *
 * Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * FakeModel.h's function of all tokens before, over a state for a cache and
 * logits that are split over the ranks. GenerateTest.cpp writes its manifest.
 *
 *===----------------------------------------------------------------------===*/

#include "tprt/abi.h"

struct sizes {
  int64_t page, rows, width, vocabulary; /* of the table; local */
  int64_t spins;                         /* how slow a step is */
};

static uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/* Inputs: ids, starts, context, table, cells, and how to choose a token;
 * outputs: logits, cells, tokens, logprobs. It can never tell the token. */
static int32_t step(const tprt_api *api, tprt_rank *rank,
                    const tprt_step_args *args) {
  const struct sizes *s = (const struct sizes *)args->constants;
  const int32_t *ids = (const int32_t *)args->inputs[0];
  const int32_t *starts = (const int32_t *)args->inputs[1];
  const int32_t *context = (const int32_t *)args->inputs[2];
  const int32_t *table = (const int32_t *)args->inputs[3];
  int64_t *cells = (int64_t *)args->inputs[4];
  float *logits = (float *)args->outputs[0];
  (void)api;
  (void)rank;
  for (volatile int64_t i = 0; i < s->spins; ++i)
    ;
  for (int64_t row = 0; row < s->rows; ++row) {
    const int32_t *pages = table + row * s->width;
    int64_t position = context[row];
    for (int64_t i = starts[row]; i < starts[row + 1]; ++i, ++position)
      cells[pages[position / s->page] * s->page + position % s->page] =
          (int64_t)ids[i] << 32 | position;
    ((int32_t *)args->outputs[2])[row] = -1;
    ((float *)args->outputs[3])[row] = 0;
    uint64_t state = 0;
    if (starts[row] == starts[row + 1])
      continue;
    for (int64_t p = 0; p < position; ++p)
      state = mix(state ^
                  mix((uint64_t)cells[pages[p / s->page] * s->page +
                                      p % s->page]));
    for (int64_t id = 0; id < s->vocabulary; ++id)
      logits[row * s->vocabulary + id] =
          (float)(mix(state + (uint64_t)(args->axis_index[0] * s->vocabulary +
                                         id)) >>
                  40) *
              0x1p-21f -
          4;
  }
  return 0;
}

static const tprt_step entries[] = {step, step, step};
static const tprt_program program = {TPRT_ABI_VERSION, 3, entries};

__attribute__((visibility("default"))) const tprt_program *
tprt_query(uint32_t abi_version) {
  return abi_version == TPRT_ABI_VERSION ? &program : 0;
}
