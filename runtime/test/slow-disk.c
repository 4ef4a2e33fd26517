/*===- slow-disk.c - a disk that takes its time -------------------*- C -*-===*
 *
 * Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Loaded before the C library, in the place of its pread: on the ranks that
 * SLOW_RANKS lists one of the reads of weights takes three seconds, and on those
 * that FAILING_RANKS lists it fails; it comes after those of the artifact, the
 * input, the checkpoint's header and samples of all tensors.
 *
 *===----------------------------------------------------------------------===*/

#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

ssize_t pread(int fd, void *data, size_t size, off_t offset) {
  static int reads;
  const char *rank = getenv("TPRT_RANK"), *slow = getenv("SLOW_RANKS"),
             *failing = getenv("FAILING_RANKS");
  if (rank && slow && strchr(slow, rank[0]) && ++reads == 24)
    sleep(3);
  if (rank && failing && strchr(failing, rank[0]) && ++reads >= 24) {
    errno = EIO;
    return -1;
  }
  return syscall(SYS_pread64, fd, data, size, offset);
}

ssize_t pread64(int fd, void *data, size_t size, off_t offset) {
  return pread(fd, data, size, offset);
}
