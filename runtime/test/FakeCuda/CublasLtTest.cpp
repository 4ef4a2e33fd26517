//===- CublasLtTest.cpp - products of the library for tests ---------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Against a plain loop in double precision, in the form in which the runtime
// asks: row-major y = x w^T is column-major y^T = w x^T.
//
//===----------------------------------------------------------------------===//

#include "TestUtil.h"

#include <cmath>
#include <cstring>

using namespace fake::test;

namespace {

float widen(uint16_t bits) {
  uint32_t word = uint32_t(bits) << 16;
  float value;
  std::memcpy(&value, &word, 4);
  return value;
}

uint16_t narrow(float value) { // truncates, which is exact for our inputs
  uint32_t word;
  std::memcpy(&word, &value, 4);
  return uint16_t(word >> 16);
}

/// Small multiples of 1/8: sums of products are exact in f32.
float element(size_t i) { return float(int(i * 7 % 23) - 11) / 8; }

struct Case {
  int64_t rows, n, k;
  bool bf16 = false;
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  float alpha = 1, beta = 0;
  bool transposedW = false; ///< w is [k, n] instead of [n, k]
};

struct Lt {
  cublasLtHandle_t handle;
  cublasLtMatmulDesc_t description;
  cublasLtMatrixLayout_t a, b, d;
  cublasLtMatmulPreference_t preference;
  std::vector<cublasLtMatmulHeuristicResult_t> found;

  void make(const Case &c, const void *bias, uint64_t workspace = 8 << 20) {
    cudaDataType type = c.bf16 ? CUDA_R_16BF : CUDA_R_32F;
    OK(cublasLtCreate(&handle));
    OK(cublasLtMatmulDescCreate(&description, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    cublasOperation_t t = c.transposedW ? CUBLAS_OP_N : CUBLAS_OP_T;
    set(CUBLASLT_MATMUL_DESC_TRANSA, t);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, c.epilogue);
    if (bias)
      set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
    if (c.transposedW)
      OK(cublasLtMatrixLayoutCreate(&a, type, c.n, c.k, c.n));
    else
      OK(cublasLtMatrixLayoutCreate(&a, type, c.k, c.n, c.k));
    OK(cublasLtMatrixLayoutCreate(&b, type, c.k, c.rows, c.k));
    OK(cublasLtMatrixLayoutCreate(&d, type, c.n, c.rows, c.n));
    OK(cublasLtMatmulPreferenceCreate(&preference));
    OK(cublasLtMatmulPreferenceSetAttribute(
        preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace,
        sizeof(workspace)));
  }
  template <typename T>
  void set(cublasLtMatmulDescAttributes_t attribute, const T &value) {
    OK(cublasLtMatmulDescSetAttribute(description, attribute, &value,
                                      sizeof(value)));
  }
  cublasStatus_t ask(int count = 8) {
    found.resize(size_t(count));
    int got = 0;
    cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        handle, description, a, b, d, d, preference, count, found.data(), &got);
    found.resize(size_t(got));
    return status;
  }
};

template <typename T>
T convert(float value) {
  if constexpr (sizeof(T) == 2)
    return narrow(value);
  else
    return value;
}

template <typename T>
void check(const Case &c) {
  auto fill = [](int64_t count, size_t shift) {
    std::vector<T> values;
    for (int64_t i = 0; i < count; ++i)
      values.push_back(convert<T>(element(size_t(i) + shift)));
    return values;
  };
  auto value = [](T t) {
    if constexpr (sizeof(T) == 2)
      return widen(t);
    else
      return t;
  };
  std::vector<T> x = fill(c.rows * c.k, 0), w = fill(c.n * c.k, 5),
                 bias = fill(c.n, 3), y = fill(c.rows * c.n, 9);
  T *deviceX = device(x), *deviceW = device(w), *deviceBias = device(bias),
    *deviceY = device<T>(y.size());
  char *workspace = device<char>(8 << 20);
  Lt lt;
  lt.make(c, c.epilogue & CUBLASLT_EPILOGUE_BIAS ? deviceBias : nullptr);
  OK(lt.ask());
  int worked = 0, failed = 0;
  for (auto &result : lt.found) {
    if (result.state != CUBLAS_STATUS_SUCCESS)
      continue;
    OK(cuMemcpyHtoDAsync(address(deviceY), y.data(), y.size() * sizeof(T),
                         nullptr));
    cublasStatus_t status =
        cublasLtMatmul(lt.handle, lt.description, &c.alpha, deviceW, lt.a,
                       deviceX, lt.b, &c.beta, deviceY, lt.d, deviceY, lt.d,
                       &result.algo, workspace, result.workspaceSize, nullptr);
    if (status != CUBLAS_STATUS_SUCCESS) {
      ++failed;
      continue;
    }
    ++worked;
    std::vector<T> got = host(deviceY, y.size());
    for (int64_t r = 0; r < c.rows; ++r)
      for (int64_t n = 0; n < c.n; ++n) {
        double sum = 0;
        for (int64_t k = 0; k < c.k; ++k)
          sum += double(value(x[size_t(r * c.k + k)])) *
                 value(w[size_t(c.transposedW ? k * c.n + n : n * c.k + k)]);
        size_t at = size_t(r * c.n + n);
        sum = c.alpha * sum + (c.beta != 0 ? c.beta * value(y[at]) : 0);
        if (c.epilogue & CUBLASLT_EPILOGUE_BIAS)
          sum += value(bias[size_t(n)]);
        if (c.epilogue & CUBLASLT_EPILOGUE_RELU)
          sum = std::max(sum, 0.0);
        if (c.epilogue & CUBLASLT_EPILOGUE_GELU)
          sum = 0.5 * sum *
                (1 + std::tanh(0.7978845608028654 *
                               (sum + 0.044715 * sum * sum * sum)));
        double tolerance =
            (c.bf16 ? 0.004 : 1e-6) * std::max(1.0, std::abs(sum));
        ASSERT_NEAR(value(got[at]), sum, tolerance) << r << ", " << n;
      }
  }
  for (void *data : {(void *)deviceX, (void *)deviceW, (void *)deviceBias,
                     (void *)deviceY, (void *)workspace})
    OK(cuMemFree(address(data)));
  EXPECT_EQ(worked, 3);
  EXPECT_EQ(failed, 1);
}

} // namespace

TEST(CublasLt, Multiplies) {
  isolated([] {
    for (auto [rows, n, k] : {std::tuple<int, int, int>(1, 1, 1),
                              {5, 7, 3},
                              {33, 17, 64},
                              {4, 100, 31}})
      for (bool bf16 : {false, true})
        for (bool transposed : {false, true})
          for (cublasLtEpilogue_t epilogue :
               {CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_BIAS,
                CUBLASLT_EPILOGUE_RELU, CUBLASLT_EPILOGUE_RELU_BIAS,
                CUBLASLT_EPILOGUE_GELU_BIAS}) {
            Case c = {rows, n, k, bf16, epilogue, 1, 0, transposed};
            bf16 ? check<uint16_t>(c) : check<float>(c);
            c.alpha = 0.5;
            c.beta = 1;
            bf16 ? check<uint16_t>(c) : check<float>(c);
          }
  });
}

TEST(CublasLt, RefusesWhatTheLibraryDoes) {
  isolated([] {
    Case c = {4, 8, 16, true};
    Lt lt;
    float *bias = device<float>(8);
    c.epilogue = CUBLASLT_EPILOGUE_BIAS;
    lt.make(c, bias);
    OK(lt.ask());
    int32_t type = CUDA_R_32F; // of bf16 results
    lt.set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type);
    EXPECT_EQ(lt.ask(), CUBLAS_STATUS_NOT_SUPPORTED);
    type = CUDA_R_16BF;
    lt.set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type);
    OK(lt.ask());
    lt.set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BGRADA);
    EXPECT_EQ(lt.ask(), CUBLAS_STATUS_NOT_SUPPORTED);
    lt.set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_DEFAULT);
    lt.set(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, CUBLAS_COMPUTE_16F);
    EXPECT_EQ(lt.ask(), CUBLAS_STATUS_NOT_SUPPORTED);
    uint64_t rows = 17;
    lt.set(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, CUBLAS_COMPUTE_32F);
    OK(cublasLtMatrixLayoutSetAttribute(lt.b, CUBLASLT_MATRIX_LAYOUT_ROWS,
                                        &rows, sizeof(rows)));
    EXPECT_EQ(lt.ask(), CUBLAS_STATUS_INVALID_VALUE);
    int32_t wrongSize = 16;
    EXPECT_EQ(cublasLtMatrixLayoutSetAttribute(lt.b,
                                               CUBLASLT_MATRIX_LAYOUT_ROWS,
                                               &wrongSize, sizeof(wrongSize)),
              CUBLAS_STATUS_INVALID_VALUE);
  });
}

TEST(CublasLt, AlgorithmsNeedWhatTheySaid) {
  isolated([] {
    Case c = {4, 8, 16};
    Lt lt, other;
    lt.make(c, nullptr);
    OK(lt.ask());
    auto chosen = lt.found[1]; // has a workspace
    OK(chosen.state);
    EXPECT_GT(chosen.workspaceSize, 0u);
    char *workspace = device<char>(chosen.workspaceSize);
    float *x = device<float>(64), *w = device<float>(129),
          *y = device<float>(32);
    float one = 1, zero = 0;
    auto call = [&](Lt &lt, const float *w, size_t bytes) {
      return cublasLtMatmul(lt.handle, lt.description, &one, w, lt.a, x, lt.b,
                            &zero, y, lt.d, y, lt.d, &chosen.algo, workspace,
                            bytes, nullptr);
    };
    OK(call(lt, w, chosen.workspaceSize));
    EXPECT_EQ(call(lt, w, chosen.workspaceSize - 1),
              CUBLAS_STATUS_INVALID_VALUE);
    EXPECT_EQ(call(lt, w + 1, chosen.workspaceSize),
              CUBLAS_STATUS_NOT_SUPPORTED); // less aligned than it was asked
    c.rows = 3;
    other.make(c, nullptr);
    EXPECT_EQ(call(other, w, chosen.workspaceSize),
              CUBLAS_STATUS_NOT_SUPPORTED); // another problem
    // Without a workspace there is still one that works.
    other.make(c, nullptr, 0);
    OK(other.ask());
    int usable = 0;
    for (auto &result : other.found)
      usable += result.state == CUBLAS_STATUS_SUCCESS;
    EXPECT_EQ(usable, 2);
  });
}

TEST(CublasLt, ReportsOperandsThatAreNotThere) {
  isolated([] {
    Case c = {4, 8, 16};
    Lt lt;
    lt.make(c, nullptr);
    float *x = device<float>(63), *w = device<float>(128),
          *y = device<float>(32);
    float one = 1, zero = 0;
    OK(cublasLtMatmul(lt.handle, lt.description, &one, w, lt.a, x, lt.b, &zero,
                      y, lt.d, y, lt.d, nullptr, nullptr, 0, nullptr));
    EXPECT_EQ(cuStreamSynchronize(nullptr), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT_EQ(cuStreamSynchronize(nullptr), CUDA_ERROR_ILLEGAL_ADDRESS);
  });
}
