//===- ExportsTest.cpp - the library has what the runtime calls -----------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lists of the runtime and the symbols of the library are equal: a function
// that one of them lacks is named.
//
//===----------------------------------------------------------------------===//

#include "TestUtil.h"

#include <cstring>
#include <elf.h>
#include <fstream>
#include <set>
#include <sstream>

#define QUOTE(name) #name
#define NAME(name) QUOTE(name)

static std::set<std::string> listed() {
  return {
#define ENTER(function) NAME(function),
#define DRIVER ENTER
#define CUBLASLT ENTER
#define NCCL ENTER
#include "../../cuda/libraries/Functions.def"
#undef ENTER
  };
}

/// Functions that the file defines for others, those of C++ left out.
static std::set<std::string> exported(const char *path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  std::string bytes = content.str();
  auto *header = reinterpret_cast<const Elf64_Ehdr *>(bytes.data());
  auto *sections =
      reinterpret_cast<const Elf64_Shdr *>(bytes.data() + header->e_shoff);
  std::set<std::string> names;
  for (int i = 0; i < header->e_shnum; ++i) {
    if (sections[i].sh_type != SHT_DYNSYM)
      continue;
    auto *symbols = reinterpret_cast<const Elf64_Sym *>(bytes.data() +
                                                        sections[i].sh_offset);
    const char *strings =
        bytes.data() + sections[sections[i].sh_link].sh_offset;
    for (size_t s = 0; s < sections[i].sh_size / sizeof(Elf64_Sym); ++s) {
      std::string name = strings + symbols[s].st_name;
      if (symbols[s].st_shndx != SHN_UNDEF &&
          ELF64_ST_TYPE(symbols[s].st_info) == STT_FUNC &&
          name.rfind("_Z", 0) != 0)
        names.insert(name);
    }
  }
  return names;
}

TEST(Exports, AreTheRuntimesLists) {
  std::set<std::string> has = exported(TP_FAKE_CUDA), wanted = listed();
  wanted.insert("cuDeviceTotalMem_v2"); // tp-compile --memory asks for it.
  for (const std::string &name : wanted)
    EXPECT_TRUE(has.count(name)) << "the library lacks " << name;
  for (const std::string &name : has)
    EXPECT_TRUE(wanted.count(name)) << "no list has " << name;
}
