//===- SessionLeader.cpp - rank 0 decides what all ranks call -------------===//
//
// Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// If ranks are processes, rank 0 alone may know what comes next: requests
// arrive there, and training reads its data there. It then leads: each of its
// calls is sent to the other processes, which make the same call.
//
//===----------------------------------------------------------------------===//

#include "../collectives/net/Wire.h"
#include "Session.h"

using namespace tprt;

namespace {

/// A tensor of a call; outputs have no bytes.
struct SentTensor {
  std::string name;
  FileType type;
  Shape shape;
  std::string bytes;
};

using SentTensors = std::vector<SentTensor>;

void put(net::BodyWriter &write, const std::vector<Binding> &tensors,
         bool withBytes) {
  write(uint64_t(tensors.size()));
  for (const Binding &tensor : tensors)
    write(std::string(tensor.name), tensor.type, tensor.shape,
          withBytes ? std::string(tensor.data, size_t(tensor.bytes)) : "");
}

bool get(net::BodyReader &read, SentTensors &tensors) {
  uint64_t count = 0;
  if (!read(count))
    return false;
  for (uint64_t i = 0; i < count; ++i) {
    SentTensor &tensor = tensors.emplace_back();
    if (!read(tensor.name, tensor.type, tensor.shape, tensor.bytes))
      return false;
  }
  return true;
}

std::vector<Binding> bindingsOf(SentTensors &tensors) {
  std::vector<Binding> bindings;
  for (SentTensor &tensor : tensors)
    bindings.push_back({tensor.name, tensor.type, tensor.shape,
                        tensor.bytes.data(), int64_t(tensor.bytes.size())});
  return bindings;
}

} // namespace

Status Session::tell(const Call &call, const std::vector<Binding> &inputs,
                     const std::vector<Binding> &outputs) {
  if (!isLeading)
    return {};
  net::BodyWriter write;
  write(call);
  put(write, inputs, /*withBytes=*/true);
  put(write, outputs, /*withBytes=*/false);
  return fromRoot(write.text).status();
}

Status Session::endLead() {
  Status status = tell({Call::End});
  isLeading = false;
  return status;
}

Status Session::make(const Call &call, const std::vector<Binding> &inputs,
                     const std::vector<Binding> &outputs) {
  switch (call.kind) {
  case Call::Step:
    return step(call.index, inputs, outputs);
  case Call::Read:
    return read(call.index, outputs);
  case Call::ReadRows:
    return readRows(call.index, outputs[0], call.first);
  case Call::ReadStates:
    return readStates(outputs);
  case Call::ResetStates:
    return resetStates();
  case Call::State:
    return state(call.index, call.first, call.rows).status();
  case Call::Stats:
    return stats().status();
  case Call::Timeline:
    return timeline().status();
  case Call::PeakBytes:
    return peakBytes().status();
  case Call::End:
    break;
  }
  return {};
}

Status Session::follow() {
  while (true) {
    TPRT_ASSIGN(auto block, fromRoot());
    net::BodyReader reader(block);
    Call call;
    SentTensors given, wanted;
    if (!reader(call) || !get(reader, given) || !get(reader, wanted))
      return internalError("rank ", rank(), " cannot read a call of rank 0");
    if (call.kind == Call::End)
      return {};
    Status status = make(call, bindingsOf(given), bindingsOf(wanted));
    // Rank 0 has refused it too, and may make another.
    if (status.code() != Code::User || !failure().ok())
      TPRT_TRY(status);
  }
}

Expected<std::string> Session::fromRoot(const std::string &bytes) {
  backend_->limitWaits(kLongestTimeout);
  auto block = backend_->channel()->fromRoot(bytes);
  backend_->limitWaits(options.timeoutSeconds);
  return block;
}
