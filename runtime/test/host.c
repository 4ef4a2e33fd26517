/*===- host.c - a program that has the runtime in it -----------------------===*
 *
 * Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * usage: tprt-host ARTIFACT WEIGHTS BACKEND STEPS [NEXT]
 *
 * Steps through the C interface, for ever for a negative number; where ranks
 * are processes, each is one of these. Says what a step returned that failed,
 * and what the next one does; closes the session, and goes on: with a session
 * of backend NEXT, whose results must be those of the first.
 *
 *===----------------------------------------------------------------------===*/

#include "tprt/tprt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct program {
  tprt_session *session;
  tprt_tensor in, out;
};

static void on_failure(void *context, int64_t rank, int32_t code,
                       const char *message) {
  printf("told of rank %ld, code %d: %s\n", (long)rank, (int)code, message);
  fflush(stdout);
  ++*(int *)context;
}

static int32_t fail(const tprt_session *session, const char *what,
                    int32_t code) {
  printf("%s returned %d: %s\n", what, (int)code, tprt_error(session));
  fflush(stdout);
  return code;
}

static int32_t open_program(struct program *p, char **argv, const char *backend,
                            int *told) {
  tprt_options options = {0};
  options.size = sizeof(options);
  options.backend = backend;
  options.timeout_seconds = 30;
  options.on_failure = on_failure;
  options.context = told;
  int32_t code = tprt_open(argv[1], &options, &p->session);
  if (code)
    return fail(0, "open", code);
  if ((code = tprt_load_weights(p->session, argv[2])))
    return fail(p->session, "load", code);
  p->in.size = p->out.size = sizeof(tprt_tensor);
  if ((code = tprt_describe_input(p->session, 0, 0, &p->in, 0)) ||
      (code = tprt_describe_output(p->session, 0, 0, &p->out)))
    return fail(p->session, "describe", code);
  float *x = malloc((size_t)p->in.bytes);
  for (int64_t i = 0; i < p->in.bytes / 4; ++i)
    x[i] = 0.125f * (float)(i % 7);
  p->in.data = x;
  p->out.data = calloc((size_t)p->out.bytes, 1);
  return 0;
}

static int32_t step(struct program *p) {
  return tprt_run(p->session, 0, &p->in, 1, &p->out, 1);
}

/* Where the results are not the same, but for rounding: a device's products are
 * the fastest of several, which may add in another order. -1: nowhere. */
static long differ(const float *a, const float *b, long count) {
  for (long i = 0; i < count; ++i) {
    float size = a[i] < 0 ? -a[i] : a[i],
          off = a[i] < b[i] ? b[i] - a[i] : a[i] - b[i];
    if (!(off <= 1e-5f * (1 + size)))
      return i;
  }
  return -1;
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char **argv) {
  struct program first, next;
  int told = 0;
  if (argc < 5 || open_program(&first, argv, argv[3], &told))
    return 1;
  long steps = atol(argv[4]);
  int32_t code = 0;
  for (long n = 0; (steps < 0 || n < steps) && !(code = step(&first)); ++n)
    if (n == 0) {
      printf("steps\n");
      fflush(stdout);
    }
  if (code) {
    fail(first.session, "step", code);
    fail(first.session, "another", step(&first));
    printf("stats: %s\n", tprt_stats(first.session) ? "there" : "none");
  }
  int64_t rank = tprt_rank_here(first.session);
  char *y = malloc((size_t)first.out.bytes);
  memcpy(y, first.out.data, (size_t)first.out.bytes);
  double start = seconds();
  tprt_close(first.session);
  printf("closed within %d s, told %d times\n", 1 + (int)(seconds() - start),
         told);
  if (argc > 5) {
    int64_t bytes = first.out.bytes;
    if (open_program(&next, argv, argv[5], &told) || step(&next))
      return 1;
    long at =
        rank != 0 ? -1 : differ((const float *)y, next.out.data, bytes / 4);
    if (at >= 0) {
      printf("element %ld differs\n", at);
      return 1;
    }
    tprt_close(next.session);
    printf("goes on\n");
  }
  return 0;
}
