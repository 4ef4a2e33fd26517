//===- DeviceSourcesTest.cpp - What cannot be bound or resolved -----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Faults of a kernel's table or source, each with its text. Kernels that are
// right are executed by the emulator's tests.
//
//===----------------------------------------------------------------------===//

#include "tp/Target/Cuda/DeviceSources.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SourceMgr.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace tp;

namespace {

class DeviceSources : public testing::Test {
protected:
  std::unique_ptr<llvm::Module> parse(StringRef text) {
    llvm::SMDiagnostic error;
    auto module = llvm::parseAssemblyString(text, error, llvmContext);
    EXPECT_TRUE(module) << error.getMessage().str();
    return module;
  }
  /// The error of binding @k, declared with `parameters`.
  std::string bind(StringRef source, StringRef entry,
                   ArrayRef<std::pair<StringRef, Attribute>> shape,
                   StringRef parameters = "i64, i64, i64, ptr, ptr, ptr, ptr") {
    auto module = parse(("declare void @k(" + parameters + ")").str());
    NamedAttrList numbers;
    for (auto [name, value] : shape)
      numbers.append(name, value);
    return toText(bindDeviceKernel(
        *module, "k",
        {source.str(), entry.str(), numbers.getDictionary(&context)},
        {{4, 1, 1}, {32, 1, 1}, 0}));
  }
  static std::string toText(llvm::Error error) {
    return llvm::toString(std::move(error));
  }
  Attribute number(int64_t value) { return builder.getI64IntegerAttr(value); }

  MLIRContext context;
  Builder builder{&context};
  llvm::LLVMContext llvmContext;
};

constexpr StringLiteral why =
    "kernel 'k' is 'cache_write_2_16' of kernels/device/cache_write.cu, but ";

} // namespace

TEST_F(DeviceSources, WhatIsBound) {
  EXPECT_EQ(bind("cache_write", "cache_write_2_16",
                 {{"parts", number(1)},
                  {"cells", number(16)},
                  {"rowBytes", number(64)},
                  {"unused", number(1)}}),
            "");
}

TEST_F(DeviceSources, WhatIsNotThere) {
  EXPECT_EQ(bind("nothing", "cache_write_2_16", {}),
            "kernel 'k' is 'cache_write_2_16' of kernels/device/nothing.cu, "
            "but there is no source kernels/device/nothing.cu");
  EXPECT_EQ(bind("cache_write", "nothing", {}),
            "kernel 'k' is 'nothing' of kernels/device/cache_write.cu, but "
            "that has no such entry point");
  EXPECT_EQ(bind("cache_write", "cache_write_2_16", {}, "i64, ptr"),
            (why + "its parameters are not those of the operation").str());
}

TEST_F(DeviceSources, NumbersThatAreMissingOrTooLarge) {
  std::pair<StringRef, Attribute> parts{"parts", number(1)};
  std::pair<StringRef, Attribute> cells{"cells", number(16)};
  EXPECT_EQ(bind("cache_write", "cache_write_2_16", {parts, cells}),
            (why + "it asks for shape.rowBytes, which is not bound").str());
  for (Attribute wrong : {number(int64_t(1) << 32), number(-(int64_t(1) << 32)),
                          Attribute(builder.getF32FloatAttr(1))})
    EXPECT_EQ(
        bind("cache_write", "cache_write_2_16",
             {parts, cells, {"rowBytes", wrong}}),
        (why + "the value of shape.rowBytes does not fit its type").str());
}

TEST_F(DeviceSources, PrimitivesWithoutInstructions) {
  auto module = parse("declare void @tp_nothing()\n"
                      "define void @k() {\n  call void @tp_nothing()\n"
                      "  ret void\n}");
  EXPECT_TRUE(callsPrimitives(*module));
  EXPECT_EQ(toText(linkPrimitives(*module)),
            "the primitive 'tp_nothing' has no instructions");
  module = parse("declare void @tp_proxy_fence(i32)\n"
                 "define void @k() {\n  call void @tp_proxy_fence(i32 0)\n"
                 "  ret void\n}");
  EXPECT_EQ(toText(linkPrimitives(*module)),
            "the primitive 'tp_proxy_fence' is declared otherwise than "
            "defined");
  module = parse("declare void @tp_proxy_fence()\n"
                 "define void @k() {\n  call void @tp_proxy_fence()\n"
                 "  ret void\n}");
  EXPECT_EQ(toText(linkPrimitives(*module)), "");
  EXPECT_FALSE(callsPrimitives(*module));
}

TEST_F(DeviceSources, WhatIsNotResolved) {
  auto module = parse("define void @k() {\n  %x = alloca [4 x float]\n"
                      "  ret void\n}");
  EXPECT_EQ(toText(checkResolved(*module)),
            "kernel 'k' keeps a variable in local memory: expected all in "
            "registers or shared memory");
  module = parse("declare void @f()\n"
                 "define void @k() {\n  call void @f()\n  ret void\n}");
  EXPECT_EQ(toText(checkResolved(*module)),
            "kernel 'k' calls a function: expected all to be inlined");
}
