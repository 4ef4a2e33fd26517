//===- CublasLt.cpp - matrix products on host memory ----------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Types, epilogues and alignments are those that cuBLASLt documents; anything
// else is CUBLAS_STATUS_NOT_SUPPORTED. Of the algorithms that the heuristic
// gives, the first is not usable at all, one fails when it is called, and those
// with a workspace spoil all of it; an algorithm is refused for any problem but
// the one that it was asked for.
//
//===----------------------------------------------------------------------===//

#include "Device.h"
#include "Gemm.h"
#include "Memory.h"
#include "Stream.h"

#include <cstdio>
#include <cstring>
#include <map>
#include <optional>
#include <set>

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace fake;

namespace {

struct Handle {
  int device;
};

struct Layout {
  cudaDataType type;
  uint64_t rows, columns;
  int64_t ld;
  int32_t order = CUBLASLT_ORDER_COL;
  int32_t batch = 1;
  int64_t batchStride = 0;

  Matrix matrix(Float element, void *data, bool transposed) const {
    int64_t row = order == CUBLASLT_ORDER_COL ? 1 : ld;
    int64_t column = order == CUBLASLT_ORDER_COL ? ld : 1;
    return transposed ? Matrix{data, element, column, row}
                      : Matrix{data, element, row, column};
  }
  bool valid() const {
    uint64_t least = order == CUBLASLT_ORDER_COL ? rows : columns;
    return rows && columns && ld >= 0 && uint64_t(ld) >= least && batch >= 1;
  }
  /// Elements from the first to the last of one matrix.
  int64_t extent() const {
    return order == CUBLASLT_ORDER_COL
               ? (int64_t(columns) - 1) * ld + int64_t(rows)
               : (int64_t(rows) - 1) * ld + int64_t(columns);
  }
  int64_t extentOfAll() const { return (batch - 1) * batchStride + extent(); }
};

struct Description {
  int32_t compute, scale;
  int32_t pointerMode = CUBLASLT_POINTER_MODE_HOST;
  int32_t transA = CUBLAS_OP_N, transB = CUBLAS_OP_N, transC = CUBLAS_OP_N;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void *bias = nullptr;
  int32_t biasType = -1;
  int64_t biasBatchStride = 0;
  int32_t multiprocessors = 0;
};

struct Preference {
  uint32_t search = CUBLASLT_SEARCH_BEST_FIT;
  uint64_t workspace = 0;
  uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_MASK;
  uint32_t alignment[4] = {256, 256, 256, 256};
};

/// The content of a cublasLtMatmulAlgo_t.
struct Algorithm {
  uint64_t magic;
  uint64_t id;
  uint64_t workspace;
  uint64_t problem; ///< hash
  uint64_t alignment[4];
};
static_assert(sizeof(Algorithm) == sizeof(cublasLtMatmulAlgo_t));
constexpr uint64_t kMagic = 0x66616b6567656d6d;

/// The algorithms, in the order in which they are offered.
enum : uint64_t { Unusable, SplitK, FailsWhenCalled, Plain, Pieces };
constexpr uint64_t kWorkspace[] = {0, 4 << 20, 0, 0, 64 << 10};

/// Live objects of each kind, to refuse what is none.
template <typename T>
std::set<const void *> &living() {
  static auto *all = new std::set<const void *>;
  return *all;
}
template <typename T, typename Opaque>
T *object(Opaque *opaque) {
  return living<T>().count(opaque) ? reinterpret_cast<T *>(opaque) : nullptr;
}
template <typename T, typename Opaque>
cublasStatus_t create(Opaque **to, T value) {
  Guard guard;
  auto *made = new T(value);
  living<T>().insert(made);
  *to = reinterpret_cast<Opaque *>(made);
  return CUBLAS_STATUS_SUCCESS;
}
template <typename T, typename Opaque>
cublasStatus_t destroy(Opaque *opaque) {
  Guard guard;
  T *found = object<T>(opaque);
  if (!found)
    return CUBLAS_STATUS_INVALID_VALUE;
  living<T>().erase(opaque);
  delete found;
  return CUBLAS_STATUS_SUCCESS;
}

/// Gives the object to `set`, which assigns an attribute.
template <typename T, typename Opaque, typename Set>
cublasStatus_t change(Opaque *opaque, Set set) {
  Guard guard;
  T *found = object<T>(opaque);
  return found ? set(*found) : CUBLAS_STATUS_INVALID_VALUE;
}

template <typename T>
cublasStatus_t assign(T &member, const void *from, size_t bytes) {
  if (!from || bytes != sizeof(T))
    return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&member, from, sizeof(T));
  return CUBLAS_STATUS_SUCCESS;
}

std::optional<Float> floatOf(cudaDataType type) {
  switch (type) {
  case CUDA_R_32F:
    return Float::F32;
  case CUDA_R_16BF:
    return Float::BF16;
  case CUDA_R_16F:
    return Float::F16;
  default:
    return std::nullopt;
  }
}

/// Everything that decides which algorithm fits.
struct Problem {
  Description d;
  Layout a, b, c, out;

  bool transposedA() const { return d.transA != CUBLAS_OP_N; }
  bool transposedB() const { return d.transB != CUBLAS_OP_N; }
  int64_t m() const { return int64_t(transposedA() ? a.columns : a.rows); }
  int64_t k() const { return int64_t(transposedA() ? a.rows : a.columns); }
  int64_t n() const { return int64_t(transposedB() ? b.rows : b.columns); }
  bool hasBias() const { return d.epilogue & CUBLASLT_EPILOGUE_BIAS; }

  uint64_t hash() const {
    uint64_t words[] = {
        uint64_t(d.compute), uint64_t(d.scale),    uint64_t(d.transA),
        uint64_t(d.transB),  uint64_t(d.epilogue), uint64_t(d.biasType),
        uint64_t(m()),       uint64_t(n()),        uint64_t(k()),
        uint64_t(a.type),    uint64_t(a.ld),       uint64_t(a.order),
        uint64_t(b.type),    uint64_t(b.ld),       uint64_t(b.order),
        uint64_t(c.type),    uint64_t(c.ld),       uint64_t(c.order),
        uint64_t(out.type),  uint64_t(out.ld),     uint64_t(out.order),
        uint64_t(a.batch)};
    return XXH3_64bits(words, sizeof(words));
  }

  cublasStatus_t check() const {
    for (const Layout *layout : {&a, &b, &c, &out})
      if (!layout->valid())
        return CUBLAS_STATUS_INVALID_VALUE;
    int64_t kOfB = int64_t(transposedB() ? b.columns : b.rows);
    if (k() != kOfB || int64_t(out.rows) != m() ||
        int64_t(out.columns) != n() || c.rows != out.rows ||
        c.columns != out.columns || a.batch != b.batch || a.batch != c.batch ||
        a.batch != out.batch)
      return CUBLAS_STATUS_INVALID_VALUE;
    bool narrow = a.type == CUDA_R_16BF || a.type == CUDA_R_16F;
    bool types =
        a.type == b.type && c.type == out.type && d.scale == CUDA_R_32F &&
        (a.type == CUDA_R_32F
             ? out.type == CUDA_R_32F
             : narrow && (out.type == a.type || out.type == CUDA_R_32F));
    bool compute = d.compute == CUBLAS_COMPUTE_32F ||
                   (d.compute == CUBLAS_COMPUTE_32F_FAST_TF32 && !narrow);
    bool epilogue = false;
    for (uint32_t known : {CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_RELU,
                           CUBLASLT_EPILOGUE_BIAS, CUBLASLT_EPILOGUE_RELU_BIAS,
                           CUBLASLT_EPILOGUE_GELU, CUBLASLT_EPILOGUE_GELU_BIAS})
      epilogue |= d.epilogue == known;
    bool bias = !hasBias() || d.biasType == -1 || d.biasType == out.type;
    // The library wants one order of C and D, and the epilogues that walk
    // along rows of D want it to be by columns.
    bool orders =
        c.order == out.order && (d.epilogue == CUBLASLT_EPILOGUE_DEFAULT ||
                                 out.order == CUBLASLT_ORDER_COL);
    return types && compute && epilogue && bias && orders &&
                   d.transC == CUBLAS_OP_N
               ? CUBLAS_STATUS_SUCCESS
               : CUBLAS_STATUS_NOT_SUPPORTED;
  }
};

cublasStatus_t problemOf(cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                         cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
                         cublasLtMatrixLayout_t d, Problem &problem) {
  auto *description = object<Description>(desc);
  Layout *layouts[] = {object<Layout>(a), object<Layout>(b), object<Layout>(c),
                       object<Layout>(d)};
  if (!description)
    return CUBLAS_STATUS_INVALID_VALUE;
  for (Layout *layout : layouts)
    if (!layout)
      return CUBLAS_STATUS_INVALID_VALUE;
  problem = {*description, *layouts[0], *layouts[1], *layouts[2], *layouts[3]};
  return problem.check();
}

/// The largest power of two up to 256 that divides an address.
uint64_t alignmentOf(const void *data) {
  auto address = reinterpret_cast<uintptr_t>(data) | 256;
  return address & -address;
}

} // namespace

//===----------------------------------------------------------------------===//
// Objects
//===----------------------------------------------------------------------===//

cublasStatus_t cublasLtCreate(cublasLtHandle_t *lightHandle) {
  Guard guard;
  if (!lightHandle)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (ready() != CUDA_SUCCESS)
    return CUBLAS_STATUS_NOT_INITIALIZED;
  // The library allocates for a handle.
  if (refuseInCapture("cublasLtCreate") != CUDA_SUCCESS)
    return CUBLAS_STATUS_ALLOC_FAILED;
  auto *handle = new Handle{currentDevice()};
  living<Handle>().insert(handle);
  *lightHandle = reinterpret_cast<cublasLtHandle_t>(handle);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t lightHandle) {
  return destroy<Handle>(lightHandle);
}

size_t cublasLtGetVersion() { return CUBLAS_VERSION; }

const char *cublasLtGetStatusString(cublasStatus_t status) {
  switch (status) {
#define FAKE_STATUS(name)                                                      \
  case name:                                                                   \
    return #name;
    FAKE_STATUS(CUBLAS_STATUS_SUCCESS)
    FAKE_STATUS(CUBLAS_STATUS_NOT_INITIALIZED)
    FAKE_STATUS(CUBLAS_STATUS_ALLOC_FAILED)
    FAKE_STATUS(CUBLAS_STATUS_INVALID_VALUE)
    FAKE_STATUS(CUBLAS_STATUS_EXECUTION_FAILED)
    FAKE_STATUS(CUBLAS_STATUS_NOT_SUPPORTED)
#undef FAKE_STATUS
  default:
    return "unknown";
  }
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *matmulDesc,
                                        cublasComputeType_t computeType,
                                        cudaDataType_t scaleType) {
  return create(matmulDesc, Description{computeType, scaleType});
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t matmulDesc) {
  return destroy<Description>(matmulDesc);
}

cublasStatus_t
cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t matmulDesc,
                               cublasLtMatmulDescAttributes_t attr,
                               const void *buf, size_t sizeInBytes) {
  return change<Description>(matmulDesc, [&](Description &d) {
    switch (attr) {
    case CUBLASLT_MATMUL_DESC_COMPUTE_TYPE:
      return assign(d.compute, buf, sizeInBytes);
    case CUBLASLT_MATMUL_DESC_SCALE_TYPE:
      return assign(d.scale, buf, sizeInBytes);
    case CUBLASLT_MATMUL_DESC_POINTER_MODE:
      return assign(d.pointerMode, buf, sizeInBytes);
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return assign(d.transA, buf, sizeInBytes);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return assign(d.transB, buf, sizeInBytes);
    case CUBLASLT_MATMUL_DESC_TRANSC:
      return assign(d.transC, buf, sizeInBytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return assign(d.epilogue, buf, sizeInBytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return assign(d.bias, buf, sizeInBytes);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
      return assign(d.biasType, buf, sizeInBytes);
    case CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE:
      return assign(d.biasBatchStride, buf, sizeInBytes);
    case CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET:
      return assign(d.multiprocessors, buf, sizeInBytes);
    default:
      return CUBLAS_STATUS_INVALID_VALUE;
    }
  });
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *matLayout,
                                          cudaDataType type, uint64_t rows,
                                          uint64_t cols, int64_t ld) {
  return create(matLayout, Layout{type, rows, cols, ld});
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t matLayout) {
  return destroy<Layout>(matLayout);
}

cublasStatus_t
cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t matLayout,
                                 cublasLtMatrixLayoutAttribute_t attr,
                                 const void *buf, size_t sizeInBytes) {
  return change<Layout>(matLayout, [&](Layout &l) {
    switch (attr) {
    case CUBLASLT_MATRIX_LAYOUT_TYPE:
      return assign(l.type, buf, sizeInBytes);
    case CUBLASLT_MATRIX_LAYOUT_ORDER: {
      int32_t order;
      TRY(assign(order, buf, sizeInBytes));
      if (order != CUBLASLT_ORDER_COL && order != CUBLASLT_ORDER_ROW)
        return CUBLAS_STATUS_NOT_SUPPORTED;
      l.order = order;
      return CUBLAS_STATUS_SUCCESS;
    }
    case CUBLASLT_MATRIX_LAYOUT_ROWS:
      return assign(l.rows, buf, sizeInBytes);
    case CUBLASLT_MATRIX_LAYOUT_COLS:
      return assign(l.columns, buf, sizeInBytes);
    case CUBLASLT_MATRIX_LAYOUT_LD:
      return assign(l.ld, buf, sizeInBytes);
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
      return assign(l.batch, buf, sizeInBytes);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
      return assign(l.batchStride, buf, sizeInBytes);
    default:
      return CUBLAS_STATUS_INVALID_VALUE;
    }
  });
}

cublasStatus_t
cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *pref) {
  return create(pref, Preference{});
}

cublasStatus_t
cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t pref) {
  return destroy<Preference>(pref);
}

cublasStatus_t
cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t pref,
                                     cublasLtMatmulPreferenceAttributes_t attr,
                                     const void *buf, size_t sizeInBytes) {
  return change<Preference>(pref, [&](Preference &p) {
    switch (attr) {
    case CUBLASLT_MATMUL_PREF_SEARCH_MODE:
      return assign(p.search, buf, sizeInBytes);
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
      return assign(p.workspace, buf, sizeInBytes);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
      return assign(p.reductions, buf, sizeInBytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
      return assign(p.alignment[0], buf, sizeInBytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
      return assign(p.alignment[1], buf, sizeInBytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
      return assign(p.alignment[2], buf, sizeInBytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
      return assign(p.alignment[3], buf, sizeInBytes);
    default:
      return CUBLAS_STATUS_INVALID_VALUE;
    }
  });
}

//===----------------------------------------------------------------------===//
// Algorithms and products
//===----------------------------------------------------------------------===//

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t lightHandle, cublasLtMatmulDesc_t operationDesc,
    cublasLtMatrixLayout_t Adesc, cublasLtMatrixLayout_t Bdesc,
    cublasLtMatrixLayout_t Cdesc, cublasLtMatrixLayout_t Ddesc,
    cublasLtMatmulPreference_t preference, int requestedAlgoCount,
    cublasLtMatmulHeuristicResult_t heuristicResultsArray[],
    int *returnAlgoCount) {
  Guard guard;
  if (!living<Handle>().count(lightHandle))
    return CUBLAS_STATUS_NOT_INITIALIZED;
  auto *p = object<Preference>(preference);
  if (!p || requestedAlgoCount <= 0 || !heuristicResultsArray ||
      !returnAlgoCount)
    return CUBLAS_STATUS_INVALID_VALUE;
  *returnAlgoCount = 0;
  Problem problem;
  TRY(problemOf(operationDesc, Adesc, Bdesc, Cdesc, Ddesc, problem));
  for (uint64_t id : {Unusable, SplitK, FailsWhenCalled, Plain, Pieces}) {
    if (*returnAlgoCount == requestedAlgoCount)
      break;
    bool fits =
        kWorkspace[id] <= p->workspace &&
        (id != SplitK || p->reductions != CUBLASLT_REDUCTION_SCHEME_NONE);
    // Algorithms that do not fit the workspace are left out, but one entry says
    // why.
    if (!fits && id != SplitK)
      continue;
    cublasLtMatmulHeuristicResult_t &result =
        heuristicResultsArray[(*returnAlgoCount)++];
    std::memset(&result, 0xff, sizeof(result));
    result.state = fits && id != Unusable ? CUBLAS_STATUS_SUCCESS
                                          : CUBLAS_STATUS_NOT_SUPPORTED;
    if (result.state != CUBLAS_STATUS_SUCCESS)
      continue;
    Algorithm algorithm = {kMagic, id, kWorkspace[id], problem.hash(), {}};
    for (int i = 0; i < 4; ++i)
      algorithm.alignment[i] = id == Plain ? 1 : p->alignment[i];
    std::memcpy(&result.algo, &algorithm, sizeof(algorithm));
    result.workspaceSize = kWorkspace[id];
    result.wavesCount = 1;
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t
cublasLtMatmul(cublasLtHandle_t lightHandle, cublasLtMatmulDesc_t computeDesc,
               const void *alpha, const void *A, cublasLtMatrixLayout_t Adesc,
               const void *B, cublasLtMatrixLayout_t Bdesc, const void *beta,
               const void *C, cublasLtMatrixLayout_t Cdesc, void *D,
               cublasLtMatrixLayout_t Ddesc, const cublasLtMatmulAlgo_t *algo,
               void *workspace, size_t workspaceSizeInBytes,
               cudaStream_t stream) {
  Guard guard;
  if (!living<Handle>().count(lightHandle))
    return CUBLAS_STATUS_NOT_INITIALIZED;
  if (ready() != CUDA_SUCCESS)
    return CUBLAS_STATUS_EXECUTION_FAILED;
  Problem q;
  TRY(problemOf(computeDesc, Adesc, Bdesc, Cdesc, Ddesc, q));
  if (!alpha || !beta || q.d.pointerMode != CUBLASLT_POINTER_MODE_HOST)
    return q.d.pointerMode == CUBLASLT_POINTER_MODE_HOST
               ? CUBLAS_STATUS_INVALID_VALUE
               : CUBLAS_STATUS_NOT_SUPPORTED;
  Algorithm chosen = {kMagic, Plain, 0, q.hash(), {1, 1, 1, 1}};
  if (algo)
    std::memcpy(&chosen, algo, sizeof(chosen));
  if (chosen.magic != kMagic || chosen.problem != q.hash() ||
      chosen.id == FailsWhenCalled)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  if (chosen.workspace > workspaceSizeInBytes)
    return CUBLAS_STATUS_INVALID_VALUE;

  Float in = *floatOf(q.a.type), out = *floatOf(q.out.type);
  float a = *static_cast<const float *>(alpha);
  float b = *static_cast<const float *>(beta);
  if (b == 0)
    C = D; // not read
  const void *operands[] = {A, B, C, D};
  Float types[] = {in, in, out, out};
  for (int i = 0; i < 4; ++i) {
    uint64_t alignment = alignmentOf(operands[i]);
    if (!operands[i] || alignment < uint64_t(bytesOf(types[i])))
      return CUBLAS_STATUS_INVALID_VALUE;
    if (alignment < chosen.alignment[i])
      return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  if (chosen.workspace && alignmentOf(workspace) < 16)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (q.hasBias() &&
      (!q.d.bias || alignmentOf(q.d.bias) < uint64_t(bytesOf(out))))
    return CUBLAS_STATUS_INVALID_VALUE;
  // C may be D, and then in the same layout.
  if (b != 0 && C == D && (q.c.ld != q.out.ld || q.c.order != q.out.order))
    return CUBLAS_STATUS_INVALID_VALUE;

  Product product;
  product.m = q.m();
  product.n = q.n();
  product.k = q.k();
  product.alpha = a;
  product.beta = b;
  product.tf32 = q.d.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  product.pieces = chosen.id == SplitK ? 2 : chosen.id == Pieces ? 3 : 1;
  product.activation = q.d.epilogue & CUBLASLT_EPILOGUE_RELU ? Activation::Relu
                       : q.d.epilogue & CUBLASLT_EPILOGUE_GELU
                           ? Activation::Gelu
                           : Activation::None;
  auto work = [=]() mutable {
    struct Range {
      const char *what;
      const void *data;
      int64_t elements;
      Float type;
    } ranges[] = {{"A", A, q.a.extentOfAll(), in},
                  {"B", B, q.b.extentOfAll(), in},
                  {"C", C, q.c.extentOfAll(), out},
                  {"D", D, q.out.extentOfAll(), out},
                  {"the bias", q.hasBias() ? q.d.bias : D,
                   (q.out.batch - 1) * q.d.biasBatchStride + product.m, out},
                  {"the workspace", chosen.workspace ? workspace : D,
                   int64_t(chosen.workspace / uint64_t(bytesOf(out))), out}};
    for (const Range &range : ranges)
      if (range.data != D &&
          !onDevice(range.data, size_t(range.elements * bytesOf(range.type)))) {
        Scheduler::get().fail(CUDA_ERROR_ILLEGAL_ADDRESS,
                              std::string(range.what) + " of a product is " +
                                  describe(range.data));
        return Step::Done;
      }
    if (!onDevice(D, size_t(q.out.extentOfAll() * bytesOf(out)))) {
      Scheduler::get().fail(CUDA_ERROR_ILLEGAL_ADDRESS,
                            "D of a product is " + describe(D));
      return Step::Done;
    }
    auto contiguous = [](const Layout &l) {
      return l.ld ==
             int64_t(l.order == CUBLASLT_ORDER_COL ? l.rows : l.columns);
    };
    auto *end =
        static_cast<const char *>(D) + q.out.extentOfAll() * bytesOf(out);
    for (int i : {0, 1}) { // A and B
      auto *begin = static_cast<const char *>(ranges[i].data);
      const Layout &layout = i == 0 ? q.a : q.b;
      if (contiguous(layout) && contiguous(q.out) && begin < end &&
          static_cast<const char *>(D) <
              begin + ranges[i].elements * bytesOf(in)) {
        Scheduler::get().fail(CUDA_ERROR_LAUNCH_FAILED,
                              std::string(ranges[i].what) +
                                  " of a product overlaps D");
        return Step::Done;
      }
    }
    openMemory();
    if (chosen.workspace)
      std::memset(workspace, 0xff, chosen.workspace);
    for (int64_t i = 0; i < q.out.batch; ++i) {
      auto at = [i](const void *base, int64_t stride, Float type) -> void * {
        return static_cast<char *>(const_cast<void *>(base)) +
               i * stride * bytesOf(type);
      };
      product.a = q.a.matrix(in, at(A, q.a.batchStride, in), q.transposedA());
      product.b = q.b.matrix(in, at(B, q.b.batchStride, in), q.transposedB());
      product.c = q.c.matrix(out, at(C, q.c.batchStride, out), false);
      product.d = q.out.matrix(out, at(D, q.out.batchStride, out), false);
      product.bias =
          q.hasBias() ? at(q.d.bias, q.d.biasBatchStride, out) : nullptr;
      Unlocked unlocked;
      multiply(product);
    }
    return Step::Done;
  };
  char name[64];
  std::snprintf(name, sizeof(name), "product %lldx%lldx%lld",
                static_cast<long long>(product.m),
                static_cast<long long>(product.n),
                static_cast<long long>(product.k));
  CUresult result = submitWork(reinterpret_cast<CUstream>(stream), name, work);
  return result == CUDA_SUCCESS ? CUBLAS_STATUS_SUCCESS
                                : CUBLAS_STATUS_EXECUTION_FAILED;
}
