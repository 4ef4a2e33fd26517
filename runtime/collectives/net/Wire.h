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

#include "../Backend.h"
#include "../SideChannel.h"

#include <cstring>
#include <deque>
#include <string>
#include <string_view>
#include <tuple>

namespace tprt::net {

enum class Type : uint32_t {
  Hello = 1, ///< caller to rank 0: who it is
  Heard,     ///< rank 0 to a caller that it accepts, and the caller's answer
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
  std::string bytes; ///< of a frame that is not whole
  std::deque<Frame> whole;
};

/// Appends fields to a body.
class BodyWriter {
public:
  template <typename... Fields>
  void operator()(const Fields &...fields) {
    (put(fields), ...);
  }
  std::string text;

private:
  template <typename T>
  void put(const T &x) {
    static_assert(std::is_trivially_copyable_v<T>);
    text.append(reinterpret_cast<const char *>(&x), sizeof(x));
  }
  void put(const std::string &x) {
    put(uint64_t(x.size()));
    text.append(x);
  }
  template <typename T>
  void put(const std::vector<T> &list) {
    put(uint64_t(list.size()));
    for (const T &x : list)
      put(x);
  }
};

/// Reads fields of a body; false once something does not fit.
class BodyReader {
public:
  explicit BodyReader(std::string_view body) : rest(body) {}
  template <typename... Fields>
  bool operator()(Fields &...fields) {
    return (get(fields) && ...);
  }
  bool done() const { return rest.empty(); }

private:
  template <typename T>
  bool get(T &x) {
    if (rest.size() < sizeof(T))
      return false;
    std::memcpy(&x, rest.data(), sizeof(T));
    rest.remove_prefix(sizeof(T));
    return true;
  }
  bool get(bool &x) {
    uint8_t byte = 2;
    if (!get(byte) || byte > 1)
      return false;
    x = byte != 0;
    return true;
  }
  bool get(std::string &x) {
    uint64_t size;
    if (!get(size) || size > rest.size())
      return false;
    x.assign(rest.data(), size_t(size));
    rest.remove_prefix(size_t(size));
    return true;
  }
  template <typename T>
  bool get(std::vector<T> &list) {
    // Each takes eight bytes at least.
    uint64_t size;
    if (!get(size) || size > rest.size() / 8)
      return false;
    list.resize(size_t(size));
    for (T &x : list)
      if (!get(x))
        return false;
    return true;
  }
  std::string_view rest;
};

//===----------------------------------------------------------------------===//
// Bodies: their fields in order, and what may be in them in a run of `ranks`
//===----------------------------------------------------------------------===//

struct Hello {
  static constexpr Type kType = Type::Hello;
  uint32_t version = 2;
  int64_t rank = 0, ranks = 0;
  uint64_t token = 0; ///< checksum of the job's token
  std::string host;   ///< the same for all ranks of a host

  auto fields() { return std::tie(version, rank, ranks, token, host); }
  bool isValid(int64_t) const { return true; }
};

struct Welcome {
  static constexpr Type kType = Type::Welcome;
  int64_t localRank = 0, localRanks = 1;

  auto fields() { return std::tie(localRank, localRanks); }
  bool isValid(int64_t) const {
    return localRank >= 0 && localRank < localRanks;
  }
};

struct Beat {
  static constexpr Type kType = Type::Beat;
  CallSite site;
  uint64_t calls = 0;
  bool inside = false, toldToEnd = false;

  auto fields() {
    return std::tie(site.id, site.layer, calls, inside, toldToEnd);
  }
  bool isValid(int64_t) const { return true; }
};

struct Piece {
  static constexpr Type kType = Type::Piece;
  uint64_t round = 0;
  bool wanted = false; ///< the sender wants to have all
  std::string bytes;

  auto fields() { return std::tie(round, wanted, bytes); }
  bool isValid(int64_t) const { return true; }
};

struct All {
  static constexpr Type kType = Type::All;
  uint64_t round = 0;
  std::vector<std::string> pieces;

  auto fields() { return std::tie(round, pieces); }
  bool isValid(int64_t ranks) const { return int64_t(pieces.size()) == ranks; }
};

/// A Failure.
struct Failed {
  static constexpr Type kType = Type::Failed;
  int32_t code = 0;
  int64_t rank = 0;
  std::string text;

  auto fields() { return std::tie(code, rank, text); }
  bool isValid(int64_t ranks) const;
};

/// A rank's wait: for an exchange, or for others in a collective.
struct Stuck {
  static constexpr Type kType = Type::Stuck;
  bool exchange = false;
  bool timedOut = false; ///< or it only asks whether ranks disagree
  Beat where;            ///< `calls` is the round of an exchange
  std::vector<int64_t> members;

  auto fields() {
    return std::tuple_cat(std::tie(exchange, timedOut), where.fields(),
                          std::tie(members));
  }
  bool isValid(int64_t ranks) const;
};

template <typename Body>
std::string encode(const Body &body) {
  BodyWriter writer;
  std::apply(writer, const_cast<Body &>(body).fields());
  return encode(Body::kType, writer.text);
}
std::string encode(const Failure &failure);

/// Nothing for what is not such a body.
template <typename Body>
std::optional<Body> decode(std::string_view text, int64_t ranks = 0) {
  BodyReader reader(text);
  Body body;
  bool whole = std::apply(reader, body.fields()) && reader.done();
  return whole && body.isValid(ranks) ? std::optional<Body>(std::move(body))
                                      : std::nullopt;
}
std::optional<Failure> decodeFailure(std::string_view body, int64_t ranks);

} // namespace tprt::net

#endif // TPRT_COLLECTIVES_NET_WIRE_H
