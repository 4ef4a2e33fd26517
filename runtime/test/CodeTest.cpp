//===- CodeTest.cpp - code that is refused --------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One field of a good shared object is changed at a time; what is said to it is
// what a user reads about an artifact whose code was damaged or made elsewhere.
//
//===----------------------------------------------------------------------===//

#include "RunFixture.h"

#include "../session/CodeModule.h"
#include "../support/Cpu.h"

#include <cstring>
#include <elf.h>

using namespace tprt;
using namespace tprt::test;

namespace {

/// The code of program.c, to be changed.
struct Damaged {
  std::string bytes = readFile(TPRT_TEST_PROGRAM);

  Elf64_Ehdr &header() { return *reinterpret_cast<Elf64_Ehdr *>(&bytes[0]); }
  Elf64_Shdr &section(unsigned type) {
    auto *sections = reinterpret_cast<Elf64_Shdr *>(&bytes[header().e_shoff]);
    Elf64_Shdr *found = sections;
    while (found->sh_type != type)
      ++found;
    return *found;
  }
  std::string refusal() const { return examineCode(bytes).message(); }
};

} // namespace

TEST(Code, Headers) {
  EXPECT_EQ(Damaged().refusal(), "");
  Damaged kind, machine;
  kind.header().e_type = ET_EXEC;
  EXPECT_EQ(kind.refusal(), "expected a 64-bit little-endian shared object");
  machine.header().e_machine = EM_AARCH64;
  EXPECT_EQ(machine.refusal(), "expected code for x86-64, got machine 183");
}

TEST(Code, Symbols) {
  Damaged none, outside, name;
  none.section(SHT_DYNSYM).sh_type = SHT_NULL;
  EXPECT_EQ(none.refusal(), "expected an exported symbol 'tprt_query'");
  outside.section(SHT_DYNSYM).sh_offset = outside.bytes.size();
  EXPECT_EQ(outside.refusal(), "the symbol table is malformed");
  auto *symbols = reinterpret_cast<Elf64_Sym *>(
      &name.bytes[name.section(SHT_DYNSYM).sh_offset]);
  while (ELF64_ST_BIND(symbols->st_info) == STB_LOCAL)
    ++symbols;
  symbols->st_name = 1 << 30;
  EXPECT_EQ(name.refusal(), "the symbol table is malformed");
}

TEST(Code, Dynamic) {
  Damaged odd, needs;
  odd.section(SHT_DYNAMIC).sh_size += 1;
  EXPECT_EQ(odd.refusal(), "the dynamic section is malformed");
  reinterpret_cast<Elf64_Dyn *>(
      &needs.bytes[needs.section(SHT_DYNAMIC).sh_offset])
      ->d_tag = DT_NEEDED;
  EXPECT_EQ(needs.refusal(), "expected no needed library");
}

TEST(Code, Loading) {
  Damaged unloadable;
  unloadable.header().e_phnum = 0;
  EXPECT_TRUE(CodeModule::load(unloadable.bytes, 5)
                  .status()
                  .message()
                  .starts_with("code: cannot load: "));
  EXPECT_MESSAGE(CodeModule::load(readFile(TPRT_TEST_VERSION), 0).status(),
                 "code: does not speak ABI version " +
                     std::to_string(TPRT_ABI_VERSION));
}

TEST(Code, FeaturesThatAreMissing) {
  std::vector<std::string> missing;
  std::string names;
#define TPRT_FEATURE(feature)                                                  \
  if (cpuFeature(feature) == false)                                            \
    missing.push_back(feature);
#include "tprt/features.def"
#undef TPRT_FEATURE
  for (const std::string &name : missing)
    names += (names.empty() ? "" : ", ") + name;
  EXPECT_MESSAGE(requireFeatures(missing),
                 missing.empty()
                     ? ""
                     : "the artifact needs CPU features that this machine "
                       "lacks: " +
                           names +
                           "; compile it for this machine (--target "
                           "cpu)");
}
