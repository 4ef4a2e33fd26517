/*===- train.c - a hand-written program that trains
 * --------------------------===*
 *
 * Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Each token that counts pulls every element of every weight towards
 * (id - label) / 16: half the square of the distance is its loss. So gradients
 * are known, and elements must not be mixed up. An id of `poison` makes the
 * loss not a number; such a step changes no weight. TrainTest.cpp writes the
 * manifest.
 *
 *===----------------------------------------------------------------------===*/

#include "tprt/abi.h"

/* A weight's local block is [outer, local, inner], of [outer, whole, inner]. */
struct weight {
  int64_t outer, local, whole, inner, sharded;
};
struct sizes {
  int64_t tokens, isHalf, isSgd, poison, spins, count;
  struct weight weights[8];
};

static float root(float x) {
  __asm__("sqrtss %1, %0" : "=x"(x) : "x"(x));
  return x;
}
static float wide(uint16_t x) {
  union {
    uint32_t bits;
    float value;
  } u = {(uint32_t)x << 16};
  return u.value;
}
static uint16_t narrow(float x) {
  union {
    float value;
    uint32_t bits;
  } u = {x};
  return (uint16_t)((u.bits + 0x7fff + (u.bits >> 16 & 1)) >> 16);
}

/* Calls visit(element of the local block) for those that are no padding. */
#define FOR_EACH(w, at, rank)                                                  \
  for (int64_t outer = 0; outer < (w)->outer; ++outer)                         \
    for (int64_t row = 0; row < (w)->local; ++row)                             \
      for (int64_t inner = 0, at; inner < (w)->inner; ++inner)                 \
        if (at = (outer * (w)->local + row) * (w)->inner + inner,              \
            (w)->sharded * (rank) * (w)->local + row < (w)->whole)

/* Inputs: ids, labels, weights, gradients, loss sum, tokens. */
static int32_t gradient(const tprt_api *api, tprt_rank *rank,
                        const tprt_step_args *args) {
  const struct sizes *s = (const struct sizes *)args->constants;
  const int32_t *ids = (const int32_t *)args->inputs[0];
  const int32_t *labels = (const int32_t *)args->inputs[1];
  float *loss = (float *)args->inputs[2 + 2 * s->count];
  float *tokens = loss ? (float *)args->inputs[3 + 2 * s->count] : 0;
  int64_t self = args->axis_index[0];
  (void)api;
  (void)rank;
  for (volatile int64_t i = 0; i < s->spins; ++i)
    ;
  for (int64_t t = 0; t < s->tokens; ++t) {
    if (labels[t] == -100)
      continue;
    *tokens += 1;
    float target = (float)(ids[t] - labels[t]) / 16;
    if (ids[t] == s->poison)
      target = __builtin_nanf("");
    for (int64_t k = 0; k < s->count; ++k) {
      const struct weight *w = &s->weights[k];
      const void *values = args->inputs[2 + k];
      float *gradients = (float *)args->inputs[2 + s->count + k];
      FOR_EACH(w, at, self) {
        float d = (s->isHalf ? wide(((const uint16_t *)values)[at])
                             : ((const float *)values)[at]) -
                  target;
        gradients[at] += d;
        if (w->sharded || self == 0)
          *loss += d * d / 2;
      }
    }
  }
  return 0;
}

/* The scalars, then of each weight itself, its gradient, its moments (two, or
   the momentum), its master if it has one; loss sum, tokens. */
static int32_t update(const tprt_api *api, tprt_rank *rank,
                      const tprt_step_args *args) {
  const struct sizes *s = (const struct sizes *)args->constants;
  int64_t scalars = s->isSgd ? 3 : 7;
  int64_t each = (s->isSgd ? 3 : 4) + s->isHalf;
  float p[7];
  for (int64_t i = 0; i < scalars; ++i)
    p[i] = *(const float *)args->inputs[i];
  float *loss = (float *)args->inputs[scalars + each * s->count];
  float *tokens = (float *)args->inputs[scalars + each * s->count + 1];
  float square = 0, count = *tokens;
  (void)api;
  (void)rank;
  /* The norm is that of the last weight alone, which all ranks have whole. */
  const float *last =
      (const float *)args->inputs[scalars + (s->count - 1) * each + 1];
  FOR_EACH(&s->weights[s->count - 1], at, args->axis_index[0]) {
    float d = last[at] / (count > 0 ? count : 1);
    square += d * d;
  }
  if (!(square * 0 == 0 && *loss * 0 == 0))
    count = 0;
  for (int64_t k = 0; k < s->count; ++k) {
    const struct weight *w = &s->weights[k];
    void *const *own = args->inputs + scalars + k * each;
    float *g = (float *)own[1], *m = (float *)own[2], *v = (float *)own[3];
    float *master = (float *)own[s->isHalf ? each - 1 : 0];
    /* The last weight alone has no decay. */
    float decays = k + 1 < s->count;
    FOR_EACH(w, at, args->axis_index[0]) {
      float d = g[at] / (count > 0 ? count : 1);
      g[at] = 0;
      if (count == 0)
        continue;
      if (s->isSgd) { /* lr, weight_decay, momentum */
        d += p[1] * decays * master[at];
        m[at] = p[2] * m[at] + d;
        master[at] -= p[0] * m[at];
      } else { /* decay, step_size, one_minus_beta1, beta2, one_minus_beta2,
                  correction, eps */
        master[at] *= decays > 0 ? p[0] : 1;
        m[at] += p[2] * (d - m[at]);
        v[at] = p[3] * v[at] + p[4] * d * d;
        master[at] -= p[1] * (m[at] / (root(v[at]) / p[5] + p[6]));
      }
      if (s->isHalf)
        ((uint16_t *)own[0])[at] = narrow(master[at]);
    }
  }
  *(float *)args->outputs[0] = *loss;
  *(float *)args->outputs[1] = *tokens;
  *(float *)args->outputs[2] = root(square);
  *loss = *tokens = 0;
  return 0;
}

static const tprt_step entries[] = {gradient, update};
static const tprt_program program = {TPRT_ABI_VERSION, 2, entries};

__attribute__((visibility("default"))) const tprt_program *
tprt_query(uint32_t abi_version) {
  return abi_version == TPRT_ABI_VERSION ? &program : 0;
}
