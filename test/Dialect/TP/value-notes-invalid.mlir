// RUN: tp-opt %s --split-input-file --verify-diagnostics

// What is said of arguments and results reaches tp-verify and the runtime, and
// is verified here for all.

// expected-error@+1 {{argument 0: expected tp.name to have a character at least, got ""}}
func.func private @empty(tensor<4xf32> {tp.name = ""})

// -----

// expected-error@+1 {{result 0: expected tp.name to have no '=', which ends the name in NAME=FILE, got "a=b"}}
func.func private @equals() -> (tensor<4xf32> {tp.name = "a=b"})

// -----

// expected-error@+1 {{argument 0: expected tp.name to be UTF-8 without control characters}}
func.func private @control(tensor<4xf32> {tp.name = "a\0Ab"})

// -----

// expected-error@+1 {{argument 0: expected tp.name to be UTF-8 without control characters}}
func.func private @bytes(tensor<4xf32> {tp.name = "a\FFb"})

// -----

// expected-error@+1 {{argument 0: expected tp.name to begin with another character than '@', which is for states, got "@x"}}
func.func private @at(tensor<4xf32> {tp.name = "@x"})

// -----

// expected-error@+1 {{argument 1: expected a name of its own, got "x", which argument 0 has}}
func.func private @twice(tensor<4xf32> {tp.name = "x"}, tensor<4xf32> {tp.name = "x"})

// -----

// expected-error@+1 {{argument 0: expected a name of its own, got "arg1", which without a name argument 1 has}}
func.func private @fallback(tensor<4xf32> {tp.name = "arg1"}, tensor<4xf32>)

// -----

// expected-error@+1 {{argument 1: expected a name of its own, got "x", which argument 0 has}}
func.func private @unshifted(tensor<4x4xi64> {tp.name = "x"}, tensor<4x4xi64> {tp.name = "y", tp.unshifted = "x"})

// -----

// expected-error@+1 {{argument 0: expected tp.default to be "ones" or "zeros", got "one"}}
func.func private @default(tensor<4xf32> {tp.default = "one"})

// -----

// expected-error@+1 {{argument 0: expected tp.range to be the least value and the one past the greatest, as array<i64: 0, 9>, got [3]}}
func.func private @one(tensor<4xi64> {tp.range = array<i64: 3>})

// -----

// expected-error@+1 {{argument 0: expected tp.range to be the least value and the one past the greatest, as array<i64: 0, 9>, got [4, 4]}}
func.func private @none(tensor<4xi64> {tp.range = array<i64: 4, 4>})

// -----

// expected-error@+1 {{argument 0: expected tp.range on integers, got 'tensor<4xf32>'}}
func.func private @floats(tensor<4xf32> {tp.range = array<i64: 0, 4>})

// -----

// expected-error@+1 {{argument 0: expected tp.range within 'i8', got [0, 129]}}
func.func private @wide(tensor<4xi8> {tp.range = array<i64: 0, 129>})

// -----

// expected-error@+1 {{argument 0: expected tp.range within 'i1', got [-1, 1]}}
func.func private @bit(tensor<4xi1> {tp.range = array<i64: -1, 1>})

// -----

// expected-error@+1 {{argument 0: expected tp.values to be "zeros", "integers", "positive", "fraction", "wide" or "large" for floats, or "limits" for integers of more than a bit, got "small" for 'tensor<4xf32>'}}
func.func private @kind(tensor<4xf32> {tp.values = "small"})

// -----

// expected-error@+1 {{or "limits" for integers of more than a bit, got "limits" for 'tensor<4xi1>'}}
func.func private @limits(tensor<4xi1> {tp.values = "limits"})

// -----

// expected-error@+1 {{argument 0: expected tp.right_padded on a tensor [batch, positions] of integers, got 'tensor<4x4xf32>'}}
func.func private @mask(tensor<4x4xf32> {tp.right_padded})

// -----

// expected-error@+1 {{argument 0: expected tp.unshifted on a tensor [batch, positions] of integers, got 'tensor<4xi64>'}}
func.func private @targets(tensor<4xi64> {tp.unshifted = "y"})

// -----

func.func private @right(tensor<4x4xi8> {tp.name = "a.b", tp.range = array<i64: -128, 128>},
    tensor<4xi1> {tp.range = array<i64: 0, 2>}, tensor<4xi64> {tp.range = array<i64: -1, 9>, tp.default = "zeros"},
    index {tp.range = array<i64: 0, 7>}, tensor<4x4xi32> {tp.name = "labels", tp.unshifted = "targets"})
