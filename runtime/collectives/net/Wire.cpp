//===- Wire.cpp - what goes over the side channel's sockets ---------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Encoding and decoding; nothing here knows of sockets.
//
//===----------------------------------------------------------------------===//

#include "Wire.h"

#include <algorithm>

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

} // namespace

std::string net::encode(Type type, std::string_view body) {
  BodyWriter writer;
  writer(kMagic, uint32_t(type), uint64_t(body.size()));
  writer.text.append(body);
  return std::move(writer.text);
}

Status FrameReader::feed(const char *data, size_t size) {
  bytes.append(data, size);
  size_t at = 0;
  while (bytes.size() - at >= kHeader) {
    BodyReader header(std::string_view(bytes).substr(at, kHeader));
    uint32_t magic = 0, type = 0;
    uint64_t length = 0;
    header(magic, type, length);
    if (magic != kMagic)
      return userError("what arrived is not of this runtime's side channel");
    if (type == 0 || type > kLastType)
      return userError("a message of unknown type ", type, " arrived");
    if (length > limitOf(Type(type)))
      return userError("a message of ", length, " bytes arrived, expected ",
                       limitOf(Type(type)), " at most");
    if (bytes.size() - at - kHeader < length)
      break;
    whole.push_back({Type(type), bytes.substr(at + kHeader, size_t(length))});
    at += kHeader + size_t(length);
  }
  bytes.erase(0, at);
  return {};
}

std::optional<Frame> FrameReader::next() {
  if (whole.empty())
    return std::nullopt;
  Frame frame = std::move(whole.front());
  whole.pop_front();
  return frame;
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

bool Failed::isValid(int64_t ranks) const {
  return rank >= -1 && rank < ranks &&
         (code == int(Code::User) || code == int(Code::Lost) ||
          code == int(Code::Internal) || code == int(Code::Device));
}

std::string net::encode(const Failure &failure) {
  // A message that is too long for a frame is cut.
  return encode(Failed{int32_t(failure.status.code()), failure.rank,
                       failure.status.message().substr(0, 32 << 10)});
}

std::optional<Failure> net::decodeFailure(std::string_view body,
                                          int64_t ranks) {
  auto failed = decode<Failed>(body, ranks);
  if (!failed)
    return std::nullopt;
  return Failure{Status(Code(failed->code), failed->text), failed->rank};
}

bool Stuck::isValid(int64_t ranks) const {
  return int64_t(members.size()) <= ranks &&
         std::all_of(members.begin(), members.end(), [&](int64_t member) {
           return member >= 0 && member < ranks;
         });
}
