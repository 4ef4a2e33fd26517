//===- Mpi.h - ranks that talk through MPI ----------------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Backend `mpi`: one process per rank, started by mpirun or srun, on any number
// of hosts. MPI moves the bytes; sums are made here, in the order of the group,
// so that they have the same bits as over threads. Everything beside the
// collectives goes over TCP, so that a lost rank is named while the others sit
// in MPI.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_COLLECTIVES_MPI_MPI_H
#define TPRT_COLLECTIVES_MPI_MPI_H

#include "../Backends.h"

namespace tprt {

/// The hub of this process, whose rank MPI knows.
Expected<std::unique_ptr<Hub>> makeMpiHub(const HubOptions &options);

/// A library other than libtprt-mpi.so beside the program or on the path.
inline constexpr const char *kMpiPluginVariable = "TPRT_MPI_PLUGIN";

} // namespace tprt

#endif // TPRT_COLLECTIVES_MPI_MPI_H
