// RUN: tp-opt %s --split-input-file --verify-diagnostics

// What promises that shorter sequences may be given must be able to keep it.

// expected-error@+1 {{argument 0: expected tp.sequences on a tensor [batch, positions, ...]}}
func.func @rank(%ids: tensor<8xi64> {tp.sequences}) {
  return
}

// -----

// expected-error@+1 {{result 0: expected 2 sequences of 8 positions as argument 0 has, got 'tensor<2x9x4xf32>'}}
func.func @positions(%mask: tensor<2x8xi64> {tp.default = "ones", tp.sequences}, %y: tensor<2x9x4xf32>)
    -> (tensor<2x9x4xf32> {tp.sequences}) {
  return %y : tensor<2x9x4xf32>
}

// -----

// expected-error@+1 {{argument 0: expected a mask for what pads sequences: an argument with tp.sequences and tp.default = "ones"}}
func.func @mask(%ids: tensor<2x8xi64> {tp.sequences}, %mask: tensor<2x8xi64> {tp.default = "ones"}) {
  return
}

// -----

// expected-error@+1 {{argument 0: expected a range with 0, which pads sequences, got array<i64: 1, 9>}}
func.func @range(%ids: tensor<2x8xi64> {tp.range = array<i64: 1, 9>, tp.sequences},
                 %mask: tensor<2x8xi64> {tp.default = "ones", tp.sequences}) {
  return
}
