//===- EmulatorTest.cpp - The emulator's interface ------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Launches that are refused and why, several launches at once, and how memory
// is registered.
//
//===----------------------------------------------------------------------===//

#include "Emulator.h"
#include "EmulateKernels.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/SourceMgr.h"
#include "gtest/gtest.h"
#include <memory>
#include <numeric>
#include <thread>

namespace {

/// reverse: y[63 - i] = x[i] in each block of 64, by way of shared memory.
/// limited: does nothing, in blocks of at most 32 threads. exact: in blocks of
/// 8x2. large: has 50000 bytes of static shared memory.
constexpr char source[] = R"(
target triple = "nvptx64-nvidia-cuda"
@buffer = internal addrspace(3) global [64 x float] undef, align 16
@large_buffer = internal addrspace(3) global [50000 x i8] undef, align 16
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
define ptx_kernel void @reverse(ptr %x, ptr %y, i64 %scale) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %base = mul i32 %b, 64
  %from = add i32 %base, %t
  %px = getelementptr float, ptr %x, i32 %from
  %v = load float, ptr %px
  %s = getelementptr float, ptr addrspace(3) @buffer, i32 %t
  store float %v, ptr addrspace(3) %s
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %u = sub i32 63, %t
  %su = getelementptr float, ptr addrspace(3) @buffer, i32 %u
  %w = load float, ptr addrspace(3) %su
  %f = sitofp i64 %scale to float
  %z = fmul float %w, %f
  %py = getelementptr float, ptr %y, i32 %from
  store float %z, ptr %py
  ret void
}
define ptx_kernel void @limited() "nvvm.maxntid"="32" { ret void }
define ptx_kernel void @exact() "nvvm.reqntid"="8,2,1" { ret void }
define ptx_kernel void @large() {
  store i8 0, ptr addrspace(3) @large_buffer
  ret void
}
)";

class EmulatorTest : public testing::Test {
protected:
  void SetUp() override {
    llvm::LLVMContext context;
    llvm::SMDiagnostic diagnostic;
    auto module = llvm::parseAssemblyString(source, diagnostic, context);
    ASSERT_TRUE(module) << diagnostic.getMessage().str();
    ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("emulator", "so", path));
    llvm::Error error =
        tp::emulator::rewriteKernels(*module, /*ptxHash=*/42, true);
    ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
    error = tp::emulator::linkKernels(*module, path);
    ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
    char message[256];
    emulator = tpEmulatorOpen(path.c_str(), message, sizeof message);
    ASSERT_TRUE(emulator) << message;
  }
  void TearDown() override {
    tpEmulatorClose(emulator);
    llvm::sys::fs::remove(path);
  }

  /// The findings of a launch, a line each.
  std::string launch(const char *kernel, TpEmulatorDim grid,
                     TpEmulatorDim block, uint32_t bytes, void **arguments,
                     uint64_t seed = 0) {
    std::string text;
    int32_t count = tpEmulatorLaunch(
        emulator, kernel, grid, block, bytes, arguments, seed,
        [](void *context, const char *finding) {
          *static_cast<std::string *>(context) += std::string(finding) + "\n";
        },
        &text);
    EXPECT_EQ(count, std::count(text.begin(), text.end(), '\n'));
    return text;
  }

  llvm::SmallString<128> path;
  TpEmulator *emulator = nullptr;
};

TEST_F(EmulatorTest, Tables) {
  EXPECT_EQ(tpEmulatorPtxHash(emulator), 42u);
  EXPECT_EQ(tpEmulatorIsChecked(emulator), 1);
  ASSERT_EQ(tpEmulatorKernelCount(emulator), 4);
  int32_t reverse = tpEmulatorFindKernel(emulator, "reverse");
  EXPECT_STREQ(tpEmulatorKernelName(emulator, reverse), "reverse");
  EXPECT_EQ(tpEmulatorParameterCount(emulator, reverse), 3);
  EXPECT_EQ(tpEmulatorStaticSharedBytes(emulator, reverse), 256);
  EXPECT_EQ(tpEmulatorFindKernel(emulator, "other"), -1);
  EXPECT_EQ(tpEmulatorParameterCount(emulator, 4), -1);
  EXPECT_EQ(tpEmulatorKernelName(emulator, -1), nullptr);
}

/// The error of rewriting and linking a kernel with `body`.
std::string getProblem(const std::string &body,
                       const char *triple = "nvptx64-nvidia-cuda") {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  auto module = llvm::parseAssemblyString(
      "target triple = \"" + std::string(triple) +
          "\"\n"
          "declare i64 @llvm.nvvm.read.ptx.sreg.clock64()\n"
          "declare float @other(float)\n"
          "define ptx_kernel void @k(ptr %x) {\n" +
          body + "\n ret void\n}\n",
      diagnostic, context);
  if (!module)
    return diagnostic.getMessage().str();
  llvm::SmallString<128> path;
  if (llvm::sys::fs::createTemporaryFile("emulator", "so", path))
    return "no temporary file";
  llvm::Error error = tp::emulator::rewriteKernels(*module, 0, true);
  if (!error)
    error = tp::emulator::linkKernels(*module, path);
  llvm::sys::fs::remove(path);
  return llvm::toString(std::move(error));
}

TEST(RewriteTest, NamesWhatItDoesNotHave) {
  EXPECT_EQ(getProblem(""), "");
  EXPECT_NE(getProblem("%c = call i64 @llvm.nvvm.read.ptx.sreg.clock64()\n"
                       "store i64 %c, ptr %x")
                .find("tpEmulate_read_ptx_sreg_clock64"),
            std::string::npos);
  EXPECT_EQ(getProblem("call void asm sideeffect \"nanosleep.u32 10;\", "
                       "\"\"()"),
            "inline PTX is not emulated: nanosleep.u32");
  EXPECT_EQ(getProblem("%v = call float @other(float 1.0)"),
            "a function without definition: other");
  EXPECT_EQ(getProblem("", "x86_64-unknown-linux-gnu"),
            "expected bitcode for nvptx64, got x86_64-unknown-linux-gnu");
}

TEST_F(EmulatorTest, RefusesToOpen) {
  char message[256];
  EXPECT_FALSE(tpEmulatorOpen("/nowhere.so", message, sizeof message));
  EXPECT_NE(std::string(message).find("/nowhere.so"), std::string::npos);
  EXPECT_FALSE(tpEmulatorOpen("libm.so.6", message, sizeof message));
  EXPECT_STREQ(message, "libm.so.6: expected kernels made by this build's "
                        "tp-emulate-kernels");
  char cut[8];
  EXPECT_FALSE(tpEmulatorOpen("libm.so.6", cut, sizeof cut));
  EXPECT_STREQ(cut, "libm.so");
}

TEST_F(EmulatorTest, RefusesToLaunch) {
  TpEmulatorDim one{1, 1, 1};
  EXPECT_EQ(launch("other", one, one, 0, nullptr),
            "kernel other: cannot be launched: no such kernel\n");
  EXPECT_EQ(launch("limited", one, {33, 1, 1}, 0, nullptr),
            "kernel limited: cannot be launched: expected a block of 1 to 32 "
            "threads, got 33x1x1\n");
  EXPECT_EQ(launch("limited", one, {0, 1, 1}, 0, nullptr),
            "kernel limited: cannot be launched: expected a block of 1 to 32 "
            "threads, got 0x1x1\n");
  EXPECT_EQ(launch("limited", one, {32, 1, 1}, 0, nullptr), "");
  EXPECT_EQ(launch("exact", one, {16, 1, 1}, 0, nullptr),
            "kernel exact: cannot be launched: expected a block of 8x2x1 "
            "threads, got 16x1x1\n");
  EXPECT_EQ(launch("exact", one, {8, 2, 1}, 0, nullptr), "");
  EXPECT_EQ(launch("exact", {1, 65536, 1}, {8, 2, 1}, 0, nullptr),
            "kernel exact: cannot be launched: expected a grid of at least "
            "1x1x1 and at most 2^31-1 x 65535 x 65535 blocks, got 1x65536x1\n");
  EXPECT_EQ(launch("large", one, one, 0, nullptr),
            "kernel large: cannot be launched: expected at most 49152 bytes of "
            "static shared memory, got 50000\n");
  EXPECT_EQ(launch("reverse", one, {64, 1, 1}, 166912, nullptr),
            "kernel reverse: cannot be launched: expected at most 166912 bytes "
            "of shared memory, got 167168\n");
}

TEST_F(EmulatorTest, RegisteredMemory) {
  std::vector<float> x(64, 1), y(64, 0);
  float *px = x.data(), *py = y.data();
  int64_t scale = 2;
  void *arguments[] = {&px, &py, &scale};
  tpEmulatorRegister(px, x.size() * sizeof(float));
  EXPECT_NE(launch("reverse", {1, 1, 1}, {64, 1, 1}, 0, arguments)
                .find("global memory out of bounds"),
            std::string::npos);
  EXPECT_EQ(y[0], 0); // it stopped before the access
  tpEmulatorRegister(py, y.size() * sizeof(float));
  EXPECT_EQ(launch("reverse", {1, 1, 1}, {64, 1, 1}, 0, arguments), "");
  EXPECT_EQ(y[0], 2);
  tpEmulatorUnregister(px);
  EXPECT_NE(launch("reverse", {1, 1, 1}, {64, 1, 1}, 0, arguments)
                .find("global memory out of bounds"),
            std::string::npos);
  tpEmulatorUnregister(py);
}

TEST_F(EmulatorTest, AccessLimit) {
  std::vector<float> x(64, 1), y(64, 0);
  float *px = x.data(), *py = y.data();
  int64_t scale = 1;
  void *arguments[] = {&px, &py, &scale};
  tpEmulatorRegister(px, 256);
  tpEmulatorRegister(py, 256);
  tpEmulatorSetAccessLimit(10);
  EXPECT_NE(launch("reverse", {1, 1, 1}, {64, 1, 1}, 0, arguments)
                .find("too many accesses: 10, the limit that was set"),
            std::string::npos);
  tpEmulatorSetAccessLimit(0);
  EXPECT_EQ(launch("reverse", {1, 1, 1}, {64, 1, 1}, 0, arguments), "");
  tpEmulatorUnregister(px);
  tpEmulatorUnregister(py);
}

// Launches of several host threads have nothing to do with each other.
TEST_F(EmulatorTest, Threads) {
  constexpr int numThreads = 4, numBlocks = 5;
  std::vector<std::string> findings(numThreads);
  std::vector<std::vector<float>> results(numThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < numThreads; ++i)
    threads.emplace_back([&, i] {
      std::vector<float> x(64 * numBlocks);
      std::iota(x.begin(), x.end(), 0.0f);
      std::vector<float> &y = results[i];
      y.resize(x.size());
      float *px = x.data(), *py = y.data();
      tpEmulatorRegister(px, x.size() * sizeof(float));
      tpEmulatorRegister(py, y.size() * sizeof(float));
      int64_t scale = i + 1;
      void *arguments[] = {&px, &py, &scale};
      for (uint64_t seed = 0; seed < 20; ++seed)
        findings[i] += launch("reverse", {numBlocks, 1, 1}, {64, 1, 1}, 0,
                              arguments, seed);
      tpEmulatorUnregister(px);
      tpEmulatorUnregister(py);
    });
  for (std::thread &thread : threads)
    thread.join();
  for (int i = 0; i < numThreads; ++i) {
    EXPECT_EQ(findings[i], "");
    for (int j = 0; j < 64 * numBlocks; ++j)
      ASSERT_EQ(results[i][j], float((j / 64 * 64 + 63 - j % 64) * (i + 1)));
  }
}

} // namespace
