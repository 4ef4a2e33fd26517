//===- Pages.h - who has which page of the cache ----------------*- C++ -*-===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The cache of keys and values is cut into pages of some tokens each. A page
// that is full can be *kept*: it is known by its tokens and by the kept page
// before it, so that a prompt which begins with the same tokens finds it, and
// has users, who only read it. A kept page without users stays until its place
// is needed: the one that was used the longest ago goes first.
//
// Kept pages have serial numbers that never return, and are looked up by the
// serial of the page before and all of their tokens: two different beginnings
// are never taken for one, whatever their hashes. E.g. with pages of two tokens
//
//   5 7 | 1 2 | 9      keeps (0; 5 7) as 1 and (1; 1 2) as 2
//   5 7 | 1 2 | 4 4    finds both
//   1 2 | 1 2          finds none: (0; 1 2) is not there
//
//===----------------------------------------------------------------------===//

#ifndef TPRT_GENERATION_PAGES_H
#define TPRT_GENERATION_PAGES_H

#include <cstdint>
#include <list>
#include <string>
#include <unordered_map>
#include <vector>

namespace tprt::generation {

class Pages {
public:
  /// `count` pages of `size` tokens.
  Pages(int64_t count, int64_t size);

  int64_t count() const { return int64_t(pages.size()); }
  int64_t size() const { return pageSize; }
  /// How many can be taken: free ones, and kept ones without users.
  int64_t available() const { return int64_t(free.size() + unused.size()); }
  int64_t keptUnused() const { return int64_t(unused.size()); }
  int64_t users(int32_t page) const { return pages[size_t(page)].users; }
  bool isKept(int32_t page) const { return pages[size_t(page)].serial != 0; }

  /// A page for one user, who may write to it, or -1 if there is none.
  int32_t take();
  /// One user less. Of several, the last first: what begins a text is wanted
  /// the longest.
  void release(int32_t page);

  /// The chain of kept pages that `tokens` begins with, `most` at most, each
  /// with one user more.
  struct Chain {
    std::vector<int32_t> pages;
    uint64_t serial = 0; ///< of the last; 0: of none
  };
  Chain find(const std::vector<int32_t> &tokens, int64_t most);

  /// Keeps a page that has been computed and holds tokens[0, size), unless one
  /// is kept for the same. Nobody writes to it any more. Returns the serial of
  /// the one that is kept; `before` is that of the page before.
  uint64_t keep(int32_t page, uint64_t before, const int32_t *tokens);

private:
  struct Page {
    int64_t users = 0;
    uint64_t serial = 0;                ///< 0: not kept
    std::string key;                    ///< in `kept`
    std::list<int32_t>::iterator place; ///< in `unused`
  };
  std::string keyOf(uint64_t before, const int32_t *tokens) const;

  int64_t pageSize;
  std::vector<Page> pages;
  std::vector<int32_t> free;
  std::list<int32_t> unused; ///< kept and without users, the oldest first
  std::unordered_map<std::string, int32_t> kept;
  uint64_t lastSerial = 0;
};

} // namespace tprt::generation

#endif // TPRT_GENERATION_PAGES_H
