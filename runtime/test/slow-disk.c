/*===- slow-disk.c - a disk that takes its time -------------------*- C -*-===*
 *
 * Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Loaded before the C library, in the place of its pread: on rank 1 one of the
 * reads of weights, which come after the artifact, the input and the
 * checkpoint's header, takes three seconds.
 *
 *===----------------------------------------------------------------------===*/

#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

ssize_t pread(int fd, void *data, size_t size, off_t offset) {
  static int reads;
  const char *rank = getenv("TPRT_RANK");
  if (rank && rank[0] == '1' && ++reads == 8)
    sleep(3);
  return syscall(SYS_pread64, fd, data, size, offset);
}

ssize_t pread64(int fd, void *data, size_t size, off_t offset) {
  return pread(fd, data, size, offset);
}
