//===- Artifact.cpp - the .tpa container ----------------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The container is read from untrusted files, so each number is checked before
// it is used, in the order in which the bytes are laid out, and every byte of
// the file is covered by a checksum or required to be zero.
//
//===----------------------------------------------------------------------===//

#include "tprt/artifact.h"

#include <bit>
#include <cstring>

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace tprt;

static_assert(std::endian::native == std::endian::little,
              "the container is written and read in memory order");

namespace {

constexpr char kMagic[8] = {'T', 'P', 'A', 'R', 'T', 'F', 'C', 'T'};
constexpr uint32_t kFormatVersion = 1;
constexpr uint32_t kMaxSections = 16;
constexpr uint64_t kAlignment = 64;

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t sections;
  uint64_t fileSize;
  uint64_t tableHash;
  uint8_t zero[32];
};
static_assert(sizeof(Header) == 64);

struct Record {
  char name[24];
  uint64_t offset;
  uint64_t size;
  uint64_t hash;
  uint8_t zero[16];
};
static_assert(sizeof(Record) == 64);

uint64_t alignUp(uint64_t value) {
  return (value + kAlignment - 1) / kAlignment * kAlignment;
}

bool allZero(std::string_view bytes) {
  return bytes.find_first_not_of('\0') == std::string_view::npos;
}

std::string_view view(const void *data, size_t size) {
  return {static_cast<const char *>(data), size};
}

/// Hash of the header's first 24 bytes and the table.
uint64_t hashTable(std::string_view header, std::string_view table) {
  std::string text(header.substr(0, offsetof(Header, tableHash)));
  text += table;
  return checksum(text);
}

} // namespace

uint64_t tprt::checksum(std::string_view bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::string tprt::writeArtifact(const std::vector<Section> &sections) {
  assert(sections.size() <= kMaxSections && "too many sections");
  uint64_t position = sizeof(Header) + sections.size() * sizeof(Record);
  std::string table, body;
  for (const Section &section : sections) {
    assert(!section.name.empty() && section.name.size() < sizeof(Record::name));
    Record record{};
    std::memcpy(record.name, section.name.data(), section.name.size());
    uint64_t offset = alignUp(position);
    record.offset = offset;
    record.size = section.bytes.size();
    record.hash = checksum(section.bytes);
    table += view(&record, sizeof(record));
    body.append(offset - position, '\0');
    body += section.bytes;
    position = offset + section.bytes.size();
  }

  Header header{};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.version = kFormatVersion;
  header.sections = static_cast<uint32_t>(sections.size());
  header.fileSize = position;
  header.tableHash = hashTable(view(&header, sizeof(header)), table);
  return std::string(view(&header, sizeof(header))) + table + body;
}

Expected<std::vector<SectionView>> tprt::readArtifact(std::string_view bytes,
                                                      std::string_view name) {
  auto error = [&](auto &&...parts) {
    return userError("artifact '", name, "': ", parts...);
  };

  if (bytes.size() < sizeof(Header))
    return error("expected at least ", sizeof(Header), " bytes, got ",
                 bytes.size());
  Header header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0)
    return error("not a tp-mlir artifact (wrong magic)");
  if (header.version != kFormatVersion)
    return error("expected format version ", kFormatVersion, ", got ",
                 header.version, "; compile it again");
  if (header.fileSize != bytes.size())
    return error("expected ", header.fileSize, " bytes, got ", bytes.size(),
                 " (truncated or extended)");
  if (header.sections > kMaxSections)
    return error("expected at most ", kMaxSections, " sections, got ",
                 header.sections);
  if (!allZero(view(header.zero, sizeof(header.zero))))
    return error("reserved header bytes are not zero");

  uint64_t tableSize = header.sections * sizeof(Record);
  if (bytes.size() - sizeof(Header) < tableSize)
    return error("section table reaches past the end of the file");
  std::string_view table = bytes.substr(sizeof(Header), tableSize);
  if (hashTable(bytes, table) != header.tableHash)
    return error("checksum of the section table does not match");

  std::vector<SectionView> sections;
  uint64_t position = sizeof(Header) + tableSize;
  for (uint32_t i = 0; i < header.sections; ++i) {
    Record record;
    std::memcpy(&record, table.data() + i * sizeof(Record), sizeof(record));
    std::string_view field = view(record.name, sizeof(record.name));
    std::string_view sectionName = field.substr(0, field.find('\0'));
    if (sectionName.empty() || sectionName.size() == field.size() ||
        !allZero(field.substr(sectionName.size())))
      return error("name of section ", i, " is malformed");
    // The view must outlive `record`: take it from the file's bytes.
    sectionName = table.substr(i * sizeof(Record), sectionName.size());
    for (const SectionView &other : sections)
      if (other.name == sectionName)
        return error("section '", sectionName, "' occurs twice");
    if (!allZero(view(record.zero, sizeof(record.zero))))
      return error("reserved bytes of section '", sectionName,
                   "' are not zero");
    if (record.offset % kAlignment != 0)
      return error("section '", sectionName, "' begins at ", record.offset,
                   ", which is not a multiple of ", kAlignment);
    if (record.offset < position)
      return error("section '", sectionName, "' overlaps what lies before it");
    if (record.offset > bytes.size() ||
        record.size > bytes.size() - record.offset)
      return error("section '", sectionName,
                   "' reaches past the end of the file");
    if (!allZero(bytes.substr(position, record.offset - position)))
      return error("padding before section '", sectionName, "' is not zero");
    std::string_view content = bytes.substr(record.offset, record.size);
    if (checksum(content) != record.hash)
      return error("checksum of section '", sectionName, "' does not match");
    sections.push_back({sectionName, content});
    position = record.offset + record.size;
  }
  if (position != bytes.size())
    return error(bytes.size() - position, " bytes lie past the last section");
  return sections;
}
