//===- CudaLibrariesTest.cpp - CUDA's libraries and images ----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Messages about a library or function that is missing, whether the lists hold
// names that the real libraries have, and which of an artifact's images a
// device gets.
//
//===----------------------------------------------------------------------===//

#include "TestUtil.h"

#include "../cuda/KernelImages.h"
#include "../cuda/libraries/Libraries.h"

#include <cublasLt.h>
#include <cuda.h>
#include <dlfcn.h>
#include <nccl.h>

using namespace tprt;
using namespace tprt::test;

TEST(CudaLibraries, MissingOnesAreNamed) {
  auto none =
      Library::open("a library", "TPRT_TEST_NO_SUCH_VARIABLE",
                    {"libtprt-none.so.2", "libtprt-none.so.1"}, "install it");
  ASSERT_FALSE(bool(none));
  EXPECT_MESSAGE(none.status(),
                 "cannot open a library: libtprt-none.so.2: cannot open shared "
                 "object file: No such file or directory; libtprt-none.so.1: "
                 "cannot open shared object file: No such file or directory; "
                 "install it, or name the file in TPRT_TEST_NO_SUCH_VARIABLE");
  auto system = Library::open("the C library", "TPRT_TEST_NO_SUCH_VARIABLE",
                              {"libtprt-none.so.2", "libc.so.6"}, "wonder");
  ASSERT_TRUE(bool(system));
  EXPECT_EQ(system->path(), "libc.so.6");
  int (*function)() = nullptr;
  EXPECT_MESSAGE(system->find("cuInit_v9", function),
                 "the C library (libc.so.6) has no function 'cuInit_v9': it is "
                 "too old for this build; update it, or name another file in "
                 "TPRT_TEST_NO_SUCH_VARIABLE");
  EXPECT_EQ(function, nullptr);
  EXPECT_TRUE(system->find("getpid", function).ok());
  EXPECT_EQ(function(), getpid());
}

#define TPRT_QUOTE(name) #name
#define TPRT_NAME(name) TPRT_QUOTE(name)

/// Names of the list that the library lacks. The files are the toolkit's: its
/// stub of the driver has every function that drivers have.
static std::string lacking(const char *file,
                           std::initializer_list<const char *> names) {
  void *handle = dlopen(file, RTLD_LAZY | RTLD_LOCAL);
  if (!handle)
    return dlerror();
  std::string text;
  for (const char *name : names)
    if (!dlsym(handle, name))
      text += std::string(name) + " ";
  dlclose(handle);
  return text;
}

TEST(CudaLibraries, ListsNameWhatTheLibrariesHave) {
#define ENTER(function) TPRT_NAME(function),
  std::initializer_list<const char *> driver = {
#define DRIVER ENTER
#include "../cuda/libraries/Functions.def"
  };
  std::initializer_list<const char *> nccl = {
#define NCCL ENTER
#include "../cuda/libraries/Functions.def"
  };
  std::initializer_list<const char *> cublasLt = {
#define CUBLASLT ENTER
#include "../cuda/libraries/Functions.def"
  };
#undef ENTER
  EXPECT_GT(driver.size(), 20u);
  const std::pair<const char *, std::initializer_list<const char *>> all[] = {
      {TPRT_REAL_CUDA, driver},
      {TPRT_REAL_NCCL, nccl},
      {TPRT_REAL_CUBLASLT, cublasLt}};
  bool any = false;
  for (const auto &[file, names] : all) {
    if (!*file)
      continue;
    any = true;
    EXPECT_EQ(lacking(file, names), "") << file;
  }
  if (!any)
    GTEST_SKIP() << "the toolkit's libraries are not installed";
}

TEST(CudaLibraries, ImageForADevice) {
  Program program;
  for (const char *name : {"ptx", "sm_80", "sm_86", "sm_90", "sm_100"})
    program.kernels[std::string("kernels.") + name] = "";
  auto chosen = [&](int major, int minor) {
    auto name = chooseKernels(program, major, minor);
    return name ? *name : name.status().message();
  };
  // Machine code serves its minor version and later ones of the same major.
  EXPECT_EQ(chosen(8, 0), "sm_80");
  EXPECT_EQ(chosen(8, 5), "sm_80");
  EXPECT_EQ(chosen(8, 6), "sm_86");
  EXPECT_EQ(chosen(8, 9), "sm_86");
  EXPECT_EQ(chosen(9, 0), "sm_90");
  EXPECT_EQ(chosen(10, 3), "sm_100");
  // Later ones get the text.
  EXPECT_EQ(chosen(11, 0), "ptx");
  EXPECT_EQ(chosen(12, 1), "ptx");
  EXPECT_EQ(chosen(7, 5),
            "expected a device of compute capability 8.0 or later, got 7.5; "
            "the artifact has kernels as ptx, sm_100, sm_80, sm_86, sm_90");
  program.kernels.erase("kernels.sm_80");
  EXPECT_EQ(chosen(8, 0), "ptx");
  // Kernels of one architecture are no machine code for its family.
  program.kernels["kernels.sm_90a"] = program.kernels["kernels.sm_90a.ptx"] =
      "";
  program.kernels.erase("kernels.sm_90");
  EXPECT_EQ(chosen(9, 0), "ptx");
}

TEST(CudaLibraries, KernelsOfOneArchitecture) {
  Manifest manifest;
  EXPECT_EQ(chooseImage(manifest, 9, 0), "");
  manifest.images = {"sm_90a", "sm_100a"};
  EXPECT_EQ(chooseImage(manifest, 9, 0), "sm_90a");
  EXPECT_EQ(chooseImage(manifest, 10, 0), "sm_100a");
  for (auto [major, minor] : {std::pair(8, 0), {9, 1}, {10, 3}, {12, 0}})
    EXPECT_EQ(chooseImage(manifest, major, minor), "") << major << "." << minor;
}
