// Every way in which a parameter can be of no use: named and unused, read by dead
// code alone, in a loop whose result is unused or that never runs, in a loop of more
// instances than are read, in a function that is inlined and does not return what it
// reads, as an operand that the result does not depend on. The checkpoint has all of
// them: they are ignored, and take no memory.

// RUN: rm -rf %t && mkdir -p %t/weights
// RUN: %python %S/Inputs/dead-parameters.py prepare %t
// RUN: tp-compile %s --plan replicated --mesh tp=2 -o %t/p.tpa 2> %t/log
// RUN: grep -a -o '"ignored":\[[^]]*\]' %t/p.tpa | FileCheck %s --check-prefix=IGNORED
// RUN: grep -a -o '"names":\[[^]]*\]' %t/p.tpa | FileCheck %s --check-prefix=LOADED
// RUN: tp-run %t/p.tpa --weights %t/weights --input %t/in.safetensors --output %t/out.safetensors
// RUN: %python %S/Inputs/dead-parameters.py check %t | FileCheck %s
// RUN: tp-verify %s --plan replicated --mesh tp=2 --weights %t/weights --stages propagate,partition,collectives,lower | FileCheck %s --check-prefix=EQUAL

// A tensor that the program does not name is still refused.
// RUN: %python %S/Inputs/dead-parameters.py add %t
// RUN: not tp-run %t/p.tpa --weights %t/weights --input %t/in.safetensors --output %t/out.safetensors 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// IGNORED: "ignored":["callee","unused","other.name","dead","loop.*.w","never.*.w","layers.*.w"]
// LOADED: "names":["w"]
// LOADED-NEXT: "names":["layers.{i}.w"]
// LOADED-NOT: names
// CHECK: y: agrees
// EQUAL: lower @main: equal
// UNKNOWN: the checkpoint has tensors that the program does not use: 'unknown'

func.func private @callee(%x: tensor<4xf32>) -> tensor<4xf32> {
  %w = tp.parameter "callee" : tensor<4xf32>
  %0 = arith.mulf %x, %w : tensor<4xf32>
  return %x : tensor<4xf32>
}
func.func @main(%x: tensor<4xf32> {tp.name = "x"}) -> (tensor<4xf32> {tp.name = "y"}) {
  %unused = tp.parameter "unused" alternatives ["other.name"] : tensor<4xf32>
  %dead = tp.parameter "dead" : tensor<4xf32>
  %0 = math.tanh %dead : tensor<4xf32>
  %1 = tp.repeat 2 times iter(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%i: index, %c: tensor<4xf32>):
    %w = tp.parameter "loop.{i}.w" : tensor<4xf32>
    %y = arith.addf %c, %w : tensor<4xf32>
    tp.yield %y : tensor<4xf32>
  }
  %w = tp.parameter "w" : tensor<4xf32>
  %2 = arith.addf %x, %w : tensor<4xf32>
  %3 = tp.repeat 0 times from 3 iter(%2) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%i: index, %c: tensor<4xf32>):
    %v = tp.parameter "never.{i}.w" : tensor<4xf32>
    %y = arith.addf %c, %v : tensor<4xf32>
    tp.yield %y : tensor<4xf32>
  }
  %4 = tp.repeat 2 times iter(%3) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%i: index, %c: tensor<4xf32>):
    %v = tp.parameter "layers.{i}.w" : tensor<4xf32>
    %y = arith.addf %c, %v : tensor<4xf32>
    tp.yield %y : tensor<4xf32>
  }
  %5 = tp.repeat 4 times iter(%3) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%i: index, %c: tensor<4xf32>):
    %v = tp.parameter "layers.{i}.w" : tensor<4xf32>
    %y = arith.addf %c, %v : tensor<4xf32>
    tp.yield %y : tensor<4xf32>
  }
  %6 = call @callee(%4) : (tensor<4xf32>) -> tensor<4xf32>
  return %6 : tensor<4xf32>
}
