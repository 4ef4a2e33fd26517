//===- CodeModule.cpp - compiled code, examined and loaded ----------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads just enough of ELF to hold the code section to its promises, then gives
// it to the dynamic loader through an anonymous file.
//
//===----------------------------------------------------------------------===//

#include "CodeModule.h"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

using namespace tprt;

namespace {

/// An array of T inside the file, or nothing if it does not lie inside.
template <typename T>
std::optional<std::vector<T>> tableAt(std::string_view elf, uint64_t offset,
                                      uint64_t size) {
  if (offset > elf.size() || size > elf.size() - offset ||
      size % sizeof(T) != 0)
    return std::nullopt;
  std::vector<T> items(size / sizeof(T));
  if (size)
    std::memcpy(items.data(), elf.data() + offset, size);
  return items;
}

Status examineSymbols(std::string_view elf, const Elf64_Shdr &symbols,
                      const Elf64_Shdr &strings) {
  auto list = tableAt<Elf64_Sym>(elf, symbols.sh_offset, symbols.sh_size);
  auto text = tableAt<char>(elf, strings.sh_offset, strings.sh_size);
  if (!list || !text || text->empty() || text->back() != '\0')
    return userError("the symbol table is malformed");
  bool query = false;
  for (const Elf64_Sym &symbol : *list) {
    if (ELF64_ST_BIND(symbol.st_info) == STB_LOCAL)
      continue;
    if (symbol.st_name >= text->size())
      return userError("the symbol table is malformed");
    std::string_view name = text->data() + symbol.st_name;
    if (symbol.st_shndx == SHN_UNDEF)
      return userError("expected no imported symbol, got '", name, "'");
    if (name != TPRT_QUERY_SYMBOL)
      return userError("expected '" TPRT_QUERY_SYMBOL
                       "' as the only exported symbol, got '",
                       name, "'");
    query = true;
  }
  if (!query)
    return userError("expected an exported symbol '" TPRT_QUERY_SYMBOL "'");
  return {};
}

Status examineDynamic(const std::vector<Elf64_Dyn> &entries) {
  for (const Elf64_Dyn &entry : entries) {
    switch (entry.d_tag) {
    case DT_NEEDED:
      return userError("expected no needed library");
    case DT_INIT:
    case DT_FINI:
      return userError("expected no code that runs when loaded");
    case DT_INIT_ARRAYSZ:
    case DT_FINI_ARRAYSZ:
    case DT_PREINIT_ARRAYSZ:
      if (entry.d_un.d_val != 0)
        return userError("expected no code that runs when loaded");
      break;
    case DT_NULL:
      return {};
    }
  }
  return {};
}

} // namespace

Status tprt::examineCode(std::string_view elf) {
  auto headers = tableAt<Elf64_Ehdr>(elf, 0, sizeof(Elf64_Ehdr));
  if (!headers || std::memcmp(elf.data(), ELFMAG, SELFMAG) != 0)
    return userError("expected an ELF file");
  const Elf64_Ehdr &header = headers->front();
  if (header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_type != ET_DYN)
    return userError("expected a 64-bit little-endian shared object");
  if (header.e_machine != EM_X86_64)
    return userError("expected code for x86-64, got machine ",
                     header.e_machine);
  if (header.e_shentsize != sizeof(Elf64_Shdr))
    return userError("the section headers are malformed");
  auto sections = tableAt<Elf64_Shdr>(
      elf, header.e_shoff, uint64_t(header.e_shnum) * sizeof(Elf64_Shdr));
  if (!sections)
    return userError("the section headers are malformed");
  bool symbols = false;
  for (const Elf64_Shdr &section : *sections) {
    if (section.sh_type == SHT_DYNSYM) {
      if (section.sh_link >= sections->size())
        return userError("the section headers are malformed");
      TPRT_TRY(examineSymbols(elf, section, (*sections)[section.sh_link]));
      symbols = true;
    } else if (section.sh_type == SHT_DYNAMIC) {
      auto entries =
          tableAt<Elf64_Dyn>(elf, section.sh_offset, section.sh_size);
      if (!entries)
        return userError("the dynamic section is malformed");
      TPRT_TRY(examineDynamic(*entries));
    }
  }
  if (!symbols)
    return userError("expected an exported symbol '" TPRT_QUERY_SYMBOL "'");
  return {};
}

void CodeModule::Unload::operator()(void *handle) const { dlclose(handle); }

Expected<CodeModule> CodeModule::load(std::string_view elf, int64_t entries) {
  TPRT_TRY(examineCode(elf).in("code"));
  CodeModule code;
  code.fd = Descriptor(memfd_create("tprt-code", MFD_CLOEXEC));
  if (!code.fd.open())
    return userError("code: cannot make an anonymous file: ",
                     std::strerror(errno));
  for (size_t done = 0; done < elf.size();) {
    ssize_t count = write(code.fd, elf.data() + done, elf.size() - done);
    if (count < 0 && errno != EINTR)
      return userError("code: cannot copy: ", std::strerror(errno));
    done += count > 0 ? count : 0;
  }
  std::string path = "/proc/self/fd/" + std::to_string(code.fd);
  code.handle.reset(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL));
  if (!code.handle)
    return userError("code: cannot load: ", dlerror());
  auto query = reinterpret_cast<tprt_query_fn>(
      dlsym(code.handle.get(), TPRT_QUERY_SYMBOL));
  code.table = query ? query(TPRT_ABI_VERSION) : nullptr;
  if (!code.table || code.table->abi_version != TPRT_ABI_VERSION)
    return userError("code: does not speak ABI version ", TPRT_ABI_VERSION);
  if (int64_t(code.table->entry_count) != entries)
    return userError("code: the manifest has ", entries,
                     " entries, the code has ", code.table->entry_count);
  return code;
}
