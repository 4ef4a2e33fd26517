//===- Wire.cpp - what goes over the side channel's sockets ---------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Encoding and decoding; nothing here knows of sockets.
//
//===----------------------------------------------------------------------===//

#include "Wire.h"

using namespace tprt;
using namespace tprt::net;

namespace {

constexpr uint32_t kMagic = 0x31524e54; // "TNR1"
constexpr size_t kHeader = 16;

/// The longest body of a type: what carries the program's bytes may be long.
uint64_t limitOf(Type type) {
  return type == Type::Piece || type == Type::All ? uint64_t(1) << 40
                                                  : uint64_t(64) << 10;
}

bool asBool(BodyReader &reader, bool &x) {
  uint8_t byte = 2;
  if (!reader.value(byte) || byte > 1)
    return false;
  x = byte != 0;
  return true;
}

bool read(BodyReader &reader, Beat &beat) {
  return reader.value(beat.site.id) && reader.value(beat.site.layer) &&
         reader.value(beat.calls) && asBool(reader, beat.inside);
}

void write(BodyWriter &writer, const Beat &beat) {
  writer.value(beat.site.id)
      .value(beat.site.layer)
      .value(beat.calls)
      .value(uint8_t(beat.inside));
}

template <typename T>
std::optional<T> whole(const BodyReader &reader, T &&x) {
  return reader.done() ? std::optional<T>(std::move(x)) : std::nullopt;
}

} // namespace

std::string net::encode(Type type, std::string_view body) {
  BodyWriter writer;
  writer.value(kMagic).value(uint32_t(type)).value(uint64_t(body.size()));
  writer.text.append(body);
  return std::move(writer.text);
}

Status FrameReader::feed(const char *data, size_t size) {
  if (done > 0 && (done == bytes.size() || done > size_t(1) << 20)) {
    bytes.erase(0, done);
    done = 0;
  }
  bytes.append(data, size);
  // Every header that is here is checked now.
  for (size_t at = done; bytes.size() - at >= kHeader;) {
    BodyReader header(std::string_view(bytes).substr(at, kHeader));
    uint32_t magic = 0, type = 0;
    uint64_t length = 0;
    header.value(magic);
    header.value(type);
    header.value(length);
    if (magic != kMagic)
      return userError("what arrived is not of this runtime's side channel");
    if (type == 0 || type > kLastType)
      return userError("a message of unknown type ", type, " arrived");
    if (length > limitOf(Type(type)))
      return userError("a message of ", length, " bytes arrived, expected ",
                       limitOf(Type(type)), " at most");
    if (bytes.size() - at - kHeader < length)
      break;
    at += kHeader + size_t(length);
  }
  return {};
}

std::optional<Frame> FrameReader::next() {
  if (bytes.size() - done < kHeader)
    return std::nullopt;
  uint32_t type;
  uint64_t length;
  std::memcpy(&type, bytes.data() + done + 4, 4);
  std::memcpy(&length, bytes.data() + done + 8, 8);
  if (bytes.size() - done - kHeader < length)
    return std::nullopt;
  Frame frame{Type(type), bytes.substr(done + kHeader, size_t(length))};
  done += kHeader + size_t(length);
  return frame;
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

std::string net::encode(const Hello &hello) {
  BodyWriter writer;
  writer.value(hello.version)
      .value(hello.rank)
      .value(hello.ranks)
      .value(hello.token)
      .bytes(hello.host);
  return encode(Type::Hello, writer.text);
}

std::optional<Hello> net::decodeHello(std::string_view body) {
  BodyReader reader(body);
  Hello hello;
  reader.value(hello.version);
  reader.value(hello.rank);
  reader.value(hello.ranks);
  reader.value(hello.token);
  reader.bytes(hello.host);
  return whole(reader, std::move(hello));
}

std::string net::encode(const Welcome &welcome) {
  BodyWriter writer;
  writer.value(welcome.localRank).value(welcome.localRanks);
  return encode(Type::Welcome, writer.text);
}

std::optional<Welcome> net::decodeWelcome(std::string_view body) {
  BodyReader reader(body);
  Welcome welcome;
  reader.value(welcome.localRank);
  reader.value(welcome.localRanks);
  if (welcome.localRank < 0 || welcome.localRank >= welcome.localRanks)
    return std::nullopt;
  return whole(reader, std::move(welcome));
}

std::string net::encode(const Beat &beat) {
  BodyWriter writer;
  write(writer, beat);
  return encode(Type::Beat, writer.text);
}

std::optional<Beat> net::decodeBeat(std::string_view body) {
  BodyReader reader(body);
  Beat beat;
  if (!read(reader, beat))
    return std::nullopt;
  return whole(reader, std::move(beat));
}

std::string net::encode(const Piece &piece) {
  BodyWriter writer;
  writer.value(piece.round).value(uint8_t(piece.wanted)).bytes(piece.bytes);
  return encode(Type::Piece, writer.text);
}

std::optional<Piece> net::decodePiece(std::string_view body) {
  BodyReader reader(body);
  Piece piece;
  if (!reader.value(piece.round) || !asBool(reader, piece.wanted) ||
      !reader.bytes(piece.bytes))
    return std::nullopt;
  return whole(reader, std::move(piece));
}

std::string net::encode(const All &all) {
  BodyWriter writer;
  writer.value(all.round).value(uint64_t(all.pieces.size()));
  for (const std::string &piece : all.pieces)
    writer.bytes(piece);
  return encode(Type::All, writer.text);
}

std::optional<All> net::decodeAll(std::string_view body, int64_t ranks) {
  BodyReader reader(body);
  All all;
  uint64_t count = 0;
  if (!reader.value(all.round) || !reader.value(count) ||
      count != uint64_t(ranks))
    return std::nullopt;
  all.pieces.resize(size_t(ranks));
  for (std::string &piece : all.pieces)
    if (!reader.bytes(piece))
      return std::nullopt;
  return whole(reader, std::move(all));
}

std::string net::encode(const Failure &failure) {
  BodyWriter writer;
  // A message that is too long for a frame is cut.
  writer.value(int32_t(failure.status.code()))
      .value(failure.rank)
      .bytes(std::string_view(failure.status.message()).substr(0, 32 << 10));
  return encode(Type::Failed, writer.text);
}

std::optional<Failure> net::decodeFailure(std::string_view body,
                                          int64_t ranks) {
  BodyReader reader(body);
  int32_t code = 0;
  int64_t rank = 0;
  std::string text;
  if (!reader.value(code) || !reader.value(rank) || !reader.bytes(text) ||
      rank < -1 || rank >= ranks ||
      (code != int(Code::User) && code != int(Code::Lost) &&
       code != int(Code::Internal) && code != int(Code::Device)))
    return std::nullopt;
  return whole(reader, Failure{Status(Code(code), text), rank});
}

std::string net::encode(const Stuck &stuck) {
  BodyWriter writer;
  writer.value(uint8_t(stuck.exchange)).value(uint8_t(stuck.timedOut));
  write(writer, stuck.where);
  writer.value(uint64_t(stuck.members.size()));
  for (int64_t member : stuck.members)
    writer.value(member);
  return encode(Type::Stuck, writer.text);
}

std::optional<Stuck> net::decodeStuck(std::string_view body, int64_t ranks) {
  BodyReader reader(body);
  Stuck stuck;
  uint64_t count = 0;
  if (!asBool(reader, stuck.exchange) || !asBool(reader, stuck.timedOut) ||
      !read(reader, stuck.where) || !reader.value(count) ||
      count > uint64_t(ranks))
    return std::nullopt;
  for (uint64_t i = 0; i < count; ++i) {
    int64_t member = -1;
    if (!reader.value(member) || member < 0 || member >= ranks)
      return std::nullopt;
    stuck.members.push_back(member);
  }
  return whole(reader, std::move(stuck));
}
