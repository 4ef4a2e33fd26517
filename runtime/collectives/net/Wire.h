//===- Wire.h - what goes over the side channel's sockets -------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Frames: a header of 16 bytes (magic, type, length) and a body, little-endian.
// What arrives is trusted in nothing: a header is checked before its body is
// waited for, a body grows as its bytes come, and every field is read within
// bounds. A stream that breaks the rules gives an error and is closed.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_COLLECTIVES_NET_WIRE_H
#define TPRT_COLLECTIVES_NET_WIRE_H

#include "../Hub.h"
#include "../SideChannel.h"

#include <cstring>
#include <string>
#include <string_view>

namespace tprt::net {

enum class Type : uint32_t {
  Hello = 1, ///< caller to rank 0: who it is
  Heard,     ///< rank 0 to a caller that it accepts
  Refuse,    ///< rank 0 to a caller, or to all when it gives up
  Welcome,   ///< rank 0 to all, once all have come
  Beat,      ///< alive, and where
  Piece,     ///< a rank's bytes of an exchange, to rank 0
  All,       ///< every rank's bytes, from rank 0
  Failed,    ///< the run has failed
  Stuck,     ///< to rank 0: who keeps me waiting?
  Bye,       ///< done: what happens to me no longer matters
};
inline constexpr uint32_t kLastType = uint32_t(Type::Bye);

struct Frame {
  Type type;
  std::string body;
};

/// Header and body.
std::string encode(Type type, std::string_view body = {});

/// Cuts a stream of bytes into frames.
class FrameReader {
public:
  /// Takes the next bytes as they came; an error of the stream is for good.
  Status feed(const char *data, size_t size);
  /// The next whole frame.
  std::optional<Frame> next();

private:
  std::string bytes;
  size_t done = 0; ///< of bytes, given out
};

/// Appends fields to a body.
class BodyWriter {
public:
  template <typename T>
  BodyWriter &value(T x) {
    static_assert(std::is_trivially_copyable_v<T>);
    text.append(reinterpret_cast<const char *>(&x), sizeof(x));
    return *this;
  }
  BodyWriter &bytes(std::string_view x) {
    value(uint64_t(x.size()));
    text.append(x);
    return *this;
  }
  std::string text;
};

/// Reads fields of a body; false once something does not fit.
class BodyReader {
public:
  explicit BodyReader(std::string_view body) : rest(body) {}
  template <typename T>
  bool value(T &x) {
    if (rest.size() < sizeof(T))
      return fail();
    std::memcpy(&x, rest.data(), sizeof(T));
    rest.remove_prefix(sizeof(T));
    return true;
  }
  bool bytes(std::string &x) {
    uint64_t size;
    if (!value(size) || size > rest.size())
      return fail();
    x.assign(rest.data(), size_t(size));
    rest.remove_prefix(size_t(size));
    return true;
  }
  /// Everything was read and nothing is left.
  bool done() const { return good && rest.empty(); }

private:
  bool fail() {
    good = false;
    rest = {};
    return false;
  }
  std::string_view rest;
  bool good = true;
};

//===----------------------------------------------------------------------===//
// Bodies; each decode returns nothing for what is not one
//===----------------------------------------------------------------------===//

struct Hello {
  uint32_t version = 1;
  int64_t rank = 0, ranks = 0;
  uint64_t token = 0; ///< checksum of the job's token
  std::string host;   ///< the same for all ranks of a host
};
std::string encode(const Hello &hello);
std::optional<Hello> decodeHello(std::string_view body);

struct Welcome {
  int64_t localRank = 0, localRanks = 1;
};
std::string encode(const Welcome &welcome);
std::optional<Welcome> decodeWelcome(std::string_view body);

struct Beat {
  CallSite site;
  uint64_t calls = 0;
  bool inside = false;
};
std::string encode(const Beat &beat);
std::optional<Beat> decodeBeat(std::string_view body);

struct Piece {
  uint64_t round = 0;
  bool wanted = false; ///< the sender wants to have all
  std::string bytes;
};
std::string encode(const Piece &piece);
std::optional<Piece> decodePiece(std::string_view body);

struct All {
  uint64_t round = 0;
  std::vector<std::string> pieces;
};
std::string encode(const All &all);
std::optional<All> decodeAll(std::string_view body, int64_t ranks);

std::string encode(const Failure &failure);
std::optional<Failure> decodeFailure(std::string_view body, int64_t ranks);

/// What a rank waits for: an exchange, or others in a collective.
struct Stuck {
  bool exchange = false;
  bool timedOut = false; ///< or it only asks whether ranks disagree
  Beat where;            ///< `calls` is the round of an exchange
  std::vector<int64_t> members;
};
std::string encode(const Stuck &stuck);
std::optional<Stuck> decodeStuck(std::string_view body, int64_t ranks);

} // namespace tprt::net

#endif // TPRT_COLLECTIVES_NET_WIRE_H
