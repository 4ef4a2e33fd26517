//===- tprt/status.h - results that may be errors ---------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime's status type: success, or a message and who can mend it.
// Messages are lower case, without a full stop, and say what was expected and
// what was got. No function of the runtime lets an exception out.
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_STATUS_H
#define TPRT_STATUS_H

#include <cassert>
#include <concepts>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

namespace tprt {

/// The class of an error says who can mend it. The values are tp-run's exit
/// codes, and but for Usage those of the C interface.
enum class Code : int {
  Ok = 0,
  User = 1,     ///< the user's input, files or environment
  Usage = 2,    ///< a program's command line, whatever its files hold
  Lost = 3,     ///< a rank died, stalled, or ranks disagree
  Internal = 4, ///< our own bug
  Device = 5    ///< a device failed, its libraries did, or code on it
};

class [[nodiscard]] Status {
public:
  Status() = default;
  Status(Code code, std::string message)
      : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == Code::Ok; }
  Code code() const { return code_; }
  const std::string &message() const { return message_; }

  /// The same error with `context: ` in front.
  Status in(const std::string &context) const {
    return ok() ? *this : Status(code_, context + ": " + message_);
  }

  /// The same error of the user's input as one of the command line, from which
  /// that input came.
  Status asUsage() const {
    return code_ == Code::User ? Status(Code::Usage, message_) : *this;
  }

private:
  Code code_ = Code::Ok;
  std::string message_;
};

namespace detail {
template <typename... Parts>
std::string join(Parts &&...parts) {
  std::ostringstream out;
  (out << ... << std::forward<Parts>(parts));
  return out.str();
}
} // namespace detail

/// An error of the user's input; the parts are streamed together.
template <typename... Parts>
Status userError(Parts &&...parts) {
  return {Code::User, detail::join(std::forward<Parts>(parts)...)};
}
/// An error of the command line of a program.
template <typename... Parts>
Status usageError(Parts &&...parts) {
  return {Code::Usage, detail::join(std::forward<Parts>(parts)...)};
}
/// An error that is our own fault.
template <typename... Parts>
Status internalError(Parts &&...parts) {
  return {Code::Internal, detail::join(std::forward<Parts>(parts)...)};
}
/// A device that failed, or code on it; nothing that a user can mend.
template <typename... Parts>
Status deviceError(Parts &&...parts) {
  return {Code::Device, detail::join(std::forward<Parts>(parts)...)};
}
/// A rank was lost, or ranks that must agree do not.
template <typename... Parts>
Status lostError(Parts &&...parts) {
  return {Code::Lost, detail::join(std::forward<Parts>(parts)...)};
}

/// Returns the Status of `body`, or the exception that it throws as one. Every
/// thread of the runtime's and every call into it runs in one of these: what
/// goes wrong on one rank (it has no memory) must become an error of all.
template <typename Body>
Status caught(Body &&body) {
  try {
    return body();
  } catch (const std::exception &error) {
    return internalError(error.what());
  }
}

/// A value or the status that explains why there is none.
template <typename T>
class [[nodiscard]] Expected {
public:
  Expected(T value) : value_(std::move(value)) {}
  /// Converts from what becomes a T, such as the pointer to a derived class.
  template <typename From>
    requires(std::convertible_to<From, T> && !std::convertible_to<From, Status>)
  Expected(From &&value) : value_(std::forward<From>(value)) {}
  Expected(Status status) : status_(std::move(status)) {
    assert(!status_.ok() && "success without a value");
  }

  explicit operator bool() const { return value_.has_value(); }
  T &operator*() { return *value_; }
  const T &operator*() const { return *value_; }
  T *operator->() { return &*value_; }
  const T *operator->() const { return &*value_; }
  const Status &status() const { return status_; }

  /// The same, an error with `context: ` in front.
  Expected in(const std::string &context) && {
    return value_ ? std::move(*this) : Expected(status_.in(context));
  }

private:
  std::optional<T> value_;
  Status status_;
};

/// Leaves the function with the status if it is an error.
#define TPRT_TRY(expression)                                                   \
  do {                                                                         \
    if (::tprt::Status tprtStatus = (expression); !tprtStatus.ok())            \
      return tprtStatus;                                                       \
  } while (false)

/// Gives `target`, a variable or the declaration of one (`auto x`), the value
/// of an Expected, or leaves the function with its status.
#define TPRT_ASSIGN(target, ...)                                               \
  TPRT_ASSIGN_BY(TPRT_JOIN(tprtExpected, __LINE__), target, __VA_ARGS__)
#define TPRT_ASSIGN_BY(name, target, ...)                                      \
  auto name = __VA_ARGS__;                                                     \
  if (!name)                                                                   \
    return name.status();                                                      \
  target = std::move(*name)
#define TPRT_JOIN(a, b) TPRT_JOIN_NOW(a, b)
#define TPRT_JOIN_NOW(a, b) a##b

} // namespace tprt

#endif // TPRT_STATUS_H
