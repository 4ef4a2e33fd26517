/*===- Plugin.h - what the runtime asks of an MPI library ----------*- C -*-===*
 *
 * Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * MPI has no common binary interface, so that the few calls that backend `mpi`
 * makes are a shared object of their own, libtprt-mpi.so, built where there is
 * an MPI and opened when asked for. It exports one function, tprt_mpi_query.
 * Everything that matters (which bits a sum has, who is lost) is not in it.
 *
 *===----------------------------------------------------------------------===*/

#ifndef TPRT_COLLECTIVES_MPI_PLUGIN_H
#define TPRT_COLLECTIVES_MPI_PLUGIN_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TPRT_MPI_VERSION 2

/* A message to or from a member of a communicator. */
typedef struct tprt_mpi_part {
  int64_t member;
  void *data; /* not written to where it is sent */
  int64_t bytes;
} tprt_mpi_part;

/* Functions return 0, or an error that `text` explains. All are called by one
 * thread at a time. */
typedef struct tprt_mpi {
  uint32_t version;
  const char *library; /* name and version of the MPI */

  /* `largest_tag` of a message, if it is told, or as it was. */
  int32_t (*initialize)(int64_t *rank, int64_t *size, int32_t *largest_tag);
  /* Waits for all ranks. */
  int32_t (*finalize)(void);

  /* Every rank gets rank 0's bytes. */
  int32_t (*broadcast)(void *data, int64_t bytes);
  /* The communicator of the ranks listed, in this order; called by them. */
  int32_t (*communicator)(const int64_t *members, int64_t count, int32_t tag,
                          void **communicator);
  /* Starts to receive and to send; `tag` must match on both sides. Then `test`
   * says whether all of it is done. One exchange at a time. */
  int32_t (*start)(void *communicator, int32_t tag,
                   const tprt_mpi_part *receives, int64_t receive_count,
                   const tprt_mpi_part *sends, int64_t send_count);
  int32_t (*test)(int32_t *done);

  /* What the error means. */
  const char *(*text)(int32_t error);
} tprt_mpi;

/* Null for a version that it does not speak. */
typedef const tprt_mpi *(*tprt_mpi_query_function)(uint32_t version);

#ifdef __cplusplus
}
#endif

#endif /* TPRT_COLLECTIVES_MPI_PLUGIN_H */
