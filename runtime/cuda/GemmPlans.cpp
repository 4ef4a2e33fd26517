//===- GemmPlans.cpp - GEMMs by cuBLASLt ----------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See GemmPlans.h.
//
//===----------------------------------------------------------------------===//

#include "GemmPlans.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

using namespace tprt;

/// Algorithms that are tried for a call, and how often each is timed.
constexpr int kCandidates = 8, kTimings = 3;
/// Scratch of a call by itself, and of one beside others: sums of few rows that
/// are split need little.
constexpr int64_t kWorkspaceBytes = int64_t(32) << 20;
constexpr int64_t kWorkspaceBeside = int64_t(8) << 20;
/// Streams for calls beside another (keys and values beside queries), and the
/// most rows whose products do not fill a device by themselves.
constexpr int kLanesBeside = 2;
constexpr int64_t kRowsBeside = 128;

static cudaDataType dataType(tprt_type type) {
  switch (type) {
  case TPRT_BF16:
    return CUDA_R_16BF;
  case TPRT_F16:
    return CUDA_R_16F;
  default:
    return CUDA_R_32F;
  }
}

/// The largest power of two up to 256 that divides the address; as cuBLASLt
/// asks for it.
static int alignment(const void *address) {
  auto value = reinterpret_cast<uintptr_t>(address);
  return int(value ? std::min<uintptr_t>(256, value & -value) : 256);
}

struct GemmPlans::Plan {
  Handle<cublasLtMatmulDesc_t, &CublasLt::cublasLtMatmulDescDestroy, CublasLt>
      product;
  Handle<cublasLtMatrixLayout_t, &CublasLt::cublasLtMatrixLayoutDestroy,
         CublasLt>
      a, b, d;
  struct Algorithm {
    cublasLtMatmulAlgo_t algorithm;
    int64_t workspaceBytes;
  };
  std::vector<Algorithm> algorithms;
  size_t chosen = 0;
};

GemmPlans::GemmPlans() = default;
GemmPlans::~GemmPlans() = default;

int64_t GemmPlans::workspaceBytes(const std::vector<Gemm> &gemms) {
  return gemms.empty() ? 0 : kWorkspaceBytes + kLanesBeside * kWorkspaceBeside;
}

Status GemmPlans::open(const Driver &driver, const CublasLt &library,
                       const std::vector<Gemm> &list, CUstream computation,
                       CUdeviceptr scratch, int64_t cache,
                       AwaitEvent awaitEvent) {
  cuda = &driver;
  await = std::move(awaitEvent);
  cacheBytes = cache;
  lt = &library;
  gemms = &list;
  lanes.resize(1 + kLanesBeside);
  for (Lane &lane : lanes) {
    bool isFirst = &lane == &lanes.front();
    lane.workspace = scratch;
    lane.workspaceBytes = isFirst ? kWorkspaceBytes : kWorkspaceBeside;
    scratch += CUdeviceptr(lane.workspaceBytes);
    lane.stream = computation;
    if (isFirst)
      continue;
    TPRT_ASSIGN(lane.owner, makeStream(*cuda));
    TPRT_ASSIGN(lane.done, makeEvent(*cuda));
    lane.stream = lane.owner.get();
  }
  TPRT_ASSIGN(begun, makeEvent(*cuda));
  cublasLtHandle_t made = nullptr;
  TPRT_TRY(lt->check(lt->cublasLtCreate(&made), "cannot start cuBLASLt"));
  handle = {*lt, made};
  return {};
}

GemmPlans::Key GemmPlans::keyOf(const Call &call) {
  return {call.id,           call.rows,
          call.x_stride,     call.y_stride,
          alignment(call.x), alignment(call.w),
          alignment(call.y), alignment(call.residual)};
}

std::string GemmPlans::describe(const Call &call) const {
  const Gemm &gemm = (*gemms)[call.id];
  return detail::join("gemm ", call.id, " (", call.rows, " rows, n ", gemm.n,
                      ", k ", gemm.k, ", ", typeName(gemm.xType), " times ",
                      typeName(gemm.wType), " to ", typeName(gemm.yType), ")");
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

Status GemmPlans::check(const std::vector<Gemm> &gemms) {
  static const char *const names[] = {"none", "relu", "silu", "gelu_erf",
                                      "gelu_tanh"};
  using Activation = Gemm::Activation;
  for (size_t id = 0; id < gemms.size(); ++id) {
    const Gemm &gemm = gemms[id];
    std::string where = "gemm " + std::to_string(id);
    const char *activation = names[int(gemm.activation)];
    if (gemm.xType != gemm.wType)
      return userError(where, ": expected operands of one type, got ",
                       typeName(gemm.xType), " and ", typeName(gemm.wType));
    if (gemm.yType != gemm.xType && gemm.yType != TPRT_F32)
      return userError(where, ": expected a result of type f32",
                       gemm.xType == TPRT_F32 ? "" : " or ",
                       gemm.xType == TPRT_F32 ? "" : typeName(gemm.xType),
                       ", got ", typeName(gemm.yType));
    if (gemm.bias && gemm.biasType != gemm.yType)
      return userError(where, ": expected a bias of the result's type ",
                       typeName(gemm.yType), ", got ", typeName(gemm.biasType));
    if (gemm.activation == Activation::Silu ||
        gemm.activation == Activation::GeluErf)
      return userError(where,
                       ": cuBLASLt has the activations relu and "
                       "gelu_tanh, got ",
                       activation);
    if (gemm.residual && gemm.activation != Activation::None)
      return userError(where,
                       ": cuBLASLt adds a residual before the "
                       "activation, expected activation none, got ",
                       activation);
  }
  return {};
}

static cublasLtEpilogue_t epilogueOf(const Gemm &gemm) {
  switch (gemm.activation) {
  case Gemm::Activation::Relu:
    return gemm.bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
  case Gemm::Activation::GeluTanh:
    return gemm.bias ? CUBLASLT_EPILOGUE_GELU_BIAS : CUBLASLT_EPILOGUE_GELU;
  default: // `check` has refused the others
    return gemm.bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
  }
}

Status GemmPlans::describeProduct(const Call &call, Plan &plan) const {
  const Gemm &gemm = (*gemms)[call.id];
  auto check = [&](cublasStatus_t result) {
    return lt->check(result, "cuBLASLt does not take " + describe(call));
  };
  // Never TF32: an f32 product keeps f32's precision.
  cublasLtMatmulDesc_t product = nullptr;
  TPRT_TRY(check(
      lt->cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F)));
  plan.product = {*lt, product};
  auto set = [&](cublasLtMatmulDescAttributes_t key, auto value) {
    return check(lt->cublasLtMatmulDescSetAttribute(product, key, &value,
                                                    sizeof(value)));
  };
  cublasOperation_t opA = gemm.wTransposed ? CUBLAS_OP_N : CUBLAS_OP_T;
  cublasOperation_t opB = gemm.xTransposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  TPRT_TRY(set(CUBLASLT_MATMUL_DESC_TRANSA, opA));
  TPRT_TRY(set(CUBLASLT_MATMUL_DESC_TRANSB, opB));
  TPRT_TRY(set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogueOf(gemm)));
  if (gemm.bias) {
    TPRT_TRY(set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, dataType(gemm.biasType)));
    // The heuristic looks at the pointer; each call sets its own.
    TPRT_TRY(set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, call.bias));
  }
  // A transposed matrix has its sizes in the other order.
  auto layout = [&](auto &owner, tprt_type type, int64_t rows, int64_t columns,
                    bool transposed, int64_t stride) -> Status {
    if (transposed)
      std::swap(rows, columns);
    cublasLtMatrixLayout_t made = nullptr;
    TPRT_TRY(check(lt->cublasLtMatrixLayoutCreate(
        &made, dataType(type), uint64_t(rows), uint64_t(columns), stride)));
    owner = {*lt, made};
    return {};
  };
  TPRT_TRY(layout(plan.a, gemm.wType, gemm.k, gemm.n, gemm.wTransposed,
                  gemm.wTransposed ? gemm.n : gemm.k));
  TPRT_TRY(layout(plan.b, gemm.xType, gemm.k, call.rows, gemm.xTransposed,
                  call.x_stride));
  return layout(plan.d, gemm.yType, gemm.n, call.rows, false, call.y_stride);
}

Expected<std::unique_ptr<GemmPlans::Plan>>
GemmPlans::makePlan(const Call &call) const {
  auto plan = std::make_unique<Plan>();
  TPRT_TRY(describeProduct(call, *plan));
  auto check = [&](cublasStatus_t result) {
    return lt->check(result, "cuBLASLt does not take " + describe(call));
  };
  cublasLtMatmulPreference_t preference = nullptr;
  TPRT_TRY(check(lt->cublasLtMatmulPreferenceCreate(&preference)));
  Handle<cublasLtMatmulPreference_t, &CublasLt::cublasLtMatmulPreferenceDestroy,
         CublasLt>
      owner(*lt, preference);
  auto prefer = [&](cublasLtMatmulPreferenceAttributes_t key, auto value) {
    return check(lt->cublasLtMatmulPreferenceSetAttribute(
        preference, key, &value, sizeof(value)));
  };
  TPRT_TRY(prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                  uint64_t(kWorkspaceBytes)));
  // Split sums meet in f32: a result is rounded once.
  TPRT_TRY(prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                  uint32_t(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE)));
  const void *c = (*gemms)[call.id].residual ? call.residual : call.y;
  for (auto [key, address] :
       {std::pair(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, call.w),
        std::pair(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, call.x),
        std::pair(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, c),
        std::pair(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES,
                  static_cast<const void *>(call.y))})
    TPRT_TRY(prefer(key, uint32_t(alignment(address))));
  cublasLtMatmulHeuristicResult_t results[kCandidates];
  int found = 0;
  TPRT_TRY(check(lt->cublasLtMatmulAlgoGetHeuristic(
      handle.get(), plan->product.get(), plan->a.get(), plan->b.get(),
      plan->d.get(), plan->d.get(), preference, kCandidates, results, &found)));
  for (int i = 0; i < found; ++i)
    if (results[i].state == CUBLAS_STATUS_SUCCESS &&
        results[i].workspaceSize <= size_t(kWorkspaceBytes))
      plan->algorithms.push_back(
          {results[i].algo, int64_t(results[i].workspaceSize)});
  if (plan->algorithms.empty())
    return userError("cuBLASLt has no algorithm for ", describe(call));
  return plan;
}

Status GemmPlans::enqueue(const Plan &plan, size_t algorithm, const Call &call,
                          const Lane &lane) const {
  const Gemm &gemm = (*gemms)[call.id];
  // Words are made for errors alone.
  auto check = [&](cublasStatus_t result) {
    return result == CUBLAS_STATUS_SUCCESS ? Status()
                                           : lt->check(result, describe(call));
  };
  if (gemm.bias)
    TPRT_TRY(check(lt->cublasLtMatmulDescSetAttribute(
        plan.product.get(), CUBLASLT_MATMUL_DESC_BIAS_POINTER, &call.bias,
        sizeof(call.bias))));
  float alpha = gemm.scale, beta = gemm.residual ? 1.0f : 0.0f;
  const void *c = gemm.residual ? call.residual : call.y;
  return check(lt->cublasLtMatmul(
      handle.get(), plan.product.get(), &alpha, call.w, plan.a.get(), call.x,
      plan.b.get(), &beta, c, plan.d.get(), call.y, plan.d.get(),
      &plan.algorithms[algorithm].algorithm,
      reinterpret_cast<void *>(lane.workspace), size_t(lane.workspaceBytes),
      reinterpret_cast<cudaStream_t>(lane.stream)));
}

//===----------------------------------------------------------------------===//
// Choosing
//===----------------------------------------------------------------------===//

/// In a step the weights come from memory: those of all layers do not fit a
/// cache. Fills it with scratch.
Status GemmPlans::emptyCache() const {
  size_t bytes = size_t(std::min<int64_t>(cacheBytes, workspaceBytes(*gemms)));
  const Lane &lane = lanes.front();
  return cuda->check(
      cuda->cuMemsetD8Async(lane.workspace, 0, bytes, lane.stream),
      "cannot time a GEMM");
}

/// Appends one float per algorithm: milliseconds, infinite if it failed.
Status GemmPlans::measure(const Plan &plan, const Call &call,
                          std::string &times) const {
  TPRT_ASSIGN(auto start, makeEvent(*cuda, true));
  TPRT_ASSIGN(auto stop, makeEvent(*cuda, true));
  auto check = [&](CUresult result) {
    return cuda->check(result, "cannot time a GEMM");
  };
  const Lane &lane = lanes.front();
  for (size_t i = 0; i < plan.algorithms.size(); ++i) {
    float least = std::numeric_limits<float>::infinity();
    // The first run loads the kernel.
    bool runs = enqueue(plan, i, call, lane).ok();
    for (int n = 0; runs && n < kTimings; ++n) {
      float milliseconds = 0;
      TPRT_TRY(emptyCache());
      TPRT_TRY(check(cuda->cuEventRecord(start.get(), lane.stream)));
      runs = enqueue(plan, i, call, lane).ok();
      TPRT_TRY(check(cuda->cuEventRecord(stop.get(), lane.stream)));
      TPRT_TRY(await(stop.get()).in("while timing " + describe(call)));
      TPRT_TRY(check(
          cuda->cuEventElapsedTime(&milliseconds, start.get(), stop.get())));
      if (runs)
        least = std::min(least, milliseconds);
    }
    times.append(reinterpret_cast<char *>(&least), sizeof(least));
  }
  return {};
}

Status GemmPlans::plan(const std::vector<Call> &calls,
                       const Exchange &exchange) {
  std::vector<std::pair<Plan *, const Call *>> fresh;
  std::string mine;
  for (const Call &call : calls) {
    if (call.id < 0 || call.id >= int64_t(gemms->size()))
      return internalError("gemm ", call.id, " is not in the manifest");
    auto &slot = plans[keyOf(call)];
    if (slot)
      continue;
    TPRT_ASSIGN(slot, makePlan(call));
    fresh.push_back({slot.get(), &call});
  }
  for (auto [plan, call] : fresh)
    TPRT_TRY(measure(*plan, *call, mine));
  TPRT_ASSIGN(auto all, exchange(mine));
  // The slowest rank counts. Ranks on unlike devices may have other candidates:
  // then each keeps cuBLASLt's first choice that works.
  bool alike = std::all_of(all.begin(), all.end(), [&](const auto &other) {
    return other.size() == mine.size();
  });
  size_t at = 0;
  for (auto [plan, call] : fresh) {
    float best = std::numeric_limits<float>::infinity();
    for (size_t i = 0; i < plan->algorithms.size(); ++i, at += sizeof(float)) {
      float slowest = 0;
      auto include = [&](const std::string &times) {
        float value;
        std::memcpy(&value, times.data() + at, sizeof(value));
        slowest = std::max(slowest, value);
      };
      if (alike)
        std::for_each(all.begin(), all.end(), include);
      else
        include(mine);
      bool better =
          alike ? slowest < best : std::isinf(best) && !std::isinf(slowest);
      if (better) {
        best = slowest;
        plan->chosen = i;
      }
    }
    if (std::isinf(best))
      return deviceError("every algorithm of cuBLASLt fails for ",
                         describe(*call));
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

Expected<GemmPlans::Plan *> GemmPlans::find(const Call &call) const {
  auto found = plans.find(keyOf(call));
  if (found == plans.end())
    return internalError(describe(call), " was not planned");
  return found->second.get();
}

/// The lane of call `number` of those that run beside each other; the first
/// lane's scratch is the largest.
GemmPlans::Lane &GemmPlans::laneOf(size_t number, const Plan &plan) {
  Lane &lane = lanes[number % lanes.size()];
  bool fits =
      plan.algorithms[plan.chosen].workspaceBytes <= lane.workspaceBytes;
  return fits ? lane : lanes.front();
}

Status GemmPlans::run(std::span<const Call> calls) {
  bool beside = calls.size() > 1 && calls.front().rows <= kRowsBeside;
  Lane &first = lanes.front();
  auto check = [&](CUresult result) {
    return cuda->check(result, "cannot order products");
  };
  if (beside)
    TPRT_TRY(check(cuda->cuEventRecord(begun.get(), first.stream)));
  for (size_t i = 0; i < calls.size(); ++i) {
    TPRT_ASSIGN(Plan * plan, find(calls[i]));
    Lane &lane = beside ? laneOf(i, *plan) : first;
    if (&lane != &first && !lane.isBusy) {
      TPRT_TRY(check(cuda->cuStreamWaitEvent(lane.stream, begun.get(), 0)));
      lane.isBusy = true;
    }
    TPRT_TRY(enqueue(*plan, plan->chosen, calls[i], lane));
  }
  for (Lane &lane : lanes) {
    if (!lane.isBusy)
      continue;
    lane.isBusy = false;
    TPRT_TRY(check(cuda->cuEventRecord(lane.done.get(), lane.stream)));
    TPRT_TRY(check(cuda->cuStreamWaitEvent(first.stream, lane.done.get(), 0)));
  }
  return {};
}
