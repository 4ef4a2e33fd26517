//===- Pages.cpp - who has which page of the cache ------------------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Pages.h"

#include <algorithm>

using namespace tprt::generation;

Pages::Pages(int64_t count, int64_t size)
    : pageSize(size), pages(size_t(count)) {
  for (int64_t page = count; page-- > 0;)
    free.push_back(int32_t(page));
}

std::string Pages::keyOf(uint64_t before, const int32_t *tokens) const {
  std::string key(reinterpret_cast<const char *>(&before), sizeof(before));
  key.append(reinterpret_cast<const char *>(tokens),
             size_t(pageSize) * sizeof(*tokens));
  return key;
}

int32_t Pages::take() {
  int32_t page;
  if (!free.empty()) {
    page = free.back();
    free.pop_back();
  } else if (!unused.empty()) {
    page = unused.front();
    unused.pop_front();
    kept.erase(pages[size_t(page)].key);
  } else {
    return -1;
  }
  pages[size_t(page)] = {};
  pages[size_t(page)].users = 1;
  return page;
}

void Pages::release(int32_t number) {
  Page &page = pages[size_t(number)];
  if (--page.users > 0)
    return;
  if (page.serial)
    page.place = unused.insert(unused.end(), number);
  else
    free.push_back(number);
}

Pages::Chain Pages::find(const std::vector<int32_t> &tokens, int64_t most) {
  Chain chain;
  for (int64_t i = 0; i < most && (i + 1) * pageSize <= int64_t(tokens.size());
       ++i) {
    auto found = kept.find(keyOf(chain.serial, tokens.data() + i * pageSize));
    if (found == kept.end())
      break;
    Page &page = pages[size_t(found->second)];
    if (page.users++ == 0)
      unused.erase(page.place);
    chain.pages.push_back(found->second);
    chain.serial = page.serial;
  }
  return chain;
}

uint64_t Pages::keep(int32_t number, uint64_t before, const int32_t *tokens) {
  auto [place, isNew] = kept.insert({keyOf(before, tokens), number});
  if (isNew) {
    Page &page = pages[size_t(number)];
    page.serial = ++lastSerial;
    page.key = place->first;
  }
  return pages[size_t(place->second)].serial;
}
