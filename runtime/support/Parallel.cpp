//===- Parallel.cpp - one thread pool per rank ----------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libgomp is called by its own names rather than by pragmas: a compiler whose
// pragmas mean another OpenMP library would bring a second pool.
//
//===----------------------------------------------------------------------===//

#include "Parallel.h"

#include <algorithm>
#include <atomic>
#include <vector>

extern "C" {
void GOMP_parallel(void (*body)(void *), void *data, unsigned threads,
                   unsigned flags);
void omp_set_num_threads(int threads);
void omp_set_dynamic(int dynamic);
int omp_get_max_threads(void);
int omp_get_thread_num(void);
int omp_get_num_threads(void);
}

using namespace tprt;

void tprt::setWorkers(int workers) {
  omp_set_dynamic(0);
  omp_set_num_threads(workers);
}

int tprt::workers() { return omp_get_max_threads(); }

void tprt::parallelFor(
    int64_t extent, int64_t least,
    const std::function<void(int64_t, int64_t, int64_t)> &body) {
  if (extent <= 0)
    return;
  int64_t most = std::max<int64_t>(1, extent / std::max<int64_t>(1, least));
  int64_t parts = std::min<int64_t>(most, workers());
  if (parts == 1)
    return body(0, extent, 0);
  struct Job {
    int64_t extent, parts;
    const std::function<void(int64_t, int64_t, int64_t)> &body;
  } job{extent, parts, body};
  GOMP_parallel(
      [](void *data) {
        Job &job = *static_cast<Job *>(data);
        // The team may be smaller than asked for.
        int64_t part = omp_get_thread_num();
        int64_t parts = std::min<int64_t>(job.parts, omp_get_num_threads());
        if (part >= parts)
          return;
        int64_t begin = job.extent * part / parts;
        int64_t end = job.extent * (part + 1) / parts;
        if (begin < end)
          job.body(begin, end, part);
      },
      &job, unsigned(workers()), 0);
}

void tprt::parallelItems(int64_t items,
                         const std::function<void(int64_t, int64_t)> &body) {
  std::atomic<int64_t> next = 0;
  parallelFor(std::min<int64_t>(items, workers()), 1,
              [&](int64_t, int64_t, int64_t worker) {
                for (int64_t i; (i = next.fetch_add(1)) < items;)
                  body(i, worker);
              });
}

void tprt::parallelParts(int64_t items,
                         const std::function<void(int64_t, int64_t)> &body) {
  struct alignas(64) Part {
    std::atomic<int64_t> next = 0;
    int64_t end = 0;
  };
  int64_t count = std::min<int64_t>(items, workers());
  std::vector<Part> parts(static_cast<size_t>(std::max<int64_t>(count, 0)));
  for (int64_t i = 0; i < count; ++i) {
    parts[size_t(i)].next = items * i / count;
    parts[size_t(i)].end = items * (i + 1) / count;
  }
  parallelFor(count, 1, [&](int64_t, int64_t, int64_t worker) {
    for (int64_t i = 0; i < count; ++i) {
      Part &part = parts[size_t((worker + i) % count)];
      for (int64_t item; (item = part.next.fetch_add(1)) < part.end;)
        body(item, worker);
    }
  });
}
