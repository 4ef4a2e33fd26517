"""The gradient of the mean loss by every parameter, from autograd.

Part of tp-mlir, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

gradients.safetensors has the labels and the gradients in float32, gradients.json the loss
and, for each parameter, the gradient's norm and largest value, and the norm of what bfloat16's
differs by. One checkpoint of each family has its gradients whole; of the others' matrices
there are sums alone (`sums` in test/Integration/training.py), to keep the files small.
"""

import json
import pathlib
import tempfile
import zlib

import torch
import training
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch.nn import functional
from transformers import AutoConfig, AutoModelForCausalLM

WHOLE = ("gpt2", "llama-gqa", "llama-tied", "mistral-window", "qwen2", "qwen3", "mixtral",
         "granite-moe")
IGNORED = -100


def make_labels(name, inputs):
    """The next token's id, ignored where there is none, and here and there besides."""
    ids = inputs["input_ids"]
    labels = ids.roll(-1, dims=1)
    labels[:, -1] = IGNORED
    if "attention_mask" in inputs:
        labels[inputs["attention_mask"].roll(-1, dims=1) == 0] = IGNORED
    generator = torch.Generator().manual_seed(zlib.crc32(f"{name} labels".encode()))
    labels[torch.rand(labels.shape, generator=generator) < 0.2] = IGNORED
    return labels


def stored_names(folder):
    found = set()
    for path in folder.glob("*.safetensors"):
        if path.name.startswith("model"):
            with safe_open(path, "pt") as file:
                found.update(file.keys())
    return found


def parameters(model, stored):
    """The model's parameters under the names of their files."""
    for name, value in model.named_parameters():
        yield name if name in stored else name.removeprefix("transformer."), value


def saved_gradients(model):
    """The gradients under the names of a file that transformers writes, which takes stacks of
    experts apart: saved in the place of the parameters."""
    model = model.double()
    for value in model.parameters():
        value.data = value.grad.double()
    # What routers compare by has none: who is chosen is constant.
    for value in model.buffers():
        value.data.zero_()
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        return load_file(pathlib.Path(folder) / "model.safetensors")


def differentiate(folder, dtype, inputs, labels):
    """The loss, and the gradient of each parameter in float64."""
    config = AutoConfig.from_pretrained(folder)
    eager = {"attn_implementation": "eager"}
    if hasattr(config, "num_experts_per_tok"):
        eager["experts_implementation"] = "eager"
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, **eager).eval()
    logits = model(**inputs).logits
    wide = logits.double() if dtype == torch.float64 else logits.float()
    loss = functional.cross_entropy(wide.flatten(0, 1), labels.flatten(), ignore_index=IGNORED)
    loss.backward()
    stored = stored_names(folder)
    if hasattr(config, "num_experts_per_tok"):
        found = saved_gradients(model)
        assert found.keys() == stored
        return loss.item(), found
    found = {name: value.grad.double() for name, value in parameters(model, stored)}
    assert found.keys() <= stored, f"no tensor for {found.keys() - stored}"
    return loss.item(), found


def write(folder, made_with):
    inputs = load_file(folder / "inputs.safetensors")
    labels = make_labels(folder.name, inputs)
    loss, gradients = differentiate(folder, torch.float32, inputs, labels)
    exact_loss, exact = differentiate(folder, torch.float64, inputs, labels)
    narrow_loss, narrow = differentiate(folder, torch.bfloat16, inputs, labels)
    assert abs(loss - exact_loss) < 1e-6 * exact_loss
    tensors, facts = {"labels": labels}, {}
    for name, gradient in gradients.items():
        largest = gradient.abs().max().item()
        facts[name] = {"largest": largest, "norm": gradient.norm().item(),
                       "f32_distance": (gradient - exact[name]).abs().max().item(),
                       "bf16_norm": (narrow[name] - gradient).norm().item()}
        if folder.name in WHOLE or gradient.ndim == 1:
            tensors[name] = gradient.float()
        else:
            tensors |= {f"{name}:{kind}": torch.from_numpy(values).float()
                        for kind, values in training.sums(name, gradient.numpy()).items()}
    # An expert that no token uses has zeros.
    worst = max(one["f32_distance"] / one["largest"] for one in facts.values() if one["largest"])
    print(f"{folder.name:20} {len(facts)} gradients, loss {loss:.4f}, bf16 {narrow_loss:.4f}; "
          f"f32 is at most {worst:.1e} of the largest off", flush=True)
    assert worst < 1e-5, "ill-conditioned"
    save_file(tensors, folder / "gradients.safetensors")
    lines = [f'  "{name}": {json.dumps(one)}' for name, one in facts.items()]
    head = json.dumps({"loss": loss, "bf16_loss": narrow_loss, "made_with": made_with}, indent=1)
    (folder / "gradients.json").write_text(
        head[:-2] + ',\n "parameters": {\n' + ",\n".join(lines) + "\n }\n}\n")
