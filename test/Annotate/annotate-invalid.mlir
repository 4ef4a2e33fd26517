// RUN: tp-opt %s --tp-annotate='plan=megatron-sp mesh=tp=8' --split-input-file --verify-diagnostics

// expected-error @below {{plan 'megatron-sp' knows no parameter of this program by name, so every rank would hold all of it: name the parameters as checkpoints do, annotate some, give a JSON plan, or ask for that with plan 'replicated'}}
module {
  func.func @f() {
    %0 = tp.parameter "renamed" : tensor<64x64xf32>
    return
  }
}

// -----

// expected-error @below {{plan 'megatron-sp' finds nothing to cut: the program has no parameters, so every rank would compute all of it: annotate values, give a JSON plan, or ask for that with plan 'replicated'}}
module {
  func.func @scalars(%x: f32) -> f32 {
    %0 = arith.addf %x, %x : f32
    return %0 : f32
  }
}

// -----

// expected-error @below {{mesh 'tp=8' is not the one that the module declares, #tp.mesh<["tp"=4]>}}
module {
  // expected-note @below {{declared here}}
  tp.mesh @mesh <["tp"=4]>
}

// -----

module {
  // expected-error @below {{expected the symbol @mesh to be free for the mesh}}
  func.func private @mesh()
}

// -----

func.func @sequence(%ids: tensor<1x6xi64>) -> tensor<1x6x64xf32> {
  %0 = tp.parameter "wte.weight" : tensor<131x64xf32>
  // expected-error @below {{plan 'megatron-sp': sequence of 6 cannot be split over 8 ranks of "tp": 8 does not divide 6; lengths that fit are the multiples of 8, such as 8; degrees that fit 6: 1, 2, 3, 6}}
  %1 = nn.embedding %ids, %0 : (tensor<1x6xi64>, tensor<131x64xf32>) -> tensor<1x6x64xf32>
  return %1 : tensor<1x6x64xf32>
}

// -----

// expected-error @below {{'x': expected a tensor of static shape, got 'tensor<?xf32>': a program has one shape; compile one for each length}}
func.func @dynamic(%x: tensor<?xf32> {tp.name = "x"}) {
  return
}

// -----

func.func @few_experts() {
  // expected-error @below {{plan 'megatron-sp': dimension 1 of 'l.0.mlp.experts.{e}.up_proj.weight' has 6 elements, which cannot be cut into 8 shards: expected at most 6, or plan 'expert-sp', which cuts dimension 0}}
  %0 = tp.parameter "l.0.mlp.experts.{e}.up_proj.weight" : tensor<9x6x16xf32>
  return
}

// -----

func.func @small() {
  // expected-error @below {{plan 'megatron-sp': dimension 0 of 'wte.weight' has 6 elements, which cannot be cut into 8 shards: expected at most 6}}
  %0 = tp.parameter "wte.weight" : tensor<6x64xf32>
  return
}
