// RUN: tp-opt %s --tp-annotate='plan=megatron mesh=tp=16' --tp-propagate --tp-verify-propagated --tp-explain-shardings -o /dev/null | FileCheck %s
// RUN: tp-opt %s --tp-annotate='plan=megatron-sp mesh=tp=4' --tp-propagate --tp-verify-propagated --tp-explain-shardings -o /dev/null | FileCheck %s --check-prefix=SP
// RUN: tp-opt %s --tp-annotate='plan=replicated mesh=tp=4' --tp-propagate --tp-verify-propagated --tp-explain-shardings -o /dev/null | count 0

// A Llama layer with embedding and head, 32 query and 8 KV heads, at 16 ranks:
// KV heads on the leading 8, three partial sums (embedding, attention, feed
// forward), logits split.

// CHECK: nn.embedding {{.*}}: [{}, {}, {}], partial sum {"tp"}
// CHECK-NEXT: partial on "tp": model.embed_tokens.weight dim 0 on "tp", by nn.embedding over vocabulary
// CHECK: tp.parameter model.layers.{i}.self_attn.k_proj.weight: [{"tp":(1)8}, {}]
// CHECK: nn.linear {{.*}}: [{}, {}, {"tp":(1)8}]
// CHECK: nn.attention {{.*}}: [{}, {}, {"tp"}, {}]
// CHECK: nn.linear {{.*}}: [{}, {}, {}], partial sum {"tp"}
// CHECK-NEXT: partial on "tp": model.layers.{i}.self_attn.o_proj.weight dim 1 on "tp", by nn.linear over k
// CHECK: nn.linear {{.*}}: [{}, {}, {}], partial sum {"tp"}
// CHECK-NEXT: partial on "tp": model.layers.{i}.mlp.down_proj.weight dim 1 on "tp", by nn.linear over k
// CHECK-NOT: partial sum
// CHECK: result logits: [{}, {}, {"tp"}]

// SP: nn.embedding {{.*}}: [{}, {}, {}], partial sum {"tp"}
// SP: tp.sharding_constraint {{.*}}: [{}, {"tp"}, {}]
// SP: tp.repeat {{.*}}: [{}, {"tp"}, {}]
// SP-NEXT: dim 1 on "tp": carried value 0 of {{.*}} dim 1 on "tp"
// SP: nn.rms_norm {{.*}}: [{}, {"tp"}, {}]
// SP: nn.linear {{.*}}: [{}, {}, {"tp"}]
// SP: nn.linear {{.*}}: [{}, {}, {}], partial sum {"tp"}
// SP: arith.addf {{.*}}: [{}, {"tp"}, {}]
// SP: nn.rms_norm {{.*}}: [{}, {"tp"}, {}]
// SP: nn.linear {{.*}}: [{}, {}, {}], partial sum {"tp"}
// SP: arith.addf {{.*}}: [{}, {"tp"}, {}]
// SP: nn.rms_norm {{.*}}: [{}, {"tp"}, {}]
// SP: result logits: [{}, {}, {"tp"}]

func.func @main(%ids: tensor<1x8xi64> {tp.name = "input_ids"}) -> (tensor<1x8x131xf32> {tp.name = "logits"}) {
  %table = tp.parameter "model.embed_tokens.weight" : tensor<131x256xf32>
  %x = nn.embedding %ids, %table : (tensor<1x8xi64>, tensor<131x256xf32>) -> tensor<1x8x256xf32>
  %cos, %sin = nn.rotary_table {inv_freq = dense<[1.0, 0.5, 0.25, 0.125]> : tensor<4xf32>} : tensor<8x4xf32>, tensor<8x4xf32>
  %y = tp.repeat 2 times iter(%x) : (tensor<1x8x256xf32>) -> tensor<1x8x256xf32> {
  ^bb0(%i: index, %c: tensor<1x8x256xf32>):
    %n1 = tp.parameter "model.layers.{i}.input_layernorm.weight" : tensor<256xf32>
    %h = nn.rms_norm %c, %n1 {epsilon = 1.0e-5} : (tensor<1x8x256xf32>, tensor<256xf32>) -> tensor<1x8x256xf32>
    %wq = tp.parameter "model.layers.{i}.self_attn.q_proj.weight" : tensor<256x256xf32>
    %wk = tp.parameter "model.layers.{i}.self_attn.k_proj.weight" : tensor<64x256xf32>
    %wv = tp.parameter "model.layers.{i}.self_attn.v_proj.weight" : tensor<64x256xf32>
    %wo = tp.parameter "model.layers.{i}.self_attn.o_proj.weight" : tensor<256x256xf32>
    %q0 = nn.linear %h, %wq : (tensor<1x8x256xf32>, tensor<256x256xf32>) -> tensor<1x8x256xf32>
    %k0 = nn.linear %h, %wk : (tensor<1x8x256xf32>, tensor<64x256xf32>) -> tensor<1x8x64xf32>
    %v0 = nn.linear %h, %wv : (tensor<1x8x256xf32>, tensor<64x256xf32>) -> tensor<1x8x64xf32>
    %q1 = tensor.expand_shape %q0 [[0], [1], [2, 3]] output_shape [1, 8, 32, 8] : tensor<1x8x256xf32> into tensor<1x8x32x8xf32>
    %k1 = tensor.expand_shape %k0 [[0], [1], [2, 3]] output_shape [1, 8, 8, 8] : tensor<1x8x64xf32> into tensor<1x8x8x8xf32>
    %v1 = tensor.expand_shape %v0 [[0], [1], [2, 3]] output_shape [1, 8, 8, 8] : tensor<1x8x64xf32> into tensor<1x8x8x8xf32>
    %q2 = nn.rotary %q1, %cos, %sin : (tensor<1x8x32x8xf32>, tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<1x8x32x8xf32>
    %k2 = nn.rotary %k1, %cos, %sin : (tensor<1x8x8x8xf32>, tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<1x8x8x8xf32>
    %o0 = nn.attention %q2, %k2, %v1 {causal, scale = 0.35 : f64} : (tensor<1x8x32x8xf32>, tensor<1x8x8x8xf32>, tensor<1x8x8x8xf32>) -> tensor<1x8x32x8xf32>
    %o1 = tensor.collapse_shape %o0 [[0], [1], [2, 3]] : tensor<1x8x32x8xf32> into tensor<1x8x256xf32>
    %a = nn.linear %o1, %wo : (tensor<1x8x256xf32>, tensor<256x256xf32>) -> tensor<1x8x256xf32>
    %r = arith.addf %c, %a : tensor<1x8x256xf32>
    %n2 = tp.parameter "model.layers.{i}.post_attention_layernorm.weight" : tensor<256xf32>
    %m = nn.rms_norm %r, %n2 {epsilon = 1.0e-5} : (tensor<1x8x256xf32>, tensor<256xf32>) -> tensor<1x8x256xf32>
    %wg = tp.parameter "model.layers.{i}.mlp.gate_proj.weight" : tensor<512x256xf32>
    %wu = tp.parameter "model.layers.{i}.mlp.up_proj.weight" : tensor<512x256xf32>
    %wd = tp.parameter "model.layers.{i}.mlp.down_proj.weight" : tensor<256x512xf32>
    %g = nn.linear %m, %wg : (tensor<1x8x256xf32>, tensor<512x256xf32>) -> tensor<1x8x512xf32>
    %u = nn.linear %m, %wu : (tensor<1x8x256xf32>, tensor<512x256xf32>) -> tensor<1x8x512xf32>
    %s = nn.silu %g : tensor<1x8x512xf32>
    %p = arith.mulf %s, %u : tensor<1x8x512xf32>
    %d = nn.linear %p, %wd : (tensor<1x8x512xf32>, tensor<256x512xf32>) -> tensor<1x8x256xf32>
    %z = arith.addf %r, %d : tensor<1x8x256xf32>
    tp.yield %z : tensor<1x8x256xf32>
  }
  %nf = tp.parameter "model.norm.weight" : tensor<256xf32>
  %f = nn.rms_norm %y, %nf {epsilon = 1.0e-5} : (tensor<1x8x256xf32>, tensor<256xf32>) -> tensor<1x8x256xf32>
  %head = tp.parameter "lm_head.weight" : tensor<131x256xf32>
  %l = nn.linear %f, %head : (tensor<1x8x256xf32>, tensor<131x256xf32>) -> tensor<1x8x131xf32>
  return %l : tensor<1x8x131xf32>
}
