// RUN: tp-opt %s --tp-note-parameters --split-input-file --verify-diagnostics
// Every stage begins with it.
// RUN: tp-opt %s --tp-import-pipeline --split-input-file --verify-diagnostics
// RUN: tp-opt %s --tp-propagate-pipeline --split-input-file --verify-diagnostics
// RUN: tp-opt %s --tp-schedule-pipeline --split-input-file --verify-diagnostics

// Two functions.

func.func @first() -> tensor<8xf32> {
  // expected-note @below {{it is named here first}}
  %w = tp.parameter "w" : tensor<8xf32>
  return %w : tensor<8xf32>
}
func.func @second() -> tensor<4xf32> {
  // expected-error @below {{'tp.parameter' op expected 'w' to be a 'tensor<8xf32>' of the checkpoint, got 'tensor<4xf32>': one name is one tensor}}
  %w = tp.parameter "w" : tensor<4xf32>
  return %w : tensor<4xf32>
}

// -----

func.func @element() -> (tensor<8xf32>, tensor<8xbf16>) {
  // expected-note @below {{it is named here first}}
  %w = tp.parameter "w" : tensor<8xf32>
  // expected-error @below {{expected 'w' to be a 'tensor<8xf32>' of the checkpoint, got 'tensor<8xbf16>': one name is one tensor}}
  %v = tp.parameter "w" : tensor<8xbf16>
  return %w, %v : tensor<8xf32>, tensor<8xbf16>
}

// -----

// The tensor is that of the source, not its part.
func.func @source() -> (tensor<8xf32>, tensor<8xf32>) {
  // expected-note @below {{it is named here first}}
  %w = tp.parameter "w" : tensor<8xf32>
  // expected-error @below {{expected 'w' to be a 'tensor<8xf32>' of the checkpoint, got 'tensor<9xf32>': one name is one tensor}}
  %v = tp.parameter "w" source <shape = [9], offsets = [1], permutation = [0]> : tensor<8xf32>
  return %w, %v : tensor<8xf32>, tensor<8xf32>
}

// -----

// A layer by its number and by its template.
func.func @layer(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<4xf32>) {
  %0 = tp.repeat 3 times from 2 iter(%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%i: index, %c: tensor<8xf32>):
    // expected-note @below {{it is named here first, by 'layers.{i}.w' in iteration 3}}
    %w = tp.parameter "layers.{i}.w" : tensor<8xf32>
    tp.yield %w : tensor<8xf32>
  }
  // expected-error @below {{expected 'layers.3.w' to be a 'tensor<8xf32>' of the checkpoint, got 'tensor<4xf32>': one name is one tensor}}
  %v = tp.parameter "layers.3.w" : tensor<4xf32>
  return %0, %v : tensor<8xf32>, tensor<4xf32>
}

// -----

// The other way round.
func.func @number_first(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<4xf32>) {
  // expected-note @below {{it is named here first}}
  %v = tp.parameter "layers.3.w" : tensor<4xf32>
  %0 = tp.repeat 3 times from 2 iter(%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%i: index, %c: tensor<8xf32>):
    // expected-error @below {{expected 'layers.3.w' to be a 'tensor<4xf32>' of the checkpoint, got 'tensor<8xf32>': one name is one tensor}}
    %w = tp.parameter "layers.{i}.w" : tensor<8xf32>
    tp.yield %w : tensor<8xf32>
  }
  return %0, %v : tensor<8xf32>, tensor<4xf32>
}

// -----

// Two templates that meet in one number, and in one name of different numbers.
func.func @ranges(%x: tensor<8xf32>, %y: tensor<4xf32>) -> (tensor<8xf32>, tensor<4xf32>) {
  %0 = tp.repeat 4 times iter(%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%i: index, %c: tensor<8xf32>):
    // expected-note @below {{it is named here first, by 'layers.{i}.w' in iteration 3}}
    %w = tp.parameter "layers.{i}.w" : tensor<8xf32>
    tp.yield %w : tensor<8xf32>
  }
  %1 = tp.repeat 2 times from 3 iter(%y) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%i: index, %c: tensor<4xf32>):
    // expected-error @below {{expected 'layers.3.w' to be a 'tensor<8xf32>' of the checkpoint, got 'tensor<4xf32>': one name is one tensor}}
    %w = tp.parameter "layers.{i}.w" : tensor<4xf32>
    tp.yield %w : tensor<4xf32>
  }
  return %0, %1 : tensor<8xf32>, tensor<4xf32>
}

// -----

func.func @patterns(%x: tensor<8xf32>, %y: tensor<4xf32>) -> (tensor<8xf32>, tensor<4xf32>) {
  %0 = tp.repeat 20 times iter(%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%i: index, %c: tensor<8xf32>):
    // expected-note @below {{it is named here first, by 'layers.{i}.w' in iteration 10}}
    %w = tp.parameter "layers.{i}.w" : tensor<8xf32>
    tp.yield %w : tensor<8xf32>
  }
  %1 = tp.repeat 2 times iter(%y) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%i: index, %c: tensor<4xf32>):
    // expected-error @below {{expected 'layers.10.w' to be a 'tensor<8xf32>' of the checkpoint, got 'tensor<4xf32>': one name is one tensor}}
    %w = tp.parameter "layers.1{i}.w" : tensor<4xf32>
    tp.yield %w : tensor<4xf32>
  }
  return %0, %1 : tensor<8xf32>, tensor<4xf32>
}

// -----

func.func @alternatives() -> (tensor<8xf32>, tensor<8xf32>) {
  // expected-note @below {{it is named here first}}
  %w = tp.parameter "w" alternatives ["a", "b"] : tensor<8xf32>
  // expected-error @below {{expected 'w' to have the alternatives 'a', 'b', got no alternatives: one name is one tensor}}
  %v = tp.parameter "w" : tensor<8xf32>
  return %w, %v : tensor<8xf32>, tensor<8xf32>
}

// -----

// Under another name it is the same tensor.
func.func @alternative_type() -> (tensor<8xf32>, tensor<4xf32>) {
  // expected-note @below {{it is named here first}}
  %w = tp.parameter "w" alternatives ["old.w"] : tensor<8xf32>
  // expected-error @below {{expected 'old.w' to be a 'tensor<8xf32>' of the checkpoint, got 'tensor<4xf32>': one name is one tensor}}
  %v = tp.parameter "old.w" : tensor<4xf32>
  return %w, %v : tensor<8xf32>, tensor<4xf32>
}
