//===- Ledger.h - What is communicated, and why -----------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ledger of a per-rank program, read from its collectives: what each moves
// and why it exists, the totals against the least that the shardings allow, and
// each rank's share of the parameters and the arithmetic. docs/Ledger.md
// defines every figure.
//
// Example, Llama-3-8B on 8 ranks, 2048 tokens in bf16: 65 all-reduces of 16
// MiB; one rank sends 28 MiB for each, 1820 MiB in all, which is the bound.
//
//===----------------------------------------------------------------------===//

#ifndef TP_LEDGER_LEDGER_H
#define TP_LEDGER_LEDGER_H

#include "mlir/IR/BuiltinOps.h"
#include "tp/Dialect/TP/IR/TPOps.h"
#include "tp/Partition/Derive.h"
#include "tp/Sharding/Cost.h"
#include "llvm/ADT/MapVector.h"
#include <map>

namespace tp {

/// Seconds of all calls of one line in one run of the function, by a profile.
struct CallSeconds {
  double total = 0;
  /// The part for which the rank waits.
  double exposed = 0;
  /// Ranks of a group, and the nodes that it lies on, at most.
  int64_t ranks = 1, nodes = 1;

  /// No less than what rounding leaves of a difference.
  double getHidden() const {
    return total - exposed > 1e-9 * total ? total - exposed : 0;
  }
};

/// Describes the work that a scheduled program does beside a call.
struct CallOverlap {
  /// The call is started, and awaited where its result is needed; otherwise it
  /// is done at once, for this reason.
  bool isStarted = false;
  std::string reason;
  /// Parts of its rows that are calls of their own; of one that is whole though
  /// rows are computed in parts, the reason.
  int64_t chunks = 1;
  std::string whole;
  /// Kernels read the addends of all ranks: there is no call. Otherwise the
  /// reason why a sum is a call, where a choice was made.
  bool readsPeers = false;
  std::string library;
  /// Between the two, of all parts: kernels, their floating point operations,
  /// and what they read and write.
  int64_t kernels = 0, bytes = 0;
  double flops = 0;
};

/// One call: a collective, or several that are one.
struct LedgerLine {
  int64_t id = 0;
  std::string kind, axis, type;
  /// Calls in one run of the function, repeated layers included.
  int64_t count = 0;
  /// The full logical tensors of one call, and what one rank sends for them in
  /// a ring.
  int64_t bytes = 0, traffic = 0;
  /// Messages that a rank sends one after the other in one call.
  int64_t messages = 0;
  std::string cause, annotation, location, pass;
  /// The function, and the repeated layer in it (empty outside of layers).
  std::string function, layer;
  /// This is known of a program that has been scheduled
  /// (tp/Schedule/Describe.h).
  std::optional<CallOverlap> overlap;
  /// This is known if there is a profile as well.
  std::optional<CallSeconds> seconds;
};

/// The total of all collectives of one kind, over all calls.
struct KindTotal {
  int64_t count = 0, bytes = 0, traffic = 0;
  /// The least traffic of this kind.
  int64_t bound = 0;
};

/// The memory or work of one rank, beside the model and its ideal share.
struct RankShare {
  int64_t perRank = 0, model = 0;
  /// model / ranks.
  double ideal = 0;
  /// The sources of the rest: tensors that every rank has, tensors that some
  /// ranks share (KV copies), and padding.
  double replicated = 0, copies = 0, padding = 0;

  RankShare &operator+=(const RankShare &other);
};

/// Bytes of one rank's memory while a function runs, as schedule has planned
/// them. What the processor's threads and a device's kernels use as scratch is
/// known after lower, and no part of it.
struct MemoryPlan {
  /// Held whichever function runs.
  int64_t parameters = 0, states = 0, constants = 0;
  /// Inputs and outputs.
  int64_t values = 0;
  /// Intermediate results: those that layers keep for their derivatives, and
  /// the others.
  int64_t kept = 0, activations = 0;
  /// The bytes that collectives read and write.
  int64_t communication = 0;

  int64_t getPeak() const {
    return parameters + states + constants + values + kept + activations +
           communication;
  }
};

/// Seconds of one call of a kernel, which takes as long as its arithmetic or
/// its bytes, whichever takes longer, and a start.
struct KernelSeconds {
  double arithmetic = 0, memory = 0, start = 0;

  double getTotal() const { return std::max(arithmetic, memory) + start; }
};

/// Seconds of one run of a function by what takes them. A kernel's are those of
/// its arithmetic or of its bytes.
struct RunSeconds {
  double arithmetic = 0, memory = 0, starts = 0;
  /// Seconds of collectives, and the part for which the rank waits.
  double communication = 0, exposed = 0;
  /// Seconds that kernels beside collectives take longer than alone.
  double slowed = 0;
  double total = 0;
};

/// The work of one rank in calls of one kernel, or in several that do as much.
struct KernelWork {
  /// "gemm", "rows", or the operation that a library computes.
  std::string kernel;
  /// The element type of the first operand.
  std::string type;
  /// Calls in one run of the function.
  int64_t count = 0;
  /// The work of one call: floating point operations, and bytes read and
  /// written.
  double flops = 0;
  int64_t bytes = 0;
  /// The kernel multiplies matrices, and its result has so many rows.
  bool isProduct = false;
  int64_t rows = 0;
  /// This is known if there is a profile.
  std::optional<KernelSeconds> seconds;
};

/// One run of a function.
struct FunctionTotals {
  std::string name;
  /// How often it runs in a training step: "micro-batch" or "step".
  std::string runsPer;
  std::map<std::string, KindTotal> kinds;
  /// Floating point operations of contractions.
  RankShare flops;
  /// Bytes that layers keep for their derivatives.
  int64_t keptBytes = 0;
  /// This is known of a program that has been scheduled
  /// (tp/Schedule/Describe.h).
  std::optional<MemoryPlan> memory;
  llvm::SmallVector<KernelWork, 0> work;
  /// This is known if there is a profile as well: the times of this program,
  /// and, where rows are computed in parts, of the one in which none are.
  std::optional<RunSeconds> seconds, unsplit;

  KindTotal getTotal() const;
};

struct LedgerReport {
  std::string mesh;
  int64_t ranks = 1;
  /// The device that the times are of; empty if there are none.
  std::string profile;
  /// Why a profile that was given tells no times; empty if it does.
  std::string untimed;
  llvm::SmallVector<LedgerLine, 0> lines;
  llvm::SmallVector<FunctionTotals, 0> functions;
  /// Bytes of distinct parameters, and of states.
  RankShare parameters, states;
  /// By what it is for: the states of a training step, and what layers keep for
  /// their derivative.
  llvm::SmallVector<std::pair<std::string, RankShare>, 0> memory;
  /// Parameters that every rank holds in full, with their bytes.
  llvm::SmallVector<std::pair<std::string, int64_t>, 0> replicatedParameters;
  /// Parameters that no rule of the plan names: propagation cut them.
  llvm::SmallVector<std::string, 0> unnamedParameters;

  /// A run of each function.
  FunctionTotals getSum() const;
};

/// Read the ledger of a per-rank program (the output of tp-partition or
/// tp-collectives). Fails, after an error, if the module is not one.
mlir::FailureOr<LedgerReport> readLedger(mlir::ModuleOp module);

enum class ExplainFormat { Table, Json };
void print(const LedgerReport &report, llvm::raw_ostream &stream,
           ExplainFormat format);
/// Read the ledger and print it.
mlir::LogicalResult explain(mlir::ModuleOp module, llvm::raw_ostream &stream,
                            ExplainFormat format);
void printTable(const LedgerReport &report, llvm::raw_ostream &stream);
void printJson(const LedgerReport &report, llvm::raw_ostream &stream);

//===----------------------------------------------------------------------===//
// Figures of one collective
//===----------------------------------------------------------------------===//

/// How often an operation runs in one run of its function: the product of the
/// counts of the repeated layers around it.
int64_t getRunCount(mlir::Operation *op);
/// The full logical tensor of one call.
mlir::RankedTensorType getLogicalType(CollectiveOpInterface op);
/// Its bytes; of joined tensors without what lies between them.
int64_t getCallBytes(CollectiveOpInterface op);
/// Ranks in one group.
int64_t getGroupSize(CollectiveOpInterface op, const Mesh &mesh);
/// The bytes that one rank sends in a ring for one call.
int64_t getTraffic(CollectiveOpInterface op, const Mesh &mesh);
/// "tp", "tp:(1)8", "dp,tp".
std::string getAxisText(llvm::ArrayRef<AxisRef> axes, const Mesh &mesh);

/// The least traffic per kind for the shardings of `function`: see
/// docs/Ledger.md. Added to the bounds of `totals`.
void addBounds(mlir::Operation *function, const Mesh &mesh,
               const LocalStates &states,
               std::map<std::string, KindTotal> &totals);
/// Add the shares of `function`: its arithmetic to the report's last function.
void addShares(mlir::Operation *function, const Mesh &mesh,
               const LocalStates &states, llvm::StringMap<bool> &seenParameters,
               LedgerReport &report);
void addShares(StateOp state, const Mesh &mesh, LedgerReport &report);
/// Add the share of what the layers of `function` keep for their derivatives.
void addKeptShares(mlir::Operation *function, const Mesh &mesh,
                   const LocalStates &states, LedgerReport &report);
/// Add the shares of a training step, if the module is one.
void addTrainingShares(mlir::ModuleOp module, const Mesh &mesh,
                       LedgerReport &report);

/// Bytes that the layers of a per-rank function keep for their derivatives, of
/// one rank.
int64_t getKeptBytes(mlir::Operation *function);

} // namespace tp

#endif // TP_LEDGER_LEDGER_H
