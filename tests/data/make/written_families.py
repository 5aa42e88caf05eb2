"""Families that transformers has no class of, as their papers and published code have them: logits in float64 of a
checkpoint's tensors by their published names, the configuration and the ids of a text."""
import math
import torch
from torch.nn.functional import rms_norm, silu, softplus


def norm(x, gain, epsilon): return rms_norm(x, (x.shape[-1],), eps=epsilon) * gain


def rotate(x, base):
    """Of [rows, heads, elements], halves of each head together (arXiv 2104.09864)."""
    dim = x.shape[-1]
    angles = torch.arange(len(x))[:, None] * base ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)
    cos, sin = (f(angles).repeat(1, 2)[:, None, :] for f in (torch.cos, torch.sin))
    return x * cos + torch.cat([-x[..., dim // 2:], x[..., :dim // 2]], -1) * sin


def attend(q, k, v):
    """Causal, with grouped queries; all are [rows, heads, elements]."""
    q, k, v = (x.transpose(0, 1) for x in (q, k, v))
    k, v = (x.repeat_interleave(len(q) // len(x), 0) for x in (k, v))
    scores = q @ k.transpose(1, 2) / math.sqrt(q.shape[-1])
    later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    return (scores.masked_fill(later, -torch.inf).softmax(-1) @ v).transpose(0, 1).flatten(1)


def convolve(x, taps):
    """Causal, each channel by itself: x [rows, channels], taps [channels, 1, width]."""
    width = taps.shape[-1]
    padded = torch.cat([x.new_zeros(width - 1, x.shape[1]), x])
    return sum(taps[:, 0, i] * padded[i:i + len(x)] for i in range(width))


def scan(x, dt, decay, b, c, skip):
    """Mamba 2 (arXiv 2405.21060): x [rows, heads, elements], dt [rows, heads], b and c [rows, states]."""
    state, out = x.new_zeros(*x.shape[1:], b.shape[1]), []
    for row in range(len(x)):
        state = state * (dt[row] * decay).exp()[:, None, None] + (dt[row][:, None] * x[row])[..., None] * b[row]
        out.append(state @ c[row] + skip[:, None] * x[row])
    return torch.stack(out)


def plamo2(w, config, ids):
    """The published modeling_plamo.py: gains are what they are beside a number of their place."""
    epsilon, dim, states = config["rms_norm_eps"], config["hidden_size_per_head"], config["mamba_d_state"]
    x = w["model.embed_tokens.weight"][ids]
    for layer in range(config["num_hidden_layers"]):
        def of(name, at=layer): return w[f"model.layers.layers.{at}.{name}"]
        h = norm(x, of("pre_mixer_norm.weight") + 1, epsilon)
        if f"model.layers.layers.{layer}.mixer.in_proj.weight" in w:
            z, inner = (h @ of("mixer.in_proj.weight").T).view(len(ids), -1, 2, dim).unbind(2)
            inner = silu(convolve(inner.flatten(1), of("mixer.conv1d.weight")))
            b, c, dt = (inner @ of("mixer.bcdt_proj.weight").T).split([states, states, max(64, len(x[0]) // 16)], -1)
            b, c, dt = (norm(value, of(f"mixer.{name}_norm_weight"), epsilon)
                        for value, name in ((b, "B"), (c, "C"), (dt, "dt")))
            dt = softplus(dt @ of("mixer.dt_proj.weight").T + of("mixer.dt_bias"))
            scanned = scan(inner.view(len(ids), -1, dim), dt, -of("mixer.A_log").exp(), b, c, of("mixer.D"))
            mixed = (silu(z) * scanned).flatten(1) @ of("mixer.out_proj.weight").T
        else:
            heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
            q, k, v = (h @ of("mixer.qkv_proj.weight").T).view(len(ids), -1, dim).split([heads, kv_heads, kv_heads], 1)
            q, k = (rotate(norm(value, of(f"mixer.{name}_weight"), epsilon), config["rope_theta"])
                    for value, name in ((q, "q"), (k, "k")))
            mixed = attend(q, k, v) @ of("mixer.o_proj.weight").T
        x = x + norm(mixed, of("post_mixer_norm.weight") + 1 / 5, epsilon)
        gate, up = (norm(x, of("pre_mlp_norm.weight") + 1, epsilon) @ of("mlp.gate_up_proj.weight").T).chunk(2, -1)
        x = x + norm((silu(gate) * up) @ of("mlp.down_proj.weight").T, of("post_mlp_norm.weight") + 1 / 5**1.5, epsilon)
    return norm(x, w["model.norm.weight"] + 1, epsilon) @ w["lm_head.weight"].T


WRITTEN = {"plamo2": plamo2}
